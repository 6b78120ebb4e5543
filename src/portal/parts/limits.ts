/** Bounds that several files of the portal share. */

/** Of a form with a password, and of an answer of a passkey. */
export const SIGN_IN_REQUEST_BYTES: number = 16 * 1024;
export const PASSKEY_REQUEST_BYTES: number = 64 * 1024;

/** A percent-encoded return path of full length and the token of the form. */
export const SMALL_FORM_BYTES: number = 32 * 1024;

/** Choices in a form; keys and certificates in the expiry chart; state changes read and incidents shown on a page. */
export const CHOICES_MAX = 1000;
export const EXPIRIES_SHOWN = 30;
export const STATES_READ = 500;
export const STATES_SHOWN = 50;

/** The longest sample of an event type, and how many events of one type its volume counts. */
export const SAMPLE_BYTES: number = 16 * 1024;
export const EVENTS_COUNTED = 10_000;

/** Users that a field suggests, and the newest tokens among which the page of an application counts its own (a few milliseconds). */
export const USERS_SUGGESTED = 20;
export const TOKENS_COUNTED = 20_000;

/** How much longer than the time-out of a test event its page waits. */
export const TEST_MARGIN_MS = 5000;
/** How long a browser keeps the chosen theme. */
export const THEME_SECONDS: number = 365 * 86_400;

/**
 * Results of forms that show a secret. How long a result is kept for its session, and how many are kept, some kilobytes each; the oldest go
 * first.
 */
export const RESULT_MS: number = 10 * 60_000;
export const RESULTS_MAX = 500;

/** Failing webhooks and webhooks with the longest queues on the overview. */
export const AILING_SHOWN = 20;
export const QUEUES_SHOWN = 5;

/** Attempts at the start of a live tail, attempts that it keeps, and how often new ones are sent. */
export const TAIL_BEGINS_WITH = 30;
export const TAIL_SHOWN = 100;
export const TAIL_EVERY_MS = 400;

/** How often a live page counts failures by cause at most, which takes some ten milliseconds. */
export const FAILURES_EVERY_MS = 5000;

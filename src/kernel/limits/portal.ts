/** Every bound of the portal in one place. Spans are milliseconds, unless the name says otherwise. */

// Signing in, and how long that lasts.
/** A session without a request for this long is over, and every one this long after it began. */
export const SESSION_IDLE_MS: number = 30 * 60_000;
export const SESSION_MS: number = 12 * 3_600_000;
/** How exactly the last request of a session is known: noting each would be a write for each. */
export const SESSION_SEEN_EVERY_MS = 60_000;
/** Sessions of one account at a time; the oldest gives way. */
export const SESSIONS_PER_USER_MAX = 50;
export const SESSIONS_PURGED_AT_ONCE = 100;
export const USER_AGENT_KEPT_LENGTH = 300;
/** Passwords that are checked or set, 128 MiB and some tenths of a second each, one after the other. */
export const PASSWORDS_WAITING_MAX = 20;
export const SIGN_IN_REQUEST_BYTES: number = 16 * 1024;
/** A path of full length to go back to, every byte of it percent-encoded, and the form's token. */
export const SMALL_FORM_BYTES: number = 32 * 1024;
/** The largest form, of a product with as many scopes and rules as there may be, has some 6,000. */
export const FORM_FIELDS_MAX = 10_000;
/** How long a message that a redirect brings along waits for its page. */
export const FLASH_SECONDS = 60;
export const FLASH_MAX_LENGTH = 500;
/** Endpoints, keys and users that a form offers to choose from; keys and certificates whose ends are drawn; changes of state that are shown. */
export const CHOICES_MAX = 1000;
export const EXPIRIES_SHOWN = 30;
export const STATES_SHOWN = 20;
/** Batches whose dead records are counted for the page of a webhook: a millisecond or two. */
export const DEAD_COUNTED_BATCHES = 10_000;
/** How often the page of a webhook asks how it stands. */
export const STATUS_EVERY_SECONDS = 5;
/** How much longer than a test event may take its page waits for what came of it. */
export const TEST_MARGIN_MS = 5000;
export const THEME_SECONDS: number = 365 * 86_400;
/** How long an open stream is silent at most: proxies close connections on which nothing comes, usually after a minute. */
export const STREAM_SILENCE_MS = 15_000;
/** How often it is looked at whether sessions with open streams have run out, or were ended by another process. */
export const SESSION_WATCH_MS = 250;

// Results of forms that show a secret.
/** How long one is shown to the session that made it; and how many are kept, some kilobytes each: the oldest give way. */
export const RESULT_MS: number = 10 * 60_000;
export const RESULTS_MAX = 500;

// Passkeys.
/** How long a browser's question for a passkey may stay open. */
export const CHALLENGE_MS: number = 5 * 60_000;
/** Questions that are open at a time, some hundred bytes each; the oldest give way. */
export const CHALLENGES_MAX = 10_000;
export const PASSKEYS_PER_USER_MAX = 20;
export const PASSKEY_NAME_MAX_LENGTH = 60;
export const PASSKEY_REQUEST_BYTES: number = 64 * 1024;

// Figures over time, and live tails.
/** How often gathered figures are written; of how many webhooks at a time, beside those of the whole service. */
export const FIGURES_EVERY_MS = 30_000;
export const FIGURE_WEBHOOKS_MAX = 1000;
/** Attempts kept for one reader of a live tail that is slower than they come; the oldest give way. */
export const FEED_BUFFERED = 200;

// The overview.
/** How often it is sent to whoever follows it, by how far back it looks; and how long what was read for one serves others. */
export const OVERVIEW_EVERY_MS: Readonly<Record<'hour' | 'day' | 'week', number>> = {
  hour: 5000,
  day: 30_000,
  week: 60_000,
};
export const OVERVIEW_KEPT_MS = 2000;
/** Webhooks that do not deliver, and webhooks with the most to deliver, that are named. */
export const AILING_SHOWN = 20;
export const QUEUES_SHOWN = 5;

// Pages on their way.
/** Shorter ones fit into a packet or two as they are. */
export const PACKED_MIN_LENGTH = 1400;
/** Attempts that a live tail begins with, and that it keeps; and how often new ones are sent to who reads it. */
export const TAIL_BEGINS_WITH = 30;
export const TAIL_SHOWN = 100;
export const TAIL_EVERY_MS = 400;

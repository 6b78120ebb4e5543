/** Limits of the portal. */

// Sign-in and sessions.
/** A session ends after this time without a request, and after this time in any case. */
export const SESSION_IDLE_MS: number = 30 * 60_000;
export const SESSION_MS: number = 12 * 3_600_000;
/** Precision of the last request of a session. Recording each request would cost a write each. */
export const SESSION_SEEN_EVERY_MS = 60_000;
/** Sessions per account; the oldest goes first. */
export const SESSIONS_PER_USER_MAX = 50;
export const SESSIONS_PURGED_AT_ONCE = 100;
export const USER_AGENT_KEPT_LENGTH = 300;
/** The cost of new password hashes: log2 of scrypt's N. */
export const PASSWORD_LOG2_N = 17;
/**
 * Passwords waiting to be checked or set, of all and of one network or customer. One at a time is, and takes 128 MiB and some tenths of a
 * second.
 */
export const PASSWORDS_WAITING_MAX = 60;
export const PASSWORDS_WAITING_PER_OWNER = 5;
export const SIGN_IN_REQUEST_BYTES: number = 16 * 1024;
/** A percent-encoded return path of full length and the token of the form. */
export const SMALL_FORM_BYTES: number = 32 * 1024;
/** The largest form, a product with all possible scopes and rules, has about 6,000. */
export const FORM_FIELDS_MAX = 10_000;
/** How long the message of a redirect waits for its page. */
export const FLASH_SECONDS = 60;
export const FLASH_MAX_LENGTH = 500;
/** Choices in a form; keys and certificates in the expiry chart; state changes read and incidents shown on a page. */
export const CHOICES_MAX = 1000;
export const EXPIRIES_SHOWN = 30;
export const STATES_READ = 500;
export const STATES_SHOWN = 20;
/** Batches in which the page of a webhook counts dead records. Takes one or two milliseconds. */
export const DEAD_COUNTED_BATCHES = 10_000;
/** Results of a search by kind, and the longest text that is searched. */
export const SEARCH_PER_KIND = 5;
export const SEARCH_TEXT_MAX_LENGTH = 200;
/** The longest sample of an event type, and how many events of one type its volume counts. */
export const SAMPLE_BYTES: number = 16 * 1024;
export const EVENTS_COUNTED = 10_000;
/** Users that a field suggests, and the newest tokens among which the page of an application counts its own (a few milliseconds). */
export const USERS_SUGGESTED = 20;
export const TOKENS_COUNTED = 20_000;
/** Webhooks whose figures a list of endpoints reads: one look-up of 24 rows each. */
export const ENDPOINT_WEBHOOKS_READ = 1000;
/** How much longer than the time-out of a test event its page waits. */
export const TEST_MARGIN_MS = 5000;
export const THEME_SECONDS: number = 365 * 86_400;
/** Longest silence on an open stream. Proxies close silent connections, usually after a minute. */
export const STREAM_SILENCE_MS = 15_000;
/** How often sessions with open streams are checked for expiry, or for an end by another process. */
export const SESSION_WATCH_MS = 250;

// Results of forms that show a secret.
/** How long a result is kept for its session, and how many are kept, some kilobytes each; the oldest go first. */
export const RESULT_MS: number = 10 * 60_000;
export const RESULTS_MAX = 500;
/** How long a form that another instance processes keeps a repeat of it waiting, and how often the repeat looks. */
export const RESULT_WORK_MS = 60_000;
export const RESULT_LOOK_MS = 100;

// Passkeys.
/** Lifetime of a passkey challenge. */
export const CHALLENGE_MS: number = 5 * 60_000;
/** Answered passkey challenges that are remembered until they end, some hundred bytes each; the oldest go first. */
export const CHALLENGES_MAX = 10_000;
export const PASSKEYS_PER_USER_MAX = 20;
export const PASSKEY_NAME_MAX_LENGTH = 60;
export const PASSKEY_REQUEST_BYTES: number = 64 * 1024;

// Figures over time, and live tails.
/** How often figures are written, and for how many webhooks at a time besides those of the whole service. */
export const FIGURES_EVERY_MS = 30_000;
export const FIGURE_WEBHOOKS_MAX = 1000;
/** Attempts buffered for a slow reader of a live tail; the oldest go first. */
export const FEED_BUFFERED = 200;
/** How often attempts of other instances are read, and the ids of shown attempts that are remembered. */
export const FEED_OTHERS_EVERY_MS = 1000;
export const FEED_SEEN_MAX = 10_000;
/** How often the live pages of a customer look for its new webhooks. */
export const FEED_WEBHOOKS_EVERY_MS = 2000;

// The overview.
/** How often the overview is sent, by period, and how long one reading is shared. */
export const OVERVIEW_EVERY_MS: Readonly<Record<'hour' | 'day' | 'week', number>> = {
  hour: 5000,
  day: 30_000,
  week: 60_000,
};
export const OVERVIEW_KEPT_MS = 2000;

// Live pages.
/** Shortest and longest time between two readings of a live page. The longest is for changes without an attempt, for example a replay. */
export const LIVE_EVERY_MS = 500;
export const LIVE_CHECK_MS = 2000;
/** Failures by cause take some ten milliseconds to count. */
export const FAILURES_EVERY_MS = 2000;
/**
 * Live pages that are open at the same time: of all, of one customer, and of one session, whose browser has several tabs with some streams
 * each.
 */
export const LIVE_PAGES = 300;
export const LIVE_PAGES_PER_CUSTOMER = 60;
export const LIVE_PAGES_PER_SESSION = 20;
/** All live pages together are read and drawn for at most this share of the time: the more there are, the less often. */
export const LIVE_WORK_SHARE = 0.2;
/** A live page is read for at most this share of the time, so a slow list is refreshed less often; but at least this often. */
export const LIVE_READING_SHARE = 0.05;
export const LIVE_PAUSE_MAX_MS = 10_000;
/** Failing webhooks and webhooks with the longest queues on the overview. */
export const AILING_SHOWN = 20;
export const QUEUES_SHOWN = 5;

// Compression of pages.
/** Shorter pages fit into one or two packets uncompressed. */
export const PACKED_MIN_LENGTH = 1400;
/** Pages of one customer that may wait to be compressed. */
export const PAGES_WAITING_PER_CUSTOMER = 100;
/** Attempts at the start of a live tail, attempts that it keeps, and how often new ones are sent. */
export const TAIL_BEGINS_WITH = 30;
export const TAIL_SHOWN = 100;
export const TAIL_EVERY_MS = 400;

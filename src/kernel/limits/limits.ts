/**
 * The bounds of the service, but for those of its portal, logs, database, housekeeping and `listen`, in files of their own. Sizes are
 * bytes, spans milliseconds, unless the name says otherwise. Each is one number: a bundler then leaves out of a receiver what it does
 * not use.
 */

// Requests that come in (contract §1).
export const TOKEN_REQUEST_BYTES: number = 16 * 1024;
export const ADMIN_REQUEST_BYTES: number = 1024 * 1024;
export const EVENT_REQUEST_BYTES: number = 8 * 1024 * 1024;
export const EVENTS_PER_REQUEST = 1000;
/** How much of a refused request's body is still read, so that its client gets to the answer, and for how long. */
export const DISCARDED_BODY_BYTES: number = 16 * 1024 * 1024;
export const DISCARDED_BODY_MS = 2000;
export const EVENT_DATA_BYTES: number = 256 * 1024;
/** A bearer token has 64 characters; what is longer than this is refused unread. */
export const AUTHORIZATION_BYTES: number = 8 * 1024;
/** Levels of lists and objects in a value that is walked by recursion. */
export const JSON_DEPTH_MAX = 100;
export const PAGE_DEFAULT = 50;
/** Base64 of a name of 200 characters, each of up to six bytes in JSON, and the rest. */
export const CURSOR_MAX_LENGTH = 2000;
export const PAGE_MAX = 200;

// Tokens (contract §2).
export const NAMED_SCOPES_MAX = 20;
export const SCOPE_NAME_LENGTH_MAX = 128;
/** Room for 20 names of full length, thrice over. */
export const SCOPE_TEXT_LENGTH_MAX: number = 8 * 1024;
export const TOKEN_VALIDITY_MIN_SECONDS = 300;
export const TOKEN_VALIDITY_MAX_SECONDS = 86_400;
export const TOKEN_VALIDITY_DEFAULT_SECONDS = 3600;
export const SECRET_OVERLAP_MAX_SECONDS = 604_800;
/** Failed authentications within the window, of one client id from one network and of any, before further tries get 429. */
export const CLIENT_FAILURES_MAX = 10;
export const NETWORK_FAILURES_MAX = 100;
export const FAILURE_WINDOW_MS = 60_000;
/** Failures kept in memory, about 15 MB at most; beyond it the networks that were quiet longest are forgotten. */
export const FAILURES_REMEMBERED_MAX = 100_000;

/**
 * Callers of valid tokens that are kept in memory, the oldest going first: measured, 2.5 MB. What those of one application have in
 * common is kept once, and in all no more than these bytes: beyond them everything is read anew.
 */
export const CALLERS_CACHED = 10_000;
export const CALLERS_SHARED_BYTES: number = 16 * 1024 * 1024;
/** Applications that ask for tokens; the oldest go first. */
export const CLIENTS_CACHED = 5000;
export const CLIENTS_CACHED_BYTES: number = 16 * 1024 * 1024;

// Paths and the rules that name them (contract §3).
export const REQUEST_TARGET_BYTES: number = 8 * 1024;
export const PATTERN_SEGMENTS_MAX = 32;
export const RULES_PER_PRODUCT_MAX = 1000;
/** Applications read at a time to say who may call a path. */
export const REACH_PAGE = 500;

// Webhooks (contract §4).
export const CUSTOM_HEADERS_MAX = 4;
export const BATCH_RECORDS_MAX = 1000;
export const BATCH_RECORDS_DEFAULT = 100;
export const BATCH_BYTES: number = 1024 * 1024;
export const HEARTBEAT_DEFAULT_SECONDS = 300;
export const HEARTBEAT_MAX_SECONDS = 86_400;
export const ATTEMPT_TIMEOUT_DEFAULT_SECONDS = 15;
export const ATTEMPT_TIMEOUT_MAX_SECONDS = 60;
export const ATTEMPTS_DEFAULT = 20;
export const ATTEMPTS_MAX = 100;

// What is read of a receiver's answer, and what is kept of it (contract §5).
export const RESPONSE_READ_BYTES: number = 64 * 1024;
export const RESPONSE_KEPT_BYTES: number = 4 * 1024;
export const RETRY_AFTER_MAX_MS = 86_400_000;
export const BACKOFF_FIRST_MS = 5000;
export const BACKOFF_MAX_MS: number = 12 * 3_600_000;
export const LINEAR_STEP_MS = 30_000;

// What both sides of the wire hold to (contract §5); receivers use these too.
/** Names in `SignedHeaders` a receiver accepts; the service signs at most six. */
export const SIGNED_HEADERS_MAX = 16;
/** How far a signed date may be from the receiver's clock, either way. */
export const SIGNATURE_TOLERANCE_SECONDS = 300;
export const CHALLENGE_TOKEN_BYTES = 32;
/** Signatures in one `webhook-signature` header that are compared. */
export const WEBHOOK_SIGNATURES_MAX = 16;
export const PGP_KEY_BYTES: number = 64 * 1024;
/** Parsed PGP keys kept in memory, of each kind; the least recently used goes first. */
export const PGP_KEYS_CACHED = 64;
/** RSA keys with fewer bits than this are refused. */
export const PGP_RSA_MIN_BITS = 2048;
/** A PGP message that unpacks to more than this is refused; the service itself never packs inside PGP. */
export const PGP_UNPACKED_BYTES: number = 64 * 1024 * 1024;
/** Unzipped at a time: with gzip's 1:1032 at worst 16 MiB come of it at once. */
export const GUNZIP_SLICE_BYTES: number = 16 * 1024;

// The receiver that customers use (contract §5), where it is not told otherwise.
/** A body, as received and once it is decoded. Batches stop at 1 MiB before encoding; a single event may be a little over its 256 KiB. */
export const RECEIVED_BODY_BYTES: number = 4 * 1024 * 1024;
/** Message ids remembered in memory, about 10 MB at most; the oldest go first. */
export const MESSAGES_SEEN = 50_000;

// Connections to receivers (contract §5).
export const RESPONSE_HEADER_BYTES: number = 16 * 1024;
/** Interim answers (1xx) that are passed over before the attempt fails, and the bytes of their heads. */
export const INTERIM_ANSWERS_MAX = 16;
export const INTERIM_HEADS_BYTES: number = 16 * 1024;
/** All bytes of one answer, with what HTTP adds to the body: a body of `RESPONSE_READ_BYTES` in chunks of one byte has 384 KiB. */
export const ANSWER_BYTES: number = 512 * 1024;
/** How long the body may take once the status has decided what became of a delivery. */
export const BODY_AFTER_HEAD_MS = 1000;
/** Receivers whose connections are kept; the one unused longest gives way. With a CA file each client certificate among them costs 1 MB. */
export const ORIGINS_MAX = 256;
/** As many as requests can be under way: many customers may have their endpoints at one origin, and none waits for another's. */
export const CONNECTIONS_PER_ORIGIN_MAX = 256;
/** Below the 5 s after which Node's own servers close, so that a request rarely meets a connection being closed. */
export const IDLE_CONNECTION_MS = 4000;
/** The most that a receiver's `Keep-Alive: timeout=` can make of it. */
export const IDLE_CONNECTION_MAX_MS = 60_000;
/** How long one address of several has to connect before the next is tried. Node's 250 ms is too short for far receivers. */
export const ADDRESS_ATTEMPT_MS = 1000;
export const PROXY_ADDRESSES_TRIED = 4;
/** Threads for what would hold up the loop. What may hold them long, looking names up, leaves eight to everything else. */
export const THREADS = 40;
/** Look-ups at once, by how the last look-up of a name went: slow ones are mostly of name servers that do not answer. */
export const LOOKUPS_QUICK = 12;
export const LOOKUPS_UNKNOWN = 12;
export const LOOKUPS_SLOW = 8;
export const SLOW_LOOKUP_MS = 1000;
export const NAMES_REMEMBERED = 10_000;

// Administered resources (contract §4).
export const SCOPES_PER_PRODUCT_MAX = 1000;
export const PERMISSIONS_MAX = 1000;
export const SCOPES_PER_APPLICATION_MAX = 1000;
export const PASSWORD_MAX_LENGTH = 256;
/** What a person may choose as a password, in UTF-16 units; a form of it that some keyboards type is a little longer. */
export const CHOSEN_PASSWORD_MIN_LENGTH = 12;
export const CHOSEN_PASSWORD_MAX_LENGTH = 200;
export const INVITATION_MS: number = 72 * 3_600_000;
/** Two passwords of full length, every byte of them percent-encoded. */
export const INVITATION_REQUEST_BYTES: number = 8 * 1024;

// Events (contract §4).
export const IDEMPOTENCY_MS: number = 24 * 3_600_000;
export const IDEMPOTENCY_KEY_MAX_LENGTH = 255;
export const EVENT_TYPE_SCHEMAS_CACHED = 500;
/** How long a schema may take to be compiled, and the events of one request to be checked against theirs: nothing else runs meanwhile. */
export const SCHEMA_COMPILE_MS = 2000;
export const SCHEMA_CHECK_MS = 500;

// The server (contract §1, §6).
export const REQUEST_HEADER_BYTES: number = 16 * 1024;
/** How long the headers of a request may take to arrive, its body, and the whole of it. */
export const HEADERS_MS = 10_000;
export const REQUEST_BODY_MS = 30_000;
export const REQUEST_MS = 60_000;
/** How long a connection may be idle: longer than proxies keep theirs, nginx 60 s, so that none sends on one that is being closed. */
export const KEEP_ALIVE_MS = 75_000;
/** How often it is looked at which connections have used up their time: they may take so much longer. */
export const CONNECTIONS_CHECK_MS = 1000;
/** How long an answer of `/readyz` holds; each costs a write. */
export const READY_MS = 1000;
/** How soon a change of the catalogue counts that another process made. */
export const CATALOGUE_WATCH_MS = 1000;
/** Lines of the log that wait to be written, some 25,000, and the pieces that they wait in; what comes on top of them is dropped. */
export const LOG_BUFFER_BYTES: number = 4 * 1024 * 1024;
export const LOG_CHUNK_BYTES: number = 64 * 1024;
/** How soon a reader that is slower than the service is tried again. */
export const LOG_RETRY_MS = 20;
/** How long a process that ends gives its reader for what waits. */
export const LOG_LAST_MS = 1000;
/** Addresses of clients whose canonical text is kept. */
export const PEERS_CACHED = 1000;

// Endpoints (contract §4).
export const URL_MAX_LENGTH = 2048;
export const SHARED_SECRET_MAX_LENGTH = 512;
export const CERTIFICATE_BYTES: number = 64 * 1024;
/** How long an endpoint has to answer its challenge. */
export const CHALLENGE_TIMEOUT_MS = 10_000;
/** A right answer has 44 characters; this much of a wrong one is kept to be compared. */
export const CHALLENGE_ANSWER_SHOWN_LENGTH = 200;
export const OAUTH_TOKEN_EXPIRATION_MAX_MINUTES: number = 30 * 24 * 60;
export const SECRET_ACTIVATION_MAX_SECONDS = 604_800;
export const EVENT_PATTERNS_MAX = 100;
export const RECORDS_PER_SECOND_MAX = 1_000_000;
/** Attempts of one delivery that a reader is shown. */
export const ATTEMPTS_SHOWN = 200;

/** Bodies that are compressed at once. More would take the processors from the loop. */
export const GZIPS_AT_ONCE = 4;

// A stop.
/** How long a stop waits for requests and deliveries under way. */
export const DRAIN_MS = 8000;
/** How long it takes in all, whatever hangs: the process ends within 10 s (contract §6). */
export const STOP_MS = 9500;

// What `sallyport doctor` finds worth a word (contract §6).
/** Keys and certificates that expire sooner than this. */
export const EXPIRY_WARNING_MS: number = 30 * 86_400_000;
/** Free space of the data folder's disk: a warning below the first, a problem below the second. */
export const DISK_FREE_LOW_BYTES: number = 1024 * 1024 * 1024;
export const DISK_FREE_MIN_BYTES: number = 100 * 1024 * 1024;
/** A clock that differs by so much from the time that has passed was set; less than that is adjusted all the time. */
export const CLOCK_STEP_MS = 1000;
/** How far what is recorded may be ahead of the clock. */
export const CLOCK_BEHIND_MAX_MS = 60_000;

// Metrics.
/** Webhooks that have series of their own in the metrics; all others share one. */
export const METRICS_WEBHOOKS_MAX = 200;

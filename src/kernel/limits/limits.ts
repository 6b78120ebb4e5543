/**
 * The limits of the service; the portal, logs, database, housekeeping and `listen` have files of their own. Each limit is one constant, so
 * that a bundler can drop the limits that a receiver does not use.
 */

// Incoming requests (contract §1).
export const TOKEN_REQUEST_BYTES: number = 16 * 1024;
export const ADMIN_REQUEST_BYTES: number = 1024 * 1024;
export const EVENT_REQUEST_BYTES: number = 8 * 1024 * 1024;
/** Bytes of bodies that have arrived and are not answered: of all, and of one customer, client or network. The first piece of memory. */
export const BODIES_BYTES: number = 128 * 1024 * 1024;
export const BODIES_BYTES_PER_OWNER: number = 32 * 1024 * 1024;
export const BODY_FIRST_BYTES: number = 16 * 1024;
export const EVENTS_PER_REQUEST = 1000;
/** How much of the body of a refused request is still read, and for how long, so that the client reads the reply. */
export const DISCARDED_BODY_BYTES: number = 16 * 1024 * 1024;
export const DISCARDED_BODY_MS = 2000;
export const EVENT_DATA_BYTES: number = 256 * 1024;
/** Of the sample of an event type: all samples are in one document, the event catalogue. */
export const EVENT_SAMPLE_BYTES: number = 16 * 1024;
/** Longer headers are refused unread. A bearer token has 64 characters. */
export const AUTHORIZATION_BYTES: number = 8 * 1024;
/** Larger JSON bodies are read in slices, with bounds before they are parsed: so many values, except for events. */
export const LARGE_JSON_BYTES: number = 16 * 1024;
export const JSON_VALUES_MAX = 20_000;
/** Nesting of lists and objects in values that are processed recursively. */
export const JSON_DEPTH_MAX = 100;
export const PAGE_DEFAULT = 50;
/** Base64 of a name with 200 characters of up to six bytes in JSON, and other fields. */
export const CURSOR_MAX_LENGTH = 2000;
export const PAGE_MAX = 200;

// Tokens (contract §2).
export const NAMED_SCOPES_MAX = 20;
export const SCOPE_NAME_LENGTH_MAX = 128;
/** Three times the space for 20 names of full length. */
export const SCOPE_TEXT_LENGTH_MAX: number = 8 * 1024;
export const TOKEN_VALIDITY_MIN_SECONDS = 300;
export const TOKEN_VALIDITY_MAX_SECONDS = 86_400;
export const TOKEN_VALIDITY_DEFAULT_SECONDS = 3600;
export const SECRET_OVERLAP_MAX_SECONDS = 604_800;
/** Failed authentications within the window before more attempts get 429: per client id and network, and per network. */
export const CLIENT_FAILURES_MAX = 10;
export const NETWORK_FAILURES_MAX = 100;
export const FAILURE_WINDOW_MS = 60_000;
/** Failures kept in memory, about 15 MB at most; the least recently used networks go first. */
export const FAILURES_REMEMBERED_MAX = 100_000;

/**
 * Callers with valid tokens in memory, 2.5 MB (measured); the least recently used go first. Callers of one application share data, of
 * which at most these bytes are kept: beyond them, the whole cache is cleared.
 */
export const CALLERS_CACHED = 10_000;
export const CALLERS_SHARED_BYTES: number = 16 * 1024 * 1024;
/** Applications that request tokens; the least recently used go first. */
export const CLIENTS_CACHED = 5000;
export const CLIENTS_CACHED_BYTES: number = 16 * 1024 * 1024;

// Paths and rules (contract §3).
export const REQUEST_TARGET_BYTES: number = 8 * 1024;
export const PATTERN_SEGMENTS_MAX = 32;
export const RULES_PER_PRODUCT_MAX = 1000;
/** Applications read at a time to find who may call a path. */
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

// Replies of receivers: bytes read and bytes stored (contract §5).
export const RESPONSE_READ_BYTES: number = 64 * 1024;
export const RESPONSE_KEPT_BYTES: number = 4 * 1024;
export const RETRY_AFTER_MAX_MS = 86_400_000;
export const BACKOFF_FIRST_MS = 5000;
export const BACKOFF_MAX_MS: number = 12 * 3_600_000;
export const LINEAR_STEP_MS = 30_000;

// Shared with receivers (contract §5).
/** Names in `SignedHeaders` that a receiver accepts; the service signs at most six. */
export const SIGNED_HEADERS_MAX = 16;
/** Largest difference between a signed date and the clock of the receiver. */
export const SIGNATURE_TOLERANCE_SECONDS = 300;
export const CHALLENGE_TOKEN_BYTES = 32;
/** Signatures in one `webhook-signature` header that are compared. */
export const WEBHOOK_SIGNATURES_MAX = 16;
export const PGP_KEY_BYTES: number = 64 * 1024;
/** Parsed PGP keys in memory, of each kind; the least recently used goes first. */
export const PGP_KEYS_CACHED = 64;
/** RSA keys with fewer bits than this are refused. */
export const PGP_RSA_MIN_BITS = 2048;
/**
 * What a key may have; GnuPG makes RSA keys of at most 4096 bits, with the exponent 65537. Certifications by others are only read. The
 * key's own signatures are verified: each takes up to 1 ms, and with a slow algorithm, such as DSA, up to 11 ms.
 */
export const PGP_USER_IDS_MAX = 32;
export const PGP_SUBKEYS_MAX = 16;
export const PGP_CERTIFICATIONS_MAX = 400;
export const PGP_SIGNATURES_MAX = 40;
export const PGP_SLOW_SIGNATURES_MAX = 3;
export const PGP_RSA_MAX_BITS = 8192;
export const PGP_RSA_EXPONENT_MAX_BITS = 32;
/** FIPS 186-4 §4.2. */
export const PGP_DSA_PRIME_MAX_BITS = 3072;
export const PGP_DSA_ORDER_MAX_BITS = 256;
/** Keys of one customer that may wait to be checked. One is checked at a time. */
export const PGP_KEYS_WAITING = 8;
/** PGP messages that decompress to more are refused. The service itself never compresses inside PGP. */
export const PGP_UNPACKED_BYTES: number = 64 * 1024 * 1024;
/** Decompressed at a time. With gzip's worst ratio of 1:1032 this yields 16 MiB. */
export const GUNZIP_SLICE_BYTES: number = 16 * 1024;

// Defaults of the receiver for customers (contract §5).
/** A body, both as received and decoded. Batches have at most 1 MiB before encoding; a single event may slightly exceed 256 KiB. */
export const RECEIVED_BODY_BYTES: number = 4 * 1024 * 1024;
/** The pause after a failed read of records, its largest value, and after how many failures in a row to give up: about five minutes. */
export const CATCH_UP_BACKOFF_MS = 500;
export const CATCH_UP_BACKOFF_MAX_MS = 30_000;
export const CATCH_UP_FAILURES = 16;
/** Message ids in memory, about 10 MB at most; the oldest go first. */
export const MESSAGES_SEEN = 50_000;

// Connections to receivers (contract §5).
export const RESPONSE_HEADER_BYTES: number = 16 * 1024;
/** Interim responses (1xx) that are skipped before the attempt fails, and the bytes of their heads. */
export const INTERIM_ANSWERS_MAX = 16;
export const INTERIM_HEADS_BYTES: number = 16 * 1024;
/** All bytes of one response, including HTTP framing: `RESPONSE_READ_BYTES` in chunks of one byte take 384 KiB. */
export const ANSWER_BYTES: number = 512 * 1024;
/** Time for the body after the status has decided the outcome of a delivery. */
export const BODY_AFTER_HEAD_MS = 1000;
/** Receivers with open connections; the least recently used goes first. With a CA file, each client certificate costs 1 MB. */
export const ORIGINS_MAX = 256;
/** As many as requests in flight: many customers may share one origin, and none waits for another. */
export const CONNECTIONS_PER_ORIGIN_MAX = 256;
/** Below the 5 s of Node's servers, so that a request is rarely sent on a closing connection. */
export const IDLE_CONNECTION_MS = 4000;
/** Largest value from `Keep-Alive: timeout=` of a receiver. */
export const IDLE_CONNECTION_MAX_MS = 60_000;
/** Time to connect to one of several addresses before trying the next. Node's 250 ms are too short for distant receivers. */
export const ADDRESS_ATTEMPT_MS = 1000;
export const PROXY_ADDRESSES_TRIED = 4;
/** Threads for blocking operations. DNS lookups, which may take long, leave eight of them for everything else. */
export const THREADS = 40;
/** Concurrent DNS lookups, by the duration of the previous lookup of the name. Slow name servers often do not answer at all. */
export const LOOKUPS_QUICK = 12;
export const LOOKUPS_UNKNOWN = 12;
export const LOOKUPS_SLOW = 8;
/** Of these, for one customer, and how many more names of it may wait. */
export const LOOKUPS_QUICK_PER_CUSTOMER = 6;
export const LOOKUPS_UNKNOWN_PER_CUSTOMER = 4;
export const LOOKUPS_SLOW_PER_CUSTOMER = 2;
export const LOOKUPS_WAITING_PER_CUSTOMER = 200;
/** How long the answer to a look-up is waited for, with the wait for its turn. The system itself may go on for longer. */
export const LOOKUP_MS = 15_000;
export const SLOW_LOOKUP_MS = 1000;
export const NAMES_REMEMBERED = 10_000;

// Administered resources (contract §4).
/** Resources that are named as users of another one, for example because it cannot be deleted. */
export const DEPENDENTS_NAMED = 10;
export const SCOPES_PER_PRODUCT_MAX = 1000;
export const PERMISSIONS_MAX = 1000;
export const SCOPES_PER_APPLICATION_MAX = 1000;
export const PASSWORD_MAX_LENGTH = 256;
/** Length of a chosen password in UTF-16 units. Another Unicode form of it may be slightly longer. */
export const CHOSEN_PASSWORD_MIN_LENGTH = 12;
export const CHOSEN_PASSWORD_MAX_LENGTH = 200;
export const INVITATION_MS: number = 72 * 3_600_000;
/** Two passwords of full length, percent-encoded. */
export const INVITATION_REQUEST_BYTES: number = 8 * 1024;

// Events (contract §4).
export const IDEMPOTENCY_MS: number = 24 * 3_600_000;
export const IDEMPOTENCY_KEY_MAX_LENGTH = 255;
export const EVENT_TYPE_SCHEMAS_CACHED = 500;
/**
 * Time limits for compiling a schema, for validating all events of one request, and for one event. The first and last block the event loop.
 */
export const SCHEMA_COMPILE_MS = 2000;
export const SCHEMA_CHECK_MS = 500;
export const SCHEMA_EVENT_MS = 75;
/** Checks of an event that take too long before it is refused. */
export const SCHEMA_TRIES = 3;
/** Event types of a request that are looked up before the event loop goes on. */
export const TYPES_AT_ONCE = 50;

// The server (contract §1, §6).
export const REQUEST_HEADER_BYTES: number = 16 * 1024;
/** Time limits for receiving the headers, the body, and the whole request. */
export const HEADERS_MS = 10_000;
export const REQUEST_BODY_MS = 30_000;
export const REQUEST_MS = 60_000;
/** Idle time of a connection. Longer than that of proxies (nginx: 60 s, Caddy: 120 s), so that they never send on a closing connection. */
export const KEEP_ALIVE_MS = 130_000;
/** How often these time limits are checked: a connection may exceed them by as much. */
export const CONNECTIONS_CHECK_MS = 1000;
/** How long a result of `/readyz` is reused; each check costs a write. */
export const READY_MS = 1000;
/** A service whose writes wait longer is not ready. */
export const READY_WRITE_MS = 5000;
/** Delay before a change of the catalogue by another process takes effect. */
export const CATALOGUE_WATCH_MS = 1000;
/** Buffer of log lines, for about 25,000. Further lines are dropped. */
export const LOG_BUFFER_BYTES: number = 4 * 1024 * 1024;
/** Characters of log lines that become bytes together. A longer line is not cut. */
export const LOG_CHUNK_LENGTH: number = 64 * 1024;
/** Least time between two writes of log lines. */
export const LOG_PAUSE_MS = 10;
/** Delay before writing to a slow reader again. */
export const LOG_RETRY_MS = 20;
/** How long an ending process waits for its reader. */
export const LOG_LAST_MS = 1000;
/** Client addresses with cached canonical text. */
export const PEERS_CACHED = 1000;

// Endpoints (contract §4).
export const URL_MAX_LENGTH = 2048;
export const SHARED_SECRET_MAX_LENGTH = 512;
export const CERTIFICATE_BYTES: number = 64 * 1024;
/** Time for an endpoint to answer its challenge. */
export const CHALLENGE_TIMEOUT_MS = 10_000;
/** How much of a wrong answer is stored for comparison. A correct one has 44 characters. */
export const CHALLENGE_ANSWER_SHOWN_LENGTH = 200;
export const OAUTH_TOKEN_EXPIRATION_MAX_MINUTES: number = 30 * 24 * 60;
export const SECRET_ACTIVATION_MAX_SECONDS = 604_800;
export const EVENT_PATTERNS_MAX = 100;
export const RECORDS_PER_SECOND_MAX = 1_000_000;
/** Attempts in a response for one delivery. */
export const ATTEMPTS_SHOWN = 200;

/**
 * Work of customers on the event loop: the length of a slice, and how many jobs and bytes of one customer may wait. The operator may
 * have so many times as many.
 */
export const SLICE_MS = 2;
export const SLICED_JOBS_MAX = 200;
export const SLICED_BYTES_MAX: number = 16 * 1024 * 1024;
export const SLICED_OF_OPERATOR = 8;

/** Bodies compressed concurrently. More would take CPU from the event loop. */
export const GZIPS_AT_ONCE = 4;

// Stopping.
/** How long a stop waits for requests and deliveries in progress. */
export const DRAIN_MS = 8000;
/** Time limit of the whole stop: the process ends within 10 s (contract §6). */
export const STOP_MS = 9500;

// `sallyport doctor` (contract §6).
/** Warns of keys and certificates that expire sooner. */
export const EXPIRY_WARNING_MS: number = 30 * 86_400_000;
/** Free disk space: a warning below the first, a problem below the second. */
export const DISK_FREE_LOW_BYTES: number = 1024 * 1024 * 1024;
export const DISK_FREE_MIN_BYTES: number = 100 * 1024 * 1024;
/** The same for the files (inodes) that the file system still takes. */
export const FILES_FREE_LOW = 10_000;
export const FILES_FREE_MIN = 100;
/** A larger difference between clock and elapsed time means that the clock was set. Smaller adjustments are normal. */
export const CLOCK_STEP_MS = 1000;
/** How far records may be ahead of the clock. */
export const CLOCK_BEHIND_MAX_MS = 60_000;

// Metrics.
/** Webhooks with their own series in the metrics; all others share one. */
export const METRICS_WEBHOOKS_MAX = 200;

/** Of the filter of a webhook: its JSON text, its conditions, and how deep filters nest (contract §7). */
export const FILTER_BYTES: number = 16 * 1024;
export const FILTER_CONDITIONS = 50;
export const FILTER_DEPTH = 8;
/** The steps of a path. */
export const FILTER_STEPS = 20;
/** What an editor of filters offers: paths, values of each, and the length of their JSON. */
export const FILTER_PATHS = 500;
export const FILTER_PATH_VALUES = 10;
export const FILTER_VALUE_LENGTH = 100;
/** Compiled filters that are kept, by their text. */
export const FILTERS_CACHED = 2000;
/** Filters that changed are judged by again if judging took longer than this, so many times at most. */
export const JUDGED_AGAIN_MS = 50;
export const JUDGEMENTS_MAX = 10;
/** Events that a preview judges at most, and after how many bytes of their data it stops. */
export const FILTER_PREVIEW_EVENTS = 1000;
export const FILTER_PREVIEW_BYTES: number = 16 * 1024 * 1024;
/** Previews in progress of one customer and of the operator, each with as many bytes; and the reasons of an event. */
export const FILTER_PREVIEWS = 2;
export const FILTER_PREVIEWS_OF_OPERATOR = 16;
export const FILTER_REASONS_MAX = 10;

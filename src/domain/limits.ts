/** Bounds that several rooms share, by subject. */

// Incoming requests (contract §1.8).
export const TOKEN_REQUEST_BYTES: number = 16 * 1024;
export const ADMIN_REQUEST_BYTES: number = 1024 * 1024;
export const EVENT_REQUEST_BYTES: number = 8 * 1024 * 1024;

/** Longer headers are refused without being parsed. A bearer token has 64 characters. */
export const AUTHORIZATION_BYTES: number = 8 * 1024;

/** Base64 of a name with 200 characters of up to six bytes in JSON, and other fields. */
export const CURSOR_MAX_LENGTH = 2000;
export const PAGE_DEFAULT = 50;
export const PAGE_MAX = 200;

// Paths and rules (contract §3.2).
export const REQUEST_TARGET_BYTES: number = 8 * 1024;
export const PATTERN_SEGMENTS_MAX = 32;
export const RULES_PER_PRODUCT_MAX = 1000;

// Webhooks (contract §4.2).
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

// Administered resources (contract §4.2).
/** Resources that are named as users of another one, for example because it cannot be deleted. */
export const DEPENDENTS_NAMED = 10;
export const SCOPES_PER_PRODUCT_MAX = 1000;
export const PERMISSIONS_MAX = 1000;
export const SCOPES_PER_APPLICATION_MAX = 1000;
export const USER_NAME_MAX_LENGTH = 100;
export const PASSWORD_MAX_LENGTH = 256;

// Endpoints (contract §4.2).
export const URL_MAX_LENGTH = 2048;
export const SHARED_SECRET_MAX_LENGTH = 512;
export const CERTIFICATE_BYTES: number = 64 * 1024;

// Expiry.
/** `sallyport doctor` and the portal warn of keys and certificates that expire sooner. */
export const EXPIRY_WARNING_MS: number = 30 * 86_400_000;

/** Days before the expiry of keys and client certificates at which to warn, and how often to check. */
export const EXPIRY_WARNING_DAYS: readonly number[] = [30, 7, 1];

export const EXPIRY_LOOK_EVERY_MS = 3_600_000;

// Customers (contract §8.1).
export const METADATA_PAIRS_MAX = 20;
export const METADATA_NAME_MAX_LENGTH = 100;
export const METADATA_VALUE_MAX_LENGTH = 500;
export const EXTERNAL_ID_MAX_LENGTH = 200;

/** The limits of a customer that has no others, and the largest that it can have. */
export const ENDPOINTS_LIMIT_DEFAULT = 50;
export const WEBHOOKS_LIMIT_DEFAULT = 100;
export const ENDPOINTS_LIMIT_MAX = 100_000;
export const WEBHOOKS_LIMIT_MAX = 100_000;
export const EVENTS_PER_SECOND_LIMIT_MAX = 100_000;
export const USAGE_KEPT_DAYS = 400;

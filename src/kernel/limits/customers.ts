/** The bounds of customers and portal links (contract §8). */

export const METADATA_PAIRS_MAX = 20;
export const METADATA_NAME_MAX_LENGTH = 100;
export const METADATA_VALUE_MAX_LENGTH = 500;
export const EXTERNAL_ID_MAX_LENGTH = 200;
/** How long a portal link can be opened, and how long its session lasts. */
export const PORTAL_LINK_DEFAULT_SECONDS = 600;
export const PORTAL_LINK_MIN_SECONDS = 60;
export const PORTAL_LINK_MAX_SECONDS = 86_400;
export const LINK_SESSION_DEFAULT_SECONDS = 3600;
export const LINK_SESSION_MIN_SECONDS = 300;
export const LINK_SESSION_MAX_SECONDS = 86_400;
export const PORTAL_LINKS_PURGED_AT_ONCE = 100;
/** Customers that a filter suggests. */
export const CUSTOMERS_SUGGESTED = 20;
/** Customers whose use cases, routes and pages stay in memory, about 100 KB each. */
export const CUSTOMERS_CACHED = 200;

/** The limits of a customer that has no others, and the largest that it can have. */
export const ENDPOINTS_LIMIT_DEFAULT = 50;
export const WEBHOOKS_LIMIT_DEFAULT = 100;
export const ENDPOINTS_LIMIT_MAX = 100_000;
export const WEBHOOKS_LIMIT_MAX = 100_000;
export const EVENTS_PER_SECOND_LIMIT_MAX = 100_000;
/** Allowances in memory, about 100 bytes each, before full ones are dropped. Allowances that are not full fill up within a second. */
export const ALLOWANCES_REMEMBERED = 10_000;
/** How often the counted usage is written: what a crash can lose. */
export const USAGE_EVERY_MS = 30_000;
/** Customers and days that a stop writes in one transaction. */
export const USAGE_AT_ONCE = 1000;
export const USAGE_KEPT_DAYS = 400;
/** The period of a reply without `since`. */
export const USAGE_DAYS_DEFAULT = 30;
/** Rows of a CSV file, about 100 bytes each. */
export const USAGE_CSV_ROWS_MAX = 100_000;

// The look of the customers' portal. Every page carries the logo.
export const THEME_NAME_MAX_LENGTH = 60;
export const THEME_LOGO_BYTES: number = 24 * 1024;
export const THEME_LOGO_PIXELS_MAX = 2048;

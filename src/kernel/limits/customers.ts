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
/** Customers whose use cases, routes and pages stay in memory, about 100 KB each. */
export const CUSTOMERS_CACHED = 200;

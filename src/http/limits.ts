/** Bounds that several files of this folder share. */

/** How much of the body of a refused request is still read, and for how long, so that the client reads the reply. */
export const DISCARDED_BODY_BYTES: number = 16 * 1024 * 1024;
export const DISCARDED_BODY_MS = 2000;

/** Time limits for receiving the headers, the body, and the whole request. */
export const HEADERS_MS = 10_000;
export const REQUEST_BODY_MS = 30_000;
export const REQUEST_MS = 60_000;

/** `Retry-After` of refusals by the database. */
export const DATABASE_RETRY_SECONDS = 5;

/** Customers whose use cases, routes and pages stay in memory, about 100 KB each. */
export const CUSTOMERS_CACHED = 200;

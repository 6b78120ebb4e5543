/** Bounds and intervals of the connections to PostgreSQL. */

/** Connections that write; each has one transaction at a time. */
export const POSTGRES_WRITERS = 4;
/** A connection that is not made by then, and a statement that is not answered by then, end the connection. */
export const POSTGRES_CONNECT_MS = 5000;
export const POSTGRES_ANSWER_MS = 10_000;
/** The pause before another attempt to connect. */
export const POSTGRES_RECONNECT_MS = 250;
/** How often a transaction is run again that others kept from finishing. */
export const POSTGRES_ROUNDS = 20;
/** How often the difference to the database's clock is measured. */
export const POSTGRES_CLOCK_EVERY_MS = 5000;
/**
 * Lists that share a transaction. Several would lock the rows of webhooks in the order in which they came, and so deadlock with a publisher,
 * who locks them in the order of their numbers; each deadlock takes a second.
 */
export const POSTGRES_LISTS_TOGETHER = 1;

/** Bounds that several files of this folder share. */

/** Connections that write; each has one transaction at a time. */
export const POSTGRES_WRITERS = 4;

/** Connections that read. All reads share the first one unless a statement keeps it busy for `POSTGRES_READER_BUSY_MS`. */
export const POSTGRES_READERS = 2;
export const POSTGRES_READER_BUSY_MS = 5;

/** The pause before another attempt to connect, and after the server refused the role. */
export const POSTGRES_RECONNECT_MS = 250;
export const POSTGRES_REFUSED_MS = 5000;

/** The time limit of a statement. Then its connection is closed. */
export const POSTGRES_ANSWER_MS = 10_000;

/**
 * How long a write waits for a connection while others wait in COMMIT, and how long its COMMIT may wait, for example for a synchronous
 * standby. Then its caller gets 503. The connection keeps waiting: a new one for each write would use up the server's connections.
 */
export const POSTGRES_QUEUE_MS = 5000;
export const POSTGRES_COMMIT_MS: number = POSTGRES_ANSWER_MS;

/** How long an orderly end waits for writes in progress. */
export const POSTGRES_CLOSE_MS = 1000;

/** How often these limits are checked. */
export const POSTGRES_LATE_EVERY_MS = 200;

/** How often a read, or a transaction that did not commit, is run again after its connection was lost. */
export const POSTGRES_LOST_ROUNDS = 2;

/** How long the driver asks whether a transaction committed whose COMMIT was not answered. */
export const POSTGRES_OUTCOME_MS = 5000;

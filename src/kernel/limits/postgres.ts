/** Bounds and intervals of the connections to PostgreSQL. */

/** Connections that write; each has one transaction at a time. */
export const POSTGRES_WRITERS = 4;
/** Connections that read. All reads share the first one unless a statement keeps it busy for `POSTGRES_READER_BUSY_MS`. */
export const POSTGRES_READERS = 2;
export const POSTGRES_READER_BUSY_MS = 5;
/** The connections of an instance: those above, one that listens, and one of the thread for large bodies. */
export const POSTGRES_CONNECTIONS: number = POSTGRES_WRITERS + POSTGRES_READERS + 2;

/**
 * How much longer the thread for large bodies takes a silent server for slow. Its priority is low: on busy processors it may not run for
 * seconds. No request waits for it.
 */
export const POSTGRES_BODY_THREAD_PATIENCE = 5;

/** The time limit of a connection attempt, unless the URL sets `connect_timeout`. */
export const POSTGRES_CONNECT_MS = 5000;
/** How long a read or a write waits for a connection. The attempt goes on. */
export const POSTGRES_CONNECT_WAIT_MS = 1800;
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
/** How long a statement waits for a lock, and how long the server keeps a transaction whose client sends nothing more. */
export const POSTGRES_LOCK_MS = 5000;
export const POSTGRES_IDLE_TRANSACTION_MS = 5000;
/**
 * How often connections are examined. If a statement has not been answered for `POSTGRES_SILENT_MS`, another connection asks the server
 * whether it still works on it. Together less than two seconds.
 */
export const POSTGRES_WATCH_EVERY_MS = 150;
export const POSTGRES_SILENT_MS = 800;
export const POSTGRES_PROBE_MS = 900;
/** An answer that was sent before the server called a connection idle arrives within this time. */
export const POSTGRES_LATE_ANSWER_MS = 200;
/** How often the listening connection is examined: nothing else is sent on it. */
export const POSTGRES_LISTENING_EVERY_MS = 5000;
/** How long an orderly end of a connection may take. */
export const POSTGRES_END_MS = 500;

/** How long dropping a partition waits for its lock, while all other statements on the table wait too. */
export const PARTITION_LOCK_MS = 300;

/**
 * How long a migration waits for the lock of a table, while all other statements on the table wait too: less than `deadlock_timeout`, by
 * default a second. How long it then lets them go on, and how long it tries in all.
 */
export const MIGRATION_LOCK_MS = 200;
export const MIGRATION_PAUSE_MS = 100;
export const MIGRATION_WAIT_MS = 60_000;

/** How often, and with which pause, the end of an erasure looks whether older transactions have ended. Most take milliseconds. */
export const ERASURE_SNAPSHOT_LOOKS = 20;
export const ERASURE_SNAPSHOT_LOOK_MS = 50;

/** How often a transaction is run again that others kept from finishing. */
export const POSTGRES_ROUNDS = 20;
/** How often a read, or a transaction that did not commit, is run again after its connection was lost. */
export const POSTGRES_LOST_ROUNDS = 2;
/** How long the driver asks whether a transaction committed whose COMMIT was not answered. */
export const POSTGRES_OUTCOME_MS = 5000;
/** How often the difference to the database's clock is measured. */
export const POSTGRES_CLOCK_EVERY_MS = 5000;

/** The bounds of the database's commits and of its write-ahead log. */

/** What one commit takes at most, so that none holds the others for long: lists of statements, and how long these may take. */
export const LISTS_PER_COMMIT = 512;
export const COMMIT_STATEMENTS_MS = 4;
/**
 * So many are handed to a writing thread that has nothing to do before the turn of the event loop ends, so that it writes while the
 * loop works on. With 64 token requests at once it took the rate up by 11 to 23 %; fewer cost the event loop more than they gain.
 */
export const LISTS_HANDED_EARLY = 32;
/** How long a writer in another process may hold the file before what waits here is refused: the reply is due within 5 s (contract §6). */
export const BUSY_GIVE_UP_MS = 4000;
/** How long SQLite itself waits at each try, while nothing else can be done. */
export const BUSY_WAIT_MS = 5;
/** How long what waits is let be before the next try while another process holds the file. */
export const BUSY_PAUSE_MS = 20;
/** `Retry-After` of what the database refuses. */
export const DATABASE_RETRY_SECONDS = 5;
/** Lists that may wait to be written, and the bytes of their values: beyond either, more are refused at once. */
export const LISTS_WAITING_MAX = 16_384;
export const BYTES_WAITING_MAX: number = 128 * 1024 * 1024;
/** For so long after a look at the database's files a commit begins without another one; each ends with one. */
export const FILES_CHECK_MS = 20;
/** How often a server looks whether they are in their places. */
export const FILES_WATCH_MS = 1000;
/** A start looks through all of a database that is no larger, which takes 0.15 s. */
export const CHECKED_AT_START_BYTES: number = 64 * 1024 * 1024;
/** How long it is gone on without a thread that ended unasked before another one is begun. */
export const THREAD_RESTART_MS = 60_000;
/** Pages of 4 KiB in the log that are copied into the file: with a thread for it; without one, in the middle of a commit. */
export const CHECKPOINT_PAGES = 1000;
export const CHECKPOINT_PAGES_ALONE = 500;
/** So few pages the writer copies itself, between two commits; and so many, when the thread does not keep up. */
export const CHECKPOINT_FINISH_PAGES = 200;
export const CHECKPOINT_PAGES_MAX = 16_384;
/** What the log's file is cut to when the log begins anew. */
export const LOG_FILE_BYTES: number = 16 * 1024 * 1024;
/**
 * Of the file, each connection keeps so much in memory, in KiB. Another one's commit makes a reader read anew what it keeps, so that more
 * is of use only while nothing is written: with SQLite's own 16,000 deliveries were no faster, and the process grew by 16 MB.
 */
export const PAGES_KEPT_KIB = 4000;

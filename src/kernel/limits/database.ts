/** The limits of the database's commits, of its threads and of its write-ahead log. */

/**
 * One commit takes at most so many lists of statements and starts no further list after so long, so that none holds the others for long.
 */
export const LISTS_PER_COMMIT = 512;
export const COMMIT_STATEMENTS_MS = 4;
/**
 * So many lists are handed to an idle writing thread before the turn of the event loop ends, so that it writes while the loop works on.
 * With 64 concurrent token requests this raised the rate by 11 to 23 % (benchmark "Issuing tokens"); fewer cost the event loop more than
 * they gain.
 */
export const LISTS_HANDED_EARLY = 32;
/** How long another process may hold the database before waiting writes are refused. The reply is due within 5 s (contract §6). */
export const BUSY_GIVE_UP_MS = 4000;
/** How long SQLite itself waits at each attempt. The thread is blocked during the wait. */
export const BUSY_WAIT_MS = 5;
/** The pause between two attempts while another process holds the database. */
export const BUSY_PAUSE_MS = 20;
/** `Retry-After` of refusals by the database. */
export const DATABASE_RETRY_SECONDS = 5;
/** How many lists may wait to be written, and the bytes of their values. Beyond either limit, writes are refused immediately. */
export const LISTS_WAITING_MAX = 16_384;
export const BYTES_WAITING_MAX: number = 128 * 1024 * 1024;
/** For so long after a check of the database's files, a commit begins without another one. Each commit ends with a check. */
export const FILES_CHECK_MS = 20;
/** How often a server checks that the files are in their places. */
export const FILES_WATCH_MS = 1000;
/** A start checks every page of a database up to this size, which takes 0.15 s. */
export const CHECKED_AT_START_BYTES: number = 64 * 1024 * 1024;
/** How long a service whose database thread ended waits for its requests to be answered before it exits. */
export const WRITER_END_STOP_MS = 1000;
/** Pages of 4 KiB in the log at which it is copied into the file: by a server's thread, and by a command in the middle of a commit. */
export const CHECKPOINT_PAGES = 1000;
export const CHECKPOINT_PAGES_ALONE = 500;
/** The writer copies so few pages itself, between two commits; and so many if the checkpoint thread does not keep up. */
export const CHECKPOINT_FINISH_PAGES = 200;
export const CHECKPOINT_PAGES_MAX = 16_384;
/** The log's file is cut to this size when the log begins again. */
export const LOG_FILE_BYTES: number = 16 * 1024 * 1024;
/**
 * The page cache of each connection, in KiB. A commit of another connection empties it, so a larger one helps only while nothing is
 * written: with SQLite's default of 16,000 deliveries were no faster, and the process grew by 16 MB.
 */
export const PAGES_KEPT_KIB = 4000;

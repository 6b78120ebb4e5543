/** Bounds that several files of this folder share. */

/**
 * The maximum number of lists of statements in one commit, and the time after which a commit starts no further list. So no list holds the
 * others for long.
 */
export const LISTS_PER_COMMIT = 512;
export const COMMIT_STATEMENTS_MS = 4;

/** How long another process may hold the database before waiting writes are refused (contract §6.4). The reply is due within 5 s. */
export const BUSY_GIVE_UP_MS = 4000;

/** The pause between two attempts while another process holds the database. */
export const BUSY_PAUSE_MS = 20;

/** Pages of 4 KiB in the log at which it is copied into the file: by a server's thread, and by a command in the middle of a commit. */
export const CHECKPOINT_PAGES = 1000;
export const CHECKPOINT_PAGES_ALONE = 500;

/** Bounds that several files of this folder share. */

/** Processes that publish at the same time may write events out of order: largest distance in a log. */
export const LOG_DISORDER_RECORDS = 256;
export const LOG_DISORDER_MS = 60_000;

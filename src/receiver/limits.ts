/** Bounds that several files of this folder share. */

/** A body, both as received and decoded. Batches have at most 1 MiB before encoding; a single event may slightly exceed 256 KiB. */
export const RECEIVED_BODY_BYTES: number = 4 * 1024 * 1024;

/** The pause after a failed read of records, its largest value, and after how many failures in a row to give up: about five minutes. */
export const CATCH_UP_BACKOFF_MS = 500;
export const CATCH_UP_BACKOFF_MAX_MS = 30_000;
export const CATCH_UP_FAILURES = 16;

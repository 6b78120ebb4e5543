/** Bounds that several files of this folder share. */

/** Longest time between reading the records of an attempt and its start, mostly spent waiting for encryption. */
export const ERASURE_UNDER_WAY_MS = 60_000;

/** How many lists may wait to be written, and the bytes of their values. Beyond either limit, writes are refused immediately. */
export const LISTS_WAITING_MAX = 16_384;
export const BYTES_WAITING_MAX: number = 128 * 1024 * 1024;

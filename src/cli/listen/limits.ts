/** Bounds that several files of this folder share. */

/** Time for the program of --forward to answer. Below the longest time-out of a sender. */
export const LISTEN_FORWARD_MS = 50_000;
export const LISTEN_DELAY_MAX_MS = 3_600_000;

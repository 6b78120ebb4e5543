/** Limits of `sallyport listen`. */

export const LISTEN_CERTIFICATE_DAYS = 365;
/** Time for the program of --forward to answer. Below the longest time-out of a sender. */
export const LISTEN_FORWARD_MS = 50_000;
export const LISTEN_DELAY_MAX_MS = 3_600_000;
/** Characters of a body in the output. */
export const LISTEN_BODY_SHOWN_LENGTH = 65_536;
/** An announced receiver refreshes its announcement this often. Without a refresh the announcement ends after the longer time. */
export const ANNOUNCED_REFRESH_MS = 5000;
export const ANNOUNCED_MS = 15_000;

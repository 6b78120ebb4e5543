/** The bounds of `sallyport listen`. */

export const LISTEN_CERTIFICATE_DAYS = 365;
/** How long the program that deliveries are forwarded to has to answer; below what a sender waits at most. */
export const LISTEN_FORWARD_MS = 50_000;
export const LISTEN_DELAY_MAX_MS = 3_600_000;
/** Characters of a body that are shown. */
export const LISTEN_BODY_SHOWN_LENGTH = 65_536;

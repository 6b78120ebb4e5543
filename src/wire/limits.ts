/** Bounds that several files of this folder share. */

/** Largest difference between a signed date and the clock of the receiver. */
export const SIGNATURE_TOLERANCE_SECONDS = 300;
export const CHALLENGE_TOKEN_BYTES = 32;

/** Signatures in one `webhook-signature` header that are compared. */
export const WEBHOOK_SIGNATURES_MAX = 16;
export const PGP_KEY_BYTES: number = 64 * 1024;

/** Parsed PGP keys in memory, of each kind; the least recently used goes first. */
export const PGP_KEYS_CACHED = 64;

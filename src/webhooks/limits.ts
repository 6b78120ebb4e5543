/** Bounds that several files of this folder share. */

/** How much of a wrong answer is stored for comparison. A correct one has 44 characters. */
export const CHALLENGE_ANSWER_SHOWN_LENGTH = 200;
export const OAUTH_TOKEN_EXPIRATION_MAX_MINUTES: number = 30 * 24 * 60;
export const SECRET_ACTIVATION_MAX_SECONDS = 604_800;
export const EVENT_PATTERNS_MAX = 100;
export const RECORDS_PER_SECOND_MAX = 1_000_000;

/** Events that a preview judges at most, and after how many bytes of their data it stops. */
export const FILTER_PREVIEW_EVENTS = 1000;
export const FILTER_PREVIEW_BYTES: number = 16 * 1024 * 1024;

/** Bounds that several files of this folder share. */

/** Length of a chosen password in UTF-16 units. Another Unicode form of it may be slightly longer. */
export const CHOSEN_PASSWORD_MIN_LENGTH = 12;
export const CHOSEN_PASSWORD_MAX_LENGTH = 200;
export const INVITATION_MS: number = 72 * 3_600_000;

/** Bounds that several files of this folder share. */

export const EVENT_DATA_BYTES: number = 256 * 1024;

// Events (contract §4).
export const IDEMPOTENCY_MS: number = 24 * 3_600_000;
export const IDEMPOTENCY_KEY_MAX_LENGTH = 255;
export const EVENT_TYPE_SCHEMAS_CACHED = 500;

/** Bounds that several files of this folder share. */

/** The data of an event (contract §1.8). */
export const EVENT_DATA_BYTES: number = 256 * 1024;

/** How long an idempotency key of events is kept. */
export const IDEMPOTENCY_MS: number = 24 * 3_600_000;
export const IDEMPOTENCY_KEY_MAX_LENGTH = 255;
export const EVENT_TYPE_SCHEMAS_CACHED = 500;

/** Bounds of the store that its users must know too. */

/** Last uses of applications that one statement writes. */
export const APPLICATION_USES_AT_ONCE = 1000;

/** Batches examined to group failures by cause. */
export const FAILURES_EXAMINED_MAX = 10_000;

/** Examined for a count that is not the subject of its page, which must not wait for all webhooks. */
export const FAILURES_GLANCE = { webhooks: 10, batches: 1000 } as const;

/** Records examined for one page of deliveries. If few match, the page ends early and the next one continues. */
export const DELIVERIES_EXAMINED_MAX = 10_000;

/** A larger difference between clock and elapsed time means that the clock was set. Smaller adjustments are normal. */
export const CLOCK_STEP_MS = 1000;

/** How far records may be ahead of the clock. */
export const CLOCK_BEHIND_MAX_MS = 60_000;

/** Longest time between reading the records of an attempt and its start, mostly spent waiting for encryption. */
export const ERASURE_IN_PROGRESS_MS = 60_000;

/** How many lists may wait to be written, and the bytes of their values. Beyond either limit, writes are refused immediately. */
export const LISTS_WAITING_MAX = 16_384;
export const BYTES_WAITING_MAX: number = 128 * 1024 * 1024;

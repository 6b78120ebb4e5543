/** Limits of reading long logs: pages of deliveries, latest attempts, and replays. */

/** Attempts examined for the latest ones of a webhook or a batch, and the time in which the first attempt of a new batch ends. */
export const ATTEMPTS_LOOKED_THROUGH = 2000;
export const BATCH_BEGUN_MS = 300_000;
/** Attempts examined for the last delivery and the last error of webhooks: the newest of all, and the newest of each webhook. */
export const OUTCOMES_LOOKED_THROUGH = 500;
export const OUTCOMES_PER_WEBHOOK = 10;
/** Events examined for the sample of an event type. */
export const SAMPLES_LOOKED_THROUGH = 50;
/** Events of a customer examined for the latest ones of some types. */
export const LATEST_LOOKED_THROUGH = 10_000;
/** Records examined for one page of deliveries, in total and at a time. If few match, the page ends early and the next one continues. */
export const DELIVERIES_EXAMINED_MAX = 10_000;
export const DELIVERIES_EXAMINED_AT_ONCE = 500;
/** Batches examined to group failures by cause: in total and at a time. */
export const FAILURES_EXAMINED_MAX = 10_000;
export const FAILURES_EXAMINED_AT_ONCE = 250;
/** Batches counted per turn of the event loop before a replay. */
export const REPLAY_COUNTED_AT_ONCE = 2000;
/** Processes that publish at the same time may write events out of order: largest distance in a log. */
export const LOG_DISORDER_RECORDS = 256;
export const LOG_DISORDER_MS = 60_000;
/** Records that a list of all webhooks reads of one webhook at a time, and webhooks per turn of the event loop. */
export const READ_PER_WEBHOOK = 64;
export const WEBHOOKS_AT_ONCE = 50;
/** Positions that such a list reads at a time at most. */
export const PLACES_AHEAD = 5000;
/** Entries of the audit log examined per turn of the event loop. */
export const AUDIT_EXAMINED_AT_ONCE = 2000;

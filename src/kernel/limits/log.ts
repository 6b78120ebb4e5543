/** Every bound of reading long logs in one place: pages of deliveries, the last attempts, and replays. */

/** Attempts that are gone through for the last ones of one webhook, or for a batch; and how long after a batch was made its first one is over. */
export const ATTEMPTS_LOOKED_THROUGH = 2000;
export const BATCH_BEGUN_MS = 300_000;
/** Records that are looked at for one page of deliveries, and at a time: where hardly any fits, the page ends early and the next one goes on. */
export const DELIVERIES_EXAMINED_MAX = 10_000;
export const DELIVERIES_EXAMINED_AT_ONCE = 500;
/** Batches that are counted in one turn of the event loop, before a replay. */
export const REPLAY_COUNTED_AT_ONCE = 2000;
/** Two processes that publish at the same moment may write events in another order than they happened in: how far apart such may lie in a log. */
export const LOG_DISORDER_RECORDS = 256;
export const LOG_DISORDER_MS = 60_000;
/** How far a list of all webhooks reads ahead in each to put such in order, and in how many of them it looks in one turn of the event loop. */
export const SORTED_AHEAD = 64;
export const MERGED_AT_ONCE = 50;
/** Entries of the audit log that are looked at for a page in one turn of the event loop. */
export const AUDIT_EXAMINED_AT_ONCE = 2000;

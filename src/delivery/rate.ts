/** How many records a webhook may send now (`maxRecordsPerSecond`). In memory: after a restart it begins anew. */

export type RateLimiter = {
  /** Whole records that may be sent at `now`, and when the next one may if there is none. */
  allowance(
    webhookNumber: number,
    perSecond: number | null,
    now: number,
  ): { readonly records: number; readonly nextAt: number };
  /** Counts records that were claimed. A retried batch may overdraw; what follows waits the longer. */
  spend(webhookNumber: number, perSecond: number | null, records: number, now: number): void;
  forget(webhookNumber: number): void;
};

/** Records may bunch by a tenth of a second's worth, so that any ten seconds hold the rate within about one percent. */
const BURST_SECONDS = 0.1;

export function createRateLimiter(): RateLimiter {
  const buckets = new Map<number, { tokens: number; at: number }>();
  const refilled = (webhookNumber: number, perSecond: number, now: number): { tokens: number; at: number } => {
    const most = Math.max(1, perSecond * BURST_SECONDS);
    const bucket = buckets.get(webhookNumber) ?? { tokens: most, at: now };
    const gained = (Math.max(0, now - bucket.at) / 1000) * perSecond;
    const current = { tokens: Math.min(most, bucket.tokens + gained), at: Math.max(now, bucket.at) };
    buckets.set(webhookNumber, current);
    return current;
  };
  return {
    allowance: (webhookNumber, perSecond, now) => {
      if (perSecond === null) return { records: Number.POSITIVE_INFINITY, nextAt: now };
      const { tokens } = refilled(webhookNumber, perSecond, now);
      const missing = Math.max(0, 1 - tokens);
      return { records: Math.max(0, Math.floor(tokens)), nextAt: now + Math.ceil((missing / perSecond) * 1000) };
    },
    spend: (webhookNumber, perSecond, records, now) => {
      if (perSecond === null) return;
      const bucket = refilled(webhookNumber, perSecond, now);
      bucket.tokens -= records;
    },
    forget: (webhookNumber) => void buckets.delete(webhookNumber),
  };
}

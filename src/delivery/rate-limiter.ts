/** How many records each webhook may send now (`maxRecordsPerSecond`). No I/O; the clock is an argument. */
import { createLru } from '../kernel/lru.ts';

export type RecordAllowance = {
  /** Whole records that may be sent now; infinite without a limit. */
  readonly records: number;
  /** When enough records may be sent to be worth a request; `now` if they already may. */
  readonly nextAt: number;
};

/** How many records a webhook may send now (`maxRecordsPerSecond`): a token bucket each, in memory, full after a restart. */
type RateLimiter = {
  /** Returns how many more records may be sent at `now`. `reserved`: claimed and not sent yet. `wanted`: records that wait. */
  allowance(
    webhookNumber: number,
    perSecond: number | null,
    demand: { readonly now: number; readonly wanted: number; readonly reserved: number },
  ): RecordAllowance;
  /** Counts records that are about to be sent. A batch cut under a higher limit may overdraw the bucket; the next one waits longer. */
  spend(webhookNumber: number, perSecond: number | null, records: number, now: number): void;
};

/** Records may bunch by a fifth of a second's worth, so that any ten seconds hold the rate within two percent. */
const BURST_SECONDS = 0.2;
/** Webhooks with a bucket. The least recently used one is dropped, and starts again with a full bucket. */
const BUCKETS_MAX = 10_000;

/** `perSecond`: the limit that last applied. */
type Bucket = { tokens: number; at: number; perSecond: number };

export function createRateLimiter(): RateLimiter {
  const buckets = createLru<number, Bucket>({ max: BUCKETS_MAX });
  const refilled = (webhookNumber: number, perSecond: number, now: number): Bucket => {
    const most = burst(perSecond);
    const bucket = buckets.get(webhookNumber) ?? { tokens: most, at: now, perSecond };
    // A debt from another limit is cancelled: the new limit may be much lower and take very long to repay it.
    if (bucket.perSecond !== perSecond) bucket.tokens = Math.max(0, bucket.tokens);
    bucket.perSecond = perSecond;
    // A clock that is set back neither adds nor removes tokens.
    const gained = (Math.max(0, now - bucket.at) / 1000) * perSecond;
    bucket.tokens = Math.min(most, bucket.tokens + gained);
    bucket.at = now;
    buckets.set(webhookNumber, bucket);
    return bucket;
  };
  return {
    allowance: (webhookNumber, perSecond, { now, wanted, reserved }) => {
      if (perSecond === null) {
        buckets.delete(webhookNumber);
        return { records: Number.POSITIVE_INFINITY, nextAt: now };
      }
      const tokens = refilled(webhookNumber, perSecond, now).tokens - reserved;
      // Half a bucket at a time if enough records wait: a request for every single token would cost more than it carries.
      const worthwhile = Math.max(1, Math.min(wanted, Math.floor(burst(perSecond) / 2)));
      const missing = Math.max(0, worthwhile - tokens);
      if (missing > 0) return { records: 0, nextAt: now + Math.max(1, Math.ceil((missing / perSecond) * 1000)) };
      return { records: Math.floor(tokens), nextAt: now };
    },
    spend: (webhookNumber, perSecond, records, now) => {
      if (perSecond !== null) refilled(webhookNumber, perSecond, now).tokens -= records;
    },
  };
}

/** At least one record, so that a rate below one a second still sends. */
function burst(perSecond: number): number {
  return Math.max(1, perSecond * BURST_SECONDS);
}

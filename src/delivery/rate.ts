/** How many records a webhook may send now (`maxRecordsPerSecond`). In memory: after a restart it begins anew. */
import { createLru } from '../kernel/lru.ts';

export type Allowance = {
  /** Whole records that may be sent now; infinite without a limit. */
  readonly records: number;
  /** When enough of them may that a batch is worth its request; `now` if they may already. */
  readonly nextAt: number;
};

export type RateLimiter = {
  /** What may be sent at `now` besides `reserved` records that are on their way already, of `wanted` that there are. */
  allowance(
    webhookNumber: number,
    perSecond: number | null,
    demand: { readonly now: number; readonly wanted: number; readonly reserved: number },
  ): Allowance;
  /** Counts records that go out. A batch that was cut under a higher limit may overdraw; what follows waits the longer. */
  spend(webhookNumber: number, perSecond: number | null, records: number, now: number): void;
};

/** Records may bunch by a fifth of a second's worth, so that any ten seconds hold the rate within two percent. */
const BURST_SECONDS = 0.2;
/** Webhooks remembered. One that is forgotten, because others were busy since, begins with a full bucket. */
const BUCKETS_MAX = 10_000;

/** `perSecond`: the limit under which it was last asked. */
type Bucket = { tokens: number; at: number; perSecond: number };

export function createRateLimiter(): RateLimiter {
  const buckets = createLru<number, Bucket>({ max: BUCKETS_MAX });
  const refilled = (webhookNumber: number, perSecond: number, now: number): Bucket => {
    const most = burst(perSecond);
    const bucket = buckets.get(webhookNumber) ?? { tokens: most, at: now, perSecond };
    // What was overdrawn is made up for at the rate under which it was, not at another one, which may be much lower.
    if (bucket.perSecond !== perSecond) bucket.tokens = Math.max(0, bucket.tokens);
    bucket.perSecond = perSecond;
    // The clock may be set back: nothing is gained then, and nothing lost.
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
      // Half a bucket at a time where so much waits: a request for every single token would cost more than it carries.
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

/** One record at least may always go once its time has come. */
function burst(perSecond: number): number {
  return Math.max(1, perSecond * BURST_SECONDS);
}

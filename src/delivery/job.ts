/** What the dispatcher passes from claim to settlement. */
import { OAUTH_TIMEOUT_MS } from '../kernel/limits/delivery.ts';
import type { Batch, DeliveryTarget } from './batch.ts';
import type { Sent } from './send.ts';

/** One request to send, under a lease. `batch` is null for a heartbeat. */
export type Job = {
  readonly webhookNumber: number;
  readonly endpointId: string;
  readonly batch: Batch | null;
  /** The webhook was ordered when the job was claimed: no other job of it was under way, and no earlier record waited. */
  readonly ordered: boolean;
  readonly leaseExpiresAt: number;
};

/**
 * The result of a job:
 * - `sent`: an attempt, at the URL that the endpoint had then;
 * - `cut off`: an attempt that the service ended, which does not count;
 * - `broken off`: a fault of the service, before the endpoint saw a request;
 * - `unreadable`: a record of the batch cannot be read;
 * - `lost`: the lease was lost before the settlement, so that another claim owns the batch;
 * - `release`: not tried, the batch is given back;
 * - `discarded`: not tried, all its records were erased.
 */
export type Result =
  | { readonly kind: 'sent'; readonly sent: Sent; readonly url: string }
  | { readonly kind: 'cut off' | 'broken off' | 'unreadable'; readonly sent: Sent }
  | { readonly kind: 'lost'; readonly sent: Sent | null }
  | { readonly kind: 'release' | 'discarded' };

export type Finished = { readonly job: Job; readonly result: Result };

export function recordsOf({ batch }: Pick<Job, 'batch'>): number {
  return batch === null ? 0 : batch.lastOffset - batch.firstOffset + 1;
}

/** The longest that one attempt can take: it may request a token twice and post twice. */
export function attemptMs({ webhook }: Pick<DeliveryTarget, 'webhook'>): number {
  return webhook.timeoutSeconds * 2000 + OAUTH_TIMEOUT_MS * 2;
}

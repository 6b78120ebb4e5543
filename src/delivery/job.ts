/** What the dispatcher passes from claim to settlement. */
import { OAUTH_TIMEOUT_MS } from '../kernel/limits/delivery.ts';
import type { Batch } from './batch.ts';
import type { Sent } from './send.ts';
import type { DeliveryTarget } from './target.ts';

/** One request to be sent, under a lease. `batch` is null for a heartbeat. */
export type Job = {
  readonly webhookNumber: number;
  /** The endpoint whose place it takes. */
  readonly endpointId: string;
  readonly batch: Batch | null;
  /** Nothing of the webhook was under way when it was claimed, and nothing that waits comes before it. */
  readonly ordered: boolean;
  readonly leaseExpiresAt: number;
};

/**
 * What came of a job: an attempt, at the URL that the endpoint had then; one that was cut off because the service stops, which does not
 * count; one that broke off here, of which the endpoint knows nothing; none because a record of the batch cannot be read; one whose lease was lost before it was settled, so that its batch
 * is another's; or none, the batch being given back untried or closed because its records were erased.
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

/** How long one attempt may take: it may ask for a token twice and post twice. */
export function attemptMs({ webhook }: Pick<DeliveryTarget, 'webhook'>): number {
  return webhook.timeoutSeconds * 2000 + OAUTH_TIMEOUT_MS * 2;
}

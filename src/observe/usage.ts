/** Counts what customers' webhooks deliver (contract §8.9). Published events and issued tokens are counted where they are made. */
import type { ObserveOutcome } from '../delivery/settle.ts';
import type { Clock } from '../kernel/ids.ts';
import type { UsageStore } from '../store/port/usage.ts';

/** Called for every written outcome. Heartbeats and tests count for nothing. */
export function createUsageObserver(usage: Pick<UsageStore, 'count'>, clock: Clock): ObserveOutcome {
  return (_webhookId, { batch, fate, attempt, bytes = 0 }, customerId) => {
    const deliveries = batch !== null && fate?.kind === 'delivered' ? batch.lastOffset - batch.firstOffset + 1 : 0;
    if (attempt?.kind === 'delivery') {
      const failures = attempt.errorClass === null ? 0 : 1;
      usage.count(customerId, { deliveries, attempts: 1, failures, bytes }, clock());
    } else if (deliveries > 0) usage.count(customerId, { deliveries }, clock());
  };
}

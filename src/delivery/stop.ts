/** Stops a webhook for a reason that the service found. Its records stay pending. */
import type { Ids } from '../kernel/ids.ts';
import type { Log } from '../observe/log.ts';
import { StaleWrite } from '../store/errors.ts';
import type { Store } from '../store/store.ts';
import { type StopReason, stoppedProgress } from '../webhooks/lifecycle.ts';
import { serviceStopEntry, stateChange } from '../webhooks/state-change.ts';
import type { DeliveryTarget } from './batch.ts';

type Dependencies = { readonly store: Pick<Store, 'webhooks'>; readonly ids: Ids; readonly log: Log };

/** Writes the event and the audit entry too. Does nothing if the webhook changed since `target` was read. */
export async function stopByService(
  { store, ids, log }: Dependencies,
  { webhook, endpoint }: DeliveryTarget,
  reason: StopReason,
  now: number,
): Promise<void> {
  const after = stoppedProgress(webhook.progress, 'stop', reason, now);
  try {
    const change = stateChange(webhook, after, ids);
    const entry = serviceStopEntry(webhook, after, ids);
    if (reason === 'endpoint_disabled') await store.webhooks.stopWithEndpoint(change, entry, endpoint.id);
    else await store.webhooks.setState(change, entry);
  } catch (error) {
    if (error instanceof StaleWrite) return;
    throw error;
  }
  log.warn({ webhookId: webhook.id, reason }, 'webhook stopped');
}

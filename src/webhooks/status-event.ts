/** The events that tell subscribers of a webhook's own changes (contract §5): `webhook.started`, `.running`, `.stopped`, … */

import type { NewEvent } from '../events/event.ts';
import { makeEvent } from '../events/event.ts';
import type { Ids } from '../kernel/ids.ts';
import { isoInstant } from '../kernel/schemas.ts';
import { toldReason } from './view.ts';
import type { Progress, StateChange, Webhook } from './webhook.ts';

/** The change to `after` with its event, ready for the transaction that causes it. */
export function stateChange(webhook: Webhook, after: Progress, ids: Ids): StateChange {
  return { progress: after, stateBefore: webhook.progress.state, event: statusEvent(webhook, after, ids) };
}

function statusEvent(webhook: Webhook, after: Progress, ids: Ids): NewEvent {
  const data = {
    webhookId: webhook.id,
    webhookName: webhook.name,
    endpointId: webhook.endpointId,
    state: after.state,
    previousState: webhook.progress.state,
    reason: toldReason(after),
    at: isoInstant(after.stateAt),
  };
  return makeEvent({ type: `webhook.${after.state}`, data }, { ids, now: after.stateAt });
}

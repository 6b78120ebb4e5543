/** What is written with a change of a webhook's state: its event (contract §5), and the audit entry if the service made the change. */
import { makeEvent, type NewEvent } from '../events/event.ts';
import type { Ids } from '../kernel/ids.ts';
import { isoInstant } from '../kernel/schemas.ts';
import { SERVICE } from '../resources/acting.ts';
import type { AuditAction, AuditEntry } from '../resources/audit.ts';
import { toldReason } from './view.ts';
import type { Progress, StateChange, Webhook } from './webhook.ts';

/** The change to `after` with its event, for the transaction that causes it. */
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

/** For the transaction of the change to `after`, which happens at its `stateAt`. */
export function serviceStopEntry(webhook: Webhook, after: Progress, ids: Ids): AuditEntry {
  return serviceEntry('webhook.stop', webhook, after, ids);
}

/** For the transaction that enables its endpoint again. */
export function serviceStartEntry(webhook: Webhook, after: Progress, ids: Ids): AuditEntry {
  return serviceEntry('webhook.start', webhook, after, ids);
}

function serviceEntry(action: AuditAction, { id, progress }: Webhook, after: Progress, ids: Ids): AuditEntry {
  const { state, stateReason, stateAt } = after;
  return {
    id: ids.uuid(),
    at: stateAt,
    actor: SERVICE.actor,
    action,
    target: `webhook:${id}`,
    changes: {
      state: { from: progress.state, to: state },
      stateReason: { from: progress.stateReason, to: stateReason },
    },
  };
}

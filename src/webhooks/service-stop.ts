/** What the audit log says of a webhook that the service stops, gives up or starts again by itself, whichever of its parts does it. */

import type { Ids } from '../kernel/ids.ts';
import { SERVICE } from '../resources/acting.ts';
import type { AuditAction, AuditEntry } from '../resources/audit.ts';
import type { Progress, Webhook } from './webhook.ts';

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

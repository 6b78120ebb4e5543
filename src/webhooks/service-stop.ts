/** What the audit log says of a webhook that the service stops or gives up by itself, whichever of its parts found the reason. */
import { SERVICE } from '../acting.ts';
import type { AuditEntry } from '../audit.ts';
import type { Ids } from '../ids.ts';
import type { Progress, Webhook } from '../store/webhooks.ts';

/** For the transaction of the change to `after`, which happens at its `stateAt`. */
export function serviceStopEntry({ id, progress }: Webhook, after: Progress, ids: Ids): AuditEntry {
  const { state, stateReason, stateAt } = after;
  return {
    id: ids.uuid(),
    at: stateAt,
    actor: SERVICE.actor,
    action: 'webhook.stop',
    target: `webhook:${id}`,
    changes: {
      state: { from: progress.state, to: state },
      stateReason: { from: progress.stateReason, to: stateReason },
    },
  };
}

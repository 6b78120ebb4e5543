/** `POST /webhooks/{id}/acknowledge` (contract §10.4): a reader has processed records of a webhook in mode `pull`. */
import { z } from 'zod';
import type { Progress, Webhook } from '../domain/webhook.ts';
import { HEALTHY, isRunnable, nextState, stateChange, WEBHOOK_SESSION_MS } from '../domain/webhook-states.ts';
import type { Clock, Ids } from '../kernel/ids.ts';
import { Refusal, refuseField } from '../kernel/refusal.ts';
import { retryStale } from '../store/port/errors.ts';
import type { Store } from '../store/port/store.ts';
import { startFirst } from './endings.ts';

export const acknowledgeInput = z
  .strictObject({
    throughOffset: z.int().min(0).meta({ description: 'The offset of the last record that the reader has processed.' }),
  })
  .meta({ id: 'AcknowledgeInput', description: 'Which records a reader has processed.' });
type AcknowledgeInput = z.output<typeof acknowledgeInput>;

export const acknowledgedView = z
  .object({
    acknowledged: z.int().meta({ description: 'How many records this acknowledged; 0 if they were already.' }),
    acknowledgedOffset: z.int().meta({ description: 'Every record up to this one is acknowledged.' }),
    newestOffset: z.int().meta({ description: 'The newest record of the webhook.' }),
  })
  .meta({ id: 'Acknowledged', description: 'How far the records of the webhook are acknowledged.' });
type Acknowledged = z.infer<typeof acknowledgedView>;

/** Told about each acknowledgement that was written. `first` and `last` are offsets, inclusive. */
export type ObserveAcknowledged = (
  webhookId: string,
  records: { readonly webhookNumber: number; readonly first: number; readonly last: number },
) => void;

/** Repeating it changes nothing. Throws 400 past the newest record, and 409 backwards or if the webhook is stopped or in mode `push`. */
export type Acknowledge = (id: string, input: AcknowledgeInput) => Promise<Acknowledged>;

type Dependencies = {
  readonly store: Pick<Store, 'pulls' | 'usage'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly wake: () => void;
  readonly acknowledged?: ObserveAcknowledged;
};

export function createAcknowledge(
  { store, clock, ids, wake, acknowledged }: Dependencies,
  get: (id: string) => Promise<Webhook>,
): Acknowledge {
  return (id, { throughOffset: through }) =>
    retryStale(async () => {
      const webhook = await get(id);
      if (webhook.mode === 'push')
        throw new Refusal(
          'invalid_state',
          'the webhook is in mode push: its records are delivered, and only those of mode pull are acknowledged',
        );
      refuseStoppedPull(webhook);
      const { webhookNumber, cursorOffset: from, nextOffset } = webhook.progress;
      const newestOffset = nextOffset - 1;
      if (through > newestOffset)
        throw refuseField(
          'throughOffset',
          newestOffset === -1
            ? 'is past the end: there is no record yet'
            : `is past the newest record, which is ${newestOffset}`,
        );
      const counted = through - from + 1;
      if (counted < 0)
        throw refuseField(
          'throughOffset',
          `goes backwards: the records up to ${from - 1} are acknowledged already, or older than the retention`,
          'invalid_state',
        );
      if (counted > 0) {
        const progress = readProgress(webhook.progress, ids, clock());
        const { state, sessionId, sessionAt, sentAt } = progress;
        const change = state === webhook.progress.state ? null : stateChange(webhook, progress, ids);
        await store.pulls.acknowledge({
          webhookNumber,
          from,
          through,
          change,
          newId: ids.uuid,
          at: sentAt,
          session: sessionId === webhook.progress.sessionId ? null : { id: sessionId, at: sessionAt },
        });
        store.usage.count(webhook.customerId, { deliveries: counted }, clock());
        acknowledged?.(id, { webhookNumber, first: from, last: through });
        if (change !== null) wake();
      }
      return { acknowledged: counted, acknowledgedOffset: through, newestOffset };
    });
}

/** Throws 409 if a webhook in mode `pull` is stopped: nothing of it is read or acknowledged, and its records wait. */
export function refuseStoppedPull({ id, mode, progress }: Pick<Webhook, 'id' | 'mode' | 'progress'>): void {
  if (mode === 'push' || isRunnable(progress.state)) return;
  throw new Refusal('invalid_state', 'the webhook is stopped', { ending: startFirst(id) });
}

type ReadProgress = Progress & { readonly sessionId: string; readonly sessionAt: number; readonly sentAt: number };

/** The progress of a webhook whose reader acknowledges records. As in mode `push`, a session ends after 24 hours. */
function readProgress(progress: Progress, ids: Ids, now: number): ReadProgress {
  const { sessionId, sessionAt } = progress;
  const isCurrent = sessionId !== null && sessionAt !== null && now - sessionAt < WEBHOOK_SESSION_MS;
  const session = isCurrent ? { sessionId, sessionAt } : { sessionId: ids.uuid(), sessionAt: now };
  const state = nextState(progress.state, 'succeeded');
  const changed = state === progress.state ? {} : { ...HEALTHY, state, stateAt: now };
  return { ...progress, ...session, ...changed, sentAt: now };
}

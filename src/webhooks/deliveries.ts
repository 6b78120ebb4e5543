/** Deliveries as resources (wire.md §4): read, and sent again. */
import { z } from 'zod';
import type { Actor } from '../audit.ts';
import { type Clock, deliveryAddress, type Ids } from '../ids.ts';
import { ATTEMPTS_SHOWN } from '../limits.ts';
import { adviceFor, type ErrorClass } from '../outbound/outcome.ts';
import { Refusal } from '../refusal.ts';
import { id, instant, isoInstant } from '../schemas.ts';
import type { AttemptRecord } from '../store/attempts.ts';
import type { Delivery, DeliveryFilter } from '../store/deliveries.ts';
import type { Store } from '../store/store.ts';

const milliseconds = z.number().nullable();

export const attemptView = z
  .object({
    id,
    kind: z.enum(['delivery', 'heartbeat', 'test']),
    attemptNumber: z.int(),
    startedAt: instant,
    batchId: z.string().nullable(),
    requestHeaders: z.record(z.string(), z.string()).meta({ description: 'As sent, secrets masked.' }),
    responseStatus: z.int().nullable(),
    responseHeaders: z.record(z.string(), z.string()).nullable(),
    responseBody: z.string().nullable().meta({ description: 'The first 4 KiB.' }),
    delivered: z.boolean(),
    errorClass: z.string().nullable(),
    error: z.string().nullable(),
    advice: z.string().nullable().meta({ description: 'What to do about the error.' }),
    timings: z.object({
      dnsMs: milliseconds,
      connectMs: milliseconds,
      tlsMs: milliseconds,
      firstByteMs: milliseconds,
      totalMs: milliseconds,
    }),
  })
  .meta({ id: 'Attempt', description: 'One request to a receiver, and what came of it.' });
export type AttemptView = z.infer<typeof attemptView>;

export const deliveryView = z
  .object({
    id,
    webhookId: id,
    eventId: id,
    eventType: z.string(),
    offset: z.int(),
    state: z.enum(['pending', 'delivered', 'dead', 'discarded']),
    attemptCount: z.int(),
    nextAttemptAt: instant.nullable(),
    settledAt: instant.nullable(),
    createdAt: instant,
    updatedAt: instant,
  })
  .meta({ id: 'Delivery', description: "One event in a webhook's log, and whether it has arrived." });
export const deliveryWithAttempts = deliveryView
  .extend({ attempts: z.array(attemptView) })
  .meta({ id: 'DeliveryWithAttempts', description: 'A delivery with the requests that carried it.' });
export type DeliveryView = z.infer<typeof deliveryView>;

export type Deliveries = {
  get(id: string): Promise<{ readonly delivery: Delivery; readonly attempts: readonly AttemptRecord[] }>;
  /** Newest event first. `webhookId` of no webhook gives an empty page. */
  list(
    filter: Omit<DeliveryFilter, 'webhookNumber'> & { webhookId?: string },
    before: string | null,
    limit: number,
  ): Promise<Delivery[]>;
  /** Makes a delivered or dead delivery pending again, with its message id; it is sent under the same rules as any other. */
  replay(id: string, actor: Actor): Promise<Delivery>;
};

type Dependencies = { readonly store: Store; readonly clock: Clock; readonly ids: Ids; readonly wake: () => void };

export function createDeliveries({ store, clock, ids, wake }: Dependencies): Deliveries {
  const find = async (id: string): Promise<Delivery> => {
    const address = deliveryAddress(id);
    const delivery = address === null ? null : await store.deliveries.get(address);
    if (delivery === null) throw new Refusal('not_found', `there is no delivery ${id.slice(0, 64)}`);
    return delivery;
  };
  return {
    get: async (id) => {
      const delivery = await find(id);
      return {
        delivery,
        attempts: await store.attempts.ofRecord(delivery.webhookNumber, delivery.offset, ATTEMPTS_SHOWN),
      };
    },
    list: async ({ webhookId, ...filter }, before, limit) => {
      const webhook = webhookId === undefined ? undefined : await store.webhooks.get(webhookId);
      if (webhook === null) return [];
      const scoped = webhook === undefined ? filter : { ...filter, webhookNumber: webhook.progress.webhookNumber };
      return store.deliveries.list(scoped, before === null ? null : deliveryAddress(before), limit);
    },
    replay: async (id, actor) => {
      const { webhookNumber, offset, state } = await find(id);
      if (state !== 'delivered' && state !== 'dead') {
        throw new Refusal('invalid_state', `the delivery is ${state}: only a delivered or dead one can be sent again`);
      }
      const now = clock();
      await store.deliveries.replay(
        {
          webhookNumber,
          first: offset,
          last: offset,
          states: ['delivered', 'dead'],
          now,
          newIds: [ids.uuid(), ids.uuid()],
        },
        {
          id: ids.uuid(),
          at: now,
          actor,
          action: 'delivery.replay',
          target: `delivery:${id}`,
          changes: { state: { from: state, to: 'pending' } },
        },
      );
      wake();
      return find(id);
    },
  };
}

export function viewDelivery(delivery: Delivery): DeliveryView {
  const { id, webhookId, eventId, eventType, offset, state, attemptCount, createdAt, settledAt } = delivery;
  return {
    id,
    webhookId,
    eventId,
    eventType,
    offset,
    state,
    attemptCount,
    nextAttemptAt: isoInstant(delivery.nextAttemptAt),
    settledAt: isoInstant(settledAt),
    createdAt: isoInstant(createdAt),
    updatedAt: isoInstant(settledAt ?? createdAt),
  };
}

export function viewAttempt(attempt: AttemptRecord): AttemptView {
  const { id, kind, attemptNumber, batchId, responseStatus, responseBody, errorClass, errorMessage, timings } = attempt;
  return {
    id,
    kind,
    attemptNumber,
    startedAt: isoInstant(attempt.startedAt),
    batchId,
    requestHeaders: { ...attempt.requestHeaders },
    responseStatus,
    responseHeaders: attempt.responseHeaders === null ? null : { ...attempt.responseHeaders },
    responseBody: responseBody === null ? null : Buffer.from(responseBody).toString('utf8'),
    delivered: errorClass === null,
    errorClass,
    error: errorMessage,
    advice: errorClass === null ? null : adviceFor(errorClass as ErrorClass),
    timings: { ...timings },
  };
}

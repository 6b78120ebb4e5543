/** `POST /webhooks/{id}/test` (contract §4.12): sends one `webhook.test` record or one sample now, outside the webhook's log. */

import type { AttemptRecord, DeliveryTarget } from '../../domain/batch.ts';
import { type EventType, matchingTypes } from '../../domain/event.ts';
import { attemptRecord } from '../../domain/judge.ts';
import type { Webhook } from '../../domain/webhook.ts';
import { noSuchType } from '../../events/event-types.ts';
import { createFairQueue, type FairQueue } from '../../kernel/fair-queue.ts';
import type { Clock, Ids } from '../../kernel/ids.ts';
import { Refusal, refuseField } from '../../kernel/refusal.ts';
import type { Administration } from '../../resources/administration.ts';
import type { DeliveryVerbs } from '../../store/port/deliveries.ts';
import type { DispatchVerbs } from '../../store/port/dispatch.ts';
import type { EventVerbs } from '../../store/port/events.ts';
import type { Store } from '../../store/port/store.ts';
import { sendsNothing } from '../../webhooks/endings.ts';
import { stopReason } from '../claim.ts';
import type { FormatOf } from '../format.ts';
import type { Send } from '../send.ts';
import { type Sample, trialBody } from './trial-body.ts';

/** Test deliveries in progress, in all and of one customer, and the `Retry-After` of the refusal of one more. */
export const TEST_DELIVERIES_IN_FLIGHT = 16;
const TEST_DELIVERIES_PER_CUSTOMER = 4;
const TEST_DELIVERIES_RETRY_SECONDS = 5;

/**
 * `actorId` goes into the record's header, unless it is of the operator and the webhook of a customer. `eventType`: sends the sample of
 * this type, one that the webhook gets, in a body that is marked as a test.
 */
export type TestDelivery = (webhookId: string, actorId: string | null, eventType?: string) => Promise<AttemptRecord>;

type Dependencies = {
  readonly store: DeliveryVerbs & DispatchVerbs & EventVerbs & Pick<Store, 'customerId'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly send: Send;
  readonly formatOf: FormatOf;
  readonly webhooks: Pick<Administration<Webhook>, 'get'>;
  /** Bounds the tests in progress; default: that of the process. */
  readonly inProgress?: FairQueue;
};

/**
 * Sends under the rules of deliveries: it is refused if the endpoint is not enabled or the key has expired (409). It does not wait for a
 * delivery slot; it is refused if too many tests of the customer (429), or of all (503), are in progress.
 */
export function createTestDelivery(dependencies: Dependencies): TestDelivery {
  const { store, clock, ids, send, webhooks, formatOf, inProgress = testsInProgress } = dependencies;

  const sendRecord = async (
    target: DeliveryTarget,
    actorId: string | null,
    sample: Sample | null,
    now: number,
  ): Promise<AttemptRecord> => {
    const batchId = ids.uuid();
    const body = await trialBody(target, sample, { formatOf, actorId, ids, now });
    const sent = await send({ ...target, batchId, body, now });
    const { webhookNumber } = target.webhook.progress;
    const records = { batchId, firstOffset: null, lastOffset: null };
    return attemptRecord({ id: ids.uuid(), webhookNumber, kind: 'test', ...records, attemptNumber: 1 }, sent);
  };

  return async (webhookId, actorId, eventType) => {
    const { progress, mode } = await webhooks.get(webhookId);
    if (mode === 'pull') {
      const why = 'no test can be sent: the webhook is in mode pull, and its reader fetches the published events';
      throw new Refusal('invalid_state', why);
    }
    const target = await store.dispatch.target(progress.webhookNumber);
    if (target === null) throw new Refusal('not_found', `there is no webhook ${webhookId}`);
    const now = clock();
    const reason = stopReason(target, now);
    if (reason !== null) throw new Refusal('invalid_state', 'no test can be sent', { ending: sendsNothing(reason) });
    const sample = eventType === undefined ? null : sampleFor(target, eventType, await store.eventTypes.all());
    const leave = inProgress.take(target.webhook.customerId);
    try {
      const named = target.webhook.customerId === store.customerId ? actorId : null;
      const attempt = await sendRecord(target, named, sample, now);
      await store.attempts.insert(attempt);
      return attempt;
    } finally {
      leave();
    }
  };
}

/** `perCustomer`: how many of one customer. */
export function createTestsInProgress(inAll: number, perCustomer: number): FairQueue {
  return createFairQueue({
    what: 'test events in progress',
    places: inAll,
    placesPerOwner: perCustomer,
    retryAfterSeconds: TEST_DELIVERIES_RETRY_SECONDS,
  });
}

const testsInProgress = createTestsInProgress(TEST_DELIVERIES_IN_FLIGHT, TEST_DELIVERIES_PER_CUSTOMER);

/**
 * Refuses a type that the webhook does not get: a webhook has a key if the types that it gets need one. Its filter does not count, because
 * the test is for the receiver.
 */
export function sampleFor({ webhook, key }: DeliveryTarget, name: string, all: readonly EventType[]): Sample {
  // A customer learns nothing of internal types.
  const eventType = all.find((one) => one.name === name && (webhook.customerId === null || one.public));
  if (eventType === undefined) throw refuseField('eventType', noSuchType(name, webhook.customerId));
  if (!webhook.eventTypes.some((pattern) => matchingTypes(pattern, [eventType]).length > 0))
    throw refuseField('eventType', `is not one that the webhook gets: ${webhook.eventTypes.join(', ')}`);
  if (eventType.sample === null) throw refuseField('eventType', `has no sample: ${name}`);
  if (eventType.encryptionRequired && key === null)
    throw new Refusal('invalid_state', `events of type ${name} must be encrypted, and the webhook has no key`);
  return { type: name, data: eventType.sample };
}

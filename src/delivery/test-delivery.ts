/** `POST /webhooks/{id}/test` (wire.md §4): sends one `webhook.test` record now, outside the webhook's log. */

import type { Administration } from '../administration.ts';
import type { Actor } from '../audit.ts';
import { makeEvent } from '../events/event.ts';
import type { Clock, Ids } from '../ids.ts';
import { Refusal } from '../refusal.ts';
import { isoInstant } from '../schemas.ts';
import type { AttemptRecord } from '../store/attempts.ts';
import type { Store } from '../store/store.ts';
import type { Webhook } from '../store/webhooks.ts';
import { STATE_REASONS } from '../webhooks/lifecycle.ts';
import { bodyRequest, makeBody } from './body.ts';
import { stopReason } from './plan.ts';
import { attemptRecord, type Send } from './send.ts';

export type TestDelivery = (webhookId: string, actor: Actor) => Promise<AttemptRecord>;

/** A test record stands in no log and takes up no offset; a receiver holds every record to an integer from 0 (wire.md §1). */
const TEST_OFFSET = 0;

type Dependencies = {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly send: Send;
  readonly webhooks: Pick<Administration<Webhook>, 'get'>;
};

/** Sends under the rules of any delivery: an endpoint that is not enabled or a key that has expired refuses it (409). */
export function createTestDelivery({ store, clock, ids, send, webhooks }: Dependencies): TestDelivery {
  return async (webhookId, actor) => {
    const { progress } = await webhooks.get(webhookId);
    const route = await store.dispatch.route(progress.webhookNumber);
    if (route === null) throw new Refusal('not_found', `there is no webhook ${webhookId}`);
    const now = clock();
    const reason = stopReason(route, now);
    if (reason !== null) throw new Refusal('invalid_state', `no test can be sent: ${reason}. ${STATE_REASONS[reason]}`);
    const data = { webhookId, webhookName: route.webhook.name, at: isoInstant(now) };
    const event = makeEvent({ type: 'webhook.test', data, actorId: actor }, { ids, now });
    const record = { ...event, offset: TEST_OFFSET, messageId: event.id, eventType: event.type };
    const batchId = ids.uuid();
    const sessionId = progress.sessionId ?? ids.uuid();
    const body = await makeBody(bodyRequest(route, { sessionId, attemptNumber: 1, now }), [record]);
    const sent = await send({ ...route, batchId, body, now });
    const identity = {
      id: ids.uuid(),
      kind: 'test',
      batchId,
      firstOffset: null,
      lastOffset: null,
      attemptNumber: 1,
    } as const;
    const attempt = attemptRecord({ ...identity, webhookNumber: progress.webhookNumber }, sent);
    await store.attempts.insert(attempt);
    return attempt;
  };
}

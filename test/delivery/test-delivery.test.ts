/** Tests of webhooks, sent side by side. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  createTestDelivery,
  createTestsInProgress,
  TEST_DELIVERIES_IN_FLIGHT,
} from '../../src/delivery/trials/test-delivery.ts';
import type { AttemptView } from '../../src/webhooks/deliveries.ts';
import { type ErrorBody, succeeded } from '../support/client.ts';
import { deferred } from '../support/deferred.ts';
import { openDispatching } from '../support/dispatching.ts';
import { connect, deliveriesOf, importKey, makeEventType, startJourney } from '../support/journey.ts';
import { refused } from '../support/refusals.ts';
import { ACTOR } from '../support/services.ts';
import { execute } from '../support/store.ts';
import { pgpVector } from '../support/vectors.ts';

const ATTEMPTS = "SELECT 1 FROM attempt WHERE kind = 'test'";

describe('test deliveries', () => {
  it('are refused while too many are in progress, with nothing sent, and taken again once one has ended', async (t) => {
    const d = await openDispatching(t);
    const { at, webhook } = await d.connect();
    const test = createTestDelivery({ ...d, inProgress: createTestsInProgress(2, 1) });
    const [came, open] = [deferred(), deferred()];
    at.answer(async () => {
      if (d.receiver.requests.length === 2) came.resolve();
      await open.promise;
      return { status: 204 };
    });
    const sent = [test(webhook.id, ACTOR.actor), test(webhook.id, ACTOR.actor)];
    await came.promise;
    const { headers } = await refused(() => test(webhook.id, ACTOR.actor), {
      code: 'unavailable',
      says: 'there are too many test events in progress now: at most 2',
    });
    assert.match(headers['Retry-After'] ?? '', /^\d+$/);
    assert.equal(d.receiver.requests.length, 2);
    open.resolve();
    for (const { errorClass } of await Promise.all(sent)) assert.equal(errorClass, null);
    assert.equal((await test(webhook.id, ACTOR.actor)).responseStatus, 204);
    assert.equal((await d.rows(ATTEMPTS)).length, 3);
  });

  it('that come to nothing give their place back', async (t) => {
    const d = await openDispatching(t);
    const { webhook } = await d.connect();
    const test = createTestDelivery({ ...d, inProgress: createTestsInProgress(1, 1) });
    await execute(d, 'ALTER TABLE attempt RENAME TO attempt_away');
    await assert.rejects(test(webhook.id, ACTOR.actor), /no such table|lacks a table/);
    await execute(d, 'ALTER TABLE attempt_away RENAME TO attempt');
    assert.equal((await test(webhook.id, ACTOR.actor)).errorClass, null);
    await refused(() => test('none', ACTOR.actor), { code: 'not_found' });
    assert.equal((await test(webhook.id, ACTOR.actor)).errorClass, null);
  });

  it('over the API are refused with 503 and when to try again', async (t) => {
    const journey = await startJourney(t);
    const { admin, receiver } = journey;
    const { at, webhook } = await connect(journey, ['webhook.failed']);
    const [came, open] = [deferred(), deferred()];
    const before = receiver.requests.length;
    at.answer(async () => {
      if (receiver.requests.length === before + TEST_DELIVERIES_IN_FLIGHT) came.resolve();
      await open.promise;
      return { status: 204 };
    });
    const path = `webhooks/${webhook.id}/test`;
    const sent = Array.from({ length: TEST_DELIVERIES_IN_FLIGHT }, () => admin.post(path));
    await came.promise;
    const reply = await admin.post(path);
    assert.deepEqual([reply.status, reply.headers.get('retry-after')], [503, '5']);
    open.resolve();
    for (const { status } of await Promise.all(sent)) assert.equal(status, 200);
    assert.equal((await admin.post(path)).status, 200);
  });

  it('send the sample of a type that the webhook gets, in a body that says so, whatever its filter', async (t) => {
    const journey = await startJourney(t);
    const { admin } = journey;
    const sample = { orderId: 17, note: 'ü' };
    await succeeded(admin.post('event-types', { name: 'order.placed', sample }));
    await makeEventType(admin, 'order.paid');
    await succeeded(admin.post('event-types', { name: 'stock.moved', sample }));
    const { at, webhook } = await connect(journey, ['order.*'], { webhook: { filter: { 'data.orderId': 1 } } });
    const path = `webhooks/${webhook.id}/test`;
    const attempt = await succeeded<AttemptView>(admin.post(path, { eventType: 'order.placed' }));
    assert.deepEqual([attempt.kind, attempt.delivered], ['test', true]);
    const [sent] = at.deliveries;
    assert.deepEqual({ ...sent?.envelope, test: true }, sent?.envelope);
    const [record] = sent?.records ?? [];
    assert.deepEqual([record?.eventType, record?.data, record?.offset], ['order.placed', sample, 0]);
    assert.deepEqual(await deliveriesOf(admin, webhook), []);
    // A plain test is as it was.
    await succeeded(admin.post(path));
    assert.equal('test' in (at.deliveries[1]?.envelope ?? {}), false);
    assert.equal(at.deliveries[1]?.records[0]?.eventType, 'webhook.test');
    for (const [eventType, says] of [
      ['order.none', /eventType is not the name of an event type: "order\.none"/],
      ['order.paid', /eventType has no sample: order\.paid/],
      ['stock.moved', /eventType is not one that the webhook gets: order\.\*/],
    ] as const) {
      const { status, body } = await admin.post<ErrorBody>(path, { eventType });
      assert.equal(status, 400);
      assert.match(body.error.description, says);
    }
    assert.equal(at.deliveries.length, 2);
  });

  it('send a sample that must be encrypted only encrypted', async (t) => {
    const journey = await startJourney(t);
    const { admin } = journey;
    await importKey(admin, 'hr', pgpVector('curve25519'));
    const { at, webhook } = await connect(journey, ['employee.created'], { webhook: { encryptionKeyName: 'hr' } });
    await succeeded(admin.post(`webhooks/${webhook.id}/test`, { eventType: 'employee.created' }));
    const [sent] = journey.receiver.requests.filter(({ url }) => url === at.path);
    assert.equal(sent?.headers['x-content-encrypted'], 'true');
    assert.ok(!sent?.body.includes('employeeCreated'));
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { succeeded } from '../support/client.ts';
import {
  connect,
  deliveriesOf,
  deliveryOf,
  makeEventType,
  makeWebhook,
  only,
  publish,
  readWebhook,
  startJourney,
  startWebhook,
} from '../support/journey.ts';
import type { Delivery } from '../support/receiver.ts';
import { repeats, repeatsInSlowTier } from '../support/repeats.ts';

repeats('postgres');
repeatsInSlowTier('pgbouncer');

const TYPE = 'order.placed';
const HOUR_MS = 3_600_000;

describe('records and batches', () => {
  it('an ordered webhook gets every record once, in batches of at most maxBatchRecords, with consecutive offsets', async (t) => {
    const journey = await startJourney(t, { writerThread: true });
    await makeEventType(journey.admin, TYPE);
    const { at, webhook } = await connect(journey, [TYPE], { webhook: { ordered: true, maxBatchRecords: 4 } });
    const ids = await publish(journey.admin, TYPE, ...numbered(10));
    const came = [await at.next(), await at.next(), await at.next()];
    assert.deepEqual(
      came.map(({ records }) => records.map(({ offset }) => offset)),
      [
        [0, 1, 2, 3],
        [4, 5, 6, 7],
        [8, 9],
      ],
    );
    const records = came.flatMap((delivery) => delivery.records);
    assert.deepEqual(
      records.map(({ messageId }) => messageId),
      ids,
    );
    assert.deepEqual(
      records.map(({ data }) => data),
      numbered(10),
    );
    for (const { envelope } of came) {
      assert.equal(envelope.subscriptionId, webhook.id);
      assert.equal(envelope.sessionId, webhook.sessionId);
      assert.equal(envelope.attemptNumber, 1);
    }
    await journey.service.log.nextAttempt(webhook.id);
    await journey.service.log.nextAttempt(webhook.id);
    await journey.service.log.nextAttempt(webhook.id);
    const deliveries = await deliveriesOf(journey.admin, webhook);
    assert.deepEqual(
      deliveries.map(({ offset, eventId, state }) => ({ offset, eventId, state })),
      ids.map((eventId, offset) => ({ offset, eventId, state: 'delivered' })),
    );
    assert.equal(at.deliveries.length, 3);
  });

  it('each webhook has its own offsets, and gets only the types that it subscribes to', async (t) => {
    const journey = await startJourney(t, { writerThread: true });
    const { admin } = journey;
    for (const type of ['order.placed', 'order.paid', 'invoice.sent']) await makeEventType(admin, type);
    const category = await connect(journey, ['order.*'], { webhook: { ordered: true, maxBatchRecords: 1 } });
    const single = await connect(journey, ['order.paid'], { webhook: { ordered: true, maxBatchRecords: 1 } });
    const [placed] = await publish(admin, 'order.placed', {});
    await publish(admin, 'invoice.sent', {});
    const [paid] = await publish(admin, 'order.paid', {});

    assert.deepEqual([shown(await category.at.next()), shown(await category.at.next())], [`0 ${placed}`, `1 ${paid}`]);
    assert.equal(shown(await single.at.next()), `0 ${paid}`);
    assert.equal((await deliveriesOf(admin, category.webhook)).length, 2);
    assert.equal((await deliveriesOf(admin, single.webhook)).length, 1);
    const all = await succeeded<{ items: unknown[] }>(admin.get('deliveries?eventType=invoice.sent'));
    assert.deepEqual(all.items, []);
  });

  it('records that are sent in parallel all arrive exactly once', async (t) => {
    const journey = await startJourney(t, { writerThread: true });
    const { admin } = journey;
    await makeEventType(admin, TYPE);
    const { at, webhook } = await connect(journey, [TYPE], { webhook: { maxBatchRecords: 7 } });
    const ids = (await Promise.all([0, 1, 2, 3].map(() => publish(admin, TYPE, ...numbered(50))))).flat();
    const received = new Map<string, number>();
    const offsets: number[] = [];
    while (offsets.length < ids.length) {
      for (const { offset, messageId } of (await at.next()).records) {
        received.set(messageId, (received.get(messageId) ?? 0) + 1);
        offsets.push(offset);
      }
    }
    assert.deepEqual([...received.keys()].sort(), [...ids].sort());
    assert.ok([...received.values()].every((times) => times === 1));
    const byNumber = offsets.toSorted((a, b) => a - b);
    assert.deepEqual(
      byNumber,
      ids.map((_, offset) => offset),
    );
    assert.equal((await deliveriesOf(admin, webhook)).length, ids.length);
  });

  it('records that were published while the webhook was stopped are sent in order once it starts', async (t) => {
    const { admin, receiver } = await startJourney(t, { writerThread: true });
    await makeEventType(admin, TYPE);
    const at = receiver.endpoint('/later');
    const endpoint = await succeeded<{ id: string }>(
      admin.post('endpoints', { name: 'later', url: at.url, secret: at.secret, apiKey: at.apiKey }),
    );
    const webhook = await makeWebhook(admin, endpoint, [TYPE], { ordered: true });
    assert.equal(webhook.state, 'stopped');
    const ids = await publish(admin, TYPE, ...numbered(3));
    assert.deepEqual(
      (await deliveriesOf(admin, webhook)).map(({ state, attemptCount }) => ({ state, attemptCount })),
      ids.map(() => ({ state: 'pending', attemptCount: 0 })),
    );
    assert.equal(receiver.requests.length, 0);
    await startWebhook(admin, webhook);
    const { records } = await at.next();
    assert.deepEqual(
      records.map(({ messageId }) => messageId),
      ids,
    );
  });
});

describe('an attempt', () => {
  it('that is a retry has the same records and ids, and its own number, date, lag and signature', async (t) => {
    const journey = await startJourney(t, { writerThread: true });
    const { service, admin } = journey;
    await makeEventType(admin, TYPE);
    const { at, webhook } = await connect(journey, [TYPE]);
    at.answer(() => ({ status: 503, headers: { 'x-reason': 'busy' }, body: 'later, please' }));
    const [id] = await publish(admin, TYPE, { n: 1 }, { n: 2 });
    const first = await at.next();
    assert.equal((await service.log.nextAttempt(webhook.id)).fate, 'retry');
    at.answer(() => ({ status: 200, body: 'thanks' }));
    service.advance(5000);
    const second = await at.next();
    assert.equal((await service.log.nextAttempt(webhook.id)).fate, 'delivered');

    assert.deepEqual([first.envelope.attemptNumber, second.envelope.attemptNumber], [1, 2]);
    assert.equal(second.envelope.sessionId, first.envelope.sessionId);
    assert.deepEqual(second.records.map(withoutLag), first.records.map(withoutLag));
    for (const [at, { lag }] of second.records.entries()) assert.ok(lag >= (first.records[at]?.lag ?? 0) + 5);
    const dates = [first, second].map(({ request }) => Date.parse(String(request.headers.date)));
    assert.ok((dates[1] ?? 0) - (dates[0] ?? 0) >= 5000, String(dates));
    assert.notEqual(second.request.headers.authorization, first.request.headers.authorization);

    const { state, attemptCount, attempts } = await deliveryOf(admin, webhook, id ?? '');
    assert.deepEqual([state, attemptCount], ['delivered', 2]);
    assert.deepEqual(
      attempts.map(({ attemptNumber, responseStatus, responseBody, delivered, errorClass }) => ({
        attemptNumber,
        responseStatus,
        responseBody,
        delivered,
        errorClass,
      })),
      [
        {
          attemptNumber: 1,
          responseStatus: 503,
          responseBody: 'later, please',
          delivered: false,
          errorClass: 'http_status',
        },
        { attemptNumber: 2, responseStatus: 200, responseBody: 'thanks', delivered: true, errorClass: null },
      ],
    );
    assert.equal(attempts[0]?.responseHeaders?.['x-reason'], 'busy');
    assert.equal(attempts[0]?.batchId, attempts[1]?.batchId);
  });

  it('of a running webhook has a new session after 24 hours', async (t) => {
    const journey = await startJourney(t, { writerThread: true });
    const { service, receiver } = journey;
    await makeEventType(journey.admin, TYPE);
    const { at, webhook } = await connect({ admin: journey.admin, receiver }, [TYPE]);
    await publish(journey.admin, TYPE, {});
    const first = await at.next();
    await service.log.nextAttempt(webhook.id);
    service.advance(23 * HOUR_MS);
    let admin = await service.signIn();
    await publish(admin, TYPE, {});
    const second = await at.next();
    await service.log.nextAttempt(webhook.id);
    assert.equal(second.envelope.sessionId, first.envelope.sessionId);
    service.advance(2 * HOUR_MS);
    admin = await service.signIn();
    await publish(admin, TYPE, {});
    const third = await at.next();
    assert.notEqual(third.envelope.sessionId, first.envelope.sessionId);
    assert.equal((await readWebhook(admin, webhook)).sessionId, third.envelope.sessionId);
  });
});

function numbered(count: number): { n: number }[] {
  return Array.from({ length: count }, (_, n) => ({ n }));
}

function shown({ records }: Delivery): string {
  const { offset, messageId } = only(records);
  return `${offset} ${messageId}`;
}

function withoutLag({ lag, ...record }: Delivery['records'][number]): unknown {
  return record;
}

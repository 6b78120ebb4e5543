import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EventType } from '../../src/domain/event.ts';
import { previewOnSamples } from '../../src/webhooks/filter-preview.ts';
import { logs } from '../support/events.ts';
import { refused } from '../support/refusals.ts';
import { repeats } from '../support/repeats.ts';
import {
  ACTOR,
  makeCaller,
  makeEventType,
  makeWebhook,
  openTestServices,
  type TestServices,
} from '../support/services.ts';

repeats('postgres');

const LARGE = { 'data.total': { $gte: 100 } };

const numberOf = async (s: TestServices, { id }: { readonly id: string }): Promise<number> =>
  (await s.webhooks.get(id)).progress.webhookNumber;

async function prepare(s: TestServices) {
  await makeEventType(s, 'order.placed');
  await makeEventType(s, 'order.paid');
  const everything = await makeWebhook(s, ['order.*']);
  const large = await makeWebhook(s, ['order.placed'], { filter: LARGE });
  const german = await makeWebhook(s, ['order.*'], { filter: { 'data.country': 'DE' } });
  const numbers = await Promise.all([everything, large, german].map((webhook) => numberOf(s, webhook)));
  const counts = async (): Promise<number[]> => {
    const all = await logs(s);
    for (const log of all.values())
      assert.deepEqual(
        log.map(([offset]) => offset),
        log.map((_, n) => n),
        'offsets have no gaps',
      );
    return numbers.map((number) => all.get(number)?.length ?? 0);
  };
  return { everything, large, german, counts };
}

const order = (total: number, country: string, more: object = {}) => ({
  type: 'order.placed',
  data: { total, country },
  ...more,
});

describe('a filter', () => {
  it('decides when an event is published, singly or with others, and an event that does not pass takes no offset', async (t) => {
    const s = await openTestServices(t);
    const { counts } = await prepare(s);
    await s.publish(order(99, 'DE'), ACTOR);
    assert.deepEqual(await counts(), [1, 0, 1]);
    await s.publish(order(100, 'FR'), ACTOR);
    assert.deepEqual(await counts(), [2, 1, 1]);
    await s.publish(
      { events: [order(1, 'FR'), order(200, 'DE'), { type: 'order.paid', data: { total: 500 } }, order(100, 'IT')] },
      ACTOR,
    );
    assert.deepEqual(await counts(), [6, 3, 2]);
    await s.publish({ events: Array.from({ length: 30 }, (_, n) => order(n * 10, n % 2 === 0 ? 'DE' : 'FR')) }, ACTOR);
    assert.deepEqual(await counts(), [36, 23, 17]);
  });

  it('judges events with an idempotency key, and a duplicate is not judged again', async (t) => {
    const s = await openTestServices(t);
    const { counts } = await prepare(s);
    const event = order(150, 'FR', { idempotencyKey: 'one' });
    await s.publish({ events: [event, order(5, 'DE', { idempotencyKey: 'two' })] }, ACTOR);
    assert.deepEqual(await counts(), [2, 1, 1]);
    const again = await s.publish({ events: [event, order(300, 'FR', { idempotencyKey: 'three' })] }, ACTOR);
    assert.deepEqual([again.accepted, again.duplicates], [1, 1]);
    assert.deepEqual(await counts(), [3, 2, 1]);
  });

  it('judges many requests at the same time, each for itself', async (t) => {
    const s = await openTestServices(t);
    const { counts } = await prepare(s);
    await Promise.all(
      Array.from({ length: 40 }, (_, n) => s.publish(order(n < 10 ? 100 : 1, n < 25 ? 'DE' : 'FR'), ACTOR)),
    );
    assert.deepEqual(await counts(), [40, 10, 25]);
  });

  it('holds for events of the service itself', async (t) => {
    const s = await openTestServices(t);
    const { everything } = await prepare(s);
    const caller = await makeCaller(s, ['employees:create', 'employees:view']);
    const hires = await makeWebhook(s, ['employee.*'], { key: true, filter: { 'data.division': 'sales' } });
    const starts = await makeWebhook(s, ['webhook.*'], {
      filter: { 'data.state': 'started', 'data.webhookName': { $neq: 'x' } },
    });
    for (const division of ['sales', 'legal', 'sales'])
      await s.employees.create(
        { userName: `${division}-${Math.random()}`, firstName: 'Ada', lastName: 'B', email: 'a@b.example', division },
        caller,
      );
    await s.webhooks.start(everything.id, ACTOR);
    await s.webhooks.stop(everything.id, ACTOR);
    const all = await logs(s);
    assert.equal(all.get(await numberOf(s, hires))?.length, 2);
    assert.equal(all.get(await numberOf(s, starts))?.length, 1);
  });

  it('is refused with a number that no double holds, so that events can still be published', async (t) => {
    const s = await openTestServices(t);
    const { large, counts } = await prepare(s);
    const filter = JSON.parse('{"data.total":{"$gte":1e400}}') as unknown;
    await refused(() => s.webhooks.patch(large.id, { filter }, ACTOR), {
      code: 'validation_failed',
      fields: ['filter.data.total.$gte'],
    });
    await s.publish(order(100, 'FR'), ACTOR);
    assert.deepEqual(await counts(), [1, 1, 0]);
  });

  it('applies to events that are published after its change', async (t) => {
    const s = await openTestServices(t);
    const { large, counts } = await prepare(s);
    await s.publish(order(50, 'FR'), ACTOR);
    await s.webhooks.patch(large.id, { filter: { 'data.total': { $gte: 50 } } }, ACTOR);
    await s.publish(order(50, 'FR'), ACTOR);
    assert.deepEqual(await counts(), [2, 1, 0]);
    await s.webhooks.patch(large.id, { filter: null }, ACTOR);
    await s.publish(order(1, 'FR'), ACTOR);
    assert.deepEqual(await counts(), [3, 2, 0]);
  });

  it('is refused with the place that is wrong', async (t) => {
    const s = await openTestServices(t);
    const { large } = await prepare(s);
    const wrong = { $or: [{ 'data.total': { $above: 1 } }] };
    await refused(() => s.webhooks.patch(large.id, { filter: wrong }, ACTOR), {
      code: 'validation_failed',
      says: /data\.total\.\$above is not an operator: use \$eq/,
    });
    assert.deepEqual((await s.webhooks.get(large.id)).filter, LARGE);
  });

  it('can be tried on the latest events of the types of a webhook', async (t) => {
    const s = await openTestServices(t);
    const { everything, large } = await prepare(s);
    await s.publish(
      { events: [order(1, 'DE'), order(100, 'DE'), { type: 'order.paid', data: { total: 500 } }, order(7, 'FR')] },
      ACTOR,
    );
    const preview = await s.webhooks.previewFilter(everything.id, { filter: LARGE, limit: 3 });
    assert.deepEqual([preview.judged, preview.passed], [3, 2]);
    assert.deepEqual(
      preview.items.map(({ eventType, passes, reasons }) => [eventType, passes, reasons]),
      [
        ['order.placed', false, ['data.total is 7, not at least 100']],
        ['order.paid', true, []],
        ['order.placed', true, []],
      ],
    );
    const own = await s.webhooks.previewFilter(large.id, {});
    assert.deepEqual([own.judged, own.passed], [3, 3]);
    await refused(() => s.webhooks.previewFilter(large.id, { limit: 1001 }), {
      code: 'validation_failed',
      fields: ['limit'],
    });
    const deep = JSON.parse(`${'{"$not":'.repeat(3000)}{}${'}'.repeat(3000)}`) as object;
    const listed = { 'data.list': JSON.parse(`${'['.repeat(3000)}${']'.repeat(3000)}`) as unknown };
    for (const filter of [deep, listed]) {
      await refused(() => s.webhooks.previewFilter(large.id, { filter }), {
        code: 'validation_failed',
        fields: ['filter'],
        says: /must not be nested deeper than 100/,
      });
    }
  });

  it('is tried on the samples of event types, of which some have none', async () => {
    const type = { sample: null, encryptionRequired: false } as unknown as EventType;
    const types = [
      { ...type, id: 'a', name: 'order.placed', sample: { total: 7 } },
      { ...type, id: 'b', name: 'order.paid', sample: { total: 700 } },
      { ...type, id: 'c', name: 'order.lost' },
    ];
    const { judged, passed, items } = await previewOnSamples(types, { filter: LARGE, limit: 100 }, null);
    assert.deepEqual([judged, passed], [2, 1]);
    assert.deepEqual(
      items.map(({ eventId, reasons }) => [eventId, reasons]),
      [
        ['a', ['data.total is 7, not at least 100']],
        ['b', []],
      ],
    );
  });

  it('is tried without a word of data that must be encrypted, and of a person whose erasure has begun', async (t) => {
    const s = await openTestServices(t);
    const { everything } = await prepare(s);
    await s.publish({ events: [order(1, 'DE'), order(2, 'DE', { subject: 'person-7' })] }, ACTOR);
    const preview = () => s.webhooks.previewFilter(everything.id, { filter: LARGE });
    assert.deepEqual(
      (await preview()).items.map(({ reasons }) => reasons),
      [['data.total is 2, not at least 100'], ['data.total is 1, not at least 100']],
    );
    const begun = { id: s.ids.uuid(), subject: 'person-7', actor: 'user:x', startedAt: s.clock() };
    const audit = {
      id: s.ids.uuid(),
      at: s.clock(),
      actor: 'user:x',
      target: 'subject:x',
      changes: {},
      customerId: null,
    };
    await s.store.erasures.begin(begun, { ...audit, action: 'event.erase' });
    assert.deepEqual(
      (await preview()).items.map(({ reasons }) => reasons),
      [['data.total is 1, not at least 100']],
    );
    const hires = await makeWebhook(s, ['employee.*'], { key: true });
    const caller = await makeCaller(s, ['employees:create', 'employees:view']);
    const ada = { userName: 'ada', firstName: 'Ada', lastName: 'B', email: 'a@b.example', division: 'sales' };
    await s.employees.create(ada, caller);
    const { items } = await s.webhooks.previewFilter(hires.id, { filter: { 'data.division': 'legal' } });
    assert.deepEqual(
      items.map(({ passes, reasons }) => [passes, reasons]),
      [[false, ['this is not true: data.division is "legal"']]],
    );
  });
});

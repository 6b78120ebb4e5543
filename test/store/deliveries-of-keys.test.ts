/** Deliveries of an ordering key, for the operator and for a customer, on both databases. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import fc from 'fast-check';
import type { Delivery } from '../../src/domain/webhook.ts';
import { deliveryAddress } from '../../src/kernel/ids.ts';
import { customerStoreOf } from '../../src/store/customer-store.ts';
import type { DeliveryFilter } from '../../src/store/port/deliveries.ts';
import type { Store } from '../../src/store/port/store.ts';
import { newEvent, subscribe } from '../support/events.ts';
import { repeats } from '../support/repeats.ts';
import { ACTOR, makeEventType, openTestServices, type TestServiceOptions } from '../support/services.ts';

repeats('postgres');

const TYPES = ['order.placed', 'stock.low'] as const;
const KEYS = ['key 0', 'key 1', null] as const;

/** Events for the operator, two customers and everyone, each of several keys and types; three webhooks of one customer. */
async function filled(t: TestContext, options: TestServiceOptions = {}) {
  const s = await openTestServices(t, options);
  const [mine, other] = await Promise.all(
    ['Mine', 'Other'].map(async (name) => (await s.customers.create({ name }, ACTOR)).id),
  );
  if (mine === undefined || other === undefined) throw new Error('two customers');
  for (const name of TYPES) await makeEventType(s, name);
  await subscribe(s, ['*']);
  await subscribe(s, ['*'], { customerId: other });
  const webhooks: number[] = [];
  for (const types of [['*'], ['order.placed'], ['stock.*']])
    webhooks.push(await subscribe(s, types, { customerId: mine }));
  for (let n = 0; n < 90; n++) {
    const audience = ['', mine, other, '*'][n % 4] as string;
    const orderingKey = KEYS[n % 3] ?? null;
    await s.store.events.publish([newEvent(s, TYPES[n % 5 === 0 ? 1 : 0], { audience, orderingKey })]);
    s.advance(n % 2);
  }
  return { s, mine, webhooks };
}

async function everyPage(store: Store, filter: DeliveryFilter, limit: number): Promise<readonly Delivery[]> {
  const found: Delivery[] = [];
  for (let before: string | null = null; ; ) {
    const { items, next } = await store.deliveries.list(
      filter,
      before === null ? null : deliveryAddress(before),
      limit,
    );
    found.push(...items);
    if (next === null) return found;
    before = next;
  }
}

describe('the deliveries of an ordering key', () => {
  it('are those of the customer’s webhooks, newest first, page by page', async (t) => {
    const { s, mine, webhooks } = await filled(t);
    const every = (await s.store.deliveries.list({}, null, 1000)).items;
    const own = customerStoreOf(s.store, mine);
    const times = every.map(({ createdAt }) => createdAt);
    const filters = fc.record<DeliveryFilter>(
      {
        orderingKey: fc.constantFrom('key 0', 'key 1', 'key'),
        webhookNumber: fc.constantFrom(...webhooks, 1, 99),
        eventType: fc.constantFrom(...TYPES),
        since: fc.constantFrom(...times),
        until: fc.constantFrom(...times),
        state: fc.constantFrom('pending', 'dead'),
      },
      { requiredKeys: ['orderingKey'] },
    );
    await fc.assert(
      fc.asyncProperty(filters, fc.integer({ min: 1, max: 40 }), async (filter, limit) => {
        const { orderingKey, webhookNumber, eventType, since = 0, until = Number.MAX_SAFE_INTEGER, state } = filter;
        const fitting = every.filter(
          (one) =>
            one.orderingKey === orderingKey &&
            (webhookNumber ?? one.webhookNumber) === one.webhookNumber &&
            (eventType ?? one.eventType) === one.eventType &&
            (state ?? one.state) === one.state &&
            one.createdAt >= since &&
            one.createdAt < until,
        );
        const wanted = fitting.filter((one) => webhooks.includes(one.webhookNumber));
        assert.deepEqual(await everyPage(own, filter, limit), wanted);
        assert.deepEqual(await everyPage(s.store, { ...filter, webhookNumbers: webhooks }, limit), wanted);
        assert.deepEqual(await everyPage(s.store, filter, limit), fitting);
      }),
      { numRuns: 30 },
    );
  });

  it('are found without a read of the customer’s other records', async (t) => {
    const statements: string[] = [];
    const { s, mine } = await filled(t, { onStatement: (sql) => statements.push(sql) });
    await s.store.events.publish(
      Array.from({ length: 500 }, () => newEvent(s, 'order.placed', { audience: mine, orderingKey: 'another key' })),
    );
    const own = customerStoreOf(s.store, mine);
    statements.length = 0;
    const { items, next } = await own.deliveries.list({ orderingKey: 'key 0' }, null, 200);
    assert.ok(items.length > 20);
    assert.equal(next, null);
    const used = statements.map((sql) => /INDEXED BY (\w+)/.exec(sql)?.[1] ?? '').filter((index) => index !== '');
    assert.deepEqual(used, ['event_of_audience_key', 'event_of_audience_key', 'outbox_event']);
  });
});

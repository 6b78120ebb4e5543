import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type CustomerBody, customerReader } from '../../src/customers/customers.ts';
import type { Customer } from '../../src/domain/customer.ts';
import { ENDPOINTS_LIMIT_DEFAULT, WEBHOOKS_LIMIT_DEFAULT } from '../../src/domain/limits.ts';
import { readEvents } from '../../src/events/event-input.ts';
import { createEventTypes } from '../../src/events/event-types.ts';
import { createPublish } from '../../src/events/publish.ts';
import type { Refusal, RefusalCode } from '../../src/kernel/refusal.ts';
import type { MergePatch } from '../../src/resources/input.ts';
import { customerStoreOf } from '../../src/store/customer-store.ts';
import { refused as refusedBy } from '../support/refusals.ts';
import { repeatsInSlowTier } from '../support/repeats.ts';
import { ACTOR, makeEndpoint, makeEventType, openTestServices, type TestServices } from '../support/services.ts';
import { execute, onPostgres } from '../support/store.ts';

repeatsInSlowTier('postgres');

const TYPE = 'order.placed';

function makeCustomer({ customers }: TestServices, limits: CustomerBody['limits'] = {}): Promise<Customer> {
  made += 1;
  return customers.create(customerReader.create({ name: `customer ${made}`, limits }), ACTOR);
}
let made = 0;

function change({ customers }: TestServices, { id }: Customer, patch: MergePatch<CustomerBody>): Promise<Customer> {
  return customers.patch(id, patch, ACTOR);
}

function addWebhook({ webhooks }: TestServices, customerId: string | null, endpointId: string) {
  return webhooks.create({ name: 'w', customerId, endpointId, eventTypes: [TYPE] }, ACTOR);
}

function refused(work: Promise<unknown>, code: RefusalCode, says?: string): Promise<Refusal> {
  return refusedBy(() => work, { code, ...(says !== undefined && { says }) });
}

/** Lets no time pass for allowances. On PostgreSQL, where the database's clock decides, they count as taken in 50 seconds. */
async function freeze({ database }: TestServices): Promise<void> {
  if (onPostgres) await database.commit([{ sql: 'UPDATE event_allowance SET at = at + 50000', params: {} }]);
}

const order = (customerId: string, more: object = {}) => ({ type: TYPE, data: {}, customerId, ...more });

describe('a limit of endpoints and webhooks', () => {
  it('lets create as many as it says, and refuses the next one with the count and the limit', async (t) => {
    const s = await openTestServices(t);
    await makeEventType(s, TYPE);
    const customer = await makeCustomer(s, { endpoints: 2, webhooks: 1 });
    const first = await makeEndpoint(s, { customerId: customer.id });
    await makeEndpoint(s, { customerId: customer.id });
    const text = `the customer ${customer.name} has 2 of at most 2 endpoints`;
    await refused(makeEndpoint(s, { customerId: customer.id }), 'limit_reached', text);
    await addWebhook(s, customer.id, first.id);
    const one = `the customer ${customer.name} has 1 of at most 1 webhook`;
    await refused(addWebhook(s, customer.id, first.id), 'limit_reached', one);
    assert.deepEqual(await counts(s, customer), { endpoints: 2, webhooks: 1 });
    // Others have limits of their own, and the operator has none.
    for (const customerId of [null, (await makeCustomer(s)).id])
      for (let n = 0; n < 3; n++) await makeEndpoint(s, { customerId });
  });

  it('is 50 endpoints and 100 webhooks unless it is changed, also for customers that were made without limits', async (t) => {
    const s = await openTestServices(t);
    await makeEventType(s, TYPE);
    const customer = await makeCustomer(s, { endpoints: null });
    assert.deepEqual(customer.limits, { endpoints: 50, webhooks: 100, eventsPerSecond: null });
    await execute(s, 'UPDATE customer SET max_endpoints = NULL, max_webhooks = NULL');
    const before = await s.customers.get(customer.id);
    assert.deepEqual(before.limits, customer.limits);
    const [endpoint] = await Promise.all(
      Array.from({ length: ENDPOINTS_LIMIT_DEFAULT }, () => makeEndpoint(s, { customerId: customer.id })),
    );
    const text = `the customer ${customer.name} has 50 of at most 50 endpoints`;
    await refused(makeEndpoint(s, { customerId: customer.id }), 'limit_reached', text);
    await change(s, customer, { limits: { endpoints: 51 } });
    await makeEndpoint(s, { customerId: customer.id });
    assert.ok(endpoint !== undefined);
    const webhooks = Array.from({ length: WEBHOOKS_LIMIT_DEFAULT + 1 }, () => addWebhook(s, customer.id, endpoint.id));
    const results = await Promise.allSettled(webhooks);
    assert.equal(results.filter(({ status }) => status === 'fulfilled').length, WEBHOOKS_LIMIT_DEFAULT);
  });

  it('of zero lets create none', async (t) => {
    const s = await openTestServices(t);
    const { id, name } = await makeCustomer(s, { endpoints: 0 });
    await refused(
      makeEndpoint(s, { customerId: id }),
      'limit_reached',
      `the customer ${name} has 0 of at most 0 endpoints`,
    );
  });

  it('that is lowered keeps what exists, which can still be changed', async (t) => {
    const s = await openTestServices(t);
    const customer = await makeCustomer(s);
    const [one] = [
      await makeEndpoint(s, { customerId: customer.id }),
      await makeEndpoint(s, { customerId: customer.id }),
    ];
    assert.deepEqual((await change(s, customer, { limits: { endpoints: 1 } })).limits, {
      endpoints: 1,
      webhooks: WEBHOOKS_LIMIT_DEFAULT,
      eventsPerSecond: null,
    });
    const text = `the customer ${customer.name} has 2 of at most 1 endpoint`;
    await refused(makeEndpoint(s, { customerId: customer.id }), 'limit_reached', text);
    assert.ok(one);
    assert.equal((await s.endpoints.patch(one.id, { name: 'renamed' }, ACTOR)).name, 'renamed');
    await s.endpoints.remove(one.id, ACTOR);
    await refused(
      makeEndpoint(s, { customerId: customer.id }),
      'limit_reached',
      `the customer ${customer.name} has 1 of at most 1 endpoint`,
    );
    await change(s, customer, { limits: { endpoints: null } });
    await makeEndpoint(s, { customerId: customer.id });
  });

  it('holds when many are created at the same time', async (t) => {
    const s = await openTestServices(t);
    await makeEventType(s, TYPE);
    const customer = await makeCustomer(s, { endpoints: 3, webhooks: 3 });
    const results = await Promise.allSettled(
      Array.from({ length: 10 }, () => makeEndpoint(s, { customerId: customer.id })),
    );
    const endpoints = results.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
    assert.equal(endpoints.length, 3);
    for (const one of results)
      if (one.status === 'rejected') assert.match(String(one.reason), /has 3 of at most 3 endpoints/);
    const { id: endpointId = '' } = endpoints[0] ?? {};
    const webhooks = await Promise.allSettled(Array.from({ length: 10 }, () => addWebhook(s, customer.id, endpointId)));
    assert.equal(webhooks.filter(({ status }) => status === 'fulfilled').length, 3);
    assert.deepEqual(await counts(s, customer), { endpoints: 3, webhooks: 3 });
  });

  it('is refused in the transaction, if another process was faster', async (t) => {
    const s = await openTestServices(t);
    const customer = await makeCustomer(s, { endpoints: 1 });
    const endpoint = await makeEndpoint(s, { customerId: customer.id });
    await assert.rejects(s.store.endpoints.insert({ ...endpoint, id: s.ids.uuid() }, s.entry()), {
      name: 'StaleWrite',
    });
    assert.deepEqual(await counts(s, customer), { endpoints: 1, webhooks: 0 });
  });

  for (const [limits, field] of [
    [{ endpoints: -1 }, 'limits.endpoints'],
    [{ webhooks: 1.5 }, 'limits.webhooks'],
    [{ eventsPerSecond: 0 }, 'limits.eventsPerSecond'],
    [{ eventsPerSecond: 100_001 }, 'limits.eventsPerSecond'],
    [{ users: 1 }, 'limits.users'],
  ] as const) {
    it(`cannot be ${JSON.stringify(limits)}`, () => {
      assert.throws(
        () => customerReader.create({ name: 'x', limits }),
        (error: { readonly details?: readonly { readonly field: string }[] }) => error.details?.[0]?.field === field,
      );
    });
  }
});

describe('a limit of events a second', () => {
  it('refuses everything beyond it with the time to wait, and publishes nothing of the request', async (t) => {
    const s = await openTestServices(t);
    await makeEventType(s, TYPE);
    const customer = await makeCustomer(s, { eventsPerSecond: 5 });
    const other = await makeCustomer(s);
    await s.publish({ events: Array.from({ length: 4 }, () => order(customer.id)) }, ACTOR);
    await freeze(s);
    const mixed = [order(other.id), order(customer.id), order(customer.id)];
    const error = await refused(s.publish({ events: mixed }, ACTOR), 'too_many_requests');
    assert.match(error.message, new RegExp(`the customer ${customer.name} has a limit of 5 events a second`));
    const wait = Number(error.headers['Retry-After']);
    assert.ok(onPostgres ? wait > 1 && wait <= 51 : wait === 1, `${wait}`);
    assert.equal(await events(s), 4);
    assert.equal((await s.publish(order(customer.id), ACTOR)).accepted, 1);
    await s.publish({ events: Array.from({ length: 20 }, () => order(other.id)) }, ACTOR);
    await s.publish({ type: TYPE, data: {}, audience: 'everyone' }, ACTOR);
    assert.equal(await events(s), 26);
  });

  it('refuses a request that no second would let pass', async (t) => {
    const s = await openTestServices(t);
    await makeEventType(s, TYPE);
    const customer = await makeCustomer(s, { eventsPerSecond: 2 });
    await refused(
      s.publish({ events: Array.from({ length: 3 }, () => order(customer.id)) }, ACTOR),
      'validation_failed',
      `events has 3 events for the customer ${customer.name}, of which at most 2 a second can be published: divide the request`,
    );
    await s.publish({ events: [order(customer.id), order(customer.id)] }, ACTOR);
  });

  it('does not count duplicates and requests that were refused', async (t) => {
    const s = await openTestServices(t);
    await makeEventType(s, TYPE);
    const customer = await makeCustomer(s, { eventsPerSecond: 3 });
    await s.publish(order(customer.id, { idempotencyKey: 'k' }), ACTOR);
    await freeze(s);
    for (let n = 0; n < 5; n++) await s.publish(order(customer.id, { idempotencyKey: 'k' }), ACTOR);
    const conflict = order(customer.id, { idempotencyKey: 'k', data: { other: 1 } });
    for (let n = 0; n < 5; n++) await refused(s.publish(conflict, ACTOR), 'idempotency_conflict');
    for (let n = 0; n < 5; n++)
      await refused(s.publish(order(customer.id, { type: 'no.such' }), ACTOR), 'validation_failed');
    await s.publish({ events: [order(customer.id), order(customer.id)] }, ACTOR);
    await refused(s.publish(order(customer.id), ACTOR), 'too_many_requests');
  });

  it('holds for what the customer publishes itself', async (t) => {
    const s = await openTestServices(t);
    await makeEventType(s, TYPE);
    const customer = await makeCustomer(s, { eventsPerSecond: 1 });
    const store = customerStoreOf(s.store, customer.id);
    const eventTypes = createEventTypes({ ...s, store });
    const publish = createPublish({ ...s, store, eventTypes, wake: () => {} });
    await publish(readEvents(JSON.stringify({ type: TYPE, data: {} })), ACTOR);
    await freeze(s);
    await refused(publish(readEvents(JSON.stringify({ type: TYPE, data: {} })), ACTOR), 'too_many_requests');
    await refused(s.publish(order(customer.id), ACTOR), 'too_many_requests');
    const [counted] = await usageOf(s, customer.id);
    assert.equal(counted?.usage.events, 1);
  });

  it('accepts exactly its events of one second if all come at the same time', async (t) => {
    const s = await openTestServices(t);
    await makeEventType(s, TYPE);
    // The database's clock goes on, so that a slow machine lets a few more pass.
    const customer = await makeCustomer(s, { eventsPerSecond: 20 });
    const startedAt = performance.now();
    const results = await Promise.allSettled(Array.from({ length: 200 }, () => s.publish(order(customer.id), ACTOR)));
    const passed = results.filter(({ status }) => status === 'fulfilled').length;
    const most = 20 + Math.ceil(((performance.now() - startedAt) * 20) / 1000);
    assert.ok(passed >= 20 && passed <= most, `${passed} of at most ${most} passed`);
    assert.equal(await events(s), passed);
  });
});

async function counts({ store }: TestServices, { id }: Customer) {
  const { endpoints, webhooks } = (await store.customers.belongings([id])).get(id) ?? { endpoints: -1, webhooks: -1 };
  return { endpoints, webhooks };
}

async function events({ rows }: TestServices): Promise<number> {
  return Number((await rows('SELECT count(*) AS count FROM event'))[0]?.count);
}

async function usageOf({ store }: TestServices, customerId: string) {
  while (store.usage.unwritten() > 0) await store.usage.write(100);
  return store.usage.days(customerId, '2000-01-01', '2100-01-01');
}

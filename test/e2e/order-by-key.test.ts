/** Order by key for customers, for readers, and as commands and embedding programs see it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { WaitingKey } from '../../src/sallyport.ts';
import type { DeliveryView } from '../../src/webhooks/deliveries.ts';
import { type ApiClient, errorOf, type Page, refusalOf, succeeded } from '../support/client.ts';
import { sallyport } from '../support/command.ts';
import { makeCustomer, sessionOf, type TestCustomer } from '../support/customers.ts';
import { until } from '../support/dispatching.ts';
import { connect, type Journey, makeEventType, startJourney } from '../support/journey.ts';
import { newSession, request } from '../support/portal-requests.ts';
import type { ReceivingEndpoint } from '../support/receiver.ts';
import { refused } from '../support/refusals.ts';
import { repeatsInSlowTier } from '../support/repeats.ts';
import { databaseUrlOf } from '../support/service.ts';

repeatsInSlowTier('postgres');

const TYPE = 'order.placed';
/** A failed record waits longer than a test. */
const LATER = { policy: 'schedule', delaysSeconds: [3600, 3600] };
const BY_KEY = { ordered: 'key', maxBatchRecords: 1, heartbeatSeconds: 0, retry: LATER };
const KEY = 'order-17';

const waitingOf = (api: ApiClient, id: string): Promise<Page<WaitingKey>> =>
  succeeded(api.get(`webhooks/${id}/waiting-keys`));
const withKey = async (api: ApiClient, query = ''): Promise<DeliveryView[]> => [
  ...(await succeeded<Page<DeliveryView>>(api.get(`deliveries?orderingKey=${KEY}${query}`))).items,
];
const offsetsAt = (at: ReceivingEndpoint): number[] =>
  at.deliveries.flatMap(({ records }) => records.map(({ offset }) => offset));

type Side = { readonly customer: TestCustomer; readonly at: ReceivingEndpoint; readonly webhookId: string };

async function side(journey: Journey): Promise<Side> {
  const customer = await makeCustomer(journey.service);
  const { at, webhook } = await connect({ ...journey, admin: customer.api }, [TYPE], { webhook: BY_KEY });
  return { customer, at, webhookId: webhook.id };
}

describe('order by key', () => {
  it('of one customer holds back, shows and gives up nothing of another', async (t) => {
    const journey = await startJourney(t);
    const { admin, service } = journey;
    await makeEventType(admin, TYPE);
    const [one, other] = [await side(journey), await side(journey)];
    one.at.answer(() => ({ status: 503 }));
    const event = { type: TYPE, data: {}, orderingKey: KEY };
    const both = [one, other].map(({ customer }) => ({ ...event, customerId: customer.id }));
    await succeeded(admin.post('events', { events: [...both, ...both, ...both] }));
    await succeeded(one.customer.api.post('events', event));
    await until('the records of the other customer', () => other.at.deliveries.length === 3);
    assert.deepEqual(offsetsAt(other.at), [0, 1, 2]);
    await until(
      'the key',
      async () => (await waitingOf(one.customer.api, one.webhookId)).items[0]?.waitingRecords === 4,
    );
    assert.deepEqual(new Set(offsetsAt(one.at)), new Set([0]));

    const shown = (await waitingOf(one.customer.api, one.webhookId)).items;
    assert.deepEqual(
      shown.map(({ orderingKey, firstOffset }) => [orderingKey, firstOffset]),
      [[KEY, 0]],
    );
    assert.deepEqual((await waitingOf(other.customer.api, other.webhookId)).items, []);
    for (const [verb, path] of [
      ['get', `webhooks/${one.webhookId}/waiting-keys`],
      ['post', `webhooks/${one.webhookId}/give-up`],
    ] as const) {
      const reply = await other.customer.api[verb](path, { orderingKey: KEY });
      assert.deepEqual([reply.status, errorOf(reply).code], [404, 'not_found'], path);
    }
    for (const { customer, webhookId } of [one, other]) {
      const found = await withKey(customer.api);
      assert.deepEqual(new Set(found.map((delivery) => delivery.webhookId)), new Set([webhookId]));
      assert.ok(found.every(({ orderingKey }) => orderingKey === KEY));
    }
    assert.equal((await withKey(other.customer.api, `&webhookId=${one.webhookId}`)).length, 0);
    assert.equal((await withKey(admin)).length, 7);
    assert.equal((await withKey(admin, `&customerId=${one.customer.id}&state=pending`)).length, 4);

    await succeeded(other.customer.api.post(`webhooks/${other.webhookId}/give-up`, { orderingKey: KEY }));
    assert.equal((await waitingOf(admin, one.webhookId)).items[0]?.waitingRecords, 4);
    await until('the key to be given up', async () => {
      const { givenUp } = await succeeded<{ givenUp: number }>(
        one.customer.api.post(`webhooks/${one.webhookId}/give-up`, { orderingKey: KEY }),
      );
      return givenUp === 4;
    });
    one.at.answer(() => ({ status: 204 }));
    service.advance(60_000);
    const before = one.at.deliveries.length;
    const replay = { orderingKey: KEY };
    assert.deepEqual(await succeeded(one.customer.api.post(`webhooks/${one.webhookId}/replay`, replay)), {
      replayed: 4,
    });
    await until('the replay', () => one.at.deliveries.length === before + 4);
    assert.deepEqual(offsetsAt(one.at).slice(before), [0, 1, 2, 3]);
    assert.equal(other.at.deliveries.length, 3);
  });

  it('is found in the portals by the key, within the customer', async (t) => {
    const journey = await startJourney(t);
    const { admin, service } = journey;
    await makeEventType(admin, TYPE);
    const [one, other] = [await side(journey), await side(journey)];
    const event = { type: TYPE, data: {}, orderingKey: KEY };
    await succeeded(
      admin.post('events', {
        events: [
          { ...event, customerId: one.customer.id },
          { ...event, orderingKey: 'order-18', customerId: one.customer.id },
        ],
      }),
    );
    const [delivery] = await withKey(admin);
    const id = delivery?.id ?? assert.fail();
    const operator = (await newSession(service, 'viewer')).token;
    const theirs = await sessionOf(service, one.customer, 'user');
    const stranger = await sessionOf(service, other.customer, 'user');
    const read = (path: string, token: string) => request(`${service.url}${path}`, { token });
    for (const token of [operator, theirs]) {
      const page = await read(`/deliveries/${id}`, token);
      assert.match(page.text, /Ordering key<\/dt>\s*<dd>\s*<a href="\/deliveries\?q=key%3Aorder-17">order-17<\/a>/);
      const list = await read('/deliveries?q=key%3Aorder-17', token);
      assert.match(list.text, /Remove key:order-17/);
      assert.deepEqual(
        [...list.text.matchAll(/id="delivery-([\w-]+)"/g)].map(([, found]) => found),
        [id],
      );
      const linked = await read('/deliveries?orderingKey=order-17', token);
      assert.match(linked.text, /Remove key:order-17/);
    }
    assert.equal((await read(`/deliveries/${id}`, stranger)).status, 404);
    assert.doesNotMatch((await read('/deliveries?q=key%3Aorder-17', stranger)).text, /id="delivery-/);
    const found = /Deliveries with the ordering key <mark>order-17</;
    for (const token of [operator, theirs]) assert.match((await read('/search?q=order-17', token)).text, found);
    assert.doesNotMatch((await read('/search?q=order-17', stranger)).text, found);
  });

  it('is what a reader sees anyway: mode pull has one order, no keys that wait, and deliveries with their keys', async (t) => {
    const { admin } = await startJourney(t);
    await makeEventType(admin, TYPE);
    const body = { name: 'orders', mode: 'pull', eventTypes: [TYPE] };
    const refusal = await refusalOf(admin.post('webhooks', { ...body, ordered: 'key' }), 400);
    assert.deepEqual(
      refusal.details?.map(({ field }) => field),
      ['ordered'],
    );
    const { id } = await succeeded<{ id: string }>(admin.post('webhooks', body));
    const events = [KEY, 'order-18', KEY].map((orderingKey) => ({ type: TYPE, data: {}, orderingKey }));
    await succeeded(admin.post('events', { events }));
    const { records } = await succeeded<{ records: { offset: number }[] }>(admin.get(`webhooks/${id}/records`));
    assert.deepEqual(
      records.map(({ offset }) => offset),
      [0, 1, 2],
    );
    await succeeded(admin.post(`webhooks/${id}/acknowledge`, { throughOffset: 0 }));
    const found = await withKey(admin, `&webhookId=${id}`);
    assert.deepEqual(
      found.map(({ offset, state }) => [offset, state]),
      [
        [2, 'pending'],
        [0, 'delivered'],
      ],
    );
    assert.equal(
      (await refusalOf(admin.post(`webhooks/${id}/replay`, { orderingKey: KEY }), 409)).code,
      'invalid_state',
    );
    assert.equal((await refusalOf(admin.get(`webhooks/${id}/waiting-keys`), 409)).code, 'invalid_state');
  });

  it('has pages of keys in the API, for programs and as a command', async (t) => {
    const journey = await startJourney(t);
    const { admin, service } = journey;
    await makeEventType(admin, TYPE);
    const { at, webhook } = await connect(journey, [TYPE], { webhook: BY_KEY });
    at.answer(() => ({ status: 503 }));
    const keys = ['a', 'b', 'c'];
    await succeeded(
      admin.post('events', { events: keys.map((orderingKey) => ({ type: TYPE, data: {}, orderingKey })) }),
    );
    await until('the keys', async () => {
      service.advance(1000);
      return (await waitingOf(admin, webhook.id)).items.length === 3;
    });
    const path = `webhooks/${webhook.id}/waiting-keys`;
    const first = await succeeded<Page<WaitingKey>>(admin.get(`${path}?limit=2`));
    assert.deepEqual(
      first.items.map(({ orderingKey }) => orderingKey),
      ['a', 'b'],
    );
    const cursor = first.nextCursor ?? assert.fail();
    const next = await succeeded<Page<WaitingKey>>(admin.get(`${path}?cursor=${cursor}`));
    assert.deepEqual([next.items.map(({ orderingKey }) => orderingKey), next.nextCursor], [['c'], null]);
    const program = service.sallyport;
    assert.deepEqual(await program.webhooks.waitingKeys(webhook.id, { limit: 2 }), first);
    assert.deepEqual(await program.webhooks.waitingKeys(webhook.id, { cursor }), next);
    assert.equal((await program.deliveries.list({ orderingKey: 'b' })).items[0]?.orderingKey, 'b');
    for (const [query, field] of [
      ['cursor=a', 'cursor'],
      ['limit=201', 'limit'],
      ['limit=0', 'limit'],
    ] as const)
      assert.deepEqual(
        (await refusalOf(admin.get(`${path}?${query}`), 400)).details?.map((one) => one.field),
        [field],
      );
    await refused(() => program.webhooks.waitingKeys(webhook.id, { cursor: 'a' }), {
      code: 'validation_failed',
      fields: ['cursor'],
    });

    const databaseUrl = databaseUrlOf(service.dataDir);
    const env = {
      SALLYPORT_DATA: service.dataDir,
      ...(databaseUrl !== null && { SALLYPORT_DATABASE_URL: databaseUrl }),
    };
    const run = (...args: string[]) => sallyport(args, { env });
    const asJson = async (...args: string[]): Promise<unknown> => JSON.parse((await run(...args, '--json')).stdout);
    assert.deepEqual(await asJson('webhook', 'waiting-keys', webhook.name, '--limit', '2'), first);
    assert.deepEqual(await asJson('webhook', 'waiting-keys', webhook.name, '--cursor', cursor), next);
    const { stdout } = await run('webhook', 'waiting-keys', webhook.name, '--limit', '2');
    assert.match(
      stdout,
      new RegExp(`^key +records +attempts .*\\na +1 +1 +503 .*\\nb .*\\n\\nMore items: --cursor ${cursor}\\n$`, 's'),
    );
    const wrong = await run('webhook', 'waiting-keys', webhook.name, '--cursor', 'a');
    assert.deepEqual([wrong.status, wrong.stdout], [1, '']);
    assert.match(wrong.stderr, /--cursor is not a cursor of this list/);
    const { items } = (await asJson('deliveries', 'list', '--ordering-key', 'b')) as Page<DeliveryView>;
    assert.deepEqual(
      items.map(({ orderingKey }) => orderingKey),
      ['b'],
    );
  });
});

/** Imports that end in the middle, after every single write. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { it } from 'node:test';
import { createCustomers } from '../../src/customers/customers.ts';
import { PAGE_MAX } from '../../src/domain/limits.ts';
import { createEventTypes } from '../../src/events/event-types.ts';
import type { ImportRow, ImportServices } from '../../src/importing/carry-out.ts';
import type { ImportOptions } from '../../src/importing/export-reader.ts';
import { importPlan } from '../../src/importing/import.ts';
import type { Plan } from '../../src/importing/import-plan.ts';
import { readOutpost } from '../../src/importing/outpost.ts';
import { readSvix } from '../../src/importing/svix.ts';
import { randomBytes } from '../../src/kernel/ids.ts';
import type { Store } from '../../src/store/port/store.ts';
import { createEndpoints } from '../../src/webhooks/endpoints.ts';
import { createWebhooks } from '../../src/webhooks/webhooks.ts';
import { leavingNothing, openTestStore, type TestStore } from '../support/store.ts';
import { egressOf, LOOPBACK } from '../support/transport.ts';

const OPTIONS: ImportOptions = {
  renamed: new Map(),
  headerPrefix: null,
  channelsAt: 'data.channels',
  retryDelaysSeconds: null,
  withoutSchemas: false,
};

function exported(sender: 'svix' | 'outpost'): unknown {
  return JSON.parse(readFileSync(new URL(`./exports/${sender}.json`, import.meta.url), 'utf8'));
}

const PLANS: readonly (readonly [sender: string, plan: Plan])[] = [
  ['Svix', readSvix(exported('svix'), OPTIONS)],
  ['Outpost', readOutpost(exported('outpost'), OPTIONS)],
];

const INTERRUPTED = new Error('interrupted');

/** The store, whose writes of records fail after so many of them. */
function failingAfter(writes: number, store: Store): Store {
  let left = writes;
  const counted = <A extends readonly unknown[]>(write: (...values: A) => Promise<void>) => {
    return async (...values: A): Promise<void> => {
      if (left === 0) throw INTERRUPTED;
      left -= 1;
      await write(...values);
    };
  };
  const { customers, endpoints, webhooks, eventTypes } = store;
  return {
    ...store,
    customers: { ...customers, insert: counted(customers.insert) },
    endpoints: { ...endpoints, insert: counted(endpoints.insert) },
    webhooks: { ...webhooks, insert: counted(webhooks.insert) },
    eventTypes: { ...eventTypes, insert: counted(eventTypes.insert) },
  };
}

async function carriedOut(s: TestStore, plan: Plan, store: Store): Promise<readonly ImportRow[]> {
  const dependencies = { ...s, store, random: randomBytes, egress: egressOf(LOOPBACK), wake: () => {} };
  const challenge = () => Promise.reject(new Error('an import asks for no challenge'));
  const services: ImportServices = {
    customers: createCustomers(dependencies),
    eventTypes: createEventTypes(dependencies),
    endpoints: createEndpoints({ ...dependencies, challenge }),
    webhooks: createWebhooks(dependencies),
  };
  const run = { apply: true, skipRefused: true, start: false, onRow: () => {} };
  return (await importPlan(plan, services, dependencies, run)).rows;
}

/** The names of all records, with the secrets of the endpoints and the owners. */
async function recordsOf({ store }: TestStore) {
  const customers = new Map((await store.customers.list('', 200)).map(({ id, name }) => [id, name]));
  const endpoints = await store.endpoints.list('', 200);
  const names = new Map(endpoints.map(({ id, name }) => [id, name]));
  const webhooks = await store.webhooks.list('', 200);
  const of = (id: string | null) => customers.get(id ?? '');
  return {
    customers: [...customers.values()],
    eventTypes: (await store.eventTypes.all()).filter(({ builtIn }) => !builtIn).map(({ name }) => name),
    endpoints: endpoints.map((one) => [of(one.customerId), one.name, one.url, one.secret.reveal()]),
    webhooks: webhooks.map((one) => [of(one.customerId), names.get(one.endpointId ?? ''), one.name, one.filter]),
  };
}

for (const [sender, plan] of PLANS)
  it(`after any write of an import from ${sender} another run makes the rest, and nothing twice`, async (t) => {
    const whole = await openTestStore(t);
    await carriedOut(whole, plan, whole.store);
    const wanted = await recordsOf(whole);
    await leavingNothing(whole, () => carriedOut(whole, plan, whole.store));
    const count = Object.values(wanted).flat().length;
    assert.ok(count > 8);
    for (let writes = 0; writes < count; writes++) {
      const s = await openTestStore(t);
      const failing = failingAfter(writes, s.store);
      await assert.rejects(carriedOut(s, plan, failing), (error) => error === INTERRUPTED);
      assert.equal(Object.values(await recordsOf(s)).flat().length, writes);
      await carriedOut(s, plan, s.store);
      assert.deepEqual(await recordsOf(s), wanted, `after ${writes} writes`);
    }
  });

it('another run makes no webhook again, however many webhooks the endpoint has', async (t) => {
  const plan = readSvix(exported('svix'), OPTIONS);
  const s = await openTestStore(t);
  await carriedOut(s, plan, s.store);
  const [some] = await s.store.webhooks.list('', 1);
  assert.ok(some);
  const others = Array.from({ length: PAGE_MAX }, (_, n) => ({ ...some, name: `Other ${n}` }));
  const { webhooks } = s.store;
  const list: typeof webhooks.list = async (from, ...rest) => (from === '' ? others : webhooks.list('', ...rest));
  await leavingNothing(s, () => carriedOut(s, plan, { ...s.store, webhooks: { ...webhooks, list } }));
});

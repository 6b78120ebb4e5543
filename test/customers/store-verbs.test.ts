/**
 * Tries every verb of a customer's store that `src/store/confinement.ts` calls its own: with ids of another owner and unknown ids,
 * a verb reads the same rows with the same statements, so nothing above the store can tell them apart, also not by the time that it takes.
 * A new verb of its own does not compile here until a line says how to ask it.
 */

import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { AuditEntry } from '../../src/domain/audit.ts';
import { type DeliveryAddress, deliveryAddress } from '../../src/kernel/ids.ts';
import { CONFINEMENT, type StorePart, type VerbsThatAre } from '../../src/store/confinement.ts';
import { customerStoreOf } from '../../src/store/customer-store.ts';
import type { Statement } from '../../src/store/port/database.ts';
import type { Store } from '../../src/store/port/store.ts';
import { claimNext, publishMany, run, settleBatch } from '../support/batches.ts';
import { unknownLike } from '../support/customers.ts';
import { repeats, repeatsInSlowTier } from '../support/repeats.ts';
import {
  ACTOR,
  makeApplication,
  makeEventType,
  makeUser,
  openTestServices,
  type TestServices,
} from '../support/services.ts';
import { leavingNothing } from '../support/store.ts';
import { pgpVector } from '../support/vectors.ts';

repeats('postgres');
repeatsInSlowTier('pgbouncer');

/** The ids with which a verb is called: of another owner, or unknown. */
type Asked = {
  readonly [Kind in 'customer' | 'user' | 'application' | 'endpoint' | 'key' | 'webhook']: string;
} & {
  readonly [Kind in 'event' | 'attempt' | 'batch' | 'entry' | 'keyName' | 'userName' | 'externalId' | 'text']: string;
} & { readonly number: number; readonly delivery: DeliveryAddress };

type Ask = (store: Store, asked: Asked) => Promise<unknown>;
/** The records of another owner, to be written. */
type Records = { readonly [Part in 'users' | 'applications' | 'endpoints' | 'keys' | 'webhooks']: never };
type Write = (store: Store, records: Records, entry: AuditEntry, asked: Asked) => Promise<unknown>;

type Line =
  /** Tells every customer the same, or marks what it gets as the customer's. */
  | 'same'
  /** Asked with an id, a name or a number, which must be the customer's own. */
  | { readonly ask: Ask }
  /** Writes a record, which must be the customer's own. */
  | { readonly write: Write }
  /** Reads what belongs to the customer, whatever it is asked with. */
  | { readonly own: Ask };

type Verbs = {
  readonly [Part in StorePart as VerbsThatAre<'own', Part> extends never ? never : Part]: {
    readonly [Verb in VerbsThatAre<'own', Part>]: Line;
  };
};

const ask = (given: Ask): Line => ({ ask: given });
const own = (given: Ask): Line => ({ own: given });
const write = (given: Write): Line => ({ write: given });
const LATEST = { events: 10, maxBytes: 10_000 };
const PERIOD = { since: 0, until: null };
const DAYS = { since: '2000-01-01', until: '2100-01-01' };
const wantedFor = (customerId: string) => ({ customerId, events: 1, perSecond: 1 });

function resource<Part extends 'users' | 'applications' | 'endpoints' | 'keys' | 'webhooks'>(
  part: Part,
  idOf: (asked: Asked) => string,
) {
  const listOf: Ask = (store) => store[part].list('', 10);
  return {
    get: ask((store, asked) => store[part].get(idOf(asked))),
    list: own(listOf),
    insert: write((store, records, entry) => store[part].insert(records[part], entry)),
    update: write((store, records, entry) => store[part].update(records[part], records[part], entry)),
    remove: write((store, _, entry, asked) => store[part].remove(idOf(asked), entry)),
  };
}

const entryOf = (number: number): AuditEntry => ({
  id: `0193a1f0-0000-7000-8000-00000000000${number}`,
  at: 1,
  actor: 'service',
  action: 'user.sign-out',
  target: 'user:none',
  customerId: null,
  changes: {},
});

const VERBS: Verbs = {
  customers: {
    get: ask((store, { customer }) => store.customers.get(customer)),
    webhookNumbers: ask(async (store, { customer }) => [...(await store.customers.webhookNumbers(customer))]),
    getByExternalId: ask((store, { externalId }) => store.customers.getByExternalId(externalId)),
    belongings: ask(async (store, { customer }) => [...(await store.customers.belongings([customer]))]),
  },
  usage: {
    count: write(async (store, _, __, { customer }) => store.usage.count(customer, { events: 1 }, 1)),
    days: own((store, { customer }) => store.usage.days(customer, DAYS.since, DAYS.until)),
    list: own((store, { customer }) => store.usage.list({ ...DAYS, customerId: customer }, null, 10)),
    sums: own((store, { customer }) => store.usage.sums({ ...DAYS, customerId: customer }, undefined, 10)),
  },
  allowances: {
    take: write(async (store, _, __, { customer }) => store.allowances.take([wantedFor(customer)], 1)),
    giveBack: write(async (store, _, __, { customer }) => store.allowances.giveBack([wantedFor(customer)], 1)),
  },
  users: {
    ...resource('users', ({ user }) => user),
    getByName: ask((store, { userName }) => store.users.getByName(null, userName)),
    // The operator's last administrator and its first start are not the business of customers.
    hasOtherAdministrator: 'same',
    isEmpty: 'same',
  },
  invitations: {
    put: write((store, { users }, entry) => store.invitations.put({} as never, users, entry)),
    expiries: ask(async (store, { user }) => [...(await store.invitations.expiries([user]))]),
  },
  applications: {
    ...resource('applications', ({ application }) => application),
    ofUser: ask((store, { user }) => store.applications.ofUser(user)),
  },
  tokens: {
    inForce: ask((store, { application }) =>
      store.tokens.inForce({ id: application, tokensRevokedThrough: 0 } as never, 0, 10),
    ),
  },
  endpoints: resource('endpoints', ({ endpoint }) => endpoint),
  keys: {
    ...resource('keys', ({ key }) => key),
    getByName: ask((store, { keyName }) => store.keys.getByName(null, keyName)),
  },
  eventTypes: {
    // The public ones, for everybody.
    get: 'same',
    getByName: 'same',
    list: 'same',
    all: 'same',
    isInLog: own((store) => store.eventTypes.isInLog(TYPE)),
    latestSample: own((store) => store.eventTypes.latestSample(TYPE, 10_000)),
    volumes: own(async (store) => [...(await store.eventTypes.volumes([TYPE], 0, 10))]),
  },
  webhooks: {
    ...resource('webhooks', ({ webhook }) => webhook),
    ofEndpoint: ask((store, { endpoint }) => store.webhooks.ofEndpoint(endpoint)),
    standardOfEndpoint: ask((store, { endpoint }) => store.webhooks.standardOfEndpoint(endpoint)),
    versionAt: ask((store, { endpoint }) => store.webhooks.versionAt(endpoint)),
    stoppedWithEndpoint: ask((store, { endpoint }) => store.webhooks.stoppedWithEndpoint(endpoint)),
    ofKey: ask((store, { keyName }) => store.webhooks.ofKey(null, keyName)),
    setState: write((store, _, entry, { number }) =>
      store.webhooks.setState({ progress: { webhookNumber: number } } as never, entry, undefined as never),
    ),
    resume: write((store, _, __, { number }) => store.webhooks.resume(number, 1)),
  },
  events: {
    latest: own((store, { customer }) => store.events.latest([TYPE], customer, LATEST)),
    judge: write(async (store, _, __, { customer }) => store.events.judge([{ audience: customer } as never])),
    publish: write(async (store, _, __, { customer }) => store.events.publish([{ audience: customer } as never])),
  },
  dispatch: {
    target: ask((store, { number }) => store.dispatch.target(number)),
    waiting: ask((store, { number }) => store.dispatch.waiting(number, 0, 10)),
    records: ask((store, { number }) => store.dispatch.records(number, 0, 10)),
  },
  pulls: {
    acknowledge: write((store, _, __, { number }) => store.pulls.acknowledge({ webhookNumber: number } as never)),
    ends: ask(async (store, { number }) => [...(await store.pulls.ends([number]))]),
  },
  deliveries: {
    get: ask((store, { delivery }) => store.deliveries.get(delivery)),
    at: ask((store, { number }) => store.deliveries.at(number, 0)),
    atPlaces: ask((store, { number }) => store.deliveries.atPlaces([{ webhookNumber: number, offset: 0 }])),
    list: ask(async (store, { number, event, delivery }) => [
      await store.deliveries.list({ webhookNumber: number }, null, 10),
      await store.deliveries.list({ eventId: event }, null, 10),
      await store.deliveries.list({}, delivery, 10),
      await store.deliveries.list({ eventId: event }, delivery, 10),
      await store.deliveries.list({ state: 'dead' }, delivery, 10),
    ]),
    failures: ask((store, { number }) => store.deliveries.failures([number])),
    content: ask((store, { number }) => store.deliveries.content(number, 0)),
    offsetsBetween: ask((store, { number }) => store.deliveries.offsetsBetween(number, PERIOD)),
  },
  replays: {
    count: ask((store, { number }) => store.replays.count(rangeOf(number))),
    replay: write((store, _, entry, { number }) =>
      store.replays.replay({ ...rangeOf(number), now: 1, newId: () => '' } as never, entry),
    ),
    tryNow: write((store, _, entry, { number }) =>
      store.replays.tryNow({ webhookNumber: number, offset: 0, ordered: true, now: 1 }, entry),
    ),
  },
  waitingKeys: {
    list: ask((store, { number }) => store.waitingKeys.list(number, '', 10)),
    giveUp: write((store, _, entry, { number }) =>
      store.waitingKeys.giveUp({ webhookNumber: number, key: 'k', now: 1 }, entry),
    ),
  },
  attempts: {
    insert: write((store, _, __, { number }) => store.attempts.insert({ webhookNumber: number } as never)),
    get: ask((store, { attempt }) => store.attempts.get(attempt)),
    lastOf: ask((store, { number }) => store.attempts.lastOf([{ webhookNumber: number, offset: 0 } as never])),
    ofRecord: ask((store, { number }) => store.attempts.ofRecord(number, 0, 10)),
    batch: ask((store, { batch }) => store.attempts.batch(batch)),
    latest: own((store) => store.attempts.latest(10)),
    latestOf: ask((store, { number }) => store.attempts.latestOf(number, 10)),
    lastOutcomes: ask(async (store, { number }) => [...(await store.attempts.lastOutcomes([number]))]),
  },
  audit: {
    // Stamps the entry with the customer.
    append: 'same',
    get: ask((store, { entry }) => store.audit.get(entry)),
    lastOf: ask(async (store, { user }) => [...(await store.audit.lastOf('user.create', [`user:${user}`]))]),
    list: ask(async (store, { entry, user }) => [
      await store.audit.list(entry, 10),
      await store.audit.list(null, 10, { exactTarget: `user:${user}` }),
      await store.audit.list(null, 10, { actor: `user:${user}` }),
    ]),
  },
  sessions: {
    ofUser: ask((store, { user }) => store.sessions.ofUser(user, 0)),
    end: ask((store, { user }) => store.sessions.end({ id: user, userId: user }, entryOf(1))),
    endAll: ask((store, { user }) => store.sessions.endAll(user, null, entryOf(2))),
    setPassword: write((store, { users }, entry) => store.sessions.setPassword({ before: users } as never, entry)),
  },
  registry: {
    applications: ask(async (store, { user, text, application }) => [
      await store.registry.applications({ userId: user }, null, 10),
      await store.registry.applications({ text }, null, 10),
      await store.registry.applications({}, application, 10),
    ]),
    users: ask(async (store, { text, user }) => [
      await store.registry.users({ text }, null, 10),
      await store.registry.users({}, user, 10),
    ]),
  },
  expiry: { all: own((store, { customer }) => store.expiry.all(customer, 10)) },
  overview: {
    backlog: own((store, { customer }) => store.overview.backlog(customer, 10)),
    ailing: own((store, { customer }) => store.overview.ailing(customer, 10)),
    dead: own((store, { customer }) => store.overview.dead(customer)),
    setUp: own((store, { customer }) => store.overview.setUp(customer)),
  },
  directory: {
    webhooks: ask(async (store, { endpoint, keyName, text, webhook }) => [
      await store.directory.webhooks({ endpointId: endpoint }, null, 10),
      await store.directory.webhooks({ keyName }, null, 10),
      await store.directory.webhooks({ text }, null, 10),
      await store.directory.webhooks({ name: text }, null, 10),
      await store.directory.webhooks({ eventType: 'order.created' }, null, 10),
      await store.directory.webhooks({ troubled: 'yes' }, null, 10),
      await store.directory.webhooks({}, webhook, 10),
    ]),
    webhook: ask((store, { webhook }) => store.directory.webhook(webhook)),
    webhookNames: ask(async (store, { number }) => [...(await store.directory.webhookNames([number]))]),
    oldestWaitingAt: ask((store, { number }) => store.directory.oldestWaitingAt(number)),
    deadRecords: ask((store, { number }) => store.directory.deadRecords([number], 10)),
    states: own((store, { customer }) => store.directory.states(customer)),
    endpoints: ask(async (store, { text, endpoint }) => [
      await store.directory.endpoints({ text }, null, 10),
      await store.directory.endpoints({ state: 'problems' }, null, 10),
      await store.directory.endpoints({}, endpoint, 10),
    ]),
    countEndpoints: ask(async (store) => [
      await store.directory.countEndpoints({}, 10),
      await store.directory.countEndpoints({ state: 'problems' }, 10),
    ]),
    webhooksOf: ask((store, { endpoint }) => store.directory.webhooksOf([endpoint], 10)),
    endpointNames: own((store, { customer }) => store.directory.endpointNames(customer, 10)),
  },
  uses: {
    ofEndpoints: ask(async (store, { endpoint }) => [...(await store.uses.ofEndpoints([endpoint]))]),
    ofKeys: ask(async (store, { key }) => [...(await store.uses.ofKeys([key]))]),
    ofEventTypes: own(async (store, { customer }) => [...(await store.uses.ofEventTypes([TYPE], customer))]),
  },
  terms: {
    find: own((store, { text, customer }) => store.terms.find(text, customer, 10)),
  },
  search: {
    find: ask(async (store, { text, webhook, customer }) => [
      await store.search.find(text, null, 10),
      await store.search.find(webhook, customer, 10),
    ]),
  },
  stateHistory: { ofWebhook: ask((store, { webhook }) => store.stateHistory.ofWebhook(webhook, 10)) },
};

function rangeOf(webhookNumber: number) {
  return { webhookNumber, first: 0, last: 10, states: ['dead'] } as const;
}

const TYPE = 'order.placed';
/** Number of a webhook that was never made. */
const NO_NUMBER = 60_000_000;

type Seeded = { readonly asked: Asked; readonly records: Records; readonly markers: readonly string[] };

/** Resources of a customer, with one delivery that died. */
async function seed(s: TestServices, name: string): Promise<Seeded> {
  const customer = await s.customers.create({ name: `customer ${name}`, externalId: `external-${name}` }, ACTOR);
  const customerId = customer.id;
  const user = await makeUser(s, { customerId, userName: `user-${name}`, displayName: `text-${name}` });
  const { application } = await makeApplication(s, { customerId, userId: user.id, name: `text-${name}`, scopes: [] });
  const endpoint = await s.endpoints.create(
    { customerId, name: `text-${name}`, url: `https://receiver.example/${name}` },
    ACTOR,
  );
  const key = await s.keys.create({ customerId, name: `key-${name}`, publicKey: pgpVector('curve25519') }, ACTOR);
  const { id: webhookId } = await s.webhooks.create(
    { customerId, name: `text-${name}`, endpointId: endpoint.id, eventTypes: [TYPE], encryptionKeyName: key.name },
    ACTOR,
  );
  const webhook = await s.webhooks.get(webhookId);
  const { webhookNumber: number } = webhook.progress;
  await run(s, number);
  await publishMany(s, TYPE, 1, () => ({ audience: customerId, dataJson: `{"text":"data-${name}"}` }));
  const batch = await claimNext(s, number, 1);
  await settleBatch(s, batch, { kind: 'dead', at: s.clock() });
  const [attempt] = await s.store.attempts.latestOf(number, 1);
  const [delivery] = (await s.store.deliveries.list({ webhookNumber: number }, null, 1)).items;
  const [entry] = await s.store.audit.list(null, 1, { customerId });
  assert.ok(attempt && delivery && entry);
  const asked: Asked = {
    customer: customerId,
    user: user.id,
    application: application.id,
    endpoint: endpoint.id,
    key: key.id,
    webhook: webhook.id,
    event: delivery.eventId,
    attempt: attempt.id,
    batch: batch.id,
    entry: entry.id,
    keyName: key.name,
    userName: user.userName,
    externalId: `external-${name}`,
    text: `text-${name}`,
    number,
    delivery: deliveryAddress(delivery.id) ?? assert.fail(delivery.id),
  };
  const records = {
    users: user,
    applications: application,
    endpoints: endpoint,
    keys: key,
    webhooks: webhook,
  } as object;
  return {
    asked,
    records: records as Records,
    markers: [customerId, user.id, webhook.id, endpoint.id, `text-${name}`],
  };
}

/** The same, but nothing has these ids. */
function unknownTo(asked: Asked): Asked {
  const other = Object.entries(asked).map(([kind, value]) => {
    if (kind === 'number') return [kind, NO_NUMBER];
    if (typeof value !== 'string') return [kind, { ...(value as DeliveryAddress), webhookNumber: NO_NUMBER }];
    return [kind, /^[0-9a-f-]{36}$/.test(value) ? unknownLike(value) : `${value.slice(0, -1)}~`];
  });
  return Object.fromEntries(other) as Asked;
}

async function open(t: TestContext) {
  const s = await openTestServices(t);
  await makeEventType(s, TYPE);
  const mine = await seed(s, 'a');
  const other = await seed(s, 'b');
  return { s, mine, other, store: customerStoreOf(s.store, mine.asked.customer) };
}

type Seen = { readonly sql: string; readonly rows: number };

/** Everything that runs on the database, with the number of rows that it returns. */
function watch({ database }: TestServices): () => Seen[] {
  let seen: Seen[] = [];
  const watched = database as { -readonly [Verb in 'get' | 'all' | 'commit']: (...args: never[]) => unknown };
  const note = (verb: 'get' | 'all', rowsOf: (result: unknown) => number): void => {
    const given = watched[verb].bind(database) as (sql: string, params: never) => unknown;
    watched[verb] = ((sql: string, params: never) => {
      const result = given(sql, params);
      const add = (value: unknown): unknown => {
        seen.push({ sql, rows: rowsOf(value) });
        return value;
      };
      return result instanceof Promise ? result.then(add) : add(result);
    }) as never;
  };
  note('get', (row) => (row === undefined ? 0 : 1));
  note('all', (rows) => (rows as readonly unknown[]).length);
  const commit = watched.commit.bind(database) as (list: readonly Statement[]) => unknown;
  watched.commit = ((list: readonly Statement[]) => {
    for (const { sql } of list) seen.push({ sql, rows: -1 });
    return commit(list);
  }) as never;
  return () => {
    const taken = seen;
    seen = [];
    return taken;
  };
}

/** Secrets are masked. */
function textOf(result: unknown): string {
  return JSON.stringify(result) ?? 'nothing';
}

const LINES = Object.entries(VERBS).flatMap(([part, verbs]) =>
  Object.entries(verbs as Readonly<Record<string, Line>>).map(([verb, line]) => ({ part, verb, line })),
);

const CONFINED = Object.entries(CONFINEMENT).flatMap(([part, verbs]) =>
  Object.entries(verbs).map(([verb, how]) => ({ part, verb, how })),
);

describe('the store of a customer', () => {
  it('is confined in every verb that the store has, and in no other', async (t) => {
    const { s } = await open(t);
    // Part of a statement list, not a verb of its own.
    const inner = new Set(['updateStatements']);
    const verbs = Object.entries(s.store).flatMap(([part, value]) =>
      part === 'instances' || value === null || typeof value !== 'object'
        ? []
        : Object.keys(value)
            .filter((verb) => !inner.has(verb))
            .map((verb) => `${part}.${verb}`),
    );
    const confined = CONFINED.map(({ part, verb }) => `${part}.${verb}`);
    assert.deepEqual(confined.sort(), verbs.sort());
  });

  it('refuses the verbs that are not for customers, before any statement', async (t) => {
    const { s, store } = await open(t);
    const seen = watch(s);
    const refused = CONFINED.filter(({ how }) => how === 'none');
    for (const { part, verb } of refused) {
      const verbs = store[part as keyof Store] as unknown as Readonly<Record<string, () => unknown>>;
      await assert.rejects(async () => verbs[verb]?.(), /is not for customers/, `${part}.${verb}`);
    }
    assert.ok(refused.length > 70, `${refused.length} verbs`);
    assert.equal(store.instances, null);
    assert.deepEqual(seen(), []);
  });

  it('runs the same statements for ids of others and for unknown ones, and finds nothing', async (t) => {
    const { s, store, other } = await open(t);
    const seen = watch(s);
    for (const { part, verb, line } of LINES) {
      if (typeof line === 'string' || !('ask' in line)) continue;
      seen();
      const foreign = [await line.ask(store, other.asked), seen()];
      const unknown = [await line.ask(store, unknownTo(other.asked)), seen()];
      assert.equal(textOf(foreign), textOf(unknown), `${part}.${verb}`);
      for (const one of other.markers) assert.ok(!textOf(foreign[0]).includes(one), `${part}.${verb}: ${one}`);
    }
  });

  it('finds its own resources with the same verbs', async (t) => {
    const { store, mine, s } = await open(t);
    let found = 0;
    for (const { line } of LINES) {
      if (typeof line === 'string' || !('ask' in line)) continue;
      const ofOwn = textOf(await line.ask(store, mine.asked));
      if (ofOwn !== textOf(await line.ask(store, unknownTo(mine.asked)))) found += 1;
    }
    assert.ok(found > 30, `${found} verbs`);
    assert.equal((await s.store.users.get(mine.asked.user))?.id, mine.asked.user);
  });

  it('reads its own rows, regardless of the customer that is named', async (t) => {
    const { s, store, mine, other } = await open(t);
    const seen = watch(s);
    for (const { part, verb, line } of LINES) {
      if (typeof line === 'string' || !('own' in line)) continue;
      seen();
      const results = [await line.own(store, mine.asked), seen()];
      assert.equal(textOf([await line.own(store, other.asked), seen()]), textOf(results), `${part}.${verb}`);
      const text = textOf(results[0]);
      for (const one of other.markers) assert.ok(!text.includes(one), `${part}.${verb}: ${one}`);
    }
  });

  it('writes no record and no webhook of others, and changes nothing', async (t) => {
    const { s, store, other } = await open(t);
    await leavingNothing(s, async () => {
      for (const { part, verb, line } of LINES) {
        if (typeof line === 'string' || !('write' in line)) continue;
        const says = /of another owner|publishes for itself/;
        for (const asked of [other.asked, unknownTo(other.asked)])
          await assert.rejects(async () => line.write(store, other.records, s.entry(), asked), says, `${part}.${verb}`);
      }
    });
  });
});

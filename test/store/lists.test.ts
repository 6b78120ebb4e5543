/** Verbs and filters of the store that pages and few requests use, on both databases. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { hashCredential } from '../../src/domain/credential.ts';
import { NO_THEME } from '../../src/domain/portal-theme.ts';
import type { Session } from '../../src/domain/user.ts';
import { randomBytes } from '../../src/kernel/ids.ts';
import { StaleWrite } from '../../src/store/port/errors.ts';
import { attemptOf, claimNext, publishMany, run, settleBatch } from '../support/batches.ts';
import { subscribe } from '../support/events.ts';
import { repeats, repeatsInSlowTier } from '../support/repeats.ts';
import {
  ACTOR,
  makeApplication,
  makeEventType,
  makeUser,
  openTestServices,
  type TestServices,
} from '../support/services.ts';
import { NOW, openTestStore, type TestStore } from '../support/store.ts';
import { pgpVector } from '../support/vectors.ts';

repeats('postgres');
repeatsInSlowTier('pgbouncer');

const HOUR_MS = 3_600_000;
const TYPE = 'order.placed';
const names = (some: readonly { readonly name: string }[]): string[] => some.map(({ name }) => name).sort();

describe('lists of what an operator administers', () => {
  it('find customers by name, id and state, and name them', async (t) => {
    const s = await openTestServices(t);
    const acme = await s.customers.create({ name: 'Acme', externalId: 'crm-17' }, ACTOR);
    const other = await s.customers.create({ name: 'Other' }, ACTOR);
    await s.customers.patch(other.id, { active: false }, ACTOR);
    const { customers } = s.store;
    assert.deepEqual(names(await customers.list('', 10)), ['Acme', 'Other']);
    assert.deepEqual(names(await customers.search({ text: 'CRM-1' }, null, 10)), ['Acme']);
    await s.customers.create({ name: 'Acme Labs' }, ACTOR);
    assert.deepEqual(names(await customers.search({ name: 'ACME' }, null, 10)), ['Acme']);
    assert.deepEqual(names(await customers.search({ name: 'Acm' }, null, 10)), []);
    assert.deepEqual(names(await customers.search({ name: 'Acme', active: false }, null, 10)), []);
    assert.deepEqual(names(await customers.search({ active: false }, null, 10)), ['Other']);
    assert.deepEqual(names(await customers.search({}, other.id, 10)), ['Acme']);
    assert.deepEqual(
      await customers.names([acme.id, other.id, 'nobody']),
      new Map([
        [acme.id, 'Acme'],
        [other.id, 'Other'],
      ]),
    );
  });

  it('name the customers of records, and webhooks by their numbers', async (t) => {
    const s = await openTestServices(t);
    const { id } = await s.customers.create({ name: 'Acme' }, ACTOR);
    const user = await makeUser(s, { userName: 'grace', customerId: id });
    const { application } = await makeApplication(s, { userId: user.id, customerId: id, scopes: [] });
    const endpoint = { name: 'in', url: 'https://in.example/', enabled: false };
    const [own, theirs] = [
      await s.endpoints.create(endpoint, ACTOR),
      await s.endpoints.create({ ...endpoint, customerId: id }, ACTOR),
    ];
    const key = await s.keys.create({ name: 'k', publicKey: pgpVector('curve25519'), customerId: id }, ACTOR);
    const webhook = await s.webhooks.create(
      { name: 'w', endpointId: theirs.id, eventTypes: ['webhook.*'], customerId: id },
      ACTOR,
    );
    const { customers, directory } = s.store;
    const records = { user_account: user, application, endpoint: theirs, pgp_key: key, webhook };
    for (const [table, record] of Object.entries(records)) {
      const owners = await customers.ownersOf(table as keyof typeof records, [record.id, own.id, 'nothing']);
      assert.deepEqual([...owners], [[record.id, { id, name: 'Acme' }]], table);
    }
    const { webhookNumber = -1 } = (await s.store.webhooks.get(webhook.id))?.progress ?? {};
    assert.deepEqual(
      [...(await directory.webhookNames([webhookNumber, 999]))],
      [[webhookNumber, { id: webhook.id, name: 'w' }]],
    );
  });

  it('find an event, and the webhooks that subscribe to its type, first the ones that it could reach', async (t) => {
    const s = await openTestServices(t);
    await makeEventType(s, TYPE, { public: true });
    const { id } = await s.customers.create({ name: 'Acme' }, ACTOR);
    const other = await s.customers.create({ name: 'Other' }, ACTOR);
    const filter = { 'data.total': 5 };
    for (const [name, customerId] of [
      ['of other', other.id],
      ['of acme', id],
      ['own', null],
    ] as const) {
      const endpoint = await s.endpoints.create(
        { name, url: 'https://in.example/', enabled: false, customerId },
        ACTOR,
      );
      await s.webhooks.create(
        { name, endpointId: endpoint.id, eventTypes: [TYPE, 'order.*'], filter, customerId },
        ACTOR,
      );
    }
    const { uses, events } = s.store;
    const found = await uses.subscribers(TYPE, id, 2);
    assert.deepEqual([found.total, found.ofCustomers, names(found.first)], [3, 2, ['of acme', 'own']]);
    assert.deepEqual(found.first[0]?.filter, filter);
    assert.equal((await uses.subscribers('stock.moved', '', 2)).total, 0);
    await publishMany(s, TYPE, 1, () => ({ audience: id, subject: 'person-7' }));
    const [latest] = await events.latest([TYPE], null, { events: 1, maxBytes: 1000 });
    const event = await events.find(latest?.id ?? '');
    assert.deepEqual([event?.type, event?.audience, event?.subject], [TYPE, id, 'person-7']);
    assert.equal(event?.dataJson, latest?.dataJson);
    assert.equal(await events.find(s.ids.uuid()), null);
    assert.equal(await events.find('none'), null);
  });

  it('find users by text and state, and the applications that have a scope', async (t) => {
    const s = await openTestServices(t);
    const user = await makeUser(s, { userName: 'ada', displayName: 'Ada L.', permissions: ['employees:view'] });
    const { application } = await makeApplication(s, { userId: user.id, name: 'reader', scopes: ['employees:view'] });
    const { registry, applications } = s.store;
    const [found] = await registry.users({ text: 'ada l', state: 'active' }, null, 10);
    assert.equal(found?.user.id, user.id);
    assert.equal(
      (await registry.applications({ scope: 'employees:view' }, null, 10))[0]?.application.id,
      application.id,
    );
    assert.deepEqual(await registry.applications({ scope: 'events:publish' }, null, 10), []);
    const needed = { scope: 'employees:view', permission: 'employees:view' };
    assert.deepEqual(names(await applications.holders(needed, '', 10)), ['reader']);
    assert.deepEqual(await applications.holders(needed, application.id, 10), []);
    assert.deepEqual(await applications.others(needed, '', 10), []);
    const other = { scope: 'events:publish', permission: 'employees:view' };
    const [lacking] = await applications.others(other, '', 10);
    assert.deepEqual([lacking?.name, lacking?.permitted], ['reader', true]);
    assert.deepEqual(await applications.others(other, application.id, 10), []);
  });

  it('find event types that are public, webhooks by mode and text, and those without encryption', async (t) => {
    const s = await openTestServices(t);
    const before = await s.store.eventTypes.version();
    await makeEventType(s, TYPE, { public: true });
    assert.notEqual(await s.store.eventTypes.version(), before);
    const isListed = async (flag: string) =>
      names(await s.store.eventTypes.list('', 99, { public: flag })).includes(TYPE);
    assert.deepEqual([await isListed('true'), await isListed('false')], [true, false]);
    await subscribe(s, [TYPE]);
    const { webhooks, directory } = s.store;
    assert.deepEqual(names(await webhooks.list('', 10, { mode: 'push' })), [`for ${TYPE}`]);
    assert.deepEqual(await webhooks.list('', 10, { mode: 'pull' }), []);
    assert.deepEqual(names(await webhooks.unencryptedOf({ name: TYPE, public: false })), [`for ${TYPE}`]);
    assert.equal((await directory.webhooks({ text: 'PLACED' }, null, 10)).length, 1);
  });

  it('remove a product', async (t) => {
    const s = await openTestServices(t);
    const { id } = await s.products.create({ name: 'Shop' }, ACTOR);
    assert.ok(names(await s.store.products.list('', 100)).includes('Shop'));
    await s.store.products.remove(id, s.entry());
    assert.ok(!names(await s.store.products.list('', 100)).includes('Shop'));
  });
});

describe('the audit log', () => {
  it('takes an entry about no row, and finds entries that were not made by a customer', async (t) => {
    const s = await openTestStore(t);
    await s.store.audit.append({ ...s.entry(), actor: 'user:operator', target: 'backup' });
    await s.store.audit.append({ ...s.entry(), target: 'backup' });
    const found = await s.store.audit.list(null, 10, { notBy: s.ids.uuid() });
    assert.deepEqual(
      found.map(({ actor }) => actor),
      ['user:operator'],
    );
  });
});

async function begin(s: TestServices): Promise<{ session: Session & { userId: string }; end: () => Promise<unknown> }> {
  const user = await makeUser(s, { role: 'administrator' });
  const session = {
    id: s.ids.uuid(),
    userId: user.id,
    customerId: null,
    tokenHash: randomBytes(32),
    ...({
      role: 'administrator',
      method: 'password',
      address: '127.0.0.1',
      userAgent: 'test',
      returnUrl: null,
    } as const),
    createdAt: NOW,
    seenAt: NOW,
    expiresAt: NOW + HOUR_MS,
  };
  await s.store.sessions.begin(session, user, s.entry());
  const change = { before: user, passwordHash: 'hash', updatedAt: NOW + 1, keep: s.ids.uuid() };
  return { session, end: () => s.store.sessions.setPassword(change, s.entry()) };
}

describe('sessions', () => {
  it('are seen, and end together', async (t) => {
    const s = await openTestServices(t);
    const { sessions } = s.store;
    const { session } = await begin(s);
    const version = await sessions.version();
    await sessions.touch(session.id, NOW + 5);
    assert.equal((await sessions.find(session.tokenHash, NOW))?.seenAt, NOW + 5);
    await sessions.endAll(session.userId, session.id, s.entry());
    assert.notEqual(await sessions.find(session.tokenHash, NOW), null);
    await sessions.endAll(session.userId, null, s.entry());
    assert.equal(await sessions.find(session.tokenHash, NOW), null);
    assert.notEqual(await sessions.version(), version);
  });

  it('end with a new password, which is refused if the user has changed', async (t) => {
    const s = await openTestServices(t);
    const { session, end } = await begin(s);
    await end();
    assert.equal(await s.store.sessions.find(session.tokenHash, NOW), null);
    await assert.rejects(end(), StaleWrite);
  });
});

it('a portal token is a session that no user has, of an active customer, until it expires', async (t) => {
  const s = await openTestServices(t);
  const { id } = await s.customers.create({ name: 'Acme' }, ACTOR);
  const { token } = await s.portalTokens.create(id, { role: 'viewer', expiresInSeconds: 60 }, ACTOR);
  const find = (now: number) => s.store.sessions.find(hashCredential(token), now);
  const found = await find(NOW);
  assert.deepEqual([found?.method, found?.customerId, found?.role, found?.userId], ['token', id, 'viewer', null]);
  assert.equal(await find(NOW + 60_000), null);
  await s.customers.patch(id, { active: false }, ACTOR);
  assert.equal(await find(NOW), null);
});

it('the look of the portal is replaced only if it is the one that was read', async (t) => {
  const { store, entry } = await openTestStore(t);
  const theme = { ...NO_THEME, name: 'Acme' };
  await store.settings.putPortalTheme(theme, null, entry());
  await store.settings.putPortalTheme({ ...theme, accent: '#123456' }, theme, { ...entry(), id: crypto.randomUUID() });
  assert.deepEqual(await store.settings.portalTheme(), { ...theme, accent: '#123456' });
  await assert.rejects(
    store.settings.putPortalTheme(NO_THEME, theme, { ...entry(), id: crypto.randomUUID() }),
    StaleWrite,
  );
});

it('the reply to a request with an idempotency key is kept with what it wrote, until it expires', async (t) => {
  const s = await openTestServices(t);
  const { keptReplies, users } = s.store;
  const owner = { applicationId: s.ids.uuid(), key: 'k' };
  const reply = { requestHash: '00', status: 201, headers: {}, body: '{}' };
  const user = { ...(await makeUser(s)), id: s.ids.uuid(), userName: 'other' };
  await users.insert(user, s.entry(), keptReplies.keep(owner, reply, { now: NOW, expiresAt: NOW + HOUR_MS }));
  assert.deepEqual(await keptReplies.find(owner, NOW), reply);
  assert.equal(await keptReplies.find(owner, NOW + HOUR_MS), null);
});

/** A webhook with one dead record. */
async function withDeadRecord(s: TestStore): Promise<number> {
  const number = await subscribe(s, [TYPE]);
  await run(s, number);
  await publishMany(s, TYPE, 2);
  const failed = { responseStatus: 500, errorClass: 'http_status', errorMessage: 'answered 500' } as const;
  await settleBatch(s, await claimNext(s, number, 1), { kind: 'dead', at: s.clock() }, failed);
  return number;
}

describe('deliveries', () => {
  it('are counted and sent again by their cause, and their failed attempts found', async (t) => {
    const s = await openTestStore(t);
    const webhookNumber = await withDeadRecord(s);
    const { attempts, replays } = s.store;
    assert.deepEqual(
      (await attempts.latest(10, 'failed')).map(({ errorClass }) => errorClass),
      ['http_status'],
    );
    assert.deepEqual(await attempts.latest(10, 'delivered'), []);
    const range = { webhookNumber, first: 0, last: 9, states: ['dead'] } as const;
    assert.equal(await replays.count({ ...range, cause: 'timeout' }), 0);
    assert.equal(await replays.count({ ...range, cause: '500' }), 1);
    const replay = { ...range, cause: '500', now: s.clock(), newId: s.ids.uuid };
    assert.equal(await replays.replay(replay, s.entry()), 1);
    assert.equal(await replays.count({ ...range, cause: '500' }), 0);
  });

  it('are counted for some of the webhooks, if no more are asked for', async (t) => {
    const s = await openTestStore(t);
    for (let n = 0; n < 3; n += 1) await withDeadRecord(s);
    const counted = async (webhooks: number, batches: number) => {
      const { dead, isWhole } = await s.store.deliveries.failures(null, undefined, { webhooks, batches });
      return [dead, isWhole];
    };
    assert.deepEqual(await counted(3, 100), [3, true]);
    assert.deepEqual(await counted(2, 100), [2, false]);
    assert.deepEqual(await counted(3, 3), [3, false], 'a share of one batch each, which is full');
  });

  it('fail since the first attempt of the oldest one that failed for this cause', async (t) => {
    const s = await openTestStore(t);
    const webhookNumber = await subscribe(s, [TYPE]);
    await run(s, webhookNumber);
    await publishMany(s, TYPE, 3);
    const failed = (status: number, startedAt: number) =>
      ({ responseStatus: status, errorClass: 'http_status', errorMessage: '', startedAt }) as const;
    const first = await claimNext(s, webhookNumber, 1);
    for (const [status, at] of [[404, 1] as const, [500, 2] as const, [500, 3] as const])
      await s.store.attempts.insert(attemptOf(s, first, failed(status, NOW + at)));
    await settleBatch(s, first, { kind: 'dead', at: s.clock() }, failed(500, NOW + 4));
    await settleBatch(s, await claimNext(s, webhookNumber, 1), { kind: 'dead', at: s.clock() }, failed(500, NOW + 9));
    const { groups, dead: given } = await s.store.deliveries.failures(null);
    assert.equal(given, 2);
    const [{ cause, dead, retrying, firstAt, lastAt, oldest, webhookState } = assert.fail()] = groups;
    assert.deepEqual([groups.length, cause, dead, retrying], [1, '500', 2, 0]);
    assert.deepEqual([firstAt, lastAt], [NOW + 2, NOW + 9]);
    assert.deepEqual([oldest, webhookState], [{ webhookNumber, offset: 0 }, 'running']);
  });

  it('are counted between two offsets, also of batches that reach beyond them', async (t) => {
    const s = await openTestStore(t);
    const webhookNumber = await subscribe(s, [TYPE]);
    await run(s, webhookNumber);
    await publishMany(s, TYPE, 6);
    for (const [records, status] of [[3, 500] as const, [2, 404] as const, [1, 500] as const]) {
      const failed = { responseStatus: status, errorClass: 'http_status', errorMessage: '' } as const;
      const batch = await claimNext(s, webhookNumber, records);
      await settleBatch(s, batch, { kind: 'dead', at: s.clock() }, failed);
    }
    const within = async (first: number, last: number) => {
      const { groups, dead: all } = await s.store.deliveries.failures([webhookNumber], { first, last });
      return [...groups.map(({ cause, dead }) => `${cause} ${dead}`).sort(), all];
    };
    assert.deepEqual(await within(0, 5), ['404 2', '500 4', 6]);
    assert.deepEqual(await within(2, 3), ['404 1', '500 1', 2]);
    assert.deepEqual(await within(5, 5), ['500 1', 1]);
    assert.deepEqual(await within(6, 9), [0]);
    // Also those whose attempts are no longer kept.
    await s.database.commit([{ sql: 'DELETE FROM attempt WHERE first_offset = 3', params: {} }]);
    assert.deepEqual(await within(0, 5), ['500 4', 6]);
  });

  it('are counted for the webhooks that a list of queues leaves out', async (t) => {
    const s = await openTestStore(t);
    await subscribe(s, [TYPE]);
    await subscribe(s, [TYPE]);
    await publishMany(s, TYPE, 3);
    const { queues, otherRecords } = await s.store.queues.read(1);
    assert.deepEqual([queues.map(({ records }) => records), otherRecords], [[3], 3]);
  });
});

/** Verbs and filters of the store that pages and few requests use, on both databases. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NO_THEME } from '../../src/domain/portal-theme.ts';
import type { Session } from '../../src/domain/user.ts';
import { randomBytes } from '../../src/kernel/ids.ts';
import { StaleWrite } from '../../src/store/port/errors.ts';
import { claimNext, publishMany, run, settleBatch } from '../support/batches.ts';
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

  it('are counted for the webhooks that a list of queues leaves out, and postponed', async (t) => {
    const s = await openTestStore(t);
    const number = await subscribe(s, [TYPE]);
    await subscribe(s, [TYPE]);
    await publishMany(s, TYPE, 3);
    const { queues, otherRecords } = await s.store.queues.read(1);
    assert.deepEqual([queues.map(({ records }) => records), otherRecords], [[3], 3]);
    await run(s, number);
    await s.store.dispatch.wake(number, NOW);
    await s.store.dispatch.postpone(number, NOW + HOUR_MS);
    const [row] = await s.rows(`SELECT wake_at FROM webhook_progress WHERE webhook_number = ${number}`);
    assert.equal(row?.wake_at, NOW + HOUR_MS);
  });
});

/** Users, applications, tokens and the version of access in the store. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import type { Application } from '../../src/domain/application.ts';
import type { User } from '../../src/domain/user.ts';
import { firstRowKeyAt } from '../../src/kernel/ids.ts';
import { ConstraintViolation, StaleWrite } from '../../src/store/port/errors.ts';
import { openSqlite } from '../../src/store/sqlite/driver/sqlite.ts';
import { purgeTokens } from '../../src/store/sqlite/retention.ts';
import { tokensOf } from '../support/issued.ts';
import { repeats, repeatsInSlowTier } from '../support/repeats.ts';
import { ACTOR, makeApplication, makeUser, openTestServices, type TestServices } from '../support/services.ts';
import { leavingNothing, NOW, onSqlite, openTestStore } from '../support/store.ts';

repeats('postgres');
repeatsInSlowTier('pgbouncer');

const user = (id: string, more: Partial<User> = {}): User => ({
  customerId: null,
  id,
  userName: `user ${id}`,
  displayName: null,
  email: null,
  active: true,
  role: 'service',
  permissions: ['a:view'],
  constraints: {},
  passwordHash: null,
  createdAt: NOW,
  updatedAt: NOW,
  ...more,
});

describe('the user store', () => {
  it('starts empty and stores users unchanged', async (t) => {
    const { store, entry } = await openTestStore(t);
    assert.equal(await store.users.isEmpty(), true);
    const full = user('1', {
      displayName: 'Ä',
      email: 'a@example.com',
      role: 'operator',
      constraints: { divisions: ['x'] },
      passwordHash: 'scrypt$',
    });
    await store.users.insert(full, entry());
    assert.equal(await store.users.isEmpty(), false);
    assert.deepEqual(await store.users.get('1'), full);
    assert.deepEqual(await store.users.getByName(null, 'user 1'), full);
    assert.equal(await store.users.get('2'), null);
    assert.deepEqual(await store.users.getByName(null, 'USER 1'), full);
  });

  it('lists users in order of creation, after a given id', async (t) => {
    const { store, entry } = await openTestStore(t);
    for (const id of ['2', '1', '3']) await store.users.insert(user(id), entry());
    const ids = async (after: string, limit: number) => (await store.users.list(after, limit)).map(({ id }) => id);
    assert.deepEqual(await ids('', 10), ['1', '2', '3']);
    assert.deepEqual(await ids('', 2), ['1', '2']);
    assert.deepEqual(await ids('2', 2), ['3']);
    assert.deepEqual(await ids("' OR 1=1 --", 0), []);
    assert.deepEqual(await ids("' OR ''='", 10), ['1', '2', '3']);
  });

  it('refuses a stale write, and audits every write in its transaction', async (t) => {
    const s = await openTestStore(t);
    const before = user('1');
    await s.store.users.insert(before, s.entry());
    const after = { ...before, displayName: 'x', updatedAt: NOW + 1 };
    await s.store.users.update(after, before, s.entry());
    await leavingNothing(s, () =>
      assert.rejects(s.store.users.update({ ...after, displayName: 'y' }, before, s.entry()), StaleWrite),
    );
    await leavingNothing(s, () => assert.rejects(s.store.users.update(user('2'), user('2'), s.entry()), StaleWrite));
    await leavingNothing(s, () =>
      assert.rejects(s.store.users.insert(user('2', { userName: 'user 1' }), s.entry()), ConstraintViolation),
    );
    await leavingNothing(s, () => assert.rejects(s.store.users.remove('2', s.entry()), StaleWrite));
    await s.store.users.remove('1', s.entry());
    assert.deepEqual(await s.rows('SELECT count(*) AS entries FROM audit'), [{ entries: 3 }]);
    assert.equal(await s.store.users.isEmpty(), true);
  });

  it('permanently revokes the tokens of a deactivated user’s applications, and no others', async (t) => {
    const s = await openTestServices(t);
    const { application } = await makeApplication(s);
    const { application: other } = await makeApplication(s);
    const issuedBefore = s.ids.rowKey();
    await s.users.patch(application.userId, { displayName: 'still on' }, ACTOR);
    assert.equal((await s.applications.get(application.id)).tokensRevokedThrough, 0);
    await s.users.patch(application.userId, { active: false }, ACTOR);
    const ended = (await s.applications.get(application.id)).tokensRevokedThrough;
    assert.ok(ended > issuedBefore && ended < s.ids.rowKey());
    await s.users.patch(application.userId, { active: true }, ACTOR);
    assert.equal((await s.applications.get(application.id)).tokensRevokedThrough, ended);
    assert.equal((await s.applications.get(other.id)).tokensRevokedThrough, 0);
  });
});

describe('the application store', () => {
  const application = (id: string, userId: string, more: Partial<Application> = {}): Application => ({
    customerId: null,
    id,
    userId,
    name: id,
    clientId: `client ${id}`,
    secretHash: Buffer.alloc(32, 1),
    scopes: ['a:view', 'b:view'],
    previousSecretHash: null,
    previousSecretExpiresAt: null,
    accessTokenValiditySeconds: 3600,
    active: true,
    tokensRevokedThrough: 2 ** 53 - 1,
    lastUsedAt: null,
    secretCreatedAt: NOW,
    createdAt: NOW,
    updatedAt: NOW,
    ...more,
  });

  it('finds a client by its id and returns whether its user is active', async (t) => {
    const s = await openTestServices(t);
    const { id: userId } = await makeUser(s);
    const kept = application('1', userId, {
      previousSecretHash: Buffer.alloc(32, 2),
      previousSecretExpiresAt: NOW + 1,
    });
    await s.store.applications.insert(kept, s.entry());
    assert.deepEqual(await s.store.applications.get('1'), kept);
    const { lastUsedAt: _, ...client } = kept;
    assert.deepEqual(await s.store.applications.getClient('client 1'), { ...client, userActive: true });
    await s.users.patch(userId, { active: false }, ACTOR);
    assert.equal((await s.store.applications.getClient('client 1'))?.userActive, false);
    assert.equal(await s.store.applications.getClient('client 2'), null);
    assert.equal(await s.store.applications.getClient("' OR '1'='1"), null);
  });

  it('finds the first applications of a user, and those with any of the given scopes', async (t) => {
    const s = await openTestServices(t);
    const { id: one } = await makeUser(s);
    const { id: other } = await makeUser(s);
    for (let n = 10; n < 25; n++) await s.store.applications.insert(application(`a${n}`, one), s.entry());
    await s.store.applications.insert(application('b', other, { scopes: ['c:view'] }), s.entry());
    await s.store.applications.insert(application('c', other, { scopes: [] }), s.entry());
    const names = (found: readonly Application[]) => found.map(({ id }) => id).join(' ');
    assert.equal(names(await s.store.applications.ofUser(one)), 'a10 a11 a12 a13 a14 a15 a16 a17 a18 a19');
    assert.equal(names(await s.store.applications.ofUser(other)), 'b c');
    assert.equal(names(await s.store.applications.holding(['c:view', 'd:view'])), 'b');
    assert.equal(names(await s.store.applications.holding(['a:view'])), 'a10 a11 a12 a13 a14 a15 a16 a17 a18 a19');
    assert.equal(names(await s.store.applications.holding(['a:vie', 'a:view b:view', '%'])), '');
    assert.equal(names(await s.store.applications.holding([])), '');
  });

  const broken: readonly [what: string, kind: string, more: Partial<Application>][] = [
    ['a user that does not exist', 'foreign_key', { userId: 'nobody' }],
    ['a duplicate client id', 'unique', { clientId: 'client 1' }],
    ['299 seconds', 'check', { accessTokenValiditySeconds: 299 }],
    ['86401 seconds', 'check', { accessTokenValiditySeconds: 86_401 }],
    ['a hash of another length', 'check', { secretHash: Buffer.alloc(31) }],
    ['a previous secret without an expiry', 'check', { previousSecretHash: Buffer.alloc(32) }],
    ['an expiry without a previous secret', 'check', { previousSecretExpiresAt: NOW }],
  ];
  for (const [what, kind, more] of broken) {
    it(`refuses a row with ${what} by a constraint of the schema`, async (t) => {
      const s = await openTestServices(t);
      const { id: userId } = await makeUser(s);
      await s.store.applications.insert(application('1', userId), s.entry());
      await leavingNothing(s, () =>
        assert.rejects(s.store.applications.insert(application('2', userId, more), s.entry()), (error) => {
          assert.ok(error instanceof ConstraintViolation);
          return error.kind === kind;
        }),
      );
    });
  }

  it('does not delete the user of an application', async (t) => {
    const s = await openTestServices(t);
    const { application: bound } = await makeApplication(s);
    await leavingNothing(s, () =>
      assert.rejects(s.store.users.remove(bound.userId, s.entry()), { kind: 'foreign_key' }),
    );
  });
});

const SCOPES = ['employees:edit', 'employees:view'];

const keys = async ({ rows }: TestServices): Promise<unknown[]> =>
  (await rows('SELECT key FROM access_token ORDER BY key')).map(({ key }) => key);

/** Inserts tokens whose application was deleted long ago. */
async function insertTokens(
  { database }: TestServices,
  tokens: readonly { key: number; expiresAt: number }[],
): Promise<void> {
  const sql = "INSERT INTO access_token VALUES (@key, @hash, 'gone', 'a:view', @expiresAt)";
  await database.commit(tokens.map((token) => ({ sql, params: { ...token, hash: Buffer.alloc(32) } })));
}

/** A new token for an application in its current state. */
async function tokenFor({ store }: TestServices, applicationId: string, key: number) {
  const { tokensRevokedThrough = 0, scopes = [] } = (await store.applications.get(applicationId)) ?? {};
  const hash = Buffer.alloc(32, key % 256);
  return { key, hash, applicationId, scope: scopes.join(' '), expiresAt: NOW + 1000, tokensRevokedThrough };
}

describe('the token store', () => {
  it('finds a token with the current application and user', async (t) => {
    const s = await openTestServices(t);
    const user = await makeUser(s, { permissions: ['b:x', 'a:x'], constraints: { divisions: ['sales'] } });
    const { application } = await makeApplication(s, { userId: user.id, scopes: SCOPES });
    const issued = await tokenFor(s, application.id, 7);
    await s.store.tokens.issue(issued);
    const found = await s.store.tokens.find(7);
    assert.deepEqual(found, {
      ...issued,
      clientId: application.clientId,
      applicationActive: true,
      tokensRevokedThrough: 0,
      customerId: null,
      userId: user.id,
      userName: user.userName,
      userActive: true,
      role: 'service',
      permissions: ['a:x', 'b:x'],
      constraints: { divisions: ['sales'] },
    });
    await s.users.patch(user.id, { active: false, permissions: [], constraints: { divisions: null } }, ACTOR);
    await s.applications.patch(application.id, { active: false }, ACTOR);
    const later = await s.store.tokens.find(7);
    assert.deepEqual(
      [later?.applicationActive, later?.userActive, later?.permissions, later?.constraints],
      [false, false, [], {}],
    );
    assert.ok((later?.tokensRevokedThrough ?? 0) > 7);
  });

  it('counts the valid tokens of one application among the newest', async (t) => {
    const s = await openTestServices(t);
    const user = await makeUser(s, {});
    const [shop, other] = [
      (await makeApplication(s, { userId: user.id, scopes: SCOPES })).application,
      (await makeApplication(s, { userId: user.id, scopes: SCOPES })).application,
    ];
    const first = firstRowKeyAt(NOW);
    for (let at = 0; at < 4; at += 1) await s.store.tokens.issue(await tokenFor(s, shop.id, first + at));
    await s.store.tokens.issue(await tokenFor(s, other.id, first + 4));
    const inForce = (now: number, limit: number, revoked = 0) =>
      s.store.tokens.inForce({ id: shop.id, tokensRevokedThrough: revoked }, now, limit);
    assert.deepEqual(await inForce(NOW, 6), { count: 4, newestAt: NOW, isWhole: true });
    assert.deepEqual(await inForce(NOW, 3), { count: 2, newestAt: NOW, isWhole: false });
    assert.deepEqual(await inForce(NOW, 6, first + 2), { count: 1, newestAt: NOW, isWhole: true });
    assert.deepEqual(await inForce(NOW + 1000, 6), { count: 0, newestAt: null, isWhole: true });
  });

  it('finds no token for an unknown key or of a deleted application', async (t) => {
    const s = await openTestServices(t);
    await insertTokens(s, [{ key: 7, expiresAt: NOW + 1000 }]);
    assert.equal(await s.store.tokens.find(7), null);
    assert.equal(await s.store.tokens.find(8), null);
  });

  it('drops scopes that the application has lost, also from existing tokens', async (t) => {
    const s = await openTestServices(t);
    const { application } = await makeApplication(s, { scopes: ['employees:edit', 'employees:view'] });
    await s.store.tokens.issue(await tokenFor(s, application.id, 7));
    await s.applications.patch(application.id, { scopes: ['employees:view', 'employees:create'] }, ACTOR);
    assert.equal((await s.store.tokens.find(7))?.scope, 'employees:view');
    await s.applications.patch(application.id, { scopes: [] }, ACTOR);
    assert.equal((await s.store.tokens.find(7))?.scope, '');
  });

  it('issues each key once', async (t) => {
    const s = await openTestServices(t);
    const { application } = await makeApplication(s);
    const token = await tokenFor(s, application.id, 7);
    await s.store.tokens.issue(token);
    await leavingNothing(s, () => assert.rejects(s.store.tokens.issue(token), StaleWrite));
  });

  const meanwhile: readonly [what: string, change: (s: TestServices, application: Application) => Promise<unknown>][] =
    [
      ['its tokens were revoked', (s, { id }) => s.applications.revokeTokens(id, ACTOR)],
      ['it was switched off', (s, { id }) => s.applications.patch(id, { active: false }, ACTOR)],
      ['its user was switched off', (s, { userId }) => s.users.patch(userId, { active: false }, ACTOR)],
      ['it was deleted', (s, { id }) => s.applications.remove(id, ACTOR)],
    ];
  for (const [what, change] of meanwhile) {
    it(`issues nothing when ${what} after the application was authenticated`, async (t) => {
      const s = await openTestServices(t);
      const { application } = await makeApplication(s);
      const token = await tokenFor(s, application.id, s.ids.rowKey() + 1_000_000);
      await change(s, application);
      await leavingNothing(s, () => assert.rejects(s.store.tokens.issue(token), StaleWrite));
      if (what === 'its tokens were revoked') return;
      const readAnew = await tokenFor(s, application.id, token.key);
      await leavingNothing(s, () => assert.rejects(s.store.tokens.issue(readAnew), StaleWrite));
    });
  }

  it('revokes a token only for its own application', async (t) => {
    const s = await openTestServices(t);
    const { application } = await makeApplication(s);
    for (const key of [7, 8]) await s.store.tokens.issue(await tokenFor(s, application.id, key));
    await leavingNothing(s, () => s.store.tokens.revoke(7, 'other'));
    await leavingNothing(s, () => s.store.tokens.revoke(9, application.id));
    await s.store.tokens.revoke(7, application.id);
    assert.deepEqual(await keys(s), [8]);
  });

  it('stores the hash of the token, and never its text', async (t) => {
    const s = await openTestServices(t);
    const { application, clientSecret } = await makeApplication(s);
    const client = await s.tokens.authenticate({ clientId: application.clientId, clientSecret });
    const { accessToken } = await s.tokens.issue(client, undefined);
    const kept = JSON.stringify([
      ...(await s.rows('SELECT hash FROM access_token UNION ALL SELECT secret_hash FROM application')).map(({ hash }) =>
        Buffer.from(hash as Uint8Array).toString('latin1'),
      ),
      await s.rows('SELECT * FROM audit'),
    ]);
    assert.ok(!kept.includes(accessToken) && !kept.includes(clientSecret));
  });
});

describe('the purge of expired tokens', () => {
  async function sweep(s: TestServices, limit: number): Promise<{ purged: number; steps: number }> {
    let purged = 0;
    let steps = 0;
    for (let after: number | null = 0; after !== null; steps += 1) {
      const step: { next: number | null; purged: number } = await purgeTokens(
        s.database,
        { after, now: s.clock() },
        limit,
      );
      purged += step.purged;
      after = step.next;
      assert.ok(steps < 1000, 'the sweep does not end');
    }
    return { purged, steps };
  }

  it('deletes exactly the expired tokens, whatever the size of its steps', async (t) => {
    const s = await openTestServices(t);
    const lifetimes = fc.array(fc.integer({ min: -3000, max: 3000 }), { maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(lifetimes, fc.integer({ min: 1, max: 12 }), async (expiries, limit) => {
        await s.database.commit([{ sql: 'DELETE FROM access_token', params: {} }]);
        const tokens = expiries.map((ms, n) => ({ key: firstRowKeyAt(NOW - 4000 + n), expiresAt: NOW + ms }));
        await insertTokens(s, tokens);
        const alive = tokens.filter(({ expiresAt }) => expiresAt > NOW);
        const { purged } = await sweep(s, limit);
        assert.deepEqual(
          await keys(s),
          alive.map(({ key }) => key),
        );
        assert.equal(purged, tokens.length - alive.length);
      }),
      { numRuns: 40 },
    );
  });

  it('examines at most the given number of rows and returns where to continue', async (t) => {
    const s = await openTestServices(t);
    await insertTokens(
      s,
      Array.from({ length: 10 }, (_, n) => ({ key: n + 1, expiresAt: n < 5 ? NOW : NOW + 1 })),
    );
    assert.deepEqual(await purgeTokens(s.database, { after: 0, now: NOW }, 4), { next: 4, purged: 4 });
    assert.deepEqual(await purgeTokens(s.database, { after: 4, now: NOW }, 4), { next: 8, purged: 1 });
    assert.deepEqual(await purgeTokens(s.database, { after: 8, now: NOW }, 4), { next: null, purged: 0 });
    assert.deepEqual(await keys(s), [6, 7, 8, 9, 10]);
  });

  it('ends at tokens issued at or after now, which cannot have expired', async (t) => {
    const s = await openTestServices(t);
    const first = firstRowKeyAt(NOW);
    await insertTokens(s, [
      { key: first - 1, expiresAt: NOW },
      { key: first, expiresAt: NOW + 1 },
      { key: first + 1, expiresAt: NOW + 1 },
    ]);
    assert.deepEqual(await purgeTokens(s.database, { after: 0, now: NOW }, 2), { next: null, purged: 1 });
  });

  it('does nothing in an empty table', async (t) => {
    const s = await openTestServices(t);
    assert.deepEqual(await purgeTokens(s.database, { after: 0, now: NOW }, 10), { next: null, purged: 0 });
  });
});

/** Whether the work changed the version, as seen in the next turn of the event loop. */
async function isChangedBy(s: TestServices, work: () => unknown): Promise<boolean> {
  const before = await s.store.tokens.version();
  await work();
  await turn();
  return (await s.store.tokens.version()) !== before;
}

describe('the version of access', () => {
  const changes: readonly [what: string, change: (s: TestServices, id: string, userId: string) => unknown][] = [
    ['an application is changed', (s, id) => s.applications.patch(id, { name: 'renamed' }, ACTOR)],
    ['its tokens are revoked', (s, id) => s.applications.revokeTokens(id, ACTOR)],
    ['it is deleted', (s, id) => s.applications.remove(id, ACTOR)],
    ['its user is changed', (s, _, userId) => s.users.patch(userId, { permissions: ['a:b'] }, ACTOR)],
    ['a token is revoked', async (s, id) => s.store.tokens.revoke((await tokensOf(s, id))[0] ?? 0, id)],
  ];
  for (const [what, change] of changes) {
    it(`changes when ${what}`, async (t) => {
      const s = await openTestServices(t);
      const user = await makeUser(s);
      const { application } = await makeApplication(s, { userId: user.id });
      await s.tokens.issue({ ...application, userActive: true }, undefined);
      assert.equal(await isChangedBy(s, () => change(s, application.id, user.id)), true);
    });
  }

  it('changes before the writer learns that its change is durable', async (t) => {
    const s = await openTestServices(t);
    const { application } = await makeApplication(s);
    const before = await s.store.tokens.version();
    // Both happen in the same turn of the event loop.
    const heard = s.applications.revokeTokens(application.id, ACTOR).then(() => s.store.tokens.version());
    assert.notEqual(await heard, before);
  });

  it('does not change when tokens are issued or other tables are written', async (t) => {
    const s = await openTestServices(t);
    const { application } = await makeApplication(s);
    await s.eventTypes.create({ name: 'order.placed' }, ACTOR);
    const others = async (): Promise<void> => {
      await s.tokens.issue({ ...application, userActive: true }, undefined);
      await s.publish({ type: 'order.placed', data: {} }, ACTOR);
      await s.store.settings.proveWritable(1);
    };
    assert.equal(await isChangedBy(s, others), false);
  });

  onSqlite('changes in the next turn after another process has changed users, applications or tokens', async (t) => {
    const s = await openTestServices(t);
    const { application } = await makeApplication(s);
    await s.tokens.issue({ ...application, userActive: true }, undefined);
    const other = openSqlite(s.path);
    t.after(() => other.close());
    const changes: readonly [sql: string, isOne: boolean][] = [
      ['UPDATE application SET active = 0', true],
      ["INSERT INTO setting VALUES ('other', x'00')", false],
      ['UPDATE user_account SET active = 0', true],
      ['INSERT INTO access_token SELECT key + 1, hash, application_id, scope, expires_at FROM access_token', false],
      ['UPDATE access_token SET expires_at = 0', true],
      ['DELETE FROM access_token WHERE key = (SELECT min(key) FROM access_token)', true],
      ['DELETE FROM application', true],
      ["DELETE FROM user_account WHERE id NOT IN (SELECT user_id FROM application) AND role = 'service'", true],
    ];
    for (const [sql, isOne] of changes) {
      const change = (): unknown => other.commit([{ sql, params: {} }]);
      assert.equal(await isChangedBy(s, change), isOne, sql);
      assert.equal(await isChangedBy(s, () => {}), false, sql);
    }
  });

  for (const where of ['in the event loop', 'in a thread']) {
    onSqlite(`is read again within a long turn, if this process writes ${where}`, async (t) => {
      const s = await openTestServices(t, { writerThread: where === 'in a thread' });
      await makeApplication(s);
      const other = openSqlite(s.path);
      t.after(() => other.close());
      const again = () => {
        // One turn may read from many connections, which takes longer than this.
        const until = performance.now() + 2;
        while (performance.now() < until);
        return s.store.tokens.version();
      };
      const before = s.store.tokens.version();
      other.connection.exec('UPDATE application SET active = 0');
      const after = again();
      assert.notEqual(after, before);
      assert.equal(again(), after);
      await turn();
      // Another read earlier in this turn must not matter.
      await s.store.users.isEmpty();
      other.connection.exec('UPDATE application SET active = 1');
      assert.notEqual(s.store.tokens.version(), after);
    });
  }

  onSqlite('is read again after a failed commit, because some failed commits are written', async (t) => {
    const s = await openTestServices(t);
    await makeApplication(s);
    const other = openSqlite(s.path);
    t.after(() => other.close());
    const before = s.store.tokens.version();
    other.connection.exec('UPDATE application SET active = 0');
    // The change is seen in the same turn as the error of the commit.
    const refused = s.database.commit([{ sql: 'INSERT INTO nowhere VALUES (1)', params: {} }]);
    const heard = refused.catch(() => s.store.tokens.version());
    assert.notEqual(await heard, before);
  });

  it('calls subscribers after each write that changes it, and after no other', async (t) => {
    const s = await openTestServices(t);
    const { application } = await makeApplication(s);
    let calls = 0;
    const unsubscribe = s.store.sessions.subscribe(() => {
      calls += 1;
    });
    await s.applications.revokeTokens(application.id, ACTOR);
    // On PostgreSQL they are called once the version is read.
    await s.store.tokens.version();
    const after = calls;
    await s.store.settings.proveWritable(1);
    await s.store.tokens.version();
    assert.deepEqual([after, calls], [1, 1]);
    unsubscribe();
    await s.applications.revokeTokens(application.id, ACTOR);
    await s.store.tokens.version();
    assert.equal(calls, 1);
  });
});

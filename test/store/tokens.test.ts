import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Application } from '../../src/access/application.ts';
import { firstRowKeyAt } from '../../src/kernel/ids.ts';
import { ConstraintViolation, StaleWrite } from '../../src/store/errors.ts';
import { purgeTokens } from '../../src/store/sqlite/access/tokens.ts';
import { ACTOR, makeApplication, makeUser, openTestServices, type TestServices } from '../support/services.ts';
import { leavingNothing, NOW } from '../support/store.ts';

const SCOPES = ['employees:edit', 'employees:view'];

const keys = ({ rows }: TestServices): unknown[] =>
  rows('SELECT key FROM access_token ORDER BY key').map(({ key }) => key);

/** Rows as they lie there when their applications are long gone. */
function layTokens({ database }: TestServices, tokens: readonly { key: number; expiresAt: number }[]): void {
  const insert = database.connection.prepare("INSERT INTO access_token VALUES (?, ?, 'gone', 'a:view', ?)");
  for (const { key, expiresAt } of tokens) insert.run(key, Buffer.alloc(32), expiresAt);
}

/** A token to be issued for an application as it is now. */
async function tokenFor({ store }: TestServices, applicationId: string, key: number) {
  const { tokensRevokedThrough = 0, scopes = [] } = (await store.applications.get(applicationId)) ?? {};
  const hash = Buffer.alloc(32, key % 256);
  return { key, hash, applicationId, scope: scopes.join(' '), expiresAt: NOW + 1000, tokensRevokedThrough };
}

describe('the token store', () => {
  it('finds a token with its application and user as they are now', async (t) => {
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

  it('finds nothing for a key without a row, and none of an application that is gone', async (t) => {
    const s = await openTestServices(t);
    layTokens(s, [{ key: 7, expiresAt: NOW + 1000 }]);
    assert.equal(await s.store.tokens.find(7), null);
    assert.equal(await s.store.tokens.find(8), null);
  });

  it('finds no scope that was taken from the application since, in tokens issued before', async (t) => {
    const s = await openTestServices(t);
    const { application } = await makeApplication(s, { scopes: ['employees:edit', 'employees:view'] });
    await s.store.tokens.issue(await tokenFor(s, application.id, 7));
    await s.applications.patch(application.id, { scopes: ['employees:view', 'employees:create'] }, ACTOR);
    assert.equal((await s.store.tokens.find(7))?.scope, 'employees:view');
    await s.applications.patch(application.id, { scopes: [] }, ACTOR);
    assert.equal((await s.store.tokens.find(7))?.scope, '');
  });

  it('issues a key once', async (t) => {
    const s = await openTestServices(t);
    const { application } = await makeApplication(s);
    const token = await tokenFor(s, application.id, 7);
    await s.store.tokens.issue(token);
    await leavingNothing(s, () => assert.rejects(s.store.tokens.issue(token), ConstraintViolation));
  });

  const meanwhile: readonly [what: string, change: (s: TestServices, application: Application) => Promise<unknown>][] =
    [
      ['its tokens were revoked', (s, { id }) => s.applications.revokeTokens(id, ACTOR)],
      ['it was switched off', (s, { id }) => s.applications.patch(id, { active: false }, ACTOR)],
      ['its user was switched off', (s, { userId }) => s.users.patch(userId, { active: false }, ACTOR)],
      ['it was deleted', (s, { id }) => s.applications.remove(id, ACTOR)],
    ];
  for (const [what, change] of meanwhile) {
    it(`issues nothing for an application when ${what} after it was authenticated`, async (t) => {
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

  it('forgets a token of its own application only', async (t) => {
    const s = await openTestServices(t);
    const { application } = await makeApplication(s);
    for (const key of [7, 8]) await s.store.tokens.issue(await tokenFor(s, application.id, key));
    await leavingNothing(s, () => s.store.tokens.revoke(7, 'other'));
    await leavingNothing(s, () => s.store.tokens.revoke(9, application.id));
    await s.store.tokens.revoke(7, application.id);
    assert.deepEqual(keys(s), [8]);
  });

  it('keeps no hash of anything else than the token, and never its text', async (t) => {
    const s = await openTestServices(t);
    const { application, clientSecret } = await makeApplication(s);
    const client = await s.tokens.authenticate({ clientId: application.clientId, clientSecret });
    const { accessToken } = await s.tokens.issue(client, undefined);
    const kept = JSON.stringify([
      s.rows('SELECT hex(hash) FROM access_token'),
      s.rows('SELECT hex(secret_hash) FROM application'),
      s.rows('SELECT * FROM audit'),
    ]);
    assert.ok(!kept.includes(accessToken) && !kept.includes(clientSecret));
  });
});

describe('the sweep of expired tokens', () => {
  async function sweep(s: TestServices, limit: number): Promise<{ purged: number; steps: number }> {
    let purged = 0;
    let steps = 0;
    for (let after: number | null = 0; after !== null; steps += 1) {
      const step: { next: number | null; purged: number } = await purgeTokens(s.database, after, limit, s.clock());
      purged += step.purged;
      after = step.next;
      assert.ok(steps < 1000, 'the sweep does not end');
    }
    return { purged, steps };
  }

  it('deletes exactly what has expired, whatever the size of its steps', async (t) => {
    const s = await openTestServices(t);
    const lifetimes = fc.array(fc.integer({ min: -3000, max: 3000 }), { maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(lifetimes, fc.integer({ min: 1, max: 12 }), async (expiries, limit) => {
        s.database.connection.exec('DELETE FROM access_token');
        const tokens = expiries.map((ms, n) => ({ key: firstRowKeyAt(NOW - 4000 + n), expiresAt: NOW + ms }));
        layTokens(s, tokens);
        const alive = tokens.filter(({ expiresAt }) => expiresAt > NOW);
        const { purged } = await sweep(s, limit);
        assert.deepEqual(
          keys(s),
          alive.map(({ key }) => key),
        );
        assert.equal(purged, tokens.length - alive.length);
      }),
      { numRuns: 40 },
    );
  });

  it('looks at no more rows than asked, and says where to go on', async (t) => {
    const s = await openTestServices(t);
    layTokens(
      s,
      Array.from({ length: 10 }, (_, n) => ({ key: n + 1, expiresAt: n < 5 ? NOW : NOW + 1 })),
    );
    assert.deepEqual(await purgeTokens(s.database, 0, 4, NOW), { next: 4, purged: 4 });
    assert.deepEqual(await purgeTokens(s.database, 4, 4, NOW), { next: 8, purged: 1 });
    assert.deepEqual(await purgeTokens(s.database, 8, 4, NOW), { next: null, purged: 0 });
    assert.deepEqual(keys(s), [6, 7, 8, 9, 10]);
  });

  it('ends where tokens were issued at or after now, which cannot have expired', async (t) => {
    const s = await openTestServices(t);
    const first = firstRowKeyAt(NOW);
    layTokens(s, [
      { key: first - 1, expiresAt: NOW },
      { key: first, expiresAt: NOW + 1 },
      { key: first + 1, expiresAt: NOW + 1 },
    ]);
    assert.deepEqual(await purgeTokens(s.database, 0, 2, NOW), { next: null, purged: 1 });
  });

  it('has nothing to do in an empty table', async (t) => {
    const s = await openTestServices(t);
    assert.deepEqual(await purgeTokens(s.database, 0, 10, NOW), { next: null, purged: 0 });
  });
});

import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import fc from 'fast-check';
import { firstRowKeyAt } from '../../src/ids.ts';
import { ConstraintViolation, StaleWrite } from '../../src/store/database.ts';
import type { AccessToken } from '../../src/store/tokens.ts';
import { makeApplication, makeUser, openTestServices, type TestServices } from '../support/services.ts';
import { leavingNothing, NOW } from '../support/store.ts';

const SCOPES = ['employees:edit', 'employees:view'];

const token = (key: number, expiresAt: number): Omit<AccessToken, 'applicationId'> => ({
  ...{ key, expiresAt },
  hash: Buffer.alloc(32, key % 256),
  scope: SCOPES.join(' '),
});
const keys = ({ rows }: TestServices): unknown[] =>
  rows('SELECT key FROM access_token ORDER BY key').map(({ key }) => key);

/** Issues to one application that holds the scopes; answers its id. */
async function issueAll(s: TestServices, tokens: readonly ReturnType<typeof token>[]): Promise<string> {
  const { application } = await makeApplication(s, { scopes: SCOPES });
  const { id: applicationId } = application;
  await Promise.all(tokens.map((one) => s.store.tokens.issue({ ...one, applicationId, tokensRevokedThrough: 0 })));
  return applicationId;
}

describe('the token store', () => {
  it('finds a token with its application and user as they are now', async (t) => {
    const s = await openTestServices(t);
    const user = await makeUser(s, { permissions: ['b:x', 'a:x'], constraints: { divisions: ['sales'] } });
    const { application } = await makeApplication(s, { userId: user.id, scopes: SCOPES });
    const issued = { ...token(7, NOW + 1000), applicationId: application.id };
    await s.store.tokens.issue({ ...issued, tokensRevokedThrough: 0 });
    const found = await s.store.tokens.find(7);
    assert.deepEqual(found, {
      ...issued,
      clientId: application.clientId,
      applicationActive: true,
      tokensRevokedThrough: 0,
      userId: user.id,
      userName: user.userName,
      userActive: true,
      permissions: ['a:x', 'b:x'],
      constraints: { divisions: ['sales'] },
    });
    await s.users.patch(user.id, { active: false, permissions: [], constraints: { divisions: null } }, 'test');
    await s.applications.patch(application.id, { active: false }, 'test');
    const later = await s.store.tokens.find(7);
    assert.deepEqual(
      [later?.applicationActive, later?.userActive, later?.permissions, later?.constraints],
      [false, false, [], {}],
    );
    assert.ok((later?.tokensRevokedThrough ?? 0) > 7);
  });

  it('finds nothing for a key without a row, and none of an application that is gone', async (t) => {
    const s = await openTestServices(t);
    await s.applications.remove(await issueAll(s, [token(7, NOW + 1000)]), 'test');
    assert.equal(await s.store.tokens.find(7), null);
    assert.equal(await s.store.tokens.find(8), null);
  });

  it('issues a key once', async (t) => {
    const s = await openTestServices(t);
    const applicationId = await issueAll(s, [token(7, NOW)]);
    const again = { ...token(7, NOW + 5), applicationId, tokensRevokedThrough: 0 };
    await leavingNothing(s, () => assert.rejects(s.store.tokens.issue(again), ConstraintViolation));
  });

  it('issues nothing past a revocation, or to what was switched off since it was read', async (t) => {
    const s = await openTestServices(t);
    const user = await makeUser(s);
    const { application } = await makeApplication(s, { userId: user.id, scopes: SCOPES });
    const late = { ...token(7, NOW + 1000), applicationId: application.id };
    const refused = () =>
      leavingNothing(s, () => assert.rejects(s.store.tokens.issue({ ...late, tokensRevokedThrough: 0 }), StaleWrite));
    await s.applications.revokeTokens(application.id, 'test');
    await refused();
    const { tokensRevokedThrough } = await s.applications.get(application.id);
    await s.users.patch(user.id, { active: false }, 'test');
    const { tokensRevokedThrough: afterUser } = await s.applications.get(application.id);
    await leavingNothing(s, () =>
      assert.rejects(s.store.tokens.issue({ ...late, tokensRevokedThrough: afterUser }), StaleWrite),
    );
    assert.ok(afterUser > tokensRevokedThrough);
  });

  it('shows no scope that the application has lost since', async (t) => {
    const s = await openTestServices(t);
    const applicationId = await issueAll(s, [token(7, NOW + 1000)]);
    await s.applications.patch(applicationId, { scopes: ['employees:view'] }, 'test');
    assert.equal((await s.store.tokens.find(7))?.scope, 'employees:view');
  });

  it('forgets a token of its own application only', async (t) => {
    const s = await openTestServices(t);
    const one = await issueAll(s, [token(7, NOW), token(8, NOW)]);
    await leavingNothing(s, () => s.store.tokens.revoke(7, 'other'));
    await leavingNothing(s, () => s.store.tokens.revoke(9, one));
    await s.store.tokens.revoke(7, one);
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
      const step: { next: number | null; purged: number } = await s.store.tokens.purgeStep(after, limit, s.clock());
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
        const tokens = expiries.map((ms, n) => token(firstRowKeyAt(NOW - 4000 + n), NOW + ms));
        await issueAll(s, tokens);
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

  it('looks at no more rows than asked, and says where to go on', async (t: TestContext) => {
    const s = await openTestServices(t);
    await issueAll(
      s,
      Array.from({ length: 10 }, (_, n) => token(n + 1, n < 5 ? NOW : NOW + 1)),
    );
    assert.deepEqual(await s.store.tokens.purgeStep(0, 4, NOW), { next: 4, purged: 4 });
    assert.deepEqual(await s.store.tokens.purgeStep(4, 4, NOW), { next: 8, purged: 1 });
    assert.deepEqual(await s.store.tokens.purgeStep(8, 4, NOW), { next: null, purged: 0 });
    assert.deepEqual(keys(s), [6, 7, 8, 9, 10]);
  });

  it('ends where tokens were issued at or after now, which cannot have expired', async (t) => {
    const s = await openTestServices(t);
    const first = firstRowKeyAt(NOW);
    await issueAll(s, [
      token(first - 1, NOW),
      token(first, NOW + 1),
      token(first + 1, NOW + 1),
      token(first + 2, NOW + 1),
    ]);
    assert.deepEqual(await s.store.tokens.purgeStep(0, 2, NOW), { next: null, purged: 1 });
  });

  it('has nothing to do in an empty table', async (t) => {
    const s = await openTestServices(t);
    assert.deepEqual(await s.store.tokens.purgeStep(0, 10, NOW), { next: null, purged: 0 });
  });
});

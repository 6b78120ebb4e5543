/** The gate caches the caller of a token, and no change leaves a stale entry. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { CALLERS_CACHED, CALLERS_SHARED_BYTES, createCallers } from '../../src/access/callers.ts';
import type { TokenGrant } from '../../src/domain/application.ts';
import { randomBytes } from '../../src/kernel/ids.ts';
import { openSqlite } from '../../src/store/sqlite/driver/sqlite.ts';
import { cleanUp } from '../support/cleanup.ts';
import { openAt } from '../support/postgres.ts';
import { refused } from '../support/refusals.ts';
import { repeatsInSlowTier } from '../support/repeats.ts';
import { ACTOR, makeApplication, makeUser, openTestServices, type TestServices, tokenOf } from '../support/services.ts';
import { onPostgres } from '../support/store.ts';

repeatsInSlowTier('postgres');

type Holder = {
  readonly s: TestServices;
  readonly token: string;
  readonly applicationId: string;
  readonly userId: string;
};

async function startHolding(t: import('node:test').TestContext): Promise<Holder> {
  const s = await openTestServices(t);
  const user = await makeUser(s, { permissions: ['employees:view'] });
  const { application, clientSecret } = await makeApplication(s, { userId: user.id, scopes: ['employees:view'] });
  const token = await tokenOf(s, application.clientId, clientSecret);
  return { s, token, applicationId: application.id, userId: user.id };
}

const enter = ({ s, token }: Holder) => s.gate.authenticate([`Bearer ${token}`]);

const grantOf = (n: number, permissions: readonly string[]): TokenGrant => ({
  key: n,
  hash: randomBytes(32),
  applicationId: `application ${n}`,
  scope: `s${n}:view`,
  expiresAt: n,
  customerId: null,
  clientId: `client ${n}`,
  applicationActive: true,
  tokensRevokedThrough: 0,
  userId: 'u',
  userName: 'user',
  role: 'service',
  userActive: true,
  permissions,
  constraints: { divisions: ['sales'] },
});

describe('cached callers', () => {
  it('are not looked up again while nothing changes', async (t) => {
    const holder = await startHolding(t);
    assert.equal(await enter(holder), await enter(holder));
  });

  it('are looked up again after a change, and reflect it', async (t) => {
    const holder = await startHolding(t);
    assert.deepEqual((await enter(holder)).permissions, ['employees:view']);
    await holder.s.users.patch(holder.userId, { permissions: ['a:b'] }, ACTOR);
    assert.deepEqual((await enter(holder)).permissions, ['a:b']);
  });

  const ends: readonly [what: string, sql: string][] = [
    ['the token', 'DELETE FROM access_token WHERE application_id = @applicationId'],
    ['all tokens', 'UPDATE application SET tokens_revoked_through = 9007199254740991 WHERE id = @applicationId'],
    ['the application', 'UPDATE application SET active = FALSE WHERE id = @applicationId'],
    ['the user', 'UPDATE user_account SET active = FALSE WHERE id = @userId'],
  ];
  for (const [what, sql] of ends) {
    it(`are refused from the next turn on once another process has ended ${what}`, async (t) => {
      const holder = await startHolding(t);
      await enter(holder);
      const other = onPostgres ? await openAt(t, holder.s.path) : openSqlite(holder.s.path);
      cleanUp(t, () => other.close());
      const { applicationId, userId } = holder;
      const params = sql.includes('@userId') ? { userId } : { applicationId };
      await other.commit([{ sql, params }]);
      await turn();
      await refused(() => enter(holder), { code: 'invalid_token' });
    });
  }

  it('are refused from the millisecond on at which their token ends', async (t) => {
    const holder = await startHolding(t);
    const { expiresAt } = await enter(holder);
    holder.s.advance(expiresAt - holder.s.clock() - 1);
    await enter(holder);
    holder.s.advance(1);
    await refused(() => enter(holder), { code: 'invalid_token' });
  });

  it('share the data of their application, and equal scopes', async (t) => {
    const holder = await startHolding(t);
    const { s, applicationId, userId } = holder;
    await s.users.patch(userId, { constraints: { divisions: ['sales'] } }, ACTOR);
    await s.applications.patch(applicationId, { scopes: ['employees:edit', 'employees:view'] }, ACTOR);
    const client = await s.store.applications.getClient((await enter(holder)).clientId ?? '');
    assert.ok(client);
    const callerOf = async (scope: string) =>
      enter({ ...holder, token: (await s.tokens.issue(client, scope)).accessToken });
    const [one, same, narrow] = [await callerOf('all'), await callerOf(''), await callerOf('employees:view')];
    assert.ok(one !== same && one.permissions === same.permissions && one.scope === same.scope);
    assert.ok(narrow.permissions === one.permissions && narrow.constraints === one.constraints);
    assert.deepEqual([one.scope, narrow.scope], [['employees:edit', 'employees:view'], ['employees:view']]);
    await s.users.patch(userId, { permissions: [] }, ACTOR);
    assert.deepEqual((await callerOf('all')).permissions, []);
  });

  it('share at most the bound of bytes; beyond it all are read again', () => {
    const callers = createCallers();
    const permissions = Array.from({ length: 1000 }, (_, n) => `p${n}`.padEnd(128, 'x'));
    const size = Math.ceil(CALLERS_SHARED_BYTES / (1000 * 128));
    for (let n = 0; n < size / 2; n += 1) callers.keep(`token ${n}`, 1, grantOf(n, permissions));
    assert.deepEqual(callers.find('token 0', 1)?.scope, ['s0:view']);
    for (let n = 0; n < size; n += 1) callers.keep(`other ${n}`, 1, grantOf(n, permissions));
    assert.equal(callers.find('token 0', 1), null);
    assert.equal(callers.find(`other ${size - 1}`, 1)?.clientId, `client ${size - 1}`);
  });

  it('of an older version are dropped for a newer version, and never replace it', () => {
    const callers = createCallers();
    const grant = grantOf(1, ['a:b']);
    callers.keep('one', 1, grant);
    callers.keep('two', 2, { ...grant, permissions: [] });
    assert.deepEqual([callers.find('one', 1), callers.find('two', 2)?.permissions], [null, []]);
    const late = callers.keep('two', 1, grant);
    assert.deepEqual([late.permissions, late.scope], [['a:b'], ['s1:view']]);
    assert.deepEqual(callers.find('two', 2)?.permissions, []);
  });

  it('are bounded, and the least recently used is dropped first', async (t) => {
    const holder = await startHolding(t);
    const { s } = holder;
    const first = await enter(holder);
    const client = await s.store.applications.getClient(first.clientId ?? '');
    assert.ok(client);
    const others: string[] = [];
    while (others.length < CALLERS_CACHED) {
      const issued = await Promise.all(Array.from({ length: 500 }, () => s.tokens.issue(client, undefined)));
      others.push(...issued.map(({ accessToken }) => accessToken));
    }
    const last = others.pop() ?? '';
    const [oldest = ''] = others;
    const second = await enter({ ...holder, token: oldest });
    for (const token of others.slice(1)) await enter({ ...holder, token });
    assert.equal(await enter(holder), first);
    await enter({ ...holder, token: last });
    assert.equal(await enter(holder), first);
    assert.notEqual(await enter({ ...holder, token: oldest }), second);
  });
});

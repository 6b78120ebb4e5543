/** The gate keeps who a token stands for, and nothing of it outlives a change. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { CALLERS_CACHED } from '../../src/limits.ts';
import { openSqlite } from '../../src/store/sqlite.ts';
import { refused } from '../support/refusals.ts';
import { ACTOR, makeApplication, makeUser, openTestServices, type TestServices, tokenOf } from '../support/services.ts';

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

describe('callers that are known', () => {
  it('are not looked up again while nothing changes', async (t) => {
    const holder = await startHolding(t);
    assert.equal(await enter(holder), await enter(holder));
  });

  it('are looked up again after a change, and are as they are then', async (t) => {
    const holder = await startHolding(t);
    assert.deepEqual((await enter(holder)).permissions, ['employees:view']);
    await holder.s.users.patch(holder.userId, { permissions: ['a:b'] }, ACTOR);
    assert.deepEqual((await enter(holder)).permissions, ['a:b']);
  });

  const ends: readonly [what: string, sql: string][] = [
    ['the token', 'DELETE FROM access_token WHERE application_id = @applicationId'],
    ['all tokens', 'UPDATE application SET tokens_revoked_through = 9007199254740991 WHERE id = @applicationId'],
    ['the application', 'UPDATE application SET active = 0 WHERE id = @applicationId'],
    ['the user', 'UPDATE user_account SET active = 0 WHERE id = @userId'],
  ];
  for (const [what, sql] of ends) {
    it(`are refused from the next turn on once another process has ended ${what}`, async (t) => {
      const holder = await startHolding(t);
      await enter(holder);
      const other = openSqlite(holder.s.path);
      t.after(() => other.close());
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

  it('are a bounded number, the oldest going first', async (t) => {
    const holder = await startHolding(t);
    const { s } = holder;
    const first = await enter(holder);
    const client = await s.store.applications.getClient(first.clientId);
    assert.ok(client);
    const others: string[] = [];
    while (others.length < CALLERS_CACHED) {
      const issued = await Promise.all(Array.from({ length: 500 }, () => s.tokens.issue(client, undefined)));
      others.push(...issued.map(({ accessToken }) => accessToken));
    }
    const last = others.pop() ?? '';
    for (const token of others) await enter({ ...holder, token });
    assert.equal(await enter(holder), first);
    await enter({ ...holder, token: last });
    assert.notEqual(await enter(holder), first);
  });
});

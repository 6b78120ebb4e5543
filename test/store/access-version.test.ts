import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { openSqlite } from '../../src/store/sqlite/driver/sqlite.ts';
import { tokensOf } from '../support/issued.ts';
import { ACTOR, makeApplication, makeUser, openTestServices, type TestServices } from '../support/services.ts';

/** Whether the version is another one after the work, as the next turn of the event loop sees it. */
async function isChangedBy(s: TestServices, work: () => unknown): Promise<boolean> {
  const before = s.store.tokens.version();
  await work();
  await turn();
  return s.store.tokens.version() !== before;
}

describe('the version of what access depends on', () => {
  const changes: readonly [what: string, change: (s: TestServices, id: string, userId: string) => unknown][] = [
    ['an application is changed', (s, id) => s.applications.patch(id, { name: 'renamed' }, ACTOR)],
    ['its tokens are revoked', (s, id) => s.applications.revokeTokens(id, ACTOR)],
    ['it is deleted', (s, id) => s.applications.remove(id, ACTOR)],
    ['its user is changed', (s, _, userId) => s.users.patch(userId, { permissions: ['a:b'] }, ACTOR)],
    ['a token is revoked', async (s, id) => s.store.tokens.revoke((await tokensOf(s, id))[0] ?? 0, id)],
  ];
  for (const [what, change] of changes) {
    it(`is another one once ${what}`, async (t) => {
      const s = await openTestServices(t);
      const user = await makeUser(s);
      const { application } = await makeApplication(s, { userId: user.id });
      await s.tokens.issue({ ...application, userActive: true }, undefined);
      assert.equal(await isChangedBy(s, () => change(s, application.id, user.id)), true);
    });
  }

  it('is another one before whoever changed something hears that it is done', async (t) => {
    const s = await openTestServices(t);
    const { application } = await makeApplication(s);
    const before = s.store.tokens.version();
    // No turn of the event loop in between.
    const heard = s.applications.revokeTokens(application.id, ACTOR).then(() => s.store.tokens.version());
    assert.notEqual(await heard, before);
  });

  it('stays while tokens are issued and other things are written', async (t) => {
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

  it('is another one in the next turn once another process, whichever, has written what grants are made of', async (t) => {
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
    it(`is looked for again within a turn that lasts, where what is written here is written ${where}`, async (t) => {
      const s = await openTestServices(t, { writerThread: where === 'in a thread' });
      await makeApplication(s);
      const other = openSqlite(s.path);
      t.after(() => other.close());
      const again = (): number => {
        // As many connections as one turn may read from keep it going for longer than this.
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
      // Somebody else has read before in this turn.
      await s.store.users.isEmpty();
      other.connection.exec('UPDATE application SET active = 1');
      assert.notEqual(s.store.tokens.version(), after);
    });
  }

  it('is asked for again after a commit that failed: not every failure means that nothing was written', async (t) => {
    const s = await openTestServices(t);
    await makeApplication(s);
    const other = openSqlite(s.path);
    t.after(() => other.close());
    const before = s.store.tokens.version();
    other.connection.exec('UPDATE application SET active = 0');
    // Heard of in the same turn, as soon as the refusal is.
    const refused = s.database.commit([{ sql: 'INSERT INTO nowhere VALUES (1)', params: {} }]);
    const heard = refused.catch(() => s.store.tokens.version());
    assert.notEqual(await heard, before);
  });

  it('calls subscribers back after a write that changes it, and after no other', async (t) => {
    const s = await openTestServices(t);
    const { application } = await makeApplication(s);
    let calls = 0;
    const unsubscribe = s.store.sessions.subscribe(() => {
      calls += 1;
    });
    await s.applications.revokeTokens(application.id, ACTOR);
    const after = calls;
    await s.store.settings.proveWritable(1);
    assert.deepEqual([after, calls], [1, 1]);
    unsubscribe();
    await s.applications.revokeTokens(application.id, ACTOR);
    assert.equal(calls, 1);
  });
});

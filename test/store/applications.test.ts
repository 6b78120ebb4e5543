import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Application } from '../../src/access/application.ts';
import { ConstraintViolation } from '../../src/store/errors.ts';
import { ACTOR, makeApplication, makeUser, openTestServices } from '../support/services.ts';
import { leavingNothing, NOW } from '../support/store.ts';

describe('the application store', () => {
  const application = (id: string, userId: string, more: Partial<Application> = {}): Application => ({
    ...{
      id,
      userId,
      name: id,
      clientId: `client ${id}`,
      secretHash: Buffer.alloc(32, 1),
      scopes: ['a:view', 'b:view'],
    },
    ...{ previousSecretHash: null, previousSecretExpiresAt: null, accessTokenValiditySeconds: 3600, active: true },
    ...{ tokensRevokedThrough: 2 ** 53 - 1, lastUsedAt: null, secretCreatedAt: NOW, createdAt: NOW, updatedAt: NOW },
    ...more,
  });

  it('finds a client by its id, with whether its user is active', async (t) => {
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

  it('names the first few of a user, and those that hold any of some scopes', async (t) => {
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
    ['a client id that another has', 'unique', { clientId: 'client 1' }],
    ['299 seconds', 'check', { accessTokenValiditySeconds: 299 }],
    ['86401 seconds', 'check', { accessTokenValiditySeconds: 86_401 }],
    ['a hash of another length', 'check', { secretHash: Buffer.alloc(31) }],
    ['a previous secret without an end', 'check', { previousSecretHash: Buffer.alloc(32) }],
    ['the end of no previous secret', 'check', { previousSecretExpiresAt: NOW }],
  ];
  for (const [what, kind, more] of broken) {
    it(`takes no row with ${what}, whatever the code above thinks`, async (t) => {
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

  it('does not let a user go that an application acts as', async (t) => {
    const s = await openTestServices(t);
    const { application: bound } = await makeApplication(s);
    await leavingNothing(s, () =>
      assert.rejects(s.store.users.remove(bound.userId, s.entry()), { kind: 'foreign_key' }),
    );
  });
});

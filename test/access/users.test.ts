import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { viewUser } from '../../src/access/users.ts';
import { refused } from '../support/refusals.ts';
import { repeatsInSlowTier } from '../support/repeats.ts';
import { ACTOR, makeApplication, makeUser, openTestServices } from '../support/services.ts';
import { leavingNothing, NOW } from '../support/store.ts';

repeatsInSlowTier('postgres');

const UNKNOWN = '0193a1f0-0000-7000-8000-00000000ffff';

describe('users', () => {
  it('are made active, without permissions or constraints, unless said otherwise', async (t) => {
    const s = await openTestServices(t);
    const { id, ...view } = viewUser(await s.users.create({ userName: 'ada' }, ACTOR));
    const at = '2026-11-21T05:00:00.000Z';
    assert.deepEqual(view, {
      customerId: null,
      userName: 'ada',
      displayName: null,
      email: null,
      active: true,
      role: 'service',
      permissions: [],
      constraints: {},
      createdAt: at,
      updatedAt: at,
    });
  });

  it('keep their permissions sorted, and are read as they were written', async (t) => {
    const s = await openTestServices(t);
    const made = await makeUser(s, { permissions: ['b:x', 'a:x'], constraints: { divisions: ['sales', 'ops'] } });
    assert.deepEqual(made.permissions, ['a:x', 'b:x']);
    assert.deepEqual(await s.users.get(made.id), made);
    assert.deepEqual(made.constraints, { divisions: ['sales', 'ops'] });
  });

  it('are never shown with their password', async (t) => {
    const s = await openTestServices(t);
    const { id } = await makeUser(s);
    const user = await s.users.change(id, 'user.set-password', ACTOR, (before, { updatedAt }) => ({
      ...before,
      updatedAt,
      passwordHash: 'scrypt$x',
    }));
    assert.ok(!JSON.stringify(viewUser(user)).includes('scrypt'));
    const [entry] = await s.store.audit.list(null, 1);
    assert.deepEqual(entry?.changes, { password: { from: null, to: '[secret]' } });
    assert.equal((await s.users.patch(id, { displayName: 'kept' }, ACTOR)).passwordHash, 'scrypt$x');
  });

  it('lose their constraints by a patch with null, and nothing else', async (t) => {
    const s = await openTestServices(t);
    const { id } = await makeUser(s, { permissions: ['a:x'], constraints: { divisions: ['sales'] } });
    const patched = await s.users.patch(id, { constraints: { divisions: null } }, ACTOR);
    assert.deepEqual([patched.constraints, patched.permissions], [{}, ['a:x']]);
    assert.equal(patched.updatedAt, NOW + 1);
  });

  it('are constrained to no division at all by an empty list', async (t) => {
    const s = await openTestServices(t);
    assert.deepEqual((await makeUser(s, { constraints: { divisions: [] } })).constraints, { divisions: [] });
  });

  const bad: readonly [what: string, body: unknown, field: string][] = [
    ['no user name', {}, 'userName'],
    ['an empty user name', { userName: '' }, 'userName'],
    ['a space in the user name', { userName: 'a b' }, 'userName'],
    ['a line feed in the user name', { userName: 'a\n' }, 'userName'],
    ['a user name of 101 characters', { userName: 'x'.repeat(101) }, 'userName'],
    ['a display name of 201 characters', { userName: 'a', displayName: 'x'.repeat(201) }, 'displayName'],
    ['a display name with a control character', { userName: 'a', displayName: 'a\u0007b' }, 'displayName'],
    ['a display name that begins with a space', { userName: 'a', displayName: ' a' }, 'displayName'],
    ['an email address that is none', { userName: 'a', email: 'a@' }, 'email'],
    ['an unknown role', { userName: 'a', role: 'root' }, 'role'],
    ['a text for active', { userName: 'a', active: 'yes' }, 'active'],
    ['a text for permissions', { userName: 'a', permissions: 'a:x' }, 'permissions'],
    ['a permission with a space', { userName: 'a', permissions: ['a:x', 'b x'] }, 'permissions[1]'],
    ['a permission of 129 characters', { userName: 'a', permissions: ['x'.repeat(129)] }, 'permissions[0]'],
    ['a repeated permission', { userName: 'a', permissions: ['a:x', 'b:x', 'a:x'] }, 'permissions[2]'],
    [
      '1001 permissions',
      { userName: 'a', permissions: Array.from({ length: 1001 }, (_, n) => `p${n}`) },
      'permissions',
    ],
    ['an unknown constraint', { userName: 'a', constraints: { regions: [] } }, 'constraints.regions'],
    ['an empty division', { userName: 'a', constraints: { divisions: [''] } }, 'constraints.divisions[0]'],
    ['a repeated division', { userName: 'a', constraints: { divisions: ['x', 'x'] } }, 'constraints.divisions[1]'],
    ['an id', { userName: 'a', id: UNKNOWN }, 'id'],
    ['an instant of creation', { userName: 'a', createdAt: null }, 'createdAt'],
    ['a password', { userName: 'a', passwordHash: 'x' }, 'passwordHash'],
  ];
  for (const [what, body, field] of bad) {
    it(`are refused with ${what}, when made and when changed`, async (t) => {
      const s = await openTestServices(t);
      const { id } = await makeUser(s);
      await leavingNothing(s, async () => {
        await refused(() => s.users.create(body, ACTOR), { code: 'validation_failed', fields: [field] });
        if (what !== 'no user name')
          await refused(() => s.users.patch(id, body, ACTOR), { code: 'validation_failed', fields: [field] });
      });
    });
  }

  it('have user names of their own', async (t) => {
    const s = await openTestServices(t);
    const { userName } = await makeUser(s);
    const { id } = await makeUser(s);
    await leavingNothing(s, async () => {
      await refused(() => s.users.create({ userName }, ACTOR), {
        code: 'conflict',
        fields: ['userName'],
        says: 'userName is taken: another user has ',
      });
      await refused(() => s.users.patch(id, { userName }, ACTOR), { code: 'conflict', fields: ['userName'] });
    });
  });

  it('are not deleted while an application acts as them, which is named, and are afterwards', async (t) => {
    const s = await openTestServices(t);
    await makeUser(s);
    const { application } = await makeApplication(s);
    const { userId, name, id } = application;
    await leavingNothing(s, () =>
      refused(() => s.users.remove(userId, ACTOR), { code: 'in_use', says: `application ${name} (${id})` }),
    );
    await s.applications.remove(id, ACTOR);
    await s.users.remove(userId, ACTOR);
    await refused(() => s.users.get(userId), { code: 'not_found', says: userId });
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { User } from '../../src/access/user.ts';
import { ConstraintViolation, StaleWrite } from '../../src/store/errors.ts';
import { ACTOR, makeApplication, openTestServices } from '../support/services.ts';
import { leavingNothing, NOW, openTestStore } from '../support/store.ts';

const user = (id: string, more: Partial<User> = {}): User => ({
  ...{ id, userName: `user ${id}`, displayName: null, email: null, active: true, role: 'service' },
  ...{ permissions: ['a:view'], constraints: {}, passwordHash: null, createdAt: NOW, updatedAt: NOW },
  ...more,
});

describe('the user store', () => {
  it('is empty at first, and keeps users as they were given', async (t) => {
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
    assert.deepEqual(await store.users.getByName('user 1'), full);
    assert.equal(await store.users.get('2'), null);
    assert.deepEqual(await store.users.getByName('USER 1'), full);
  });

  it('lists in order of creation, from after an id on', async (t) => {
    const { store, entry } = await openTestStore(t);
    for (const id of ['2', '1', '3']) await store.users.insert(user(id), entry());
    const ids = async (after: string, limit: number) => (await store.users.list(after, limit)).map(({ id }) => id);
    assert.deepEqual(await ids('', 10), ['1', '2', '3']);
    assert.deepEqual(await ids('', 2), ['1', '2']);
    assert.deepEqual(await ids('2', 2), ['3']);
    assert.deepEqual(await ids("' OR 1=1 --", 0), []);
    assert.deepEqual(await ids("' OR ''='", 10), ['1', '2', '3']);
  });

  it('writes a row only as it was read, and audits every write in the same transaction', async (t) => {
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
    assert.deepEqual(s.rows('SELECT count(*) AS entries FROM audit'), [{ entries: 3 }]);
    assert.equal(await s.store.users.isEmpty(), true);
  });

  it('ends the tokens of a user’s applications for good when the user is switched off, and of nobody else', async (t) => {
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

import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { createInvitations } from '../../src/access/invitations.ts';
import { INVITATION_MS } from '../../src/access/limits.ts';
import { PASSWORDS_WAITING_MAX, verifyPassword } from '../../src/access/password.ts';
import type { User } from '../../src/domain/user.ts';
import { randomBytes } from '../../src/kernel/ids.ts';
import type { Refusal } from '../../src/kernel/refusal.ts';
import { isoInstant } from '../../src/kernel/schemas.ts';
import type { InvitationStore } from '../../src/store/port/access.ts';
import { refused } from '../support/refusals.ts';
import { repeatsInSlowTier } from '../support/repeats.ts';
import { ACTOR, makeUser, openTestServices, type TestServices } from '../support/services.ts';
import { leavingNothing } from '../support/store.ts';

repeatsInSlowTier('postgres');

const PASSWORD = 'seventeen badgers at dawn';
const same = (password: string) => ({ password, passwordAgain: password });

async function invitedUser(t: TestContext): Promise<{ s: TestServices; user: User; token: string }> {
  const s = await openTestServices(t);
  const user = await makeUser(s, { role: 'operator' });
  const { token } = await s.invitations.invite(user.id, ACTOR);
  return { s, user, token };
}

async function passwordHash(s: TestServices, { id }: User): Promise<string | null> {
  return (await s.users.get(id)).passwordHash;
}

describe('an invitation', () => {
  it('lets its user set a password, once', async (t) => {
    const { s, user, token } = await invitedUser(t);
    assert.equal((await s.invitations.find(token))?.id, user.id);
    assert.equal(await passwordHash(s, user), null);
    await s.invitations.accept(token, same(PASSWORD));
    const hash = await passwordHash(s, user);
    assert.ok(await verifyPassword(PASSWORD, hash));
    assert.equal(await verifyPassword(`${PASSWORD}.`, hash), false);

    assert.equal(await s.invitations.find(token), null);
    await leavingNothing(s, () => refused(() => s.invitations.accept(token, same('another one of mine')), UNUSABLE));
    assert.equal(await passwordHash(s, user), hash);
  });

  it('is stored only as a hash, and its token has a checksum', async (t) => {
    const { s, token } = await invitedUser(t);
    assert.match(token, /^spi_[0-9A-Za-z]{49}$/);
    const stored = JSON.stringify(await s.rows('SELECT * FROM invitation'));
    assert.ok(!stored.includes(token));
    assert.ok(!JSON.stringify(await s.rows('SELECT * FROM audit')).includes(token));
    assert.equal((await s.rows('SELECT * FROM invitation')).length, 1);
  });

  it('is valid for exactly 72 hours', async (t) => {
    const { s, user, token } = await invitedUser(t);
    s.advance(INVITATION_MS - 1);
    assert.equal((await s.invitations.find(token))?.id, user.id);
    s.advance(1);
    assert.equal(await s.invitations.find(token), null);
    await leavingNothing(s, () => refused(() => s.invitations.accept(token, same(PASSWORD)), UNUSABLE));
  });

  it('replaces an earlier one of the same user only', async (t) => {
    const { s, user, token } = await invitedUser(t);
    const other = await makeUser(s, { role: 'viewer' });
    const { token: others } = await s.invitations.invite(other.id, ACTOR);
    const { token: second } = await s.invitations.invite(user.id, ACTOR);
    assert.equal(await s.invitations.find(token), null);
    assert.equal((await s.invitations.find(second))?.id, user.id);
    assert.equal((await s.invitations.find(others))?.id, other.id);
  });

  it('can be created again after use', async (t) => {
    const { s, user, token } = await invitedUser(t);
    await s.invitations.accept(token, same(PASSWORD));
    const { token: second } = await s.invitations.invite(user.id, ACTOR);
    await s.invitations.accept(second, same('a new one for the spring'));
    assert.ok(await verifyPassword('a new one for the spring', await passwordHash(s, user)));
    assert.equal(await s.invitations.find(token), null);
  });

  it('ends when its user is deactivated or deleted, and stays ended', async (t) => {
    const { s, user, token } = await invitedUser(t);
    await s.users.patch(user.id, { active: false }, ACTOR);
    assert.equal(await s.invitations.find(token), null);
    await refused(() => s.invitations.accept(token, same(PASSWORD)), UNUSABLE);
    await leavingNothing(s, () => refused(() => s.invitations.invite(user.id, ACTOR), { code: 'invalid_state' }));
    await s.users.patch(user.id, { active: true }, ACTOR);
    assert.equal(await s.invitations.find(token), null);
    assert.equal(await passwordHash(s, user), null);

    const { token: second } = await s.invitations.invite(user.id, ACTOR);
    await makeUser(s);
    await s.users.remove(user.id, ACTOR);
    assert.equal(await s.invitations.find(second), null);
    assert.deepEqual(await s.rows('SELECT * FROM invitation'), []);
  });

  it('is refused for a user who cannot sign in', async (t) => {
    const s = await openTestServices(t);
    const { id } = await makeUser(s, { role: 'service' });
    await leavingNothing(s, () => refused(() => s.invitations.invite(id, ACTOR), { code: 'invalid_state' }));
    await s.users.patch(id, { role: 'viewer' }, ACTOR);
    await s.invitations.invite(id, ACTOR);
  });

  it('is refused for an unknown user', async (t) => {
    const { s } = await invitedUser(t);
    for (const id of ['', 'admin', s.ids.uuid(), "' OR '1'='1"]) {
      await leavingNothing(s, () => refused(() => s.invitations.invite(id, ACTOR), { code: 'not_found' }));
    }
  });

  it('is found only by its token', async (t) => {
    const { s, token } = await invitedUser(t);
    const wrong = [
      '',
      'spi_',
      token.slice(0, -1),
      `${token}A`,
      token.toLowerCase(),
      token.replace('spi', 'sps'),
      '%',
      token.repeat(1000),
    ];
    for (const text of wrong) assert.equal(await s.invitations.find(text), null);
    await leavingNothing(s, () => refused(() => s.invitations.accept('spi_wrong', same(PASSWORD)), UNUSABLE));
  });

  it('stays valid after a refused password', async (t) => {
    const { s, user, token } = await invitedUser(t);
    const weak = [
      [{ password: 'short', passwordAgain: 'short' }, 'password'],
      [{ password: 'password1234', passwordAgain: 'password1234' }, 'password'],
      [{ password: `${user.userName}-2`, passwordAgain: `${user.userName}-2` }, 'password'],
      [{ password: PASSWORD, passwordAgain: `${PASSWORD} ` }, 'passwordAgain'],
      [{ password: PASSWORD, passwordAgain: '' }, 'passwordAgain'],
    ] as const;
    for (const [chosen, field] of weak) {
      const accept = () => s.invitations.accept(token, chosen);
      await leavingNothing(s, () => refused(accept, { code: 'validation_failed', fields: [field] }));
    }
    await s.invitations.accept(token, same(PASSWORD));
  });

  it('sets one of two passwords that are sent concurrently', async (t) => {
    const { s, user, token } = await invitedUser(t);
    const tried = ['the first of two passwords', 'the other of two passwords', 'and a third one at once'];
    const outcomes = await Promise.allSettled(tried.map((password) => s.invitations.accept(token, same(password))));
    const won = tried.filter((_, at) => outcomes[at]?.status === 'fulfilled');
    assert.equal(won.length, 1);
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') assert.equal((outcome.reason as Refusal).code, 'not_found');
    }
    assert.ok(await verifyPassword(won[0] ?? '', await passwordHash(s, user)));
    assert.equal((await s.rows("SELECT * FROM audit WHERE action = 'user.set-password'")).length, 1);
  });

  it('costs one hash for any number of concurrent requests', async (t) => {
    const { s, user, token } = await invitedUser(t);
    let salts = 0;
    const random: typeof randomBytes = (count) => {
      salts += 1;
      return randomBytes(count);
    };
    const invitations = createInvitations({ ...s, random });
    const tried = Array.from({ length: 2 * PASSWORDS_WAITING_MAX }, () => invitations.accept(token, same(PASSWORD)));
    const outcomes = await Promise.allSettled(tried);
    const refusals = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as Refusal] : []));
    assert.deepEqual(new Set(refusals.map(({ code }) => code)), new Set(['not_found']));
    assert.equal(refusals.length, tried.length - 1);
    assert.equal(salts, 1);
    assert.ok(await verifyPassword(PASSWORD, await passwordHash(s, user)));
  });

  it('is used by the second of two concurrent requests if the first cannot be written', async (t) => {
    const { s, user, token } = await invitedUser(t);
    let writes = 0;
    const use: InvitationStore['use'] = async (...change) => {
      writes += 1;
      if (writes === 1) throw new Error('the disk is full');
      await s.store.invitations.use(...change);
    };
    const store = { ...s.store, invitations: { ...s.store.invitations, use } };
    const invitations = createInvitations({ ...s, store, random: randomBytes });
    const [first, second] = ['the first of two passwords', 'the other of two passwords'] as const;
    const failed = assert.rejects(invitations.accept(token, same(first)), /the disk is full/);
    await invitations.accept(token, same(second));
    await failed;
    assert.ok(await verifyPassword(second, await passwordHash(s, user)));
  });

  it('sets the password of a user who is changed concurrently, and keeps the change', async (t) => {
    const { s, user, token } = await invitedUser(t);
    const changes = [1, 2, 3].map((n) => s.users.patch(user.id, { displayName: `Name ${n}` }, ACTOR));
    await Promise.all([s.invitations.accept(token, same(PASSWORD)), ...changes]);
    const after = await s.users.get(user.id);
    assert.ok(await verifyPassword(PASSWORD, after.passwordHash));
    assert.match(after.displayName ?? '', /^Name \d$/);
    assert.ok(after.updatedAt > user.updatedAt);
  });

  it('does not set the password of a user who is deactivated while it is hashed', async (t) => {
    const { s, user, token } = await invitedUser(t);
    const use: InvitationStore['use'] = async (...change) => {
      await s.users.patch(user.id, { active: false }, ACTOR);
      await s.store.invitations.use(...change);
    };
    const store = { ...s.store, invitations: { ...s.store.invitations, use } };
    const late = createInvitations({ ...s, store, random: randomBytes });
    await refused(() => late.accept(token, same(PASSWORD)), UNUSABLE);
    assert.equal(await passwordHash(s, user), null);
    assert.deepEqual(await s.rows("SELECT * FROM audit WHERE action = 'user.set-password'"), []);
  });

  it('is audited when created and when used, without token, password or hash', async (t) => {
    const { s, user, token } = await invitedUser(t);
    await s.invitations.accept(token, same(PASSWORD));
    const { token: second } = await s.invitations.invite(user.id, ACTOR);
    await s.invitations.accept(second, same('another password of mine'));
    const audited = (await s.store.audit.list(null, 10)).filter(({ target }) => target === `user:${user.id}`);
    assert.deepEqual(
      audited.map(({ actor, action, changes }) => [actor, action, changes]),
      [
        [`user:${user.id}`, 'user.set-password', { password: { from: '[secret]', to: '[secret]' } }],
        [
          ACTOR.actor,
          'user.invite',
          { invitationExpiresAt: { from: null, to: isoInstant(s.clock() + INVITATION_MS) } },
        ],
        [`user:${user.id}`, 'user.set-password', { password: { from: null, to: '[secret]' } }],
        [
          ACTOR.actor,
          'user.invite',
          { invitationExpiresAt: { from: null, to: isoInstant(s.clock() + INVITATION_MS) } },
        ],
        [ACTOR.actor, 'user.create', audited.at(-1)?.changes],
      ],
    );
    assert.equal(await s.store.audit.firstBroken(), null);
    const log = JSON.stringify(await s.rows('SELECT * FROM audit'));
    for (const text of [token, second, PASSWORD, '$scrypt']) assert.ok(!log.includes(text), text);
  });
});

const UNUSABLE = { code: 'not_found', says: 'this invitation cannot be used' } as const;

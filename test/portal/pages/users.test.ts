/** The state of an account that waits for its password. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { invitationBadge } from '../../../src/portal/users/user-state.ts';
import { ACTOR, openTestServices } from '../../support/services.ts';
import { NOW } from '../../support/store.ts';

it('an account without a password says whether its invitation is open, expired or missing', async (t) => {
  const { users, invitations, store } = await openTestServices(t);
  const [grace, alan] = [
    await users.create({ userName: 'grace', role: 'viewer' }, ACTOR),
    await users.create({ userName: 'alan', role: 'viewer' }, ACTOR),
  ];
  const { expiresAt } = await invitations.invite(grace.id, ACTOR);
  const expiries = () => store.invitations.expiries([grace.id, alan.id]);
  assert.deepEqual([...(await expiries())], [[grace.id, expiresAt]]);
  const told = (at: number | null, more = {}): string =>
    invitationBadge({ ...grace, ...more }, at, NOW)
      .markup.replaceAll(/<svg.*?<\/svg>|<[^>]*>/gs, ' ')
      .replaceAll(/\s+/g, ' ');
  assert.match(told(NOW + 1), /invited link valid until/);
  assert.match(told(NOW), /invitation expired on/);
  assert.match(told(null), /not invited/);
  assert.match(told(NOW + 1, { passwordHash: 'set' }), /active/);
  // A change of the role ends the invitation.
  await users.patch(grace.id, { role: 'operator' }, ACTOR);
  assert.equal((await expiries()).size, 0);
});

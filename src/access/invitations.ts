/** Invitations: a link, good once and for 72 hours, by which a user sets a password. */

import { type Clock, type Ids, isUuidV7, type Random } from '../kernel/ids.ts';
import { INVITATION_MS } from '../kernel/limits/limits.ts';
import { Refusal, refuseField } from '../kernel/refusal.ts';
import type { Acting } from '../resources/acting.ts';
import { type Actor, type AuditAction, type AuditEntry, changesBetween } from '../resources/audit.ts';
import { refuseChanged } from '../resources/entity-tag.ts';
import { retryStale } from '../store/errors.ts';
import type { Beside } from '../store/resource.ts';
import type { Store } from '../store/store.ts';
import { requireRightsOfUser } from './containment.ts';
import { credentialBytes, hashCredential, mintCredential } from './credential.ts';
import { hashPassword, passwordProblem } from './password.ts';
import type { User } from './user.ts';
import { viewUser } from './users.ts';

/** The token is in the clear this once; whoever has it can set the user's password. */
export type NewInvitation = { readonly token: string; readonly expiresAt: number };
export type ChosenPassword = { readonly password: string; readonly passwordAgain: string };

export type Invitations = {
  /** Takes the place of the user's earlier one. Throws 404 for no user, 409 for one that is not active or does not sign in. */
  invite(userId: string, acting: Acting, beside?: Beside<NewInvitation>): Promise<NewInvitation>;
  /** Whom the token invites; null where it is wrong, used, expired or replaced, or the user is not active. */
  find(token: string): Promise<User | null>;
  /**
   * Sets the password and uses the invitation up; of several at the same time one wins. Throws 404 as `find` answers null,
   * 400 naming `password` or `passwordAgain`, and 503 where too many passwords wait; these two leave the invitation as it was.
   */
  accept(token: string, chosen: ChosenPassword): Promise<void>;
};

export const INVITATIONS_PATH = '/invitations';

/** The link itself: where a service that is reached at `publicUrl` lets a user set a password. */
export function invitationUrl(publicUrl: string, token: string): string {
  return `${publicUrl}${INVITATIONS_PATH}/${token}`;
}

type Dependencies = { readonly store: Store; readonly clock: Clock; readonly ids: Ids; readonly random: Random };

export function createInvitations({ store, clock, ids, random }: Dependencies): Invitations {
  const find = async (token: string): Promise<User | null> =>
    credentialBytes('spi', token) === null ? null : store.invitations.find(hashCredential(token), clock());

  const set = async (token: string, password: string): Promise<void> => {
    if ((await find(token)) === null) refuseUnusable();
    const passwordHash = await hashPassword(password, random);
    await retryStale(async () => {
      // Read again: hashing took a while, and another process may have used or replaced the invitation.
      const before = (await find(token)) ?? refuseUnusable();
      const now = clock();
      const updatedAt = Math.max(now, before.updatedAt + 1);
      const changes = changesBetween({ passwordHash: before.passwordHash }, { passwordHash });
      const audit = entry('user.set-password', `user:${before.id}`, before, updatedAt, changes);
      await store.invitations.use(
        { tokenHash: hashCredential(token), now },
        { before, passwordHash, updatedAt },
        audit,
      );
    });
  };

  /** Whose password is being set, by its token: the end of the last one. */
  const underWay = new Map<string, Promise<void>>();
  /**
   * One after the other for each invitation, whose next one finds it used: sent a thousand times at once, a link costs one hash, and
   * keeps nobody else's password waiting for longer.
   */
  const inTurn = (token: string, work: () => Promise<void>): Promise<void> => {
    const done = (underWay.get(token) ?? Promise.resolve()).then(work);
    const end: Promise<void> = done
      .catch(() => undefined)
      .then(() => {
        if (underWay.get(token) === end) underWay.delete(token);
      });
    underWay.set(token, end);
    return done;
  };

  const entry = (
    action: AuditAction,
    actor: Actor,
    user: User,
    at: number,
    changes: AuditEntry['changes'],
  ): AuditEntry => ({
    id: ids.uuid(),
    at,
    actor,
    action,
    target: `user:${user.id}`,
    changes,
  });

  return {
    find,
    invite: (userId, acting, beside = () => []) =>
      retryStale(async () => {
        const user = isUuidV7(userId) ? await store.users.get(userId) : null;
        if (user === null) throw new Refusal('not_found', `there is no user ${userId.slice(0, 64)}`);
        refuseChanged(acting.ifMatch, viewUser(user), 'user');
        if (!user.active) throw new Refusal('invalid_state', `the user ${user.userName} is not active`);
        requireRightsOfUser(acting, user);
        if (user.role === 'service') throw new Refusal('invalid_state', signsInNowhere(user));
        const token = mintCredential('spi', random);
        const now = clock();
        const expiresAt = now + INVITATION_MS;
        const audit = entry(
          'user.invite',
          acting.actor,
          user,
          now,
          changesBetween(null, { invitationExpiresAt: expiresAt }),
        );
        const made: NewInvitation = { token, expiresAt };
        const invitation = { userId, tokenHash: hashCredential(token), createdAt: now, expiresAt };
        await store.invitations.put(invitation, user, audit, beside(made));
        return made;
      }),
    accept: async (token, { password, passwordAgain }) => {
      const invited = (await find(token)) ?? refuseUnusable();
      const problem = passwordProblem(password, invited.userName);
      if (problem !== null) throw refuseField('password', problem);
      if (passwordAgain !== password) throw refuseField('passwordAgain', 'is not the same');
      await inTurn(token, () => set(token, password));
    },
  };
}

function signsInNowhere({ userName, role }: User): string {
  return `the user ${userName} has the role ${role}, which does not sign in: give it viewer, operator or administrator first`;
}

function refuseUnusable(): never {
  throw new Refusal('not_found', 'this invitation cannot be used');
}

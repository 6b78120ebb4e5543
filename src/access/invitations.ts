/** Invitations: links that let a user set a password, valid once and for 72 hours. */

import { z } from 'zod';
import type { Acting } from '../domain/acting.ts';
import { type Actor, type AuditAction, type AuditEntry, auditEntry, changesBetween } from '../domain/audit.ts';
import { offeredScopes } from '../domain/catalogue.ts';
import { credentialBytes, hashCredential, mintCredential } from '../domain/credential.ts';
import type { User } from '../domain/user.ts';
import { type Clock, type Ids, isUuidV7, type Random } from '../kernel/ids.ts';
import { Refusal, refuseField } from '../kernel/refusal.ts';
import { instant, isoInstant } from '../kernel/schemas.ts';
import { refuseChanged } from '../resources/entity-tag.ts';
import type { AccessVerbs } from '../store/port/access.ts';
import type { CustomerVerbs } from '../store/port/customers.ts';
import { retryStale } from '../store/port/errors.ts';
import type { Beside } from '../store/port/resource.ts';
import { requireRightsOfUser } from './containment.ts';
import { INVITATION_MS } from './limits.ts';
import { hashPassword, passwordProblem } from './password.ts';
import { viewUser } from './users.ts';

/** The token is never shown again. Anyone who has it can set the user's password. */
export type NewInvitation = { readonly token: string; readonly expiresAt: number };
export type ChosenPassword = { readonly password: string; readonly passwordAgain: string };

export type Invitations = {
  /** Replaces the user's earlier invitation. Throws 404 for an unknown user, and 409 for a user that is inactive or cannot sign in. */
  invite(userId: string, acting: Acting, beside?: Beside<NewInvitation>): Promise<NewInvitation>;
  /** The invited user, or null if the token is wrong, used, expired or replaced, or the user is inactive. */
  find(token: string): Promise<User | null>;
  /** Whose user the token invites or has invited, as `ownerOf` of `InvitationStore`. */
  ownerOf(token: string): Promise<string | null | undefined>;
  /**
   * Sets the password, consumes the invitation, and ends the user's sessions. Returns the user with the new password. Of several concurrent
   * calls one succeeds. Throws 404 if `find` returns null, 400 naming
   * `password` or `passwordAgain`, and 503 if too many passwords are waiting. 400 and 503 leave the invitation valid.
   */
  accept(token: string, chosen: ChosenPassword): Promise<User>;
};

export const INVITATIONS_PATH = '/invitations';

/** The link of an invitation, for a service with the address `publicUrl`. */
export function invitationUrl(publicUrl: string, token: string): string {
  return `${publicUrl}${INVITATIONS_PATH}/${token}`;
}

export const invitationView = z
  .object({
    url: z.string().meta({ format: 'uri', description: 'Shown only once. Anyone who has it can set the password.' }),
    expiresAt: instant,
  })
  .meta({ id: 'Invitation', description: 'A one-time link by which a user sets a password.' });

export function viewInvitation(publicUrl: string, made: NewInvitation): z.infer<typeof invitationView> {
  return { url: invitationUrl(publicUrl, made.token), expiresAt: isoInstant(made.expiresAt) };
}

type Dependencies = {
  readonly store: AccessVerbs & CustomerVerbs;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly random: Random;
};

export function createInvitations({ store, clock, ids, random }: Dependencies): Invitations {
  const find = async (token: string): Promise<User | null> =>
    credentialBytes('spi', token) === null ? null : store.invitations.find(hashCredential(token), clock());

  const set = async (token: string, password: string): Promise<User> => {
    const { id, customerId } = (await find(token)) ?? refuseUnusable();
    const passwordHash = await hashPassword(password, random, customerId ?? id);
    return retryStale(async () => {
      // Read again: another process may have used or replaced the invitation while the password was hashed.
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
      return { ...before, passwordHash, updatedAt };
    });
  };

  /** The last call of `accept` that is in progress, by token. */
  const inProgress = new Map<string, Promise<unknown>>();
  /**
   * Runs the calls for one invitation one after the other. All but the first find it used. So a link that is opened a thousand times in
   * parallel costs one hash and does not delay other users.
   */
  const inTurn = (token: string, work: () => Promise<User>): Promise<User> => {
    const done = (inProgress.get(token) ?? Promise.resolve()).then(work);
    const end: Promise<unknown> = done
      .catch(() => undefined)
      .then(() => {
        if (inProgress.get(token) === end) inProgress.delete(token);
      });
    inProgress.set(token, end);
    return done;
  };

  const entry = (
    action: AuditAction,
    actor: Actor,
    user: User,
    at: number,
    changes: AuditEntry['changes'],
  ): AuditEntry => auditEntry(ids, actor, action, `user:${user.id}`, { at, customerId: user.customerId, changes });

  return {
    find,
    ownerOf: async (token) =>
      credentialBytes('spi', token) === null ? undefined : store.invitations.ownerOf(hashCredential(token)),
    invite: (userId, acting, beside = () => []) =>
      retryStale(async () => {
        const user = isUuidV7(userId) ? await store.users.get(userId) : null;
        if (user === null) throw new Refusal('not_found', `there is no user ${userId.slice(0, 64)}`);
        refuseChanged(acting.ifMatch, viewUser(user), 'user');
        if (!user.active) throw new Refusal('invalid_state', `the user ${user.userName} is not active`);
        const customer = user.customerId === null ? null : await store.customers.get(user.customerId);
        if (customer?.active === false)
          throw new Refusal('invalid_state', `the customer ${customer.name} is suspended`);
        requireRightsOfUser(acting, user, offeredScopes(await store.products.all()));
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
      if (passwordAgain !== password) throw refuseField('passwordAgain', 'does not match');
      return inTurn(token, () => set(token, password));
    },
  };
}

function signsInNowhere({ userName, role }: User): string {
  return `the user ${userName} has the role ${role}, which does not sign in: give it viewer, operator or administrator first`;
}

function refuseUnusable(): never {
  throw new Refusal('not_found', 'this invitation cannot be used');
}

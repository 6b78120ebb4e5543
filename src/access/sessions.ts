/**
 * Sessions of the portal: begun with a password or a passkey, kept by a cookie whose hash is stored, over after half an hour
 * without a request and after twelve hours in any case (OWASP ASVS 5.0, 7.3), and ended by whatever takes the account's access
 * away.
 */

import type { Clock, Ids, Random } from '../kernel/ids.ts';
import { SESSION_MS, SESSION_SEEN_EVERY_MS, USER_AGENT_KEPT_LENGTH } from '../kernel/limits/portal.ts';
import { Refusal, refuseField } from '../kernel/refusal.ts';
import type { Acting } from '../resources/acting.ts';
import { type Actor, type AuditAction, type AuditEntry, changesBetween } from '../resources/audit.ts';
import { DatabaseUnavailable, retryStale } from '../store/errors.ts';
import type { Store } from '../store/store.ts';
import { requireRightsOfUser } from './containment.ts';
import { hashCredential } from './credential.ts';
import type { ChosenPassword } from './invitations.ts';
import { hashPassword, passwordProblem, verifyPassword } from './password.ts';
import type { PortalRole, Session, SignedIn, SignInMethod, User } from './user.ts';

/** Where a session begins. */
export type Visitor = { readonly address: string; readonly userAgent: string };
/** The token is in the clear this once: it goes into the cookie. */
export type NewSession = { readonly token: string; readonly session: Session };

export type Sessions = {
  /**
   * A session for whoever knows the password, or null: the same answer after the same time for an unknown user, a wrong password,
   * an account that is not active and one that cannot sign in. Throws 503 where too many wait to have theirs checked.
   */
  signIn(credentials: { userName: string; password: string }, visitor: Visitor): Promise<NewSession | null>;
  /** Begins a session for a user that has proved who it is; null where it may not sign in. */
  begin(user: User, method: SignInMethod, visitor: Visitor): Promise<NewSession | null>;
  /** The session in force that a cookie's token stands for. Notes that it was used, unless `isBackground`: then it may run out. */
  find(token: string, isBackground: boolean): Promise<SignedIn | null>;
  ofUser(userId: string): Promise<Session[]>;
  /** Ends one of the user's own sessions; one that is over already is no error. */
  end(userId: string, sessionId: string): Promise<void>;
  /** Ends all sessions of a user, this one too. The user or an administrator acts. */
  endAll(userId: string, acting: Acting): Promise<void>;
  /** Makes sure that whoever sits there is the account's owner. Throws 400 naming `field`, and 503 as `signIn`. */
  confirm(userId: string, password: string, field: string): Promise<Confirmed>;
  /**
   * Changes one's own password and ends one's other sessions. Throws 400 naming `password` or `passwordAgain`, and `currentPassword`
   * where the one that was confirmed is it no more.
   */
  changePassword(session: Session, confirmed: Confirmed, chosen: ChosenPassword): Promise<void>;
};

/** That a user's password was typed: the hash that it was found to be of. */
export type Confirmed = { readonly passwordHash: string };

const TOKEN_BYTES = 32;
const TOKEN = /^[A-Za-z0-9_-]{43}$/;

type Dependencies = { readonly store: Store; readonly clock: Clock; readonly ids: Ids; readonly random: Random };

export function createSessions({ store, clock, ids, random }: Dependencies): Sessions {
  /** Of what users do to their own accounts. */
  const entry = (action: AuditAction, userId: string, at: number, changes: AuditEntry['changes'] = {}): AuditEntry => {
    const actor: Actor = `user:${userId}`;
    return { id: ids.uuid(), at, actor, action, target: actor, changes };
  };

  const begin: Sessions['begin'] = (user, method, { address, userAgent }) =>
    retryStale(async () => {
      // Read again: checking a password takes a while, and the account may have changed meanwhile.
      const current = await store.users.get(user.id);
      if (current === null || current.passwordHash !== user.passwordHash || !maySignIn(current)) return null;
      const token = Buffer.from(random(TOKEN_BYTES)).toString('base64url');
      const now = clock();
      const session: Session = {
        id: ids.uuid(),
        userId: current.id,
        tokenHash: hashCredential(token),
        role: current.role,
        method,
        address,
        userAgent: userAgent.slice(0, USER_AGENT_KEPT_LENGTH),
        createdAt: now,
        seenAt: now,
        expiresAt: now + SESSION_MS,
      };
      const changes = { session: { from: null, to: { id: session.id, method, address } } };
      await store.sessions.begin(session, current, entry('user.sign-in', current.id, now, changes));
      return { token, session };
    });

  return {
    begin,
    signIn: async ({ userName, password }, visitor) => {
      const user = await store.users.getByName(userName);
      const isKnown = await verifyPassword(password, user?.passwordHash ?? null);
      return isKnown && user !== null ? begin(user, 'password', visitor) : null;
    },
    find: async (token, isBackground) => {
      if (!TOKEN.test(token)) return null;
      const now = clock();
      const session = await store.sessions.find(hashCredential(token), now);
      if (session !== null && !isBackground && now - session.seenAt >= SESSION_SEEN_EVERY_MS) {
        await store.sessions.touch(session.id, now).catch((error: unknown) => {
          // Pages can still be read; the next request notes it.
          if (!(error instanceof DatabaseUnavailable)) throw error;
        });
      }
      return session;
    },
    ofUser: (userId) => store.sessions.ofUser(userId, clock()),
    end: async (userId, sessionId) => {
      const mine = await store.sessions.ofUser(userId, clock());
      if (!mine.some(({ id }) => id === sessionId)) return;
      await store.sessions.end({ id: sessionId, userId }, entry('user.sign-out', userId, clock(), ended(sessionId)));
    },
    endAll: async (userId, acting) => {
      const { actor } = acting;
      const user = await store.users.get(userId);
      if (user !== null) requireRightsOfUser(acting, user);
      await store.sessions.endAll(userId, null, { ...entry('user.sign-out-everywhere', userId, clock()), actor });
    },
    confirm: async (userId, password, field) => {
      const user = await store.users.get(userId);
      const passwordHash = user?.passwordHash ?? null;
      const isRight = await verifyPassword(password, passwordHash);
      if (!isRight || passwordHash === null) throw refuseField(field, 'is not right');
      return { passwordHash };
    },
    changePassword: async (session, confirmed, { password, passwordAgain }) => {
      const user = await store.users.get(session.userId);
      if (user === null) throw new Refusal('not_found', 'there is no such user any more');
      const problem = passwordProblem(password, user.userName);
      if (problem !== null) throw refuseField('password', problem);
      if (passwordAgain !== password) throw refuseField('passwordAgain', 'is not the same');
      const passwordHash = await hashPassword(password, random);
      await retryStale(async () => {
        const before = await store.users.get(session.userId);
        // Somebody else set another one meanwhile: what was typed as the current one is not.
        if (before?.passwordHash !== confirmed.passwordHash) throw refuseField('currentPassword', 'is not right');
        const updatedAt = Math.max(clock(), before.updatedAt + 1);
        const changes = changesBetween({ passwordHash: before.passwordHash }, { passwordHash });
        await store.sessions.setPassword(
          { before, passwordHash, updatedAt, keep: session.id },
          entry('user.set-password', before.id, updatedAt, changes),
        );
      });
    },
  };
}

/** The user of a session acts, with its role and permissions as they are now. */
export function actingInPortal({ userId, userName, role, permissions, constraints }: SignedIn): Acting {
  const authority = { through: 'session', userName, role, permissions, constraints, scopes: [] } as const;
  return { actor: `user:${userId}`, authority };
}

function maySignIn(user: User): user is User & { readonly role: PortalRole } {
  return user.active && user.role !== 'service';
}

function ended(sessionId: string): AuditEntry['changes'] {
  return { session: { from: { id: sessionId }, to: null } };
}

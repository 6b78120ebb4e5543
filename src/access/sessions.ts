/**
 * Sessions of the portal. They begin with a password or a passkey, and a cookie identifies them by its hash. They end after half an hour
 * without a request, after twelve hours at the latest (OWASP ASVS 5.0, 7.3), and when the account loses its access.
 */

import type { Acting } from '../domain/acting.ts';
import { type Actor, type AuditAction, type AuditEntry, auditEntry, changesBetween } from '../domain/audit.ts';
import { offeredScopes } from '../domain/catalogue.ts';
import { hashCredential } from '../domain/credential.ts';
import {
  type PortalRole,
  SESSION_MS,
  type Session,
  type SignedIn,
  type SignInMethod,
  type User,
} from '../domain/user.ts';
import type { Clock, Ids, Random } from '../kernel/ids.ts';
import { Refusal, refuseField } from '../kernel/refusal.ts';
import type { AccessVerbs } from '../store/port/access.ts';
import type { CustomerVerbs } from '../store/port/customers.ts';
import { DatabaseUnavailable, retryStale } from '../store/port/errors.ts';
import { requireRightsOfUser } from './containment.ts';
import type { ChosenPassword } from './invitations.ts';
import { hashPassword, passwordProblem, verifyPassword } from './password.ts';

/** Characters of a browser's `User-Agent` that a session keeps. */
export const USER_AGENT_KEPT_LENGTH = 300;

/** How exactly the time of the last request of a session is kept. To record each request would need a write for each. */
export const SESSION_SEEN_EVERY_MS = 60_000;

/** The client that begins a session. */
export type Visitor = { readonly address: string; readonly userAgent: string };
/** The token goes into the cookie. Only its hash is stored. */
export type NewSession = { readonly token: string; readonly session: Session };

export type Sessions = {
  /**
   * Begins a session of a user of the operator (`customerId` null) or of a customer if the password is right. Returns null after the same
   * time for an unknown user, a wrong password, an inactive account and one that cannot sign in. `network`: the visitor's, whose share of
   * password checks counts. Throws 429 or 503 if too many passwords wait.
   */
  signIn(
    credentials: { customerId: string | null; userName: string; password: string },
    visitor: Visitor,
    network?: string,
  ): Promise<NewSession | null>;
  /** Begins a session for an authenticated user. Returns null if the user may not sign in. */
  begin(user: User, method: SignInMethod, visitor: Visitor): Promise<NewSession | null>;
  /** The valid session of a cookie's token, or null. Extends it unless the request is a background one. */
  find(token: string, isBackground: boolean): Promise<SignedIn | null>;
  ofUser(userId: string): Promise<Session[]>;
  /** Ends the current session, even if it began with a link. */
  signOut(session: Pick<Session, 'id' | 'userId' | 'customerId'>, opener?: string | null): Promise<void>;
  /** Ends one of the user's sessions. One that has ended already is not an error. */
  end(userId: string, sessionId: string): Promise<void>;
  /** Ends all sessions of a user, the current one too. Called by the user or an administrator. */
  endAll(userId: string, acting: Acting): Promise<void>;
  /** Checks the account's password again. Throws 400 naming `field`, and like `signIn`. */
  confirm(userId: string, password: string, field: string): Promise<Confirmed>;
  /**
   * Changes the user's own password and ends the user's other sessions. Throws 400 naming `password` or `passwordAgain`, or
   * `currentPassword` if the confirmed password has changed since.
   */
  changePassword(session: Session, confirmed: Confirmed, chosen: ChosenPassword): Promise<void>;
};

/** Proof that a user's password was entered: the hash that it matched. */
type Confirmed = { readonly passwordHash: string };

type Dependencies = {
  readonly store: AccessVerbs & CustomerVerbs;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly random: Random;
};

export function createSessions(dependencies: Dependencies): Sessions {
  const { store, clock, ids } = dependencies;
  const begin: Sessions['begin'] = (user, method, visitor) =>
    retryStale(() => beginSession(dependencies, user, method, visitor));
  return {
    begin,
    signIn: async ({ customerId, userName, password }, visitor, network = visitor.address) => {
      const user = await store.users.getByName(customerId, userName);
      const isKnown = await verifyPassword(password, user?.passwordHash ?? null, network);
      return isKnown && user !== null ? begin(user, 'password', visitor) : null;
    },
    find: async (token, isBackground) => {
      if (!isSessionToken(token)) return null;
      const now = clock();
      const stored = await store.sessions.find(hashCredential(token), now);
      const session = stored?.method === 'token' ? null : stored;
      if (session !== null && !isBackground && now - session.seenAt >= SESSION_SEEN_EVERY_MS) {
        await store.sessions.touch(session.id, now).catch((error: unknown) => {
          // The page can still be shown. The next request extends the session.
          if (!(error instanceof DatabaseUnavailable)) throw error;
        });
      }
      return session;
    },
    ofUser: (userId) => store.sessions.ofUser(userId, clock()),
    signOut: async ({ id, userId, customerId }, opener = null) => {
      const by = opener ?? userId;
      const actor: Actor = by === null ? `portal-link:${id}` : `user:${by}`;
      const target = userId === null ? `customer:${customerId}` : `user:${userId}`;
      const audit = auditEntry(ids, actor, 'user.sign-out', target, { at: clock(), customerId });
      await store.sessions.end({ id, userId }, { ...audit, changes: ended(id) });
    },
    end: async (userId, sessionId) => {
      const mine = await store.sessions.ofUser(userId, clock());
      const session = mine.find(({ id }) => id === sessionId);
      if (session === undefined) return;
      const { customerId } = session;
      const change = { at: clock(), changes: ended(sessionId) };
      const audit = ownChange(ids, 'user.sign-out', { id: userId, customerId }, change);
      await store.sessions.end({ id: sessionId, userId }, audit);
    },
    endAll: async (userId, acting) => {
      const { actor } = acting;
      const user = await store.users.get(userId);
      if (user === null || !isWithin(acting, user)) return;
      requireRightsOfUser(acting, user, offeredScopes(await store.products.all()));
      const audit = ownChange(ids, 'user.sign-out-everywhere', user, { at: clock() });
      await store.sessions.endAll(userId, null, { ...audit, actor });
    },
    confirm: async (userId, password, field) => {
      const user = await store.users.get(userId);
      const passwordHash = user?.passwordHash ?? null;
      const isRight = await verifyPassword(password, passwordHash, user?.customerId ?? userId);
      if (!isRight || passwordHash === null) throw refuseField(field, 'is wrong');
      return { passwordHash };
    },
    changePassword: (session, confirmed, chosen) => changePassword(dependencies, session, confirmed, chosen),
  };
}

/** The audit entry for a change by a user to their own account. */
function ownChange(
  ids: Ids,
  action: AuditAction,
  { id, customerId }: Pick<User, 'id' | 'customerId'>,
  { at, changes = {} }: { readonly at: number; readonly changes?: AuditEntry['changes'] },
): AuditEntry {
  const actor: Actor = `user:${id}`;
  return auditEntry(ids, actor, action, actor, { at, customerId, changes });
}

/** Throws `StaleWrite` if the account changed in the meantime. */
async function beginSession(
  { store, clock, ids, random }: Dependencies,
  user: User,
  method: SignInMethod,
  { address, userAgent }: Visitor,
): Promise<NewSession | null> {
  // Read again: the account may have changed while the password was checked.
  const current = await store.users.get(user.id);
  if (current === null || current.passwordHash !== user.passwordHash || !maySignIn(current)) return null;
  const { customerId } = current;
  if (customerId !== null && (await store.customers.get(customerId))?.active !== true) return null;
  const token = newSessionToken(random);
  const now = clock();
  const session = {
    id: ids.uuid(),
    userId: current.id,
    customerId,
    tokenHash: hashCredential(token),
    role: current.role,
    method,
    address,
    userAgent: userAgent.slice(0, USER_AGENT_KEPT_LENGTH),
    returnUrl: null,
    createdAt: now,
    seenAt: now,
    expiresAt: now + SESSION_MS,
  };
  const changes = { session: { from: null, to: { id: session.id, method, address } } };
  await store.sessions.begin(session, current, ownChange(ids, 'user.sign-in', current, { at: now, changes }));
  return { token, session };
}

async function changePassword(
  { store, clock, ids, random }: Dependencies,
  session: Session,
  confirmed: Confirmed,
  { password, passwordAgain }: ChosenPassword,
): Promise<void> {
  const { userId } = session;
  const user = userId === null ? null : await store.users.get(userId);
  if (user === null) throw new Refusal('not_found', 'the user no longer exists');
  const problem = passwordProblem(password, user.userName);
  if (problem !== null) throw refuseField('password', problem);
  if (passwordAgain !== password) throw refuseField('passwordAgain', 'does not match');
  const passwordHash = await hashPassword(password, random, user.customerId ?? user.id);
  await retryStale(async () => {
    const before = await store.users.get(user.id);
    // The password was changed since, so the one entered as the current one is wrong.
    if (before?.passwordHash !== confirmed.passwordHash) throw refuseField('currentPassword', 'is wrong');
    const updatedAt = Math.max(clock(), before.updatedAt + 1);
    const changes = changesBetween({ passwordHash: before.passwordHash }, { passwordHash });
    await store.sessions.setPassword(
      { before, passwordHash, updatedAt, keep: session.id },
      ownChange(ids, 'user.set-password', before, { at: updatedAt, changes }),
    );
  });
}

const TOKEN_BYTES = 32;
const TOKEN = /^[A-Za-z0-9_-]{43}$/;

/** The token of a session or of a link that begins one. */
export function newSessionToken(random: Random): string {
  return Buffer.from(random(TOKEN_BYTES)).toString('base64url');
}

/** Whether it has the form of such a token. */
export function isSessionToken(text: string): boolean {
  return TOKEN.test(text);
}

/**
 * The authority of a session: the current role and permissions of its user. `offered`: the scopes that the operator offers to customers,
 * which an administrator of a customer holds. `opener`: the user of the operator who looks at the portal of a customer, and is the actor
 * there.
 */
export function actingInPortal(session: SignedIn, offered: readonly string[], opener: string | null): Acting {
  const { id, userId, customerId, userName, role, permissions, constraints } = session;
  const held = customerId !== null && role === 'administrator' ? offered : permissions;
  const scopes = customerId === null ? [] : held;
  const authority = { through: 'session', customerId, userName, role, permissions: held, constraints, scopes } as const;
  const by = opener ?? userId;
  return { actor: by === null ? `portal-link:${id}` : `user:${by}`, authority };
}

/** Sessions are shared by all customers: a customer's administrator ends only those of its own users. */
function isWithin({ authority }: Acting, { customerId }: User): boolean {
  return authority === 'unlimited' || authority.customerId === null || authority.customerId === customerId;
}

function maySignIn(user: User): user is User & { readonly role: PortalRole } {
  return user.active && user.role !== 'service';
}

function ended(sessionId: string): AuditEntry['changes'] {
  return { session: { from: { id: sessionId }, to: null } };
}

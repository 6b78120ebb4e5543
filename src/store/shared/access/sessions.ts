/** Portal sessions (`session`). */

import {
  type Constraints,
  type PortalRole,
  SESSION_IDLE_MS,
  type Session,
  type SignedIn,
  type SignInMethod,
} from '../../../domain/user.ts';
import type { PasswordChange, SessionStore } from '../../port/access.ts';
import type { Database, Row, Statement } from '../../port/database.ts';
import { auditStatement } from '../audit.ts';
import {
  bytes,
  customer,
  number,
  oneOf,
  requireActive,
  type Table,
  table,
  text,
  textOrNull,
  unchanged,
} from '../table.ts';
import type { AccessVersion } from './tokens.ts';

/** Sessions per account; the oldest goes first. */
export const SESSIONS_PER_USER_MAX = 50;
const SESSIONS_PURGED_AT_ONCE = 100;

const SESSION: Table<Session> = table<Session>('session', 'id', {
  id: text,
  userId: textOrNull,
  customerId: customer,
  tokenHash: bytes,
  role: oneOf<PortalRole>(),
  method: oneOf<SignInMethod>(),
  address: text,
  userAgent: text,
  returnUrl: textOrNull,
  createdAt: number,
  seenAt: number,
  expiresAt: number,
});

// A session that began with a link lasts as long as the link says, also while nobody uses it.
const IN_FORCE = `s.expires_at > @now AND c.active
  AND CASE WHEN s.user_id IS NULL THEN s.method IN ('link', 'token') ELSE s.seen_at > @idleSince AND u.active AND u.role = s.role END`;
const FIND = `
  SELECT ${SESSION.columns('s')}, c.name AS customer_name, u.user_name, u.display_name, u.permissions, u.constraints
  FROM session AS s JOIN customer AS c ON c.id = s.customer_id LEFT JOIN user_account AS u ON u.id = s.user_id
  WHERE s.token_hash = @tokenHash AND ${IN_FORCE}`;
const OF_USER = `
  SELECT ${SESSION.columns('s')} FROM session AS s JOIN user_account AS u ON u.id = s.user_id JOIN customer AS c ON c.id = s.customer_id
  WHERE s.user_id = @userId AND ${IN_FORCE} ORDER BY s.seen_at DESC, s.id DESC`;
const TOUCH = 'UPDATE session SET seen_at = greatest(seen_at, @seenAt) WHERE id = @id';
const END = 'DELETE FROM session WHERE id = @id AND coalesce(user_id, id) = coalesce(@userId, id)';
const END_OTHERS = 'DELETE FROM session WHERE user_id = @userId AND id <> @keep';
const END_OLDEST = `
  DELETE FROM session WHERE id IN (
    SELECT id FROM session WHERE user_id = @userId ORDER BY seen_at DESC, id DESC
    LIMIT ${Number.MAX_SAFE_INTEGER} OFFSET ${SESSIONS_PER_USER_MAX})`;
// Index: session_expiry.
const PURGE = `
  DELETE FROM session WHERE id IN (SELECT id FROM session WHERE expires_at <= @now LIMIT ${SESSIONS_PURGED_AT_ONCE})`;
const SET_PASSWORD = `
  UPDATE user_account SET password_hash = @passwordHash, updated_at = @updatedAt
  WHERE id = @id AND updated_at = @before AND active`;

/** Ends all sessions of a user except `keep`. */
export function endSessions(userId: string, keep = ''): Statement {
  return { sql: END_OTHERS, params: { userId, keep } };
}

/** Writes a new password and ends all sessions of the user except `keep`. */
export function passwordStatements({ before, passwordHash, updatedAt }: PasswordChange, keep?: string): Statement[] {
  const { id } = before;
  return [
    { sql: SET_PASSWORD, params: { id, passwordHash, updatedAt, before: before.updatedAt }, expectChanges: 1 },
    endSessions(id, keep),
  ];
}

/** The user name of a session that began with a link. */
const LINK_NAME = 'portal link';

/** Begins a session in the transaction that uses its link. */
export function sessionStatements(session: Session): Statement[] {
  return [{ sql: PURGE, params: { now: session.createdAt } }, SESSION.insert(session)];
}

export function sessionStore(db: Database, access: Pick<AccessVersion, 'current' | 'subscribe'>): SessionStore {
  return {
    version: access.current,
    subscribe: access.subscribe,
    begin: async (session, user, audit) => {
      await db.commit([
        ...requireActive(user.customerId),
        // A user who was deactivated since the sign-in was decided gets no session.
        unchanged('user_account', user),
        ...sessionStatements(session),
        { sql: END_OLDEST, params: { userId: user.id } },
        auditStatement(audit),
      ]);
    },
    find: async (tokenHash, now) => {
      const row = await db.get(FIND, { tokenHash, ...inForceAt(now) });
      return row === undefined ? null : readSignedIn(row);
    },
    ofUser: async (userId, now) => (await db.all(OF_USER, { userId, ...inForceAt(now) })).map(SESSION.read),
    touch: async (id, seenAt) => void (await db.commit([{ sql: TOUCH, params: { id, seenAt } }])),
    end: async ({ id, userId }, audit) =>
      void (await db.commit([{ sql: END, params: { id, userId } }, auditStatement(audit)])),
    endAll: async (userId, keep, audit) =>
      void (await db.commit([endSessions(userId, keep ?? ''), auditStatement(audit)])),
    setPassword: async ({ keep, ...change }, audit) =>
      void (await db.commit([...passwordStatements(change, keep), auditStatement(audit)])),
  };
}

function inForceAt(now: number): { now: number; idleSince: number } {
  return { now, idleSince: now - SESSION_IDLE_MS };
}

function readSignedIn(row: Row): SignedIn {
  return {
    ...SESSION.read(row),
    customerName: String(row.customer_name),
    userName: String(row.user_name ?? LINK_NAME),
    displayName: (row.display_name ?? null) as string | null,
    permissions: JSON.parse(String(row.permissions ?? '[]')) as readonly string[],
    constraints: JSON.parse(String(row.constraints ?? '{}')) as Constraints,
  };
}

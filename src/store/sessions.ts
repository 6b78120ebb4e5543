/** Who is signed in to the portal (`session`). */
import type { Session, SignedIn } from '../access/session.ts';
import type { User } from '../access/user.ts';
import type { AuditEntry } from '../resources/audit.ts';

export type SessionStore = {
  /** Begins a session of `user` as it was read, and takes some expired ones away. Throws `StaleWrite` where the user has changed. */
  begin(session: Session, user: User, audit: AuditEntry): Promise<void>;
  /** The session that is in force with this token. */
  find(tokenHash: Uint8Array, now: number): Promise<SignedIn | null>;
  /** A user's sessions that are in force, the one used last first. */
  ofUser(userId: string, now: number): Promise<Session[]>;
  /** While this stays the same number, a session that was found is in force until it runs out. Read it before. */
  version(): number;
  /** Calls back whenever this process may have ended a session. Returns the way to stop that. */
  subscribe(onEnded: () => void): () => void;
  /** Notes that the session was used. */
  touch(id: string, seenAt: number): Promise<void>;
  end(session: Pick<Session, 'id' | 'userId'>, audit: AuditEntry): Promise<void>;
  /** Ends all of a user's sessions; but for `keep`, where that is given. */
  endAll(userId: string, keep: string | null, audit: AuditEntry): Promise<void>;
  /** Writes a new password and ends every session but `keep`. Throws `StaleWrite` where the user has changed since `before` was read. */
  setPassword(
    change: { readonly before: User; readonly passwordHash: string; readonly updatedAt: number; readonly keep: string },
    audit: AuditEntry,
  ): Promise<void>;
};

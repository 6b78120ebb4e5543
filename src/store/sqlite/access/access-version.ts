/**
 * Tells whether tokens, applications, users and sessions may have changed. While they have not, what was read of them may be used
 * again; once they have, the next request reads them anew.
 */
import { setImmediate as atTurnsEnd } from 'node:timers';
import type { Database, Statement } from '../driver/database.ts';

export type AccessVersion = {
  /** The same database; what is written through it is noticed here before whoever wrote it hears that it is durable. */
  readonly db: Database;
  /**
   * Another number than before once anything that a token's grant is made of may have been written, or a session may have ended, by
   * this process or another.
   * Other processes' writes are looked for once in a turn of the event loop, and in a long turn every millisecond: what is read
   * from sockets in a turn had begun to arrive before it.
   */
  current(): number;
  /** Calls back after each such write of this process. Returns the way to stop that. */
  subscribe(onWritten: () => void): () => void;
};

/** Writes to what a grant is read from, and ends of sessions. A new token changes none that was issued before. */
const WRITES_GRANTS =
  /^\s*(?:(?:UPDATE|DELETE\s+FROM|INSERT\s+INTO|REPLACE\s+INTO)\s+(?:application|user_account|access_token)|DELETE\s+FROM\s+session)\b/i;
const ISSUES_TOKEN = /^\s*INSERT\s+INTO\s+access_token\b/i;

/** Kept by triggers. To ask costs 2 µs. */
const WRITTEN = 'SELECT value FROM access_version';
const ASKED_EVERY_MS = 1;

export function watchAccess(db: Database): AccessVersion {
  const known = new Map<string, boolean>();
  const writesGrants = ({ sql }: Statement): boolean => {
    const found = known.get(sql);
    if (found !== undefined) return found;
    const writes = WRITES_GRANTS.test(sql) && !ISSUES_TOKEN.test(sql);
    known.set(sql, writes);
    return writes;
  };

  const subscribers = new Set<() => void>();
  let version = 0;
  let written: unknown;
  let askedAt = Number.NEGATIVE_INFINITY;
  let isTurnsEndAwaited = false;
  const endTurn = (): void => {
    isTurnsEndAwaited = false;
    askedAt = Number.NEGATIVE_INFINITY;
  };

  return {
    db: {
      ...db,
      commit: (statements, onWritten) => {
        const committed = db.commit(statements, onWritten);
        if (!statements.some(writesGrants)) return committed;
        // Where it fails too: not every failure says that nothing was written.
        return committed.finally(() => {
          version += 1;
          for (const onWritten of subscribers) onWritten();
        });
      },
    },
    current: () => {
      const now = performance.now();
      if (now - askedAt < ASKED_EVERY_MS) return version;
      askedAt = now;
      if (!isTurnsEndAwaited) atTurnsEnd(endTurn);
      isTurnsEndAwaited = true;
      // Costs nothing where nobody has read before in this turn, and otherwise a read transaction more, some 2 µs a millisecond.
      db.readAnew();
      const row = db.get(WRITTEN, {}) as { readonly value: unknown };
      if (row.value !== written) version += 1;
      written = row.value;
      return version;
    },
    subscribe: (onWritten) => {
      subscribers.add(onWritten);
      return () => void subscribers.delete(onWritten);
    },
  };
}

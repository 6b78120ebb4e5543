/** Access tokens on SQLite (`access_token`), each with its own statement, and whether grants may have changed. */

import { setImmediate as atTurnsEnd } from 'node:timers';
import type { TokenStore } from '../port/access.ts';
import type { Database } from '../port/database.ts';
import { type AccessVersion, grantsOf, readGrant, tokenStore as sharedTokenStore } from '../shared/access/tokens.ts';
import type { SqliteDatabase } from './driver/sqlite.ts';

const INSERT = `
  INSERT INTO access_token (key, hash, application_id, scope, expires_at)
  SELECT @key, @hash, a.id, @scope, @expiresAt
  FROM application AS a JOIN user_account AS u ON u.id = a.user_id JOIN customer AS c ON c.id = a.customer_id
  WHERE a.id = @applicationId AND a.active AND u.active AND c.active AND a.tokens_revoked_through = @tokensRevokedThrough
  ON CONFLICT (key) DO NOTHING`;

const GET = `${grantsOf('access_token AS t')} WHERE t.key = @key`;

/** Costs 2 µs. */
const VERSION = 'SELECT value FROM access_version';

const ASKED_EVERY_MS = 1;

export function tokenStore(db: Database, access: Pick<AccessVersion, 'current'>): TokenStore {
  return {
    ...sharedTokenStore(db, access),
    issue: async (token) => void (await db.commit([{ sql: INSERT, params: token, expectChanges: 1 }])),
    find: async (key) => {
      const row = await db.get(GET, { key });
      return row === undefined ? null : readGrant(row);
    },
  };
}

/** Checks writes of other processes once per turn of the event loop, and every millisecond in a long turn. */
export function watchAccess(db: SqliteDatabase): AccessVersion {
  const subscribers = new Set<() => void>();
  let version = 0;
  let seen = 0;
  let written: unknown;
  let askedAt = Number.NEGATIVE_INFINITY;
  let askedAfter = 0;
  let isTurnsEndAwaited = false;

  const current = (): number => {
    const now = performance.now();
    const commits = db.commits();
    if (commits === askedAfter && now - askedAt < ASKED_EVERY_MS) return version;
    askedAt = now;
    askedAfter = commits;
    if (!isTurnsEndAwaited) {
      isTurnsEndAwaited = true;
      atTurnsEnd(() => {
        isTurnsEndAwaited = false;
        askedAt = Number.NEGATIVE_INFINITY;
      });
    }
    // Costs another read transaction, about 2 µs per millisecond, if something was read earlier in this turn.
    db.endSnapshot();
    const row = db.get(VERSION, {}) as { readonly value: unknown };
    if (row.value !== written) version += 1;
    written = row.value;
    return version;
  };

  const notify = (): void => {
    if (subscribers.size === 0 || current() === seen) return;
    seen = version;
    for (const onChanged of subscribers) onChanged();
  };
  let isListening = false;

  return {
    current,
    subscribe: (onChanged) => {
      if (!isListening) db.onCommit(notify);
      isListening = true;
      subscribers.add(onChanged);
      return () => void subscribers.delete(onChanged);
    },
  };
}

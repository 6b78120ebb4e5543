/** Access tokens (`access_token`), with everything that the gate needs about one in a single query. */

import type { Constraints, Role } from '../../../access/user.ts';
import { firstRowKeyAt } from '../../../kernel/ids.ts';
import type { TokenStore } from '../../access.ts';
import type { Database } from '../driver/database.ts';

const INSERT = `
  INSERT INTO access_token (key, hash, application_id, scope, expires_at)
  SELECT @key, @hash, a.id, @scope, @expiresAt
  FROM application AS a JOIN user_account AS u ON u.id = a.user_id
  WHERE a.id = @applicationId AND a.active = 1 AND u.active = 1 AND a.tokens_revoked_through = @tokensRevokedThrough`;
const GET = `
  SELECT t.key, t.hash, t.application_id, t.scope, t.expires_at, a.client_id, a.active AS application_active, a.scopes,
         a.tokens_revoked_through, u.id AS user_id, u.user_name, u.active AS user_active, u.role, u.permissions, u.constraints
  FROM access_token AS t
  JOIN application AS a ON a.id = t.application_id
  JOIN user_account AS u ON u.id = a.user_id
  WHERE t.key = @key`;
const REVOKE = 'DELETE FROM access_token WHERE key = @key AND application_id = @applicationId';
// Scans the primary key from its old end. An index on expiry would cost a write for every issued token.
const PURGE = `
  DELETE FROM access_token WHERE key IN (
    SELECT key FROM access_token WHERE key > @after ORDER BY key LIMIT @limit) AND expires_at <= @now`;
const NEXT = `
  SELECT max(key) AS last, count(*) AS seen, coalesce(sum(expires_at <= @now), 0) AS expired
  FROM (SELECT key, expires_at FROM access_token WHERE key > @after ORDER BY key LIMIT @limit)`;

export function tokenStore(db: Database, version: () => number): TokenStore {
  return {
    version,
    issue: async (token) => void (await db.commit([{ sql: INSERT, params: token, expectChanges: 1 }])),
    find: async (key) => {
      const row = await db.get(GET, { key });
      if (row === undefined) return null;
      return {
        key,
        hash: row.hash as Uint8Array,
        applicationId: String(row.application_id),
        scope: stillHeld(String(row.scope), JSON.parse(String(row.scopes)) as readonly string[]),
        expiresAt: Number(row.expires_at),
        clientId: String(row.client_id),
        applicationActive: row.application_active === 1,
        tokensRevokedThrough: Number(row.tokens_revoked_through),
        userId: String(row.user_id),
        userName: String(row.user_name),
        userActive: row.user_active === 1,
        role: row.role as Role,
        permissions: JSON.parse(String(row.permissions)) as readonly string[],
        constraints: JSON.parse(String(row.constraints)) as Constraints,
      };
    },
    revoke: async (key, applicationId) => void (await db.commit([{ sql: REVOKE, params: { key, applicationId } }])),
  };
}

/**
 * One step of the purge of expired tokens: examines up to `limit` rows after `after` and deletes the expired ones.
 * Returns where the next step begins, or null at the end of the table.
 */
export async function purgeTokens(
  db: Database,
  { after, now }: { readonly after: number; readonly now: number },
  limit: number,
): Promise<{ readonly next: number | null; readonly purged: number }> {
  const seen = await db.get(NEXT, { after, limit, now });
  if (seen === undefined || seen.seen === 0) return { next: null, purged: 0 };
  const [result] = seen.expired === 0 ? [] : await db.commit([{ sql: PURGE, params: { after, limit, now } }]);
  const atEnd = Number(seen.seen) < limit || Number(seen.last) >= firstRowKeyAt(now);
  return { next: atEnd ? null : Number(seen.last), purged: result?.changes ?? 0 };
}

/** Drops scopes that the application no longer has, also from tokens issued before. */
function stillHeld(scope: string, held: readonly string[]): string {
  return scope
    .split(' ')
    .filter((name) => held.includes(name))
    .join(' ');
}

/** Access tokens (`access_token`), the last use of applications (`application_use`), and whether grants may have changed. */

import type { TokenGrant } from '../../../domain/application.ts';
import { createLastUses } from '../../../domain/usage.ts';
import type { Constraints, Role } from '../../../domain/user.ts';
import { rowKeyTime } from '../../../kernel/ids.ts';
import type { ApplicationUseStore, TokenStore } from '../../port/access.ts';
import type { Answer, Database, Row } from '../../port/database.ts';
import { measured } from '../../port/steps.ts';
import { customer, OPERATOR_ID } from '../table.ts';

/** Selects the grants of tokens, for `readGrant`. `tokens` is a FROM with their rows as `t`. */
export const grantsOf = (tokens: string): string => `
  SELECT t.key, t.hash, t.application_id, t.scope, t.expires_at, a.client_id, a.active AS application_active, a.scopes,
         a.tokens_revoked_through, a.customer_id, u.id AS user_id, u.user_name, u.active
           AND c.active AS user_active, u.role, u.permissions, u.constraints
  FROM ${tokens}
  JOIN application AS a ON a.id = t.application_id
  JOIN user_account AS u ON u.id = a.user_id
  JOIN customer AS c ON c.id = a.customer_id`;
// Scans the primary key from its new end: no index on the application, which would cost a write for every token.
const IN_FORCE = `
  SELECT count(*) AS seen,
    count(*) FILTER (WHERE application_id = @id AND key > @tokensRevokedThrough AND expires_at > @now) AS tokens,
    max(key) FILTER (WHERE application_id = @id AND key > @tokensRevokedThrough AND expires_at > @now) AS newest
  FROM (SELECT key, application_id, expires_at FROM access_token ORDER BY key DESC LIMIT @limit) AS newest`;
const REVOKE = 'DELETE FROM access_token WHERE key = @key AND application_id = @applicationId';

export function tokenStore(db: Database, access: Pick<AccessVersion, 'current'>): Omit<TokenStore, 'issue' | 'find'> {
  return {
    version: access.current,
    inForce: async ({ id, tokensRevokedThrough }, now, limit) => {
      const row = await db.get(IN_FORCE, { id, tokensRevokedThrough, now, limit });
      const newest = row?.newest ?? null;
      return {
        count: Number(row?.tokens),
        newestAt: newest === null ? null : rowKeyTime(Number(newest)),
        isWhole: Number(row?.seen) < limit,
      };
    },
    revoke: async (key, applicationId) => void (await db.commit([{ sql: REVOKE, params: { key, applicationId } }])),
  };
}

export function readGrant(row: Row): TokenGrant {
  return {
    key: Number(row.key),
    hash: row.hash as Uint8Array,
    applicationId: String(row.application_id),
    scope: stillHeld(String(row.scope), JSON.parse(String(row.scopes)) as readonly string[]),
    expiresAt: Number(row.expires_at),
    clientId: String(row.client_id),
    applicationActive: row.application_active === 1,
    tokensRevokedThrough: Number(row.tokens_revoked_through),
    customerId: customer.read(row.customer_id ?? OPERATOR_ID, ''),
    userId: String(row.user_id),
    userName: String(row.user_name),
    userActive: row.user_active === 1,
    role: row.role as Role,
    permissions: JSON.parse(String(row.permissions)) as readonly string[],
    constraints: JSON.parse(String(row.constraints)) as Constraints,
  };
}

/** Drops scopes that the application no longer has, also from tokens issued before. */
function stillHeld(scope: string, held: readonly string[]): string {
  return scope
    .split(' ')
    .filter((name) => held.includes(name))
    .join(' ');
}

/**
 * Tells whether tokens, applications, users or sessions may have changed, so that values read from them may be cached. Triggers in
 * schema.sql count the relevant writes.
 */
export type AccessVersion = {
  /**
   * Returns a new number after any write to the data of a token's grant or the end of a session, by any process. A write of this process
   * is visible before its caller learns that it is durable.
   */
  current(): Answer<number>;
  /** Calls back after each such write that this process learns of. Returns the function that ends the subscription. */
  subscribe(onChanged: () => void): () => void;
};

// The application may have been deleted. A later use that another process wrote stays. Ordered, so that two processes that write the same
// applications cannot deadlock.
const WRITE_USES = `
  INSERT INTO application_use (application_id, last_used_at)
  SELECT a.id, CAST(used.value ->> 1 AS BIGINT) FROM tuples(@uses) AS used JOIN application AS a ON a.id = used.value ->> 0
  WHERE true ORDER BY a.id
  ON CONFLICT (application_id) DO UPDATE
  SET last_used_at = greatest(application_use.last_used_at, excluded.last_used_at)`;

export function applicationUseStore(database: Database): ApplicationUseStore {
  // All of these applications exist, because they were authenticated.
  const { note, latest, size, first, forget } = createLastUses();
  return {
    note,
    latest,
    unwritten: size,
    write: (limit) =>
      measured(database, async (db) => {
        const uses = first(limit);
        if (uses.length > 0) await db.commit([{ sql: WRITE_USES, params: { uses: JSON.stringify(uses) } }]);
        forget(uses);
        return { done: uses.length < limit, rows: uses.length };
      }),
  };
}

/** Access tokens on PostgreSQL (`access_token`): one query for all calls that come together. */

import type { TokenGrant } from '../../domain/application.ts';
import type { TokenStore } from '../port/access.ts';
import type { Database } from '../port/database.ts';
import { DatabaseUnavailable, mayBeCommitted, StaleWrite } from '../port/errors.ts';
import { type AccessVersion, grantsOf, readGrant, tokenStore as sharedTokenStore } from '../shared/access/tokens.ts';
import { numberArray, rowsOf } from './arrays.ts';
import { batched, READS } from './batched.ts';
import type { PostgresDatabase } from './driver/postgres.ts';

/** While one commit waits for the disk, the tokens of the next one gather. */
const TOKENS_OF_A_COMMIT = 1000;

export type PostgresAccessVersion = AccessVersion & {
  /** Call this when another instance may have written, for example on a notification. Subscribers are notified if the version changed. */
  changed(): void;
};

// The start of the server distinguishes servers: after a failover that lost writes, the counter may repeat a value.
const VERSION = `
  SELECT value, CAST(extract(epoch FROM pg_postmaster_start_time()) * 1000000 AS BIGINT) AS server FROM access_version`;

/** For PostgreSQL: reads the version once for all calls of a turn, and for calls that begin while all allowed reads are in progress. */
export function watchAccess(db: Database): PostgresAccessVersion {
  const subscribers = new Set<() => void>();
  let version = 0;
  let seen = 0;
  let written = '';

  const read = batched<null, number>(
    async (calls) => {
      const row = await db.get(VERSION, {});
      const found = `${row?.value} ${row?.server}`;
      if (found !== written) version += 1;
      written = found;
      return calls.map(() => version);
    },
    { ...READS, callsMax: Number.POSITIVE_INFINITY },
  );
  const current = (): Promise<number> => read(null);

  const notify = async (): Promise<void> => {
    if ((await current()) === seen) return;
    seen = version;
    for (const onChanged of subscribers) onChanged();
  };
  const changed = (): void => {
    // If the database cannot be read, subscribers hear of the change at the next call.
    if (subscribers.size > 0) notify().catch(() => undefined);
  };
  let isListening = false;

  return {
    current,
    changed,
    subscribe: (onChanged) => {
      if (!isListening) db.onCommit(changed);
      isListening = true;
      subscribers.add(onChanged);
      return () => void subscribers.delete(onChanged);
    },
  };
}

// A shared lock on the application keeps revocations out until the tokens are committed: a revocation covers all tokens that were issued
// before it, and later ones fail on the watermark. Tokens that are missing from the result were refused.
const WANTED = rowsOf<IssuedToken>('wanted', {
  key: 'BIGINT',
  hash: 'BYTEA',
  applicationId: 'TEXT',
  scope: 'TEXT',
  expiresAt: 'BIGINT',
  tokensRevokedThrough: 'BIGINT',
});
type Issuing = { readonly sql: string; readonly again: string };
function issuing(whenLocked: '' | 'SKIP LOCKED'): Issuing {
  const sql = `
  INSERT INTO access_token (key, hash, application_id, scope, expires_at)
  SELECT wanted.key, wanted.hash, a.id, wanted.scope, wanted.expires_at
  FROM ${WANTED.from}
  JOIN application AS a ON a.id = wanted.application_id JOIN user_account AS u ON u.id = a.user_id
  JOIN customer AS c ON c.id = a.customer_id
  WHERE a.active AND u.active AND c.active AND a.tokens_revoked_through = wanted.tokens_revoked_through
  FOR SHARE OF a ${whenLocked}
  ON CONFLICT (key) DO NOTHING
  RETURNING key`;
  // The hash distinguishes these tokens from those of another process that drew the same key.
  const again = `
  WITH issued AS (${sql})
  SELECT key FROM issued
  UNION ALL SELECT t.key FROM ${WANTED.from} JOIN access_token AS t ON t.key = wanted.key AND t.hash = wanted.hash`;
  return { sql, again };
}
const ISSUE = issuing('SKIP LOCKED');
const ISSUE_WAITING = issuing('');
// The range excludes partitions when the plan starts. LATERAL with a limit is one look-up in the primary key for each token, also while a
// new partition has no statistics.
const FIND = grantsOf(`
  unnest((SELECT CAST(@keys AS BIGINT[]))) AS wanted (key)
  CROSS JOIN LATERAL (SELECT * FROM access_token WHERE key = wanted.key AND key BETWEEN @first AND @last LIMIT 1) AS t`);

export function tokenStore(db: PostgresDatabase, access: Pick<AccessVersion, 'current'>): TokenStore {
  const issueBy = (issuing: Issuing): ((token: IssuedToken) => Promise<boolean>) =>
    batched<IssuedToken, boolean>(
      async (tokens) => {
        const statement = { ...issuing, params: WANTED.parameters(tokens) };
        const [issued] = await db.commit([statement]).catch(notIssued);
        const keys = new Set(issued?.rows.map(({ key }) => Number(key)));
        return tokens.map(({ key }) => keys.has(key));
      },
      { inProgressMax: 1, callsMax: TOKENS_OF_A_COMMIT },
    );
  const issue = issueBy(ISSUE);
  // Tokens of other applications do not wait for the change of this one.
  const issueWaiting = issueBy(ISSUE_WAITING);
  const find = batched<number, TokenGrant | null>(async (keys) => {
    const range = { first: Math.min(...keys), last: Math.max(...keys) };
    const rows = await db.all(FIND, { keys: numberArray(keys), ...range });
    const grants = new Map(rows.map((row) => [Number(row.key), readGrant(row)]));
    return keys.map((key) => grants.get(key) ?? null);
  }, READS);
  return {
    ...sharedTokenStore(db, access),
    issue: async (token) => {
      if ((await issue(token)) || (await issueWaiting(token))) return;
      throw new StaleWrite(ISSUE_WAITING.sql, 1, 0);
    },
    find,
  };
}

/** A token that was committed and never returned is useless to everyone. */
function notIssued(error: unknown): never {
  throw mayBeCommitted(error) ? new DatabaseUnavailable('unreachable', { cause: error }) : error;
}

type IssuedToken = Parameters<TokenStore['issue']>[0];

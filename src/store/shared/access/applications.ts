/** Applications (`application`) and when they were last used (`application_use`). */

import type { Application, ScopeHolder } from '../../../domain/application.ts';
import { DEPENDENTS_NAMED } from '../../../domain/limits.ts';
import type { ApplicationStore, ApplicationUseStore } from '../../port/access.ts';
import type { Database, Row, Statement } from '../../port/database.ts';
import { APPLICATION_USES_AT_ONCE } from '../../port/limits.ts';
import { type ListColumns, resourceStore } from '../resource.ts';
import {
  bytes,
  bytesOrNull,
  customer,
  flag,
  json,
  number,
  numberOrNull,
  readOne,
  readRow,
  type Table,
  table,
  text,
} from '../table.ts';

const ROW = table<Omit<Application, 'lastUsedAt'>>('application', 'id', {
  id: text,
  customerId: customer,
  name: text,
  userId: text,
  clientId: text,
  secretHash: bytes,
  secretCreatedAt: number,
  previousSecretHash: bytesOrNull,
  previousSecretExpiresAt: numberOrNull,
  accessTokenValiditySeconds: number,
  scopes: json<readonly string[]>(),
  active: flag,
  tokensRevokedThrough: number,
  createdAt: number,
  updatedAt: number,
});

export type ApplicationTable = Table<Application>;

/** Adds the last use to an application: the stored one, or a later one that is not written yet. */
export function applicationTable(uses: Pick<ApplicationUseStore, 'latest'>): ApplicationTable {
  const read = (row: Row): Application => {
    const application = ROW.read(row);
    const lastUsedAt = Math.max(Number(row.last_used_at ?? 0), uses.latest(application.id) ?? 0);
    return { ...application, lastUsedAt: lastUsedAt === 0 ? null : lastUsedAt };
  };
  const columns = (alias = 'application'): string =>
    `${ROW.columns(alias)}, (SELECT last_used_at FROM application_use WHERE application_id = ${alias}.id) AS last_used_at`;
  return { ...ROW, columns, read };
}

const GET_CLIENT = `
  SELECT ${ROW.columns('a')}, u.active AND c.active AS user_active
  FROM application AS a JOIN user_account AS u ON u.id = a.user_id JOIN customer AS c ON c.id = a.customer_id
  WHERE a.client_id = @clientId`;
// Index: application_user.
const OF_USER = `FROM application WHERE user_id = @userId ORDER BY id LIMIT ${DEPENDENTS_NAMED}`;
const WITH_SCOPE = `
  FROM application
  WHERE EXISTS (SELECT 1 FROM texts(application.scopes) AS held JOIN texts(@scopes) AS asked ON asked.value = held.value)
  ORDER BY id LIMIT ${DEPENDENTS_NAMED}`;
const reachPage = (condition: 'EXISTS' | 'NOT EXISTS') => `
  SELECT a.id, a.name, a.client_id, a.active, u.user_name, u.active AS user_active,
         EXISTS (SELECT 1 FROM texts(u.permissions) AS had WHERE had.value = @permission) AS permitted
  FROM application AS a JOIN user_account AS u ON u.id = a.user_id
  WHERE a.id > @after AND ${condition} (SELECT 1 FROM texts(a.scopes) AS held WHERE held.value = @scope)
  ORDER BY a.id LIMIT @limit`;
const HOLDERS = reachPage('EXISTS');
const OTHERS = reachPage('NOT EXISTS');

// A revocation draws its key before its commit, which may wait for another process while tokens are issued; the revocation covers these
// too. Tokens issued after it fail on the watermark that they were decided on (tokens.ts). One seek in the primary key. An earlier
// statement of the list has locked the rows of the applications, so on PostgreSQL no token is being issued while the newest one is read.
const NEWEST_TOKEN = 'coalesce((SELECT max(key) FROM access_token), 0)';
const END_TOKENS = `
  UPDATE application SET tokens_revoked_through = greatest(tokens_revoked_through, ${NEWEST_TOKEN}) WHERE id = @id`;
// Indexes: application_user, application_customer. `updated_at` grows, so that a concurrent change does not write the old watermark back.
// The watermark grows too, even if the clock was set back.
const endTokens = (condition: string) => ({
  lock: `UPDATE application SET updated_at = updated_at WHERE ${condition}`,
  end: `
  UPDATE application
  SET tokens_revoked_through = greatest(tokens_revoked_through + 1, @through, ${NEWEST_TOKEN}),
      updated_at = greatest(updated_at + 1, @now)
  WHERE ${condition}`,
});
const END_TOKENS_OF = { user: endTokens('user_id = @id'), customer: endTokens('customer_id = @id') } as const;

/** Revokes all tokens of the applications of a user or of a customer. `through`: a new row key. */
export function endTokensOf(
  owner: keyof typeof END_TOKENS_OF,
  id: string,
  { through, now }: { readonly through: number; readonly now: number },
): Statement[] {
  const { lock, end } = END_TOKENS_OF[owner];
  return [
    { sql: lock, params: { id } },
    { sql: end, params: { id, through, now } },
  ];
}

// Indexes: the unique one on client_id, and application_user. There are thousands of applications at most, so other filters and sorts scan
// them.
const LIST: ListColumns = {
  filters: {
    customerId: 'customer_id = @customerId',
    clientId: 'client_id = @clientId',
    name: 'name = @name',
    userId: 'user_id = @userId',
    active: "active = (@active = 'true')",
  },
  sorts: {
    name: 'lower(name)',
    lastUsedAt: 'coalesce((SELECT last_used_at FROM application_use WHERE application_id = application.id), 0)',
  },
};

export function applicationStore(
  db: Database,
  application: ApplicationTable,
  uses: Pick<ApplicationUseStore, 'write'>,
): ApplicationStore {
  const many = async (from: string, params: Readonly<Record<string, string>>): Promise<Application[]> =>
    (await db.all(`SELECT ${application.columns()} ${from}`, params)).map(application.read);
  const store = resourceStore(db, 'application', application, {
    list: LIST,
    onUpdate: ({ id, tokensRevokedThrough }, before) =>
      tokensRevokedThrough > before.tokensRevokedThrough ? [{ sql: END_TOKENS, params: { id } }] : [],
  });
  return {
    ...store,
    list: async (after, limit, filter) => {
      // The order uses stored values. If they cannot be written, for example on a full disk, the order is that of the last write.
      if (typeof after !== 'string' && after.sort.by === 'lastUsedAt')
        await uses.write(APPLICATION_USES_AT_ONCE).catch(() => undefined);
      return store.list(after, limit, filter);
    },
    getClient: async (clientId) => {
      const row = await db.get(GET_CLIENT, { clientId });
      const client = readOne(ROW, row);
      return client === null ? null : { ...client, userActive: row?.user_active === 1 };
    },
    ofUser: (userId) => many(OF_USER, { userId }),
    holding: (scopes) => many(WITH_SCOPE, { scopes: JSON.stringify(scopes) }),
    holders: async ({ scope, permission }, after, limit) =>
      (await db.all(HOLDERS, { scope, permission, after, limit })).map(readHolder),
    others: async ({ scope, permission }, after, limit) =>
      (await db.all(OTHERS, { scope, permission, after, limit })).map(readHolder),
  };
}

function readHolder(row: Row): ScopeHolder {
  return readRow<ScopeHolder>(row, { active: flag, userActive: flag, permitted: flag });
}

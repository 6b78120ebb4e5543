/** Registered applications (`application`). */

import type { Application } from '../../../access/application.ts';
import type { ApplicationStore } from '../../applications.ts';
import type { Database, Statement } from '../driver/database.ts';
import { bytes, bytesOrNull, flag, json, number, numberOrNull, type Table, table, text } from '../driver/table.ts';
import { readOne, resourceStore } from '../resource.ts';

export const APPLICATION: Table<Application> = table<Application>('application', 'id', {
  id: text,
  name: text,
  userId: text,
  clientId: text,
  secretHash: bytes,
  previousSecretHash: bytesOrNull,
  previousSecretExpiresAt: numberOrNull,
  accessTokenValiditySeconds: number,
  scopes: json<readonly string[]>(),
  active: flag,
  tokensRevokedThrough: number,
  createdAt: number,
  updatedAt: number,
});

const GET_CLIENT = `
  SELECT ${APPLICATION.columns('a')}, u.active AS user_active
  FROM application AS a JOIN user_account AS u ON u.id = a.user_id
  WHERE a.client_id = @clientId`;
// Served by application_user.
const OF_USER = `SELECT ${APPLICATION.columns()} FROM application WHERE user_id = @userId ORDER BY id LIMIT 10`;
const WITH_SCOPE = `
  SELECT ${APPLICATION.columns()} FROM application
  WHERE EXISTS (SELECT 1 FROM json_each(application.scopes) AS held JOIN json_each(@scopes) AS asked ON asked.value = held.value)
  ORDER BY id LIMIT 10`;
const HOLDERS = `
  SELECT a.id, a.name, a.client_id, a.active, u.user_name, u.active AS user_active,
         EXISTS (SELECT 1 FROM json_each(u.permissions) AS had WHERE had.value = @permission) AS permitted
  FROM application AS a JOIN user_account AS u ON u.id = a.user_id
  WHERE a.id > @after AND EXISTS (SELECT 1 FROM json_each(a.scopes) AS held WHERE held.value = @scope)
  ORDER BY a.id LIMIT @limit`;

// A revocation draws its key before its commit, which may wait for another process, and tokens are issued meanwhile. One seek: the
// last entry of the primary key. What is issued behind it is kept by the watermark that it was decided on (tokens.ts).
const NEWEST_TOKEN = 'coalesce((SELECT max(key) FROM access_token), 0)';
const END_TOKENS = `
  UPDATE application SET tokens_revoked_through = max(tokens_revoked_through, ${NEWEST_TOKEN}) WHERE id = @id`;
// Served by application_user. `updated_at` grows: a change that was decided on the row as it was before starts over, and does not
// write the old watermark back. Nor is the watermark ever the same as before, whatever the clocks say.
const END_TOKENS_OF_USER = `
  UPDATE application
  SET tokens_revoked_through = max(tokens_revoked_through + 1, @through, ${NEWEST_TOKEN}), updated_at = max(updated_at + 1, @now)
  WHERE user_id = @userId`;

/** Refuses every token that the user's applications have, for good. */
export function endTokensOfUser(userId: string, through: number, now: number): Statement {
  return { sql: END_TOKENS_OF_USER, params: { userId, through, now } };
}

// The unique index on client_id and application_user serve two of them; applications are thousands at most, and the others go through them.
const FILTERS = {
  clientId: 'client_id = @clientId',
  name: 'name = @name',
  userId: 'user_id = @userId',
  active: "active = (@active = 'true')",
};

export function applicationStore(db: Database): ApplicationStore {
  return {
    ...resourceStore(db, 'application', APPLICATION, {
      filters: FILTERS,
      onUpdate: ({ id, tokensRevokedThrough }, before) =>
        tokensRevokedThrough > before.tokensRevokedThrough ? [{ sql: END_TOKENS, params: { id } }] : [],
    }),
    getClient: async (clientId) => {
      const row = await db.get(GET_CLIENT, { clientId });
      const application = readOne(APPLICATION, row);
      return application === null ? null : { ...application, userActive: row?.user_active === 1 };
    },
    ofUser: async (userId) => (await db.all(OF_USER, { userId })).map(APPLICATION.read),
    holding: async (scopes) => (await db.all(WITH_SCOPE, { scopes: JSON.stringify(scopes) })).map(APPLICATION.read),
    holders: async ({ scope, permission }, after, limit) =>
      (await db.all(HOLDERS, { scope, permission, after, limit })).map((row) => ({
        id: String(row.id),
        name: String(row.name),
        clientId: String(row.client_id),
        active: row.active === 1,
        userName: String(row.user_name),
        userActive: row.user_active === 1,
        permitted: row.permitted === 1,
      })),
  };
}

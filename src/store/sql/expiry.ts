/** PGP keys and client certificates that expire soon, and the warnings given (`pgp_key`, `endpoint`). */

import { EXPIRY_WEBHOOKS_MAX } from '../../kernel/limits/housekeeping.ts';
import type { Database, Statement } from '../database.ts';
import type { Expiring, Expiry, ExpiryStore } from '../housekeeping.ts';
import { publishStatements } from './events.ts';
import { json, readRow } from './table.ts';

const TABLES = {
  key: {
    table: 'pgp_key',
    expiresAt: 'expires_at',
    warnedDays: 'warned_days',
    users: 'encryption_key_name = expiring.name',
  },
  certificate: {
    table: 'endpoint',
    expiresAt: 'client_certificate_expires_at',
    warnedDays: 'client_certificate_warned_days',
    users: 'endpoint_id = expiring.id',
  },
} as const;

// No index by expiry, because there are few keys and endpoints. `thresholds`: days before expiry, and the latest expiry that is that near.
function dueSql(kind: Expiring['kind']): string {
  const { table, expiresAt, warnedDays, users } = TABLES[kind];
  return `
    SELECT '${kind}' AS kind, id, name, ${expiresAt} AS expires_at, updated_at,
      (SELECT json_group_array(id) FROM (SELECT id FROM webhook WHERE ${users} ORDER BY number LIMIT ${EXPIRY_WEBHOOKS_MAX})) AS webhook_ids
    FROM ${table} AS expiring
    WHERE ${expiresAt} > @now AND EXISTS (
      SELECT 1 FROM json_each(@thresholds) AS threshold
      WHERE ${expiresAt} <= threshold.value ->> 'until' AND (${warnedDays} IS NULL OR ${warnedDays} > threshold.value ->> 'days'))
    ORDER BY ${expiresAt} LIMIT 1`;
}

// `updated_at` grows, so that a concurrent change of the row is decided again and keeps the mark.
function warnSql(kind: Expiring['kind']): string {
  const { table, warnedDays } = TABLES[kind];
  return `
    UPDATE ${table} SET ${warnedDays} = @days, updated_at = max(updated_at + 1, @now)
    WHERE id = @id AND updated_at = @updatedAt`;
}

const ALL = (['key', 'certificate'] as const)
  .map((kind) => {
    const { table, expiresAt } = TABLES[kind];
    return `SELECT '${kind}' AS kind, id, name, ${expiresAt} AS expires_at FROM ${table} WHERE ${expiresAt} IS NOT NULL`;
  })
  .join(' UNION ALL ');

const DAY_MS = 86_400_000;

export function expiryStore(db: Database): ExpiryStore {
  return {
    all: async (limit) =>
      (await db.all(`${ALL} ORDER BY expires_at, id LIMIT @limit`, { limit })).map((row) => readRow<Expiry>(row)),
    next: async (now, thresholdDays) => {
      const thresholds = JSON.stringify(thresholdDays.map((days) => ({ days, until: now + days * DAY_MS })));
      for (const kind of ['key', 'certificate'] as const) {
        const row = await db.get(dueSql(kind), { now, thresholds });
        if (row !== undefined) return readRow<Expiring>(row, { webhookIds: json<readonly string[]>() });
      }
      return null;
    },
    warn: async ({ kind, id, updatedAt }, days, event) => {
      const mark: Statement = {
        sql: warnSql(kind),
        params: { id, days, updatedAt, now: event.createdAt },
        expectChanges: 1,
      };
      await db.commit([mark, ...publishStatements(event)]);
    },
  };
}

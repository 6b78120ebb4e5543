/** PGP keys and client certificates that expire soon, and the warnings given (`pgp_key`, `endpoint`). */

import type { Database, Statement } from '../port/database.ts';
import type { Expiring, Expiry, ExpiryStore } from '../port/housekeeping.ts';
import { publishStatements } from './events.ts';
import { judgedEvent } from './judging.ts';
import { customer, readRow } from './table.ts';

/** Webhooks that a warning names. */
const EXPIRY_WEBHOOKS_MAX = 1000;

const TABLES = {
  key: { table: 'pgp_key', expiresAt: 'expires_at', warnedDays: 'warned_days' },
  certificate: {
    table: 'endpoint',
    expiresAt: 'client_certificate_expires_at',
    warnedDays: 'client_certificate_warned_days',
  },
} as const;

// Indexes: webhook_encryption_key and webhook_endpoint.
const USERS = {
  key: `SELECT id FROM webhook WHERE customer_id = @customerId AND encryption_key_name = @name ORDER BY id LIMIT ${EXPIRY_WEBHOOKS_MAX}`,
  certificate: `SELECT id FROM webhook WHERE customer_id = @customerId AND endpoint_id = @id ORDER BY id LIMIT ${EXPIRY_WEBHOOKS_MAX}`,
} as const;

// No index by expiry, because there are few keys and endpoints. A threshold is [days before expiry, the latest expiry that is that near].
function dueSql(kind: Expiring['kind']): string {
  const { table, expiresAt, warnedDays } = TABLES[kind];
  return `
    SELECT '${kind}' AS kind, id, customer_id, name, ${expiresAt} AS expires_at, updated_at FROM ${table}
    WHERE ${expiresAt} > @now AND EXISTS (
      SELECT 1 FROM tuples(@thresholds) AS threshold
      WHERE ${expiresAt} <= CAST(threshold.value ->> 1 AS BIGINT)
        AND (${warnedDays} IS NULL OR ${warnedDays} > CAST(threshold.value ->> 0 AS BIGINT)))
    ORDER BY ${expiresAt} LIMIT 1`;
}

// `updated_at` grows, so that a concurrent change of the row is decided again and keeps the mark.
function warnSql(kind: Expiring['kind']): string {
  const { table, warnedDays } = TABLES[kind];
  return `
    UPDATE ${table} SET ${warnedDays} = @days, updated_at = greatest(updated_at + 1, @now)
    WHERE id = @id AND updated_at = @updatedAt`;
}

const ALL = (['key', 'certificate'] as const)
  .map((kind) => {
    const { table, expiresAt } = TABLES[kind];
    return `SELECT '${kind}' AS kind, id, customer_id, name, ${expiresAt} AS expires_at FROM ${table} WHERE ${expiresAt} IS NOT NULL`;
  })
  .join(' UNION ALL ');

const DAY_MS = 86_400_000;
const OWNED = { customerId: customer } as const;

export function expiryStore(db: Database): ExpiryStore {
  return {
    all: async (customerId, limit) =>
      (
        await db.all(
          `SELECT * FROM (${ALL}) AS expiry WHERE customer_id = coalesce(@customerId, customer_id) ORDER BY expires_at, id LIMIT @limit`,
          { customerId, limit },
        )
      ).map((row) => readRow<Expiry>(row, OWNED)),
    next: async (now, thresholdDays) => {
      const thresholds = JSON.stringify(thresholdDays.map((days) => [days, now + days * DAY_MS]));
      for (const kind of ['key', 'certificate'] as const) {
        const row = await db.get(dueSql(kind), { now, thresholds });
        if (row === undefined) continue;
        const expiring = readRow<Omit<Expiring, 'webhookIds'>>(row, OWNED);
        const { id, name, customerId } = expiring;
        const wanted = kind === 'key' ? { name } : { id };
        const users = await db.all(USERS[kind], { ...wanted, customerId: customer.write(customerId, '') });
        return { ...expiring, webhookIds: users.map((user) => String(user.id)) };
      }
      return null;
    },
    warn: async ({ kind, id, updatedAt }, days, event) => {
      const mark: Statement = {
        sql: warnSql(kind),
        params: { id, days, updatedAt, now: event.createdAt },
        expectChanges: 1,
      };
      await db.commit([mark, ...publishStatements(await judgedEvent(db, event))]);
    },
  };
}

/** Values that live for minutes on PostgreSQL (`authentication_failure`, `short_lived`). */
import { FAILURE_WINDOW_MS } from '../../domain/throttle.ts';
import type { Vault } from '../../kernel/vault.ts';
import type { Database, Row } from '../port/database.ts';
import type { RetentionStore } from '../port/housekeeping.ts';
import type { ShortLivedStore } from '../port/short-lived.ts';
import { measured } from '../port/steps.ts';

const GET = 'SELECT value FROM short_lived WHERE name = @name AND expires_at > @now';
const PUT = `
  INSERT INTO short_lived (name, value, expires_at) VALUES (@name, @value, @until)
  ON CONFLICT (name) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at`;
const PUT_IF_ABSENT = `${PUT} WHERE short_lived.expires_at <= @now`;
const TAKE = 'DELETE FROM short_lived WHERE name = @name AND expires_at > @now RETURNING value';

// Index: authentication_failure_at.
const OLD_FAILURES = `
  DELETE FROM authentication_failure WHERE ctid IN (
    SELECT ctid FROM authentication_failure WHERE at <= @before ORDER BY at LIMIT @limit FOR UPDATE SKIP LOCKED)`;
// Index: short_lived_expiry.
const EXPIRED = `
  DELETE FROM short_lived WHERE name IN (
    SELECT name FROM short_lived WHERE expires_at <= @now ORDER BY expires_at LIMIT @limit)`;

export function shortLivedStore(db: Database, vault: Vault): ShortLivedStore {
  const placeOf = (name: string): string => `short_lived.value:${name}`;
  const sealed = (name: string, value: string, until: number) => ({
    name,
    value: vault.seal(value, placeOf(name)),
    until,
  });
  const unsealed = (name: string, row: Row | undefined): string | null => {
    if (row === undefined) return null;
    try {
      return vault.unseal(row.value as Uint8Array, placeOf(name));
    } catch {
      // The master key has changed since. The value counts as expired.
      return null;
    }
  };
  return {
    values: (kind) => {
      const full = (name: string): string => `${kind} ${name}`;
      return {
        get: async (name, now) => unsealed(full(name), await db.get(GET, { name: full(name), now })),
        put: async (name, value, { until }) =>
          void (await db.commit([{ sql: PUT, params: sealed(full(name), value, until) }])),
        putIfAbsent: async (name, value, { now, until }) => {
          const params = { ...sealed(full(name), value, until), now };
          const [written] = await db.commit([{ sql: PUT_IF_ABSENT, params }]);
          return written?.changes === 1;
        },
        take: async (name, now) => {
          const [taken] = await db.commit([{ sql: TAKE, params: { name: full(name), now } }]);
          return unsealed(full(name), taken?.rows[0]);
        },
      };
    },
  };
}

/** One step of housekeeping: deletes up to `limit` failures and `limit` values that have expired. */
export function removeShortLived(database: Database): RetentionStore['shortLived'] {
  return (now, limit) =>
    measured(database, async (db) => {
      const [failures, values] = await db.commit([
        { sql: OLD_FAILURES, params: { before: now - FAILURE_WINDOW_MS, limit } },
        { sql: EXPIRED, params: { now, limit } },
      ]);
      const rows = [failures?.changes ?? 0, values?.changes ?? 0];
      return { done: rows.every((one) => one < limit), rows: rows.reduce((sum, one) => sum + one, 0) };
    });
}

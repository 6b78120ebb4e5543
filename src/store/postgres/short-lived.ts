/** Values that live for minutes on PostgreSQL (`authentication_failure`, `short_lived`). */
import { FAILURE_WINDOW_MS } from '../../kernel/limits/limits.ts';
import type { Database } from '../database.ts';
import type { RetentionStore } from '../housekeeping.ts';
import { measured } from '../steps.ts';

// Index: authentication_failure_at.
const OLD_FAILURES = `
  DELETE FROM authentication_failure WHERE ctid IN (
    SELECT ctid FROM authentication_failure WHERE at <= @before ORDER BY at LIMIT @limit FOR UPDATE SKIP LOCKED)`;
// Index: short_lived_expiry.
const EXPIRED = `
  DELETE FROM short_lived WHERE name IN (
    SELECT name FROM short_lived WHERE expires_at <= @now ORDER BY expires_at LIMIT @limit)`;

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

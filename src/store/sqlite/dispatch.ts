/** The dispatcher's reads on SQLite, where this process sends for all webhooks. */
import type { Vault } from '../../kernel/vault.ts';
import type { Statement } from '../port/database.ts';
import type { DispatchStore } from '../port/dispatch.ts';
import type { Appended } from '../shared/appended.ts';
import { IS_RUNNABLE } from '../shared/changes.ts';
import { clockLeadStore } from '../shared/clock-lead.ts';
import {
  currentTarget,
  recordReader,
  dispatchStore as sharedDispatchStore,
  targetReader,
  WAITING_RECORD,
} from '../shared/delivery/dispatch.ts';
import { finishResuming } from '../shared/delivery/resume.ts';
import { readRow } from '../shared/table.ts';
import type { SqliteDatabase } from './driver/sqlite.ts';

/** Changes read at a time. */
const CHANGES_AT_ONCE = 1000;

const RUNNABLE = `SELECT webhook_number FROM webhook_progress WHERE ${IS_RUNNABLE}`;
const CHANGES = 'SELECT number, webhook_number FROM webhook_change ORDER BY number LIMIT @limit';
const FORGET_CHANGES = 'DELETE FROM webhook_change WHERE number <= @through';
const ENDS = `
  SELECT asked.value AS webhook_number, coalesce(
    (SELECT max(record_offset) + 1 FROM outbox WHERE webhook_number = asked.value),
    (SELECT base_offset FROM webhook_progress WHERE webhook_number = asked.value), 0) AS "end"
  FROM numbers(@webhookNumbers) AS asked`;
const CURRENT = currentTarget('w.number = @webhookNumber');
const WAITING = `
  SELECT ${WAITING_RECORD}
  FROM outbox WHERE webhook_number = @webhookNumber AND record_offset >= @from
  ORDER BY record_offset LIMIT @limit`;
// Served by batch_leased, so that a start does not scan every waiting batch.
const RELEASE_ALL = `
  UPDATE batch SET lease_owner = NULL, next_attempt_at = least(next_attempt_at, @now)
  WHERE lease_owner IS NOT NULL`;

export function dispatchStore(db: SqliteDatabase, vault: Vault, appended: Appended): DispatchStore {
  let isBegun = false;
  /** The webhooks that `changed` has not returned yet. */
  const unreported = new Set<number>();
  return {
    ...sharedDispatchStore(db),
    changed: async () => {
      const rows = await db.all(CHANGES, { limit: CHANGES_AT_ONCE });
      const through = Number(rows.at(-1)?.number ?? 0);
      // Before the rows are deleted: that commit may fail although they are.
      for (const row of isBegun ? rows : await db.all(RUNNABLE, {})) unreported.add(Number(row.webhook_number));
      isBegun = true;
      const forget: Statement[] = rows.length === 0 ? [] : [{ sql: FORGET_CHANGES, params: { through } }];
      if (forget.length > 0) await db.commit(forget);
      const found = [...unreported];
      unreported.clear();
      return found;
    },
    appended: () => appended.take(),
    ends: async (webhookNumbers) => {
      if (webhookNumbers.length === 0) return new Map();
      const rows = await db.all(ENDS, { webhookNumbers: JSON.stringify(webhookNumbers) });
      return new Map(rows.map((row) => [Number(row.webhook_number), Number(row.end)]));
    },
    target: targetReader(db, vault, (webhookNumber) => db.get(CURRENT, { webhookNumber })),
    waiting: async (webhookNumber, from, limit) =>
      (await db.all(WAITING, { webhookNumber, from, limit })).map((row) => readRow(row)),
    records: recordReader(db),
    releaseAll: async (now) => {
      isBegun = false;
      const clockLead = clockLeadStore(db);
      await clockLead.resume(now);
      await clockLead.take(now);
      await finishResuming(db, now);
      await db.commit([{ sql: RELEASE_ALL, params: { now } }]);
    },
  };
}

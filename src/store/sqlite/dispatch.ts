/** What the dispatcher reads and writes on SQLite: each webhook with its own statements. */
import type { Batch } from '../../domain/batch.ts';
import type { Vault } from '../../kernel/vault.ts';
import type { Database } from '../port/database.ts';
import type { DispatchStore } from '../port/dispatch.ts';
import { clockLeadStore } from '../shared/clock-lead.ts';
import {
  BATCH,
  claimStatements,
  currentTarget,
  recordReader,
  releaseStatements,
  dispatchStore as sharedDispatchStore,
  targetReader,
  WAITING_RECORD,
} from '../shared/delivery/dispatch.ts';
import { finishResuming } from '../shared/delivery/resume.ts';
import { readRow } from '../shared/table.ts';
import { IS_RUNNABLE, wokenBy } from '../shared/wake.ts';

// Served by webhook_progress_wake: stopped and idle webhooks are never read.
const DUE_WEBHOOKS = `
  SELECT webhook_number FROM webhook_progress WHERE wake_at <= @now ORDER BY wake_at LIMIT @limit`;
const NEXT_WAKE = 'SELECT min(wake_at) AS wake_at FROM webhook_progress WHERE wake_at IS NOT NULL';
const CURRENT = currentTarget('w.number = @webhookNumber');
// Served by batch_due.
const DUE_BATCHES = `
  SELECT ${BATCH} FROM batch
  WHERE webhook_number = @webhookNumber AND state = 'pending' AND next_attempt_at <= @now
  ORDER BY next_attempt_at LIMIT @limit`;
const WAITING = `
  SELECT ${WAITING_RECORD}
  FROM outbox WHERE webhook_number = @webhookNumber AND record_offset >= @cursor
  ORDER BY record_offset LIMIT @limit`;
// Served by batch_leased, so that a start does not scan every waiting batch.
const RELEASE_ALL = `
  UPDATE batch SET lease_owner = NULL, next_attempt_at = least(next_attempt_at, @now)
  WHERE lease_owner IS NOT NULL`;
const WAKE_ALL = `UPDATE webhook_progress SET wake_at = ${wokenBy('@now')} WHERE ${IS_RUNNABLE}`;

export function dispatchStore(db: Database, vault: Vault): DispatchStore {
  return {
    ...sharedDispatchStore(db),
    dueWebhooks: async (now, limit) =>
      (await db.all(DUE_WEBHOOKS, { now, limit })).map((row) => Number(row.webhook_number)),
    nextWakeAt: async () => {
      const row = await db.get(NEXT_WAKE, {});
      return row?.wake_at == null ? null : Number(row.wake_at);
    },
    target: targetReader(db, vault, (webhookNumber) => db.get(CURRENT, { webhookNumber })),
    dueBatches: async (webhookNumber, now, limit) =>
      (await db.all(DUE_BATCHES, { webhookNumber, now, limit })).map((row) => readRow<Batch>(row)),
    waiting: async (webhookNumber, cursor, limit) =>
      (await db.all(WAITING, { webhookNumber, cursor, limit })).map((row) => readRow(row)),
    records: recordReader(db),
    claim: async (claim) => void (await db.commit(claimStatements(claim))),
    releaseUnsure: async (claims) => void (await db.commit(releaseStatements(claims))),
    releaseAll: async (now) => {
      // First, while the leases still keep other processes from claiming.
      const clockLead = clockLeadStore(db);
      await clockLead.resume(now);
      await clockLead.take(now);
      await finishResuming(db, now);
      await db.commit([
        { sql: RELEASE_ALL, params: { now } },
        { sql: WAKE_ALL, params: { now } },
      ]);
    },
  };
}

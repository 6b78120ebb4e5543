/**
 * Makes a pending record due now (`batch`, `webhook_progress`). An ordered webhook still sends the pending records before it first, and
 * with `ordered` `key` those of its key.
 */

import type { AuditEntry } from '../../../domain/audit.ts';
import type { Database } from '../../port/database.ts';
import type { TryNow } from '../../port/deliveries.ts';
import { measured, runSteps } from '../../port/steps.ts';
import { auditStatement } from '../audit.ts';
import { dueNowStatements } from '../changes.ts';

/** The first offset of the batch of the record. A record that was not tried yet is in no batch. */
const BATCH_OF_RECORD = `
  SELECT first_offset FROM batch WHERE webhook_number = @webhookNumber AND last_offset >= @offset AND first_offset =
    (SELECT max(first_offset) FROM batch WHERE webhook_number = @webhookNumber AND first_offset <= @offset)`;
// Served by batch_pending.
const STRETCH = `
  SELECT max(first_offset) AS last, count(*) AS batches FROM (
    SELECT first_offset FROM batch INDEXED BY batch_pending
    WHERE webhook_number = @webhookNumber AND state = 'pending' AND first_offset BETWEEN @from AND @through
    ORDER BY first_offset LIMIT @limit) AS stretch`;
const DUE = `
  UPDATE batch INDEXED BY batch_pending SET next_attempt_at = @now, updated_at = @now
  WHERE webhook_number = @webhookNumber AND state = 'pending' AND first_offset BETWEEN @from AND @last
    AND next_attempt_at > @now AND lease_owner IS NULL`;

// Index: batch_order_key. The others of the key follow one after another.
const FIRST_OF_KEY = `
  SELECT min(b.first_offset) AS first FROM batch AS b WHERE b.webhook_number = @webhookNumber AND b.state = 'pending' AND b.order_key <> ''
    AND b.order_key = (SELECT own.order_key FROM batch AS own WHERE own.webhook_number = @webhookNumber AND own.first_offset = @own)`;

/**
 * Makes the batch of the record due, and for an ordered webhook every pending batch before it, and has the webhook looked at. Works in
 * steps, so that other writers wait for one step at most. The audit entry is written with the first step.
 */
export async function tryNow(
  database: Database,
  { webhookNumber, offset, ordered, now }: TryNow,
  audit: AuditEntry,
): Promise<void> {
  const of = Number((await database.get(BATCH_OF_RECORD, { webhookNumber, offset }))?.first_offset ?? offset);
  const first = ordered === 'key' ? await database.get(FIRST_OF_KEY, { webhookNumber, own: of }) : undefined;
  const own = Number(first?.first ?? of);
  let from = ordered === true ? 0 : own;
  let entry: AuditEntry | null = audit;
  await runSteps((size) =>
    measured(database, async (db) => {
      const stretch = await db.get(STRETCH, { webhookNumber, from, through: own, limit: size });
      const last = Number(stretch?.last ?? from);
      await db.commit([
        { sql: DUE, params: { webhookNumber, from, last, now } },
        ...dueNowStatements(webhookNumber),
        ...(entry === null ? [] : [auditStatement(entry)]),
      ]);
      entry = null;
      from = last + 1;
      return { done: Number(stretch?.batches ?? 0) < size };
    }),
  );
}

/**
 * Makes a pending record due now (`batch`, `webhook_progress`). An ordered webhook still sends the pending records before it first, and
 * with `ordered` `key` those of its key.
 */

import type { AuditEntry } from '../../../domain/audit.ts';
import type { Database } from '../../port/database.ts';
import type { TryNow } from '../../port/deliveries.ts';
import { auditStatement } from '../audit.ts';
import { dueNowStatements } from '../changes.ts';
import { isBatchOf } from './covering.ts';
import { inStretches, PENDING_STRETCH } from './stretches.ts';

/** The first offset of the batch of the record. A record that was not tried yet is in no batch. */
const BATCH_OF_RECORD = `
  SELECT b.first_offset FROM batch AS b WHERE ${isBatchOf('@webhookNumber', '@offset')}`;
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
  const from = ordered === true ? 0 : own;
  await inStretches(database, PENDING_STRETCH, { webhookNumber, through: own }, from, (db, stretch) =>
    db.commit([
      { sql: DUE, params: { webhookNumber, from: stretch.from, last: stretch.last, now } },
      ...dueNowStatements(webhookNumber),
      ...(stretch.isFirst ? [auditStatement(audit)] : []),
    ]),
  );
}

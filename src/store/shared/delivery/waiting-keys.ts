/** With `ordered` `key`: the keys whose records wait, and giving up the waiting records of a key (`batch`). Works in steps. */

import type { AuditEntry } from '../../../domain/audit.ts';
import type { Database, Statement } from '../../port/database.ts';
import { type GivenUpKey, WAITING_KEY_BATCHES, type WaitingKey, type WaitingKeyStore } from '../../port/deliveries.ts';
import { auditStatement } from '../audit.ts';
import { dueNowStatements } from '../changes.ts';
import { readRow, resultsByStatement } from '../table.ts';
import { inStretches, type LockLog } from './stretches.ts';

const PENDING = "b.webhook_number = @webhookNumber AND b.state = 'pending'";
/** The keys after `@after`. One look-up of batch_order_key for each, however many batches wait for it. The last one found is null. */
export const FOUND_KEYS: string = `
  WITH RECURSIVE found (order_key) AS (
    SELECT min(b.order_key) FROM batch AS b WHERE ${PENDING} AND b.order_key > @after
    UNION ALL
    SELECT (SELECT min(b.order_key) FROM batch AS b WHERE ${PENDING} AND b.order_key > found.order_key)
    FROM found WHERE found.order_key IS NOT NULL)`;
// A bounded number of the batches of each key is counted.
const WAITING = `${FOUND_KEYS},
  listed AS (
    SELECT order_key, (SELECT min(b.first_offset) FROM batch AS b WHERE ${PENDING} AND b.order_key = found.order_key) AS first_offset
    FROM found WHERE order_key IS NOT NULL LIMIT @limit)
  SELECT listed.order_key AS ordering_key, listed.first_offset, batch.attempt_count, batch.next_attempt_at, (
      SELECT sum(counted.records) FROM (
        SELECT b.last_offset - b.first_offset + 1 AS records FROM batch AS b WHERE ${PENDING} AND b.order_key = listed.order_key
        LIMIT ${WAITING_KEY_BATCHES}) AS counted) AS waiting_records
  FROM listed CROSS JOIN batch
  WHERE batch.webhook_number = @webhookNumber AND batch.first_offset = listed.first_offset ORDER BY listed.order_key`;

const STRETCH = `
  SELECT max(first_offset) AS last, count(*) AS batches FROM (
    SELECT b.first_offset FROM batch AS b WHERE ${PENDING} AND b.order_key = @key AND b.first_offset >= @from
    ORDER BY b.first_offset LIMIT @limit) AS stretch`;
// An attempt decides itself once it is stored, which is after `SLOW_ATTEMPT_MS`.
const GIVEN_UP = `webhook_number = @webhookNumber AND state = 'pending' AND order_key = @key AND first_offset BETWEEN @from AND @last
    AND lease_owner IS NULL`;
const COUNT = `
  UPDATE webhook_position SET pending_records = pending_records - coalesce((
    SELECT sum(last_offset - first_offset + 1) FROM batch WHERE ${GIVEN_UP}), 0)
  WHERE webhook_number = @webhookNumber`;
const GIVE_UP = `
  UPDATE batch SET state = 'dead', next_attempt_at = NULL, settled_at = @now, updated_at = @now, order_key = NULL
  WHERE ${GIVEN_UP} RETURNING first_offset, last_offset`;

export function waitingKeyStore(database: Database, lockLog: LockLog): WaitingKeyStore {
  return {
    list: async (webhookNumber, after, limit) =>
      (await database.all(WAITING, { webhookNumber, after, limit })).map((row) => readRow<WaitingKey>(row)),
    giveUp: (asked, audit) => giveUp(database, lockLog, asked, audit),
  };
}

async function giveUp(
  database: Database,
  lockLog: LockLog,
  { webhookNumber, key, now }: GivenUpKey,
  audit: AuditEntry,
): Promise<number> {
  let records = 0;
  await inStretches(database, STRETCH, { webhookNumber, key }, 0, async (db, { from, last, isFirst }) => {
    const asked = { webhookNumber, key, from, last };
    const ending: Statement = { sql: GIVE_UP, params: { ...asked, now } };
    const list = [
      ...lockLog(webhookNumber),
      { sql: COUNT, params: asked },
      ending,
      ...dueNowStatements(webhookNumber),
      ...(isFirst ? [auditStatement(audit)] : []),
    ];
    const { rows } = resultsByStatement(list, await db.commit(list))(ending);
    for (const row of rows) records += Number(row.last_offset) - Number(row.first_offset) + 1;
  });
  return records;
}

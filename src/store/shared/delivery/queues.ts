/** The queue length of each webhook, for the metrics: from its progress and one index look-up, whatever the size of its log. */

import type { Database } from '../../port/database.ts';
import type { Queue, QueueStore } from '../../port/overview.ts';
import { readRow } from '../table.ts';

/** `Queue.records` of a `webhook_status AS p`. */
export const RECORDS_WAITING = 'p.waiting_records + p.pending_records';
// The first record that is in no batch: at the cursor, or behind a batch that no other one follows. Batches from the cursor on are few.
const FIRST_WAITING = `
  CASE WHEN EXISTS (SELECT 1 FROM batch AS b WHERE b.webhook_number = p.webhook_number AND b.first_offset = p.cursor_offset) THEN (
    SELECT b.last_offset + 1 FROM batch AS b
    WHERE b.webhook_number = p.webhook_number AND b.first_offset >= p.cursor_offset AND NOT EXISTS (
      SELECT 1 FROM batch AS n WHERE n.webhook_number = p.webhook_number AND n.first_offset = b.last_offset + 1)
    ORDER BY b.first_offset LIMIT 1) ELSE p.cursor_offset END`;
/** Its `Queue.oldestAt`: the oldest waiting record is the first of the first pending batch (batch_pending), or of those in no batch. */
export const OLDEST_WAITING_AT = `
  (SELECT e.created_at FROM outbox AS o CROSS JOIN event AS e
   WHERE e.key = o.event_key AND o.webhook_number = p.webhook_number AND o.record_offset = least(${FIRST_WAITING}, coalesce(
     (SELECT min(first_offset) FROM batch INDEXED BY batch_pending
      WHERE batch.webhook_number = p.webhook_number AND batch.state = 'pending'), ${Number.MAX_SAFE_INTEGER})))`;
const QUEUES = `
  SELECT w.id AS webhook_id, w.name, p.state, ${RECORDS_WAITING} AS records, ${OLDEST_WAITING_AT} AS oldest_at
  FROM webhook_status AS p CROSS JOIN webhook AS w WHERE w.number = p.webhook_number
  ORDER BY p.webhook_number LIMIT @limit`;
const REST = `
  SELECT coalesce(sum(records), 0) AS records FROM (
    SELECT ${RECORDS_WAITING} AS records FROM webhook_status AS p ORDER BY p.webhook_number
      LIMIT ${Number.MAX_SAFE_INTEGER} OFFSET @limit) AS others`;

export function queueStore(db: Database): QueueStore {
  return {
    read: async (limit) => {
      const rows = await db.all(QUEUES, { limit });
      const rest = rows.length < limit ? undefined : await db.get(REST, { limit });
      return {
        queues: rows.map((row) => readRow<Queue>(row)),
        otherRecords: Number(rest?.records ?? 0),
      };
    },
  };
}

/** The queue length of each webhook, for the metrics: from its progress and one index look-up, whatever the size of its log. */

import type { Database } from '../../port/database.ts';
import type { Queue, QueueStore } from '../../port/overview.ts';
import { readRow } from '../table.ts';

/** Of a `webhook_progress AS p`: its `Queue.records`. */
export const RECORDS_WAITING = 'p.next_offset - p.cursor_offset + p.pending_records';
/** Its `Queue.oldestAt`: the oldest waiting record is the first of the first pending batch (batch_pending), or the one at the cursor. */
export const OLDEST_WAITING_AT = `
  (SELECT e.created_at FROM outbox AS o CROSS JOIN event AS e
   WHERE e.key = o.event_key AND o.webhook_number = p.webhook_number AND o.record_offset = coalesce(
     (SELECT min(first_offset) FROM batch INDEXED BY batch_pending
      WHERE batch.webhook_number = p.webhook_number AND batch.state = 'pending'), p.cursor_offset))`;
const QUEUES = `
  SELECT w.id AS webhook_id, w.name, p.state, ${RECORDS_WAITING} AS records, ${OLDEST_WAITING_AT} AS oldest_at
  FROM webhook_progress AS p CROSS JOIN webhook AS w WHERE w.number = p.webhook_number
  ORDER BY p.webhook_number LIMIT @limit`;
const REST = `
  SELECT coalesce(sum(next_offset - cursor_offset + pending_records), 0) AS records FROM (
    SELECT next_offset, cursor_offset, pending_records FROM webhook_progress ORDER BY webhook_number
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

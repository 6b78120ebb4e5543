/** The records of a log with their payload. */

import type { LogRecord } from '../../../delivery/batch.ts';
import type { ReadRecords } from '../../dispatch.ts';
import type { Database, Row } from '../driver/database.ts';

// The subquery is served by erasure_open, and asked only about events that have a subject.
const RECORDS = `
  SELECT o.record_offset, e.id, e.type, e.subject, e.correlation_id, e.actor_id, e.created_at,
    iif(e.subject IS NOT NULL AND EXISTS (SELECT 1 FROM erasure AS r INDEXED BY erasure_open
      WHERE r.subject = e.subject AND r.through_key >= e.key AND r.finished_at IS NULL), NULL, e.data) AS data
  FROM outbox AS o CROSS JOIN event AS e ON e.key = o.event_key
  WHERE o.webhook_number = @webhookNumber AND o.record_offset BETWEEN @first AND @last
  ORDER BY o.record_offset`;

export function recordReader(db: Pick<Database, 'all'>): ReadRecords {
  return async (webhookNumber, first, last) => (await db.all(RECORDS, { webhookNumber, first, last })).map(readRecord);
}

function readRecord(row: Row): LogRecord {
  return {
    offset: Number(row.record_offset),
    createdAt: Number(row.created_at),
    correlationId: String(row.correlation_id),
    messageId: String(row.id),
    eventType: String(row.type),
    actorId: row.actor_id === null ? null : String(row.actor_id),
    dataJson: row.data === null ? null : String(row.data),
    subject: row.subject === null ? null : String(row.subject),
  };
}

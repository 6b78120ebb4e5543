/** The records of a log with their payload. */

import type { EnvelopeRecord } from '../wire/envelope.ts';
import type { Database, Row } from './database.ts';

/** A record of the log with its payload. `dataJson` is null once erased. */
export type LogRecord = Omit<EnvelopeRecord, 'dataJson'> & { readonly dataJson: string | null };

/** Records by offset, both ends included. */
export type ReadRecords = (webhookNumber: number, first: number, last: number) => Promise<LogRecord[]>;

const RECORDS = `
  SELECT o.record_offset, e.id, e.type, e.data, e.correlation_id, e.actor_id, e.created_at
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
  };
}

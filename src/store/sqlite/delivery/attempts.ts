/** Attempts (`attempt`): every request to a receiver and its outcome. */

import type { AttemptKind, AttemptRecord } from '../../../delivery/batch.ts';
import { firstRowKeyAt, isUuidV7, rowKeyOf, rowKeyTime } from '../../../kernel/ids.ts';
import { BATCH_RECORDS_MAX } from '../../../kernel/limits/limits.ts';
import { ATTEMPTS_LOOKED_THROUGH, BATCH_BEGUN_MS } from '../../../kernel/limits/log.ts';
import type { Timings } from '../../../outbound/outcome.ts';
import type { AttemptStore } from '../../deliveries.ts';
import type { Database, Row } from '../driver/database.ts';
import { attemptStatement } from './settlement.ts';

const GET = 'SELECT * FROM attempt WHERE key = @key AND id = @id';
// Index: attempt_record. A batch that covers the offset begins less than BATCH_RECORDS_MAX before it. Attempts after the erasure of the
// record did not carry it.
const OF_RECORD = `
  SELECT * FROM attempt
  WHERE webhook_number = @webhookNumber AND first_offset > @offset - ${BATCH_RECORDS_MAX} AND first_offset <= @offset AND last_offset >= @offset AND started_at < coalesce((
    SELECT e.erased_at FROM outbox AS o CROSS JOIN event AS e ON e.key = o.event_key
    WHERE o.webhook_number = @webhookNumber AND o.record_offset = @offset), started_at + 1)
  ORDER BY key DESC LIMIT @limit`;
// The newest attempts of all, and those of one webhook among them, which are enough for a busy webhook.
const LATEST = 'SELECT * FROM attempt ORDER BY key DESC LIMIT @limit';
const LATEST_OF = `
  SELECT key FROM (SELECT key, webhook_number FROM attempt ORDER BY key DESC LIMIT ${ATTEMPTS_LOOKED_THROUGH})
  WHERE webhook_number = @webhookNumber ORDER BY key DESC LIMIT @limit`;
// Index: attempt_record. Attempts for the newest records, heartbeats and tests, which include the newest ones of a quiet webhook.
const OF_NEWEST_RECORDS = `
  SELECT key FROM attempt WHERE webhook_number = @webhookNumber AND first_offset IS NOT NULL ORDER BY first_offset DESC LIMIT @limit`;
const WITHOUT_RECORDS = `
  SELECT key FROM attempt INDEXED BY attempt_record WHERE webhook_number = @webhookNumber AND first_offset IS NULL AND last_offset IS NULL
  ORDER BY key DESC LIMIT @limit`;
// The first attempt of a batch ends within minutes of its claim. The time of the claim is in the batch's id.
const OF_BATCH = `
  SELECT webhook_number, first_offset, last_offset FROM (
    SELECT batch_id, webhook_number, first_offset, last_offset FROM attempt WHERE key >= @from AND key < @to
    ORDER BY key LIMIT ${ATTEMPTS_LOOKED_THROUGH})
  WHERE batch_id = @batchId AND first_offset IS NOT NULL LIMIT 1`;
const WITH_KEYS = 'SELECT * FROM attempt WHERE key IN (SELECT value FROM json_each(@keys)) ORDER BY key DESC';

export function attemptStore(db: Database): AttemptStore {
  return {
    insert: async (attempt) => void (await db.commit([attemptStatement(attempt)])),
    get: async (id) => {
      const row = isUuidV7(id) ? await db.get(GET, { key: rowKeyOf(id), id }) : undefined;
      return row === undefined ? null : read(row);
    },
    ofRecord: async (webhookNumber, offset, limit) =>
      (await db.all(OF_RECORD, { webhookNumber, offset, limit })).map(read).reverse(),
    batch: async (id) => {
      if (!isUuidV7(id)) return null;
      const from = rowKeyOf(id);
      const to = firstRowKeyAt(rowKeyTime(from) + BATCH_BEGUN_MS);
      const row = await db.get(OF_BATCH, { batchId: id, from, to });
      if (row === undefined) return null;
      return {
        webhookNumber: Number(row.webhook_number),
        first: Number(row.first_offset),
        last: Number(row.last_offset),
      };
    },
    latest: async (limit) => (await db.all(LATEST, { limit })).map(read),
    latestOf: async (webhookNumber, limit) => {
      const params = { webhookNumber, limit };
      let rows = await db.all(LATEST_OF, params);
      if (rows.length < limit) {
        rows = [...rows, ...(await db.all(OF_NEWEST_RECORDS, params)), ...(await db.all(WITHOUT_RECORDS, params))];
      }
      const keys = [...new Set(rows.map(({ key }) => Number(key)))].sort((a, b) => b - a).slice(0, limit);
      return (await db.all(WITH_KEYS, { keys: JSON.stringify(keys) })).map(read);
    },
  };
}

function read(row: Row): AttemptRecord {
  return {
    id: String(row.id),
    webhookNumber: Number(row.webhook_number),
    kind: row.kind as AttemptKind,
    batchId: row.batch_id as string | null,
    firstOffset: row.first_offset as number | null,
    lastOffset: row.last_offset as number | null,
    attemptNumber: Number(row.attempt_number),
    startedAt: Number(row.started_at),
    requestHeaders: JSON.parse(String(row.request_headers)) as Record<string, string>,
    responseStatus: row.response_status as number | null,
    responseHeaders:
      row.response_headers === null ? null : (JSON.parse(String(row.response_headers)) as Record<string, string>),
    responseBody: row.response_body as Uint8Array | null,
    errorClass: row.error_class as string | null,
    errorMessage: row.error_message as string | null,
    timings: JSON.parse(String(row.timings)) as Timings,
  };
}

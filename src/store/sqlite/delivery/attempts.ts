/** Attempts (`attempt`): every request to a receiver and its outcome. */

import type { AttemptRecord } from '../../../delivery/batch.ts';
import { firstRowKeyAt, isUuidV7, rowKeyOf, rowKeyTime } from '../../../kernel/ids.ts';
import { BATCH_RECORDS_MAX } from '../../../kernel/limits/limits.ts';
import { ATTEMPTS_LOOKED_THROUGH, BATCH_BEGUN_MS } from '../../../kernel/limits/log.ts';
import type { Timings } from '../../../outbound/outcome.ts';
import type { AttemptStore } from '../../deliveries.ts';
import type { Database, Row } from '../driver/database.ts';
import { json, readRow } from '../driver/table.ts';
import { ATTEMPT_COLUMNS } from '../erasure.ts';
import { attemptStatement } from './settlement.ts';

const GET = `SELECT ${ATTEMPT_COLUMNS} FROM attempt WHERE key = @key AND id = @id`;
// Index: attempt_record. A batch that covers the offset begins less than BATCH_RECORDS_MAX before it. Attempts after the erasure of the
// record did not carry it.
const OF_RECORD = `
  SELECT ${ATTEMPT_COLUMNS} FROM attempt
  WHERE webhook_number = @webhookNumber AND first_offset > @offset - ${BATCH_RECORDS_MAX} AND first_offset <= @offset AND last_offset >= @offset AND started_at < coalesce((
    SELECT e.erased_at FROM outbox AS o CROSS JOIN event AS e ON e.key = o.event_key
    WHERE o.webhook_number = @webhookNumber AND o.record_offset = @offset), started_at + 1)
  ORDER BY key DESC LIMIT @limit`;
// The newest attempts of all, and those of one webhook among them, which are enough for a busy webhook.
const LATEST = `SELECT ${ATTEMPT_COLUMNS} FROM attempt ORDER BY key DESC LIMIT @limit`;
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
  SELECT webhook_number, first_offset AS first, last_offset AS last FROM (
    SELECT batch_id, webhook_number, first_offset, last_offset FROM attempt WHERE key >= @from AND key < @to
    ORDER BY key LIMIT ${ATTEMPTS_LOOKED_THROUGH})
  WHERE batch_id = @batchId AND first_offset IS NOT NULL LIMIT 1`;
const WITH_KEYS = `SELECT ${ATTEMPT_COLUMNS} FROM attempt WHERE key IN (SELECT value FROM json_each(@keys)) ORDER BY key DESC`;

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
      return row === undefined ? null : readRow(row);
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
  const headers = json<Readonly<Record<string, string>>>();
  return readRow<AttemptRecord>(row, { requestHeaders: headers, responseHeaders: headers, timings: json<Timings>() });
}

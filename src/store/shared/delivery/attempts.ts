/** Attempts (`attempt`): every request to a receiver and its outcome. */

import type { AttemptRecord } from '../../../domain/batch.ts';
import { BATCH_RECORDS_MAX } from '../../../domain/limits.ts';
import type { Timings } from '../../../domain/outcome.ts';
import { firstRowKeyAt, isUuidV7, rowKeyOf, rowKeyTime } from '../../../kernel/ids.ts';
import type { Answer, Database, Row, SqlParameters } from '../../port/database.ts';
import type { AttemptOutcome, AttemptStore, LastOutcomes } from '../../port/deliveries.ts';
import { ATTEMPT_COLUMNS } from '../erasure.ts';
import { json, readRow } from '../table.ts';
import { lastAttempts } from './outcomes.ts';
import { attemptStatement } from './settlement.ts';

/** Attempts examined for the latest ones of a webhook or a batch, and the time in which the first attempt of a new batch ends. */
export const ATTEMPTS_LOOKED_THROUGH = 2000;
const BATCH_BEGUN_MS = 300_000;

/** Attempts examined for the last delivery and the last error of webhooks: the newest of all, and the newest of each webhook. */
export const OUTCOMES_LOOKED_THROUGH = 500;
const OUTCOMES_PER_WEBHOOK = 10;
const AMONG = 'webhook_number IN (SELECT n.value FROM numbers(@among) AS n)';
const GET = `SELECT ${ATTEMPT_COLUMNS} FROM attempt WHERE key = @key AND id = @id`;
const GET_AMONG = `${GET} AND ${AMONG}`;
// Index: attempt_record. A batch that covers the offset begins less than BATCH_RECORDS_MAX before it. Attempts after the erasure of the
// record did not carry it.
const OF_RECORD = `
  SELECT ${ATTEMPT_COLUMNS} FROM attempt
  WHERE webhook_number = @webhookNumber AND first_offset > @offset - ${BATCH_RECORDS_MAX} AND first_offset <= @offset
    AND last_offset >= @offset AND started_at < coalesce((
    SELECT e.erased_at FROM outbox AS o CROSS JOIN event AS e
    WHERE e.key = o.event_key AND o.webhook_number = @webhookNumber AND o.record_offset = @offset), started_at + 1)
  ORDER BY key DESC LIMIT @limit`;
// The newest attempts of all, and those of one webhook among them, which are enough for a busy webhook.
const LATEST = `SELECT ${ATTEMPT_COLUMNS} FROM attempt ORDER BY key DESC LIMIT @limit`;
const LIVE = `
  SELECT w.id AS live_webhook_id, a.* FROM (SELECT ${ATTEMPT_COLUMNS} FROM attempt ORDER BY key DESC LIMIT @limit) AS a
  JOIN webhook AS w ON w.number = a.webhook_number`;
const LATEST_OF_OUTCOME = `
  SELECT key FROM (SELECT key, error_class FROM attempt ORDER BY key DESC LIMIT ${ATTEMPTS_LOOKED_THROUGH}) AS newest
  WHERE (error_class IS NOT NULL) = @failed ORDER BY key DESC LIMIT @limit`;
const LATEST_OF = `
  SELECT key FROM (SELECT key, webhook_number, error_class FROM attempt ORDER BY key DESC LIMIT ${ATTEMPTS_LOOKED_THROUGH}) AS newest
  WHERE webhook_number = @webhookNumber AND (CAST(@failed AS BOOLEAN) IS NULL OR (error_class IS NOT NULL) = @failed)
    ORDER BY key DESC LIMIT @limit`;
// Index: attempt_record. Attempts for the newest records, heartbeats and tests, which include the newest ones of a quiet webhook.
const OF_NEWEST_RECORDS = `
  SELECT key FROM attempt WHERE webhook_number = @webhookNumber AND first_offset IS NOT NULL ORDER BY first_offset DESC LIMIT @limit`;
const WITHOUT_RECORDS = `
  SELECT key FROM attempt INDEXED BY attempt_record WHERE webhook_number = @webhookNumber AND first_offset IS NULL AND last_offset IS NULL
  ORDER BY key DESC LIMIT @limit`;
// The newest attempts of all, and for each webhook those at its newest records (index: attempt_record). The last of either outcome wins.
const OUTCOMES = `
  WITH wanted AS (SELECT asked.value AS number FROM numbers(@webhookNumbers) AS asked),
  seen AS (
    SELECT key FROM (SELECT key, webhook_number FROM attempt ORDER BY key DESC LIMIT ${OUTCOMES_LOOKED_THROUGH}) AS newest
    WHERE webhook_number IN (SELECT number FROM wanted)
    UNION
    SELECT a.key FROM wanted AS w CROSS JOIN attempt AS a
    WHERE a.webhook_number = w.number AND a.first_offset >= coalesce((
      SELECT o.first_offset FROM attempt AS o WHERE o.webhook_number = w.number AND o.first_offset IS NOT NULL
      ORDER BY o.first_offset DESC LIMIT 1 OFFSET ${OUTCOMES_PER_WEBHOOK - 1}), 0)),
  ranked AS (
    SELECT webhook_number, error_class IS NOT NULL AS failed, started_at, error_class, error_message,
      row_number() OVER (PARTITION BY webhook_number, error_class IS NOT NULL ORDER BY key DESC) AS place
    FROM attempt WHERE key IN (SELECT key FROM seen) AND kind = 'delivery')
  SELECT webhook_number, failed, started_at, error_class, error_message FROM ranked WHERE place = 1`;
// The first attempt of a batch ends within minutes of its claim. The time of the claim is in the batch's id.
const ofBatch = (condition: string): string => `
  SELECT webhook_number, first_offset AS first, last_offset AS last FROM (
    SELECT batch_id, webhook_number, first_offset, last_offset FROM attempt WHERE key >= @from AND key < @to
    ORDER BY key LIMIT ${ATTEMPTS_LOOKED_THROUGH}) AS begun
  WHERE batch_id = @batchId AND first_offset IS NOT NULL ${condition} LIMIT 1`;
const OF_BATCH = ofBatch('');
const OF_BATCH_AMONG = ofBatch(`AND ${AMONG}`);
const WITH_KEYS = `SELECT ${ATTEMPT_COLUMNS} FROM attempt WHERE key IN (SELECT wanted.value FROM numbers(@keys) AS wanted)
  ORDER BY key DESC`;

export function attemptStore(db: Database): AttemptStore {
  const getAmong = (
    among: readonly number[] | null,
    [ofAll, ofSome]: readonly [string, string],
    params: SqlParameters,
  ): Answer<Row | undefined> =>
    among === null ? db.get(ofAll, params) : db.get(ofSome, { ...params, among: JSON.stringify(among) });
  const latestOf: AttemptStore['latestOf'] = async (webhookNumber, limit, outcome = null) => {
    const params = { webhookNumber, limit };
    let rows = await db.all(LATEST_OF, { ...params, failed: failedOf(outcome) });
    if (rows.length < limit) {
      rows = [...rows, ...(await db.all(OF_NEWEST_RECORDS, params)), ...(await db.all(WITHOUT_RECORDS, params))];
    }
    const attempts = await withKeys(db, rows);
    return attempts.filter((one) => outcome === null || outcomeOf(one) === outcome).slice(0, limit);
  };
  return {
    insert: async (attempt) => void (await db.commit([attemptStatement(attempt)])),
    get: async (id, among = null) => {
      if (!isUuidV7(id)) return null;
      const row = await getAmong(among, [GET, GET_AMONG], { key: rowKeyOf(id), id });
      return row === undefined ? null : read(row);
    },
    lastOf: (records) => lastAttempts(db, records),
    ofRecord: async (webhookNumber, offset, limit) =>
      (await db.all(OF_RECORD, { webhookNumber, offset, limit })).map(read).reverse(),
    batch: async (id, among = null) => {
      if (!isUuidV7(id)) return null;
      const from = rowKeyOf(id);
      const to = firstRowKeyAt(rowKeyTime(from) + BATCH_BEGUN_MS);
      const row = await getAmong(among, [OF_BATCH, OF_BATCH_AMONG], { batchId: id, from, to });
      return row === undefined ? null : readRow(row);
    },
    latest: async (limit, outcome = null, among = null) => {
      if (among !== null) {
        const found: AttemptRecord[] = [];
        for (const number of among) found.push(...(await latestOf(number, limit, outcome)));
        return found.sort((a, b) => b.startedAt - a.startedAt || (a.id < b.id ? 1 : -1)).slice(0, limit);
      }
      if (outcome === null) return (await db.all(LATEST, { limit })).map(read);
      const rows = await db.all(LATEST_OF_OUTCOME, { limit, failed: failedOf(outcome) });
      return withKeys(db, rows);
    },
    live: async (limit) => {
      const rows = await db.all(LIVE, { limit });
      const found = rows.map(({ live_webhook_id, ...row }) => ({
        webhookId: String(live_webhook_id),
        attempt: read(row),
      }));
      // The ids of attempts are ordered by time, as their keys.
      return found.sort((one, other) => (one.attempt.id < other.attempt.id ? 1 : -1));
    },
    latestOf,
    lastOutcomes: async (webhookNumbers) => {
      const rows = await db.all(OUTCOMES, { webhookNumbers: JSON.stringify(webhookNumbers) });
      const outcomes = new Map<number, LastOutcomes>();
      for (const { webhook_number, failed, started_at, error_class, error_message } of rows) {
        const number = Number(webhook_number);
        const found = outcomes.get(number) ?? { deliveredAt: null, failure: null };
        const at = Number(started_at);
        const errorMessage = error_message === null ? null : String(error_message);
        outcomes.set(number, {
          ...found,
          ...(failed === 1 ? { failure: { at, errorClass: String(error_class), errorMessage } } : { deliveredAt: at }),
        });
      }
      return outcomes;
    },
  };
}

/** Newest first, each once. */
async function withKeys(db: Database, rows: readonly Row[]): Promise<AttemptRecord[]> {
  const keys = [...new Set(rows.map(({ key }) => Number(key)))];
  return (await db.all(WITH_KEYS, { keys: JSON.stringify(keys) })).map(read);
}

function failedOf(outcome: AttemptOutcome | null): boolean | null {
  return outcome === null ? null : outcome === 'failed';
}

function outcomeOf({ errorClass }: AttemptRecord): AttemptOutcome {
  return errorClass === null ? 'delivered' : 'failed';
}

function read(row: Row): AttemptRecord {
  const headers = json<Readonly<Record<string, string>>>();
  return readRow<AttemptRecord>(row, { requestHeaders: headers, responseHeaders: headers, timings: json<Timings>() });
}

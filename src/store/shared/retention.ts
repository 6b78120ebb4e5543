/**
 * Deletes expired data and the logs of deleted webhooks. Each verb is one small step. A record is deleted with its part of the batch and
 * with the attempts that carried no other record; an event is deleted with its last record.
 */

import { firstRowKeyAt, rowKeyTime } from '../../kernel/ids.ts';
import type { Database, SqlParameters, Statement } from '../port/database.ts';
import { StaleWrite } from '../port/errors.ts';
import type { RecordSweep, RemovalStore, RetentionStore, SweepStep, Unread } from '../port/housekeeping.ts';
import { measured, type StepResult } from '../port/steps.ts';
import type { LockLog } from './delivery/stretches.ts';

/** Payload deleted per step. Freed pages are overwritten, so large events cost more than one row. */
const STEP_PAYLOAD_BYTES: number = 256 * 1024;

// Reads the log in its order. An index by age would cost a write for every settled batch. Without batches behind the cursor, their records
// would count as waiting.
const BATCHES = `
  SELECT first_offset, last_offset, state, settled_at FROM batch
  WHERE webhook_number = @webhookNumber AND first_offset >= @from
    AND last_offset < (SELECT covered_offset FROM webhook_position WHERE webhook_number = @webhookNumber)
  ORDER BY first_offset LIMIT @limit`;
const EVENT_KEY =
  'SELECT event_key FROM outbox WHERE webhook_number = @webhookNumber AND record_offset >= @offset ORDER BY record_offset LIMIT 1';
// Index of the records: the primary key. The log is almost in the order of its events, so only a part without gaps is taken.
const UNREAD = `
  SELECT w.id AS webhook_id, q.covered_offset, o.record_offset, coalesce(octet_length(e.data), 0) AS bytes
  FROM webhook_position AS q CROSS JOIN webhook AS w CROSS JOIN outbox AS o LEFT JOIN event AS e ON e.key = o.event_key
  WHERE q.webhook_number = @webhookNumber AND w.number = q.webhook_number AND w.mode = 'pull' AND o.webhook_number = q.webhook_number
    AND o.record_offset >= q.covered_offset AND o.record_offset < q.covered_offset + @limit AND o.event_key < @before
  ORDER BY o.record_offset`;
const PASS_OVER = `
  UPDATE webhook_position SET covered_offset = @last + 1 WHERE webhook_number = @webhookNumber AND covered_offset = @first`;
const SIZES = `
  SELECT o.record_offset, coalesce(octet_length(e.data), 0) AS bytes FROM outbox AS o LEFT JOIN event AS e ON e.key = o.event_key
  WHERE o.webhook_number = @webhookNumber AND o.record_offset BETWEEN @first AND @last ORDER BY o.record_offset LIMIT @limit`;
// A replay may have made a part of a batch pending again.
const NONE_PENDING = `NOT EXISTS (
      SELECT 1 FROM batch AS again
      WHERE again.webhook_number = @webhookNumber AND again.first_offset BETWEEN @first AND @last AND again.state = 'pending')`;
const DELETE_BATCHES = `
  DELETE FROM batch WHERE webhook_number = @webhookNumber AND first_offset BETWEEN @first AND @last AND last_offset <= @last
    AND ${NONE_PENDING}`;
const SHORTEN_BATCH = `
  UPDATE batch SET first_offset = @last + 1
  WHERE webhook_number = @webhookNumber AND first_offset BETWEEN @first AND @last AND last_offset > @last
    AND ${NONE_PENDING}`;
const DELETE_RECORDS =
  'DELETE FROM outbox WHERE webhook_number = @webhookNumber AND record_offset BETWEEN @first AND @last';
// While a log has a later record, the next offset follows from that one.
const RAISE_BASE = `
  UPDATE webhook_progress SET base_offset = @last + 1
  WHERE webhook_number = @webhookNumber AND base_offset <= @last
    AND NOT EXISTS (SELECT 1 FROM outbox WHERE webhook_number = @webhookNumber AND record_offset > @last)`;
const NEXT_WEBHOOK = 'SELECT min(webhook_number) AS number FROM webhook_progress WHERE webhook_number > @after';
// Index: erasure_finished.
const OLD_ERASURES = `
  DELETE FROM erasure WHERE id IN (SELECT id FROM erasure WHERE finished_at < @before LIMIT @limit)`;
const OLD_KEYS = `
  DELETE FROM idempotency WHERE (publisher, key) IN (
    SELECT publisher, key FROM idempotency WHERE expires_at <= @now ORDER BY expires_at LIMIT @limit)`;

const OLD_REPLIES = `
  DELETE FROM kept_reply WHERE (application_id, key) IN (
    SELECT application_id, key FROM kept_reply WHERE expires_at <= @now ORDER BY expires_at LIMIT @limit)`;

/** Each database has its own `byAge` and `shortLived`. */
export function retentionStore(database: Database, of: OfRecord): Omit<RetentionStore, 'byAge' | 'shortLived'> {
  const remove = remover(database);
  return {
    nextWebhook: async (after) => {
      const row = await database.get(NEXT_WEBHOOK, { after });
      return row?.number == null ? null : Number(row.number);
    },
    records: (sweep, limit) => measured(database, (db) => sweepRecords(db, sweep, limit, of)),
    idempotencyKeys: (now, limit) => remove(OLD_KEYS, { now }, limit),
    erasures: (before, limit) => remove(OLD_ERASURES, { before }, limit),
    keptReplies: (now, limit) => remove(OLD_REPLIES, { now }, limit),
  };
}

type Remove = (sql: string, params: SqlParameters, limit: number) => Promise<StepResult>;

/** Returns the function that runs a statement which deletes up to `@limit` rows. */
export function remover(database: Database): Remove {
  return (sql, params, limit) =>
    measured(database, async (db) => {
      const [deleted] = await db.commit([{ sql, params: { ...params, limit } }]);
      const rows = deleted?.changes ?? 0;
      return { done: rows < limit, rows };
    });
}

const REMOVED = 'SELECT min(number) AS number FROM removed_webhook';
// Index: attempt_record, which includes heartbeats and tests.
const REMOVED_ATTEMPTS = `
  DELETE FROM attempt WHERE key IN (SELECT key FROM attempt WHERE webhook_number = @webhookNumber LIMIT @limit)`;
const REMOVED_BATCHES = `
  DELETE FROM batch WHERE webhook_number = @webhookNumber AND first_offset <= (
    SELECT max(first_offset) FROM (
      SELECT first_offset FROM batch WHERE webhook_number = @webhookNumber ORDER BY first_offset LIMIT @limit) AS oldest)`;
const FORGET_NUMBER = 'DELETE FROM removed_webhook WHERE number = @webhookNumber';

export function removalStore(database: Database, of: OfRecord): RemovalStore {
  return {
    step: (limit) =>
      measured(database, async (db) => {
        const number = (await db.get(REMOVED, {}))?.number;
        if (number == null) return { done: true, rows: 0 };
        const webhookNumber = Number(number);
        for (const sql of [REMOVED_ATTEMPTS, REMOVED_BATCHES]) {
          const [deleted] = await db.commit([{ sql, params: { webhookNumber, limit } }]);
          if (deleted !== undefined && deleted.changes > 0) return { done: false, rows: deleted.changes };
        }
        const records = await db.all(SIZES, { webhookNumber, first: 0, last: Number.MAX_SAFE_INTEGER, limit });
        const within = records.slice(0, withinBytes(records.map(({ bytes }) => Number(bytes))));
        const [first, last] = [Number(within[0]?.record_offset), Number(within.at(-1)?.record_offset)];
        const forget: Statement = { sql: FORGET_NUMBER, params: { webhookNumber } };
        await db.commit(within.length === 0 ? [forget] : recordStatements({ webhookNumber, first, last }, of));
        return { done: false, rows: within.length };
      }),
  };
}

type Swept = Omit<SweepStep, 'took'> & { readonly unread?: Unread };

/** Deletes the first stretch of due records from offset `from`, as much of it as fits in one step. */
async function sweepRecords(db: Database, sweep: RecordSweep, limit: number, of: OfRecord): Promise<Swept> {
  const { webhookNumber, from, deliveredBy, deadBy } = sweep;
  const seen = (await db.all(BATCHES, { webhookNumber, from, limit })).map((row) => ({
    first: Number(row.first_offset),
    last: Number(row.last_offset),
    due:
      row.settled_at !== null && Number(row.settled_at) <= ((row.state === 'delivered' ? deliveredBy : deadBy) ?? -1),
  }));
  const [head] = seen;
  if (head === undefined) return deadBy === null ? END : sweepUnread(db, { webhookNumber, from, deadBy }, limit, of);
  // Later records cannot have been settled earlier. If a clock was set, the next sweep finds the rest.
  const eventKey = (await db.get(EVENT_KEY, { webhookNumber, offset: head.first }))?.event_key ?? 0;
  if (rowKeyTime(Number(eventKey)) > Math.max(deliveredBy ?? -1, deadBy ?? -1)) return END;
  const beginning = seen.findIndex(({ due }) => due);
  if (beginning === -1) return { done: false, next: (seen.at(-1)?.last ?? from) + 1, rows: 0 };
  const ending = seen.findIndex(({ due }, at) => at > beginning && !due);
  const batches = seen.slice(beginning, ending === -1 ? undefined : ending);
  return deleteStretch(db, webhookNumber, batches, limit, of);
}

/** Records that the reader of a webhook in mode `pull` has not acknowledged for as long as dead records are kept. */
async function sweepUnread(
  db: Database,
  { webhookNumber, from, deadBy }: Pick<RecordSweep, 'webhookNumber' | 'from'> & { readonly deadBy: number },
  limit: number,
  of: OfRecord,
): Promise<Swept> {
  const seen = await db.all(UNREAD, { webhookNumber, limit, before: firstRowKeyAt(deadBy + 1) });
  const first = Number(seen[0]?.covered_offset ?? 0);
  const gap = seen.findIndex((row, at) => Number(row.record_offset) !== first + at);
  const unread = gap === -1 ? seen : seen.slice(0, gap);
  if (unread.length === 0) return END;
  const last = first + withinBytes(unread.map(({ bytes }) => Number(bytes))) - 1;
  try {
    await db.commit([
      // An acknowledgement may have come first.
      { sql: PASS_OVER, params: { webhookNumber, first, last }, expectChanges: 1 },
      ...recordStatements({ webhookNumber, first, last }, of),
    ]);
  } catch (error) {
    if (!(error instanceof StaleWrite)) throw error;
    return { done: false, next: from, rows: 0 };
  }
  return {
    done: false,
    next: from,
    rows: last - first + 1,
    unread: { webhookId: String(seen[0]?.webhook_id), first, last },
  };
}

const END: Swept = { done: true, next: null, rows: 0 };

type Stretch = { readonly first: number; readonly last: number };

async function deleteStretch(
  db: Database,
  webhookNumber: number,
  batches: readonly Stretch[],
  limit: number,
  of: OfRecord,
): Promise<Swept> {
  const first = batches[0]?.first ?? 0;
  const sizes = await db.all(SIZES, { webhookNumber, first, last: batches.at(-1)?.last ?? 0, limit });
  const last = Number(sizes[withinBytes(sizes.map(({ bytes }) => Number(bytes))) - 1]?.record_offset ?? first);
  const stretch = { webhookNumber, first, last };
  const attempts = of.attempts === null ? 0 : (await db.all(of.attempts.find, { ...stretch, limit })).length;
  const deleteAttempts: Statement[] =
    of.attempts === null || attempts === 0 ? [] : [{ sql: of.attempts.remove, params: { ...stretch, limit } }];
  try {
    if (attempts === limit) {
      // The attempts fill this step. A later one deletes the records.
      await db.commit(deleteAttempts);
      return { done: false, next: first, rows: attempts };
    }
    const whole = batches.filter((batch) => batch.last <= last).length;
    const cut = batches.some((batch) => batch.first <= last && batch.last > last) ? 1 : 0;
    await db.commit([
      ...of.lockLog(webhookNumber),
      // Any other number of rows means that a replay came first: the records are needed again.
      { sql: DELETE_BATCHES, params: stretch, expectChanges: whole },
      { sql: SHORTEN_BATCH, params: stretch, expectChanges: cut },
      ...deleteAttempts,
      ...recordStatements(stretch, of),
    ]);
    return { done: false, next: last + 1, rows: last - first + 1 };
  } catch (error) {
    if (!(error instanceof StaleWrite)) throw error;
    return { done: false, next: first, rows: 0 };
  }
}

/** The statements that delete other rows together with the records of a stretch. Null: those rows are deleted only by their age. */
export type OfRecord = {
  /** The events that are in no other log. */
  readonly events: string | null;
  /** Finds and removes up to `@limit` attempts that carried no other record. */
  readonly attempts: { readonly find: string; readonly remove: string } | null;
  readonly lockLog: LockLog;
};

/** Deletes records, and the events that are in no other log. No later record gets one of their offsets. */
function recordStatements(params: { readonly webhookNumber: number } & Stretch, of: OfRecord): Statement[] {
  return [
    ...(of.events === null ? [] : [{ sql: of.events, params }]),
    { sql: RAISE_BASE, params },
    { sql: DELETE_RECORDS, params },
  ];
}

/** How many of the first sizes fit in one step; at least one. */
export function withinBytes(sizes: readonly number[]): number {
  let sum = 0;
  const beyond = sizes.findIndex((size, at) => {
    sum += size;
    return at > 0 && sum > STEP_PAYLOAD_BYTES;
  });
  return beyond === -1 ? sizes.length : beyond;
}

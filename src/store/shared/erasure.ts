/** Erasure of one person's data (`event`, `attempt`): overwrites it in steps. */

import type { Answer, Database, Statement } from '../port/database.ts';
import type { Erasure, ErasureStore } from '../port/events.ts';
import { ERASURE_IN_PROGRESS_MS } from '../port/limits.ts';
import { measured, type StepResult } from '../port/steps.ts';
import { auditStatement } from './audit.ts';
import { changedSql } from './changes.ts';
import { isAttemptOf, isBatchOf } from './delivery/covering.ts';
import type { LockLog } from './delivery/stretches.ts';
import { readRow } from './table.ts';

/** Every column but the key. */
export const ATTEMPT_COLUMNS = `id, webhook_number, kind, batch_id, first_offset, last_offset, attempt_number, started_at, request_headers,
  response_status, response_headers, response_body, error_class, error_message, response_problem, timings`;
export const EVENT_COLUMNS =
  'id, type, data, subject, audience, correlation_id, actor_id, created_at, erased_at, content_hash, ordering_key';

// Index: event_subject. Includes events that are already erased, for the sake of attempts that were in progress then.
const EVENTS = `
  SELECT key, erased_at FROM event WHERE subject = @subject AND key > @after AND key <= @through ORDER BY key LIMIT @limit`;
// Covers the events published so far. Index: event_subject.
const BEGIN = `
  INSERT INTO erasure (id, subject, actor, through_key, after_key, started_at)
  SELECT @id, @subject, @actor, coalesce(max(key), -1), -1, @startedAt FROM event WHERE subject = @subject`;
const GET = `
  SELECT id, subject, actor, through_key AS through, after_key AS after, events, deliveries_discarded, attempts, started_at, finished_at
  FROM erasure WHERE id = @id`;
// Index: erasure_open.
const OPEN = `SELECT id, subject FROM erasure INDEXED BY erasure_open WHERE finished_at IS NULL ORDER BY started_at, id`;
const FINISH = 'UPDATE erasure SET finished_at = @at WHERE id = @id AND finished_at IS NULL';
// Records without a batch or in a pending batch are still to be sent. A batch that was settled after the erasure began left the record out.
const COUNT_DISCARDED = `
  SELECT count(*)
  FROM event AS e CROSS JOIN outbox AS o
  LEFT JOIN batch AS b ON ${isBatchOf('o.webhook_number', 'o.record_offset')}
  WHERE o.event_key = e.key AND e.key IN (SELECT erased.value FROM numbers(@keys) AS erased) AND e.erased_at IS NULL
    AND (coalesce(b.state, 'pending') = 'pending' OR b.settled_at > @at)`;
const COUNT_EVENTS = `
  SELECT count(*) FROM event WHERE key IN (SELECT erased.value FROM numbers(@keys) AS erased) AND erased_at IS NULL`;
const ERASE = `
  UPDATE event SET data = NULL, content_hash = NULL, ordering_key = NULL, erased_at = @at
  WHERE key IN (SELECT erased.value FROM numbers(@keys) AS erased) AND erased_at IS NULL`;
// Index: event_term_event.
const FORGET_TERMS = 'DELETE FROM event_term WHERE event_key IN (SELECT erased.value FROM numbers(@keys) AS erased)';
const ANSWERED = `
  SELECT a.key
  FROM numbers(@keys) AS erased CROSS JOIN outbox AS o CROSS JOIN attempt AS a
  WHERE o.event_key = erased.value AND a.webhook_number = o.webhook_number
    AND ${isAttemptOf('o.record_offset')}
    AND (a.response_body IS NOT NULL OR a.response_headers IS NOT NULL)`;
// Counts before the data is overwritten. If two processes work on one erasure, the second one finds another `after_key` and does nothing.
const COUNT = `
  UPDATE erasure SET after_key = @reached, events = events + (${COUNT_EVENTS}),
    deliveries_discarded = deliveries_discarded + (${COUNT_DISCARDED}),
    attempts = attempts + (SELECT count(*) FROM attempt WHERE key IN (${ANSWERED}))
  WHERE id = @id AND after_key = @after AND finished_at IS NULL`;
const ERASE_ANSWERS = `
  UPDATE attempt SET response_body = NULL, response_headers = NULL WHERE key IN (${ANSWERED})`;

// A batch that waits for its key has a copy of the key. If it carries only data of this person, it is discarded now rather than at its
// turn. The key of another batch is that of other people's records too. A batch that a process has in memory gets its row without the key
// once its events are erased (`settlement.ts`). Index: outbox_event, and the primary key of the batches.
const WAITING = `
  SELECT DISTINCT b.webhook_number, b.first_offset
  FROM numbers(@keys) AS erased CROSS JOIN outbox AS o CROSS JOIN batch AS b
  WHERE o.event_key = erased.value AND ${isBatchOf('o.webhook_number', 'o.record_offset')}
    AND b.state = 'pending' AND b.order_key <> '' AND b.lease_owner IS NULL
    AND NOT EXISTS (
      SELECT 1 FROM outbox AS other CROSS JOIN event AS e
      WHERE other.webhook_number = b.webhook_number AND other.record_offset BETWEEN b.first_offset AND b.last_offset
        AND e.key = other.event_key AND e.erased_at IS NULL AND (coalesce(e.subject, '') <> @subject OR e.key > @through))
  ORDER BY b.webhook_number, b.first_offset`;
const STILL_WAITING = `webhook_number = @webhookNumber AND first_offset IN (SELECT named.value FROM numbers(@offsets) AS named)
    AND state = 'pending' AND order_key <> '' AND lease_owner IS NULL`;
const COUNT_WAITING = `
  UPDATE webhook_position SET pending_records = pending_records - coalesce((
    SELECT sum(last_offset - first_offset + 1) FROM batch WHERE ${STILL_WAITING}), 0)
  WHERE webhook_number = @webhookNumber`;
// Settled after the erasure began, so that the records count as discarded by it.
const DISCARD_WAITING = `
  UPDATE batch SET state = 'discarded', next_attempt_at = NULL, settled_at = @at + 1, updated_at = @at + 1, order_key = NULL
  WHERE ${STILL_WAITING}`;
const CHANGED = changedSql('@webhookNumber');

/**
 * Whether an attempt carried an event that was erased after its records had been read. Its response may repeat the data and is then not
 * stored. Parameters as in the insertion of an attempt. Index: event_erased.
 */
export function carriedErased(attempt: {
  readonly startedAt: string;
  readonly webhookNumber: string;
  readonly firstOffset: string;
  readonly lastOffset: string;
}): string {
  return `
  EXISTS (SELECT 1 FROM event AS e CROSS JOIN outbox AS o
    WHERE o.event_key = e.key AND e.erased_at >= ${attempt.startedAt} - ${ERASURE_IN_PROGRESS_MS}
      AND o.webhook_number = ${attempt.webhookNumber} AND o.record_offset BETWEEN ${attempt.firstOffset} AND ${attempt.lastOffset})`;
}

/** Whether an event `e` belongs to an erasure that has begun: it is neither sent nor shown. Index: erasure_open. */
export const IS_UNDER_ERASURE = `(e.subject IS NOT NULL AND EXISTS (SELECT 1 FROM erasure AS r INDEXED BY erasure_open
      WHERE r.subject = e.subject AND r.through_key >= e.key AND r.finished_at IS NULL))`;

/** The rows that a step erases, by their keys. */
type ErasedRows = {
  readonly events: readonly number[];
  readonly attempts: readonly number[];
  readonly at: number;
};

/** The further steps of a database, so that no copy of the data is left. */
type CopyRemoval = {
  /** The first and last statements of a step's transaction. */
  readonly first: readonly Statement[];
  /** A transaction that waits for the settlements in progress, because they began before the events were erased. */
  readonly barrier: readonly Statement[];
  readonly lockLog: LockLog;
  last(erased: ErasedRows): Promise<readonly Statement[]>;
  /** As `ErasureStore.forgetCopies`. */
  forgetCopies(): Answer<boolean>;
};

export function erasureStore(database: Database, copies: CopyRemoval): ErasureStore {
  return {
    begin: async (erasure, audit) =>
      void (await database.commit([{ sql: BEGIN, params: erasure }, auditStatement(audit)])),
    get: async (id) => {
      const row = await database.get(GET, { id });
      return row === undefined ? null : readRow(row);
    },
    open: async () => (await database.all(OPEN, {})).map((row) => readRow(row)),
    step: (erasure, limit) => measured(database, (db) => step(db, erasure, limit, copies)),
    discardWaiting: (erasure, after, limit) =>
      measured(database, (db) => discardWaiting(db, erasure, after, limit, copies)),
    finish: async (id, at, audit) =>
      void (await database.commit([{ sql: FINISH, params: { id, at }, expectChanges: 1 }, auditStatement(audit)])),
    forgetCopies: async () => copies.forgetCopies(),
  };
}

async function step(
  db: Database,
  { id, subject, after, through, startedAt: at }: Erasure,
  limit: number,
  copies: CopyRemoval,
): Promise<Omit<StepResult, 'took'>> {
  const found = await db.all(EVENTS, { subject, after, through, limit });
  const keys = found.map(({ key }) => Number(key));
  const done = keys.length < limit;
  const params = { keys: JSON.stringify(keys) };
  const answered = (await db.all(ANSWERED, params)).map(({ key }) => Number(key));
  const erased = found.filter(({ erased_at }) => erased_at === null).map(({ key }) => Number(key));
  const reached = done ? through : (keys.at(-1) ?? through);
  await db.commit([
    ...copies.first,
    { sql: COUNT, params: { ...params, id, after, reached, at }, expectChanges: 1 },
    { sql: ERASE, params: { ...params, at } },
    { sql: FORGET_TERMS, params },
    { sql: ERASE_ANSWERS, params },
    ...(await copies.last({ events: erased, attempts: answered, at })),
  ]);
  return { done, rows: keys.length };
}

/** Transactions of their own: a settlement locks its batches before the attempts, and a step locks the attempts first. */
async function discardWaiting(
  db: Database,
  { subject, through, startedAt: at }: Erasure,
  after: number,
  limit: number,
  { barrier, lockLog }: CopyRemoval,
): Promise<Omit<StepResult, 'took'> & { readonly reached: number }> {
  if (after < 0 && barrier.length > 0) await db.commit(barrier);
  const keys = (await db.all(EVENTS, { subject, after, through, limit })).map(({ key }) => Number(key));
  const discarding = await discardingWaiting(db, { keys: JSON.stringify(keys), subject, through }, at, lockLog);
  if (discarding.length > 0) await db.commit(discarding);
  const done = keys.length < limit;
  return { done, rows: keys.length, reached: done ? through : (keys.at(-1) ?? through) };
}

/** The statements that discard the batches that wait for their keys and carry nothing but data of the erasure. */
async function discardingWaiting(
  db: Pick<Database, 'all'>,
  asked: { readonly keys: string; readonly subject: string; readonly through: number },
  at: number,
  lockLog: LockLog,
): Promise<Statement[]> {
  const found = await db.all(WAITING, asked);
  return [...Map.groupBy(found, (row) => Number(row.webhook_number))].flatMap(([webhookNumber, rows]) => {
    const waiting = { webhookNumber, offsets: JSON.stringify(rows.map((row) => Number(row.first_offset))) };
    return [
      ...lockLog(webhookNumber),
      { sql: COUNT_WAITING, params: waiting },
      { sql: DISCARD_WAITING, params: { ...waiting, at } },
      { sql: CHANGED, params: { webhookNumber } },
    ];
  });
}

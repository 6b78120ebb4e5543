/**
 * Replays (`batch`): settled records become pending again. Works in steps, so that a replay of millions does not block others. Erased
 * records keep their state, because there is nothing to send.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { AuditEntry } from '../../../domain/audit.ts';
import { firstRowKeyAt } from '../../../kernel/ids.ts';
import type { Database, Statement } from '../../port/database.ts';
import type { Replay, ReplayRange, ReplayStore } from '../../port/deliveries.ts';
import { measured, runSteps } from '../../port/steps.ts';
import { auditStatement } from '../audit.ts';
import { dueNowStatements } from '../changes.ts';
import { resultsByStatement } from '../table.ts';
import { LOG_DISORDER_MS } from './limits.ts';
import { BATCH_CAUSE } from './outcomes.ts';
import type { LockLog } from './stretches.ts';
import { tryNow } from './try-now.ts';

/** Batches counted per turn of the event loop before a replay. */
const REPLAY_COUNTED_AT_ONCE = 2000;

const SPLIT_RIGHT = `
  INSERT INTO batch (webhook_number, first_offset, last_offset, id, state, attempt_count, content_refusals, settled_at, updated_at)
  SELECT webhook_number, @at, last_offset, @id, state, attempt_count, content_refusals, settled_at, updated_at FROM batch
  WHERE webhook_number = @webhookNumber AND state <> 'pending' AND last_offset >= @at
    AND first_offset = (SELECT max(first_offset) FROM batch WHERE webhook_number = @webhookNumber AND first_offset < @at)
    AND first_offset < @at`;
const SPLIT_LEFT = `
  UPDATE batch SET last_offset = @at - 1, id = @id
  WHERE webhook_number = @webhookNumber AND state <> 'pending' AND last_offset >= @at
    AND first_offset = (SELECT max(first_offset) FROM batch WHERE webhook_number = @webhookNumber AND first_offset < @at)`;
// Starts from the erased events, which are few. A log is almost in the order of its keys (`splitAt`), so the range of keys is extended at
// both ends, and the offsets decide. Indexes: event_erased_key and outbox_event.
const ERASED = `
  SELECT o.record_offset FROM event AS e INDEXED BY event_erased_key
  CROSS JOIN outbox AS o
  WHERE o.event_key = e.key AND o.webhook_number = @webhookNumber AND o.record_offset BETWEEN @first AND @last
    AND e.erased_at IS NOT NULL AND e.key BETWEEN
    (SELECT event_key FROM outbox
      WHERE webhook_number = @webhookNumber AND record_offset >= @first ORDER BY record_offset LIMIT 1) - @disorder
    AND (SELECT event_key FROM outbox
      WHERE webhook_number = @webhookNumber AND record_offset <= @last ORDER BY record_offset DESC LIMIT 1) + @disorder`;
// The records of a key in some batches.
const OF_KEY = `
  SELECT o.record_offset FROM tuples(@batches) AS b
  CROSS JOIN outbox AS o CROSS JOIN event AS e
  WHERE o.webhook_number = @webhookNumber AND o.record_offset BETWEEN CAST(b.value ->> 0 AS BIGINT) AND CAST(b.value ->> 1 AS BIGINT)
    AND e.key = o.event_key AND e.ordering_key = @key
  ORDER BY o.record_offset`;
const DISORDER: number = firstRowKeyAt(LOG_DISORDER_MS);

/** `batches`: the table; `seen`: the batches that a step examines; `wanted`: the batches to send again; `cause`: null if any will do. */
function statementsOf(batches: string, seen: string, wanted: string, cause = 'NULL') {
  const range = 'webhook_number = @webhookNumber AND first_offset BETWEEN @first AND @last';
  return {
    // The first batch may begin before the range.
    next: `
      SELECT first_offset, last_offset, state, ${cause} AS cause FROM ${batches}
      WHERE webhook_number = @webhookNumber AND ${seen} AND first_offset <= @last AND last_offset >= @first
        AND first_offset >= coalesce((
          SELECT max(first_offset) FROM ${batches}
          WHERE webhook_number = @webhookNumber AND ${seen} AND first_offset <= @first), 0)
      ORDER BY first_offset LIMIT @limit`,
    countPending: `
      UPDATE webhook_position SET pending_records = pending_records + coalesce((
        SELECT sum(last_offset - first_offset + 1) FROM ${batches} WHERE ${range} AND ${wanted}), 0)
      WHERE webhook_number = @webhookNumber`,
    replay: `
      UPDATE ${batches}
      SET state = 'pending', attempt_count = 0, content_refusals = 0, next_attempt_at = @now, settled_at = NULL, updated_at = @now
      WHERE ${range} AND ${wanted} RETURNING first_offset, last_offset`,
  } as const;
}

const OF_STATES = statementsOf('batch', 'true', 'state IN (SELECT wanted.value FROM texts(@states) AS wanted)');
// Dead batches may be few among many.
const OF_DEAD = statementsOf('batch INDEXED BY batch_dead', "state = 'dead'", "state = 'dead'");
const OF_CAUSE = statementsOf(
  'batch INDEXED BY batch_dead',
  "state = 'dead'",
  `state = 'dead' AND ${BATCH_CAUSE} = @cause`,
  BATCH_CAUSE,
);

export function replayStore(database: Database, lockLog: LockLog): ReplayStore {
  return {
    count: async (range) => {
      const { last, cause } = range;
      const states: readonly string[] = range.states;
      let records = 0;
      for (let first = range.first; first <= last; await nextTurn()) {
        const batches = await nextBatches(database, { ...range, first }, REPLAY_COUNTED_AT_ONCE);
        const through = endOf(batches, REPLAY_COUNTED_AT_ONCE, last);
        const wanted = batches.filter(
          (batch) => states.includes(batch.state) && (cause === undefined || batch.cause === cause),
        );
        if (range.orderingKey !== undefined) {
          records += (await offsetsOfKey(database, { ...range, first, last: through }, wanted)).length;
          first = through + 1;
          continue;
        }
        const erased = await erasedOffsets(database, { ...range, first, last: through });
        records += countWithout(erased, wanted, { first, last });
        first = through + 1;
      }
      return records;
    },
    replay: async (replay, audit) => {
      const { last } = replay;
      let replayed = 0;
      let { first } = replay;
      let entry: AuditEntry | null = audit;
      await runSteps((size) =>
        measured(database, async (db) => {
          const batches = await nextBatches(db, { ...replay, first }, size);
          const through = endOf(batches, size, last);
          for (const part of await partsOf(db, { ...replay, first, last: through }, batches)) {
            replayed += await replayStretch(db, { ...replay, ...part }, entry, lockLog);
            entry = null;
          }
          first = through + 1;
          return { done: first > last };
        }),
      );
      if (entry !== null) await database.commit([auditStatement(entry)]);
      return replayed;
    },
    tryNow: (asked, audit) => tryNow(database, asked, audit),
  };
}

/** How many records of the batches are in the range and not erased. Offsets and batches are in order. */
function countWithout(
  erased: readonly number[],
  batches: readonly { readonly first: number; readonly last: number }[],
  { first, last }: { readonly first: number; readonly last: number },
): number {
  let records = 0;
  let at = 0;
  for (const batch of batches) {
    const [from, to] = [Math.max(batch.first, first), Math.min(batch.last, last)];
    while ((erased[at] ?? to) < from) at += 1;
    const before = at;
    while ((erased[at] ?? to + 1) <= to) at += 1;
    records += to - from + 1 - (at - before);
  }
  return records;
}

/** The parts of a stretch between erased records, or with the records of a key. Erased ones have no key. */
async function partsOf(
  db: Database,
  range: ReplayRange,
  batches: readonly FoundBatch[],
): Promise<Pick<ReplayRange, 'first' | 'last'>[]> {
  const { first, last } = range;
  if (range.orderingKey !== undefined) {
    const parts: { first: number; last: number }[] = [];
    for (const offset of await offsetsOfKey(db, range, batches)) {
      const before = parts.at(-1);
      if (before?.last === offset - 1) before.last = offset;
      else parts.push({ first: offset, last: offset });
    }
    return parts;
  }
  const ends = [first - 1, ...(await erasedOffsets(db, range)), last + 1];
  const parts = ends.slice(1).map((end, at) => ({ first: (ends[at] as number) + 1, last: end - 1 }));
  return parts.filter((part) => part.first <= part.last);
}

/** In ascending order. */
async function offsetsOfKey(db: Database, range: ReplayRange, batches: readonly FoundBatch[]): Promise<number[]> {
  const { webhookNumber, first, last, orderingKey: key = null } = range;
  const inside = batches.map((batch) => [Math.max(batch.first, first), Math.min(batch.last, last)]);
  const rows = await db.all(OF_KEY, { webhookNumber, key, batches: JSON.stringify(inside) });
  return rows.map((row) => Number(row.record_offset));
}

/** In ascending order. */
async function erasedOffsets(db: Database, { webhookNumber, first, last }: ReplayRange): Promise<number[]> {
  const rows = await db.all(ERASED, { webhookNumber, first, last, disorder: DISORDER });
  return rows.map((row) => Number(row.record_offset)).toSorted((a, b) => a - b);
}

type FoundBatch = {
  readonly first: number;
  readonly last: number;
  readonly state: string;
  readonly cause: string | null;
};

async function nextBatches(db: Database, range: ReplayRange, limit: number): Promise<FoundBatch[]> {
  const { webhookNumber, first, last } = range;
  return (await db.all(sqlFor(range).next, { webhookNumber, first, last, limit })).map((row) => ({
    first: Number(row.first_offset),
    last: Number(row.last_offset),
    state: String(row.state),
    cause: row.cause === null ? null : String(row.cause),
  }));
}

/** The last offset of a step with these batches. Fewer than `limit` batches are the last ones. */
function endOf(batches: readonly FoundBatch[], limit: number, last: number): number {
  return batches.length < limit ? last : Math.min(last, batches.at(-1)?.last ?? last);
}

function sqlFor({ states, cause }: ReplayRange): typeof OF_STATES {
  if (cause !== undefined) return OF_CAUSE;
  return states.length === 1 && states[0] === 'dead' ? OF_DEAD : OF_STATES;
}

async function replayStretch(
  db: Database,
  replay: Replay,
  audit: AuditEntry | null,
  lockLog: LockLog,
): Promise<number> {
  const { webhookNumber, first, last, states, cause, now, newId } = replay;
  const split = (at: number): Statement[] => [
    { sql: SPLIT_RIGHT, params: { webhookNumber, at, id: newId() } },
    { sql: SPLIT_LEFT, params: { webhookNumber, at, id: newId() } },
  ];
  const { countPending, replay: makePending } = sqlFor(replay);
  const stretch = { webhookNumber, first, last, states: JSON.stringify(states), ...(cause !== undefined && { cause }) };
  const replayBatches: Statement = { sql: makePending, params: { ...stretch, now } };
  const list = [
    ...lockLog(webhookNumber),
    ...split(first),
    ...split(last + 1),
    { sql: countPending, params: stretch },
    replayBatches,
    ...dueNowStatements(webhookNumber),
    ...(audit === null ? [] : [auditStatement(audit)]),
  ];
  const resultOf = resultsByStatement(list, await db.commit(list));
  return resultOf(replayBatches).rows.reduce(
    (sum, row) => sum + Number(row.last_offset) - Number(row.first_offset) + 1,
    0,
  );
}

/** Writes the outcomes of attempts: the fates of their batches, the webhook's health and the attempts, in one transaction. */

import type { AttemptRecord, Batch, BatchFate, Health, Run, Settlement } from '../../../domain/batch.ts';
import { isPending } from '../../../domain/judge.ts';
import { rowKeyOf } from '../../../kernel/ids.ts';
import type { Database, Statement } from '../../port/database.ts';
import type { BatchRow, SettlementStore } from '../../port/dispatch.ts';
import { auditStatement } from '../audit.ts';
import { IS_RUNNABLE } from '../changes.ts';
import { ATTEMPT_COLUMNS, carriedErased } from '../erasure.ts';
import { stateStatements } from '../webhooks/webhooks.ts';

/**
 * The row of a batch as the attempt found it. The row of a slow attempt counts it already. If it counts the attempt before, it may name the
 * process of that one: its outcome was given up. Only the process that may send for the webhook claims and settles.
 */
export const AS_ATTEMPTED = (batch: string, attempt: string, owner: string): string =>
  `${batch}state = 'pending' AND (${batch}attempt_count = ${attempt} - 1
    OR ${batch}lease_owner = ${owner} AND ${batch}attempt_count = ${attempt})`;
// The row of a batch that failed before. A replay in between makes another attempt of it.
const TRIED = `webhook_number = @webhookNumber AND first_offset = @firstOffset AND id = @id
    AND ${AS_ATTEMPTED('', '@attemptNumber', '@owner')}`;
const SETTLE = `
  UPDATE batch SET state = @state, attempt_count = @attemptNumber, next_attempt_at = NULL, lease_owner = NULL, settled_at = @at,
    updated_at = @now, order_key = NULL WHERE ${TRIED}`;
const PEND = `
  UPDATE batch SET next_attempt_at = @at, attempt_count = @attemptCount, lease_owner = NULL, content_refusals = @contentRefusals,
    updated_at = @now WHERE ${TRIED}`;
// An attempt that takes long is counted already.
const MARK = `
  UPDATE batch SET lease_owner = @owner, attempt_count = @attemptNumber, updated_at = @now WHERE ${TRIED}`;
const TAKE_APART = `DELETE FROM batch WHERE ${TRIED}`;
const INSERT = `
  INSERT INTO batch (webhook_number, first_offset, last_offset, id, state, attempt_count, content_refusals, next_attempt_at, lease_owner,
    settled_at, updated_at, order_key)
  SELECT webhook_number, @firstOffset, @lastOffset, @id, @state, @attemptCount, @contentRefusals, CAST(@nextAttemptAt AS BIGINT),
    CAST(@leaseOwner AS TEXT), CAST(@settledAt AS BIGINT), @now, CAST(@orderKey AS TEXT)
  FROM webhook_progress WHERE webhook_number = @webhookNumber`;
// Most batches are delivered at their first attempt, many at a time. The webhook may have been deleted: its log must not grow again.
const INSERT_DELIVERED = `
  INSERT INTO batch (webhook_number, first_offset, last_offset, id, state, attempt_count, content_refusals, settled_at, updated_at)
  SELECT p.webhook_number, CAST(sent.value ->> 0 AS BIGINT), CAST(sent.value ->> 1 AS BIGINT), sent.value ->> 2, 'delivered', 1, 0, @at,
    @now
  FROM webhook_progress AS p CROSS JOIN tuples(@batches) AS sent WHERE p.webhook_number = @webhookNumber`;
// The keys were read earlier. If all events of a row that had its key are erased, it gets none, and is due: nothing of it is sent.
const HAS_KEY = (first: string, last: string, key: string): string => `
  EXISTS (SELECT 1 FROM outbox AS o CROSS JOIN event AS e
    WHERE o.webhook_number = @webhookNumber AND o.record_offset BETWEEN ${first} AND ${last}
      AND e.key = o.event_key AND e.ordering_key = ${key})`;
const INSERT_RUNS = `
  INSERT INTO batch (webhook_number, first_offset, last_offset, id, state, attempt_count, content_refusals, next_attempt_at, updated_at,
    order_key)
  SELECT p.webhook_number, run.first_offset, run.last_offset, run.id, 'pending', @attemptCount, @contentRefusals,
    CASE WHEN ${HAS_KEY('run.first_offset', 'run.last_offset', 'run.order_key')} THEN run.due_at ELSE coalesce(run.due_at, @now) END,
    @now,
    CASE WHEN ${HAS_KEY('run.first_offset', 'run.last_offset', 'run.order_key')} THEN run.order_key ELSE '' END
  FROM webhook_progress AS p CROSS JOIN (
    SELECT CAST(value ->> 0 AS BIGINT) AS first_offset, CAST(value ->> 1 AS BIGINT) AS last_offset, value ->> 2 AS id,
      value ->> 3 AS order_key, CAST(value ->> 4 AS BIGINT) AS due_at
    FROM tuples(@runs) AS asked) AS run
  WHERE p.webhook_number = @webhookNumber`;
const LABEL = `
  UPDATE batch SET
    order_key = CASE WHEN ${HAS_KEY('first_offset', 'last_offset', '@orderKey')} THEN @orderKey ELSE '' END,
    next_attempt_at = CASE WHEN ${HAS_KEY('first_offset', 'last_offset', '@orderKey')} THEN CAST(@dueAt AS BIGINT)
      ELSE coalesce(CAST(@dueAt AS BIGINT), next_attempt_at, @now) END
  WHERE webhook_number = @webhookNumber AND first_offset = @firstOffset AND id = @id AND state = 'pending' AND order_key IS NULL`;
const REPLACE = `
  DELETE FROM batch
  WHERE webhook_number = @webhookNumber AND first_offset = @firstOffset AND id = @id AND state = 'pending' AND order_key IS NULL`;
const COUNT_PENDING = `
  UPDATE webhook_position SET pending_records = pending_records + @records WHERE webhook_number = @webhookNumber`;
// Never moves backwards: of two concurrent writes, the first may know more.
const MOVE = `
  UPDATE webhook_position
  SET covered_offset = greatest(covered_offset, @coveredOffset), sent_at = @sentAt, pending_records = pending_records + @records
  WHERE webhook_number = @webhookNumber`;
const ROW = `
  SELECT id, CASE
    WHEN id <> @id THEN 'other'
    WHEN ${AS_ATTEMPTED('', '@attemptNumber', '@owner')} THEN 'open'
    WHEN attempt_count >= @attemptNumber AND lease_owner IS NULL THEN 'settled'
    ELSE 'other' END AS found
  FROM batch WHERE webhook_number = @webhookNumber AND first_offset = @firstOffset`;
// Setting the clock moves `failing_since_at`, so an outcome judged by the former clock must not overwrite it.
const HEALTH = `
  UPDATE webhook_progress
  SET state_reason = @stateReason, state_detail = @stateDetail,
      failing_since_at = CASE WHEN CAST(@failingSinceAt AS BIGINT) IS NOT NULL THEN coalesce(failing_since_at, @failingSinceAt) END,
      failure_streak = @failureStreak, probe_at = @probeAt, dead_streak = @deadStreak
  WHERE webhook_number = @webhookNumber AND state = @state AND ${IS_RUNNABLE}`;

const CARRIED_ERASED = carriedErased({
  startedAt: '@startedAt',
  webhookNumber: '@webhookNumber',
  firstOffset: '@firstOffset',
  lastOffset: '@lastOffset',
});
// Without a body there is nothing to leave out. PostgreSQL would take a null among its conditions for a text.
const INSERT_ATTEMPT = insertAttemptSql('CASE WHEN carried.erased THEN NULL ELSE @responseBody END');
const INSERT_ATTEMPT_WITHOUT_BODY = insertAttemptSql('NULL');

function insertAttemptSql(responseBody: string): string {
  return `
  INSERT INTO attempt (key, ${ATTEMPT_COLUMNS})
  SELECT @key, @id, @webhookNumber, @kind, @batchId, @firstOffset, @lastOffset, @attemptNumber, @startedAt, @requestHeaders,
    @responseStatus, CASE WHEN carried.erased THEN NULL ELSE @responseHeaders END, ${responseBody}, @errorClass, @errorMessage,
    @responseProblem, @timings
  FROM (SELECT ${CARRIED_ERASED} AS erased) AS carried`;
}

export function settlementStore(db: Database): SettlementStore {
  return {
    settle: async (settlement) => void (await db.commit(await settlementStatements(db, settlement))),
    rowOf: async ({ webhookNumber, firstOffset, id, attemptNumber, isStored }, owner) => {
      const row = await db.get(ROW, { webhookNumber, firstOffset, id, attemptNumber, owner });
      if (row === undefined) return isStored ? 'other' : 'none';
      return row.found as BatchRow;
    },
  };
}

/** The statements of a settlement. Each of its conditions refuses all of them. */
export async function settlementStatements(db: Database, settlement: Settlement): Promise<Statement[]> {
  const { webhookNumber, batches, health, audit } = settlement;
  const changed = settlement.changes.length === 0 ? [] : await stateStatements(db, settlement.changes);
  return [
    ...batchStatements(settlement),
    ...keyStatements(settlement),
    ...positionStatements(settlement),
    ...changed,
    ...(audit === null ? [] : [auditStatement(audit)]),
    ...(health === null ? [] : [{ sql: HEALTH, params: healthParams(webhookNumber, health), expectChanges: 1 }]),
    ...batches.flatMap(({ attempt }) => (attempt === null ? [] : [attemptStatement(attempt)])),
  ];
}

function healthParams(
  webhookNumber: number,
  { sentAt: _, ...health }: Health & { readonly state: string },
): Statement['params'] {
  return { ...health, webhookNumber };
}

/** The rows of batches after an outcome: one statement for all that were delivered at their first attempt. */
function batchStatements({ webhookNumber, owner, batches, slow, now }: Settlement): Statement[] {
  const statements: Statement[] = [];
  const delivered: [number, number, string][] = [];
  let at = now;
  for (const { batch, fate, runs } of batches) {
    if (batch === null || fate === null) continue;
    if (runs !== undefined) statements.push(...runStatements(batch, fate, runs, owner, now));
    else if (fate.kind === 'delivered' && !batch.isStored && batch.attemptNumber === 1) {
      delivered.push([batch.firstOffset, batch.lastOffset, batch.id]);
      at = fate.at;
    } else statements.push(...fateStatements(batch, fate, owner, now));
  }
  if (delivered.length > 0) {
    const params = { webhookNumber, at, now, batches: JSON.stringify(delivered) };
    statements.push({ sql: INSERT_DELIVERED, params, expectChanges: delivered.length });
  }
  for (const batch of slow) {
    const { id, firstOffset, lastOffset, attemptNumber, contentRefusals } = batch;
    if (batch.isStored) {
      statements.push({ sql: MARK, params: { webhookNumber, firstOffset, id, attemptNumber, owner, now } });
      continue;
    }
    const row = { webhookNumber, firstOffset, lastOffset, id, contentRefusals, now, orderKey: batch.orderKey ?? null };
    const state = {
      state: 'pending',
      attemptCount: attemptNumber,
      nextAttemptAt: now,
      leaseOwner: owner,
      settledAt: null,
    };
    statements.push({ sql: INSERT, params: { ...row, ...state }, expectChanges: 1 });
  }
  return statements;
}

/** The rows that batches wait in for their keys, and the keys of rows. */
function keyStatements({ webhookNumber, parked = [], labelled = [], now }: Settlement): Statement[] {
  const rows = parked.map(({ firstOffset: first, lastOffset: last, id, orderKey }) => ({
    first,
    last,
    id,
    orderKey: orderKey ?? '',
  }));
  const waiting = rows.map((run): Run => ({ ...run, dueAt: null }));
  const untried = { webhookNumber, attemptCount: 0, contentRefusals: 0, now };
  return [
    ...(waiting.length === 0 ? [] : [insertRuns(waiting, untried)]),
    ...labelled.flatMap(({ batch, runs }): Statement[] => {
      const { firstOffset, id, attemptNumber, contentRefusals } = batch;
      const [run] = runs;
      const row = { webhookNumber, firstOffset, id };
      if (runs.length === 1 && run !== undefined)
        return [{ sql: LABEL, params: { ...row, orderKey: run.orderKey, dueAt: run.dueAt, now }, expectChanges: 1 }];
      const tried = { webhookNumber, attemptCount: attemptNumber - 1, contentRefusals, now };
      return [{ sql: REPLACE, params: row, expectChanges: 1 }, insertRuns(runs, tried)];
    }),
  ];
}

type Tried = Readonly<Record<'webhookNumber' | 'attemptCount' | 'contentRefusals' | 'now', number>>;

function insertRuns(runs: readonly Run[], tried: Tried): Statement {
  const rows = runs.map(({ first, last, id, orderKey, dueAt }) => [first, last, id, orderKey, dueAt]);
  return { sql: INSERT_RUNS, params: { ...tried, runs: JSON.stringify(rows) }, expectChanges: runs.length };
}

/** In place of the batch, which is taken apart if it has a row. */
function runStatements(batch: Batch, fate: BatchFate, runs: readonly Run[], owner: string, now: number): Statement[] {
  const { webhookNumber, firstOffset, id, attemptNumber, isStored } = batch;
  const params = { webhookNumber, firstOffset, id, attemptNumber, owner };
  const apart: Statement[] = isStored ? [{ sql: TAKE_APART, params, expectChanges: 1 }] : [];
  const [attemptCount, contentRefusals] =
    fate.kind === 'retry' ? [attemptNumber, fate.contentRefusals] : [0, fate.kind === 'halve' ? 1 : 0];
  return [...apart, insertRuns(runs, { webhookNumber, attemptCount, contentRefusals, now })];
}

function positionStatements(settlement: Settlement): Statement[] {
  const { webhookNumber, position } = settlement;
  const records = pendingRecords(settlement);
  if (position !== null) return [{ sql: MOVE, params: { webhookNumber, ...position, records } }];
  return records === 0 ? [] : [{ sql: COUNT_PENDING, params: { webhookNumber, records } }];
}

/** By how much a settlement changes the number of records in pending batches. */
export function pendingRecords({
  batches,
  slow,
  parked = [],
}: Pick<Settlement, 'batches' | 'slow' | 'parked'>): number {
  let records = 0;
  for (const { firstOffset, lastOffset } of parked) records += lastOffset - firstOffset + 1;
  for (const { batch, fate } of batches) {
    if (batch === null || fate === null) continue;
    const hasRow = isPending(fate);
    if (hasRow !== batch.isStored) records += (hasRow ? 1 : -1) * (batch.lastOffset - batch.firstOffset + 1);
  }
  for (const { firstOffset, lastOffset, isStored } of slow) if (!isStored) records += lastOffset - firstOffset + 1;
  return records;
}

/** The rows that replace the row of a batch that is taken apart. A half inherits one content refusal: the next one halves it again. */
function halvesOf(
  { webhookNumber, firstOffset, lastOffset }: Batch,
  at: number,
  ids: readonly [string, string],
  now: number,
) {
  const middle = firstOffset + Math.floor((lastOffset - firstOffset) / 2);
  const state = {
    state: 'pending',
    attemptCount: 0,
    contentRefusals: 1,
    nextAttemptAt: at,
    leaseOwner: null,
    settledAt: null,
  };
  const half = (first: number, last: number, id: string): Statement => ({
    sql: INSERT,
    params: { ...state, webhookNumber, firstOffset: first, lastOffset: last, id, now, orderKey: null },
    expectChanges: 1,
  });
  return [half(firstOffset, middle, ids[0]), half(middle + 1, lastOffset, ids[1])];
}

/** The columns of the row of a batch after an outcome. A batch that is halved has no row then. */
export function afterOutcome(
  { attemptNumber, contentRefusals }: Pick<Batch, 'attemptNumber' | 'contentRefusals'>,
  fate: Exclude<BatchFate, { readonly kind: 'halve' }>,
) {
  const isOpen = isPending(fate);
  return {
    state: isOpen ? 'pending' : fate.kind,
    nextAttemptAt: isOpen ? fate.at : null,
    settledAt: isOpen ? null : fate.at,
    attemptCount: fate.kind === 'release' ? attemptNumber - 1 : attemptNumber,
    contentRefusals: fate.kind === 'retry' ? fate.contentRefusals : contentRefusals,
  };
}

function fateStatements(batch: Batch, fate: BatchFate, owner: string, now: number): Statement[] {
  const { webhookNumber, firstOffset, lastOffset, id, attemptNumber, isStored } = batch;
  const row = { webhookNumber, firstOffset, id, attemptNumber, owner };
  if (fate.kind === 'halve') {
    const apart: Statement[] = isStored ? [{ sql: TAKE_APART, params: row, expectChanges: 1 }] : [];
    return [...apart, ...halvesOf(batch, fate.at, fate.halfIds, now)];
  }
  const after = afterOutcome(batch, fate);
  if (!isStored) {
    const inserted = { webhookNumber, firstOffset, lastOffset, id, leaseOwner: null, now, orderKey: null };
    return [{ sql: INSERT, params: { ...inserted, ...after }, expectChanges: 1 }];
  }
  const { at } = fate;
  const { state, attemptCount, contentRefusals } = after;
  return state === 'pending'
    ? [{ sql: PEND, params: { ...row, at, now, attemptCount, contentRefusals }, expectChanges: 1 }]
    : [{ sql: SETTLE, params: { ...row, state, at, now }, expectChanges: 1 }];
}

/** Inserts an attempt. Omits the answer of the receiver if an event of the attempt was erased after the attempt began. */
export function attemptStatement(attempt: AttemptRecord): Statement {
  const { id, requestHeaders, responseHeaders, responseBody, timings } = attempt;
  const params = {
    ...attempt,
    key: rowKeyOf(id),
    requestHeaders: JSON.stringify(requestHeaders),
    responseHeaders: responseHeaders === null ? null : JSON.stringify(responseHeaders),
    timings: JSON.stringify(timings),
  };
  return { sql: responseBody === null ? INSERT_ATTEMPT_WITHOUT_BODY : INSERT_ATTEMPT, params };
}

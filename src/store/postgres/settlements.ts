/**
 * Settlements on PostgreSQL: concurrent ones share a transaction. Its first statement locks the holds of the webhooks, so that no other
 * instance takes one of them before the commit, and keeps only webhooks that this instance still holds. If a row of one settlement has
 * changed, each of them is written in its own transaction.
 */

import type { AttemptRecord, Batch, Hold, SettledBatch, Settlement } from '../../domain/batch.ts';
import { rowKeyOf } from '../../kernel/ids.ts';
import type { SqlParameters, Statement } from '../port/database.ts';
import { NEVER } from '../port/dispatch.ts';
import { ConstraintViolation, StaleWrite } from '../port/errors.ts';
import { ERASURE_IN_PROGRESS_MS } from '../port/limits.ts';
import { RUNNABLE_STATES } from '../shared/changes.ts';
import { AS_ATTEMPTED, afterOutcome, pendingRecords } from '../shared/delivery/settlement.ts';
import { ATTEMPT_COLUMNS, carriedErased } from '../shared/erasure.ts';
import { rowsOf } from './arrays.ts';
import { batched } from './batched.ts';
import type { PostgresDatabase } from './driver/postgres.ts';
import { TIMELINE } from './instances.ts';

const CALLS_MAX = 200;

/** The settlement of a webhook that this instance holds. */
export type HeldSettlement = Settlement & { readonly hold: Hold };

/** Whether `writeTurns` can write the settlement: it changes no state, no batch is taken apart, and none waits for a key. */
export function isPlain({ changes, audit, batches, parked = [], labelled = [] }: Settlement): boolean {
  if (changes.length > 0 || audit !== null || parked.length + labelled.length > 0) return false;
  return batches.every(({ fate, runs }) => fate?.kind !== 'halve' && runs === undefined);
}

/** Returns the function that writes settlements. It rejects as the verb does, each for itself. */
export function writeTurns(db: PostgresDatabase): (settlement: HeldSettlement) => Promise<void> {
  const write = batched<HeldSettlement, Error | null>(
    async (settlements) => {
      const outcomes: (Error | null)[] = [];
      for (const set of setsOf(settlements)) outcomes.push(...(await writeSet(db, set)));
      return outcomes;
    },
    // One at a time: while it waits for the disk, further work gathers for the next one. With two, an event took PostgreSQL 6 % more time.
    { inProgressMax: 1, callsMax: CALLS_MAX },
  );
  return async (settlement) => {
    const error = await write(settlement);
    if (error !== null) throw error;
  };
}

/** Divides them so that each webhook comes once in a set: a statement updates a row once. */
function setsOf(settlements: readonly HeldSettlement[]): HeldSettlement[][] {
  const sets: HeldSettlement[][] = [];
  const next = new Map<number, number>();
  for (const settlement of settlements) {
    const at = next.get(settlement.webhookNumber) ?? 0;
    next.set(settlement.webhookNumber, at + 1);
    const set = sets[at] ?? [];
    sets[at] = set;
    set.push(settlement);
  }
  return sets;
}

async function writeSet(db: PostgresDatabase, set: readonly HeldSettlement[]): Promise<(Error | null)[]> {
  try {
    // A settlement whose outcome is unknown is asked about, not repeated.
    await db.commit(statementsOf(set), undefined, true);
    return set.map(() => null);
  } catch (error) {
    const isRefused = error instanceof StaleWrite || error instanceof ConstraintViolation;
    if (!isRefused || set.length === 1) return set.map(() => error as Error);
    const outcomes: (Error | null)[] = [];
    for (const settlement of set) outcomes.push(...(await writeSet(db, [settlement])));
    return outcomes;
  }
}

const HOLDS = rowsOf<Hold>('hold', {
  webhookNumber: 'BIGINT',
  instance: 'BIGINT',
  epoch: 'BIGINT',
  timeline: 'TEXT',
});
const LOCK = `
  SELECT h.webhook_number FROM webhook_hold AS h JOIN ${HOLDS.from} ON hold.webhook_number = h.webhook_number
  WHERE h.holder = hold.instance AND h.epoch = hold.epoch AND hold.timeline = ${TIMELINE} ORDER BY h.webhook_number FOR SHARE OF h`;

/** A row of `batch` after an outcome, and of the attempt that the outcome is of. */
type Fate = Pick<Batch, 'webhookNumber' | 'firstOffset' | 'lastOffset' | 'id' | 'attemptNumber'> & {
  readonly owner: string;
  readonly state: string;
  readonly nextAttemptAt: number | null;
  readonly leaseOwner: string | null;
  readonly settledAt: number | null;
  readonly attemptCount: number;
  readonly contentRefusals: number;
  readonly updatedAt: number;
  readonly orderKey: string | null;
};
const FATES = rowsOf<Fate>('fate', {
  webhookNumber: 'BIGINT',
  firstOffset: 'BIGINT',
  lastOffset: 'BIGINT',
  id: 'TEXT',
  attemptNumber: 'BIGINT',
  owner: 'TEXT',
  state: 'TEXT',
  nextAttemptAt: 'BIGINT',
  leaseOwner: 'TEXT',
  settledAt: 'BIGINT',
  attemptCount: 'BIGINT',
  contentRefusals: 'BIGINT',
  updatedAt: 'BIGINT',
  orderKey: 'TEXT',
});
const INSERT = `
  INSERT INTO batch (webhook_number, first_offset, last_offset, id, state, attempt_count, content_refusals, next_attempt_at, lease_owner,
    settled_at, updated_at, order_key)
  SELECT webhook_number, first_offset, last_offset, id, state, attempt_count, content_refusals, next_attempt_at, lease_owner, settled_at,
    updated_at, order_key
  FROM ${FATES.from}`;
const UPDATE = `
  UPDATE batch AS b
  SET state = fate.state, next_attempt_at = fate.next_attempt_at, lease_owner = NULL, settled_at = fate.settled_at,
    attempt_count = fate.attempt_count, content_refusals = fate.content_refusals, updated_at = fate.updated_at,
    order_key = CASE WHEN fate.state = 'pending' THEN b.order_key END
  FROM ${FATES.from}
  WHERE b.webhook_number = fate.webhook_number AND b.first_offset = fate.first_offset AND b.id = fate.id
    AND ${AS_ATTEMPTED('b.', 'fate.attempt_number', 'fate.owner')}`;

// An attempt that takes long is counted already. A replay may have come first.
const MARK = `
  UPDATE batch AS b SET lease_owner = fate.owner, attempt_count = fate.attempt_count, updated_at = fate.updated_at
  FROM ${FATES.from}
  WHERE b.webhook_number = fate.webhook_number AND b.first_offset = fate.first_offset AND b.id = fate.id
    AND ${AS_ATTEMPTED('b.', 'fate.attempt_number', 'fate.owner')}`;

type Attempt = Omit<AttemptRecord, 'requestHeaders' | 'responseHeaders' | 'timings'> & {
  readonly key: number;
  readonly requestHeaders: string;
  readonly responseHeaders: string | null;
  readonly timings: string;
};
const ATTEMPTS = rowsOf<Attempt>('attempt', {
  key: 'BIGINT',
  id: 'TEXT',
  webhookNumber: 'BIGINT',
  kind: 'TEXT',
  batchId: 'TEXT',
  firstOffset: 'BIGINT',
  lastOffset: 'BIGINT',
  attemptNumber: 'BIGINT',
  startedAt: 'BIGINT',
  requestHeaders: 'JSON',
  responseStatus: 'BIGINT',
  responseHeaders: 'JSON',
  responseBody: 'BYTEA',
  errorClass: 'TEXT',
  errorMessage: 'TEXT',
  responseProblem: 'TEXT',
  timings: 'JSON',
});
// Most of the time nothing was erased lately, which the database finds out once for all attempts.
const ATTEMPT_CARRIED_ERASED = `
  EXISTS (SELECT 1 FROM event WHERE erased_at >= @earliest) AND ${carriedErased({
    startedAt: 'attempt.started_at',
    webhookNumber: 'attempt.webhook_number',
    firstOffset: 'attempt.first_offset',
    lastOffset: 'attempt.last_offset',
  })}`;
const INSERT_ATTEMPTS = `
  INSERT INTO attempt (key, ${ATTEMPT_COLUMNS})
  SELECT key, id, webhook_number, kind, batch_id, first_offset, last_offset, attempt_number, started_at, request_headers, response_status,
    CASE WHEN erased THEN NULL ELSE response_headers END, CASE WHEN erased THEN NULL ELSE response_body END, error_class, error_message,
    response_problem, timings
  FROM (SELECT *, ${ATTEMPT_CARRIED_ERASED} AS erased FROM ${ATTEMPTS.from}) AS written`;

type HealthStep = {
  readonly webhookNumber: number;
  readonly state: string;
  readonly stateReason: string | null;
  readonly stateDetail: string | null;
  readonly failingSinceAt: number | null;
  readonly failureStreak: number;
  readonly probeAt: number | null;
  readonly deadStreak: number;
};
const STEPS = rowsOf<HealthStep>('step', {
  webhookNumber: 'BIGINT',
  state: 'TEXT',
  stateReason: 'TEXT',
  stateDetail: 'TEXT',
  failingSinceAt: 'BIGINT',
  failureStreak: 'BIGINT',
  probeAt: 'BIGINT',
  deadStreak: 'BIGINT',
});
// Setting the clock moves `failing_since_at`, so an outcome judged by the former clock must not overwrite it.
const HEALTH = `
  UPDATE webhook_progress AS p
  SET state_reason = step.state_reason, state_detail = step.state_detail, failure_streak = step.failure_streak, probe_at = step.probe_at,
    dead_streak = step.dead_streak,
    failing_since_at = CASE WHEN step.failing_since_at IS NOT NULL THEN coalesce(p.failing_since_at, step.failing_since_at) END
  FROM ${STEPS.from} WHERE p.webhook_number = step.webhook_number AND p.state = step.state AND NOT p.pulled
    AND p.state IN (${RUNNABLE_STATES})`;

/** `coveredOffset` is null if the position is not written. */
type Move = {
  readonly webhookNumber: number;
  readonly coveredOffset: number | null;
  readonly sentAt: number | null;
  readonly records: number;
};
const MOVES = rowsOf<Move>('move', {
  webhookNumber: 'BIGINT',
  coveredOffset: 'BIGINT',
  sentAt: 'BIGINT',
  records: 'BIGINT',
});
// Never moves backwards: of two concurrent writes, the first may know more.
const MOVE = `
  UPDATE webhook_position AS p
  SET covered_offset = greatest(move.covered_offset, p.covered_offset), pending_records = p.pending_records + move.records,
    sent_at = CASE WHEN move.covered_offset IS NULL THEN p.sent_at ELSE move.sent_at END
  FROM ${MOVES.from} WHERE p.webhook_number = move.webhook_number`;

function statementsOf(settlements: readonly HeldSettlement[]): Statement[] {
  const stored = settlements.flatMap((settlement) => fatesOf(settlement, true));
  const fresh = settlements.flatMap((settlement) => [...fatesOf(settlement, false), ...slowRows(settlement, false)]);
  const marked = settlements.flatMap((settlement) => slowRows(settlement, true));
  const attempts = settlements.flatMap(({ batches }) => batches.flatMap(attemptOf));
  const steps = settlements.flatMap(({ webhookNumber, health }) =>
    health === null ? [] : [{ ...health, webhookNumber }],
  );
  const moves = settlements.map(moveOf).filter(({ coveredOffset, records }) => coveredOffset !== null || records !== 0);
  const holds = settlements.map(({ hold }) => hold);
  const earliest =
    attempts.reduce((least, { startedAt }) => Math.min(least, startedAt), NEVER) - ERASURE_IN_PROGRESS_MS;
  const all = <Row>(
    sql: string,
    rows: readonly Row[],
    parameters: (rows: readonly Row[]) => SqlParameters,
  ): Statement[] => (rows.length === 0 ? [] : [{ sql, params: parameters(rows), expectChanges: rows.length }]);
  return [
    ...all(LOCK, holds, HOLDS.parameters),
    ...all(UPDATE, stored, FATES.parameters),
    ...all(INSERT, fresh, FATES.parameters),
    ...(marked.length === 0 ? [] : [{ sql: MARK, params: FATES.parameters(marked) }]),
    ...all(INSERT_ATTEMPTS, attempts, (rows) => ({ ...ATTEMPTS.parameters(rows), earliest })),
    ...all(HEALTH, steps, STEPS.parameters),
    ...all(MOVE, moves, MOVES.parameters),
  ];
}

/** Outcomes of batches that have a row, or have none. */
function fatesOf({ batches, owner, now }: Settlement, isStored: boolean): Fate[] {
  return batches.flatMap(({ batch, fate }) =>
    batch === null || fate === null || fate.kind === 'halve' || batch.isStored !== isStored
      ? []
      : [fateOf(batch, fate, owner, now)],
  );
}

function fateOf(batch: Batch, fate: Parameters<typeof afterOutcome>[1], owner: string, now: number): Fate {
  const { webhookNumber, firstOffset, lastOffset, id, attemptNumber } = batch;
  return {
    webhookNumber,
    firstOffset,
    lastOffset,
    id,
    attemptNumber,
    owner,
    ...afterOutcome(batch, fate),
    leaseOwner: null,
    updatedAt: now,
    orderKey: null,
  };
}

/** Slow attempts of batches that have a row, or have none. */
function slowRows({ slow, owner, now }: Settlement, isStored: boolean): Fate[] {
  const wanted = slow.filter((batch) => batch.isStored === isStored);
  return wanted.map((batch) => {
    const { contentRefusals, orderKey = null } = batch;
    // In progress: the row of a retry that is due now, but leased.
    const fate = { kind: 'retry', at: now, contentRefusals } as const;
    return { ...fateOf(batch, fate, owner, now), leaseOwner: owner, orderKey };
  });
}

function moveOf(settlement: Settlement): Move {
  const { webhookNumber, position } = settlement;
  const { coveredOffset = null, sentAt = null } = position ?? {};
  return { webhookNumber, coveredOffset, sentAt, records: pendingRecords(settlement) };
}

function attemptOf({ attempt }: SettledBatch): Attempt[] {
  if (attempt === null) return [];
  const { requestHeaders, responseHeaders, timings, ...plain } = attempt;
  return [
    {
      ...plain,
      key: rowKeyOf(attempt.id),
      requestHeaders: JSON.stringify(requestHeaders),
      responseHeaders: responseHeaders === null ? null : JSON.stringify(responseHeaders),
      timings: JSON.stringify(timings),
    },
  ];
}

/**
 * Claims and settlements on PostgreSQL: concurrent ones share a transaction. Its first statement locks the webhooks in the
 * order of their numbers, as publishers do, so that instances cannot deadlock, and keeps only webhooks that this instance still holds. If a
 * row of one claim or settlement has changed, each of them is written in its own transaction.
 */

import type { AttemptRecord, Batch, BatchFate, Claim, SettledBatch, Settlement } from '../../domain/batch.ts';
import { rowKeyOf } from '../../kernel/ids.ts';
import type { Statement } from '../port/database.ts';
import { NEVER } from '../port/dispatch.ts';
import { ConstraintViolation, StaleWrite } from '../port/errors.ts';
import { ERASURE_UNDER_WAY_MS } from '../port/limits.ts';
import { settledRecords } from '../shared/delivery/settlement.ts';
import { ATTEMPT_COLUMNS, carriedErased } from '../shared/erasure.ts';
import { IS_RUNNABLE, wakeAfterClaim, wokenBy } from '../shared/wake.ts';
import { rowsOf } from './arrays.ts';
import type { PostgresDatabase } from './driver/postgres.ts';
import type { Hold } from './instances.ts';
import { together } from './together.ts';

const CALLS_MAX = 200;

/** A claim, a settlement without changes of state, or both, of one webhook that this instance holds. */
export type TurnWork = {
  readonly hold: Hold;
  readonly settlement: Settlement | null;
  readonly claim: Claim | null;
};

/** Whether `writeTurns` can write the settlement: it changes no state, and no batch is taken apart. */
export function isPlain({ changes, audit, batches }: Settlement): boolean {
  return changes.length === 0 && audit === null && batches.every(({ fate }) => fate?.kind !== 'halve');
}

/** Returns the function that writes claims and settlements. It rejects as the verbs do, each for itself. */
export function writeTurns(db: PostgresDatabase): (work: TurnWork) => Promise<void> {
  const write = together<TurnWork, Error | null>(
    async (works) => {
      const outcomes: (Error | null)[] = [];
      for (const set of setsOf(works)) outcomes.push(...(await writeSet(db, set)));
      return outcomes;
    },
    // One at a time: while it waits for the disk, further work gathers for the next one. With two, an event took PostgreSQL 6 % more time.
    { underWayMax: 1, callsMax: CALLS_MAX },
  );
  return async (work) => {
    const error = await write(work);
    if (error !== null) throw error;
  };
}

/** Divides the work so that each webhook comes once in a set: a statement updates a row once. */
function setsOf(works: readonly TurnWork[]): TurnWork[][] {
  const sets: TurnWork[][] = [];
  const next = new Map<number, number>();
  for (const work of works) {
    const at = next.get(work.hold.webhookNumber) ?? 0;
    next.set(work.hold.webhookNumber, at + 1);
    const set = sets[at] ?? [];
    sets[at] = set;
    set.push(work);
  }
  return sets;
}

async function writeSet(db: PostgresDatabase, works: readonly TurnWork[]): Promise<(Error | null)[]> {
  try {
    // An unknown outcome would keep the batches claimed until their leases end.
    await db.commit(statementsOf(works), undefined, true);
    return works.map(() => null);
  } catch (error) {
    const isRefused = error instanceof StaleWrite || error instanceof ConstraintViolation;
    if (!isRefused || works.length === 1) return works.map(() => error as Error);
    const outcomes: (Error | null)[] = [];
    for (const work of works) outcomes.push(...(await writeSet(db, [work])));
    return outcomes;
  }
}

const HOLDS = rowsOf<Hold>('hold', { webhookNumber: 'BIGINT', instance: 'BIGINT', epoch: 'BIGINT' });
const LOCK = `
  SELECT p.webhook_number FROM webhook_progress AS p JOIN ${HOLDS.from} ON hold.webhook_number = p.webhook_number
  WHERE p.holder = hold.instance AND p.epoch = hold.epoch ORDER BY p.webhook_number FOR NO KEY UPDATE OF p`;

type Fate = Pick<Batch, 'webhookNumber' | 'firstOffset' | 'id' | 'attemptNumber'> & {
  readonly owner: string;
  readonly state: string;
  readonly nextAttemptAt: number | null;
  readonly settledAt: number | null;
  readonly attemptCount: number;
  readonly contentRefusals: number;
  readonly updatedAt: number;
};
const FATES = rowsOf<Fate>('fate', {
  webhookNumber: 'BIGINT',
  firstOffset: 'BIGINT',
  id: 'TEXT',
  attemptNumber: 'BIGINT',
  owner: 'TEXT',
  state: 'TEXT',
  nextAttemptAt: 'BIGINT',
  settledAt: 'BIGINT',
  attemptCount: 'BIGINT',
  contentRefusals: 'BIGINT',
  updatedAt: 'BIGINT',
});
// A lease belongs to one attempt: an instance that lost it and claimed the batch again cannot settle it for the previous attempt.
const SETTLE = `
  UPDATE batch AS b
  SET state = fate.state, next_attempt_at = fate.next_attempt_at, lease_owner = NULL, settled_at = fate.settled_at,
    attempt_count = fate.attempt_count, content_refusals = fate.content_refusals, updated_at = fate.updated_at
  FROM ${FATES.from}
  WHERE b.webhook_number = fate.webhook_number AND b.first_offset = fate.first_offset AND b.id = fate.id
    AND b.lease_owner = fate.owner AND b.attempt_count = fate.attempt_number`;

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

type Retry = Pick<Batch, 'webhookNumber' | 'firstOffset' | 'id' | 'attemptNumber'> &
  Pick<Claim, 'owner' | 'leaseExpiresAt' | 'now'>;
const RETRIES = rowsOf<Retry>('retry', {
  webhookNumber: 'BIGINT',
  firstOffset: 'BIGINT',
  id: 'TEXT',
  attemptNumber: 'BIGINT',
  owner: 'TEXT',
  leaseExpiresAt: 'BIGINT',
  now: 'BIGINT',
});
const CLAIM_RETRIES = `
  UPDATE batch AS b
  SET lease_owner = retry.owner, next_attempt_at = retry.lease_expires_at, attempt_count = retry.attempt_number, updated_at = retry.now
  FROM ${RETRIES.from}
  WHERE b.webhook_number = retry.webhook_number AND b.first_offset = retry.first_offset AND b.id = retry.id
    AND b.state = 'pending' AND b.next_attempt_at <= retry.now`;

type Fresh = Pick<Batch, 'webhookNumber' | 'firstOffset' | 'lastOffset' | 'id'> &
  Pick<Claim, 'owner' | 'leaseExpiresAt' | 'now' | 'cursorBefore'>;
const FRESH = rowsOf<Fresh>('fresh', {
  webhookNumber: 'BIGINT',
  firstOffset: 'BIGINT',
  lastOffset: 'BIGINT',
  id: 'TEXT',
  owner: 'TEXT',
  leaseExpiresAt: 'BIGINT',
  now: 'BIGINT',
  cursorBefore: 'BIGINT',
});
// If another claim has moved the cursor, the existing batches would violate the primary key, which is reported as a fault.
const CLAIM_FRESH = `
  INSERT INTO batch (webhook_number, first_offset, last_offset, id, state, attempt_count, content_refusals, next_attempt_at, lease_owner,
    updated_at)
  SELECT fresh.webhook_number, first_offset, last_offset, id, 'pending', 1, 0, lease_expires_at, owner, fresh.now
  FROM ${FRESH.from} JOIN webhook_progress AS p ON p.webhook_number = fresh.webhook_number AND p.cursor_offset = fresh.cursor_before`;

/** `healthState` is null without a change of health, and `cursorBefore` without a claim. */
type Step = {
  readonly webhookNumber: number;
  readonly settledRecords: number;
  readonly wakeAt: number | null;
  readonly healthState: string | null;
  readonly stateReason: string | null;
  readonly stateDetail: string | null;
  readonly sentAt: number | null;
  readonly failingSinceAt: number | null;
  readonly failureStreak: number | null;
  readonly probeAt: number | null;
  readonly deadStreak: number | null;
  readonly cursorBefore: number | null;
  readonly cursorAfter: number | null;
  readonly notBefore: number | null;
  readonly idleAt: number | null;
  readonly claimedAt: number | null;
  readonly sessionId: string | null;
  readonly sessionAt: number | null;
  readonly settingsVersion: number | null;
};
const STEPS = rowsOf<Step>('step', {
  webhookNumber: 'BIGINT',
  settledRecords: 'BIGINT',
  wakeAt: 'BIGINT',
  healthState: 'TEXT',
  stateReason: 'TEXT',
  stateDetail: 'TEXT',
  sentAt: 'BIGINT',
  failingSinceAt: 'BIGINT',
  failureStreak: 'BIGINT',
  probeAt: 'BIGINT',
  deadStreak: 'BIGINT',
  cursorBefore: 'BIGINT',
  cursorAfter: 'BIGINT',
  notBefore: 'BIGINT',
  idleAt: 'BIGINT',
  claimedAt: 'BIGINT',
  sessionId: 'TEXT',
  sessionAt: 'BIGINT',
  settingsVersion: 'BIGINT',
});
const ifHealth = (column: string, written = `step.${column}`): string =>
  `${column} = CASE WHEN step.health_state IS NULL THEN p.${column} ELSE ${written} END`;
const CLAIMED = {
  webhookNumber: 'p.webhook_number',
  settingsVersion: 'step.settings_version',
  now: 'step.claimed_at',
  notBefore: 'step.not_before',
  cursorAfter: 'step.cursor_after',
  idleAt: 'step.idle_at',
};
const AS_JUDGED = ['state_reason', 'state_detail', 'sent_at', 'failure_streak', 'probe_at', 'dead_streak'] as const;
const FAILING_SINCE =
  'CASE WHEN step.failing_since_at IS NOT NULL THEN coalesce(p.failing_since_at, step.failing_since_at) END';
// Last, because the next look depends on the pending batches, and on newly published events.
const ADVANCE = `
  UPDATE webhook_progress AS p
  SET pending_records = p.pending_records - step.settled_records + coalesce(step.cursor_after - step.cursor_before, 0),
    ${AS_JUDGED.map((column) => ifHealth(column)).join(', ')},
    ${ifHealth('failing_since_at', FAILING_SINCE)},
    cursor_offset = coalesce(step.cursor_after, p.cursor_offset),
    session_id = coalesce(step.session_id, p.session_id), session_at = coalesce(step.session_at, p.session_at),
    wake_at = CASE
      WHEN step.cursor_before IS NOT NULL THEN ${wakeAfterClaim(CLAIMED, 'p')}
      WHEN step.wake_at IS NOT NULL AND ${IS_RUNNABLE} THEN ${wokenBy('step.wake_at', 'p')}
      ELSE p.wake_at END
  FROM ${STEPS.from}
  WHERE p.webhook_number = step.webhook_number
    AND (step.health_state IS NULL OR (p.state = step.health_state AND ${IS_RUNNABLE}))
    AND (step.cursor_before IS NULL OR (p.cursor_offset = step.cursor_before AND ${IS_RUNNABLE}))`;

function statementsOf(works: readonly TurnWork[]): Statement[] {
  const fates = works.flatMap(({ settlement }) => (settlement === null ? [] : fatesOf(settlement)));
  const attempts = works.flatMap(({ settlement }) => settlement?.batches.flatMap(attemptOf) ?? []);
  const retries = works.flatMap(({ claim }) => claim?.retries.map((batch) => leaseOf(batch, claim)) ?? []);
  const fresh = works.flatMap(({ claim }) => claim?.fresh.map((batch) => leaseOf(batch, claim)) ?? []);
  const steps = works.map(stepOf).filter((step) => step !== null);
  const holds = works.map(({ hold }) => hold);
  const earliest = attempts.reduce((least, { startedAt }) => Math.min(least, startedAt), NEVER) - ERASURE_UNDER_WAY_MS;
  return [
    { sql: LOCK, params: HOLDS.parameters(holds), expectChanges: holds.length },
    ...(fates.length === 0 ? [] : [{ sql: SETTLE, params: FATES.parameters(fates), expectChanges: fates.length }]),
    ...(attempts.length === 0
      ? []
      : [{ sql: INSERT_ATTEMPTS, params: { ...ATTEMPTS.parameters(attempts), earliest } }]),
    ...(retries.length === 0
      ? []
      : [{ sql: CLAIM_RETRIES, params: RETRIES.parameters(retries), expectChanges: retries.length }]),
    ...(fresh.length === 0 ? [] : [{ sql: CLAIM_FRESH, params: FRESH.parameters(fresh), expectChanges: fresh.length }]),
    ...(steps.length === 0 ? [] : [{ sql: ADVANCE, params: STEPS.parameters(steps), expectChanges: steps.length }]),
  ];
}

function fatesOf({ batches, owner, now }: Settlement): Fate[] {
  return batches.flatMap(({ batch, fate }) =>
    batch === null || fate === null ? [] : [fateOf(batch, fate, owner, now)],
  );
}

function fateOf(
  { webhookNumber, firstOffset, id, attemptNumber, contentRefusals }: Batch,
  fate: BatchFate,
  owner: string,
  now: number,
): Fate {
  const isPending = fate.kind === 'retry' || fate.kind === 'release';
  return {
    webhookNumber,
    firstOffset,
    id,
    attemptNumber,
    owner,
    state: isPending ? 'pending' : fate.kind,
    nextAttemptAt: isPending ? fate.at : null,
    settledAt: isPending ? null : fate.at,
    attemptCount: fate.kind === 'release' ? attemptNumber - 1 : attemptNumber,
    contentRefusals: fate.kind === 'retry' ? fate.contentRefusals : contentRefusals,
    updatedAt: now,
  };
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

function leaseOf(batch: Batch, { owner, leaseExpiresAt, now, cursorBefore }: Claim): Retry & Fresh {
  return { ...batch, owner, leaseExpiresAt, now, cursorBefore };
}

/** Null: the webhook's progress stays as it is. */
function stepOf({ hold, settlement, claim }: TurnWork): Step | null {
  const { batches = [], health = null, wakeAt = null } = settlement ?? {};
  const settled = batches.reduce((sum, one) => sum + settledRecords(one), 0);
  if (settled === 0 && health === null && wakeAt === null && claim === null) return null;
  return {
    webhookNumber: hold.webhookNumber,
    settledRecords: settled,
    wakeAt,
    healthState: health?.state ?? null,
    stateReason: health?.stateReason ?? null,
    stateDetail: health?.stateDetail ?? null,
    sentAt: health?.sentAt ?? null,
    failingSinceAt: health?.failingSinceAt ?? null,
    failureStreak: health?.failureStreak ?? null,
    probeAt: health?.probeAt ?? null,
    deadStreak: health?.deadStreak ?? null,
    cursorBefore: claim?.cursorBefore ?? null,
    cursorAfter: claim?.cursorAfter ?? null,
    notBefore: claim?.notBefore ?? null,
    idleAt: claim?.idleAt ?? null,
    claimedAt: claim?.now ?? null,
    sessionId: claim?.session.id ?? null,
    sessionAt: claim?.session.at ?? null,
    settingsVersion: claim?.settingsVersion ?? null,
  };
}

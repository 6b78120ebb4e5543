/** Writes the outcomes of jobs, and now and then the position of their webhook. Outcomes survive a store that fails for a while. */

import { setTimeout as pause } from 'node:timers/promises';
import type {
  AttemptRecord,
  Batch,
  CountedBatch,
  Finished,
  Labelled,
  Position,
  SettledBatch,
} from '../domain/batch.ts';
import { conclude, isPending, isSameHealth } from '../domain/judge.ts';
import type { StateChange, Webhook } from '../domain/webhook.ts';
import { createStateEventLimit, isRunnable, type StateEventLimit } from '../domain/webhook-states.ts';
import type { CheckClock } from '../kernel/clock.ts';
import type { Clock, Ids } from '../kernel/ids.ts';
import type { Log } from '../kernel/log.ts';
import type { DispatchVerbs } from '../store/port/dispatch.ts';
import { ConstraintViolation, HoldOver, StaleWrite } from '../store/port/errors.ts';
import type { WebhookVerbs } from '../store/port/webhooks.ts';
import { endInQueues, isReturned, outcomeByKey } from './key-queues.ts';
import { parkedToWrite, returnRecords } from './parked.ts';
import type { Scheduler } from './scheduler.ts';
import type { WebhookLog } from './webhook-log.ts';
import { positionToWrite, slowOf, type WebhookLogs } from './webhook-logs.ts';

/** Refusals in a row after which writing an outcome pauses, and the pause, which also follows a failure of the store. */
const SETTLE_REFUSED_ROUNDS = 20;
const SETTLE_FAILED_PAUSE_MS = 500;

/** Observes every outcome that is written. */
export type ObserveSettled = (webhookId: string, settled: CountedBatch) => void;
/** The same, with the customer whose webhook it is; null: the operator's own. */
export type ObserveOutcome = (webhookId: string, settled: SettledBatch, customerId: string | null) => void;

/** The values that a settlement wrote for a webhook. */
type Written = {
  /** The outcomes as they were written: some batches got rows before, or were lost. */
  readonly finished: readonly Finished[];
  readonly batches: readonly SettledBatch[];
  /** Batches of slow attempts that have a row now, and the position that was written. */
  readonly slow: readonly Batch[];
  readonly position: Position | null;
  /** Batches whose records return to the log: they were not sent, and have no row. */
  readonly returned: readonly Batch[];
};

/** Outcomes of one webhook that are written, or given up. */
export type Settled = Written & {
  /** The webhook afterwards. Null: it was deleted, or the outcomes could not be written. */
  readonly webhook: Webhook | null;
  /** Whether rows of waiting keys were written. */
  readonly hasKeyRows: boolean;
  /** Whether the webhook's state changed: other webhooks may have become due. */
  readonly isChanged: boolean;
};

export type SettlementWriter = {
  /**
   * Writes outcomes of one webhook in one transaction. While the store fails, it tries again until `giveUp`; outcomes that are not
   * written by then are sent again. Returns `refused` if several outcomes are refused together: written one by one (`isApart`), one that
   * the store keeps refusing delays no other. `isLast`: the position is written now. Never throws.
   */
  write(
    webhookNumber: number,
    finished: readonly Finished[],
    how: { readonly isApart: boolean; readonly isLast: boolean },
  ): Promise<Settled | 'refused'>;
  /** Writes how far the webhook has come, now. Never throws. */
  writePosition(webhookNumber: number): Promise<void>;
  /** The process ends: outcomes that cannot be written now are given up, and their batches are sent again. */
  giveUp(): void;
};

type WriterOptions = {
  readonly store: DispatchVerbs & WebhookVerbs;
  readonly clock: Clock;
  readonly checkClock: CheckClock;
  readonly ids: Ids;
  readonly jitter: () => number;
  readonly log: Log;
  /** Names this process in the rows of slow attempts. */
  readonly owner: string;
  readonly logs: Pick<WebhookLogs, 'get' | 'parkedWritten' | 'dropHeld'>;
  readonly scheduler: Pick<Scheduler, 'hold'>;
  readonly observe: readonly ObserveOutcome[];
};

/** Notes that outcomes are written, or given up: `all`, as they were before. `batches` has an entry for each outcome that is written. */
export function noteSettled(
  logs: Pick<WebhookLogs, 'settled'>,
  log: WebhookLog,
  all: readonly Finished[],
  { finished, batches, slow, position, returned }: Written,
  now: number,
): void {
  if (position !== null) Object.assign(log, { written: position, writtenAt: now });
  for (const { firstOffset } of slow) {
    const held = log.held.get(firstOffset);
    if (held !== undefined) Object.assign(held, { isStored: true, isMarked: true });
  }
  for (const { fate } of batches) if (isPending(fate)) log.dueAt = Math.min(log.dueAt, fate.at);
  // The log may have been read again since some were claimed: it holds their records in other batches, whose keys stay busy.
  const isOwn = all.map(({ job: { batch } }) => batch !== null && log.held.get(batch.firstOffset)?.batch === batch);
  logs.settled(
    log,
    all.flatMap(({ job }) => job.batch ?? []),
  );
  if (log.queues !== null) {
    const own = <T>(list: readonly T[]): readonly T[] => list.filter((_, at) => isOwn[at]);
    endInQueues(log.queues, own(finished), own(batches));
  }
  if (returned.length === 0) return;
  returnRecords(
    log,
    returned.map(({ firstOffset: first, lastOffset: last }) => ({ first, last })),
  );
}

export function createSettlementWriter(options: WriterOptions): SettlementWriter {
  const { store, log, owner, logs, scheduler } = options;
  const stateEvents = createStateEventLimit();
  const ended = new AbortController();

  /** The outcome of a refused settlement: still to be written, written by a commit that was not answered, or no longer to be written. */
  const whenRefused = async (finished: Finished): Promise<Finished> => {
    const { job, result } = finished;
    const { batch, webhookNumber } = job;
    if (batch === null || result.kind === 'lost') return finished;
    const row = await store.settlements.rowOf(batch, owner).catch(() => null);
    if (row === 'settled') return { job, result: { kind: 'lost', sent: null } };
    if (row === 'other') return lostOf(finished, log);
    const held = logs.get(webhookNumber)?.held.get(batch.firstOffset);
    // The row of a slow attempt, or of its release, may have been written by a commit that was not answered.
    if (row === 'open' && held?.batch === batch) held.isStored = true;
    return finished;
  };

  /** After a refused write of slow attempts: some may have their rows already. */
  const noteRows = async (webhookNumber: number): Promise<void> => {
    const ofLog = logs.get(webhookNumber);
    if (ofLog === undefined) return;
    const rowOf = (batch: Batch): Promise<string | null> => store.settlements.rowOf(batch, owner).catch(() => null);
    for (const held of ofLog.held.values()) {
      const row = held.isStored || held.isParked ? null : await rowOf(held.batch);
      if (row === 'open') held.isStored = true;
    }
    // Not after an error: a batch that is forgotten without a row is lost.
    const parked = parkedToWrite(ofLog, options.clock());
    // None of them is claimed in the meantime.
    for (const batch of parked) ofLog.writing.add(batch);
    for (const batch of parked) {
      const row = await rowOf(batch);
      logs.parkedWritten(ofLog, [batch], row === 'open' || row === 'settled');
    }
  };

  /** A refused write of only a position, parked batches or slow attempts is not repeated: a later one has them again. */
  const withoutOutcomes = async (webhookNumber: number, error: unknown): Promise<Settled> => {
    if (!(error instanceof HoldOver)) await noteRows(webhookNumber);
    return GIVEN_UP;
  };

  const givenUp = (webhookNumber: number, finished: readonly Finished[], error: unknown): Settled => {
    const batchIds = finished.map(({ job }) => job.batch?.id);
    log.error({ webhookNumber, batchIds, err: error }, 'the outcome of an attempt could not be written');
    return { ...GIVEN_UP, finished };
  };

  const write: SettlementWriter['write'] = async (webhookNumber, all, { isApart, isLast }) => {
    let finished = all;
    for (let round = 1; ; round += 1) {
      const written = await writeOnce(options, stateEvents, webhookNumber, finished, { isApart, isLast }).catch(
        (error: unknown) => ({ error }),
      );
      if (!('error' in written)) return written;
      const { error } = written;
      // The claimed batches are lost here. The next instance that holds the webhook claims them again.
      if (error instanceof HoldOver) logs.dropHeld(error.hold);
      if (isRefusal(error)) {
        if (finished.length === 0) return withoutOutcomes(webhookNumber, error);
        if (!isApart) return 'refused';
        // In the first round a change of state may have been in the way.
        if (round > 1) finished = await Promise.all(finished.map(whenRefused));
        if (round % SETTLE_REFUSED_ROUNDS !== 0) continue;
      } else scheduler.hold(webhookNumber);
      if (ended.signal.aborted) return givenUp(webhookNumber, finished, error);
      log.warn({ webhookNumber, err: error }, 'the outcome of an attempt cannot be written yet');
      await pause(SETTLE_FAILED_PAUSE_MS, undefined, { signal: ended.signal }).catch(() => undefined);
    }
  };

  return {
    write,
    writePosition: async (webhookNumber) => void (await write(webhookNumber, [], { isApart: false, isLast: true })),
    giveUp: () => ended.abort(),
  };
}

const GIVEN_UP: Settled = {
  finished: [],
  webhook: null,
  batches: [],
  slow: [],
  position: null,
  returned: [],
  hasKeyRows: false,
  isChanged: false,
};

/** A row changed or was deleted since it was read; read again, the outcome may be written. */
function isRefusal(error: unknown): boolean {
  return error instanceof StaleWrite || error instanceof ConstraintViolation;
}

/** Another process or a replay has the batch now: the attempt is recorded, if there was one, and nothing else. */
function lostOf({ job, result }: Finished, log: Log): Finished {
  const { webhookNumber, batch } = job;
  log.warn(
    { webhookNumber, batchId: batch?.id },
    'a batch was changed or taken by others before its outcome was written',
  );
  return { job, result: { kind: 'lost', sent: 'sent' in result ? result.sent : null } };
}

/** `isApart`: without the rows of others, which may be in the way. */
async function writeOnce(
  options: WriterOptions,
  stateEvents: StateEventLimit,
  webhookNumber: number,
  finished: readonly Finished[],
  { isApart, isLast }: { readonly isApart: boolean; readonly isLast: boolean },
): Promise<Settled> {
  const { store, clock, checkClock, ids, jitter, log, owner, logs } = options;
  await checkClock();
  const ofLog = logs.get(webhookNumber);
  const target = await store.dispatch.target(webhookNumber);
  if (target === null) return { ...GIVEN_UP, finished };
  const now = clock();
  const sentAt = Math.max(target.webhook.progress.sentAt ?? 0, ofLog?.sentAt ?? 0) || null;
  const webhook = { ...target.webhook, progress: { ...target.webhook.progress, sentAt } };
  const rows = finished.map((one) => asHeld(one, ofLog, log));
  const conclusion = conclude(webhook, rows, { now, jitter, ids, url: target.endpoint.url });
  const { health, changes, audit, progress } = conclusion;
  const isByKey = webhook.ordered === 'key';
  const batches = isByKey ? conclusion.batches.map((batch) => outcomeByKey(batch, ids.uuid)) : conclusion.batches;
  const returned = isByKey ? conclusion.batches.flatMap(returnedOf) : [];
  const limited = stateEvents.limited(changes, now);
  // Without the rows of lost outcomes: their records may have been claimed again.
  const ended = new Set(conclusion.batches.flatMap(({ batch }) => batch?.firstOffset ?? []));
  const slow =
    ofLog === undefined || isApart ? [] : slowOf(ofLog, now).filter(({ firstOffset }) => !ended.has(firstOffset));
  const queues = beginKeyWrites(ofLog, isByKey && !isApart, now);
  const withRows = batches.flatMap(({ batch, fate }) => (batch === null || fate === null ? [] : [batch]));
  const settling = new Set([...withRows, ...slow, ...queues.parked].map(({ firstOffset }) => firstOffset));
  if (ofLog !== undefined) ofLog.sentAt = progress.sentAt;
  const position =
    ofLog === undefined
      ? null
      : positionToWrite(ofLog, now, { settling, isLast: isLast || !isRunnable(progress.state) });
  const isSame = health === null || isSameHealth(health, webhook.progress);
  const { parked, labelled } = queues;
  const rowsToWrite = { batches, slow, parked, labelled, position, changes: limited, audit };
  let isWritten = false;
  try {
    const hold = ofLog?.hold ?? null;
    await store.settlements.settle({ webhookNumber, hold, owner, now, ...rowsToWrite, health: isSame ? null : health });
    isWritten = true;
  } finally {
    endKeyWrites(logs, ofLog, queues, isWritten);
  }
  stateEvents.written(limited, now);
  report(options, webhook, batches, changes);
  const written = { finished: rows, webhook: { ...webhook, progress }, batches, slow, position, returned };
  return { ...written, hasKeyRows: parked.length + labelled.length > 0, isChanged: changes.length > 0 };
}

/** Tells observers and the log of the outcomes and changes. */
function report(
  { observe, log }: WriterOptions,
  webhook: Webhook,
  batches: readonly SettledBatch[],
  changes: readonly StateChange[],
): void {
  const logsAttempts = log.isLevelEnabled('debug');
  for (const settled of batches) {
    for (const observed of observe) observed(webhook.id, settled, webhook.customerId);
    if (logsAttempts && settled.attempt !== null) logAttempt(log, webhook, settled.attempt, settled.fate?.kind);
  }
  for (const change of changes) logChange(log, webhook.id, change);
}

function returnedOf({ batch, fate }: SettledBatch): Batch[] {
  return batch !== null && isReturned(batch, fate) ? [batch] : [];
}

/** Pending writes of the order by key. One write at a time has them. */
type KeyWrites = { readonly parked: readonly Batch[]; readonly labelled: readonly Labelled[] };

function beginKeyWrites(ofLog: WebhookLog | undefined, isByKey: boolean, now: number): KeyWrites {
  const queues = ofLog?.queues ?? null;
  if (ofLog === undefined || queues === null || !isByKey) return { parked: [], labelled: [] };
  const parked = parkedToWrite(ofLog, now);
  for (const batch of parked) ofLog.writing.add(batch);
  const labelled = queues.isLabelling ? [] : queues.labels;
  if (labelled.length > 0) queues.isLabelling = true;
  return { parked, labelled };
}

/** Rows that got their keys may be followed by others, so another look always follows. */
function endKeyWrites(
  logs: WriterOptions['logs'],
  ofLog: WebhookLog | undefined,
  { parked, labelled }: KeyWrites,
  isWritten: boolean,
): void {
  if (ofLog === undefined) return;
  if (parked.length > 0) logs.parkedWritten(ofLog, parked, isWritten);
  if (labelled.length === 0 || ofLog.queues === null) return;
  Object.assign(ofLog.queues, { labels: [], isLabelling: false });
  // A row whose events were erased in the meantime waits for no key and is due, as with parked batches.
  ofLog.dueAt = 0;
}

/**
 * The batch as the store has it: a slow attempt got a row while it was in progress. Lost if another process may have sent for the webhook
 * since the claim: this one then read its log again.
 */
function asHeld(finished: Finished, ofLog: WebhookLog | undefined, log: Log): Finished {
  const { job, result } = finished;
  const { batch } = job;
  if (batch === null || result.kind === 'lost') return finished;
  const held = ofLog?.held.get(batch.firstOffset);
  if (held?.batch !== batch) return lostOf(finished, log);
  return held.isStored && !batch.isStored ? { job: { ...job, batch: { ...batch, isStored: true } }, result } : finished;
}

function logAttempt(log: Log, { id: webhookId }: Webhook, attempt: AttemptRecord, fate: string | undefined): void {
  const { kind, batchId, firstOffset, lastOffset, attemptNumber, responseStatus, errorClass } = attempt;
  log.debug(
    { webhookId, kind, batchId, firstOffset, lastOffset, attemptNumber, responseStatus, errorClass, fate },
    'attempt',
  );
}

/** Every state but `running` is a warning: an operator should look at it. */
function logChange(log: Log, webhookId: string, { progress: { state, stateReason } }: StateChange): void {
  if (state === 'running') log.info({ webhookId }, 'webhook running');
  else log.warn({ webhookId, reason: stateReason }, `webhook ${state}`);
}

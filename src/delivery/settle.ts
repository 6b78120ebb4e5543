/** Writes the outcomes of jobs, and the next claim of their webhook in the same commit. Outcomes survive a store that fails for a while. */

import { setTimeout as pause } from 'node:timers/promises';
import type { AttemptRecord, CountedBatch, DeliveryTarget, Finished, SettledBatch } from '../domain/batch.ts';
import { type Conclusion, conclude } from '../domain/judge.ts';
import type { StateChange, Webhook } from '../domain/webhook.ts';
import { isRunnable } from '../domain/webhook-states.ts';
import type { CheckClock } from '../kernel/clock.ts';
import type { Clock, Ids } from '../kernel/ids.ts';
import type { Log } from '../kernel/log.ts';
import { createLru } from '../kernel/lru.ts';
import type { DispatchVerbs } from '../store/port/dispatch.ts';
import { NEVER } from '../store/port/dispatch.ts';
import { ConstraintViolation, mayBeCommitted, StaleWrite } from '../store/port/errors.ts';
import type { WebhookVerbs } from '../store/port/webhooks.ts';
import { idleAt, type PlannedClaim, planClaim, stopReason } from './claim.ts';
import type { Scheduler } from './scheduler.ts';

/** Outcomes of one webhook that are written in one transaction. */
const SETTLED_AT_ONCE_MAX = 128;

/**
 * The interval between two writes of outcomes that nothing waits for. With 5 ms, publishing and delivering together took 7 % more CPU time
 * (scripts/bench/cost.ts).
 */
const SETTLE_EVERY_MS = 20;

/** Refusals in a row after which writing an outcome pauses, and the pause, which also follows a failure of the store. */
const SETTLE_REFUSED_ROUNDS = 20;
const SETTLE_FAILED_PAUSE_MS = 500;

/** `webhook.running` and `webhook.failing` events of one webhook in a minute, and webhooks whose events are counted. */
export const STATE_EVENTS_PER_MINUTE = 60;
export const STATE_EVENT_WEBHOOKS = 10_000;

/** Observes every outcome that is written. */
export type ObserveSettled = (webhookId: string, settled: CountedBatch) => void;
/** The same, with the customer whose webhook it is; null: the operator's own. */
export type ObserveOutcome = (webhookId: string, settled: SettledBatch, customerId: string | null) => void;

/** Outcomes of one webhook that are written, or given up. */
type Settled = {
  readonly webhookNumber: number;
  readonly finished: readonly Finished[];
  /** The webhook afterwards. Null: it was deleted, or the outcomes could not be written. */
  readonly webhook: Webhook | null;
  /** The webhook's next work, claimed in the same transaction; null: none. */
  readonly next: PlannedClaim | null;
  /** Whether this webhook or another one may have become due. */
  readonly wantsLook: boolean;
};

type SettlementWriter = {
  /**
   * Writes outcomes of one webhook in one transaction. While the store fails, it tries again until `giveUp`; outcomes that are not
   * written by then are sent again. Returns `refused` if several outcomes are refused together: written one by one (`isApart`), one that
   * the store keeps refusing delays no other. Never throws.
   */
  write(
    webhookNumber: number,
    finished: readonly Finished[],
    how: { readonly isApart: boolean; readonly mayClaim: boolean },
  ): Promise<Settled | 'refused'>;
  /** The process ends: outcomes that cannot be written now are left until their leases expire. */
  giveUp(): void;
};

type WriterOptions = {
  readonly store: DispatchVerbs & WebhookVerbs;
  readonly clock: Clock;
  readonly checkClock: CheckClock;
  readonly ids: Ids;
  readonly jitter: () => number;
  readonly log: Log;
  /** Names this process in leases. */
  readonly owner: string;
  /** The next claim of the webhook may have been committed without an answer. */
  readonly onUnsure: (webhookNumber: number) => void;
  readonly scheduler: Pick<Scheduler, 'room' | 'hasRoomAfter' | 'isAtLimit' | 'hold' | 'beginClaim' | 'endClaim'>;
  readonly observe: readonly ObserveOutcome[];
};

export function createSettlementWriter(options: WriterOptions): SettlementWriter {
  const { store, log, owner, scheduler, onUnsure } = options;
  const stateEvents = createStateEventLimit();
  const ended = new AbortController();

  const isLost = async ({ job: { batch }, result }: Finished): Promise<boolean> =>
    batch !== null && result.kind !== 'lost' && !(await store.settlements.isLeased(batch, owner).catch(() => true));

  return {
    write: async (webhookNumber, all, { isApart, mayClaim }) => {
      let finished = all;
      for (let round = 1; ; round += 1) {
        const claims = mayClaim && !isApart && scheduler.beginClaim(webhookNumber);
        const written = await writeOnce(options, stateEvents, webhookNumber, finished, claims).catch(
          (error: unknown) => ({ error }),
        );
        if (claims) scheduler.endClaim(webhookNumber);
        if (!('error' in written)) return written;
        const { error } = written;
        if (claims && mayBeCommitted(error)) onUnsure(webhookNumber);
        if (isRefusal(error)) {
          // The store may have refused only the claim; outcomes written apart have none.
          if (!isApart) return 'refused';
          const [one] = finished;
          if (one !== undefined && (await isLost(one))) finished = [lostOf(one, log)];
          if (round % SETTLE_REFUSED_ROUNDS !== 0) continue;
        } else scheduler.hold(webhookNumber);
        if (ended.signal.aborted) {
          const batchIds = finished.map(({ job }) => job.batch?.id);
          log.error({ webhookNumber, batchIds, err: error }, 'the outcome of an attempt could not be written');
          return { webhookNumber, finished, webhook: null, next: null, wantsLook: false };
        }
        log.warn({ webhookNumber, err: error }, 'the outcome of an attempt cannot be written yet');
        await pause(SETTLE_FAILED_PAUSE_MS, undefined, { signal: ended.signal }).catch(() => undefined);
      }
    },
    giveUp: () => ended.abort(),
  };
}

/** A row changed or was deleted since it was read; read again, the outcome may be written. */
function isRefusal(error: unknown): boolean {
  return error instanceof StaleWrite || error instanceof ConstraintViolation;
}

/** Another claim owns the batch: the attempt is recorded, if there was one, and nothing else. */
function lostOf({ job, result }: Finished, log: Log): Finished {
  const { webhookNumber, batch } = job;
  log.warn({ webhookNumber, batchId: batch?.id }, 'the lease of a batch was lost before its outcome was written');
  return { job, result: { kind: 'lost', sent: 'sent' in result ? result.sent : null } };
}

async function writeOnce(
  options: WriterOptions,
  stateEvents: StateEventLimit,
  webhookNumber: number,
  finished: readonly Finished[],
  mayClaim: boolean,
): Promise<Settled> {
  const { store, clock, checkClock, ids, jitter, log, owner, observe } = options;
  await checkClock();
  const target = await store.dispatch.target(webhookNumber);
  if (target === null) return { webhookNumber, finished, webhook: null, next: null, wantsLook: false };
  const { webhook, endpoint } = target;
  const now = clock();
  const conclusion = conclude(webhook, finished, { now, jitter, ids, url: endpoint.url });
  const { batches, health, changes, audit, progress } = conclusion;
  const after = { ...target, webhook: { ...webhook, progress } };
  const { next, wakeAt } = await nextWork(options, after, conclusion, mayClaim, now);
  const limited = stateEvents.limited(changes, now);
  const outcome = { webhookNumber, owner, batches, now, health, changes: limited, audit, wakeAt };
  await store.settlements.settle({ ...outcome, next: next?.claim ?? null });
  stateEvents.written(limited, now);
  const logsAttempts = log.isLevelEnabled('debug');
  for (const settled of batches) {
    for (const observed of observe) observed(webhook.id, settled, webhook.customerId);
    if (logsAttempts && settled.attempt !== null) logAttempt(log, webhook, settled.attempt, settled.fate?.kind);
  }
  for (const change of changes) logChange(log, webhook.id, change);
  const isDue = wakeAt !== null || (next !== null && next.next.kind !== 'when settled');
  return { webhookNumber, finished, webhook: after.webhook, next, wantsLook: isDue || changes.length > 0 };
}

type NextWork = { readonly next: PlannedClaim | null; readonly wakeAt: number | null };

/**
 * The next claim of the webhook, or when to look at it. No claim if one of the batches is retried: it is due later, and no record of an
 * ordered webhook may overtake it.
 */
async function nextWork(
  { store, ids, owner, scheduler }: WriterOptions,
  target: DeliveryTarget,
  { batches, changes }: Conclusion,
  mayClaim: boolean,
  now: number,
): Promise<NextWork> {
  const { webhook } = target;
  const { progress } = webhook;
  const { webhookNumber, probeAt } = progress;
  const wasAtLimit = scheduler.isAtLimit(webhookNumber);
  if (!isRunnable(progress.state) || !scheduler.hasRoomAfter(webhookNumber, batches.length))
    return { next: null, wakeAt: null };
  const areFinal = batches.every(isFinal);
  if (areFinal && !wasAtLimit && changes.length === 0 && isCaughtUp(webhook, now)) {
    const { heartbeatAt } = idleAt(webhook, progress);
    return { next: null, wakeAt: heartbeatAt === NEVER ? null : heartbeatAt };
  }
  if (!mayClaim || !areFinal || stopReason(target, now) !== null) {
    return { next: null, wakeAt: Math.max(now, probeAt ?? now) };
  }
  // A claim sets the next look itself.
  const next = await planClaim({ store, ids, owner }, target, scheduler.room(webhook, now, batches));
  return { next, wakeAt: null };
}

/**
 * Whether nothing waits: no record beyond the cursor, and no batch that is due. Never of an ordered webhook, because a record that is
 * published before the settlement is written does not wake it.
 */
function isCaughtUp({ ordered, progress }: Webhook, now: number): boolean {
  const { state, cursorOffset, nextOffset, wakeAt } = progress;
  return !ordered && state === 'running' && cursorOffset === nextOffset && (wakeAt === null || wakeAt > now);
}

/** Whether the batch needs no further attempt; a heartbeat has no batch. */
function isFinal({ batch, fate }: SettledBatch): boolean {
  return batch === null || fate?.kind === 'delivered' || fate?.kind === 'dead' || fate?.kind === 'discarded';
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

/**
 * Returns the function that collects outcomes of jobs. Outcomes of jobs that end within `SETTLE_EVERY_MS` are written together. `isUrgent`:
 * the webhook sends nothing until the outcome is written, so it is written immediately. `settle` writes outcomes of one webhook. It runs
 * once at a time for each webhook; webhooks share commits.
 */
export function createOutcomeQueue(
  settle: (webhookNumber: number, finished: readonly Finished[]) => Promise<void>,
): (finished: Finished, isUrgent: boolean) => void {
  const waiting = new Map<number, Finished[]>();
  const writing = new Set<number>();
  const urgent = new Set<number>();
  let writtenAt = Number.NEGATIVE_INFINITY;
  let isScheduled = false;

  const writeWaiting = (): void => {
    isScheduled = false;
    writtenAt = performance.now();
    for (const webhookNumber of waiting.keys()) void writeQueue(webhookNumber);
  };

  const writeUrgent = (): void => {
    for (const webhookNumber of urgent) void writeQueue(webhookNumber);
  };

  const writeQueue = async (webhookNumber: number): Promise<void> => {
    const queue = waiting.get(webhookNumber);
    if (queue === undefined || writing.has(webhookNumber)) return;
    writing.add(webhookNumber);
    urgent.delete(webhookNumber);
    await settle(webhookNumber, queue.splice(0, SETTLED_AT_ONCE_MAX));
    writing.delete(webhookNumber);
    if (queue.length === 0) waiting.delete(webhookNumber);
    else schedule(urgent.has(webhookNumber));
  };

  const schedule = (isUrgent: boolean): void => {
    // A microtask later, so that outcomes added by the same callback are written together.
    if (isUrgent) queueMicrotask(writeUrgent);
    if (isUrgent || isScheduled) return;
    isScheduled = true;
    const inMs = writtenAt + SETTLE_EVERY_MS - performance.now();
    if (inMs > 0) setTimeout(writeWaiting, inMs);
    else setImmediate(writeWaiting);
  };

  return (finished, isUrgent) => {
    const { webhookNumber } = finished.job;
    const queue = waiting.get(webhookNumber) ?? [];
    waiting.set(webhookNumber, queue);
    queue.push(finished);
    if (isUrgent) urgent.add(webhookNumber);
    schedule(isUrgent);
  };
}

type StateEventLimit = {
  /** The changes, without the events beyond `STATE_EVENTS_PER_MINUTE` in the minute before `now`. A stop always keeps its event. */
  limited(changes: readonly StateChange[], now: number): readonly StateChange[];
  /** Counts the events of changes that are written. */
  written(changes: readonly StateChange[], now: number): void;
};

const MINUTE_MS = 60_000;

/**
 * Limits the `webhook.running` and `webhook.failing` events of one webhook. If the receiver of these events refuses some of them, every
 * response changes the state again and so makes another event, without end.
 */
export function createStateEventLimit(): StateEventLimit {
  /** By webhook number, the times of its latest events. */
  const writtenAt = createLru<number, readonly number[]>({ max: STATE_EVENT_WEBHOOKS });
  const recent = (webhookNumber: number, now: number): readonly number[] =>
    (writtenAt.get(webhookNumber) ?? []).filter((at) => at > now - MINUTE_MS);
  return {
    limited: (changes, now) =>
      changes.map((change, before) => {
        const { state, webhookNumber } = change.progress;
        const isOver = recent(webhookNumber, now).length + before >= STATE_EVENTS_PER_MINUTE;
        return isOver && isRunnable(state) ? { ...change, event: null } : change;
      }),
    written: (changes, now) => {
      for (const { event, progress } of changes) {
        if (event === null) continue;
        writtenAt.set(progress.webhookNumber, [...recent(progress.webhookNumber, now), now]);
      }
    },
  };
}

/** Writes what came of jobs, against a store that others write too and that may be unwell for a while. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Clock, Ids } from '../kernel/ids.ts';
import {
  SETTLE_EVERY_MS,
  SETTLE_REFUSED_ROUNDS,
  SETTLE_UNWELL_PAUSE_MS,
  SETTLED_AT_ONCE_MAX,
} from '../kernel/limits/delivery.ts';
import type { CheckClock } from '../observe/clock-watch.ts';
import type { Log } from '../observe/log.ts';
import { ConstraintViolation, StaleWrite } from '../store/errors.ts';
import type { Store } from '../store/store.ts';
import { isRunnable } from '../webhooks/lifecycle.ts';
import type { StateChange, Webhook } from '../webhooks/webhook.ts';
import type { AttemptRecord } from './attempt.ts';
import type { PlannedClaim } from './claim.ts';
import { conclude } from './conclude.ts';
import type { Finished } from './job.ts';
import { createNews, type News } from './news.ts';
import type { SettledBatch } from './settlement.ts';
import type { DeliveryTarget } from './target.ts';

export type Settle = {
  /**
   * Has it written, and `onSettled` told. While the store is unwell it is tried again, until `giveUp`; what is not written by then will
   * be sent again. `urgent`: the webhook sends nothing before, so it is written without delay; otherwise what ends within a few
   * milliseconds is written together.
   */
  settle(finished: Finished, urgent: boolean): void;
  /** The process ends: what cannot be written now is left to the end of its lease. */
  giveUp(): void;
};

/** Told of everything that is written. */
export type ObserveSettled = (webhookId: string, settled: SettledBatch) => void;

export type SettleDependencies = {
  readonly store: Store;
  readonly clock: Clock;
  readonly checkClock: CheckClock;
  readonly ids: Ids;
  readonly jitter: () => number;
  readonly log: Log;
  /** Names this process in leases. */
  readonly owner: string;
  /** What a webhook that may send does once these are settled; `target` is the webhook as they leave it. */
  readonly nextOf: (target: DeliveryTarget, settled: readonly SettledBatch[], now: number) => Promise<Next>;
  readonly observe?: ObserveSettled | undefined;
  /** Told whenever outcomes of a webhook cannot be written: on a full disk, say, where what is sent meanwhile may be sent again. */
  readonly onUnwritten: (webhookNumber: number) => void;
  /**
   * Told of jobs of one webhook that are written, or never will be, with the webhook as it is then, or null where it is gone or nothing
   * could be written.
   */
  readonly onSettled: (finished: readonly Finished[], webhook: Webhook | null, next: PlannedClaim | null) => void;
};

/**
 * `looks`: it is looked at for more; otherwise it has enough under way. `claim`: its next work, which the settlement takes in the same
 * transaction: one commit lies between two batches then, and no look.
 */
export type Next = { readonly looks: boolean; readonly claim: PlannedClaim | null };

const NOTHING_NEXT: Next = { looks: false, claim: null };

export function createSettle(dependencies: SettleDependencies): Settle {
  const { store, log, owner, onSettled, onUnwritten } = dependencies;
  const waiting = new Map<number, Finished[]>();
  const writing = new Set<number>();
  /** Webhooks whose outcomes are written at once. */
  const urgent = new Set<number>();
  let writtenAt = Number.NEGATIVE_INFINITY;
  let scheduled = false;
  const ended = new AbortController();
  const news = createNews();

  /**
   * Tries until the store takes it, or `giveUp`. What it refuses goes on each by itself, so that what it refuses again and again holds up
   * nothing else, neither what was written with it nor what waits behind.
   */
  const write = async (webhookNumber: number, finished: readonly Finished[], isApart = false): Promise<void> => {
    for (let round = 1; ; round += 1) {
      // Refused together they may have been for the sake of the claim: apart they are written without one.
      const written = await writeOnce(dependencies, news, webhookNumber, finished, !isApart).catch(
        (error: unknown) => ({ error }),
      );
      if ('webhook' in written) return onSettled(finished, written.webhook, written.next);
      const { error } = written;
      if (isRefusal(error)) {
        if (!isApart) return finished.forEach((one) => void write(webhookNumber, [one], true));
        const [one] = finished;
        if (one !== undefined && (await isLost(one))) return void write(webhookNumber, [lostOf(one, log)], true);
        if (round % SETTLE_REFUSED_ROUNDS !== 0) continue;
      } else onUnwritten(webhookNumber);
      if (ended.signal.aborted) {
        const batchIds = finished.map(({ job }) => job.batch?.id);
        log.error({ webhookNumber, batchIds, err: error }, 'the outcome of an attempt could not be written');
        return onSettled(finished, null, null);
      }
      log.warn({ webhookNumber, err: error }, 'the outcome of an attempt cannot be written yet');
      await pause(SETTLE_UNWELL_PAUSE_MS, undefined, { signal: ended.signal }).catch(() => undefined);
    }
  };

  const isLost = async ({ job: { batch }, result }: Finished): Promise<boolean> =>
    batch !== null && result.kind !== 'lost' && !(await store.settlements.isLeased(batch, owner).catch(() => true));

  /** Writes what waits, every webhook in a transaction of its own and all of these in one commit. */
  const writeWaiting = (): void => {
    scheduled = false;
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
    const taken = queue.splice(0, SETTLED_AT_ONCE_MAX);
    await write(webhookNumber, taken);
    writing.delete(webhookNumber);
    if (queue.length === 0) waiting.delete(webhookNumber);
    else schedule(urgent.has(webhookNumber));
  };

  const schedule = (isUrgent: boolean): void => {
    // What this piece of work goes on to hand over is written with it; not what other answers of the turn bring, which nobody has yet.
    if (isUrgent) queueMicrotask(writeUrgent);
    if (isUrgent || scheduled) return;
    scheduled = true;
    const inMs = writtenAt + SETTLE_EVERY_MS - performance.now();
    if (inMs > 0) setTimeout(writeWaiting, inMs);
    else setImmediate(writeWaiting);
  };

  return {
    settle: (finished, isUrgent) => {
      const { webhookNumber } = finished.job;
      const queue = waiting.get(webhookNumber) ?? [];
      waiting.set(webhookNumber, queue);
      queue.push(finished);
      if (isUrgent) urgent.add(webhookNumber);
      schedule(isUrgent);
    },
    giveUp: () => ended.abort(),
  };
}

/** Something changed since it was read, or has gone: read anew, it may be written. */
function isRefusal(error: unknown): boolean {
  return error instanceof StaleWrite || error instanceof ConstraintViolation;
}

/** Of a batch that is another's by now the attempt is kept, where there was one, and nothing else. */
function lostOf({ job, result }: Finished, log: Log): Finished {
  const { webhookNumber, batch } = job;
  log.warn({ webhookNumber, batchId: batch?.id }, 'the lease of a batch was lost before its outcome was written');
  return { job, result: { kind: 'lost', sent: 'sent' in result ? result.sent : null } };
}

async function writeOnce(
  { store, clock, checkClock, ids, jitter, log, owner, nextOf, observe }: SettleDependencies,
  news: News,
  webhookNumber: number,
  finished: readonly Finished[],
  mayClaim: boolean,
): Promise<{ readonly webhook: Webhook | null; readonly next: PlannedClaim | null }> {
  await checkClock();
  const target = await store.dispatch.target(webhookNumber);
  if (target === null) return { webhook: null, next: null };
  const { webhook, endpoint } = target;
  const now = clock();
  const circumstances = { now, jitter, ids, url: endpoint.url };
  const { batches, health, changes, audit, progress } = conclude(webhook, finished, circumstances);
  const after = { ...target, webhook: { ...webhook, progress } };
  const { looks, claim } = isRunnable(progress.state) ? await nextOf(after, batches, now) : NOTHING_NEXT;
  const next = mayClaim ? claim : null;
  // A claim says itself when the webhook is looked at again.
  const wakeAt = looks && next === null ? Math.max(now, progress.probeAt ?? now) : null;
  const told = news.bounded(changes, now);
  const outcome = { webhookNumber, owner, batches, health, changes: told, audit, wakeAt };
  await store.settlements.settle({ ...outcome, next: next?.claim ?? null });
  news.written(told, now);
  const tellsAttempts = log.isLevelEnabled('debug');
  for (const settled of batches) {
    observe?.(webhook.id, settled);
    if (tellsAttempts && settled.attempt !== null) logAttempt(log, webhook, settled.attempt, settled.fate?.kind);
  }
  for (const change of changes) logChange(log, webhook.id, change);
  return { webhook: after.webhook, next };
}

function logAttempt(log: Log, { id: webhookId }: Webhook, attempt: AttemptRecord, fate: string | undefined): void {
  const { kind, batchId, firstOffset, lastOffset, attemptNumber, responseStatus, errorClass } = attempt;
  log.debug(
    { webhookId, kind, batchId, firstOffset, lastOffset, attemptNumber, responseStatus, errorClass, fate },
    'attempt',
  );
}

/** What an operator should look at is a warning; that a webhook runs again is not. */
function logChange(log: Log, webhookId: string, { progress: { state, stateReason } }: StateChange): void {
  if (state === 'running') log.info({ webhookId }, 'webhook running');
  else log.warn({ webhookId, reason: stateReason }, `webhook ${state}`);
}

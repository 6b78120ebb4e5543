/**
 * Sends records in four functions: `look` finds the webhooks that have work, `claim` takes the next work of one, `deliver` sends it,
 * and `settle` writes the outcomes and goes on with the webhook. All that they share is in `Parts`. It can be read from the store again, so
 * a killed process loses nothing: the next start continues.
 */

import type { Finished, Job } from '../domain/batch.ts';
import type { Webhook } from '../domain/webhook.ts';
import { isRunnable } from '../domain/webhook-states.ts';
import type { CheckClock } from '../kernel/clock.ts';
import type { Clock, Ids } from '../kernel/ids.ts';
import type { Log } from '../kernel/log.ts';
import type { DispatchVerbs } from '../store/port/dispatch.ts';
import { isOutage, StaleWrite } from '../store/port/errors.ts';
import type { EventVerbs } from '../store/port/events.ts';
import type { WebhookVerbs } from '../store/port/webhooks.ts';
import { type ChangeReader, createChangeReader } from './changes.ts';
import { type Claim, claimWork, idleAt } from './claim.ts';
import { type AttemptsInProgress, createDeliver } from './deliver.ts';
import { createFormatOf, type FormatOf } from './format.ts';
import { isAwaited } from './key-queues.ts';
import type { LargeBodies } from './large-bodies.ts';
import {
  CLAIMS_AT_ONCE,
  POLL_MS,
  POSITIONS_PAUSE_MS,
  SCHEDULER_LIMITS,
  UNCLAIMABLE_PAUSE_MS,
  WEBHOOKS_PER_ROUND,
} from './limits.ts';
import { createOutcomeQueue, type OutcomeQueue } from './outcome-queue.ts';
import { hasKeyWrites } from './parked.ts';
import { createScheduler, isSequential, type Scheduler } from './scheduler.ts';
import type { Send } from './send.ts';
import { createSettlementWriter, type ObserveOutcome, type Settled, type SettlementWriter } from './settle.ts';
import type { WebhookLog } from './webhook-log.ts';
import { createWebhookLogs, hasWork, noteSettled, type WebhookLogs } from './webhook-logs.ts';

export type PipelineOptions = {
  readonly store: DispatchVerbs & WebhookVerbs & Pick<EventVerbs, 'eventTypes'>;
  readonly clock: Clock;
  readonly checkClock: CheckClock;
  readonly ids: Ids;
  readonly log: Log;
  readonly send: Send;
  readonly makeLargeBody: LargeBodies['make'];
  /** By default that of a service without an address. */
  readonly formatOf?: FormatOf;
  /** A number in [0, 1), for the jitter of retries. */
  readonly jitter: () => number;
  readonly observe?: readonly ObserveOutcome[];
  /** How many requests this process has answered; absent if it answers none. */
  readonly answeredRequests?: () => number;
  readonly inFlight?: number;
  readonly inFlightPerEndpoint?: number;
  readonly pollMs?: number;
  /** Whether this process still holds its webhooks. Does not ask the database. */
  readonly maySend: () => boolean;
  /** Whether work of a webhook may be claimed here. */
  readonly mayClaim: (webhookNumber: number) => boolean;
  /** Some work on a webhook has ended. */
  readonly onWorkEnded: (webhookNumber: number) => void;
  /** Another look may find work. */
  readonly wake: () => void;
};

/** Whether to look again immediately, and otherwise when to look next; null: only when woken. */
type Look = { readonly again: boolean; readonly nextAt: number | null };

type Pipeline = {
  /** Finds and claims work, and starts to deliver it. */
  look(): Promise<Look>;
  /** Ends requests that carry events about the subject. Their batches go out again without these events. */
  recall(subject: string): void;
  /** Gives back the claimed jobs that have not started, of one webhook or of all. */
  giveBack(webhookNumber?: number): void;
  /** Another process may send for the webhooks of this one: forgets all that it remembers of them. */
  forget(): void;
  /** Whether anything of the webhook is claimed or being claimed. */
  isBusy(webhookNumber: number): boolean;
  /** Nothing of the webhook is in progress here: writes its position, gives it away, and forgets it. */
  leave(webhookNumber: number, giveAway: () => Promise<void>): Promise<void>;
  /** Ends every attempt and every wait for the store. */
  abandon(): void;
  /** Resolves once every job that was started is settled, and the positions of all webhooks are written. */
  drained(): Promise<void>;
};

/** The state that the functions below share: the options, the parts with a memory, each in a file of its own, and three values. */
type Parts = PipelineOptions & {
  readonly pollMs: number;
  /** How far this process is in the log of each webhook. */
  readonly logs: WebhookLogs;
  /** Claimed jobs, requests in progress and rates. */
  readonly scheduler: Scheduler;
  readonly attempts: AttemptsInProgress;
  /** Outcomes that are not written yet. */
  readonly outcomes: OutcomeQueue;
  readonly writer: SettlementWriter;
  readonly changes: ChangeReader;
  /** When positions were last written. */
  positionsAt: number;
  /** How many claims and writes of outcomes are in progress. */
  working: number;
  /** Called when the last of them ends, and every job is settled. */
  onDrained(): void;
};

export function createPipeline(options: PipelineOptions): Pipeline {
  const { store, clock, ids, pollMs = POLL_MS } = options;
  const logs = createWebhookLogs();
  const scheduler = createScheduler({
    ...SCHEDULER_LIMITS,
    inFlight: options.inFlight ?? SCHEDULER_LIMITS.inFlight,
    perEndpoint: options.inFlightPerEndpoint ?? SCHEDULER_LIMITS.perEndpoint,
  });
  const attempts = createDeliver({
    ...options,
    scheduler,
    answeredRequests: options.answeredRequests ?? (() => 0),
    formatOf: options.formatOf ?? createFormatOf({ store, clock, publicUrl: () => null }),
  });
  const outcomes = createOutcomeQueue((webhookNumber, finished) => settle(parts, webhookNumber, finished));
  const parts: Parts = {
    ...options,
    pollMs,
    logs,
    scheduler,
    attempts,
    outcomes,
    // The owner names this process in the rows of slow attempts.
    writer: createSettlementWriter({ ...options, owner: ids.uuid(), logs, scheduler, observe: options.observe ?? [] }),
    changes: createChangeReader({
      store,
      clock,
      logs,
      attempts,
      pollMs,
      writePosition: (webhookNumber) => writePosition(parts, webhookNumber),
      giveBack: (webhookNumber) => giveBack(parts, webhookNumber),
    }),
    positionsAt: Number.NEGATIVE_INFINITY,
    working: 0,
    onDrained: () => {},
  };
  return {
    look: () => look(parts),
    giveBack: (webhookNumber) => giveBack(parts, webhookNumber),
    recall: attempts.recall,
    isBusy: scheduler.isBusy,
    forget: () => {
      giveBack(parts);
      for (const webhookNumber of [...logs.numbers()]) logs.drop(webhookNumber);
      parts.changes.forget();
    },
    leave: async (webhookNumber, giveAway) => {
      await writePosition(parts, webhookNumber);
      // If nobody knows whether it is given away, its position is read again.
      await giveAway().finally(() => {
        logs.drop(webhookNumber);
        readAgain(parts, webhookNumber);
      });
    },
    abandon: () => {
      attempts.abandon();
      parts.writer.giveUp();
    },
    drained: () => drained(parts),
  };
}

async function look(parts: Parts): Promise<Look> {
  const { logs, changes, clock, checkClock, maySend } = parts;
  await changes.endStopped();
  // The passing of time frees slots too.
  startNext(parts);
  await checkClock();
  if (!maySend()) return { again: false, nextAt: null };
  await changes.read();
  await changes.readEnds();
  const now = clock();
  writePositions(parts, now);
  const due = [...logs.takeReady(now, WEBHOOKS_PER_ROUND)];
  // Several at the same time, because they share reads; not all, because each reads the waiting records.
  try {
    while (due.length > 0)
      await allOf(due.splice(0, CLAIMS_AT_ONCE).map((webhookNumber) => claim(parts, webhookNumber)));
  } finally {
    for (const webhookNumber of due) logs.ready(webhookNumber);
  }
  const nextAt = logs.nextLookAt();
  return { again: nextAt !== null && nextAt <= now, nextAt };
}

/** Not at every look, because this goes through all webhooks that have moved. */
function writePositions(parts: Parts, now: number): void {
  if (performance.now() - parts.positionsAt < POSITIONS_PAUSE_MS) return;
  parts.positionsAt = performance.now();
  for (const webhookNumber of parts.logs.unwritten(now)) parts.outcomes.touch(webhookNumber);
}

async function claim(parts: Parts, webhookNumber: number): Promise<void> {
  const { logs, scheduler, clock, pollMs, maySend, mayClaim, onWorkEnded } = parts;
  const ofLog = logs.get(webhookNumber);
  if (ofLog === undefined || ofLog.isClosing) return;
  // It may be able to later, without any news of the webhook.
  if (!maySend() || !mayClaim(webhookNumber)) return logs.lookBy(ofLog, clock() + pollMs);
  // At its limit, the next settlement claims.
  if (!scheduler.hasRoom(webhookNumber) || !scheduler.beginClaim(webhookNumber)) return;
  parts.working += 1;
  try {
    const claimed = await claimWork(parts, ofLog);
    if (claimed === null) readAgain(parts, webhookNumber);
    else startClaimed(parts, ofLog, claimed);
  } catch (error) {
    claimFailed(parts, ofLog, error);
  } finally {
    if (scheduler.endClaim(webhookNumber)) readyAgain(parts, webhookNumber);
    onWorkEnded(webhookNumber);
    workEnded(parts);
  }
}

function startClaimed(parts: Parts, ofLog: WebhookLog, claimed: Claim): void {
  const { logs, scheduler, outcomes, clock, mayClaim } = parts;
  const { webhookNumber } = ofLog;
  const now = clock();
  scheduler.admit(claimed);
  // The service began to stop during the claim, or another process may send for the webhook.
  if (!mayClaim(webhookNumber) || logs.get(webhookNumber) !== ofLog) giveBack(parts, webhookNumber);
  startNext(parts);
  if (ofLog.queues !== null && hasKeyWrites(ofLog)) outcomes.touch(webhookNumber, true);
  logs.lookBy(ofLog, claimed.idleUntil);
  if (claimed.next.kind === 'not before') {
    logs.lookBy(ofLog, claimed.next.at);
    return;
  }
  if (ofLog.dueAt > now) logs.lookBy(ofLog, ofLog.dueAt);
  if (hasWork(ofLog, now) && scheduler.hasRoom(webhookNumber)) readyAgain(parts, webhookNumber);
}

function readyAgain({ logs, wake }: Parts, webhookNumber: number): void {
  logs.ready(webhookNumber);
  wake();
}

/** Throws while the store fails. */
function claimFailed({ logs, clock, log }: Parts, ofLog: WebhookLog, error: unknown): void {
  const { webhookNumber } = ofLog;
  // What was due is asked for again.
  ofLog.dueAt = 0;
  if (error instanceof StaleWrite || isOutage(error)) logs.ready(webhookNumber);
  if (error instanceof StaleWrite) return;
  if (isOutage(error)) throw error;
  // A webhook whose claim fails must not keep the others from being looked at.
  logs.lookBy(ofLog, clock() + UNCLAIMABLE_PAUSE_MS);
  log.error({ webhookNumber, err: error }, 'no work could be claimed for a webhook');
}

/** Starts every claimed job that has a slot. */
function startNext(parts: Parts): void {
  const { scheduler } = parts;
  for (let job = scheduler.next(performance.now()); job !== null; job = scheduler.next(performance.now())) {
    void deliver(parts, job);
  }
}

async function deliver(parts: Parts, job: Job): Promise<void> {
  const { attempts, logs, scheduler, outcomes, clock } = parts;
  const result = await attempts.deliver(job);
  const ofLog = logs.get(job.webhookNumber);
  const isSequentialNow = scheduler.finished(job, result.kind === 'sent' && result.sent.outcome.ok);
  const isUrgent =
    isSequentialNow || (job.batch !== null && ofLog?.queues != null && isAwaited(ofLog.queues, job.batch));
  startNext(parts);
  outcomes.add({ job, result }, isUrgent);
  if (!isUrgent && ofLog !== undefined) await claimMore(parts, ofLog, clock());
}

/** `isApart`: the store refused the outcome together with others. */
async function settle(parts: Parts, webhookNumber: number, all: readonly Finished[], isApart = false): Promise<void> {
  parts.working += 1;
  try {
    const settled = await parts.writer.write(webhookNumber, all, { isApart, isLast: false });
    if (settled !== 'refused') await goOn(parts, webhookNumber, all, settled);
    else for (const one of all) void settle(parts, webhookNumber, [one], true);
  } finally {
    workEnded(parts);
  }
}

/** After the outcomes of a webhook are written, or only its position if `all` is empty: notes it, and starts the webhook's next work. */
async function goOn(parts: Parts, webhookNumber: number, all: readonly Finished[], settled: Settled): Promise<void> {
  const { logs, scheduler, clock, wake, onWorkEnded } = parts;
  const { webhook } = settled;
  const hasOutcomes = all.length > 0;
  const now = clock();
  const ofLog = logs.get(webhookNumber);
  if (ofLog !== undefined) noteInLog(parts, ofLog, all, settled, now);
  if (hasOutcomes && (webhook === null || !isRunnable(webhook.progress.state))) readAgain(parts, webhookNumber);
  // Jobs that cannot go out now do not wait here: nobody knows for how long, or under which settings they will be sent.
  const isReleased = settled.finished.some(({ result }) => result.kind === 'release');
  const isUnheld = logs.get(webhookNumber) === undefined;
  if (hasOutcomes && (isReleased || isUnheld || webhook === null || isHeldUp(webhook, now)))
    giveBack(parts, webhookNumber);
  const jobs = all.map(({ job }) => job);
  // A write without an outcome says nothing about the outcomes that wait.
  scheduler.settled(webhookNumber, jobs, webhook === null || !hasOutcomes ? null : isSequential(webhook));
  startNext(parts);
  if (ofLog !== undefined && webhook !== null && hasOutcomes) {
    lookWhenIdle(parts, ofLog, webhook, now);
    await claimMore(parts, ofLog, now);
  }
  if (settled.isChanged || settled.hasKeyRows || isUnheld) wake();
  onWorkEnded(webhookNumber);
}

function noteInLog(
  { logs, outcomes }: Parts,
  ofLog: WebhookLog,
  all: readonly Finished[],
  settled: Settled,
  now: number,
): void {
  const { webhookNumber } = ofLog;
  noteSettled(logs, ofLog, all, settled, now);
  // After a change of state, a claim in progress may wait for a probe that is no longer needed.
  if (settled.hasKeyRows || settled.isChanged) logs.ready(webhookNumber);
  if (all.length > 0 && ofLog.queues !== null && hasKeyWrites(ofLog)) outcomes.touch(webhookNumber, true);
  if (!settled.finished.some(({ job, result }) => job.batch !== null && result.kind === 'lost')) return;
  // Its row may be due: while the batch was held here, no read returned it.
  ofLog.dueAt = 0;
  logs.ready(webhookNumber);
}

function lookWhenIdle({ logs }: Parts, ofLog: WebhookLog, webhook: Webhook, now: number): void {
  const { heartbeatAt, renewAt } = idleAt(webhook, { ...webhook.progress, sentAt: ofLog.sentAt });
  logs.lookBy(ofLog, Math.min(heartbeatAt, renewAt));
  if (ofLog.dueAt > now) logs.lookBy(ofLog, ofLog.dueAt);
}

/** The webhook's next work, without waiting for a look. */
async function claimMore(parts: Parts, ofLog: WebhookLog, now: number): Promise<void> {
  const { scheduler } = parts;
  const { webhookNumber } = ofLog;
  // A claim in progress is followed by another if work is left.
  if (!hasWork(ofLog, now) || !scheduler.hasRoom(webhookNumber) || scheduler.isClaiming(webhookNumber)) return;
  await claim(parts, webhookNumber).catch((err: unknown) => {
    parts.log.warn({ webhookNumber, err }, 'no work could be claimed for a webhook yet');
  });
}

/** The webhook was seen stopped or deleted: the next look ends its log, unless it has started again. */
function readAgain({ changes, wake }: Parts, webhookNumber: number): void {
  changes.readAgain(webhookNumber);
  wake();
}

function giveBack({ scheduler, outcomes }: Parts, webhookNumber?: number): void {
  for (const job of scheduler.withdraw(webhookNumber)) outcomes.add({ job, result: { kind: 'release' } }, true);
}

async function writePosition({ writer }: Parts, webhookNumber: number): Promise<void> {
  await writer.write(webhookNumber, [], { isApart: false, isLast: true });
}

function workEnded(parts: Parts): void {
  parts.working -= 1;
  if (isDrained(parts)) parts.onDrained();
}

function isDrained({ working, scheduler }: Parts): boolean {
  return working === 0 && scheduler.isIdle();
}

async function drained(parts: Parts): Promise<void> {
  const { outcomes, logs } = parts;
  await new Promise<void>((resolve) => {
    parts.onDrained = resolve;
    if (isDrained(parts)) resolve();
  });
  outcomes.close();
  const unwritten = logs.unwritten(Number.POSITIVE_INFINITY);
  await allOf(unwritten.map((webhookNumber) => writePosition(parts, webhookNumber)));
}

/** Waits for all, so that nothing is in progress when it rejects. */
async function allOf(works: readonly Promise<void>[]): Promise<void> {
  for (const outcome of await Promise.allSettled(works)) if (outcome.status === 'rejected') throw outcome.reason;
}

/** Whether a webhook sends nothing for now: it does not run, or its next probe is not due. */
function isHeldUp({ progress }: Webhook, now: number): boolean {
  return !isRunnable(progress.state) || (progress.probeAt !== null && progress.probeAt > now);
}

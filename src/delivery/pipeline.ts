/**
 * Sends records in four functions: `look` finds the webhooks that have work, `claim` takes the next work of one, `deliver` sends it,
 * and `settle` writes the outcomes. After each of them `advance` starts what can start. All that they share is in `PipelineParts`. It can
 * be read from the store again, so a killed process loses nothing: the next start continues.
 */

import type { Finished, Job } from '../domain/batch.ts';
import type { Webhook } from '../domain/webhook.ts';
import { isRunnable } from '../domain/webhook-states.ts';
import { isOutage, StaleWrite } from '../store/port/errors.ts';
import { type Claim, claimWork, idleAt } from './claim.ts';
import { isAwaited } from './key-queues.ts';
import { CLAIMS_AT_ONCE, POSITIONS_PAUSE_MS, UNCLAIMABLE_PAUSE_MS, WEBHOOKS_PER_ROUND } from './limits.ts';
import { hasKeyWrites } from './parked.ts';
import { createParts, type PipelineParts as Parts, type PipelineOptions } from './pipeline-parts.ts';
import { isSequential } from './scheduler.ts';
import { noteSettled, type Settled } from './settle.ts';
import type { WebhookLog } from './webhook-log.ts';
import { hasWork } from './webhook-logs.ts';

/** Whether to look again immediately, and otherwise when to look next; null: only when woken. */
type Look = { readonly again: boolean; readonly nextAt: number | null };

type Pipeline = {
  /** Finds and claims work, and starts to deliver it. */
  look(): Promise<Look>;
  /** Ends requests that carry events about the subject. Their batches go out again without these events. */
  recall(subject: string): void;
  /** Gives back the claimed jobs that have not started. */
  giveBack(): void;
  /** Another process may send for the webhooks of this one: forgets all that it remembers of them. */
  forget(): void;
  /** Ends work on these webhooks, and lets others take each. */
  handOver(webhookNumbers: readonly number[]): void;
  /** Ends every attempt and every wait for the store. */
  abandon(): void;
  /** Resolves once every job that was started is settled, and the positions of all webhooks are written. */
  drained(): Promise<void>;
};

export function createPipeline(options: PipelineOptions): Pipeline {
  const parts = createParts(options);
  const { logs, changes, attempts, handOver, writer, outcomes, giveBack } = parts;
  outcomes.open((webhookNumber, finished) => settle(parts, webhookNumber, finished));
  return {
    look: () => look(parts),
    giveBack: () => giveBack(),
    recall: attempts.recall,
    forget: () => {
      giveBack();
      for (const webhookNumber of [...logs.numbers()]) logs.drop(webhookNumber);
      changes.forget();
    },
    handOver: handOver.begin,
    abandon: () => {
      attempts.abandon();
      writer.giveUp();
    },
    drained: () => drained(parts),
  };
}

async function look(parts: Parts): Promise<Look> {
  const { logs, changes, clock, checkClock, maySend } = parts;
  await changes.endStopped();
  // The passing of time frees slots too.
  advance(parts);
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
  const { logs, scheduler, changes, clock, pollMs, maySend } = parts;
  const ofLog = logs.get(webhookNumber);
  if (ofLog === undefined || ofLog.isClosing) return;
  // It may be able to later, without any news of the webhook.
  if (!maySend() || !mayClaim(parts, webhookNumber)) return logs.lookBy(ofLog, clock() + pollMs);
  // At the limit, the next settlement starts the claim.
  if (!scheduler.hasRoom(webhookNumber) || !scheduler.beginClaim(webhookNumber)) return;
  parts.working += 1;
  try {
    const claimed = await claimWork(parts, ofLog);
    if (claimed === null) return changes.readAgain(webhookNumber);
    noteClaim(parts, ofLog, claimed);
    advance(parts);
  } catch (error) {
    claimFailed(parts, ofLog, error);
  } finally {
    if (scheduler.endClaim(webhookNumber)) readyAgain(parts, webhookNumber);
    workEnded(parts, webhookNumber);
  }
}

function mayClaim({ isRunning, handOver }: Parts, webhookNumber: number): boolean {
  return isRunning() && !handOver.isLeaving(webhookNumber);
}

/** The next look claims the rest, so that webhooks take turns. */
function noteClaim(parts: Parts, ofLog: WebhookLog, claimed: Claim): void {
  const { logs, scheduler, outcomes, clock, giveBack } = parts;
  const { webhookNumber } = ofLog;
  const now = clock();
  scheduler.admit(claimed);
  // The service began to stop during the claim, or another process may send for the webhook.
  if (!mayClaim(parts, webhookNumber) || logs.get(webhookNumber) !== ofLog) giveBack(webhookNumber);
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

async function deliver(parts: Parts, job: Job): Promise<void> {
  const { attempts, logs, scheduler, outcomes } = parts;
  const result = await attempts.deliver(job);
  const ofLog = logs.get(job.webhookNumber);
  const isSequentialNow = scheduler.finished(job, result.kind === 'sent' && result.sent.outcome.ok);
  const isUrgent =
    isSequentialNow || (job.batch !== null && ofLog?.queues != null && isAwaited(ofLog.queues, job.batch));
  outcomes.add({ job, result }, isUrgent);
  // What waits for the outcome is claimed after its settlement.
  advance(parts, isUrgent ? undefined : ofLog);
}

/** `isApart`: the store refused the outcome together with others. */
async function settle(parts: Parts, webhookNumber: number, all: readonly Finished[], isApart = false): Promise<void> {
  parts.working += 1;
  try {
    const settled = await parts.writer.write(webhookNumber, all, { isApart, isLast: false });
    if (settled === 'refused') {
      // Not awaited: one that the store goes on refusing holds up none that comes behind it.
      for (const one of all) void settle(parts, webhookNumber, [one], true);
      return;
    }
    noteSettlement(parts, webhookNumber, all, settled);
    // A write without an outcome makes no room.
    advance(parts, all.length > 0 && settled.webhook !== null ? parts.logs.get(webhookNumber) : undefined);
  } finally {
    workEnded(parts, webhookNumber);
  }
}

/** After the outcomes of a webhook are written, or only its position if `all` is empty. */
function noteSettlement(parts: Parts, webhookNumber: number, all: readonly Finished[], settled: Settled): void {
  const { logs, scheduler, clock, wake } = parts;
  const now = clock();
  const ofLog = logs.get(webhookNumber);
  if (ofLog !== undefined) noteInLog(parts, ofLog, all, settled, now);
  const isUnheld = logs.get(webhookNumber) === undefined;
  if (all.length > 0) noteOutcomes(parts, webhookNumber, all, settled, { isUnheld, now });
  // A write without an outcome says nothing about the outcomes that wait.
  else scheduler.settled(webhookNumber, [], null);
  if (ofLog !== undefined && settled.webhook !== null && all.length > 0)
    lookWhenIdle(parts, ofLog, settled.webhook, now);
  if (settled.isChanged || settled.hasKeyRows || isUnheld) wake();
}

/** `isUnheld`: this process no longer holds the webhook's log. */
function noteOutcomes(
  { scheduler, changes, giveBack }: Parts,
  webhookNumber: number,
  all: readonly Finished[],
  { webhook, finished }: Settled,
  { isUnheld, now }: { readonly isUnheld: boolean; readonly now: number },
): void {
  if (webhook === null || !isRunnable(webhook.progress.state)) changes.readAgain(webhookNumber);
  // Jobs that cannot go out now do not wait here: nobody knows for how long, or under which settings they will be sent.
  const isReleased = finished.some(({ result }) => result.kind === 'release');
  if (isReleased || isUnheld || webhook === null || isHeldUp(webhook, now)) giveBack(webhookNumber);
  const jobs = all.map(({ job }) => job);
  scheduler.settled(webhookNumber, jobs, webhook === null ? null : isSequential(webhook));
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

/** Starts every claimed job that has a slot, and claims more of a webhook that has room, without waiting for a look. */
function advance(parts: Parts, ofLog?: WebhookLog): void {
  const { scheduler, clock, log } = parts;
  for (let job = scheduler.next(performance.now()); job !== null; job = scheduler.next(performance.now())) {
    void deliver(parts, job);
  }
  if (ofLog === undefined || !hasWork(ofLog, clock())) return;
  const { webhookNumber } = ofLog;
  // A claim in progress is followed by another if work is left.
  if (!scheduler.hasRoom(webhookNumber) || scheduler.isClaiming(webhookNumber)) return;
  claim(parts, webhookNumber).catch((err: unknown) => {
    log.warn({ webhookNumber, err }, 'no work could be claimed for a webhook yet');
  });
}

function workEnded(parts: Parts, webhookNumber: number): void {
  parts.handOver.workEnded(webhookNumber);
  parts.working -= 1;
  if (isDrained(parts)) parts.onDrained();
}

function isDrained({ working, scheduler }: Parts): boolean {
  return working === 0 && scheduler.isIdle();
}

async function drained(parts: Parts): Promise<void> {
  const { outcomes, logs, writer } = parts;
  await new Promise<void>((resolve) => {
    parts.onDrained = resolve;
    if (isDrained(parts)) resolve();
  });
  outcomes.close();
  const unwritten = logs.unwritten(Number.POSITIVE_INFINITY);
  await allOf(unwritten.map(writer.writePosition));
}

/** Waits for all, so that nothing is in progress when it rejects. */
async function allOf(works: readonly Promise<void>[]): Promise<void> {
  for (const outcome of await Promise.allSettled(works)) if (outcome.status === 'rejected') throw outcome.reason;
}

/** Whether a webhook sends nothing for now: it does not run, or its next probe is not due. */
function isHeldUp({ progress }: Webhook, now: number): boolean {
  return !isRunnable(progress.state) || (progress.probeAt !== null && progress.probeAt > now);
}

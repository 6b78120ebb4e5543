/**
 * The way of a record: look which webhooks have work, claim it, deliver it, settle its outcome. Each of the four functions is called with
 * what the one before returned. What this process remembers between them (`webhook-logs.ts`, `scheduler.ts`) can be read from the store
 * again, so a killed process loses nothing: the next start continues.
 */

import type { Finished, Job } from '../domain/batch.ts';
import type { Webhook } from '../domain/webhook.ts';
import { isRunnable } from '../domain/webhook-states.ts';
import type { CheckClock } from '../kernel/clock.ts';
import type { Clock, Ids } from '../kernel/ids.ts';
import type { Log } from '../kernel/log.ts';
import { isOutage, StaleWrite } from '../store/port/errors.ts';
import type { Store } from '../store/port/store.ts';
import { createChangeReader } from './changes.ts';
import { claimWork, idleAt } from './claim.ts';
import { createDeliver } from './deliver.ts';
import { createFormatOf, type FormatOf } from './format.ts';
import { isAwaited } from './key-queues.ts';
import type { LargeBodies } from './large-bodies.ts';
import {
  CLAIMED_IN_ALL,
  CLAIMED_PER_WEBHOOK,
  CLAIMS_AT_ONCE,
  DELIVERIES_IN_FLIGHT,
  DELIVERIES_IN_FLIGHT_IN_ALL,
  DELIVERIES_IN_FLIGHT_PER_ENDPOINT,
  DELIVERY_LINGERS_MS,
  ENDS_EVERY_MS,
  ENDS_PER_LOOK,
  POLL_MS,
  POSITIONS_PAUSE_MS,
  UNCLAIMABLE_PAUSE_MS,
  WEBHOOKS_PER_ROUND,
} from './limits.ts';
import { createOutcomeQueue } from './outcome-queue.ts';
import { hasKeyWrites } from './parked.ts';
import { createScheduler, isSequential } from './scheduler.ts';
import type { Send } from './send.ts';
import { createSettlementWriter, type ObserveOutcome } from './settle.ts';
import type { WebhookLog } from './webhook-log.ts';
import { createWebhookLogs, hasWork, noteSettled } from './webhook-logs.ts';

/** Of all these, slow ones included, for one customer. */
const DELIVERIES_IN_FLIGHT_PER_CUSTOMER = 64;

export type PipelineOptions = {
  readonly store: Store;
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
  /** Whether this process still holds its webhooks, as far as it can tell without asking. */
  readonly maySend: () => boolean;
  /** Whether work of a webhook may be claimed here. */
  readonly mayClaim: (webhookNumber: number) => boolean;
  /** Some work on a webhook has ended. */
  readonly onWorkEnded: (webhookNumber: number) => void;
  /** Another look may find work. */
  readonly wake: () => void;
};

type Pipeline = {
  /** Finds and claims work, and starts to deliver it. Returns whether to look again immediately, and otherwise when to look next. */
  look(): Promise<{ readonly again: boolean; readonly nextAt: number | null }>;
  /** Ends requests that carry events about the subject. Their batches go out again without these events. */
  recall(subject: string): void;
  /** Gives back the claimed jobs that have not started, of one webhook or of all. */
  giveBack(webhookNumber?: number): void;
  /** Another process may send for what this one held: nothing that is remembered holds any more. */
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

export function createPipeline(options: PipelineOptions): Pipeline {
  const { store, clock, checkClock, ids, log, maySend, mayClaim, onWorkEnded, wake, pollMs = POLL_MS } = options;
  const { answeredRequests = () => 0, send, makeLargeBody, jitter } = options;
  /** Names this process in the rows of slow attempts. */
  const owner = ids.uuid();
  const logs = createWebhookLogs();
  const scheduler = createScheduler({
    perEndpoint: options.inFlightPerEndpoint ?? DELIVERIES_IN_FLIGHT_PER_ENDPOINT,
    inFlight: options.inFlight ?? DELIVERIES_IN_FLIGHT,
    lingersMs: DELIVERY_LINGERS_MS,
    inFlightInAll: DELIVERIES_IN_FLIGHT_IN_ALL,
    perCustomer: DELIVERIES_IN_FLIGHT_PER_CUSTOMER,
    claimed: CLAIMED_PER_WEBHOOK,
    claimedInAll: CLAIMED_IN_ALL,
  });
  const deliveries = createDeliver({
    store,
    clock,
    ids,
    send,
    makeLargeBody,
    log,
    answeredRequests,
    scheduler,
    maySend,
    formatOf: options.formatOf ?? createFormatOf({ store, clock, publicUrl: () => null }),
  });
  const observe = options.observe ?? [];
  const writer = createSettlementWriter({
    store,
    clock,
    checkClock,
    ids,
    jitter,
    log,
    owner,
    logs,
    scheduler,
    observe,
  });
  let endsReadAt = Number.NEGATIVE_INFINITY;
  let positionsAt = Number.NEGATIVE_INFINITY;
  let stoppedReadAt = Number.NEGATIVE_INFINITY;
  /** Claims and writes of outcomes in progress. */
  let working = 0;
  let onDrained = (): void => {};

  const look: Pipeline['look'] = async () => {
    await endStopped();
    // The passing of time frees slots too.
    runNext();
    await checkClock();
    if (!maySend()) return { again: false, nextAt: null };
    await changes.read();
    await readEnds();
    const now = clock();
    writePositions(now);
    const due = [...logs.takeReady(now, WEBHOOKS_PER_ROUND)];
    // Several together, because they share reads; not all together, because each reads the waiting records.
    try {
      while (due.length > 0) await allOf(due.splice(0, CLAIMS_AT_ONCE).map(claim));
    } finally {
      for (const webhookNumber of due) logs.ready(webhookNumber);
    }
    const nextAt = logs.nextLookAt();
    return { again: nextAt !== null && nextAt <= now, nextAt };
  };

  /** Not in every look: it goes through all webhooks that have moved. */
  const writePositions = (now: number): void => {
    const elapsed = performance.now() - positionsAt;
    if (elapsed < POSITIONS_PAUSE_MS) return;
    positionsAt = performance.now();
    for (const webhookNumber of logs.unwritten(now)) outcomes.touch(webhookNumber);
  };

  /** Of the logs to which this process has appended, and in turns of all: other processes append too. */
  const readEnds = async (): Promise<void> => {
    const asked = new Set(store.dispatch.appended() ?? []);
    const elapsed = performance.now() - endsReadAt;
    if (elapsed >= ENDS_EVERY_MS || asked.size === 0) {
      endsReadAt = performance.now();
      for (const webhookNumber of logs.nextInTurn(ENDS_PER_LOOK)) asked.add(webhookNumber);
    }
    const known = [...asked].filter((webhookNumber) => logs.get(webhookNumber) !== undefined);
    if (known.length === 0) return;
    for (const [webhookNumber, end] of await store.dispatch.ends(known)) logs.grew(webhookNumber, end);
  };

  const claim = async (webhookNumber: number): Promise<void> => {
    const ofLog = logs.get(webhookNumber);
    if (ofLog === undefined || ofLog.isClosing) return;
    // It may be able to later, without any news of the webhook.
    if (!maySend() || !mayClaim(webhookNumber)) return logs.lookBy(ofLog, clock() + pollMs);
    // At its limit, the next settlement claims.
    if (!scheduler.hasRoom(webhookNumber) || !scheduler.beginClaim(webhookNumber)) return;
    working += 1;
    try {
      const claimed = await claimWork({ store, clock, ids, log, scheduler, logs }, ofLog);
      const now = clock();
      if (claimed === null) return readAgain(webhookNumber);
      scheduler.admit(claimed);
      // The service began to stop during the claim, or another process may send for the webhook.
      if (!mayClaim(webhookNumber) || logs.get(webhookNumber) !== ofLog) giveBack(webhookNumber);
      runNext();
      if (ofLog.queues !== null && hasKeyWrites(ofLog)) outcomes.touch(webhookNumber, true);
      logs.lookBy(ofLog, claimed.idleUntil);
      if (claimed.next.kind === 'not before') logs.lookBy(ofLog, claimed.next.at);
      else lookAgain(ofLog, now);
    } catch (error) {
      // What was due is asked for again.
      ofLog.dueAt = 0;
      if (error instanceof StaleWrite || isOutage(error)) logs.ready(webhookNumber);
      if (error instanceof StaleWrite) return;
      if (isOutage(error)) throw error;
      // A webhook whose claim fails must not keep the others from being looked at.
      logs.lookBy(ofLog, clock() + UNCLAIMABLE_PAUSE_MS);
      log.error({ webhookNumber, err: error }, 'no work could be claimed for a webhook');
    } finally {
      scheduler.endClaim(webhookNumber);
      onWorkEnded(webhookNumber);
      workEnded();
    }
  };

  const isDrained = (): boolean => working === 0 && scheduler.isIdle();

  const workEnded = (): void => {
    working -= 1;
    if (isDrained()) onDrained();
  };

  const lookAgain = (ofLog: WebhookLog, now: number): void => {
    if (ofLog.dueAt > now) logs.lookBy(ofLog, ofLog.dueAt);
    if (!hasWork(ofLog, now) || !scheduler.hasRoom(ofLog.webhookNumber)) return;
    logs.ready(ofLog.webhookNumber);
    wake();
  };

  const runNext = (): void => {
    for (let job = scheduler.next(performance.now()); job !== null; job = scheduler.next(performance.now())) {
      void deliver(job);
    }
  };

  const deliver = async (job: Job): Promise<void> => {
    const result = await deliveries.deliver(job);
    const ofLog = logs.get(job.webhookNumber);
    const isSequentialNow = scheduler.finished(job, result.kind === 'sent' && result.sent.outcome.ok);
    const isUrgent =
      isSequentialNow || (job.batch !== null && ofLog?.queues != null && isAwaited(ofLog.queues, job.batch));
    runNext();
    outcomes.add({ job, result }, isUrgent);
    if (!isUrgent && ofLog !== undefined) await claimMore(ofLog, clock());
  };

  /** `isApart`: the store refused the outcome together with others. */
  const settle = async (webhookNumber: number, all: readonly Finished[], isApart = false): Promise<void> => {
    working += 1;
    await settleAll(webhookNumber, all, isApart);
    workEnded();
  };

  const settleAll = async (webhookNumber: number, all: readonly Finished[], isApart: boolean): Promise<void> => {
    const settled = await writer.write(webhookNumber, all, { isApart, isLast: false });
    if (settled === 'refused') {
      for (const one of all) void settle(webhookNumber, [one], true);
      return;
    }
    const { webhook, finished } = settled;
    const now = clock();
    const ofLog = logs.get(webhookNumber);
    if (ofLog !== undefined) {
      noteSettled(logs, ofLog, all, settled, now);
      if (settled.hasKeyRows) logs.ready(webhookNumber);
      if (all.length > 0 && ofLog.queues !== null && hasKeyWrites(ofLog)) outcomes.touch(webhookNumber, true);
    }
    if (all.length > 0 && (webhook === null || !isRunnable(webhook.progress.state))) readAgain(webhookNumber);
    if (ofLog !== undefined && finished.some(({ job, result }) => job.batch !== null && result.kind === 'lost')) {
      // Its row may be due: while the batch was held here, no read returned it.
      ofLog.dueAt = 0;
      logs.ready(webhookNumber);
    }
    // Jobs that cannot go out now do not wait here: nobody knows for how long, or under which settings they will be sent.
    const isReleased = finished.some(({ result }) => result.kind === 'release');
    const isUnheld = logs.get(webhookNumber) === undefined;
    if (all.length > 0 && (isReleased || isUnheld || webhook === null || isHeldUp(webhook, now)))
      giveBack(webhookNumber);
    const jobs = all.map(({ job }) => job);
    // A write without an outcome says nothing about the outcomes that wait.
    scheduler.settled(webhookNumber, jobs, webhook === null || all.length === 0 ? null : isSequential(webhook));
    runNext();
    if (ofLog !== undefined && webhook !== null && all.length > 0) await goOn(ofLog, webhook, now);
    if (settled.isChanged || settled.hasKeyRows || isUnheld) wake();
    onWorkEnded(webhookNumber);
  };

  /** The webhook's next work, without waiting for a look. */
  const goOn = async (ofLog: WebhookLog, webhook: Webhook, now: number): Promise<void> => {
    const { heartbeatAt, renewAt } = idleAt(webhook, { ...webhook.progress, sentAt: ofLog.sentAt });
    logs.lookBy(ofLog, Math.min(heartbeatAt, renewAt));
    if (ofLog.dueAt > now) logs.lookBy(ofLog, ofLog.dueAt);
    await claimMore(ofLog, now);
  };

  const claimMore = async (ofLog: WebhookLog, now: number): Promise<void> => {
    const { webhookNumber } = ofLog;
    if (!hasWork(ofLog, now) || !scheduler.hasRoom(webhookNumber)) return;
    await claim(webhookNumber).catch((err: unknown) => {
      log.warn({ webhookNumber, err }, 'no work could be claimed for a webhook yet');
    });
  };

  const outcomes = createOutcomeQueue(settle);

  const giveBack = (webhookNumber?: number): void => {
    for (const job of scheduler.withdraw(webhookNumber)) outcomes.add({ job, result: { kind: 'release' } }, true);
  };

  /** Ends requests of stopped webhooks. Reads the store, because another process may stop a webhook too; at most once a poll. */
  const endStopped = async (): Promise<void> => {
    const now = performance.now();
    const busy = now - stoppedReadAt < pollMs ? [] : deliveries.busyWebhooks();
    if (busy.length === 0) return;
    stoppedReadAt = now;
    for (const webhookNumber of await store.dispatch.stoppedAmong(busy)) deliveries.endWebhook(webhookNumber);
  };

  const writePosition = async (webhookNumber: number): Promise<void> => {
    await writer.write(webhookNumber, [], { isApart: false, isLast: true });
  };

  const changes = createChangeReader({ store, clock, logs, writePosition, giveBack });

  /** The webhook was seen stopped or deleted: the next look ends its log, unless it has started again. */
  const readAgain = (webhookNumber: number): void => {
    changes.readAgain(webhookNumber);
    wake();
  };

  return {
    look,
    giveBack,
    recall: deliveries.recall,
    forget: () => {
      giveBack();
      for (const webhookNumber of [...logs.numbers()]) logs.drop(webhookNumber);
    },
    isBusy: scheduler.isBusy,
    leave: async (webhookNumber, giveAway) => {
      await writePosition(webhookNumber);
      // If nobody knows whether it is given away, its position is read again.
      await giveAway().finally(() => logs.drop(webhookNumber));
    },
    abandon: () => {
      deliveries.abandon();
      writer.giveUp();
    },
    drained: async () => {
      await new Promise<void>((resolve) => {
        onDrained = resolve;
        if (isDrained()) resolve();
      });
      outcomes.close();
      await allOf(logs.unwritten(Number.POSITIVE_INFINITY).map(writePosition));
    },
  };
}

/** Waits for all, so that nothing is in progress when it rejects. */
async function allOf(works: readonly Promise<void>[]): Promise<void> {
  for (const outcome of await Promise.allSettled(works)) if (outcome.status === 'rejected') throw outcome.reason;
}

/** Whether a webhook sends nothing for now: it does not run, or its next probe is not due. */
function isHeldUp({ progress }: Webhook, now: number): boolean {
  return !isRunnable(progress.state) || (progress.probeAt !== null && progress.probeAt > now);
}

/**
 * The loop that carries the outbox out: a poll and a wake-up, claims that go around the webhooks, a bounded number of
 * requests under way, and an outcome written for each. It holds nothing that is not in the store too: killed at any
 * point, the next start goes on from there.
 */

import type { Clock, Ids } from '../kernel/ids.ts';
import {
  CLAIMED_IN_ALL,
  CLAIMED_PER_WEBHOOK,
  CLAIMS_AT_ONCE,
  DELIVERIES_IN_FLIGHT,
  DELIVERIES_IN_FLIGHT_IN_ALL,
  DELIVERIES_IN_FLIGHT_PER_ENDPOINT,
  DELIVERY_LINGERS_MS,
  POLL_MS,
  UNCLAIMABLE_PAUSE_MS,
  WEBHOOKS_PER_ROUND,
} from '../kernel/limits/delivery.ts';
import { DRAIN_MS } from '../kernel/limits/limits.ts';
import type { CheckClock } from '../observe/clock-watch.ts';
import type { Log } from '../observe/log.ts';
import { StaleWrite } from '../store/errors.ts';
import type { Store } from '../store/store.ts';
import { isRunnable } from '../webhooks/lifecycle.ts';
import type { Webhook } from '../webhooks/webhook.ts';
import { type Claimed, createClaimWork, type PlannedClaim, planClaim } from './claim.ts';
import { createDeliver } from './deliver.ts';
import { type Finished, type Job, recordsOf } from './job.ts';
import { createLanes } from './lanes.ts';
import type { LargeBodies } from './large-bodies.ts';
import { createLoop } from './loop.ts';
import { isAlone, type Load, stopReason } from './plan.ts';
import { createRateLimiter } from './rate.ts';
import { createRequests } from './requests.ts';
import type { Send } from './send.ts';
import { createSettle, type Next, type ObserveSettled } from './settle.ts';
import type { SettledBatch } from './settlement.ts';
import type { DeliveryTarget } from './target.ts';

export type Dispatcher = {
  start(): Promise<void>;
  /** There may be work: looks at once instead of at the next poll. */
  wake(): void;
  /** The subject is being erased: ends requests that carry events about it, and their batches go out again without these. */
  recall(subject: string): void;
  /** Takes nothing new and waits for what is under way, 10 s at most; what is not done by then is cut off, and due again at once. */
  stop(): Promise<void>;
  /** Whether the loop has come around lately; false tells `/readyz` that it has died. */
  isAlive(): boolean;
};

export type DispatcherOptions = {
  readonly store: Store;
  readonly clock: Clock;
  readonly checkClock: CheckClock;
  readonly ids: Ids;
  readonly log: Log;
  readonly send: Send;
  readonly makeLargeBody: LargeBodies['make'];
  /** A number in [0, 1), for the jitter of retries. */
  readonly jitter: () => number;
  readonly observe?: ObserveSettled;
  /** How many requests this process has answered: none where it answers none. */
  readonly answeredRequests?: () => number;
  readonly inFlight?: number;
  readonly inFlightPerEndpoint?: number;
  readonly pollMs?: number;
  readonly drainMs?: number;
};

export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { store, clock, checkClock, ids, log, send, makeLargeBody, jitter } = options;
  /** Names this process in leases. */
  const owner = ids.uuid();
  const requests = createRequests(
    {
      inFlight: options.inFlight ?? DELIVERIES_IN_FLIGHT,
      inFlightInAll: DELIVERIES_IN_FLIGHT_IN_ALL,
      lingersMs: DELIVERY_LINGERS_MS,
    },
    () => performance.now(),
  );
  const lanes = createLanes(
    {
      perEndpoint: options.inFlightPerEndpoint ?? DELIVERIES_IN_FLIGHT_PER_ENDPOINT,
      claimed: CLAIMED_PER_WEBHOOK,
      claimedInAll: CLAIMED_IN_ALL,
    },
    requests,
  );
  /** Webhooks that are not looked at again before something of them is settled. */
  const full = new Set<number>();
  const rates = createRateLimiter();
  const claimWork = createClaimWork({ store, clock, ids, log });
  const { settle, giveUp } = createSettle({
    ...{ store, clock, checkClock, ids, jitter, log, owner, observe: options.observe },
    onSettled: (finished, webhook, next) => onSettled(finished, webhook, next),
    // What is claimed ahead waits until what is under way is settled.
    onUnwritten: (webhookNumber) => lanes.setAlone(webhookNumber, true),
    nextOf: (target, settled, now) => nextOf(target, settled, now),
  });
  const { deliver, recall, busyWebhooks, endWebhook, abandon } = createDeliver({
    ...{ store, clock, ids, send, makeLargeBody, log, answeredRequests: options.answeredRequests ?? (() => 0) },
    onStart: (job, { webhook }, now) => {
      rates.spend(job.webhookNumber, webhook.maxRecordsPerSecond, recordsOf(job), now);
      lanes.departed(job);
    },
  });
  /** Jobs that have begun or are being given back, and are not settled. */
  let unsettled = 0;
  let onIdle = (): void => {};

  const loadOf = ({ webhook }: DeliveryTarget, now: number, settled: readonly SettledBatch[] = []): Load => {
    const { maxRecordsPerSecond: perSecond, maxBatchRecords, progress } = webhook;
    const { webhookNumber, nextOffset, cursorOffset } = progress;
    const { room, claimed, reservedRecords, has } = lanes.load(webhookNumber, perSecond !== null, settled.length);
    const wanted = Math.min(maxBatchRecords, nextOffset - cursorOffset);
    const demand = { now, wanted, reserved: reservedRecords };
    const { records, nextAt } = rates.allowance(webhookNumber, perSecond, demand);
    const settling = new Set(settled.flatMap(({ batch }) => (batch === null ? [] : [batch.firstOffset])));
    return { now, room, claimed, settling, has, records, nextRecordAt: nextAt };
  };

  /**
   * A webhook that has nothing else claimed takes its next work with its outcomes, unless one of them is to be tried again: that is due
   * later, and nothing of an ordered webhook may pass it.
   */
  const nextOf = async (target: DeliveryTarget, settled: readonly SettledBatch[], now: number): Promise<Next> => {
    const { webhookNumber } = target.webhook.progress;
    const looks = lanes.hasRoom(webhookNumber, settled.length);
    if (looks) full.delete(webhookNumber);
    // Of several that are written side by side each counts the others as under way: whichever is last looks again.
    else full.add(webhookNumber);
    if (!looks || !loop.isRunning() || !settled.every(isOver)) return { looks, claim: null };
    const load = loadOf(target, now, settled);
    if (load.claimed > 0 || stopReason(target, now) !== null) return { looks, claim: null };
    return { looks, claim: await planClaim({ store, ids }, owner, target, load) };
  };

  const claim = async (webhookNumber: number): Promise<void> => {
    try {
      admit(webhookNumber, await claimWork(webhookNumber, owner, loadOf));
      startJobs();
      await wakeIfRoom(webhookNumber);
    } catch (error) {
      // The webhook changed under the claim: the next look sees it as it is now.
      if (error instanceof StaleWrite) return;
      // One that cannot be claimed for must not keep the others from being looked at.
      await store.dispatch.postpone(webhookNumber, clock() + UNCLAIMABLE_PAUSE_MS);
      log.error({ webhookNumber, err: error }, 'no work could be claimed for a webhook');
    }
  };

  const admit = (webhookNumber: number, { jobs, manner, next }: Claimed): void => {
    lanes.add(webhookNumber, jobs, manner);
    if (next.kind === 'when settled') full.add(webhookNumber);
    else full.delete(webhookNumber);
  };

  /**
   * A claim that found a webhook full and a settlement that makes room are in one commit at times, the claim last: then the
   * webhook would not be looked at for seconds.
   */
  const wakeIfRoom = async (webhookNumber: number): Promise<void> => {
    if (full.has(webhookNumber) && lanes.hasRoom(webhookNumber)) {
      full.delete(webhookNumber);
      await store.dispatch.wake(webhookNumber, clock());
      // A look that began before this was written has not seen it.
      loop.wake();
    }
  };

  const pollMs = options.pollMs ?? POLL_MS;
  let stopsSeenAt = Number.NEGATIVE_INFINITY;

  /** Read from the store, since another process may stop a webhook too; no more often than every poll, since looks follow each other. */
  const endStopped = async (): Promise<void> => {
    const now = performance.now();
    const busy = now - stopsSeenAt < pollMs ? [] : busyWebhooks();
    if (busy.length === 0) return;
    stopsSeenAt = now;
    for (const webhookNumber of await store.dispatch.stoppedAmong(busy)) endWebhook(webhookNumber);
  };

  const loop = createLoop({
    ...{ clock, log, pollMs },
    look: async () => {
      await endStopped();
      // Places become free by time alone too.
      startJobs();
      await checkClock();
      const due = await store.dispatch.dueWebhooks(clock(), WEBHOOKS_PER_ROUND);
      const again = due.length > 0;
      // Several at once, because they share a commit; not all at once, because each reads what waits.
      while (due.length > 0 && loop.isRunning()) await Promise.all(due.splice(0, CLAIMS_AT_ONCE).map(claim));
      return { again, nextAt: again ? null : await store.dispatch.nextWakeAt() };
    },
  });

  const startJobs = (): void => {
    for (let job = lanes.next(); job !== null; job = lanes.next()) {
      unsettled += 1;
      void carryOut(job);
    }
  };

  const carryOut = async (job: Job): Promise<void> => {
    const result = await deliver(job);
    const awaited = lanes.finished(job, result.kind === 'sent' && result.sent.outcome.ok);
    startJobs();
    settle({ job, result }, awaited);
  };

  const onSettled = (finished: readonly Finished[], webhook: Webhook | null, next: PlannedClaim | null): void => {
    const [first] = finished;
    if (first === undefined) return;
    const { webhookNumber } = first.job;
    // What cannot go out now does not wait here: nobody knows for how long, or under which settings it will.
    const released = finished.some(({ result }) => result.kind === 'release');
    if (released || webhook === null || isHeldUp(webhook, clock())) giveBack(webhookNumber);
    if (webhook !== null) lanes.setAlone(webhookNumber, isAlone(webhook));
    for (const { job } of finished) lanes.settled(job);
    if (next !== null) admit(webhookNumber, next);
    // Claimed while the service began to stop.
    if (!loop.isRunning()) giveBack(webhookNumber);
    unsettled -= finished.length;
    startJobs();
    void wakeIfRoom(webhookNumber).catch(() => undefined);
    loop.wake();
    if (unsettled === 0) onIdle();
  };

  const giveBack = (webhookNumber?: number): void => {
    for (const job of lanes.withdraw(webhookNumber)) {
      unsettled += 1;
      settle({ job, result: { kind: 'release' } }, true);
    }
  };

  /** Resolves once everything that is under way is settled. */
  const idle = (): Promise<void> =>
    new Promise((resolve) => {
      onIdle = resolve;
      if (unsettled === 0) resolve();
    });

  return {
    wake: loop.wake,
    recall,
    isAlive: loop.isAlive,
    start: async () => {
      await store.dispatch.releaseAll(clock());
      loop.start();
    },
    stop: async () => {
      await loop.stop();
      giveBack();
      const deadline = setTimeout(() => {
        abandon();
        giveUp();
      }, options.drainMs ?? DRAIN_MS);
      await idle();
      clearTimeout(deadline);
    },
  };
}

/** Whether nothing more is to be done for a batch; a heartbeat has none. */
function isOver({ batch, fate }: SettledBatch): boolean {
  return batch === null || fate?.kind === 'delivered' || fate?.kind === 'dead' || fate?.kind === 'discarded';
}

/** Whether a webhook sends nothing for now: it was stopped, or its next attempt is a probe that is not due. */
function isHeldUp({ progress }: Webhook, now: number): boolean {
  return !isRunnable(progress.state) || (progress.probeAt !== null && progress.probeAt > now);
}

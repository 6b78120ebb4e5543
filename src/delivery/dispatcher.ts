/**
 * Carries out the outbox: claims work, sends it, settles the outcomes, and claims the next work in the same commit. It keeps no state that
 * is not in the store, so a killed process loses nothing: the next start continues.
 */

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Finished, Job } from '../domain/batch.ts';
import type { Webhook } from '../domain/webhook.ts';
import { isRunnable } from '../domain/webhook-states.ts';
import type { CheckClock } from '../kernel/clock.ts';
import type { Clock, Ids } from '../kernel/ids.ts';
import type { Log } from '../kernel/log.ts';
import { isOutage, mayBeCommitted, StaleWrite } from '../store/port/errors.ts';
import type { Store } from '../store/port/store.ts';
import { claimWork } from './claim.ts';
import { createDeliver } from './deliver.ts';
import { createFormatOf, type FormatOf } from './format.ts';
import type { LargeBodies } from './large-bodies.ts';
import {
  CLAIMED_IN_ALL,
  CLAIMED_PER_WEBHOOK,
  CLAIMS_AT_ONCE,
  DELIVERIES_IN_FLIGHT,
  DELIVERIES_IN_FLIGHT_IN_ALL,
  DELIVERIES_IN_FLIGHT_PER_ENDPOINT,
  DELIVERY_LINGERS_MS,
  DRAIN_MS,
  LOOK_EVERY_MS,
  LOOK_LIMIT_MS,
  POLL_MS,
  UNCLAIMABLE_PAUSE_MS,
  WEBHOOKS_PER_ROUND,
} from './limits.ts';
import type { Membership } from './membership.ts';
import { createScheduler, isSequential } from './scheduler.ts';
import type { Send } from './send.ts';
import { createOutcomeQueue, createSettlementWriter, type ObserveOutcome } from './settle.ts';

/** Of all these, slow ones included, for one customer. */
const DELIVERIES_IN_FLIGHT_PER_CUSTOMER = 64;

export type Dispatcher = {
  start(): Promise<void>;
  /** There may be work: looks immediately instead of at the next poll. */
  wake(): void;
  /** The subject is being erased: ends requests that carry events about it. Their batches go out again without these events. */
  recall(subject: string): void;
  /** Claims nothing more and waits for current requests, at most 10 s. Then it ends the others, which are due again immediately. */
  stop(): Promise<void>;
  /** Whether the loop has looked for work lately; false tells `/readyz` that it is stuck. */
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
  /** By default that of a service without an address. */
  readonly formatOf?: FormatOf;
  /** This process among others on the same database; by default there is no other. */
  readonly membership?: Membership | null;
  /** A number in [0, 1), for the jitter of retries. */
  readonly jitter: () => number;
  readonly observe?: readonly ObserveOutcome[];
  /** How many requests this process has answered; absent if it answers none. */
  readonly answeredRequests?: () => number;
  readonly inFlight?: number;
  readonly inFlightPerEndpoint?: number;
  readonly pollMs?: number;
  readonly drainMs?: number;
};

export function createDispatcher(options: DispatcherOptions): Dispatcher {
  const { store, clock, checkClock, ids, log, send, makeLargeBody, jitter, pollMs = POLL_MS } = options;
  const { answeredRequests = () => 0, drainMs = DRAIN_MS, membership = null } = options;
  const maySend = membership?.maySend ?? (() => true);
  const formatOf = options.formatOf ?? createFormatOf({ store, clock, publicUrl: () => null });
  /** Names this process in leases. */
  const owner = ids.uuid();
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
    ...{ store, clock, ids, send, makeLargeBody, log, answeredRequests, scheduler },
    ...{ maySend, formatOf },
  });
  /** Webhooks of which a claim may have been committed without an answer: nobody would send those batches before their leases end. */
  const unsure = new Set<number>();
  const writer = createSettlementWriter({
    ...{ store, clock, checkClock, ids, jitter, log, owner, scheduler, observe: options.observe ?? [] },
    onUnsure: (webhookNumber) => void unsure.add(webhookNumber),
  });

  const look = async (): Promise<{ again: boolean; nextAt: number | null }> => {
    await endStopped();
    // The passing of time frees slots too.
    runNext();
    await checkClock();
    if (!maySend()) return { again: false, nextAt: null };
    for (const webhookNumber of [...unsure]) await releaseUnsure(webhookNumber);
    const due = await store.dispatch.dueWebhooks(clock(), WEBHOOKS_PER_ROUND);
    const again = due.length > 0;
    // Several together, because they share a commit; not all together, because each reads the waiting records.
    while (due.length > 0 && loop.isRunning()) await allOf(due.splice(0, CLAIMS_AT_ONCE).map(claim));
    return { again, nextAt: again ? null : await store.dispatch.nextWakeAt() };
  };

  const claim = async (webhookNumber: number): Promise<void> => {
    // It stays due, so the next look finds it again.
    if (handOver.isLeaving(webhookNumber) || !scheduler.beginClaim(webhookNumber)) return;
    try {
      const claimed = await claimWork({ store, clock, ids, log, owner, scheduler }, webhookNumber);
      if (claimed !== null) scheduler.admit(claimed);
      // The service began to stop during the claim.
      if (!loop.isRunning()) giveBack(webhookNumber);
      runNext();
      await wakeIfRoom(webhookNumber);
    } catch (error) {
      // The webhook changed during the claim: the next look reads it again.
      if (error instanceof StaleWrite) return;
      if (mayBeCommitted(error)) unsure.add(webhookNumber);
      if (isOutage(error)) throw error;
      // A webhook whose claim fails must not keep the others from being looked at.
      await store.dispatch.postpone(webhookNumber, clock() + UNCLAIMABLE_PAUSE_MS);
      log.error({ webhookNumber, err: error }, 'no work could be claimed for a webhook');
    } finally {
      scheduler.endClaim(webhookNumber);
      handOver.workEnded(webhookNumber);
    }
  };

  const releaseUnsure = async (webhookNumber: number): Promise<void> => {
    if (!scheduler.beginClaim(webhookNumber)) return;
    try {
      // A settlement that has just ended its claim admits the jobs first.
      await nextTurn();
      const kept = scheduler.claimedOffsets(webhookNumber);
      await store.dispatch.releaseUnsure({ webhookNumber, owner, kept, now: clock() });
      unsure.delete(webhookNumber);
    } catch (error) {
      if (!(error instanceof StaleWrite)) throw error;
      // Another instance holds the webhook, and has released everything.
      unsure.delete(webhookNumber);
    } finally {
      scheduler.endClaim(webhookNumber);
    }
  };

  const runNext = (): void => {
    for (let job = nextJob(); job !== null; job = nextJob()) void run(job);
  };

  const nextJob = (): Job | null => scheduler.next(performance.now());

  const run = async (job: Job): Promise<void> => {
    const result = await deliveries.deliver(job);
    const isUrgent = scheduler.finished(job, result.kind === 'sent' && result.sent.outcome.ok);
    runNext();
    addOutcome({ job, result }, isUrgent);
  };

  /** `isApart`: the store refused the outcome together with others. */
  const settle = async (webhookNumber: number, all: readonly Finished[], isApart = false): Promise<void> => {
    const settled = await writer.write(webhookNumber, all, { isApart, mayClaim: mayClaim(webhookNumber) });
    if (settled === 'refused') {
      for (const one of all) void settle(webhookNumber, [one], true);
      return;
    }
    const { finished, webhook, next, wantsLook } = settled;
    // Jobs that cannot go out now do not wait here: nobody knows for how long, or under which settings they will be sent.
    const isReleased = finished.some(({ result }) => result.kind === 'release');
    if (isReleased || webhook === null || isHeldUp(webhook, clock())) giveBack(webhookNumber);
    const jobs = finished.map(({ job }) => job);
    scheduler.settled(webhookNumber, jobs, webhook === null ? null : isSequential(webhook));
    if (next !== null) scheduler.admit(next);
    // The service began to stop during the claim.
    if (!loop.isRunning()) giveBack(webhookNumber);
    handOver.workEnded(webhookNumber);
    runNext();
    void wakeIfRoom(webhookNumber).catch(() => undefined);
    if (wantsLook) loop.wake();
    if (scheduler.isIdle()) onIdle();
  };

  const addOutcome = createOutcomeQueue(settle);

  /**
   * A claim that finds a webhook at its limit and a settlement that makes room may share a commit, in which the claim comes last. Without
   * this, the webhook would not be looked at for `FULL_PAUSE_MS`.
   */
  const wakeIfRoom = async (webhookNumber: number): Promise<void> => {
    if (!scheduler.missedRoom(webhookNumber)) return;
    await store.dispatch.wake(webhookNumber, clock());
    // A look that began before this write has not seen it.
    loop.wake();
  };

  const giveBack = (webhookNumber?: number): void => {
    for (const job of scheduler.withdraw(webhookNumber)) addOutcome({ job, result: { kind: 'release' } }, true);
  };

  const handOver = createHandOver({ membership, isBusy: scheduler.isBusy, withdraw: giveBack, log });

  const mayClaim = (webhookNumber: number): boolean =>
    loop.isRunning() && maySend() && !handOver.isLeaving(webhookNumber);

  let stoppedReadAt = Number.NEGATIVE_INFINITY;

  /** Ends requests of stopped webhooks. Reads the store, because another process may stop a webhook too; at most once a poll. */
  const endStopped = async (): Promise<void> => {
    const now = performance.now();
    const busy = now - stoppedReadAt < pollMs ? [] : deliveries.busyWebhooks();
    if (busy.length === 0) return;
    stoppedReadAt = now;
    for (const webhookNumber of await store.dispatch.stoppedAmong(busy)) deliveries.endWebhook(webhookNumber);
  };

  const loop = createLoop({ clock, log, pollMs, look });
  let onIdle = (): void => {};

  return {
    wake: loop.wake,
    recall: deliveries.recall,
    isAlive: loop.isAlive,
    start: async () => {
      await membership?.start({ lost: () => giveBack(), handOver: handOver.begin, wake: loop.wake });
      await store.dispatch.releaseAll(clock());
      loop.start();
    },
    stop: async () => {
      const looked = loop.stop();
      // Immediately: answers that arrive while the last look ends must not start waiting jobs. That look may still claim.
      giveBack();
      await looked;
      giveBack();
      const deadline = setTimeout(() => {
        deliveries.abandon();
        writer.giveUp();
      }, drainMs);
      await new Promise<void>((resolve) => {
        onIdle = resolve;
        if (scheduler.isIdle()) resolve();
      });
      clearTimeout(deadline);
      await membership?.stop();
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

/** Looks for work when it is woken, at the time that the last look returned, and at every poll; one look at a time. */
export type Loop = {
  start(): void;
  /** There may be work: looks immediately, or once more after the current look. */
  wake(): void;
  /** Resolves when the current look is over. */
  stop(): Promise<void>;
  isRunning(): boolean;
  /** Whether it runs and the current look is not stuck. */
  isAlive(): boolean;
};

type LoopOptions = {
  /** Looks once. Returns whether to look again immediately, and otherwise the latest time of the next look. */
  readonly look: () => Promise<{ readonly again: boolean; readonly nextAt: number | null }>;
  readonly clock: Clock;
  readonly log: Log;
  readonly pollMs: number;
  /** Milliseconds by a clock that only grows; `performance.now` by default. */
  readonly stopwatch?: () => number;
};

export function createLoop({ look, clock, log, pollMs, stopwatch = () => performance.now() }: LoopOptions): Loop {
  let poll: NodeJS.Timeout | null = null;
  let alarm: NodeJS.Timeout | undefined;
  /** The next look, if it waits for `LOOK_EVERY_MS`. */
  let soon: NodeJS.Timeout | null = null;
  let round: Promise<void> | null = null;
  let wanted = false;
  let lookedAt = Number.NEGATIVE_INFINITY;

  const lookOnce = async (): Promise<void> => {
    soon = null;
    wanted = false;
    lookedAt = stopwatch();
    try {
      const { again, nextAt } = await look();
      wanted ||= again;
      if (!wanted) setAlarm(nextAt);
    } catch (error) {
      wanted = false;
      log.error({ err: error }, 'the dispatcher could not look for work');
    }
    round = null;
    if (wanted) wake();
  };

  /** Work that is due between two polls does not wait for the second. */
  const setAlarm = (at: number | null): void => {
    clearTimeout(alarm);
    const inMs = at === null ? pollMs : Math.max(1, at - clock());
    if (inMs < pollMs && poll !== null) alarm = setTimeout(wake, inMs);
  };

  const begin = (): void => {
    round = lookOnce();
  };

  const wake = (): void => {
    wanted = true;
    if (poll === null || round !== null || soon !== null) return;
    const inMs = lookedAt + LOOK_EVERY_MS - stopwatch();
    if (inMs > 0) soon = setTimeout(begin, inMs);
    else begin();
  };

  return {
    wake,
    start: () => {
      poll = setInterval(wake, pollMs);
      wake();
    },
    stop: async () => {
      if (poll !== null) clearInterval(poll);
      poll = null;
      clearTimeout(alarm);
      clearTimeout(soon ?? undefined);
      await round;
    },
    isRunning: () => poll !== null,
    isAlive: () => poll !== null && (round === null || stopwatch() - lookedAt < LOOK_LIMIT_MS),
  };
}

/** The webhooks that this instance is giving back. */
type HandOver = {
  /** Ends work on these webhooks. */
  begin(webhookNumbers: readonly number[]): void;
  /** Nothing more of it may be claimed here. */
  isLeaving(webhookNumber: number): boolean;
  /** Some work on the webhook has ended. If none is left, it is given back. */
  workEnded(webhookNumber: number): void;
};

function createHandOver({
  membership,
  isBusy,
  withdraw,
  log,
}: {
  readonly membership: Membership | null;
  /** Whether anything of the webhook is claimed or being claimed. */
  readonly isBusy: (webhookNumber: number) => boolean;
  /** Releases the claimed jobs of the webhook that have not started. */
  readonly withdraw: (webhookNumber: number) => void;
  readonly log: Log;
}): HandOver {
  const leaving = new Set<number>();
  const workEnded = (webhookNumber: number): void => {
    if (!leaving.has(webhookNumber)) return;
    withdraw(webhookNumber);
    if (isBusy(webhookNumber)) return;
    membership
      ?.handedOver(webhookNumber)
      // It stays with this instance, and the next renewal tries again.
      .catch((err: unknown) => log.warn({ webhookNumber, err }, 'a webhook could not be given back'))
      .finally(() => leaving.delete(webhookNumber));
  };
  return {
    begin: (webhookNumbers) => {
      for (const webhookNumber of webhookNumbers) {
        if (leaving.has(webhookNumber)) continue;
        leaving.add(webhookNumber);
        workEnded(webhookNumber);
      }
    },
    isLeaving: (webhookNumber) => leaving.has(webhookNumber),
    workEnded,
  };
}

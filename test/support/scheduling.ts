/** A scheduler, jobs for it, and the jobs that it started. */

import { createScheduler, LOOK_NOW, type Scheduler } from '../../src/delivery/scheduler.ts';
import type { Claimed, Job, Room, SchedulerLimits } from '../../src/domain/batch.ts';
import type { Progress, Webhook } from '../../src/domain/webhook.ts';
import { batchOf, progressOf } from './attempts.ts';
import { NOW } from './store.ts';

const LIMITS: SchedulerLimits = {
  perEndpoint: 8,
  perCustomer: 64,
  inFlight: 64,
  lingersMs: 1000,
  inFlightInAll: 256,
  claimed: 256,
  claimedInAll: 4096,
};

/** The concurrency of a webhook: as many requests as there are slots, or one at a time. */
export const PARALLEL = { customerId: null, isSequential: false, isRateLimited: false, next: LOOK_NOW } as const;
export const SEQUENTIAL = { customerId: null, isSequential: true, isRateLimited: false, next: LOOK_NOW } as const;

export function openScheduler(limits: Partial<SchedulerLimits> = {}): Scheduler {
  return createScheduler({ ...LIMITS, ...limits });
}

/** Jobs with one record each, at consecutive offsets starting with `first`. */
export function jobs(webhookNumber: number, endpointId: string, count: number, first = 0): Job[] {
  return Array.from({ length: count }, (_, n) => ({
    webhookNumber,
    endpointId,
    batch: batchOf(first + n, first + n, { webhookNumber }),
    ordered: false,
  }));
}

/** Admits jobs of one webhook. */
export function admit(
  scheduler: Scheduler,
  added: readonly Job[],
  how: Pick<Claimed, 'customerId' | 'isSequential' | 'isRateLimited' | 'next'> = PARALLEL,
): void {
  const [first] = added;
  if (first !== undefined) scheduler.admit({ webhookNumber: first.webhookNumber, jobs: added, ...how });
}

/** Starts every job that may start at `elapsedMs`. */
export function startAll(scheduler: Scheduler, elapsedMs = 0): Job[] {
  const started: Job[] = [];
  for (let job = scheduler.next(elapsedMs); job !== null; job = scheduler.next(elapsedMs)) started.push(job);
  return started;
}

/** Settles the jobs one by one. */
export function settle(scheduler: Scheduler, settled: readonly Job[], sequential: boolean | null = null): void {
  for (const job of settled) scheduler.settled(job.webhookNumber, [job], sequential);
}

/** A webhook. Default: running. */
export function webhookOf(
  webhookNumber: number,
  more: Partial<Pick<Webhook, 'ordered' | 'maxRecordsPerSecond' | 'maxBatchRecords'>> & {
    progress?: Partial<Progress>;
  } = {},
): Webhook {
  const { progress, ...configuration } = more;
  return {
    ordered: false,
    maxRecordsPerSecond: null,
    maxBatchRecords: 1,
    ...configuration,
    progress: progressOf({ webhookNumber, ...progress }),
  } as Webhook;
}

/** Records that wait in no batch: more than any claim takes. */
export const WAITING = 10_000;

export function roomOf(scheduler: Scheduler, webhookNumber: number, maxRecordsPerSecond: number | null = null): Room {
  return scheduler.room(webhookOf(webhookNumber, { maxRecordsPerSecond }), NOW, WAITING);
}

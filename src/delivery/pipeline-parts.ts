/** Puts the parts of the pipeline together, each of which has a memory of its own. */

import type { CheckClock } from '../kernel/clock.ts';
import type { Log } from '../kernel/log.ts';
import type { EventVerbs } from '../store/port/events.ts';
import { type ChangeReader, createChangeReader } from './changes.ts';
import { type AttemptsInProgress, createDeliver, type DeliverDependencies } from './deliver.ts';
import { createFormatOf, type FormatOf } from './format.ts';
import { POLL_MS, SCHEDULER_LIMITS } from './limits.ts';
import { createOutcomeQueue, type OutcomeQueue } from './outcome-queue.ts';
import { createScheduler, type Scheduler } from './scheduler.ts';
import { createSettlementWriter, type ObserveOutcome, type SettlementWriter } from './settle.ts';
import { createWebhookLogs, type WebhookLogs } from './webhook-logs.ts';

export type PipelineOptions = Omit<DeliverDependencies, 'scheduler' | 'formatOf' | 'answeredRequests'> & {
  readonly store: Pick<EventVerbs, 'eventTypes'>;
  readonly checkClock: CheckClock;
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
  /** Lets others take a webhook of which nothing is in progress here. */
  readonly handedOver: (webhookNumber: number) => Promise<void>;
  /** Whether work may be claimed: the service does not stop. */
  readonly isRunning: () => boolean;
  /** Another look may find work. */
  readonly wake: () => void;
};

/** The state that the functions of the pipeline share: the options, the parts with a memory, and three values. */
export type PipelineParts = PipelineOptions & {
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
  readonly handOver: HandOver;
  /** Gives back the claimed jobs that have not started, of one webhook or of all. */
  readonly giveBack: (webhookNumber?: number) => void;
  /** When positions were last written. */
  positionsAt: number;
  /** How many claims and writes of outcomes are in progress. */
  working: number;
  /** Called when the last of them ends, and every job is settled. */
  onDrained(): void;
};

export function createParts(options: PipelineOptions): PipelineParts {
  const { store, clock, ids, log, wake, handedOver, observe = [], pollMs = POLL_MS } = options;
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
  // The owner names this process in the rows of slow attempts.
  const writer = createSettlementWriter({ ...options, owner: ids.uuid(), logs, scheduler, observe });
  const { writePosition } = writer;
  const outcomes = createOutcomeQueue();
  const giveBack = (webhookNumber?: number): void => {
    for (const job of scheduler.withdraw(webhookNumber)) outcomes.add({ job, result: { kind: 'release' } }, true);
  };
  const changes = createChangeReader({ store, clock, logs, attempts, pollMs, wake, writePosition, giveBack });
  const leave = async (webhookNumber: number): Promise<void> => {
    await writePosition(webhookNumber);
    // If nobody knows whether it is given away, its position is read again.
    await handedOver(webhookNumber).finally(() => {
      logs.drop(webhookNumber);
      changes.readAgain(webhookNumber);
    });
  };
  const handOver = createHandOver({ isBusy: scheduler.isBusy, giveBack, leave, log });
  const remembering = { logs, scheduler, attempts, outcomes, writer, changes, handOver };
  const values = { positionsAt: Number.NEGATIVE_INFINITY, working: 0, onDrained: () => {} };
  return { ...options, pollMs, ...remembering, giveBack, ...values };
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
  isBusy,
  giveBack,
  leave,
  log,
}: {
  /** Whether anything of the webhook is claimed or being claimed. */
  readonly isBusy: (webhookNumber: number) => boolean;
  /** Gives back the claimed jobs of the webhook that have not started. */
  readonly giveBack: (webhookNumber: number) => void;
  /** Lets others take the webhook. */
  readonly leave: (webhookNumber: number) => Promise<void>;
  readonly log: Log;
}): HandOver {
  const leaving = new Set<number>();
  /** Those of them that are given back now. */
  const left = new Set<number>();
  const workEnded = (webhookNumber: number): void => {
    if (!leaving.has(webhookNumber)) return;
    giveBack(webhookNumber);
    if (isBusy(webhookNumber)) return;
    if (left.has(webhookNumber)) return;
    left.add(webhookNumber);
    leave(webhookNumber)
      // It stays with this instance, and the next renewal tries again.
      .catch((err: unknown) => log.warn({ webhookNumber, err }, 'a webhook could not be given back'))
      .finally(() => {
        leaving.delete(webhookNumber);
        left.delete(webhookNumber);
      });
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

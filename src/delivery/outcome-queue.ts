/** Collects the outcomes of jobs, so that many are written in one commit. */
import type { Finished } from '../domain/batch.ts';

/** Outcomes of one webhook that are written in one transaction. */
const SETTLED_AT_ONCE_MAX = 256;

/**
 * The interval between two writes of outcomes that nothing waits for: the shorter one once `SETTLE_BUSY` of them have gathered. With 5 ms,
 * publishing and delivering together took 7 % more CPU time (scripts/bench/cost.ts).
 */
const SETTLE_EVERY_MS = 50;
const SETTLE_BUSY_EVERY_MS = 20;
const SETTLE_BUSY = 16;

/** Writes outcomes of one webhook. */
type Settle = (webhookNumber: number, finished: readonly Finished[]) => Promise<void>;

export type OutcomeQueue = {
  /**
   * From now on, `settle` writes the outcomes that are added. It runs once at a time for each webhook, except for outcomes that were
   * refused together. Webhooks share commits.
   */
  open(settle: Settle): void;
  add(finished: Finished, isUrgent: boolean): void;
  /** The webhook's position or slow attempts are to be written, with outcomes or without. `isUrgent`: immediately. */
  touch(webhookNumber: number, isUrgent?: boolean): void;
  /** All outcomes are written, and nothing more is. */
  close(): void;
};

/**
 * Collects outcomes of jobs. Outcomes of jobs that end within `SETTLE_EVERY_MS` are written together. `isUrgent`:
 * the webhook sends nothing until the outcome is written, so it is written immediately.
 */
export function createOutcomeQueue(): OutcomeQueue {
  let settle: Settle | null = null;
  const waiting = new Map<number, Finished[]>();
  const writing = new Set<number>();
  const urgent = new Set<number>();
  let writtenAt = Number.NEGATIVE_INFINITY;
  /** Outcomes since the last write, and its next time. */
  let gathered = 0;
  let timer: NodeJS.Timeout | null = null;
  let isSoon = false;

  const writeWaiting = (): void => {
    timer = null;
    isSoon = false;
    gathered = 0;
    writtenAt = performance.now();
    for (const webhookNumber of waiting.keys()) void writeQueue(webhookNumber);
  };

  const writeUrgent = (): void => {
    for (const webhookNumber of urgent) void writeQueue(webhookNumber);
  };

  const writeQueue = async (webhookNumber: number): Promise<void> => {
    const queue = waiting.get(webhookNumber);
    if (settle === null || queue === undefined || writing.has(webhookNumber)) return;
    writing.add(webhookNumber);
    urgent.delete(webhookNumber);
    await settle(webhookNumber, queue.splice(0, SETTLED_AT_ONCE_MAX));
    writing.delete(webhookNumber);
    // Touched during the write, it is written again even without an outcome.
    if (queue.length === 0 && !urgent.has(webhookNumber)) waiting.delete(webhookNumber);
    else schedule(urgent.has(webhookNumber));
  };

  const schedule = (isUrgent: boolean): void => {
    // A microtask later, so that outcomes added by the same callback are written together.
    if (isUrgent) {
      queueMicrotask(writeUrgent);
      return;
    }
    const isBusy = gathered >= SETTLE_BUSY;
    if (timer !== null && (isSoon || !isBusy)) return;
    if (timer !== null) clearTimeout(timer);
    isSoon = isBusy;
    const everyMs = isBusy ? SETTLE_BUSY_EVERY_MS : SETTLE_EVERY_MS;
    timer = setTimeout(writeWaiting, Math.max(0, writtenAt + everyMs - performance.now()));
  };

  const queueOf = (webhookNumber: number): Finished[] => {
    const queue = waiting.get(webhookNumber) ?? [];
    waiting.set(webhookNumber, queue);
    return queue;
  };

  return {
    open: (given) => {
      settle = given;
    },
    add: (finished, isUrgent) => {
      const { webhookNumber } = finished.job;
      queueOf(webhookNumber).push(finished);
      gathered += 1;
      if (isUrgent) urgent.add(webhookNumber);
      schedule(isUrgent);
    },
    touch: (webhookNumber, isUrgent = false) => {
      queueOf(webhookNumber);
      if (isUrgent) urgent.add(webhookNumber);
      schedule(isUrgent);
    },
    close: () => {
      settle = null;
    },
  };
}

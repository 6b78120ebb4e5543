/** What the dispatcher reads, and its claims: due webhooks, due batches, the records in them. */
import type { Batch, Claim } from '../delivery/batch.ts';
import type { DeliveryTarget } from '../delivery/target.ts';
import type { ReadRecords } from './records.ts';

export type DispatchStore = {
  dueWebhooks(now: number, limit: number): Promise<number[]>;
  nextWakeAt(): Promise<number | null>;
  /** Those of the webhooks that an administrator has stopped, or that are gone. */
  stoppedAmong(webhookNumbers: readonly number[]): Promise<number[]>;
  /** The webhook, its endpoint and its key as they are now; null when there is no such webhook. */
  target(webhookNumber: number): Promise<DeliveryTarget | null>;
  dueBatches(webhookNumber: number, now: number, limit: number): Promise<Batch[]>;
  /**
   * The pending batch with the lowest offset, and when it is due: all that an ordered webhook may send. Batches whose first offset is in
   * `settling` are left out: the caller settles them in the transaction that claims this one.
   */
  firstPending(
    webhookNumber: number,
    settling: readonly number[],
  ): Promise<{ readonly batch: Batch; readonly dueAt: number } | null>;
  /** The bytes of payload of the records that wait, from the cursor on: what a batch is cut by. */
  waiting(
    webhookNumber: number,
    cursor: number,
    limit: number,
  ): Promise<{ readonly offset: number; readonly bytes: number }[]>;
  readonly records: ReadRecords;
  /** Takes the batches on lease and moves the cursor. Throws `StaleWrite` if another claim or a stop came first. */
  claim(claim: Claim): Promise<void>;
  /** Has a runnable webhook looked at by `at` at the latest. */
  wake(webhookNumber: number, at: number): Promise<void>;
  /** Has a webhook not looked at before `at`. */
  postpone(webhookNumber: number, at: number): Promise<void>;
  /** At start, when nobody else can hold a lease: gives back whatever a killed process had claimed, and what it put off while the clock was ahead. */
  releaseAll(now: number): Promise<void>;
};

/** Later than any instant: what never comes. */
export const NEVER = 9_000_000_000_000;

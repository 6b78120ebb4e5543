/** What the dispatcher reads and writes: due webhooks and batches, claims, records and settlements. */
import type { Batch, Claim, DeliveryTarget, LogRecord, Settlement } from '../../domain/batch.ts';
import type { InstanceStore } from './instances.ts';

export type WaitingRecord = { readonly offset: number; readonly bytes: number };

/** A claim of `owner` may have been committed without an answer. `kept`: the first offsets of the batches whose claim was answered. */
export type UnsureClaims = {
  readonly webhookNumber: number;
  readonly owner: string;
  readonly kept: readonly number[];
  readonly now: number;
};

/** Reads and claims of the dispatcher. */
export type DispatchStore = {
  dueWebhooks(now: number, limit: number): Promise<number[]>;
  nextWakeAt(): Promise<number | null>;
  /** The webhooks among these that an administrator stopped or deleted. */
  stoppedAmong(webhookNumbers: readonly number[]): Promise<number[]>;
  /** The webhook with its endpoint and key, or null if it does not exist. */
  target(webhookNumber: number): Promise<DeliveryTarget | null>;
  dueBatches(webhookNumber: number, now: number, limit: number): Promise<Batch[]>;
  /**
   * The pending batch with the lowest offset and its due time: the only batch that an ordered webhook may send. Skips batches whose first
   * offset is in `settling`: the caller settles them in the same transaction.
   */
  firstPending(
    webhookNumber: number,
    settling: readonly number[],
  ): Promise<{ readonly batch: Batch; readonly dueAt: number } | null>;
  /** The sizes of waiting records from `cursor` on, for cutting batches. */
  waiting(webhookNumber: number, cursor: number, limit: number): Promise<WaitingRecord[]>;
  readonly records: ReadRecords;
  /** Leases the batches and advances the cursor. Throws `StaleWrite` if another claim or a stop came first. */
  claim(claim: Claim): Promise<void>;
  /**
   * Releases the batches of a webhook that `owner` has claimed, except batches that begin at `kept`, and makes the webhook due. Their
   * attempt does not count. Throws `StaleWrite` if another process holds the webhook.
   */
  releaseUnsure(claims: UnsureClaims): Promise<void>;
  /** Schedules a runnable webhook for `at` at the latest. */
  wake(webhookNumber: number, at: number): Promise<void>;
  /** Delays a webhook until `at`. */
  postpone(webhookNumber: number, at: number): Promise<void>;
  /**
   * At start, when no other process can hold a lease: releases the leases of a killed process and what it delayed while its clock was
   * ahead.
   */
  releaseAll(now: number): Promise<void>;
};

/** Later than any real time: never. */
export const NEVER = 9_000_000_000_000;

/** Reads records by offset, inclusive. */
export type ReadRecords = (webhookNumber: number, first: number, last: number) => Promise<LogRecord[]>;

/** Outcomes of attempts. */
export type SettlementStore = {
  /**
   * Writes the outcomes of one webhook's attempts and, with `next`, claims its next work. Throws `StaleWrite` and writes nothing if a
   * lease was lost, the webhook's state changed, or another process claimed the next work.
   */
  settle(settlement: Settlement): Promise<void>;
  /** Whether the lease of this attempt is still held. */
  isLeased(batch: Batch, owner: string): Promise<boolean>;
};

/** What delivery reads and writes. */
export type DispatchVerbs = {
  readonly dispatch: DispatchStore;
  readonly settlements: SettlementStore;
  /** Null if one process has the database for itself. */
  readonly instances: InstanceStore | null;
};

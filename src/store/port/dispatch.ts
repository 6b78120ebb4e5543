/** The reads and writes of delivery: webhooks to send for, positions in their logs, records, and outcomes. */
import type { Batch, DeliveryTarget, LogPosition, LogRecord, Settlement } from '../../domain/batch.ts';
import type { InstanceStore } from './instances.ts';

/** `createdAt`: of its event. */
export type WaitingRecord = { readonly offset: number; readonly bytes: number; readonly createdAt: number };

/** With the ordering key of its event. */
export type KeyedRecord = WaitingRecord & { readonly key: string | null };

/** A pending batch, and when it is due. Null: it waits for earlier records of its key. */
export type PendingBatch = { readonly batch: Batch; readonly dueAt: number | null };

type DueBatches = {
  readonly batches: readonly Batch[];
  /** When the next batch is due that is not due yet; `NEVER` without one. */
  readonly nextAt: number;
};

/** Reads of the dispatcher. A claim is in its memory only: it writes nothing until an outcome is known. */
export type DispatchStore = {
  /**
   * Webhooks whose position to read: this process sends for them from now on, or their settings, state or retries changed since
   * the last call. The first call after `releaseAll` returns every webhook that it sends for.
   */
  changed(): Promise<readonly number[]>;
  /** The positions of those among these webhooks that this process sends for. */
  positions(webhookNumbers: readonly number[]): Promise<readonly LogPosition[]>;
  /** Webhooks to which this process has appended records since the last call; null: any may have new ones. */
  appended(): readonly number[] | null;
  /** The offsets that the next records of these webhooks get, by number. */
  ends(webhookNumbers: readonly number[]): Promise<ReadonlyMap<number, number>>;
  /** The webhooks among these that an administrator stopped or deleted. */
  stoppedAmong(webhookNumbers: readonly number[]): Promise<number[]>;
  /** The webhook with its endpoint and key, or null if it does not exist. */
  target(webhookNumber: number): Promise<DeliveryTarget | null>;
  /** Pending batches that are due, except the ones that begin at `held`, the longest waiting first. */
  dueBatches(webhookNumber: number, now: number, limit: number, held: readonly number[]): Promise<DueBatches>;
  /** The pending batch with the lowest offset, except the ones that begin at `held`: the only one that an ordered webhook may send. */
  firstPending(
    webhookNumber: number,
    held: readonly number[],
  ): Promise<{ readonly batch: Batch; readonly dueAt: number } | null>;
  /** The sizes of records from `from` on, for cutting batches. */
  waiting(webhookNumber: number, from: number, limit: number): Promise<WaitingRecord[]>;
  /** The same with ordering keys. */
  waitingKeys(webhookNumber: number, from: number, limit: number): Promise<KeyedRecord[]>;
  /** As `dueBatches`, of batches that no pending batch of the same key precedes. */
  dueByKey(webhookNumber: number, now: number, limit: number, held: readonly number[]): Promise<DueBatches>;
  /** Pending batches that were not looked at for their keys, the first ones. */
  unlabelled(webhookNumber: number, limit: number): Promise<readonly PendingBatch[]>;
  /** The first pending batch of each of these keys. */
  firstOfKeys(webhookNumber: number, orderKeys: readonly string[]): Promise<readonly PendingBatch[]>;
  /** Keys with pending batches behind `after`, in ascending order. */
  keysAfter(webhookNumber: number, after: string, limit: number): Promise<readonly string[]>;
  readonly records: ReadRecords;
  /** Begins another session of a webhook that runs. */
  beginSession(webhookNumber: number, session: { readonly id: string; readonly at: number }): Promise<void>;
  /**
   * At start: releases what a killed process left in progress, and what it delayed while its clock was ahead.
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
   * Writes the outcomes of one webhook's attempts. Throws and writes nothing: `StaleWrite` or `ConstraintViolation` if a batch was settled
   * otherwise or the webhook's state changed; `HoldOver` if the hold is over. Then `changed` returns the webhook.
   */
  settle(settlement: Settlement): Promise<void>;
  /** The stored row of a claimed batch whose settlement was refused. */
  rowOf(batch: Batch, owner: string): Promise<BatchRow>;
};

/**
 * The row of a claimed batch: `none` yet; `open` for the outcome of this attempt; `settled` with it, by a commit that was not answered;
 * or `other`: it was changed.
 */
export type BatchRow = 'none' | 'open' | 'settled' | 'other';

/** The verbs of delivery. */
export type DispatchVerbs = {
  readonly dispatch: DispatchStore;
  readonly settlements: SettlementStore;
  /** Null if one process has the database for itself. */
  readonly instances: InstanceStore | null;
};

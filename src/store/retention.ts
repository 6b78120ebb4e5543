/**
 * What is kept no longer: each verb is one small step. A record goes together with its part of the batch and with the attempts that
 * carried no other, and an event with the last record of it; tokens and idempotency keys go when they have expired.
 */
import type { StepResult } from './steps.ts';

/** `next` is where the next step begins, as this one began with `after` or `from`; null at the end. */
export type SweepStep = StepResult & { readonly next: number | null };

/** Records of a webhook from `from` on whose batch was delivered by `deliveredBy`, or dead or discarded by `deadBy`; null: kept for ever. */
export type RecordSweep = {
  readonly webhookNumber: number;
  readonly from: number;
  readonly deliveredBy: number | null;
  readonly deadBy: number | null;
};

export type RetentionStore = {
  /** The webhook whose number comes next, or null. */
  nextWebhook(after: number): Promise<number | null>;
  records(sweep: RecordSweep, limit: number): Promise<SweepStep>;
  /** Attempts of any kind that were written before `before`. */
  attempts(before: number, limit: number): Promise<StepResult>;
  /** Events older than `before` that are in no log: nobody subscribed to them. `after` is an event's key. */
  unwantedEvents(after: number, before: number, limit: number): Promise<SweepStep>;
  /** Access tokens with keys after `after` that have expired; `limit` of them are looked at. */
  tokens(after: number, now: number, limit: number): Promise<SweepStep>;
  /** Idempotency keys that have expired. */
  idempotencyKeys(now: number, limit: number): Promise<StepResult>;
  /** Erasures that were finished before this. */
  erasures(before: number, limit: number): Promise<StepResult>;
  /** Kept replies that have expired. */
  keptReplies(now: number, limit: number): Promise<StepResult>;
};

/** Background work in small steps: retention, removal of deleted webhooks, expiry warnings, and changes of the clock. */

import type { NewEvent } from '../../domain/event.ts';
import type { StepResult } from './steps.ts';

/** `next`: where the next step begins (its `after` or `from`); null at the end. */
export type SweepStep = StepResult & { readonly next: number | null };

/** Records that retention deleted before the reader of a webhook in mode `pull` acknowledged them. Offsets, inclusive. */
export type Unread = { readonly webhookId: string; readonly first: number; readonly last: number };

/**
 * A webhook's records from offset `from` whose batch was delivered before `deliveredBy`, or dead or discarded before `deadBy`. In mode
 * `pull` also those published before `deadBy` that are not acknowledged. Null: never deleted.
 */
export type RecordSweep = {
  readonly webhookNumber: number;
  readonly from: number;
  readonly deliveredBy: number | null;
  readonly deadBy: number | null;
};

/**
 * Deletes rows that have passed their retention, one small step a call. A record goes with its part of the batch and the attempts that
 * carried no other record; an event goes with its last record.
 */
export type RetentionStore = {
  /** The next webhook number after `after`, or null. */
  nextWebhook(after: number): Promise<number | null>;
  records(sweep: RecordSweep, limit: number): Promise<SweepStep & { readonly unread?: Unread }>;
  /** Rows that are deleted only by their age: row by row, or with the partition that holds them. */
  readonly byAge: RowsByAge | PartitionsByAge;
  /** Expired idempotency keys. */
  idempotencyKeys(now: number, limit: number): Promise<StepResult>;
  /** Erasures that finished before `before`. */
  erasures(before: number, limit: number): Promise<StepResult>;
  /** Expired kept replies. */
  keptReplies(now: number, limit: number): Promise<StepResult>;
  /** Failed authentications and values that live for minutes. Null if they are in memory. */
  readonly shortLived: ((now: number, limit: number) => Promise<StepResult>) | null;
};

export type RowsByAge = {
  readonly kind: 'rows';
  /** Attempts of any kind from before `before`. */
  attempts(before: number, limit: number): Promise<StepResult>;
  /** Events from before `before` that are in no webhook's log. `after` is an event's key. */
  unwantedEvents(range: { readonly after: number; readonly before: number }, limit: number): Promise<SweepStep>;
  /** Expired access tokens with keys after `after`; examines up to `limit` tokens. */
  tokens(range: { readonly after: number; readonly now: number }, limit: number): Promise<SweepStep>;
};

export type PartitionsByAge = {
  readonly kind: 'partitions';
  /** Makes the partitions of the next weeks, and drops those whose rows have all passed their retention. */
  step(kept: KeptSince, now: number): Promise<StepResult>;
};

/** Older rows are deleted; null keeps all. Records also wait until their batch is settled. */
export type KeptSince = {
  readonly deliveredSince: number | null;
  /** The older of the limits for delivered records and for dead and discarded ones. */
  readonly recordsSince: number | null;
  readonly attemptsSince: number | null;
};

/** Deletes the logs of deleted webhooks (`removed_webhook`) in steps. */
export type RemovalStore = {
  /** Deletes up to `limit` rows of a deleted webhook's log, and its number after the last row. */
  step(limit: number): Promise<StepResult>;
};

/** A key or certificate that expires. `webhookIds`: the first 1,000 webhooks that use it. */
export type Expiring = {
  readonly kind: 'key' | 'certificate';
  /** The key's id, or the id of the certificate's endpoint. */
  readonly id: string;
  readonly customerId: string | null;
  readonly name: string;
  readonly expiresAt: number;
  readonly webhookIds: readonly string[];
  /** The row's `updatedAt` when it was read; a later write makes the warning stale. */
  readonly updatedAt: number;
};

export type Expiry = Pick<Expiring, 'kind' | 'id' | 'customerId' | 'name' | 'expiresAt'>;

/** PGP keys and client certificates that expire soon, and the warnings given (`pgp_key`, `endpoint`). */
export type ExpiryStore = {
  /** Keys and certificates with an expiry, soonest first: of a customer, or of all with null. */
  all(customerId: string | null, limit: number): Promise<Expiry[]>;
  /** A key or certificate that has reached one of the thresholds (days before expiry) without a warning, or null. */
  next(now: number, thresholdDays: readonly number[]): Promise<Expiring | null>;
  /** Records the warning and publishes its event. Throws `StaleWrite` if the row has changed since it was read. */
  warn(expiring: Expiring, days: number, event: NewEvent): Promise<void>;
};

/** Corrects times that were written while the clock was wrong (`batch`, `webhook_progress`), in steps. */
export type ClockLeadStore = {
  /** The clock was set by `byMs` and now shows `now`: moves the webhooks' times by the same amount. */
  moveWebhooks(byMs: number, now: number): Promise<void>;
  /** The clock was set back by `byMs`: moves the due times of retries. Slow if many retries wait. */
  moveRetries(byMs: number, now: number): Promise<void>;
  /** At start: handles a clock that is behind the latest attempt, and excludes the time without a process from failing spans. */
  resume(now: number): Promise<void>;
  /** Corrects about `size` batches, and all webhooks, whose times lie further ahead than any rule allows. */
  step(now: number, size: number): Promise<StepResult>;
  /** Runs all steps. */
  take(now: number): Promise<void>;
};

export type HousekeepingVerbs = {
  readonly retention: RetentionStore;
  readonly removals: RemovalStore;
  readonly expiry: ExpiryStore;
  readonly clockLead: ClockLeadStore;
};

/** Deliveries as people see them: records with the state of their batch, their attempts, and replays. */

import type { AuditEntry } from '../../domain/audit.ts';
import type { AttemptRecord, OffsetRange } from '../../domain/batch.ts';
import type { Delivery, DeliveryState, WebhookOrder, WebhookState } from '../../domain/webhook.ts';
import type { DeliveryAddress } from '../../kernel/ids.ts';
import type { PullStore } from './pull.ts';

/** All given conditions must hold. */
export type DeliveryFilter = {
  readonly webhookNumber?: number;
  /** One of these webhooks. Nothing of others is examined, so a page reveals nothing about them. */
  readonly webhookNumbers?: readonly number[];
  readonly state?: DeliveryState;
  readonly eventType?: string;
  /** The event's time: from `since`, before `until`. Epoch milliseconds. */
  readonly since?: number;
  readonly until?: number;
  /** The `messageId` that receivers see. */
  readonly eventId?: string;
  /** The person that the event is about. */
  readonly subject?: string;
  readonly orderingKey?: string;
  /** The subject, or a value of the data at a path that the event's type names. With a webhook, or of a customer, rather the value. */
  readonly text?: string;
  /** The customer that `text` is looked up for: only events that this customer gets. */
  readonly audience?: string;
  /** Offsets in a webhook's log, inclusive. Needs `webhookNumber`. */
  readonly offsets?: { readonly first: number; readonly last: number };
  /** The outcome of the last attempt. */
  readonly response?: ResponseFilter;
};

/** Statuses from the first to the last, or error classes. */
export type ResponseFilter =
  | { readonly first: number; readonly last: number }
  | { readonly errorClasses: readonly string[] };

/** The content of a record. */
export type DeliveryContent = Pick<Delivery, 'erasedAt'> & {
  /** The event's data as it is sent; null after erasure. */
  readonly dataJson: string | null;
  readonly correlationId: string;
  readonly actorId: string | null;
};

/**
 * `next`: the cursor of the next page, an id for `deliveryAddress`; null on the last page. A page may be short or empty and still have a
 * next one.
 */
export type DeliveryPage = { readonly items: readonly Delivery[]; readonly next: string | null };

/** A record by its position. */
export type RecordPlace = Pick<Delivery, 'webhookNumber' | 'offset'>;

/** The last attempt to deliver a record. */
export type LastAttempt = Pick<AttemptRecord, 'id' | 'responseStatus' | 'errorClass' | 'errorMessage' | 'startedAt'>;

/** The failing records of one webhook whose last attempt failed for the same cause. */
export type FailureGroup = {
  readonly webhookId: string;
  readonly webhookName: string;
  readonly webhookState: WebhookState;
  /** The oldest of these records. */
  readonly oldest: RecordPlace;
  /** The status of the response, for example `503`, or the error class. */
  readonly cause: string;
  /** Records that were given up, and records that wait for their next attempt. */
  readonly dead: number;
  readonly retrying: number;
  /** When an attempt failed for this cause first, of the oldest record, and last, of all. Epoch milliseconds. */
  readonly firstAt: number;
  readonly lastAt: number;
};

/** Most recent failure first. `isWhole` is false if there are more failing records than were examined. */
export type Failures = {
  readonly groups: readonly FailureGroup[];
  /** Records that were given up, with those whose cause is not known: they were never tried, or their attempts are no longer kept. */
  readonly dead: number;
  readonly isWhole: boolean;
};

/** Records of webhooks' logs with the state of their batch. Reads only. */
export type DeliveryStore = {
  get(address: DeliveryAddress): Promise<Delivery | null>;
  /** The delivery at an offset of a webhook's log. */
  at(webhookNumber: number, offset: number): Promise<Delivery | null>;
  /** Those at several places, each at the position of its place. For one page of records. */
  atPlaces(places: readonly RecordPlace[]): Promise<(Delivery | null)[]>;
  /**
   * Newest event first; within one webhook in the order of its log. `before` is the end of the previous page. Examines a bounded
   * number of records, however large the logs are.
   */
  list(filter: DeliveryFilter, before: DeliveryAddress | null, limit: number): Promise<DeliveryPage>;
  content(webhookNumber: number, offset: number): Promise<DeliveryContent | null>;
  /**
   * Failing records of some webhooks, or of all with null, by cause. Examines a bounded number of batches. `within`: only records at these
   * offsets; for one webhook. `most`: how much is examined, if not all webhooks.
   */
  failures(webhookNumbers: readonly number[] | null, within?: OffsetRange, most?: FailuresBound): Promise<Failures>;
  /** The offsets of a webhook's records with events from `since` and before `until`, or null if there are none. */
  offsetsBetween(
    webhookNumber: number,
    period: { readonly since: number; readonly until: number | null },
  ): Promise<OffsetRange | null>;
};

/** How much is examined to count failures. If more exist, the result is not whole. */
export type FailuresBound = { readonly webhooks: number; readonly batches: number };

export type AttemptOutcome = 'delivered' | 'failed';

/** Attempts (`attempt`): every request to a receiver and its outcome. */
export type AttemptStore = {
  insert(attempt: AttemptRecord): Promise<void>;
  /** Here and in `batch`: `among` has the numbers of the only webhooks that are looked at; null: all. */
  get(id: string, among?: readonly number[] | null): Promise<AttemptRecord | null>;
  /** The last attempt of each record, at the same position; null: not tried since its last replay, or erased. For one page of records. */
  lastOf(records: readonly RecordPlace[]): Promise<(LastAttempt | null)[]>;
  /** The last attempts to deliver a record, oldest first. */
  ofRecord(webhookNumber: number, offset: number, limit: number): Promise<AttemptRecord[]>;
  /**
   * The records of a batch by its id, which Standard Webhooks receivers see as `msg_<id>`. Null if there is no such batch, or if too many
   * attempts were made in the minutes after its creation to search them all.
   */
  batch(id: string, among?: readonly number[] | null): Promise<BatchPlace | null>;
  /**
   * The last attempts of all webhooks, or of those with the numbers `among`, newest first. With an outcome or numbers the search is
   * bounded, and older ones may be missing.
   */
  latest(limit: number, outcome?: AttemptOutcome | null, among?: readonly number[] | null): Promise<AttemptRecord[]>;
  /**
   * The last attempts of a webhook, newest first. The search is bounded: for a webhook with few recent attempts, older ones may be
   * missing.
   */
  latestOf(webhookNumber: number, limit: number, outcome?: AttemptOutcome | null): Promise<AttemptRecord[]>;
  /**
   * The last successful and the last failed delivery of several webhooks, by their numbers. The search is bounded: for a webhook with few
   * recent attempts, older ones may be missing.
   */
  lastOutcomes(webhookNumbers: readonly number[]): Promise<ReadonlyMap<number, LastOutcomes>>;
  /** The last attempts of all existing webhooks, by any instance, newest first. */
  live(limit: number): Promise<LiveAttempt[]>;
};

/** The records of a batch, by their offsets, inclusive. */
type BatchPlace = { readonly webhookNumber: number; readonly first: number; readonly last: number };

/** An attempt and the id of its webhook. */
export type LiveAttempt = { readonly webhookId: string; readonly attempt: AttemptRecord };

export type LastOutcomes = {
  readonly deliveredAt: number | null;
  readonly failure: { readonly at: number; readonly errorClass: string; readonly errorMessage: string | null } | null;
};

/** States that allow a replay. Pending records are still being sent; discarded ones have no data left. */
export type ReplayableState = 'delivered' | 'dead';

/** A range of a webhook's records. `first` and `last` are offsets, inclusive. */
export type ReplayRange = {
  readonly webhookNumber: number;
  readonly first: number;
  readonly last: number;
  readonly states: readonly ReplayableState[];
  /** Only records that were given up for this cause (`FailureGroup`). `states` must be `['dead']`. */
  readonly cause?: string;
  /** Only records of events with this ordering key. */
  readonly orderingKey?: string;
};

export type Replay = ReplayRange & {
  readonly now: number;
  /** Makes ids for the parts of a batch that the range cuts. The batch's own id identifies all of its records to receivers. */
  readonly newId: () => string;
};

/**
 * A pending record, by its offset. With `ordered` the pending records before it are sent first, with `key` those of its key, so they
 * become due too.
 */
export type TryNow = {
  readonly webhookNumber: number;
  readonly offset: number;
  readonly ordered: WebhookOrder;
  readonly now: number;
};

/** Sending settled records again (`batch`), and waiting ones now. */
export type ReplayStore = {
  /** The number of records that `replay` would send again. */
  count(range: ReplayRange): Promise<number>;
  /**
   * Makes settled records pending again, due immediately, and returns their number. Works in steps, so that a replay of millions of records
   * blocks nobody for long. The audit entry is written with the first step. Erased records keep their state: there is nothing to send.
   */
  replay(replay: Replay, audit: AuditEntry): Promise<number>;
  /** Makes a pending record due. Records that are being sent stay as they are. */
  tryNow(asked: TryNow, audit: AuditEntry): Promise<void>;
};

/** Batches of a key that are counted. */
export const WAITING_KEY_BATCHES = 1000;

/** With `ordered` `key`: a key whose records wait, because the first of them failed or is late. */
export type WaitingKey = {
  readonly orderingKey: string;
  /** The first of its records, how often it was tried, and when it is tried next; null: when its turn comes. */
  readonly firstOffset: number;
  readonly attemptCount: number;
  readonly nextAttemptAt: number | null;
  /** How many of its records wait, the first one included. At most those of `WAITING_KEY_BATCHES` batches are counted. */
  readonly waitingRecords: number;
};

export type GivenUpKey = { readonly webhookNumber: number; readonly key: string; readonly now: number };

/** Keys whose records wait (`batch`). */
export type WaitingKeyStore = {
  /** Keys behind `after`, in ascending order. */
  list(webhookNumber: number, after: string, limit: number): Promise<WaitingKey[]>;
  /** Makes the waiting records of the key dead, except one that is being sent, and returns their number. Works in steps. */
  giveUp(asked: GivenUpKey, audit: AuditEntry): Promise<number>;
};

/** The records of webhooks, for people and readers. */
export type DeliveryVerbs = {
  readonly deliveries: DeliveryStore;
  readonly replays: ReplayStore;
  readonly waitingKeys: WaitingKeyStore;
  readonly attempts: AttemptStore;
  readonly pulls: PullStore;
};

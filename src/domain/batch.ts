/** Batches from their claim to their settlement: the types that the dispatcher and the store share. */
import type { Owner } from '../kernel/fair-queue.ts';
import type { AuditEntry } from './audit.ts';
import type { Endpoint } from './endpoint.ts';
import type { EnvelopeRecord } from './event.ts';
import type { Outcome, Timings } from './outcome.ts';
import type { PgpKey, Progress, StateChange, Webhook, WebhookOrder, WebhookState } from './webhook.ts';

/** Where deliveries go: a webhook with its endpoint and key. */
export type DeliveryTarget = { readonly webhook: Webhook; readonly endpoint: Endpoint; readonly key: PgpKey | null };

/** Consecutive records of one webhook that travel together. `attemptNumber` is the attempt that the claim begins. */
export type Batch = {
  readonly webhookNumber: number;
  readonly id: string;
  readonly firstOffset: number;
  readonly lastOffset: number;
  /** Size of the records as published, each with `RECORD_OVERHEAD_BYTES`. */
  readonly bytes: number;
  readonly attemptNumber: number;
  readonly contentRefusals: number;
  /** It has a row in the store: it failed before, was replayed, or its attempt takes long. Otherwise its outcome makes the row. */
  readonly isStored: boolean;
  /**
   * With `ordered: "key"`: the key of all its records, '' if they have none. Null or absent: they have several keys, or were not examined.
   */
  readonly orderKey?: string | null;
  /** The keys of its records, in their order; absent if the batch was not cut with `ordered: "key"`. */
  readonly keys?: readonly (string | null)[];
};

/** Consecutive offsets, both inclusive. */
export type OffsetRange = { readonly first: number; readonly last: number };

/**
 * An instance holds a webhook in an epoch: another epoch begins when another instance may have sent for the webhook in between. `timeline`:
 * of the database's log, which changes when a standby is promoted: it may lack rows that were read before.
 */
export type Hold = {
  readonly webhookNumber: number;
  readonly instance: number;
  readonly epoch: number;
  readonly timeline: string;
};

/** The state of a webhook's log in the store, for the process that begins to send for it. */
export type LogPosition = {
  readonly webhookNumber: number;
  /** The hold under which it was read. Null if only one process uses the database. */
  readonly hold: Hold | null;
  /** As it was written last: every record below it is in a batch. */
  readonly coveredOffset: number;
  /** Records from here on are in no batch. */
  readonly next: number;
  /** The offset that the next published record gets. */
  readonly end: number;
  /** Records before `next` that are in no batch: a process ended while it sent them. In order. */
  readonly gaps: readonly OffsetRange[];
  /** When the first pending batch is due; `NEVER` without one. */
  readonly dueAt: number;
  /** The last attempt that was written. */
  readonly sentAt: number | null;
};

/** A record of the log with its payload. `dataJson` is null from the moment its erasure is requested. */
export type LogRecord = Omit<EnvelopeRecord, 'dataJson'> & {
  readonly dataJson: string | null;
  /** 1 if its type requires encryption, as the type is now. */
  readonly encryptionRequired: number;
  /** The person the record is about. */
  readonly subject: string | null;
};

/** The fate of a batch after an attempt. `release` gives the batch back: the attempt does not count. */
export type BatchFate =
  | { readonly kind: 'delivered' | 'dead' | 'discarded'; readonly at: number }
  | { readonly kind: 'retry'; readonly at: number; readonly contentRefusals: number }
  | { readonly kind: 'release'; readonly at: number }
  | { readonly kind: 'halve'; readonly at: number; readonly halfIds: readonly [string, string] };

/** The part of a webhook's progress that any outcome may change. */
export type Health = Pick<
  Progress,
  'stateReason' | 'stateDetail' | 'sentAt' | 'failingSinceAt' | 'failureStreak' | 'probeAt' | 'deadStreak'
>;

/** `batch` and `fate` are null for a heartbeat, `attempt` for a batch that was not sent. */
export type SettledBatch = {
  readonly batch: Batch | null;
  readonly fate: BatchFate | null;
  readonly attempt: AttemptRecord | null;
  /** `bodyBytes` of the attempt; absent without one. */
  readonly bytes?: number;
  /** With `ordered: "key"`: the pending rows that the batch leaves in place of its own. */
  readonly runs?: readonly Run[];
};

/** Consecutive records of one key, or without a key. `dueAt` is null while earlier records of the key wait. */
export type Run = {
  readonly first: number;
  readonly last: number;
  readonly id: string;
  readonly orderKey: string;
  readonly dueAt: number | null;
};

/** A pending row that gets its key, or the rows that replace it because its records have several keys. */
export type Labelled = { readonly batch: Batch; readonly runs: readonly Run[] };

/** The part of an outcome that is counted. */
export type CountedBatch = {
  readonly batch: Pick<Batch, 'webhookNumber' | 'firstOffset' | 'lastOffset'> | null;
  readonly fate: BatchFate | null;
  readonly attempt: AttemptRecord | null;
};

/** Outcomes of one webhook, written in one transaction. */
export type Settlement = {
  readonly webhookNumber: number;
  /**
   * The hold under which the log was read. Null if only one process uses the database, or if this process has no log of the webhook: then
   * only attempts are written.
   */
  readonly hold: Hold | null;
  /** Names this process in the rows of slow attempts. */
  readonly owner: string;
  readonly batches: readonly SettledBatch[];
  /** Batches whose attempts take long. One without a row gets it, so that `position` can pass it. The row names this process. */
  readonly slow: readonly Batch[];
  /** Batches that wait for earlier records of their keys, which get rows; and rows that get their keys. */
  readonly parked?: readonly Batch[];
  readonly labelled?: readonly Labelled[];
  /** How far the webhook has come; null: not written this time. */
  readonly position: Position | null;
  /** When the outcomes were judged. */
  readonly now: number;
  /** State changes in order, each starting from the state that the previous one left. */
  readonly changes: readonly StateChange[];
  /** The audit entry if one of the changes stops the webhook. */
  readonly audit: AuditEntry | null;
  /** The webhook's health after the attempts, written only while its state is `state`. Null: as the changes leave it. */
  readonly health: (Health & { readonly state: WebhookState }) | null;
};

/** Every record below `coveredOffset` is in a batch. */
export type Position = { readonly coveredOffset: number; readonly sentAt: number | null };

/** An attempt that ended. */
export type EndedAttempt = {
  readonly startedAt: number;
  /** With the first `RESPONSE_KEPT_BYTES` of the response body. */
  readonly outcome: Outcome;
  /** Secrets masked. */
  readonly requestHeaders: Readonly<Record<string, string>>;
  /** The size of the body, encoded as sent; 0 if the receiver did not answer the request. */
  readonly bodyBytes: number;
};

/** One request to send. `batch` is null for a heartbeat. */
export type Job = {
  readonly webhookNumber: number;
  readonly endpointId: string;
  readonly batch: Batch | null;
  /** The order under which the job was claimed. True: no other job of the webhook was claimed, and no earlier record waited. */
  readonly ordered: WebhookOrder;
};

/**
 * The result of a job:
 * - `sent`: an attempt, at the URL that the endpoint had then;
 * - `cut off`: an attempt that the service ended, which does not count;
 * - `broken off`: a fault of the service, before the endpoint saw a request;
 * - `unreadable`: a record of the batch cannot be read;
 * - `lost`: another process took the webhook, or the batch was changed, before the settlement;
 * - `release`: not tried, the batch is given back;
 * - `discarded`: not tried, all its records were erased.
 */
export type JobResult =
  | { readonly kind: 'sent'; readonly sent: EndedAttempt; readonly url: string }
  | { readonly kind: 'cut off' | 'broken off' | 'unreadable'; readonly sent: EndedAttempt }
  | { readonly kind: 'lost'; readonly sent: EndedAttempt | null }
  | { readonly kind: 'release' | 'discarded' };

export type Finished = { readonly job: Job; readonly result: JobResult };

type AttemptKind = 'delivery' | 'heartbeat' | 'test';

export type AttemptRecord = {
  readonly id: string;
  readonly webhookNumber: number;
  readonly kind: AttemptKind;
  readonly batchId: string | null;
  readonly firstOffset: number | null;
  readonly lastOffset: number | null;
  readonly attemptNumber: number;
  readonly startedAt: number;
  /** As sent, secrets masked. */
  readonly requestHeaders: Readonly<Record<string, string>>;
  readonly responseStatus: number | null;
  readonly responseHeaders: Readonly<Record<string, string>> | null;
  readonly responseBody: Uint8Array | null;
  /** Null: delivered. */
  readonly errorClass: string | null;
  readonly errorMessage: string | null;
  /** How the response violates HTTP, or why its rest could not be read; the status counts all the same. Quotes nothing of the response. */
  readonly responseProblem: string | null;
  readonly timings: Timings;
};

/** Room for a claim of one webhook. */
export type Room = {
  readonly now: number;
  /** Batches that may be claimed. */
  readonly batches: number;
  /** When to look again if no batch may be claimed. */
  readonly next: NextLook;
  /** Records that the rate allows; infinite without a limit. */
  readonly records: number;
  /** Jobs claimed and not settled. */
  readonly claimed: number;
};

/** The claimed jobs of a webhook, how it sends them, and when to look at the webhook again. */
export type Claimed = {
  readonly webhookNumber: number;
  /** Whose turn its jobs take. */
  readonly customerId: Owner;
  readonly jobs: readonly Job[];
  /** One request at a time. */
  readonly isSequential: boolean;
  /** Nothing is claimed ahead beyond the requests that may run at the same time. */
  readonly isRateLimited: boolean;
  readonly next: NextLook;
};

/**
 * When the dispatcher looks at a webhook again: now if work is due; not before an instant; or when one of its jobs settles. A published
 * event always wakes the webhook.
 */
export type NextLook =
  | { readonly kind: 'now' }
  | { readonly kind: 'not before'; readonly at: number }
  | { readonly kind: 'when settled' };

export type SchedulerLimits = {
  /** Current requests to one endpoint, and to all endpoints of one customer. The operator has no such bound. */
  readonly perEndpoint: number;
  readonly perCustomer: number;
  /** Requests in progress for less than `lingersMs`. An unanswered request costs only memory, so a slow one gives up its slot. */
  readonly inFlight: number;
  readonly lingersMs: number;
  /** Requests in progress, slow ones included. */
  readonly inFlightInAll: number;
  /** Batches claimed for one webhook, and a target for all webhooks together. Each webhook may always have one. */
  readonly claimed: number;
  readonly claimedInAll: number;
};

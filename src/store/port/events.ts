/** Event types, publishing, and the erasure of one person's data. */

import type { AuditEntry } from '../../domain/audit.ts';
import type { Accepted, EventType, NewEvent } from '../../domain/event.ts';
import type { ResourceStore } from './resource.ts';
import type { StepResult } from './steps.ts';
import type { TermStore } from './terms.ts';

/** A published event, for judging it by a filter. */
export type PastEvent = Pick<NewEvent, 'id' | 'type' | 'subject' | 'createdAt' | 'dataJson'>;

/** An event in the log. `dataJson` is null once it is erased, or its erasure has begun. */
export type PublishedEvent = Pick<NewEvent, 'id' | 'type' | 'audience' | 'subject' | 'correlationId' | 'createdAt'> & {
  readonly dataJson: string | null;
};

/** Publishing (`event`, `outbox`). */
export type EventStore = {
  /** Null for an unknown id, and for an event that is no longer kept. */
  find(id: string): Promise<PublishedEvent | null>;
  /**
   * The latest events of these types, newest first, without erased ones and those whose erasure has begun: of the events that a customer
   * gets, or of all with null. Stops early after `maxBytes` of data, and for a customer after a bounded number of its events.
   */
  latest(
    types: readonly string[],
    customerId: string | null,
    limits: { readonly events: number; readonly maxBytes: number },
  ): Promise<PastEvent[]>;
  /**
   * The events with the webhooks whose filters they do not pass (`excluded`), for `publish`. Takes as many turns of the event loop as the
   * filters need. Throws 429 if too much of one customer waits to be judged.
   */
  judge(events: readonly NewEvent[]): Promise<readonly NewEvent[]>;
  /**
   * Appends each event and its records in one transaction, durable when the promise resolves (contract §4.13). Throws `KeyConflict` and
   * keeps nothing if an idempotency key belongs to an event with other content.
   */
  publish(events: readonly NewEvent[]): Promise<Accepted[]>;
};

export type EventSample = { readonly dataJson: string; readonly createdAt: number };

/** Event types that may be published (`event_type`). */
export type EventTypeStore = ResourceStore<EventType> & {
  getByName(name: string): Promise<EventType | null>;
  /** Whether the log has an event of this type with data. */
  isInLog(name: string): Promise<boolean>;
  /**
   * The data of the latest event of a type, at most `maxBytes` long. Null for a type that requires encryption, and if none of the newest
   * events has such data: erased events, and those whose erasure has begun, do not count.
   */
  latestSample(name: string, maxBytes: number): Promise<EventSample | null>;
  /** The number of events by type since an instant, each counted up to `limit`. Types without events are absent. */
  volumes(names: readonly string[], since: number, limit: number): Promise<ReadonlyMap<string, number>>;
  all(): Promise<EventType[]>;
  /** The `source` of each event type that has one. */
  sources(): Promise<ReadonlyMap<string, string>>;
  /**
   * The public event types without the built-in ones about employees that were never published: catalogues and forms offer them to
   * customers once the operator uses them.
   */
  offered(): Promise<EventType[]>;
  /** Another text after every change of an event type, and once another one is offered. */
  version(): Promise<string>;
  /** Replaces the built-in event types with those of this release. */
  replaceBuiltIn(eventTypes: readonly EventType[]): Promise<void>;
};

/** A stored erasure. Its events have keys in (`after`, `through`]. */
export type Erasure = {
  readonly id: string;
  readonly subject: string;
  readonly actor: string;
  readonly through: number;
  readonly after: number;
  /** Counts so far: erased events, their records that will not be sent, attempts with an erased answer. */
  readonly events: number;
  readonly deliveriesDiscarded: number;
  readonly attempts: number;
  readonly startedAt: number;
  readonly finishedAt: number | null;
};

type NewErasure = Pick<Erasure, 'id' | 'subject' | 'actor' | 'startedAt'>;

/** Erasure of one person's data (`event`, `attempt`): overwritten in place, in steps, with nothing of it left in the file. */
export type ErasureStore = {
  /** Once this resolves, deliveries no longer read the subject's earlier events. */
  begin(erasure: NewErasure, audit: AuditEntry): Promise<void>;
  get(id: string): Promise<Erasure | null>;
  /** Unfinished erasures, oldest first. */
  open(): Promise<Pick<Erasure, 'id' | 'subject'>[]>;
  /** Overwrites up to `limit` more events. Throws `StaleWrite` if another process did so first. */
  step(erasure: Erasure, limit: number): Promise<StepResult>;
  /**
   * After the last step: discards the batches that wait for their ordering keys and carry nothing but its data, of up to `limit` events
   * after `after` (-1 at first) and through `reached`. From then on no row gets a key of these events.
   */
  discardWaiting(erasure: Erasure, after: number, limit: number): Promise<StepResult & { readonly reached: number }>;
  /** Throws `StaleWrite` if another process finished it. */
  finish(id: string, at: number, audit: AuditEntry): Promise<void>;
  /** Removes the copies that the database keeps beside its tables. Returns false if another process is reading them: try again later. */
  forgetCopies(): Promise<boolean>;
};

export type EventVerbs = {
  readonly terms: TermStore;
  readonly events: EventStore;
  readonly eventTypes: EventTypeStore;
  readonly erasures: ErasureStore;
};

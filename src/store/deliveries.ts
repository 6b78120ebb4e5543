/** Deliveries as people see them: a record of a webhook's log with the state of its batch. Reads only. */
import type { DeliveryAddress } from '../kernel/ids.ts';
import type { Delivery, DeliveryState } from '../webhooks/delivery.ts';
import type { FoundOffsets } from './log-search.ts';

/** All that are given have to fit. */
export type DeliveryFilter = {
  readonly webhookNumber?: number;
  readonly state?: DeliveryState;
  readonly eventType?: string;
  /** Instants of the event: from `since` on, before `until`. */
  readonly since?: number;
  readonly until?: number;
  /** Receivers know it as `messageId`. */
  readonly eventId?: string;
  /** Whom the event is about. */
  readonly subject?: string;
  /** Of a webhook's log, both included; without `webhookNumber` of no use. */
  readonly offsets?: { readonly first: number; readonly last: number };
};

/** What a record carries. */
export type DeliveryContent = Pick<Delivery, 'erasedAt'> & {
  /** The event's data as it goes out; null once erased. */
  readonly dataJson: string | null;
  readonly correlationId: string;
  readonly actorId: string | null;
};

/** `next` is where the page after this one begins, as an id for `deliveryAddress`; null on the last one. A page may be short, or empty, and have one. */
export type DeliveryPage = { readonly items: readonly Delivery[]; readonly next: string | null };

export type DeliveryStore = {
  get(address: DeliveryAddress): Promise<Delivery | null>;
  /** The same, by its place alone. */
  at(webhookNumber: number, offset: number): Promise<Delivery | null>;
  /**
   * Newest event first; within one webhook in the order of its log. `before` is where the page before ended. Looks at a bounded
   * number of records, whatever the size of the logs.
   */
  list(filter: DeliveryFilter, before: DeliveryAddress | null, limit: number): Promise<DeliveryPage>;
  content(webhookNumber: number, offset: number): Promise<DeliveryContent | null>;
  /** The offsets of a webhook's records whose events happened from `since` on and before `until`, or null when there are none. */
  offsetsBetween(webhookNumber: number, since: number, until: number | null): Promise<FoundOffsets | null>;
};

/** A verified delivery. The type of its records follows from the events that the program declares. */
import type { ReceivedRecord } from '../wire/envelope.ts';
import type { ReceivedEvent } from '../wire/event-reading.ts';

/**
 * One event. `Events` maps the names of event types to the types of their data. If the webhook subscribes to other types too, their events
 * arrive as well.
 */
export type RecordOf<Events> = {
  readonly [Type in keyof Events & string]: Omit<ReceivedRecord, 'eventType' | 'data'> & {
    readonly eventType: Type;
    readonly data: Events[Type];
  };
}[keyof Events & string];

export type Delivery<Events> = {
  readonly subscriptionId: string;
  readonly sessionId: string;
  /** Counts from 1. */
  readonly attemptNumber: number;
  /** The record is the sample of its event type, sent to test the receiver. Absent from all other deliveries. */
  readonly test?: true;
  /** All records, including records that were handled before. A heartbeat has none. */
  readonly records: readonly RecordOf<Events>[];
  /** When the attempt was made, from its `date` header: epoch milliseconds in whole seconds. */
  readonly sentAt: number;
  /** The index of the secret that signed; null for a delivery with a bearer token, or if public keys verify. */
  readonly secretIndex: number | null;
  /**
   * The signed headers, with names in lower case. With a bearer token, which signs nothing: all headers, credentials included.
   * Without secrets: none.
   */
  readonly headers: Readonly<Record<string, string>>;
  /** The decoded body: JSON in UTF-8. */
  readonly body: Uint8Array;
};

/** One event of a webhook whose format is not `records`. */
export type EventOf<Events> = {
  readonly [Type in keyof Events & string]: Omit<ReceivedEvent, 'eventType' | 'data'> & {
    readonly eventType: Type;
    /** Absent if the webhook sends thin bodies: read the event at `url`. */
    readonly data?: Events[Type];
  };
}[keyof Events & string];

/** A delivery in another format than `records`: Standard Webhooks, or CloudEvents in any mode. */
export type EventDelivery<Events> = Pick<Delivery<Events>, 'sentAt' | 'secretIndex' | 'headers' | 'body'> & {
  /** All events, including events that were handled before; more than one only in a batch. */
  readonly events: readonly EventOf<Events>[];
};

/** A delivery that passed every check, its records typed by the events that the program says there are. */
import type { ReceivedRecord } from '../wire/envelope.ts';

/**
 * One event. `Events` maps the names of event types to the types of their data; what it does not name may come all the same
 * if the webhook is subscribed to it.
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
  /** All of them, handled before or not; a heartbeat has none. */
  readonly records: readonly RecordOf<Events>[];
  /** The moment of the attempt, from its date: epoch milliseconds, whole seconds. */
  readonly sentAt: number;
  /** Which of the secrets signed; null where a bearer token takes the place of a signature. */
  readonly secretIndex: number | null;
  /** The headers that were signed, names in lower case; with a bearer token, which signs none, all of them, credentials too. */
  readonly headers: Readonly<Record<string, string>>;
  /** Decoded: JSON in UTF-8. */
  readonly body: Uint8Array;
};

/** Publishing (`event`, `outbox`): the statements that append an event and its records to every subscribed webhook's log. */
import type { Accepted, NewEvent } from '../events/event.ts';

export type EventStore = {
  /**
   * Appends all of them in one transaction, durable when it resolves (contract §4). Throws `KeyConflict`, with nothing kept, when an
   * idempotency key stands for an event with other content.
   */
  publish(events: readonly NewEvent[]): Promise<Accepted[]>;
};

/** Events by the values of their data (`event_term`), at the paths that their types name. */

import type { StepResult } from './steps.ts';

/** An event that was found, and the path at which it has the value. */
export type FoundEvent = {
  readonly id: string;
  readonly type: string;
  readonly path: string;
  readonly createdAt: number;
};

/**
 * The values are kept shortly after publishing, as keyed hashes: the table does not reveal what an event has. An event is no longer found
 * once it is erased, its type no longer has the path, or its type must be encrypted.
 */
export type TermStore = {
  /** Keeps the values of up to `limit` further events, in the order of their keys. */
  step(now: number, limit: number): Promise<StepResult>;
  /** Deletes values whose events are gone, of about `limit` values from `after` on. `next` is null at the end. */
  forget(after: number, limit: number): Promise<StepResult & { readonly next: number | null }>;
  /** The newest events with this value: of the events that a customer gets, or of all with null. */
  find(text: string, customerId: string | null, limit: number): Promise<FoundEvent[]>;
};

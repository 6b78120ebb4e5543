/**
 * Sending again (`batch`): settled records become pending, in steps, so that a replay of millions holds up nobody for long. Those whose
 * data was erased stay as they are: there is nothing of them to send, and that they were delivered is not forgotten.
 */
import type { AuditEntry } from '../resources/audit.ts';

/** What can be sent again: pending ones are under way, discarded ones are gone. */
export type ReplayableState = 'delivered' | 'dead';

/** Which records of a webhook; the ends are offsets, both included. */
export type ReplayRange = {
  readonly webhookNumber: number;
  readonly first: number;
  readonly last: number;
  readonly states: readonly ReplayableState[];
};

export type Replay = ReplayRange & {
  readonly now: number;
  /** Ids for both parts that a batch falls into where the range cuts it: receivers know its own with all of its records. */
  readonly newId: () => string;
};

export type ReplayStore = {
  /** How many records `replay` would send again. */
  count(range: ReplayRange): Promise<number>;
  /** Makes settled records pending again, due at once; answers how many. The entry is written with the first of them. */
  replay(replay: Replay, audit: AuditEntry): Promise<number>;
};

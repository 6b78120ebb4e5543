/** Erasure of one person's data (`event`, `attempt`): overwritten in place, in steps, with nothing of it left in the file. */
import type { AuditEntry } from '../resources/audit.ts';
import type { StepResult } from './steps.ts';

/** An erasure as it is kept. */
export type Erasure = {
  readonly id: string;
  readonly subject: string;
  readonly actor: string;
  readonly through: number;
  readonly after: number;
  /** What it has erased so far: events, records of them that will not be sent, attempts with an answer. */
  readonly events: number;
  readonly deliveriesDiscarded: number;
  readonly attempts: number;
  readonly startedAt: number;
  readonly finishedAt: number | null;
};

export type NewErasure = Pick<Erasure, 'id' | 'subject' | 'actor' | 'startedAt'>;

export type ErasureStore = {
  /** Once it is durable, no event of the subject that was published by then is read for a delivery any more. */
  begin(erasure: NewErasure, audit: AuditEntry): Promise<void>;
  get(id: string): Promise<Erasure | null>;
  /** Those that are not finished, oldest first. */
  open(): Promise<Pick<Erasure, 'id' | 'subject'>[]>;
  /** Overwrites up to `limit` further events. Throws `StaleWrite` where another process did. */
  step(erasure: Erasure, limit: number): Promise<StepResult>;
  /** Throws `StaleWrite` where another process finished it. */
  finish(id: string, at: number, audit: AuditEntry): Promise<void>;
  /** Lets go of every copy that the database keeps beside its tables. False: another process is reading it, and it is to be tried again. */
  forgetCopies(): Promise<boolean>;
};

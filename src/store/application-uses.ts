/** When applications were last used (`application_use`): noted in memory, written in batches. */
import type { StepResult } from './steps.ts';

export type ApplicationUseStore = {
  /** Notes in memory that an application got a token, or called with one. The application store shows it from then on. */
  note(applicationId: string, at: number): void;
  /** What was noted and is not yet written; null: nothing. */
  latest(applicationId: string): number | null;
  /** How many applications have a note that is not yet written. */
  unwritten(): number;
  /** Writes up to `limit` of the notes. A note stays where the write fails. */
  write(limit: number): Promise<StepResult>;
};

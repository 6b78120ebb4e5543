/** Attempts (`attempt`): every request that was sent for a webhook, and what came of it. */
import type { AttemptRecord } from '../delivery/attempt.ts';

export type AttemptStore = {
  insert(attempt: AttemptRecord): Promise<void>;
  get(id: string): Promise<AttemptRecord | null>;
  /** The last attempts that carried a record, oldest first. */
  ofRecord(webhookNumber: number, offset: number, limit: number): Promise<AttemptRecord[]>;
  /**
   * The records that travelled as the batch with this id, which receivers of Standard Webhooks know as `msg_<id>`; null where there
   * is none, or where so much was sent in the minutes after it was made that they cannot be gone through.
   */
  batch(id: string): Promise<{ readonly webhookNumber: number; readonly first: number; readonly last: number } | null>;
  /** The last attempts of all, newest first. */
  latest(limit: number): Promise<AttemptRecord[]>;
  /**
   * The last attempts of a webhook, newest first. Of one that has made few of late, an old record's attempt may be missing: all of
   * them cannot be gone through.
   */
  latestOf(webhookNumber: number, limit: number): Promise<AttemptRecord[]>;
};

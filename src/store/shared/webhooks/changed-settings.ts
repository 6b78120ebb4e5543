/**
 * Applies changed settings to runnable webhooks: they are looked at again, and a new receiver does not inherit the waits of the old one.
 */

import type { Database, Statement } from '../../port/database.ts';
import { resume } from '../delivery/resume.ts';
import { IS_RUNNABLE, wokenBy } from '../wake.ts';

export type ChangedSettings = {
  /** The kind of the resource with this id. */
  readonly of: 'webhook' | 'endpoint';
  readonly id: string;
  readonly at: number;
  /** Whether deliveries now go to another address. */
  readonly isMoved: boolean;
};

// Indexes: the unique index on webhook.id, and webhook_endpoint.
const NUMBERS = {
  webhook: 'SELECT number FROM webhook WHERE id = @id',
  endpoint: 'SELECT number FROM webhook WHERE endpoint_id = @id',
} as const;

// Without this, an idle webhook would be looked at only at its next heartbeat or retry, which may be a day away. A claim that was planned
// with the old settings and is written later finds another version, and makes the dispatcher look again.
const look = (of: ChangedSettings['of']): string => `
  UPDATE webhook_progress
  SET wake_at = ${wokenBy('@at')}, settings_version = settings_version + 1, probe_at = CASE WHEN @isMoved THEN NULL ELSE probe_at END,
      resume_at = CASE WHEN @isMoved THEN @at ELSE resume_at END
  WHERE webhook_number IN (${NUMBERS[of]}) AND ${IS_RUNNABLE}`;
const LOOK = { webhook: look('webhook'), endpoint: look('endpoint') } as const;

/** The statement for the transaction of the change. */
export function changedSettingsStatement({ of, id, at, isMoved }: ChangedSettings): Statement {
  return { sql: LOOK[of], params: { id, at, isMoved } };
}

/** Call this after the change is written. If deliveries now go to another address, their retries no longer wait for the old one. */
export async function resumeMoved(db: Database, { of, id, at, isMoved }: ChangedSettings): Promise<void> {
  if (!isMoved) return;
  for (const { number } of await db.all(NUMBERS[of], { id })) await resume(db, Number(number), at);
}

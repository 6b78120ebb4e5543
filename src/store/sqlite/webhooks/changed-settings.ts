/** What changed settings mean for webhooks that run: they are looked at under the new ones, and no receiver is spared for what another asked. */

import { resume } from '../delivery/resume.ts';
import { IS_RUNNABLE, wokenBy } from '../delivery/wake.ts';
import type { Database, Statement } from '../driver/database.ts';

export type ChangedSettings = {
  /** What has the id: a webhook, or the endpoint of some. */
  readonly of: 'webhook' | 'endpoint';
  readonly id: string;
  readonly at: number;
  /** They send to another address from now on. */
  readonly isMoved: boolean;
};

// Served by the primary key of the first, and webhook_endpoint.
const NUMBERS = {
  webhook: 'SELECT number FROM webhook WHERE id = @id',
  endpoint: 'SELECT number FROM webhook WHERE endpoint_id = @id',
} as const;

// What has nothing to send would be looked at only for its next heartbeat, and what waits for a moment at that: a day later, it may be.
const look = (of: ChangedSettings['of']): string => `
  UPDATE webhook_progress
  SET wake_at = ${wokenBy('@at')}, probe_at = iif(@isMoved, NULL, probe_at), resume_at = iif(@isMoved, @at, resume_at)
  WHERE webhook_number IN (${NUMBERS[of]}) AND ${IS_RUNNABLE}`;
const LOOK = { webhook: look('webhook'), endpoint: look('endpoint') } as const;

/** For the transaction of the change. */
export function changedSettingsStatement({ of, id, at, isMoved }: ChangedSettings): Statement {
  return { sql: LOOK[of], params: { id, at, isMoved: isMoved ? 1 : 0 } };
}

/**
 * To be called once the change is written. A look or an outcome that had read the former settings may have been written behind it, with
 * its own idea of the next look; and what waits for a retry waits for the former receiver.
 */
export async function afterChangedSettings(db: Database, change: ChangedSettings): Promise<void> {
  const { of, id, at, isMoved } = change;
  await db.commit([changedSettingsStatement(change)]);
  if (!isMoved) return;
  for (const { number } of await db.all(NUMBERS[of], { id })) await resume(db, Number(number), at);
}

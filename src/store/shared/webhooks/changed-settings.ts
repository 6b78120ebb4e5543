/**
 * Applies changed settings to runnable webhooks: they are looked at again, and a new receiver does not inherit the waits of the old one.
 */

import type { Database, Statement } from '../../port/database.ts';
import { changedSql, IS_RUNNABLE } from '../changes.ts';
import { resume } from '../delivery/resume.ts';

export type ChangedSettings = {
  /** The kind of the resource with this id. */
  readonly of: 'webhook' | 'endpoint';
  readonly id: string;
  readonly at: number;
  /** Whether deliveries now go to another address, or no longer wait for their keys. */
  readonly isMoved: boolean;
};

// Indexes: the unique index on webhook.id, and webhook_endpoint.
const NUMBERS = {
  webhook: 'SELECT number FROM webhook WHERE id = @id',
  endpoint: 'SELECT number FROM webhook WHERE endpoint_id = @id',
} as const;

const moved = (of: ChangedSettings['of']): string => `
  UPDATE webhook_progress SET probe_at = NULL, resume_at = @at WHERE webhook_number IN (${NUMBERS[of]}) AND ${IS_RUNNABLE}`;
const MOVED = { webhook: moved('webhook'), endpoint: moved('endpoint') } as const;
const CHANGED = { webhook: changedSql(NUMBERS.webhook), endpoint: changedSql(NUMBERS.endpoint) } as const;

/** The statements for the transaction of the change. */
export function changedSettingsStatements({ of, id, at, isMoved }: ChangedSettings): Statement[] {
  return [...(isMoved ? [{ sql: MOVED[of], params: { id, at } }] : []), { sql: CHANGED[of], params: { id } }];
}

/** Call this after the change is written. If deliveries now go to another address, their retries no longer wait for the old one. */
export async function resumeMoved(db: Database, { of, id, at, isMoved }: ChangedSettings): Promise<void> {
  if (!isMoved) return;
  for (const { number } of await db.all(NUMBERS[of], { id })) await resume(db, Number(number), at);
}

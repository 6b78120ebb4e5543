/** Makes waiting retries due, or due earlier, in steps, so that other writers wait for one step at most. */

import type { Database, Statement } from '../../port/database.ts';
import { changedSql } from '../changes.ts';
import { inStretches, PENDING_STRETCH } from './stretches.ts';

const DUE = `
  UPDATE batch INDEXED BY batch_pending SET next_attempt_at = greatest(@now, next_attempt_at - @earlierMs)
  WHERE webhook_number = @webhookNumber AND state = 'pending' AND first_offset BETWEEN @from AND @last
    AND next_attempt_at > @now AND lease_owner IS NULL`;
// What waited for its key, after the webhook got another order.
const FREE = `
  UPDATE batch INDEXED BY batch_pending SET next_attempt_at = coalesce(next_attempt_at, @now), order_key = NULL
  WHERE webhook_number = @webhookNumber AND state = 'pending' AND first_offset BETWEEN @from AND @last AND order_key IS NOT NULL
    AND NOT EXISTS (SELECT 1 FROM webhook WHERE number = @webhookNumber AND ordered = 'key')`;

const CHANGED = changedSql('@webhookNumber');
const BEGIN = 'UPDATE webhook_progress SET resume_at = @now WHERE webhook_number = @webhookNumber';
const END = `
  UPDATE webhook_progress SET resume_at = NULL WHERE webhook_number = @webhookNumber AND resume_at <= @now`;
const UNFINISHED = 'SELECT webhook_number FROM webhook_progress WHERE resume_at IS NOT NULL';

/** Part of the transaction of a change that makes every retry of a webhook due. The caller then calls `resume`. */
export function resumeStatement(webhookNumber: number, now: number): Statement {
  return { sql: BEGIN, params: { webhookNumber, now } };
}

/** Makes the retries of a webhook due. If the process dies before the end, the next start does the rest. */
export async function resume(database: Database, webhookNumber: number, now: number): Promise<void> {
  await makeDue(database, webhookNumber, now);
  await database.commit([{ sql: END, params: { webhookNumber, now } }]);
}

/** At start: finishes the work of a process that died. */
export async function finishResuming(database: Database, now: number): Promise<void> {
  for (const { webhook_number: number } of await database.all(UNFINISHED, {}))
    await resume(database, Number(number), now);
}

/**
 * Makes every pending batch of the webhook that is not leased due `earlierMs` earlier, but not before `now`; by default at `now`. A batch
 * that fails while this runs may be retried once more than its policy says.
 */
export async function makeDue(
  database: Database,
  webhookNumber: number,
  now: number,
  earlierMs: number = Number.MAX_SAFE_INTEGER,
): Promise<void> {
  const all = { webhookNumber, through: Number.MAX_SAFE_INTEGER };
  await inStretches(database, PENDING_STRETCH, all, 0, (db, { from, last }) =>
    db.commit([
      { sql: DUE, params: { webhookNumber, from, last, now, earlierMs } },
      { sql: FREE, params: { webhookNumber, from, last, now } },
      { sql: CHANGED, params: { webhookNumber } },
    ]),
  );
}

/** Changes many pending batches of a webhook in steps, in the order of their offsets, so that other writers wait for one step at most. */

import type { Database, SqlParameters, Statement } from '../../port/database.ts';
import { measured, runSteps } from '../../port/steps.ts';

/**
 * The first statements of a transaction that changes batches of a webhook by their states, or counts them: settlements, and other such
 * transactions, of the webhook wait for its end, and it sees what they wrote. SQLite needs none: one transaction writes at a time.
 */
export type LockLog = (webhookNumber: number) => readonly Statement[];

/** The pending batches of a webhook from one offset through another. Served by batch_pending. */
export const PENDING_STRETCH = `
  SELECT max(first_offset) AS last, count(*) AS batches FROM (
    SELECT first_offset FROM batch INDEXED BY batch_pending
    WHERE webhook_number = @webhookNumber AND state = 'pending' AND first_offset BETWEEN @from AND @through
    ORDER BY first_offset LIMIT @limit) AS stretch`;

/** Batches that begin at `from` to `last`. */
type Stretch = { readonly from: number; readonly last: number; readonly isFirst: boolean };

/** `sql` finds the end of the next stretch: its `@limit` batches that begin at `@from` or later. `change` commits the step. */
export async function inStretches(
  database: Database,
  sql: string,
  params: SqlParameters,
  from: number,
  change: (db: Database, stretch: Stretch) => Promise<unknown>,
): Promise<void> {
  let next = from;
  await runSteps((limit) =>
    measured(database, async (db) => {
      const found = await db.get(sql, { ...params, from: next, limit });
      const last = Number(found?.last ?? next);
      await change(db, { from: next, last, isFirst: next === from });
      next = last + 1;
      return { done: Number(found?.batches ?? 0) < limit };
    }),
  );
}

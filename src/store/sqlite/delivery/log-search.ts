/**
 * Finds where in a webhook's log a moment lies, by halving it: a few dozen look-ups, whatever its length and its age.
 *
 * A log stands in the order in which its events were written, hence almost in that of their keys: two processes that publish at the
 * same moment may write in another order than they drew their keys in. So whoever needs every record of a stretch of time looks
 * a little beyond its ends, too.
 */

import { firstRowKeyAt } from '../../../kernel/ids.ts';
import { LOG_DISORDER_RECORDS } from '../../../kernel/limits/log.ts';
import type { FoundOffsets } from '../../deliveries.ts';
import type { Database } from '../driver/database.ts';

/** Offsets of a log: from `from` on, and before `below`. */
export type Offsets = { readonly from: number; readonly below: number };
/** Instants of events: from `since` on, and before `until`. */
export type Stretch = { readonly since?: number | undefined; readonly until?: number | undefined };

/** Larger than any offset. */
export const BEYOND: number = Number.MAX_SAFE_INTEGER;

// Where housekeeping has taken records, the next one there is stands for the middle.
const SPLIT = `
  WITH RECURSIVE halves (low, high) AS (
    SELECT (SELECT min(record_offset) FROM outbox WHERE webhook_number = @webhookNumber),
           (SELECT max(record_offset) FROM outbox WHERE webhook_number = @webhookNumber) + 1
    UNION ALL
    SELECT CASE WHEN o.event_key < @key THEN (low + high) / 2 + 1 ELSE low END,
           CASE WHEN o.event_key < @key THEN high ELSE (low + high) / 2 END
    FROM halves CROSS JOIN outbox AS o ON o.webhook_number = @webhookNumber AND o.record_offset =
      (SELECT min(record_offset) FROM outbox WHERE webhook_number = @webhookNumber AND record_offset >= (low + high) / 2)
    WHERE low < high)
  SELECT low FROM halves WHERE low >= high`;
const FIRST = `
  SELECT record_offset FROM outbox
  WHERE webhook_number = @webhookNumber AND record_offset >= @from AND event_key >= @since ORDER BY record_offset LIMIT 1`;
const LAST = `
  SELECT record_offset FROM outbox
  WHERE webhook_number = @webhookNumber AND record_offset < @below AND event_key < @until ORDER BY record_offset DESC LIMIT 1`;

/** An offset at which events with this key and later ones begin, but for a few in disorder; 0 in an empty log. */
export async function splitAt(db: Database, webhookNumber: number, key: number): Promise<number> {
  return Number((await db.get(SPLIT, { webhookNumber, key }))?.low ?? 0);
}

/** Every record of the stretch lies within these; at the ends there may be some that do not belong to it. */
export async function offsetsAround(db: Database, webhookNumber: number, { since, until }: Stretch): Promise<Offsets> {
  return {
    from: since === undefined ? 0 : (await splitAt(db, webhookNumber, firstRowKeyAt(since))) - LOG_DISORDER_RECORDS,
    below:
      until === undefined ? BEYOND : (await splitAt(db, webhookNumber, firstRowKeyAt(until))) + LOG_DISORDER_RECORDS,
  };
}

/** The first and the last record of the stretch, or null when there is none. `until` null: to the end of the log as it is now. */
export async function offsetsWithin(
  db: Database,
  webhookNumber: number,
  stretch: { readonly since: number; readonly until: number | null },
): Promise<FoundOffsets | null> {
  const around = await offsetsAround(db, webhookNumber, { since: stretch.since, until: stretch.until ?? undefined });
  const since = firstRowKeyAt(stretch.since);
  const until = stretch.until === null ? BEYOND : firstRowKeyAt(stretch.until);
  const first = await db.get(FIRST, { webhookNumber, from: around.from, since });
  const last = await db.get(LAST, { webhookNumber, below: around.below, until });
  if (first === undefined || last === undefined || Number(first.record_offset) > Number(last.record_offset))
    return null;
  return { first: Number(first.record_offset), last: Number(last.record_offset) };
}

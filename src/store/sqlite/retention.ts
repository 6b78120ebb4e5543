/**
 * Retention on SQLite: what a record takes with it, and the attempts, events and access tokens that are deleted by their age, row by row.
 */

import { firstRowKeyAt } from '../../kernel/ids.ts';
import type { Database } from '../port/database.ts';
import type { RowsByAge } from '../port/housekeeping.ts';
import { measured } from '../port/steps.ts';
import { isAttemptOf } from '../shared/delivery/covering.ts';
import type { LockLog } from '../shared/delivery/stretches.ts';
import { type OfRecord, remover, withinBytes } from '../shared/retention.ts';

// Scans the primary key from its old end. An index on expiry would cost a write for every issued token.
const PURGE = `
  DELETE FROM access_token WHERE key IN (
    SELECT key FROM access_token WHERE key > @after ORDER BY key LIMIT @limit) AND expires_at <= @now`;

const NEXT = `
  SELECT max(key) AS last, count(*) AS seen, count(*) FILTER (WHERE expires_at <= @now) AS expired
  FROM (SELECT key, expires_at FROM access_token WHERE key > @after ORDER BY key LIMIT @limit) AS oldest`;

/**
 * One step of the purge of expired tokens: examines up to `limit` rows after `after` and deletes the expired ones.
 * Returns where the next step begins, or null at the end of the table.
 */
export async function purgeTokens(
  db: Database,
  { after, now }: { readonly after: number; readonly now: number },
  limit: number,
): Promise<{ readonly next: number | null; readonly purged: number }> {
  const seen = await db.get(NEXT, { after, limit, now });
  if (seen === undefined || seen.seen === 0) return { next: null, purged: 0 };
  const [result] = seen.expired === 0 ? [] : await db.commit([{ sql: PURGE, params: { after, limit, now } }]);
  const atEnd = Number(seen.seen) < limit || Number(seen.last) >= firstRowKeyAt(now);
  return { next: atEnd ? null : Number(seen.last), purged: result?.changes ?? 0 };
}

// Index: outbox_event.
const DELETE_EVENTS = `
  DELETE FROM event
  WHERE key IN (SELECT event_key FROM outbox WHERE webhook_number = @webhookNumber AND record_offset BETWEEN @first AND @last)
    AND NOT EXISTS (SELECT 1 FROM outbox AS o WHERE o.event_key = event.key AND o.webhook_number <> @webhookNumber)`;

// An attempt may begin before the stretch and end after it. It is deleted with its last record.
const ATTEMPTS_OF = `
  SELECT key FROM attempt AS a
  WHERE a.webhook_number = @webhookNumber AND ${isAttemptOf('@first', '@last')}
    AND NOT EXISTS (SELECT 1 FROM outbox WHERE webhook_number = @webhookNumber AND record_offset BETWEEN a.first_offset AND @first - 1)
    AND NOT EXISTS (SELECT 1 FROM outbox WHERE webhook_number = @webhookNumber AND record_offset BETWEEN @last + 1 AND a.last_offset)
  LIMIT @limit`;

const DELETE_ATTEMPTS_OF = `DELETE FROM attempt WHERE key IN (${ATTEMPTS_OF})`;

const OLD_ATTEMPTS =
  'DELETE FROM attempt WHERE key IN (SELECT key FROM attempt WHERE key < @before ORDER BY key LIMIT @limit)';

const OLD_EVENTS = `
  SELECT key, coalesce(octet_length(data), 0) AS bytes, EXISTS (SELECT 1 FROM outbox AS o WHERE o.event_key = event.key) AS wanted
  FROM event WHERE key > @after AND key < @before ORDER BY key LIMIT @limit`;

const DELETE_UNWANTED = `
  DELETE FROM event
  WHERE key IN (SELECT old.value FROM numbers(@keys) AS old) AND NOT EXISTS (SELECT 1 FROM outbox AS o WHERE o.event_key = event.key)`;

/** The rows that are deleted with a record. */
/** One transaction writes at a time. */
export const lockNothing: LockLog = () => [];

export const ALL_OF_RECORD: OfRecord = {
  events: DELETE_EVENTS,
  attempts: { find: ATTEMPTS_OF, remove: DELETE_ATTEMPTS_OF },
  lockLog: lockNothing,
};

export function rowsByAge(database: Database): RowsByAge {
  const remove = remover(database);
  return {
    kind: 'rows',
    attempts: (before, limit) => remove(OLD_ATTEMPTS, { before: firstRowKeyAt(before) }, limit),
    unwantedEvents: ({ after, before }, limit) =>
      measured(database, async (db) => {
        const seen = await db.all(OLD_EVENTS, { after, before: firstRowKeyAt(before), limit });
        const within = seen.slice(0, withinBytes(seen.map(({ wanted, bytes }) => (wanted === 1 ? 0 : Number(bytes)))));
        const keys = within.filter(({ wanted }) => wanted === 0).map(({ key }) => Number(key));
        const [deleted] =
          keys.length === 0 ? [] : await db.commit([{ sql: DELETE_UNWANTED, params: { keys: JSON.stringify(keys) } }]);
        const done = within.length < limit && within.length === seen.length;
        return { done, next: done ? null : Number(within.at(-1)?.key), rows: deleted?.changes ?? 0 };
      }),
    tokens: (range, limit) =>
      measured(database, async (db) => {
        const { next, purged } = await purgeTokens(db, range, limit);
        return { done: next === null, next, rows: purged };
      }),
  };
}

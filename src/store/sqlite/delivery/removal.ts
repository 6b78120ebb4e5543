/** The logs of deleted webhooks (`removed_webhook`): taken away in steps, however large they are. */

import type { RemovalStore } from '../../housekeeping.ts';
import { measured } from '../../steps.ts';
import type { Database, Statement } from '../driver/database.ts';
import { recordStatements, withinBytes } from '../retention.ts';

const NEXT = 'SELECT min(number) AS number FROM removed_webhook';
// Served by attempt_record, which has heartbeats and tests too.
const TAKE_ATTEMPTS = `
  DELETE FROM attempt WHERE key IN (SELECT key FROM attempt WHERE webhook_number = @webhookNumber LIMIT @limit)`;
const TAKE_BATCHES = `
  DELETE FROM batch WHERE webhook_number = @webhookNumber AND first_offset <= (
    SELECT max(first_offset) FROM (
      SELECT first_offset FROM batch WHERE webhook_number = @webhookNumber ORDER BY first_offset LIMIT @limit))`;
const SIZES = `
  SELECT o.record_offset, coalesce(octet_length(e.data), 0) AS bytes FROM outbox AS o LEFT JOIN event AS e ON e.key = o.event_key
  WHERE o.webhook_number = @webhookNumber ORDER BY o.record_offset LIMIT @limit`;
const FORGET = 'DELETE FROM removed_webhook WHERE number = @webhookNumber';

export function removalStore(database: Database): RemovalStore {
  return {
    step: (limit) =>
      measured(database, async (db) => {
        const number = (await db.get(NEXT, {}))?.number;
        if (number == null) return { done: true, rows: 0 };
        const webhookNumber = Number(number);
        for (const sql of [TAKE_ATTEMPTS, TAKE_BATCHES]) {
          const [taken] = await db.commit([{ sql, params: { webhookNumber, limit } }]);
          if (taken !== undefined && taken.changes > 0) return { done: false, rows: taken.changes };
        }
        const records = await db.all(SIZES, { webhookNumber, limit });
        const within = records.slice(0, withinBytes(records.map(({ bytes }) => Number(bytes))));
        const stretch = {
          webhookNumber,
          first: Number(within[0]?.record_offset),
          last: Number(within.at(-1)?.record_offset),
        };
        const forget: Statement = { sql: FORGET, params: { webhookNumber } };
        await db.commit(within.length === 0 ? [forget] : recordStatements(stretch));
        return { done: false, rows: within.length };
      }),
  };
}

/** The state of the service for the overview: waiting records, failing webhooks and dead letters. Reads only. */

import type { Database } from '../database.ts';
import type { Ailing, Backlog, OverviewStore, Waiting } from '../overview.ts';
import { OLDEST_WAITING_AT, RECORDS_WAITING } from './delivery/queues.ts';
import { readRow } from './table.ts';

// Three look-ups for each webhook with waiting records, of thousands at most.
const WAITING = `
  SELECT p.webhook_number, p.state, ${RECORDS_WAITING} AS records, ${OLDEST_WAITING_AT} AS oldest_at
  FROM webhook_progress AS p WHERE p.next_offset > p.cursor_offset OR p.pending_records > 0`;
const BACKLOG = `
  SELECT coalesce(sum(records), 0) AS records, min(oldest_at) AS oldest_at, count(*) AS webhooks FROM (${WAITING}) AS q`;
const LONGEST = `
  SELECT w.id, w.name, q.state, q.records, q.oldest_at FROM (${WAITING}) AS q CROSS JOIN webhook AS w
  WHERE w.number = q.webhook_number
  ORDER BY q.records DESC, w.number LIMIT @limit`;
const AILING = `
  SELECT w.id, w.name, e.id AS endpoint_id, e.name AS endpoint_name, p.state, p.state_reason AS reason, p.state_detail AS detail,
    coalesce(p.failing_since_at, p.state_at) AS since, ${RECORDS_WAITING} AS waiting
  FROM webhook_progress AS p CROSS JOIN webhook AS w CROSS JOIN endpoint AS e
  WHERE w.number = p.webhook_number AND e.id = w.endpoint_id
    AND (p.state IN ('failing', 'failed') OR (p.state = 'stopped' AND p.state_reason <> 'stopped_by_administrator'))
  ORDER BY since DESC LIMIT @limit`;
const DEAD = `
  SELECT coalesce(sum(records), 0) AS records, count(*) AS batches FROM (
    SELECT last_offset - first_offset + 1 AS records FROM batch INDEXED BY batch_dead WHERE state = 'dead' LIMIT @limit) AS dead`;

/** Dead batches that are counted at most. */
const DEAD_COUNTED = 10_000;

export function overviewStore(db: Database): OverviewStore {
  return {
    backlog: async (limit) => {
      const all = await db.get(BACKLOG, {});
      const longest = (await db.all(LONGEST, { limit })).map((row) => readRow<Waiting>(row));
      return { ...readRow<Omit<Backlog, 'longest'>>(all ?? {}), longest };
    },
    ailing: async (limit) => (await db.all(AILING, { limit })).map((row) => readRow<Ailing>(row)),
    dead: async () => {
      const row = await db.get(DEAD, { limit: DEAD_COUNTED });
      return { records: Number(row?.records), more: Number(row?.batches) === DEAD_COUNTED };
    },
  };
}

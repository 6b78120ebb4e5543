/** Creates large logs with SQL: the log of a webhook after months, or after its receiver was down for a day. */
import type { TestStore } from './store.ts';

const EVENT = `
  INSERT INTO event (key, id, type, data, correlation_id, created_at)
  VALUES (?, '00000000-0000-7000-8000-000000000000', 'order.placed', '{}', 'backlog', ?)`;
const OUTBOX = `
  WITH RECURSIVE n (o) AS (SELECT ? UNION ALL SELECT o + 1 FROM n WHERE o + 1 < ?)
  INSERT INTO outbox (webhook_number, record_offset, event_key, data_bytes) SELECT ?, o, ?, 2 FROM n`;
const BATCHES = `
  WITH RECURSIVE n (o) AS (SELECT ? UNION ALL SELECT o + 1 FROM n WHERE o + 1 < ?)
  INSERT INTO batch (webhook_number, first_offset, last_offset, id, state, attempt_count, content_refusals, next_attempt_at, settled_at)
  SELECT ?, o, o, 'batch ' || o, ?, 1, 0, ?, ? FROM n`;

/** `waiting` records are not in a batch yet, `pending` records are in a due batch, and `delivered` records are settled. */
export type Backlog = { readonly count: number; readonly state: 'waiting' | 'pending' | 'delivered' };

/** Appends records to a webhook's log. All refer to the same event. */
export function addBacklog(
  { sqlite: database, ids, clock }: TestStore,
  webhookNumber: number,
  { count, state }: Backlog,
): void {
  const { connection } = database;
  const now = clock();
  const key = ids.rowKey();
  const { from } = connection
    .prepare('SELECT next_offset AS "from" FROM webhook_status WHERE webhook_number = ?')
    .get(webhookNumber) as { from: number };
  const to = from + count;
  connection.transaction(() => {
    connection.prepare(EVENT).run(key, now);
    connection.prepare(OUTBOX).run(from, to, webhookNumber, key);
    if (state !== 'waiting') {
      const [dueAt, settledAt] = state === 'pending' ? [now, null] : [null, now];
      connection.prepare(BATCHES).run(from, to, webhookNumber, state, dueAt, settledAt);
    }
    const covered = state === 'waiting' ? 'covered_offset' : String(to);
    const pending = state === 'pending' ? count : 0;
    connection
      .prepare(
        `UPDATE webhook_position SET covered_offset = ${covered}, pending_records = pending_records + ? WHERE webhook_number = ?`,
      )
      .run(pending, webhookNumber);
    connection.prepare('INSERT INTO webhook_change (webhook_number) VALUES (?)').run(webhookNumber);
  })();
}

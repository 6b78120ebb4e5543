/** Creates the database of a service after months with SQL, which takes seconds: 211,000 records of four webhooks in all states. */
import type { TestContext } from 'node:test';
import { firstRowKeyAt } from '../../src/kernel/ids.ts';
import { subscribe } from './events.ts';
import { NOW, openTestStore, type TestStore } from './store.ts';

/** One event a second. Every 25,000th has the rare type, the only subject and the only ordering key. */
export const EVENTS = 100_000;
export const RARE = 25_000;
export const SECOND_MS = 1000;
/** An event that was erased before the `stuck` webhook could send it. */
export const ERASED: number = EVENTS - 5;
/** The time of event `n`. */
export const at = (n: number): number => NOW + n * SECOND_MS;
/** The id of event `n`. */
export const eventId = (n: number): string => {
  const time = at(n).toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-000000000000`;
};

export type LargeLog = TestStore & {
  /** Every event, in batches of 100. All are delivered except two dead batches: the oldest and one in the middle. */
  readonly busy: number;
  /** Every event. The first half is delivered, and 50,000 records wait. */
  readonly stuck: number;
  /** Only the first 1,000 events. The last one waits for a retry, and all others are delivered. */
  readonly quiet: number;
  /** Every tenth event, in batches of one. All are dead. */
  readonly hopeless: number;
};

const EVENT_ROWS = `
  WITH RECURSIVE n (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n + 1 < ${EVENTS})
  INSERT INTO event (key, id, type, data, subject, ordering_key, correlation_id, created_at)
  SELECT ${firstRowKeyAt(NOW)} + n * ${firstRowKeyAt(SECOND_MS)}, event_id(n), iif(n % ${RARE} = 7, 'rare.event', 'order.placed'), '{}',
    iif(n % ${RARE} = 7, 'somebody', NULL), iif(n % ${RARE} = 7, 'order-17', NULL), 'c', ${NOW} + n * ${SECOND_MS} FROM n`;

export async function openLargeLog(t: TestContext): Promise<LargeLog> {
  const s = await openTestStore(t, { now: at(EVENTS) });
  const { connection } = s.sqlite;
  connection.pragma('synchronous = OFF');
  connection.function('event_id', { deterministic: true }, (n) => eventId(Number(n)));
  const numbers = {
    busy: await subscribe(s, ['*']),
    stuck: await subscribe(s, ['*']),
    quiet: await subscribe(s, ['*']),
    hopeless: await subscribe(s, ['*']),
  };
  connection.exec(EVENT_ROWS);
  const records = (number: number, every: number, count: number): void => {
    connection.exec(`
      INSERT INTO outbox (webhook_number, record_offset, event_key, data_bytes)
      SELECT ${number}, n, ${firstRowKeyAt(NOW)} + n * ${every} * ${firstRowKeyAt(SECOND_MS)}, 2
      FROM (WITH RECURSIVE n (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n + 1 < ${count}) SELECT n FROM n)`);
  };
  const batches = (number: number, size: number, count: number, state: string): void => {
    connection.exec(`
      INSERT INTO batch (webhook_number, first_offset, last_offset, id, state, attempt_count, content_refusals, next_attempt_at, settled_at)
      SELECT ${number}, n * ${size}, n * ${size} + ${size - 1}, 'batch ' || n, state, 1, 0,
        iif(state = 'pending', ${NOW}, NULL), iif(state = 'pending', NULL, ${NOW} + n)
      FROM (WITH RECURSIVE n (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM n WHERE n + 1 < ${count})
            SELECT n, ${state} AS state FROM n)`);
    const pending = `(SELECT coalesce(sum(last_offset - first_offset + 1), 0) FROM batch WHERE state = 'pending'
      AND webhook_number = ${number})`;
    connection.exec(
      `UPDATE webhook_position SET covered_offset = ${size * count}, pending_records = ${pending} WHERE webhook_number = ${number}`,
    );
  };
  records(numbers.busy, 1, EVENTS);
  batches(numbers.busy, 100, EVENTS / 100, `iif(n IN (0, ${EVENTS / 200}), 'dead', 'delivered')`);
  records(numbers.stuck, 1, EVENTS);
  batches(numbers.stuck, 100, EVENTS / 200, "'delivered'");
  records(numbers.quiet, 1, 1000);
  batches(numbers.quiet, 1, 1000, "iif(n = 999, 'pending', 'delivered')");
  records(numbers.hopeless, 10, EVENTS / 10);
  batches(numbers.hopeless, 1, EVENTS / 10, "'dead'");
  connection.exec(`UPDATE event SET data = NULL, erased_at = ${at(EVENTS)} WHERE key = ${firstRowKeyAt(at(ERASED))}`);
  return { ...s, ...numbers };
}

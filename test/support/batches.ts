/** Makes batches of a webhook's log as the dispatcher leaves them. */

import type { AttemptRecord, Batch, BatchFate } from '../../src/domain/batch.ts';
import type { NewEvent } from '../../src/domain/event.ts';
import { NO_TIMINGS } from '../../src/domain/outcome.ts';
import { attemptStatement } from '../../src/store/shared/delivery/settlement.ts';
import { batchOf } from './attempts.ts';
import { newEvent } from './events.ts';
import { execute, onPostgres, type TestStore } from './store.ts';

export const OWNER = 'test';
const LEASE_MS = 60_000;

/** Publishes `count` events of a type in transactions of up to 100 events. */
export async function publishMany(
  s: TestStore,
  type: string,
  count: number,
  more: (n: number) => Partial<NewEvent> = () => ({}),
): Promise<void> {
  for (let n = 0; n < count; n += 100) {
    const some = Array.from({ length: Math.min(100, count - n) }, (_, at) => newEvent(s, type, more(n + at)));
    await s.store.events.publish(some);
  }
}

/** Sets a webhook's state to running, which the dispatcher's store functions require. */
export async function run(s: TestStore, webhookNumber: number): Promise<void> {
  await execute(s, `UPDATE webhook_progress SET state = 'running' WHERE webhook_number = ${webhookNumber}`);
}

/** Makes this process the holder of all webhooks, as a look of the dispatcher does. */
export async function hold({ store }: TestStore): Promise<void> {
  if (onPostgres) await store.dispatch.changed();
}

/** Makes the next `size` records a batch with an attempt in progress. */
export async function claimNext(s: TestStore, webhookNumber: number, size: number): Promise<Batch> {
  const [row] = await s.rows(`SELECT covered_offset FROM webhook_position WHERE webhook_number = ${webhookNumber}`);
  const firstOffset = Number(row?.covered_offset);
  const lastOffset = firstOffset + size - 1;
  const batch = batchOf(firstOffset, lastOffset, { webhookNumber, id: s.ids.uuid(), isStored: true });
  const now = s.clock();
  await execute(
    s,
    `INSERT INTO batch (webhook_number, first_offset, last_offset, id, state, attempt_count, content_refusals, next_attempt_at, lease_owner,
       updated_at)
     VALUES (${webhookNumber}, ${firstOffset}, ${lastOffset}, '${batch.id}', 'pending', 1, 0, ${now + LEASE_MS}, '${OWNER}', ${now})`,
    `UPDATE webhook_position SET covered_offset = ${lastOffset + 1}, pending_records = pending_records + ${size}
     WHERE webhook_number = ${webhookNumber}`,
  );
  return batch;
}

/** Gives a claimed batch its outcome and records the attempt. Throws `StaleWrite` if it is not claimed. */
export async function settleBatch(
  s: TestStore,
  batch: Batch,
  fate: BatchFate,
  attempt: Partial<AttemptRecord> = {},
): Promise<void> {
  const { webhookNumber, firstOffset, lastOffset } = batch;
  const isPending = fate.kind === 'retry' || fate.kind === 'release' || fate.kind === 'halve';
  const settled = isPending ? 0 : lastOffset - firstOffset + 1;
  await s.database.commit([
    { sql: outcomeSql(batch, fate, s.clock()), params: {}, expectChanges: 1 },
    ...(fate.kind === 'halve' ? halvesSql(batch, fate, s.clock()) : []).map((sql) => ({ sql, params: {} })),
    {
      sql: `UPDATE webhook_position SET pending_records = pending_records - ${settled} WHERE webhook_number = ${webhookNumber}`,
      params: {},
    },
    attemptStatement(attemptOf(s, batch, attempt)),
  ]);
}

function outcomeSql({ webhookNumber, firstOffset, id }: Batch, fate: BatchFate, now: number): string {
  const row = `webhook_number = ${webhookNumber} AND first_offset = ${firstOffset} AND id = '${id}' AND lease_owner = '${OWNER}'`;
  if (fate.kind === 'halve') return `DELETE FROM batch WHERE ${row}`;
  const set =
    fate.kind === 'retry'
      ? `next_attempt_at = ${fate.at}, content_refusals = ${fate.contentRefusals}`
      : fate.kind === 'release'
        ? `next_attempt_at = ${fate.at}, attempt_count = attempt_count - 1`
        : `state = '${fate.kind}', next_attempt_at = NULL, settled_at = ${fate.at}`;
  return `UPDATE batch SET ${set}, lease_owner = NULL, updated_at = ${now} WHERE ${row}`;
}

function halvesSql(
  { webhookNumber, firstOffset, lastOffset }: Batch,
  { halfIds: [left, right], at }: Extract<BatchFate, { kind: 'halve' }>,
  now: number,
): string[] {
  const middle = firstOffset + Math.floor((lastOffset - firstOffset) / 2);
  const half = (first: number, last: number, id: string): string => `
    INSERT INTO batch (webhook_number, first_offset, last_offset, id, state, attempt_count, content_refusals, next_attempt_at, updated_at)
    VALUES (${webhookNumber}, ${first}, ${last}, '${id}', 'pending', 0, 1, ${at}, ${now})`;
  return [half(firstOffset, middle, left), half(middle + 1, lastOffset, right)];
}

export function attemptOf(
  { ids, clock }: Pick<TestStore, 'ids' | 'clock'>,
  { webhookNumber, id: batchId, firstOffset, lastOffset, attemptNumber }: Batch,
  more: Partial<AttemptRecord> = {},
): AttemptRecord {
  return {
    id: ids.uuid(),
    webhookNumber,
    kind: 'delivery',
    batchId,
    firstOffset,
    lastOffset,
    attemptNumber,
    startedAt: clock(),
    requestHeaders: { 'content-type': 'application/json' },
    responseStatus: 200,
    responseHeaders: { date: 'Sat, 21 Nov 2026 05:00:00 GMT' },
    responseBody: Buffer.from('ok'),
    errorClass: null,
    errorMessage: null,
    responseProblem: null,
    timings: NO_TIMINGS,
    ...more,
  };
}

/** Claims batches of these sizes and settles all of them with the same outcome. */
export async function settleNext(
  s: TestStore,
  webhookNumber: number,
  sizes: readonly number[],
  kind: 'delivered' | 'dead' | 'discarded',
): Promise<void> {
  for (const size of sizes) {
    await settleBatch(s, await claimNext(s, webhookNumber, size), { kind, at: s.clock() });
  }
}

/** Throws unless batches cover every record below the cursor of a webhook, none twice, and the count of pending records is right. */
export async function checkLog(s: TestStore, webhookNumber: number): Promise<void> {
  const [position] = await s.rows(`SELECT * FROM webhook_position WHERE webhook_number = ${webhookNumber}`);
  const records = await s.rows(`SELECT * FROM outbox WHERE webhook_number = ${webhookNumber} ORDER BY record_offset`);
  const batches = await s.rows(`SELECT * FROM batch WHERE webhook_number = ${webhookNumber} ORDER BY first_offset`);
  const covered: number[] = [];
  let pending = 0;
  for (const { first_offset, last_offset, state } of batches) {
    for (let at = Number(first_offset); at <= Number(last_offset); at++) covered.push(at);
    if (state === 'pending') pending += Number(last_offset) - Number(first_offset) + 1;
  }
  const offsets = records.map(({ record_offset }) => Number(record_offset));
  const below = offsets.filter((offset) => offset < Number(position?.covered_offset) || covered.includes(offset));
  if (JSON.stringify(covered) !== JSON.stringify(below)) {
    throw new Error(`batches cover ${JSON.stringify(covered)}, records are ${JSON.stringify(below)}`);
  }
  if (pending !== position?.pending_records)
    throw new Error(`${pending} pending, counted ${position?.pending_records}`);
  const lost = await s.rows(
    `SELECT record_offset FROM outbox WHERE webhook_number = ${webhookNumber} AND event_key NOT IN (SELECT key FROM event)`,
  );
  if (lost.length > 0) throw new Error(`records without their event: ${JSON.stringify(lost)}`);
}

/** The webhooks whose sender must look at them, and then forgets so, as a look of the dispatcher does. */
export async function takeChanges(s: TestStore): Promise<number[]> {
  const rows = await s.rows('SELECT DISTINCT webhook_number FROM webhook_change ORDER BY webhook_number');
  await execute(s, 'DELETE FROM webhook_change');
  return rows.map(({ webhook_number }) => Number(webhook_number));
}

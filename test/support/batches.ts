/** Makes batches of a webhook's log as the dispatcher leaves them. */

import type { AttemptRecord, Batch, BatchFate, Hold } from '../../src/domain/batch.ts';
import type { NewEvent } from '../../src/domain/event.ts';
import { NO_TIMINGS } from '../../src/domain/outcome.ts';
import type { Statement } from '../../src/store/port/database.ts';
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

/** Makes this process the holder of all webhooks, as a look of the dispatcher does. Returns under what it may write of one that runs. */
export async function hold(s: TestStore, webhookNumber: number): Promise<Hold | null> {
  if (!onPostgres) return null;
  await execute(s, 'INSERT INTO webhook_change (webhook_number) SELECT webhook_number FROM webhook_progress');
  await s.store.dispatch.changed();
  const [position] = await s.store.dispatch.positions([webhookNumber]);
  return position?.hold ?? null;
}

/** Makes the next `size` records a batch with an attempt in progress. */
export async function claimNext(s: TestStore, webhookNumber: number, size: number): Promise<Batch> {
  const row = await s.database.get(COVERED, { webhookNumber });
  const firstOffset = Number(row?.covered_offset);
  const lastOffset = firstOffset + size - 1;
  const id = s.ids.uuid();
  const now = s.clock();
  const claimed = { webhookNumber, firstOffset, lastOffset, id, now, owner: OWNER, leaseEndsAt: now + LEASE_MS };
  await s.database.commit([
    { sql: CLAIM, params: claimed },
    { sql: MOVE, params: { webhookNumber, lastOffset, size } },
  ]);
  return batchOf(firstOffset, lastOffset, { webhookNumber, id, isStored: true });
}

const COVERED = 'SELECT covered_offset FROM webhook_position WHERE webhook_number = @webhookNumber';
const CLAIM = `
  INSERT INTO batch (webhook_number, first_offset, last_offset, id, state, attempt_count, content_refusals, next_attempt_at, lease_owner,
    updated_at)
  VALUES (@webhookNumber, @firstOffset, @lastOffset, @id, 'pending', 1, 0, @leaseEndsAt, @owner, @now)`;
const MOVE = `
  UPDATE webhook_position SET covered_offset = @lastOffset + 1, pending_records = pending_records + @size
  WHERE webhook_number = @webhookNumber`;

/** Gives a claimed batch its outcome and records the attempt. Throws `StaleWrite` if it is not claimed. */
export async function settleBatch(
  s: TestStore,
  batch: Batch,
  fate: BatchFate,
  attempt: Partial<AttemptRecord> = {},
): Promise<void> {
  await s.database.commit([
    ...outcomeStatements(batch, fate, s.clock()),
    attemptStatement(attemptOf(s, batch, attempt)),
  ]);
}

const CLAIMED = 'webhook_number = @webhookNumber AND first_offset = @firstOffset AND id = @id AND lease_owner = @owner';
const SETTLE = `
  UPDATE batch SET state = @state, next_attempt_at = NULL, lease_owner = NULL, settled_at = @at, updated_at = @now WHERE ${CLAIMED}`;
const COUNT =
  'UPDATE webhook_position SET pending_records = pending_records - @size WHERE webhook_number = @webhookNumber';
const RETRY = `
  UPDATE batch SET next_attempt_at = @at, content_refusals = @contentRefusals, lease_owner = NULL, updated_at = @now WHERE ${CLAIMED}`;
const RELEASE = `
  UPDATE batch SET next_attempt_at = @at, attempt_count = attempt_count - 1, lease_owner = NULL, updated_at = @now WHERE ${CLAIMED}`;
const TAKE_APART = `DELETE FROM batch WHERE ${CLAIMED}`;
const ADD_HALF = `
  INSERT INTO batch (webhook_number, first_offset, last_offset, id, state, attempt_count, content_refusals, next_attempt_at, updated_at)
  VALUES (@webhookNumber, @first, @last, @half, 'pending', 0, 1, @at, @now)`;

function outcomeStatements(batch: Batch, fate: BatchFate, now: number): Statement[] {
  const { webhookNumber, firstOffset, lastOffset, id } = batch;
  const params = { webhookNumber, firstOffset, id, owner: OWNER, at: fate.at, now };
  const of = (sql: string, more = {}): Statement => ({ sql, params: { ...params, ...more }, expectChanges: 1 });
  switch (fate.kind) {
    case 'retry':
      return [of(RETRY, { contentRefusals: fate.contentRefusals })];
    case 'release':
      return [of(RELEASE)];
    case 'halve': {
      const middle = firstOffset + Math.floor((lastOffset - firstOffset) / 2);
      const [left, right] = fate.halfIds;
      return [
        of(TAKE_APART),
        of(ADD_HALF, { first: firstOffset, last: middle, half: left }),
        of(ADD_HALF, { first: middle + 1, last: lastOffset, half: right }),
      ];
    }
    default: {
      const count = { sql: COUNT, params: { webhookNumber, size: lastOffset - firstOffset + 1 } };
      return [of(SETTLE, { state: fate.kind }), count];
    }
  }
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

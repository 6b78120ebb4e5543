/** Claims and settles batches of a webhook's log with the store functions that the dispatcher uses. */

import type { AttemptRecord, Batch, BatchFate, Claim } from '../../src/domain/batch.ts';
import type { NewEvent } from '../../src/domain/event.ts';
import { NO_TIMINGS } from '../../src/domain/outcome.ts';
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

/** Makes this process the holder of the webhook, as a look of the dispatcher does. */
export async function hold({ store, clock }: TestStore, webhookNumber: number): Promise<void> {
  if (!onPostgres) return;
  await store.dispatch.wake(webhookNumber, clock());
  await store.dispatch.dueWebhooks(clock(), 1000);
}

/** Claims the next `size` waiting records as one batch with a lease. */
export async function claimNext(s: TestStore, webhookNumber: number, size: number): Promise<Batch> {
  const [row] = await s.rows(`SELECT cursor_offset FROM webhook_progress WHERE webhook_number = ${webhookNumber}`);
  const firstOffset = Number(row?.cursor_offset);
  const lastOffset = firstOffset + size - 1;
  const batch = batchOf(firstOffset, lastOffset, { webhookNumber, id: s.ids.uuid() });
  const now = s.clock();
  await hold(s, webhookNumber);
  await s.store.dispatch.claim(claimOf(batch, now));
  return batch;
}

/** The claim of a batch that begins at the cursor. */
export function claimOf(batch: Batch, now: number): Claim {
  return {
    webhookNumber: batch.webhookNumber,
    owner: OWNER,
    leaseExpiresAt: now + LEASE_MS,
    now,
    retries: [],
    fresh: [batch],
    cursorBefore: batch.firstOffset,
    cursorAfter: batch.lastOffset + 1,
    notBefore: 0,
    idleAt: now + LEASE_MS,
    session: { id: 'session', at: now },
    settingsVersion: 0,
  };
}

/** Settles a batch and records the attempt. */
export async function settleBatch(
  s: TestStore,
  batch: Batch,
  fate: BatchFate,
  attempt: Partial<AttemptRecord> = {},
): Promise<void> {
  const { webhookNumber } = batch;
  await s.store.settlements.settle({
    webhookNumber,
    owner: OWNER,
    batches: [{ batch, fate, attempt: attemptOf(s, batch, attempt) }],
    now: s.clock(),
    health: null,
    changes: [],
    audit: null,
    wakeAt: null,
    next: null,
  });
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

/** Throws unless the batches of a webhook cover every record below its cursor exactly once and the count of pending records is right. */
export async function checkLog(s: TestStore, webhookNumber: number): Promise<void> {
  const [progress] = await s.rows(`SELECT * FROM webhook_progress WHERE webhook_number = ${webhookNumber}`);
  const records = await s.rows(`SELECT * FROM outbox WHERE webhook_number = ${webhookNumber} ORDER BY record_offset`);
  const batches = await s.rows(`SELECT * FROM batch WHERE webhook_number = ${webhookNumber} ORDER BY first_offset`);
  const covered: number[] = [];
  let pending = 0;
  for (const { first_offset, last_offset, state } of batches) {
    for (let at = Number(first_offset); at <= Number(last_offset); at++) covered.push(at);
    if (state === 'pending') pending += Number(last_offset) - Number(first_offset) + 1;
  }
  const offsets = records.map(({ record_offset }) => Number(record_offset));
  const below = offsets.filter((offset) => offset < Number(progress?.cursor_offset));
  if (JSON.stringify(covered) !== JSON.stringify(below)) {
    throw new Error(`batches cover ${JSON.stringify(covered)}, records are ${JSON.stringify(below)}`);
  }
  if (pending !== progress?.pending_records)
    throw new Error(`${pending} pending, counted ${progress?.pending_records}`);
  const lost = await s.rows(
    `SELECT record_offset FROM outbox WHERE webhook_number = ${webhookNumber} AND event_key NOT IN (SELECT key FROM event)`,
  );
  if (lost.length > 0) throw new Error(`records without their event: ${JSON.stringify(lost)}`);
}

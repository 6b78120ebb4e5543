import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { DeliveryState } from '../../src/domain/webhook.ts';
import { deliveryId } from '../../src/kernel/ids.ts';
import type { ReplayableState } from '../../src/store/port/deliveries.ts';
import { takeChanges } from '../support/batches.ts';
import { newEvent, subscribe } from '../support/events.ts';
import { repeats } from '../support/repeats.ts';
import { execute, NOW, openTestStore, type TestStore } from '../support/store.ts';

repeats('postgres');

const RECORDS = 24;
const settledStates = ['delivered', 'dead', 'discarded'] as const;

type Step =
  | {
      readonly kind: 'replay';
      readonly first: number;
      readonly length: number;
      readonly states: readonly ReplayableState[];
    }
  /** Settles the batch that contains this record. */
  | { readonly kind: 'settle'; readonly offset: number; readonly state: (typeof settledStates)[number] };

const offset = fc.nat(RECORDS - 1);
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    fc.record({
      kind: fc.constant('replay' as const),
      first: offset,
      length: fc.integer({ min: 1, max: RECORDS }),
      states: fc.subarray(['delivered', 'dead'] as const),
    }),
    fc.record({ kind: fc.constant('settle' as const), offset, state: fc.constantFrom(...settledStates) }),
  ),
  { minLength: 1, maxLength: 25 },
);
/** Batches as sizes and states, starting at offset 0. The remaining records wait behind the cursor. */
const layout = fc.array(fc.tuple(fc.integer({ min: 1, max: 6 }), fc.constantFrom('pending', ...settledStates)), {
  maxLength: 8,
});

type ModelRecord = { state: DeliveryState; attempts: number };
type BatchRow = {
  first_offset: number;
  last_offset: number;
  id: string;
  state: string;
  attempt_count: number;
  next_attempt_at: number | null;
  lease_owner: string | null;
};

async function logOf(s: TestStore): Promise<number> {
  const number = await subscribe(s, ['*']);
  await s.store.events.publish(Array.from({ length: RECORDS }, () => newEvent(s, 'order.placed')));
  await execute(s, "UPDATE webhook_progress SET state = 'running'");
  return number;
}

async function insertBatches(
  s: TestStore,
  number: number,
  batches: readonly (readonly [number, DeliveryState])[],
): Promise<ModelRecord[]> {
  const statements = ['DELETE FROM batch'];
  const model: ModelRecord[] = [];
  for (const [size, state] of batches) {
    const first = model.length;
    const last = Math.min(first + size, RECORDS) - 1;
    if (last < first) break;
    const times = state === 'pending' ? `${NOW + 500}, NULL` : `NULL, ${NOW - 500}`;
    statements.push(
      `INSERT INTO batch (webhook_number, first_offset, last_offset, id, state, attempt_count, content_refusals,
        next_attempt_at, settled_at)
       VALUES (${number}, ${first}, ${last}, '${s.ids.uuid()}', '${state}', 3, 1, ${times})`,
    );
    for (let at = first; at <= last; at++) model.push({ state, attempts: 3 });
  }
  statements.push(
    `UPDATE webhook_position SET covered_offset = ${model.length}, pending_records = ${pendingIn(model)} WHERE webhook_number = ${number}`,
  );
  await execute(s, ...statements);
  return model;
}

const batchesOf = async ({ rows }: TestStore): Promise<BatchRow[]> =>
  (await rows('SELECT * FROM batch ORDER BY first_offset')) as BatchRow[];

const pendingIn = (model: readonly ModelRecord[]): number => model.filter(({ state }) => state === 'pending').length;

function assertMatches(batches: readonly BatchRow[], model: readonly ModelRecord[]): void {
  let next = 0;
  for (const batch of batches) {
    assert.equal(batch.first_offset, next, 'batches cover every offset below the cursor exactly once');
    assert.ok(batch.last_offset >= batch.first_offset);
    for (let at = batch.first_offset; at <= batch.last_offset; at++) {
      assert.deepEqual({ state: batch.state, attempts: batch.attempt_count }, model[at], `record ${at}`);
    }
    next = batch.last_offset + 1;
  }
  assert.equal(next, model.length);
  assert.equal(new Set(batches.map(({ id }) => id)).size, batches.length, 'no two batches have one id');
}

describe('replaying', () => {
  it('makes exactly the requested settled records pending, in any layout of batches, and counts them', async (t) => {
    const s = await openTestStore(t);
    const number = await logOf(s);
    await fc.assert(
      fc.asyncProperty(layout, steps, async (batches, todo) => {
        const model = await insertBatches(s, number, batches);
        for (const step of todo) {
          if (step.kind === 'settle') {
            const batch = (await batchesOf(s)).find(
              (row) => row.first_offset <= step.offset && row.last_offset >= step.offset,
            );
            if (batch === undefined) continue;
            await execute(
              s,
              `UPDATE batch SET state = '${step.state}', next_attempt_at = NULL, settled_at = ${NOW}, attempt_count = 3
               WHERE first_offset = ${batch.first_offset}`,
            );
            for (let at = batch.first_offset; at <= batch.last_offset; at++)
              model[at] = { state: step.state, attempts: 3 };
            await execute(
              s,
              `UPDATE webhook_position SET pending_records = ${pendingIn(model)} WHERE webhook_number = ${number}`,
            );
            continue;
          }
          const [first, last] = [step.first, step.first + step.length - 1];
          const hit = model.filter(
            ({ state }, at) => at >= first && at <= last && (step.states as readonly string[]).includes(state),
          );
          const range = { webhookNumber: number, first, last, states: step.states, now: NOW, newId: s.ids.uuid };
          assert.equal(await s.store.replays.count(range), hit.length);
          assert.equal(await s.store.replays.replay(range, s.entry()), hit.length);
          for (const record of hit) Object.assign(record, { state: 'pending', attempts: 0 });
          assertMatches(await batchesOf(s), model);
          assert.deepEqual(await s.rows('SELECT pending_records FROM webhook_position'), [
            { pending_records: pendingIn(model) },
          ]);
        }
      }),
      { numRuns: 150 },
    );
  });

  it('makes them due immediately and resets their count of content refusals', async (t) => {
    const s = await openTestStore(t);
    const number = await logOf(s);
    await insertBatches(s, number, [
      [4, 'delivered'],
      [4, 'dead'],
      [4, 'pending'],
    ]);
    const range = { webhookNumber: number, first: 2, last: 9, states: ['delivered', 'dead'] as const };
    await s.store.replays.replay({ ...range, now: NOW, newId: s.ids.uuid }, s.entry());
    const columns = 'first_offset, last_offset, state, content_refusals, next_attempt_at, settled_at';
    assert.deepEqual((await s.rows(`SELECT ${columns} FROM batch ORDER BY first_offset`)).map(Object.values), [
      [0, 1, 'delivered', 1, null, NOW - 500],
      [2, 3, 'pending', 0, NOW, null],
      [4, 7, 'pending', 0, NOW, null],
      [8, 11, 'pending', 1, NOW + 500, null],
    ]);
  });

  it('gives both parts of a split batch new ids, so that an id always has the same records', async (t) => {
    const s = await openTestStore(t);
    const number = await logOf(s);
    await insertBatches(s, number, [
      [4, 'delivered'],
      [4, 'delivered'],
    ]);
    const ids = async (): Promise<unknown[]> =>
      (await s.rows('SELECT id FROM batch ORDER BY first_offset')).map(({ id }) => id);
    const before = await ids();
    const range = { webhookNumber: number, first: 0, last: 2, states: ['delivered'] as const };
    await s.store.replays.replay({ ...range, now: NOW, newId: s.ids.uuid }, s.entry());
    const [first, second, third] = await ids();
    assert.equal(third, before[1]);
    assert.equal(new Set([first, second, ...before]).size, 4);
  });

  it('wakes a running webhook, but no stopped one and no other', async (t) => {
    const s = await openTestStore(t);
    const number = await logOf(s);
    const other = await subscribe(s, ['*']);
    await insertBatches(s, number, [[4, 'dead']]);
    await execute(
      s,
      `INSERT INTO batch (webhook_number, first_offset, last_offset, id, state, attempt_count, content_refusals, settled_at)
       VALUES (${other}, 0, 3, 'x', 'dead', 1, 0, 1)`,
    );
    const replay = () =>
      s.store.replays.replay(
        { webhookNumber: number, first: 0, last: 1, states: ['dead'], now: NOW, newId: s.ids.uuid },
        s.entry(),
      );
    await execute(s, `UPDATE webhook_progress SET probe_at = ${NOW + 1}`);
    await takeChanges(s);
    assert.equal(await replay(), 2);
    assert.deepEqual(await takeChanges(s), [number]);
    // A replay also sends to a failing endpoint at once, because its user expects the endpoint to work again.
    assert.deepEqual(
      (await s.rows('SELECT probe_at FROM webhook_progress ORDER BY webhook_number')).map(({ probe_at }) => probe_at),
      [null, NOW + 1],
    );
    await execute(s, "UPDATE webhook_progress SET state = 'stopped'");
    await execute(s, "UPDATE batch SET state = 'dead', next_attempt_at = NULL, settled_at = 1");
    assert.equal(await replay(), 2);
    assert.deepEqual(await takeChanges(s), []);
    assert.deepEqual(
      await s.rows(`SELECT first_offset, last_offset, state FROM batch WHERE webhook_number = ${other}`),
      [{ first_offset: 0, last_offset: 3, state: 'dead' }],
    );
  });

  it('makes the delivery pending with an attempt count of 0', async (t) => {
    const s = await openTestStore(t);
    const number = await logOf(s);
    await insertBatches(s, number, [[5, 'dead']]);
    const at = (position: number) => ({ createdAt: NOW, webhookNumber: number, offset: position });
    const get = async (position: number) => {
      const [row] = await s.rows(
        `SELECT event_key FROM outbox WHERE webhook_number = ${number} AND record_offset = ${position}`,
      );
      const address = { ...at(position), createdAt: Math.floor(Number(row?.event_key) / 2048) };
      const delivery = await s.store.deliveries.get(address);
      assert.equal(delivery?.id, deliveryId(address));
      return [delivery?.state, delivery?.attemptCount, delivery?.nextAttemptAt, delivery?.settledAt];
    };
    assert.deepEqual(await get(2), ['dead', 3, null, NOW - 500]);
    await s.store.replays.replay(
      { webhookNumber: number, first: 2, last: 2, states: ['dead'], now: NOW, newId: s.ids.uuid },
      s.entry(),
    );
    assert.deepEqual(await get(1), ['dead', 3, null, NOW - 500]);
    assert.deepEqual(await get(2), ['pending', 0, NOW, null]);
    assert.deepEqual(await get(3), ['dead', 3, null, NOW - 500]);
    assert.deepEqual(await get(9), ['pending', 0, null, null]);
  });
});

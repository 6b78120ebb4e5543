import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { type DeliveryAddress, deliveryAddress, firstRowKeyAt } from '../../src/kernel/ids.ts';
import type { DeliveryFilter } from '../../src/store/deliveries.ts';
import { subscribe } from '../support/events.ts';
import { NOW, openTestStore, type TestStore } from '../support/store.ts';

const WEBHOOKS = 8;
const STATES = ['dead', 'pending', 'delivered'] as const;

type Log = {
  /** For each record when its event happened, in tenths of a second; neighbours may stand in another order than they happened in. */
  readonly moments: readonly number[];
  /** Batches from the beginning on; what they do not reach waits. */
  readonly batches: readonly (readonly [size: number, state: (typeof STATES)[number]])[];
};

const log: fc.Arbitrary<Log> = fc.record({
  moments: fc
    .uniqueArray(fc.nat(400), { maxLength: 60 })
    .chain((some) =>
      fc.array(fc.nat(12), { minLength: some.length, maxLength: some.length }).map((by) => shaken(some, by)),
    ),
  batches: fc.array(fc.tuple(fc.integer({ min: 1, max: 9 }), fc.constantFrom(...STATES)), { maxLength: 8 }),
});

it('deliveries of many webhooks in one state are merged in the order of their events, none missed and none twice', async (t) => {
  const s = await openTestStore(t);
  s.database.connection.pragma('synchronous = OFF');
  for (let n = 0; n < WEBHOOKS; n++) await subscribe(s, ['*']);
  const { connection } = s.database;
  const event = connection.prepare(
    `INSERT OR IGNORE INTO event (key, id, type, data, correlation_id, created_at) VALUES (?, 'id', 'order.placed', '{}', 'c', ?)`,
  );
  const outbox = connection.prepare('INSERT INTO outbox (webhook_number, record_offset, event_key) VALUES (?, ?, ?)');
  const batch = connection.prepare(
    `INSERT INTO batch (webhook_number, first_offset, last_offset, id, state, attempt_count, content_refusals, next_attempt_at, settled_at)
     VALUES (?, ?, ?, 'id', ?, 1, 0, ?, ?)`,
  );
  const progress = connection.prepare(
    'UPDATE webhook_progress SET next_offset = ?, cursor_offset = ?, pending_records = ? WHERE webhook_number = ?',
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(log, { minLength: WEBHOOKS, maxLength: WEBHOOKS }),
      fc.constantFrom('dead' as const, 'pending' as const),
      fc.option(fc.nat(400), { nil: undefined }),
      fc.integer({ min: 1, max: 40 }),
      async (logs, state, until, limit) => {
        connection.exec('DELETE FROM event; DELETE FROM outbox; DELETE FROM batch');
        const wanted: { moment: number; webhookNumber: number; offset: number }[] = [];
        for (const [index, { moments, batches }] of logs.entries()) {
          const webhookNumber = index + 1;
          let cursor = 0;
          let pending = 0;
          const states: string[] = moments.map(() => 'pending');
          for (const [offset, moment] of moments.entries()) {
            event.run(firstRowKeyAt(NOW + moment * 100), NOW + moment * 100);
            outbox.run(webhookNumber, offset, firstRowKeyAt(NOW + moment * 100));
          }
          for (const [size, of] of batches) {
            const end = Math.min(cursor + size, moments.length);
            if (end === cursor) break;
            const isPending = of === 'pending';
            batch.run(webhookNumber, cursor, end - 1, of, isPending ? NOW : null, isPending ? null : NOW);
            states.fill(of, cursor, end);
            pending += isPending ? end - cursor : 0;
            cursor = end;
          }
          progress.run(moments.length, cursor, pending, webhookNumber);
          for (const [offset, moment] of moments.entries()) {
            if (states[offset] === state && (until === undefined || moment < until))
              wanted.push({ moment, webhookNumber, offset });
          }
        }
        wanted.sort((a, b) => b.moment - a.moment || b.webhookNumber - a.webhookNumber || b.offset - a.offset);
        const filter = { state, ...(until === undefined ? {} : { until: NOW + until * 100 }) };
        const found = await everyPlace(s, filter, limit);
        assert.deepEqual(
          found,
          wanted.map(({ webhookNumber, offset }) => `${webhookNumber} ${offset}`),
        );
      },
    ),
    { numRuns: 60 },
  );
});

/** In order, but for some that are moved a few places on. */
function shaken(moments: readonly number[], by: readonly number[]): number[] {
  return moments
    .toSorted((a, b) => a - b)
    .map((moment, at) => ({ moment, place: at + (by[at] ?? 0) }))
    .sort((a, b) => a.place - b.place)
    .map(({ moment }) => moment);
}

async function everyPlace({ store }: TestStore, filter: DeliveryFilter, limit: number): Promise<string[]> {
  const found: string[] = [];
  for (let before: DeliveryAddress | null = null; ; ) {
    const { items, next } = await store.deliveries.list(filter, before, limit);
    assert.ok(items.length <= limit);
    found.push(...items.map(({ webhookNumber, offset }) => `${webhookNumber} ${offset}`));
    if (next === null) return found;
    before = deliveryAddress(next);
  }
}

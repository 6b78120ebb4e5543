/** Deliveries and attempts in the store. */

import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import fc from 'fast-check';
import type { AttemptRecord } from '../../src/domain/batch.ts';
import { NO_TIMINGS } from '../../src/domain/outcome.ts';
import type { Delivery } from '../../src/domain/webhook.ts';
import { createIds, type DeliveryAddress, deliveryAddress, deliveryId, firstRowKeyAt } from '../../src/kernel/ids.ts';
import type { DeliveryFilter } from '../../src/store/port/deliveries.ts';
import { ConstraintViolation } from '../../src/store/port/errors.ts';
import { ATTEMPTS_LOOKED_THROUGH, OUTCOMES_LOOKED_THROUGH } from '../../src/store/shared/delivery/attempts.ts';
import { attemptStatement } from '../../src/store/shared/delivery/settlement.ts';
import { batchOf } from '../support/attempts.ts';
import { attemptOf } from '../support/batches.ts';
import { newEvent, subscribe } from '../support/events.ts';
import { repeats } from '../support/repeats.ts';
import { execute, leavingNothing, NOW, openTestStore, type TestStore } from '../support/store.ts';

repeats('postgres');

const MINUTE_MS = 60_000;

/** Two webhooks, one of which gets every event. 30 events, one a minute from NOW. Batches in every state, and records behind the cursor. */
async function filled(t: TestContext): Promise<TestStore & { readonly all: number; readonly some: number }> {
  const s = await openTestStore(t);
  const all = await subscribe(s, ['*']);
  const some = await subscribe(s, ['order.placed']);
  for (let n = 0; n < 30; n++) {
    // The smallest id of its millisecond, so that filters by time hit their limits exactly.
    const id = createIds(s.clock, (size) => new Uint8Array(size)).uuid();
    const subject = n % 5 === 0 ? null : `person ${n % 4}`;
    const orderingKey = n % 7 === 0 ? null : `key ${n % 3}`;
    await s.store.events.publish([
      newEvent(s, n % 3 === 0 ? 'order.placed' : 'stock.low', { id, subject, orderingKey }),
    ]);
    s.advance(MINUTE_MS);
  }
  const states = ['delivered', 'dead', 'pending', 'discarded'] as const;
  for (const [number, size] of [
    [all, 5],
    [some, 2],
  ] as const) {
    for (const [n, state] of states.entries()) {
      const pending = state === 'pending';
      await execute(
        s,
        `INSERT INTO batch (webhook_number, first_offset, last_offset, id, state, attempt_count, content_refusals,
          next_attempt_at, settled_at)
         VALUES (${number}, ${n * size}, ${(n + 1) * size - 1}, '${s.ids.uuid()}', '${state}', ${n}, 0, ${pending ? NOW : 'NULL'},
           ${pending ? 'NULL' : NOW + n})`,
      );
    }
    await execute(
      s,
      `UPDATE webhook_position SET covered_offset = ${4 * size}, pending_records = ${size} WHERE webhook_number = ${number}`,
    );
  }
  // Only events that were erased before their delivery have discarded records, so erase them for both webhooks.
  await execute(
    s,
    `
    UPDATE event SET data = NULL, erased_at = ${NOW} WHERE key IN (
      SELECT o.event_key FROM outbox AS o JOIN batch AS b ON b.webhook_number = o.webhook_number
      WHERE b.state = 'discarded' AND o.record_offset BETWEEN b.first_offset AND b.last_offset)`,
  );
  return { ...s, all, some };
}

/** Records attempts: the last one of dead records got a 503, and the last one of pending records timed out. */
async function answered(s: TestStore & { readonly all: number; readonly some: number }): Promise<void> {
  for (const [webhookNumber, size] of [
    [s.all, 5],
    [s.some, 2],
  ] as const) {
    const ofBatch = (n: number, more: Partial<AttemptRecord>): Promise<void> => {
      const batch = batchOf(n * size, (n + 1) * size - 1, { webhookNumber });
      return s.store.attempts.insert(attemptOf(s, batch, more));
    };
    await ofBatch(1, { responseStatus: 503, errorClass: 'http_status', errorMessage: 'the receiver answered 503' });
    await ofBatch(2, { responseStatus: 500, errorClass: 'http_status', errorMessage: 'the receiver answered 500' });
    await ofBatch(2, { responseStatus: 200, errorClass: 'timeout', errorMessage: 'no answer within 15 s' });
  }
}

function hasResponse({ state, attemptCount }: Delivery, response: NonNullable<DeliveryFilter['response']>): boolean {
  if (state === 'dead') return 'first' in response && response.first <= 503 && response.last >= 503;
  return (
    state === 'pending' && attemptCount === 2 && 'errorClasses' in response && response.errorClasses.includes('timeout')
  );
}

const newestFirst = (a: Delivery, b: Delivery): number =>
  b.createdAt - a.createdAt || b.webhookNumber - a.webhookNumber;

async function everyPage(s: TestStore, filter: DeliveryFilter, limit: number): Promise<Delivery[]> {
  const found: Delivery[] = [];
  for (let before: DeliveryAddress | null = null; ; ) {
    const { items, next } = await s.store.deliveries.list(filter, before, limit);
    assert.ok(items.length <= limit);
    found.push(...items);
    if (next === null) return found;
    before = deliveryAddress(next);
  }
}

describe('the deliveries', () => {
  it('are the records of each webhook with the state of their batch, or pending without a batch', async (t) => {
    const s = await filled(t);
    const every = (await s.store.deliveries.list({}, null, 1000)).items;
    assert.equal(every.length, 40);
    assert.equal(new Set(every.map(({ id }) => id)).size, 40);
    const ofSome = every.filter(({ webhookNumber }) => webhookNumber === s.some);
    assert.deepEqual(
      ofSome.map(({ offset, state, attemptCount, eventType }) => [offset, state, attemptCount, eventType]),
      [
        [9, 'pending', 0],
        [8, 'pending', 0],
        [7, 'discarded', 3],
        [6, 'discarded', 3],
        [5, 'discarded', 2],
        [4, 'pending', 2],
        [3, 'dead', 1],
        [2, 'dead', 1],
        [1, 'delivered', 0],
        [0, 'delivered', 0],
      ].map((row) => [...row, 'order.placed']),
    );
    for (const delivery of every) {
      assert.deepEqual(await s.store.deliveries.get(deliveryAddress(delivery.id) ?? assert.fail()), delivery);
    }
    const unknown = [
      { webhookNumber: s.some, offset: 10 },
      { webhookNumber: 1000, offset: 0 },
    ];
    assert.deepEqual(await s.store.deliveries.atPlaces([...every, ...unknown, ...ofSome]), [
      ...every,
      null,
      null,
      ...ofSome,
    ]);
    assert.deepEqual(await s.store.deliveries.atPlaces([]), []);
  });

  it('match all given filters, page by page, newest event first', async (t) => {
    const s = await filled(t);
    await answered(s);
    const every = (await s.store.deliveries.list({}, null, 1000)).items;
    assert.deepEqual(every, every.toSorted(newestFirst));
    const instant = fc.integer({ min: -1, max: 31 }).map((minute) => NOW + minute * MINUTE_MS);
    const each = fc.record<Required<DeliveryFilter>>({
      webhookNumber: fc.constantFrom(s.all, s.some, 99),
      webhookNumbers: fc.subarray([s.all, s.some, 99]),
      state: fc.constantFrom('pending', 'delivered', 'dead', 'discarded'),
      eventType: fc.constantFrom('order.placed', 'stock.low', 'stock'),
      since: instant,
      until: instant,
      eventId: fc.constantFrom(...every.map(({ eventId }) => eventId), s.ids.uuid(), 'none'),
      subject: fc.constantFrom('person 0', 'person 1', 'person'),
      orderingKey: fc.constantFrom('key 0', 'key 1', 'key'),
      text: fc.constantFrom('person 0', 'person 1', 'person'),
      audience: fc.constant('nobody'),
      offsets: fc.tuple(fc.nat(32), fc.nat(3)).map(([first, more]) => ({ first, last: first + more })),
      response: fc.constantFrom(
        { first: 503, last: 503 },
        { first: 500, last: 599 },
        { first: 100, last: 499 },
        { first: 200, last: 299 },
        { errorClasses: ['timeout'] },
        { errorClasses: ['dns', 'tls'] },
      ),
    });
    const names = [
      ...([
        'webhookNumber',
        'webhookNumbers',
        'state',
        'eventType',
        'since',
        'until',
        'eventId',
        'subject',
        'orderingKey',
        'text',
      ] as const),
      ...(['offsets', 'response', 'response'] as const),
    ];
    // At most three at a time, because more would match almost nothing.
    const filters = fc
      .tuple(each, fc.subarray([...names], { maxLength: 3 }))
      .map(([all, some]): DeliveryFilter => Object.fromEntries(some.map((name) => [name, all[name]])));
    await fc.assert(
      fc.asyncProperty(filters, fc.integer({ min: 1, max: 50 }), async (filter, limit) => {
        const wanted = every.filter(
          (delivery) =>
            (filter.webhookNumber ?? delivery.webhookNumber) === delivery.webhookNumber &&
            (filter.webhookNumbers ?? [delivery.webhookNumber]).includes(delivery.webhookNumber) &&
            (filter.state ?? delivery.state) === delivery.state &&
            (filter.eventType ?? delivery.eventType) === delivery.eventType &&
            (filter.eventId ?? delivery.eventId) === delivery.eventId &&
            (filter.subject ?? delivery.subject) === delivery.subject &&
            (filter.orderingKey ?? delivery.orderingKey) === delivery.orderingKey &&
            (filter.text ?? delivery.subject) === delivery.subject &&
            delivery.offset >= (filter.offsets?.first ?? 0) &&
            delivery.offset <= (filter.offsets?.last ?? 99) &&
            delivery.createdAt >= (filter.since ?? 0) &&
            delivery.createdAt < (filter.until ?? Number.MAX_SAFE_INTEGER) &&
            (filter.response === undefined || hasResponse(delivery, filter.response)),
        );
        assert.deepEqual(await everyPage(s, filter, limit), wanted);
      }),
      {
        numRuns: 300,
        examples: [
          [{ since: NOW + MINUTE_MS }, 50],
          [{ until: NOW + MINUTE_MS }, 50],
        ],
      },
    );
  });

  it('are not found if one part of the id is wrong', async (t) => {
    const s = await filled(t);
    const [delivery] = (await s.store.deliveries.list({}, null, 1)).items;
    const address = deliveryAddress(delivery?.id ?? '') ?? assert.fail();
    assert.deepEqual(await s.store.deliveries.get(address), delivery);
    for (const wrong of [{ createdAt: address.createdAt + 1 }, { offset: 5000 }, { webhookNumber: 99 }]) {
      assert.equal(await s.store.deliveries.get({ ...address, ...wrong }), null);
    }
  });

  it('continue at the millisecond of a cursor whose record was deleted, without a gap', async (t) => {
    const s = await filled(t);
    const every = (await s.store.deliveries.list({}, null, 1000)).items;
    const at = NOW + 9 * MINUTE_MS;
    const older = every.filter(({ createdAt }) => createdAt <= at);
    assert.ok(older.length > 10 && older.length < every.length);
    const gone = deliveryAddress(deliveryId({ createdAt: at, webhookNumber: 99, offset: 3 }));
    assert.deepEqual((await s.store.deliveries.list({}, gone, 1000)).items, older);
    for (const createdAt of [0, NOW - 2]) {
      assert.deepEqual(
        (await s.store.deliveries.list({}, { createdAt, webhookNumber: 99, offset: 3 }, 1000)).items,
        [],
      );
    }
    const farAhead = { createdAt: 2 ** 48 - 1, webhookNumber: 99, offset: 3 };
    assert.deepEqual((await s.store.deliveries.list({}, farAhead, 1000)).items, every);
  });

  it('are discarded after an erasure unless they were settled before', async (t) => {
    const s = await filled(t);
    await execute(s, `UPDATE event SET data = NULL, erased_at = ${NOW + MINUTE_MS} WHERE erased_at IS NULL`);
    const every = (await s.store.deliveries.list({ webhookNumber: s.some }, null, 100)).items;
    const states = [
      'discarded',
      'discarded',
      'discarded',
      'discarded',
      'discarded',
      'discarded',
      'dead',
      'dead',
      'delivered',
      'delivered',
    ];
    assert.deepEqual(
      every.map(({ state }) => state),
      states,
    );
    assert.equal((await s.store.deliveries.list({ state: 'pending' }, null, 100)).items.length, 0);
    assert.equal((await s.store.deliveries.list({ state: 'discarded' }, null, 100)).items.length, 26);
  });

  it('are discarded after an erasure during their attempt, whatever its outcome', async (t) => {
    const s = await filled(t);
    await execute(s, `UPDATE event SET data = NULL, erased_at = ${NOW - 1}`);
    const every = (await s.store.deliveries.list({}, null, 1000)).items;
    assert.deepEqual(new Set(every.map(({ state }) => state)), new Set(['discarded']));
  });
});

describe('the offsets of a period', () => {
  it('are those of events at or after `since` and before `until`', async (t) => {
    const s = await filled(t);
    const between = (number: number, from: number, to: number) =>
      s.store.deliveries.offsetsBetween(number, { since: NOW + from * MINUTE_MS, until: NOW + to * MINUTE_MS });
    assert.deepEqual(await between(s.all, 0, 30), { first: 0, last: 29 });
    assert.deepEqual(await between(s.all, 3, 5), { first: 3, last: 4 });
    assert.deepEqual(await between(s.some, 3, 10), { first: 1, last: 3 });
    assert.deepEqual(await between(s.some, -5, 1), { first: 0, last: 0 });
    assert.equal(await between(s.some, 1, 3), null);
    assert.equal(await between(s.all, 30, 60), null);
    assert.equal(await between(99, 0, 60), null);
  });
});

const WEBHOOKS = 8;
/** Records of an `open` batch are pending, and only the process that sends them knows the batch. */
const STATES = ['dead', 'pending', 'delivered', 'open'] as const;

type Log = {
  /** The time of each record's event in tenths of a second. Neighbouring records may be out of order. */
  readonly moments: readonly number[];
  /** Batches, starting at offset 0. The remaining records wait. */
  readonly batches: readonly (readonly [size: number, state: (typeof STATES)[number]])[];
  /** How many batches the position of the webhook is behind. */
  readonly behind: number;
};

const log: fc.Arbitrary<Log> = fc.record({
  moments: fc
    .uniqueArray(fc.nat(400), { maxLength: 60 })
    .chain((some) =>
      fc.array(fc.nat(12), { minLength: some.length, maxLength: some.length }).map((by) => nearlySorted(some, by)),
    ),
  batches: fc.array(fc.tuple(fc.integer({ min: 1, max: 9 }), fc.constantFrom(...STATES)), { maxLength: 8 }),
  behind: fc.nat(3),
});

it('deliveries of all webhooks in one state are ordered by event time, without gaps or repeats', async (t) => {
  const s = await openTestStore(t);
  for (let n = 0; n < WEBHOOKS; n++) await subscribe(s, ['*']);
  await fc.assert(
    fc.asyncProperty(
      fc.array(log, { minLength: WEBHOOKS, maxLength: WEBHOOKS }),
      fc.constantFrom('dead' as const, 'pending' as const),
      fc.option(fc.nat(400), { nil: undefined }),
      fc.integer({ min: 1, max: 40 }),
      async (logs, state, until, limit) => {
        const statements = ['DELETE FROM event', 'DELETE FROM outbox', 'DELETE FROM batch'];
        const wanted: { moment: number; webhookNumber: number; offset: number }[] = [];
        for (const [index, { moments, batches, behind }] of logs.entries()) {
          const webhookNumber = index + 1;
          let cursor = 0;
          const ends: number[] = [0];
          let isOpen = false;
          let pending = 0;
          const states: string[] = moments.map(() => 'pending');
          for (const [offset, moment] of moments.entries()) {
            const key = firstRowKeyAt(NOW + moment * 100);
            statements.push(
              `INSERT INTO event (key, id, type, data, correlation_id, created_at)
               VALUES (${key}, 'id', 'order.placed', '{}', 'c', ${NOW + moment * 100}) ON CONFLICT DO NOTHING`,
              `INSERT INTO outbox (webhook_number, record_offset, event_key, data_bytes) VALUES (${webhookNumber}, ${offset}, ${key}, 2)`,
            );
          }
          for (const [size, of] of batches) {
            const end = Math.min(cursor + size, moments.length);
            if (end === cursor) break;
            isOpen ||= of === 'open';
            if (!isOpen) ends.push(end);
            if (of === 'open') {
              cursor = end;
              continue;
            }
            const isPending = of === 'pending';
            statements.push(
              `INSERT INTO batch (webhook_number, first_offset, last_offset, id, state, attempt_count, content_refusals,
                next_attempt_at, settled_at)
               VALUES (${webhookNumber}, ${cursor}, ${end - 1}, 'id', '${of}', 1, 0, ${isPending ? `${NOW}, NULL` : `NULL, ${NOW}`})`,
            );
            states.fill(of, cursor, end);
            pending += isPending ? end - cursor : 0;
            cursor = end;
          }
          const covered = ends.at(-1 - behind) ?? 0;
          statements.push(
            `UPDATE webhook_position SET covered_offset = ${covered}, pending_records = ${pending}
             WHERE webhook_number = ${webhookNumber}`,
          );
          for (const [offset, moment] of moments.entries()) {
            if (states[offset] === state && (until === undefined || moment < until))
              wanted.push({ moment, webhookNumber, offset });
          }
        }
        await execute(s, ...statements);
        wanted.sort((a, b) => b.moment - a.moment || b.webhookNumber - a.webhookNumber || b.offset - a.offset);
        const filter = { state, ...(until === undefined ? {} : { until: NOW + until * 100 }) };
        const found = await listAll(s, filter, limit);
        assert.deepEqual(
          found,
          wanted.map(({ webhookNumber, offset }) => `${webhookNumber} ${offset}`),
        );
      },
    ),
    { numRuns: 60 },
  );
});

/** Sorts the times and then moves each up to 12 places towards the end. */
function nearlySorted(moments: readonly number[], by: readonly number[]): number[] {
  return moments
    .toSorted((a, b) => a - b)
    .map((moment, at) => ({ moment, place: at + (by[at] ?? 0) }))
    .sort((a, b) => a.place - b.place)
    .map(({ moment }) => moment);
}

async function listAll({ store }: TestStore, filter: DeliveryFilter, limit: number): Promise<string[]> {
  const found: string[] = [];
  for (let before: DeliveryAddress | null = null; ; ) {
    const { items, next } = await store.deliveries.list(filter, before, limit);
    assert.ok(items.length <= limit);
    found.push(...items.map(({ webhookNumber, offset }) => `${webhookNumber} ${offset}`));
    if (next === null) return found;
    before = deliveryAddress(next);
  }
}

function attempt({ ids }: TestStore, webhookNumber: number, more: Partial<AttemptRecord> = {}): AttemptRecord {
  return {
    id: ids.uuid(),
    webhookNumber,
    kind: 'delivery',
    batchId: 'batch',
    firstOffset: 0,
    lastOffset: 9,
    attemptNumber: 1,
    startedAt: NOW,
    requestHeaders: { 'content-type': 'application/json', 'x-api-key': '[secret]' },
    responseStatus: 200,
    responseHeaders: { server: 'test' },
    responseBody: Buffer.from([0, 255, 128]),
    errorClass: null,
    errorMessage: null,
    responseProblem: null,
    timings: { ...NO_TIMINGS, totalMs: 12 },
    ...more,
  };
}

describe('the attempts', () => {
  it('are stored unchanged, with or without a response', async (t) => {
    const s = await openTestStore(t);
    const number = await subscribe(s, ['*']);
    const answered = attempt(s, number);
    const failed = attempt(s, number, {
      responseStatus: null,
      responseHeaders: null,
      responseBody: null,
      attemptNumber: 2,
      errorClass: 'dns',
      errorMessage: 'no such host',
      timings: NO_TIMINGS,
    });
    await s.database.commit([attemptStatement(answered), attemptStatement(failed)]);
    assert.deepEqual(await s.store.attempts.ofRecord(number, 5, 10), [answered, failed]);
    assert.deepEqual(await s.store.attempts.get(failed.id), failed);
    assert.equal(await s.store.attempts.get(s.ids.uuid()), null);
    assert.equal(await s.store.attempts.get('no id'), null);
  });

  it('of a record are those of batches with it, oldest first, up to the limit', async (t) => {
    const s = await openTestStore(t);
    const [number, other] = [await subscribe(s, ['*']), await subscribe(s, ['*'])];
    const spans = [
      [0, 999],
      [0, 0],
      [1, 500],
      [501, 999],
      [1000, 1999],
    ] as const;
    const made = spans.map(([firstOffset, lastOffset]) => attempt(s, number, { firstOffset, lastOffset }));
    const elsewhere = attempt(s, other, { firstOffset: 0, lastOffset: 999 });
    const heartbeat = attempt(s, number, { kind: 'heartbeat', batchId: null, firstOffset: null, lastOffset: null });
    await s.database.commit([...made, elsewhere, heartbeat].map(attemptStatement));
    const spansOf = async (offset: number, limit = 10) =>
      (await s.store.attempts.ofRecord(number, offset, limit))
        .map(({ firstOffset, lastOffset }) => `${firstOffset}-${lastOffset}`)
        .join(' ');
    assert.equal(await spansOf(0), '0-999 0-0');
    assert.equal(await spansOf(1), '0-999 1-500');
    assert.equal(await spansOf(999), '0-999 501-999');
    assert.equal(await spansOf(1000), '1000-1999');
    assert.equal(await spansOf(2000), '');
    assert.equal(await spansOf(0, 1), '0-0', 'the last ones');
  });

  it('of a webhook are newest first, with heartbeats and tests, however many attempts others made', async (t) => {
    const s = await openTestStore(t);
    const [quiet, busy] = [await subscribe(s, ['*']), await subscribe(s, ['*'])];
    const [some, other] = [
      { firstOffset: 0, lastOffset: 0 },
      { firstOffset: null, lastOffset: null, batchId: null },
    ];
    const made = [
      attempt(s, quiet, some),
      attempt(s, quiet, { ...other, kind: 'heartbeat' }),
      attempt(s, quiet, { firstOffset: 1, lastOffset: 3 }),
      attempt(s, quiet, { ...other, kind: 'test' }),
    ];
    await s.database.commit(made.map(attemptStatement));
    const newest = made.toReversed();
    const latestOf = (number: number, limit: number) => s.store.attempts.latestOf(number, limit);
    assert.deepEqual(await latestOf(quiet, 10), newest);
    assert.deepEqual(await latestOf(quiet, 2), newest.slice(0, 2));
    assert.deepEqual(await latestOf(busy, 10), []);
    const others = Array.from({ length: ATTEMPTS_LOOKED_THROUGH }, (_, n) =>
      attempt(s, busy, { firstOffset: n, lastOffset: n }),
    );
    await s.database.commit(others.map(attemptStatement));
    assert.deepEqual(await latestOf(quiet, 10), newest, 'found although none is among the last of all');
    assert.deepEqual(await latestOf(busy, 3), others.toReversed().slice(0, 3));
    assert.deepEqual(await s.store.attempts.latest(3), others.toReversed().slice(0, 3));
  });

  it('tell the last delivery and the last error of several webhooks, without heartbeats and tests', async (t) => {
    const s = await openTestStore(t);
    const [quiet, busy, silent] = [await subscribe(s, ['*']), await subscribe(s, ['*']), await subscribe(s, ['*'])];
    const at = (number: number, offset: number, more: Partial<AttemptRecord> = {}): AttemptRecord => {
      s.advance(1000);
      return attempt(s, number, { firstOffset: offset, lastOffset: offset, startedAt: s.clock(), ...more });
    };
    const failed = { errorClass: 'http_status', errorMessage: 'the receiver answered 503' } as const;
    const earlier = at(quiet, 0, failed);
    const delivered = at(quiet, 0);
    const failure = at(quiet, 1, failed);
    const without = { firstOffset: null, lastOffset: null, batchId: null };
    const made = [earlier, delivered, failure, at(quiet, 0, { ...without, kind: 'test' })];
    const others = Array.from({ length: OUTCOMES_LOOKED_THROUGH }, (_, n) => at(busy, n));
    await s.database.commit([...made, ...others].map(attemptStatement));
    const outcomes = await s.store.attempts.lastOutcomes([quiet, busy, silent]);
    assert.deepEqual(outcomes.get(quiet), {
      deliveredAt: delivered.startedAt,
      failure: { at: failure.startedAt, errorClass: failed.errorClass, errorMessage: failed.errorMessage },
    });
    assert.deepEqual(outcomes.get(busy), { deliveredAt: others.at(-1)?.startedAt, failure: null });
    assert.equal(outcomes.has(silent), false);
    assert.equal((await s.store.attempts.lastOutcomes([])).size, 0);
  });

  it('identify the records of a batch by the id that receivers see', async (t) => {
    const s = await openTestStore(t);
    const number = await subscribe(s, ['*']);
    const [batchId, other] = [s.ids.uuid(), s.ids.uuid()];
    s.advance(60_000);
    const made = [
      attempt(s, number, { batchId: other, firstOffset: 0, lastOffset: 4 }),
      attempt(s, number, { batchId, firstOffset: 5, lastOffset: 7 }),
      attempt(s, number, { batchId, kind: 'heartbeat', firstOffset: null, lastOffset: null }),
    ];
    await s.database.commit(made.map(attemptStatement));
    assert.deepEqual(await s.store.attempts.batch(batchId), { webhookNumber: number, first: 5, last: 7 });
    assert.deepEqual(await s.store.attempts.batch(other), { webhookNumber: number, first: 0, last: 4 });
    assert.equal(await s.store.attempts.batch(s.ids.uuid()), null);
    assert.equal(await s.store.attempts.batch('no id'), null);
  });

  it('have both offsets for deliveries and none for other kinds', async (t) => {
    const s = await openTestStore(t);
    const number = await subscribe(s, ['*']);
    const wrong: Partial<AttemptRecord>[] = [
      { firstOffset: null },
      { lastOffset: null },
      { firstOffset: null, lastOffset: null },
      { kind: 'test' },
    ];
    for (const more of wrong) {
      const statement = attemptStatement(attempt(s, number, more));
      await leavingNothing(s, () => assert.rejects(s.database.commit([statement]), ConstraintViolation));
    }
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Delivery } from '../../src/domain/webhook.ts';
import { deliveryAddress } from '../../src/kernel/ids.ts';
import { attemptOf, checkLog, claimNext, publishMany, run, settleBatch, settleNext } from '../support/batches.ts';
import { subscribe } from '../support/events.ts';
import { count, DAY_MS, housekeepingFor } from '../support/housekeeping.ts';
import { execute, leavingNothing, openTestStore, type TestStore } from '../support/store.ts';

const offsets = async (s: TestStore, webhookNumber: number): Promise<number[]> =>
  (await s.rows(`SELECT record_offset FROM outbox WHERE webhook_number = ${webhookNumber} ORDER BY record_offset`)).map(
    ({ record_offset }) => Number(record_offset),
  );

async function everyDelivery(s: TestStore, limit: number): Promise<Delivery[]> {
  const found: Delivery[] = [];
  for (let before: string | null = null; ; before = found.at(-1)?.id ?? null) {
    const page = (await s.store.deliveries.list({}, before === null ? null : deliveryAddress(before), limit)).items;
    found.push(...page);
    if (page.length < limit) return found;
  }
}

// Only on SQLite, which deletes rows one by one. PostgreSQL drops partitions (test/store/postgres/partitions.test.ts).
describe('retention', () => {
  it('deletes a delivered record exactly 30 days after its delivery, with its event, batch and attempts', async (t) => {
    const s = await openTestStore(t);
    const number = await subscribe(s, ['order.placed']);
    await run(s, number);
    await publishMany(s, 'order.placed', 5);
    s.advance(DAY_MS);
    await settleNext(s, number, [3, 2], 'delivered');
    const house = housekeepingFor(s);
    s.advance(30 * DAY_MS - 1);
    await leavingNothing(s, () => house.runOnce());
    s.advance(1);
    await house.runOnce();
    for (const table of ['outbox', 'batch', 'attempt', 'event']) assert.equal(await count(s, table), 0, table);
    assert.deepEqual(
      house.logged.filter(({ msg }) => msg === 'housekeeping').map(({ job, rows }) => [job, rows]),
      [['records', 5]],
    );
    await leavingNothing(s, () => house.runOnce());
  });

  it('keeps dead and discarded records for 90 days', async (t) => {
    const s = await openTestStore(t);
    const number = await subscribe(s, ['order.placed']);
    await run(s, number);
    await publishMany(s, 'order.placed', 6);
    await settleNext(s, number, [2], 'dead');
    await settleNext(s, number, [2], 'delivered');
    await settleNext(s, number, [2], 'discarded');
    const house = housekeepingFor(s);
    s.advance(90 * DAY_MS - 1);
    await house.runOnce();
    assert.deepEqual(await offsets(s, number), [0, 1, 4, 5]);
    await checkLog(s, number);
    s.advance(1);
    await house.runOnce();
    assert.deepEqual(await offsets(s, number), []);
    assert.equal(await count(s, 'event'), 0);
  });

  it('never deletes pending records, however old', async (t) => {
    const s = await openTestStore(t);
    const number = await subscribe(s, ['order.placed']);
    await run(s, number);
    await publishMany(s, 'order.placed', 8);
    await settleBatch(s, await claimNext(s, number, 2), { kind: 'retry', at: s.clock() + 1000, contentRefusals: 0 });
    await claimNext(s, number, 2);
    s.advance(1000 * DAY_MS);
    await housekeepingFor(s, { deliveredDays: 1, deadDays: 1, attemptsDays: 1 }).runOnce();
    assert.deepEqual(await offsets(s, number), [0, 1, 2, 3, 4, 5, 6, 7]);
    assert.equal(await count(s, 'event', 'data IS NOT NULL'), 8);
    assert.equal(await count(s, 'attempt'), 0);
    await checkLog(s, number);
  });

  it('counts from when a record was last settled, for example after a replay', async (t) => {
    const s = await openTestStore(t);
    const number = await subscribe(s, ['order.placed']);
    await run(s, number);
    await publishMany(s, 'order.placed', 3);
    await settleNext(s, number, [3], 'delivered');
    s.advance(29 * DAY_MS);
    const again = { webhookNumber: number, first: 1, last: 1, states: ['delivered'] as const, now: s.clock() };
    await s.store.replays.replay({ ...again, newId: s.ids.uuid }, s.entry());
    s.advance(DAY_MS);
    const house = housekeepingFor(s);
    await house.runOnce();
    assert.deepEqual(await offsets(s, number), [1]);
    await checkLog(s, number);
  });

  it('keeps an event while a log refers to it, and deletes one without subscribers like a delivered one', async (t) => {
    const s = await openTestStore(t);
    const [quick, slow] = [await subscribe(s, ['order.placed']), await subscribe(s, ['order.*'])];
    await run(s, quick);
    await run(s, slow);
    await publishMany(s, 'order.placed', 4);
    await publishMany(s, 'stock.low', 4);
    await settleNext(s, quick, [4], 'delivered');
    await settleNext(s, slow, [3], 'dead');
    const house = housekeepingFor(s);
    s.advance(30 * DAY_MS - 1);
    await house.runOnce();
    assert.equal(await count(s, 'event'), 8);
    s.advance(2);
    await house.runOnce();
    assert.deepEqual([await offsets(s, quick), await offsets(s, slow)], [[], [0, 1, 2, 3]]);
    assert.equal(await count(s, 'event', "type = 'order.placed'"), 4);
    assert.equal(await count(s, 'event', "type = 'stock.low'"), 0);
    s.advance(60 * DAY_MS);
    await house.runOnce();
    assert.deepEqual(await offsets(s, slow), [3]);
    assert.equal(await count(s, 'event'), 1);
  });

  it('never reuses offsets of deleted records', async (t) => {
    const s = await openTestStore(t);
    const number = await subscribe(s, ['order.placed']);
    await run(s, number);
    await publishMany(s, 'order.placed', 4);
    await settleNext(s, number, [4], 'delivered');
    s.advance(31 * DAY_MS);
    await housekeepingFor(s).runOnce();
    await publishMany(s, 'order.placed', 2);
    assert.deepEqual(await offsets(s, number), [4, 5]);
    await settleNext(s, number, [2], 'dead');
    await checkLog(s, number);
    // The dead records stay, and later ones are deleted.
    await publishMany(s, 'order.placed', 2);
    await settleNext(s, number, [2], 'delivered');
    s.advance(31 * DAY_MS);
    await housekeepingFor(s).runOnce();
    await publishMany(s, 'order.placed', 1);
    assert.deepEqual(await offsets(s, number), [4, 5, 8]);
  });

  it('keeps records and attempts forever if the setting is 0 days', async (t) => {
    const s = await openTestStore(t);
    const number = await subscribe(s, ['order.placed']);
    await run(s, number);
    await publishMany(s, 'order.placed', 4);
    await publishMany(s, 'stock.low', 1);
    await settleNext(s, number, [2], 'delivered');
    await settleNext(s, number, [2], 'dead');
    s.advance(1000 * DAY_MS);
    await leavingNothing(s, () => housekeepingFor(s, { deliveredDays: 0, deadDays: 0, attemptsDays: 0 }).runOnce());
    await housekeepingFor(s, { deliveredDays: 0, deadDays: 1, attemptsDays: 0 }).runOnce();
    assert.deepEqual(await offsets(s, number), [0, 1]);
    assert.equal(await count(s, 'event'), 3);
  });

  it('deletes attempts after their own retention time, and at the latest with their records', async (t) => {
    const s = await openTestStore(t);
    const number = await subscribe(s, ['order.placed']);
    await run(s, number);
    await publishMany(s, 'order.placed', 8);
    // One attempt carried all four records. Then the batch was halved, and one half is dead.
    const whole = await claimNext(s, number, 4);
    const [left, right] = [s.ids.uuid(), s.ids.uuid()];
    await settleBatch(s, whole, { kind: 'halve', at: s.clock(), halfIds: [left, right] });
    const end = (id: string, state: string): string =>
      `UPDATE batch SET state = '${state}', next_attempt_at = NULL, settled_at = ${s.clock()} WHERE id = '${id}'`;
    await execute(s, end(left, 'delivered'), end(right, 'dead'));
    await execute(s, 'UPDATE webhook_position SET pending_records = pending_records - 4');
    await settleNext(s, number, [2], 'delivered');
    const heartbeat = { kind: 'heartbeat', firstOffset: null, lastOffset: null, batchId: null } as const;
    await s.store.attempts.insert(attemptOf(s, whole, heartbeat));
    s.advance(31 * DAY_MS);
    await housekeepingFor(s, { attemptsDays: 0 }).runOnce();
    assert.deepEqual(await offsets(s, number), [2, 3, 6, 7]);
    await checkLog(s, number);
    const left30 = await s.rows('SELECT kind, first_offset FROM attempt ORDER BY key');
    assert.deepEqual(
      left30.map(({ kind, first_offset }) => [kind, first_offset]),
      [
        ['delivery', 0],
        ['heartbeat', null],
      ],
    );
    assert.equal((await s.store.attempts.ofRecord(number, 3, 10)).length, 1);
    s.advance(60 * DAY_MS);
    await housekeepingFor(s, { attemptsDays: 0 }).runOnce();
    assert.deepEqual(await s.rows('SELECT kind FROM attempt'), [{ kind: 'heartbeat' }]);
    await housekeepingFor(s, { attemptsDays: 60 }).runOnce();
    assert.equal(await count(s, 'attempt'), 0);
  });

  it('deletes a large batch in parts, its attempts before its records, and stays consistent after each part', async (t) => {
    const s = await openTestStore(t);
    const number = await subscribe(s, ['order.placed']);
    await run(s, number);
    await publishMany(s, 'order.placed', 100);
    const batch = await claimNext(s, number, 100);
    for (let n = 0; n < 40; n++) await s.store.attempts.insert(attemptOf(s, batch));
    await settleBatch(s, batch, { kind: 'delivered', at: s.clock() });
    const sweep = { webhookNumber: number, deliveredBy: s.clock(), deadBy: null };
    const first = await s.store.retention.records({ ...sweep, from: 0 }, 7);
    assert.deepEqual([first.next, first.rows], [7, 7]);
    await checkLog(s, number);
    assert.equal(await count(s, 'attempt'), 41);
    const last = await s.store.retention.records({ ...sweep, from: 7 }, 200);
    assert.deepEqual([last.next, last.rows], [100, 93]);
    for (const table of ['attempt', 'batch', 'outbox', 'event']) assert.equal(await count(s, table), 0, table);

    await publishMany(s, 'order.placed', 10);
    const second = await claimNext(s, number, 10);
    for (let n = 0; n < 40; n++) await s.store.attempts.insert(attemptOf(s, second));
    await settleBatch(s, second, { kind: 'delivered', at: s.clock() });
    const attemptsFirst = await s.store.retention.records({ ...sweep, from: 0 }, 20);
    assert.deepEqual([attemptsFirst.next, attemptsFirst.rows], [100, 20]);
    assert.deepEqual([await count(s, 'attempt'), await count(s, 'outbox')], [21, 10]);
  });

  it('deletes at most a quarter of a megabyte of payload in a step', async (t) => {
    const s = await openTestStore(t);
    const number = await subscribe(s, ['order.placed']);
    await run(s, number);
    await publishMany(s, 'order.placed', 12, () => ({ dataJson: JSON.stringify({ text: 'x'.repeat(100_000) }) }));
    await publishMany(s, 'stock.low', 12, () => ({ dataJson: JSON.stringify({ text: 'x'.repeat(100_000) }) }));
    await settleNext(s, number, [12], 'delivered');
    const sweep = { webhookNumber: number, from: 0, deliveredBy: s.clock(), deadBy: null };
    assert.equal((await s.store.retention.records(sweep, 1000)).rows, 2);
    const { byAge } = s.store.retention;
    assert.ok(byAge.kind === 'rows');
    assert.equal((await byAge.unwantedEvents({ after: -1, before: s.clock() + 1 }, 1000)).rows, 2);
  });

  for (const [part, first, last] of [
    ['the beginning', 0, 1],
    ['the middle', 2, 2],
    ['the end', 3, 3],
  ] as const) {
    it(`keeps records if ${part} of their batch is replayed between its read and its step`, async (t) => {
      const s = await openTestStore(t);
      const number = await subscribe(s, ['order.placed']);
      await run(s, number);
      await publishMany(s, 'order.placed', 4);
      await settleNext(s, number, [4], 'delivered');
      const sweep = { webhookNumber: number, from: 0, deliveredBy: s.clock(), deadBy: null };
      const range = { webhookNumber: number, first, last, states: ['delivered'] as const, now: s.clock() };
      const replayed = s.store.replays.replay({ ...range, newId: s.ids.uuid }, s.entry());
      // The step has requested a commit, which happens at the end of this turn.
      for (let n = 0; n < 50; n += 1) await null;
      const [step] = await Promise.all([s.store.retention.records(sweep, 100), replayed]);
      assert.deepEqual([step.rows, step.next], [0, 0]);
      assert.deepEqual(await offsets(s, number), [0, 1, 2, 3]);
      await checkLog(s, number);
      await housekeepingFor(s, { deliveredDays: 1 }).runOnce();
      s.advance(DAY_MS);
      await housekeepingFor(s, { deliveredDays: 1 }).runOnce();
      assert.deepEqual(
        await offsets(s, number),
        [0, 1, 2, 3].filter((offset) => offset >= first && offset <= last),
      );
    });
  }

  it('does not break paging if the last record of a page was deleted in between', async (t) => {
    const s = await openTestStore(t);
    const [number, other] = [await subscribe(s, ['order.placed']), await subscribe(s, ['order.*'])];
    await run(s, number);
    for (let n = 0; n < 6; n++) {
      await publishMany(s, 'order.placed', 1);
      s.advance(DAY_MS);
    }
    await settleNext(s, number, [6], 'delivered');
    const page = (await s.store.deliveries.list({}, null, 6)).items;
    const cursor = page.at(-1);
    assert.equal(cursor?.webhookNumber, number);
    s.advance(30 * DAY_MS);
    await housekeepingFor(s).runOnce();
    const rest = (await s.store.deliveries.list({}, deliveryAddress(cursor?.id ?? ''), 100)).items;
    const shown = new Set([...page, ...rest].map(({ id }) => id));
    const left = await everyDelivery(s, 2);
    assert.deepEqual(
      left.map(({ webhookNumber }) => webhookNumber),
      Array(6).fill(other),
    );
    for (const { id } of left) assert.ok(shown.has(id));
  });

  it('deletes exactly the due records and keeps every log consistent, in any order of settling', async (t) => {
    const s = await openTestStore(t);
    const numbers = [await subscribe(s, ['order.*']), await subscribe(s, ['order.placed'])];
    for (const number of numbers) await run(s, number);
    const fate = fc.constantFrom('delivered', 'dead', 'discarded', 'retry', 'wait');
    const act = fc.record({
      webhook: fc.nat(1),
      publish: fc.nat(9),
      size: fc.integer({ min: 1, max: 12 }),
      fate,
      days: fc.nat(20),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(act, { minLength: 1, maxLength: 12 }), async (acts) => {
        for (const { webhook, publish, size, fate: kind, days } of acts) {
          await publishMany(s, webhook === 0 ? 'order.paid' : 'order.placed', publish);
          const number = numbers[webhook] as number;
          const [row] = await s.rows(
            `SELECT next_offset - cursor_offset AS n FROM webhook_status WHERE webhook_number = ${number}`,
          );
          const taken = Math.min(size, Number(row?.n));
          if (taken > 0 && kind !== 'wait') {
            const batch = await claimNext(s, number, taken);
            const at = s.clock();
            await settleBatch(s, batch, kind === 'retry' ? { kind, at, contentRefusals: 0 } : { kind, at });
          }
          s.advance(days * DAY_MS);
          const due = `settled_at <= ${s.clock()} - (CASE state WHEN 'delivered' THEN 30 ELSE 90 END) * CAST(${DAY_MS} AS BIGINT)`;
          const kept = await s.rows(
            `SELECT * FROM batch WHERE (${due}) IS NOT TRUE ORDER BY webhook_number, first_offset`,
          );
          await housekeepingFor(s).runOnce();
          assert.deepEqual(await s.rows('SELECT * FROM batch ORDER BY webhook_number, first_offset'), kept);
          for (const each of numbers) await checkLog(s, each);
        }
      }),
      { numRuns: 25 },
    );
  });
});

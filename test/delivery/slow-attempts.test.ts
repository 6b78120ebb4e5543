/** Attempts that last long or whose outcome is not known to be written, and processes that die with attempts in progress. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { POSITION_EVERY_MS, SLOW_ATTEMPT_MS } from '../../src/delivery/limits.ts';
import type { Settlement } from '../../src/domain/batch.ts';
import { DatabaseUnavailable } from '../../src/store/port/errors.ts';
import type { Store } from '../../src/store/port/store.ts';
import { checkLog } from '../support/batches.ts';
import { deferred } from '../support/deferred.ts';
import {
  type Dispatching,
  isDrained,
  messageIds,
  offsets,
  openDispatching,
  takeRecords,
  until,
} from '../support/dispatching.ts';
import { mortalStore } from '../support/mortal-store.ts';
import { repeats } from '../support/repeats.ts';
import { ACTOR } from '../support/services.ts';
import { execute, onSqlite } from '../support/store.ts';

repeats('postgres');

const SINGLE = { maxBatchRecords: 1, timeoutSeconds: 60 };
const runAll = (d: Dispatching): Promise<void> => execute(d, `UPDATE webhook_progress SET state = 'running'`);
const inProgress = async ({ rows }: Dispatching): Promise<number> =>
  (await rows(`SELECT 1 FROM batch WHERE state = 'pending' AND lease_owner IS NOT NULL AND attempt_count = 1`)).length;
const attempts = async ({ rows }: Dispatching): Promise<number> => (await rows('SELECT 1 FROM attempt')).length;

function withSettle({ store }: Dispatching, settle: (settlement: Settlement) => Promise<void>): Store {
  return { ...store, settlements: { ...store.settlements, settle } };
}

describe('an attempt that lasts long', () => {
  it('gets a row, which the position passes, and is settled from it', async (t) => {
    const d = await openDispatching(t);
    const { at, number } = await d.connect({ webhook: SINGLE });
    await runAll(d);
    const open = deferred();
    at.answer(async () => {
      await open.promise;
      return { status: 200 };
    });
    await d.publishMany(3);
    await d.start();
    await takeRecords(at, 3);
    d.advance(SLOW_ATTEMPT_MS - 1);
    await d.looked();
    assert.deepEqual(await d.rows('SELECT 1 FROM batch'), []);
    d.advance(1);
    await until('the rows', async () => (await inProgress(d)) === 3);
    d.advance(POSITION_EVERY_MS);
    const covered = `SELECT cursor_offset, pending_records, waiting_records FROM webhook_status WHERE webhook_number = ${number}`;
    await until('the position', async () => (await d.rows(covered))[0]?.cursor_offset === 3);
    assert.deepEqual(await d.rows(covered), [{ cursor_offset: 3, pending_records: 3, waiting_records: 0 }]);
    open.resolve();
    await until('the end', () => isDrained(d));
    assert.deepEqual(await d.rows('SELECT DISTINCT state, attempt_count, lease_owner FROM batch'), [
      { state: 'delivered', attempt_count: 1, lease_owner: null },
    ]);
    assert.equal(at.deliveries.length, 3);
    await checkLog(d, number);
  });

  it('and fails is retried as any other', async (t) => {
    const d = await openDispatching(t);
    const { at, number } = await d.connect();
    const open = deferred();
    at.answer(async ({ envelope }) => {
      await open.promise;
      return { status: envelope.attemptNumber === 1 ? 500 : 200 };
    });
    await d.publishMany(1);
    await d.start();
    await at.next();
    d.advance(SLOW_ATTEMPT_MS);
    await until('the row', async () => (await inProgress(d)) === 1);
    open.resolve();
    await until('the failure', async () => (await attempts(d)) === 1);
    assert.deepEqual(await d.rows('SELECT state, attempt_count, lease_owner FROM batch'), [
      { state: 'pending', attempt_count: 1, lease_owner: null },
    ]);
    d.advance(60_000);
    assert.equal((await at.next()).envelope.attemptNumber, 2);
    await until('the end', () => isDrained(d));
    await checkLog(d, number);
  });

  it('is settled also if the commit of its row was not answered', async (t) => {
    const d = await openDispatching(t);
    const { at, number } = await d.connect();
    const open = deferred();
    at.answer(async () => {
      await open.promise;
      return { status: 200 };
    });
    let lost = 0;
    const store = withSettle(d, async (settlement) => {
      await d.store.settlements.settle(settlement);
      if (settlement.slow.length === 0 || lost > 0) return;
      lost += 1;
      throw new DatabaseUnavailable('unknown');
    });
    await d.publishMany(1);
    await d.start({ store });
    await at.next();
    d.advance(SLOW_ATTEMPT_MS);
    await until('the row', () => lost === 1);
    open.resolve();
    await until('the end', () => isDrained(d));
    assert.deepEqual([at.deliveries.length, await attempts(d)], [1, 1]);
    await checkLog(d, number);
  });

  it('because the clock jumps is not sent again, and delays nothing that is published during the jump', async (t) => {
    const d = await openDispatching(t);
    const { at } = await d.connect({ webhook: SINGLE });
    await runAll(d);
    const open = deferred();
    at.answer(async () => {
      await open.promise;
      return { status: 200 };
    });
    const ids = await d.publishMany(3);
    await d.start();
    await takeRecords(at, 3);
    for (let hours = 0; hours < 3; hours += 1) {
      d.advance(3_600_000);
      await d.looked();
    }
    ids.push(...(await d.publishMany(2)));
    await takeRecords(at, 2);
    open.resolve();
    await until('the end', () => isDrained(d));
    assert.deepEqual([...messageIds(at)].sort(), [...ids].sort());
    assert.equal(await attempts(d), 5);
  });
});

describe('an outcome whose commit was not answered', () => {
  for (const [what, statuses, isSlow] of [
    ['of a first attempt', [200], false],
    ['of an attempt that failed', [500, 200], false],
    ['of a retry', [500, 200], true],
    ['of an attempt that lasted long', [200], true],
  ] as const)
    it(`${what} is found settled: nothing is sent or recorded twice, and the next record follows`, async (t) => {
      const d = await openDispatching(t);
      const { at, number } = await d.connect({ webhook: { ordered: true, maxBatchRecords: 1 } });
      const open = deferred();
      at.answer(async ({ envelope, records }) => {
        if (isSlow && records[0]?.offset === 0) await open.promise;
        return { status: records[0]?.offset === 0 ? (statuses[envelope.attemptNumber - 1] ?? 200) : 200 };
      });
      const asked = what === 'of a retry' ? 2 : 1;
      let lost = 0;
      const store = withSettle(d, async (settlement) => {
        await d.store.settlements.settle(settlement);
        if (lost > 0 || settlement.batches[0]?.batch?.attemptNumber !== asked) return;
        lost += 1;
        throw new DatabaseUnavailable('unknown');
      });
      const ids = await d.publishMany(3);
      await d.start({ store });
      await at.next();
      if (isSlow) d.advance(SLOW_ATTEMPT_MS);
      if (isSlow) await until('the row', async () => (await inProgress(d)) === 1);
      open.resolve();
      if (statuses.length > 1) {
        await until('the failure', async () => (await d.rows('SELECT 1 FROM batch')).length === 1);
        await until('it waits', async () => (await inProgress(d)) === 0);
        d.advance(60_000);
      }
      await until('the end', () => isDrained(d));
      assert.equal(lost, 1);
      assert.deepEqual(messageIds(at), [...Array(statuses.length - 1).fill(ids[0]), ...ids]);
      assert.equal(await attempts(d), at.deliveries.length);
      await checkLog(d, number);
    });
});

// On PostgreSQL another instance waits until the lease of this one ends (test/chaos).
describe('a process that dies', () => {
  for (const maxBatchRecords of [1, 3])
    onSqlite(
      `leaves gaps, which the next one sends, and nothing else again: ${maxBatchRecords} at a time`,
      async (t) => {
        const d = await openDispatching(t);
        const { at, number } = await d.connect({ webhook: { ...SINGLE, maxBatchRecords } });
        await runAll(d);
        const hanging = deferred();
        const isAnswered = (first: number): boolean => [0, 2, 3, 6].includes(first / maxBatchRecords);
        let first = true;
        at.answer(async ({ records }) => {
          if (first && !isAnswered(records[0]?.offset ?? 0)) await hanging.promise;
          return { status: 200 };
        });
        const ids = await d.publishMany(8 * maxBatchRecords);
        const process = mortalStore(d.store);
        await d.start({ store: process.store, pollMs: 60_000 });
        await takeRecords(at, ids.length);
        await until('four outcomes', async () => (await d.rows('SELECT 1 FROM batch')).length === 4);
        process.dies();
        first = false;
        const before = at.deliveries.length;
        await d.start();
        await until('the end', () => isDrained(d));
        hanging.resolve();
        process.buried();
        const again = at.deliveries.slice(before).map(({ records }) => records.map(({ offset }) => offset));
        const missing = ids
          .map((_, offset) => offset)
          .filter((offset) => !isAnswered(Math.floor(offset / maxBatchRecords) * maxBatchRecords));
        assert.deepEqual(
          again.flat().sort((one, other) => one - other),
          missing,
        );
        assert.deepEqual(new Set(messageIds(at)), new Set(ids));
        await checkLog(d, number);
      },
    );

  onSqlite('leaves gaps, which are sent before a retry behind them if the webhook is ordered by then', async (t) => {
    const d = await openDispatching(t);
    const { at, webhook } = await d.connect({ webhook: SINGLE });
    await runAll(d);
    const hanging = deferred();
    let hangs = true;
    at.answer(async ({ records }) => {
      const [{ offset } = { offset: 0 }] = records;
      if (hangs && [1, 3, 4].includes(offset)) await hanging.promise;
      return { status: hangs && offset === 2 ? 500 : 200 };
    });
    await d.publishMany(5);
    const process = mortalStore(d.store);
    await d.start({ store: process.store, pollMs: 60_000 });
    await takeRecords(at, 5);
    await until('two outcomes', async () => (await d.rows('SELECT 1 FROM batch')).length === 2);
    process.dies();
    hangs = false;
    await d.webhooks.patch(webhook.id, { ordered: true }, ACTOR);
    d.advance(60_000);
    await d.start();
    await until('the end', () => isDrained(d));
    hanging.resolve();
    process.buried();
    assert.deepEqual(offsets(at).slice(5), [1, 2, 3, 4]);
  });

  onSqlite('after its attempts got rows had them counted', async (t) => {
    const d = await openDispatching(t);
    const { at, number } = await d.connect({ webhook: SINGLE });
    await runAll(d);
    const hanging = deferred();
    let hangs = true;
    at.answer(async () => {
      if (hangs) await hanging.promise;
      return { status: 200 };
    });
    await d.publishMany(2);
    const process = mortalStore(d.store);
    await d.start({ store: process.store, pollMs: 60_000 });
    await takeRecords(at, 2);
    d.advance(SLOW_ATTEMPT_MS);
    await until('the rows', async () => {
      await d.looked();
      return (await inProgress(d)) === 2;
    });
    process.dies();
    hangs = false;
    await d.start();
    await until('the end', () => isDrained(d));
    hanging.resolve();
    process.buried();
    assert.deepEqual(
      at.deliveries.map(({ envelope }) => envelope.attemptNumber),
      [1, 1, 2, 2],
    );
    assert.deepEqual(offsets(at).slice(2).sort(), [0, 1]);
    await checkLog(d, number);
  });
});

/** Claims under a hold that is over: another process may have sent for the webhook, or the database lost what was read. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { POSITION_EVERY_MS } from '../../src/delivery/limits.ts';
import type { Hold, Settlement } from '../../src/domain/batch.ts';
import { HoldOver, StaleWrite } from '../../src/store/port/errors.ts';
import type { Store } from '../../src/store/port/store.ts';
import { checkLog } from '../support/batches.ts';
import { deferred } from '../support/deferred.ts';
import { type Dispatching, isDrained, offsets, openDispatching, TYPE, until } from '../support/dispatching.ts';
import { ACTOR } from '../support/services.ts';
import { execute } from '../support/store.ts';

/** The store with holds of its own. `next` ends all of them: as on PostgreSQL, the first settlement finds out, and `changed` tells. */
function withHolds({ store }: Dispatching): { readonly store: Store; next(): void; refused(): number } {
  const { dispatch, settlements } = store;
  const news = new Set<number>();
  let epoch = 1;
  let refused = 0;
  const holdOf = (webhookNumber: number): Hold => ({ webhookNumber, instance: 1, epoch, timeline: '' });
  const settle = async (settlement: Settlement): Promise<void> => {
    const { hold, webhookNumber } = settlement;
    if (hold !== null && hold.epoch !== epoch) {
      refused += 1;
      news.add(webhookNumber);
      throw new HoldOver(hold, new StaleWrite('the hold', 1, 0));
    }
    await settlements.settle({ ...settlement, hold: null });
  };
  return {
    store: {
      ...store,
      settlements: { ...settlements, settle },
      dispatch: {
        ...dispatch,
        changed: async () => {
          const changed = await dispatch.changed();
          // After the wait: what a settlement adds during it must not be cleared.
          const found = [...news, ...changed];
          news.clear();
          return found;
        },
        positions: async (numbers) =>
          (await dispatch.positions(numbers)).map((one) => ({ ...one, hold: holdOf(one.webhookNumber) })),
      },
    },
    next: () => {
      epoch += 1;
    },
    refused: () => refused,
  };
}

async function start(t: TestContext, ordered: 'none' | 'key' | 'strict') {
  const d = await openDispatching(t);
  const webhook = { maxBatchRecords: 1, ordered: ordered === 'strict' ? true : ordered === 'key' ? 'key' : false };
  const { at, number } = await d.connect({ webhook });
  await execute(d, `UPDATE webhook_progress SET state = 'running'`);
  return { d, at, number, holds: withHolds(d) };
}

async function publishKeys(d: Dispatching, keys: readonly string[]): Promise<void> {
  await d.publish({ events: keys.map((orderingKey) => ({ type: TYPE, data: {}, orderingKey })) }, ACTOR);
}

describe('an attempt under a hold that is over', () => {
  for (const ordered of ['none', 'key', 'strict'] as const) {
    it(`does not count, and its records are sent again from the log as it is now; ordered: ${ordered}`, async (t) => {
      const { d, at, number, holds } = await start(t, ordered);
      const answered = deferred();
      at.answer(async ({ records }) => {
        if (records[0]?.offset === 0) await answered.promise;
        return { status: 200 };
      });
      await publishKeys(d, ['a', 'a', 'b', 'a', 'b', 'c']);
      const dispatcher = await d.start({ store: holds.store });
      await at.next();
      holds.next();
      answered.resolve();
      await until('the end', () => isDrained(d));
      await dispatcher.stop();
      assert.deepEqual(await d.rows('SELECT covered_offset FROM webhook_position'), [{ covered_offset: 6 }]);
      await checkLog(d, number);
      assert.ok(holds.refused() > 0);
      const arrived = offsets(at);
      assert.deepEqual([...new Set(arrived)].sort(), [0, 1, 2, 3, 4, 5]);
      assert.equal(arrived.filter((offset) => offset === 0).length, 2);
      if (ordered === 'strict') assert.deepEqual(arrived, [0, 0, 1, 2, 3, 4, 5]);
      const [attempts] = await d.rows('SELECT count(*) AS n FROM attempt');
      assert.equal(attempts?.n, arrived.length, 'each attempt is recorded');
      const states = await d.rows('SELECT DISTINCT state, attempt_count FROM batch');
      assert.deepEqual(states, [{ state: 'delivered', attempt_count: 1 }]);
    });
  }

  it('moves no position past records that are claimed again', async (t) => {
    const { d, at, number, holds } = await start(t, 'none');
    const answers = Array.from({ length: 4 }, () => deferred());
    let arrived = 0;
    at.answer(async () => {
      await answers[arrived++]?.promise;
      return { status: 200 };
    });
    await publishKeys(d, ['a', 'b']);
    const dispatcher = await d.start({ store: holds.store });
    await until('both', () => arrived === 2);
    holds.next();
    answers[0]?.resolve();
    await until('both again', () => arrived === 4);
    // Its outcome is lost, and its record is in progress. The position is due, and rows of slow attempts are.
    d.advance(POSITION_EVERY_MS);
    answers[1]?.resolve();
    await until('the attempt', async () => (await d.rows('SELECT 1 FROM attempt')).length === 2);
    await checkLog(d, number);
    for (const answer of answers) answer.resolve();
    await until('the end', () => isDrained(d));
    await dispatcher.stop();
    await checkLog(d, number);
  });

  it('leaves the row of a slow attempt to the next one', async (t) => {
    const { d, at, number, holds } = await start(t, 'none');
    const answers = [deferred(), deferred()];
    let arrived = 0;
    at.answer(async () => {
      await answers[arrived++]?.promise;
      return { status: 200 };
    });
    await publishKeys(d, ['a']);
    await d.start({ store: holds.store });
    await until('the attempt', () => arrived === 1);
    d.advance(POSITION_EVERY_MS);
    await until(
      'its row',
      async () => (await d.rows('SELECT 1 FROM batch WHERE lease_owner IS NOT NULL')).length === 1,
    );
    holds.next();
    answers[0]?.resolve();
    await until('the next attempt', () => arrived === 2);
    answers[1]?.resolve();
    await until('the end', () => isDrained(d));
    await checkLog(d, number);
    const rows = await d.rows('SELECT state, attempt_count, lease_owner FROM batch');
    assert.deepEqual(rows, [{ state: 'delivered', attempt_count: 2, lease_owner: null }]);
  });

  it('gives no row to records that wait for their key, and moves no position past them', async (t) => {
    const { d, at, number, holds } = await start(t, 'key');
    const failing = deferred();
    at.answer(async ({ records }) => {
      if (records[0]?.offset !== 0) return { status: 200 };
      await failing.promise;
      return { status: 503 };
    });
    await publishKeys(d, ['a', 'a', 'b', 'a']);
    await d.start({ store: holds.store });
    await until('the other key', () => offsets(at).includes(2));
    holds.next();
    // Long enough for the records behind it to get rows.
    d.advance(60_000);
    await until('the refusal', () => holds.refused() > 0);
    at.answer(() => ({ status: 200 }));
    failing.resolve();
    await until('the end', () => isDrained(d));
    await checkLog(d, number);
    const ofKey = offsets(at).filter((offset) => offset !== 2);
    assert.deepEqual([...new Set(ofKey)], [0, 1, 3]);
  });
});

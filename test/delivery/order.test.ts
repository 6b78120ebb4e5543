import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deferred } from '../support/deferred.ts';
import { isDrained, messageIds, offsets, openDispatching, takeRecords, until } from '../support/dispatching.ts';
import { mortalStore } from '../support/mortal-store.ts';
import { repeats } from '../support/repeats.ts';
import { ACTOR } from '../support/services.ts';
import { execute, onSqlite } from '../support/store.ts';
import { countTurns } from '../support/turns.ts';

repeats('postgres');

const ORDERED = { ordered: true, maxBatchRecords: 3 };
const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, n) => from + n);

describe('an ordered webhook', () => {
  it('sends strictly by offset, one batch at a time, and nothing overtakes a retry', async (t) => {
    const d = await openDispatching(t);
    const { at } = await d.connect({ webhook: ORDERED });
    let underWay = 0;
    let tries = 0;
    at.answer(async () => {
      underWay += 1;
      assert.equal(underWay, 1);
      await new Promise(setImmediate);
      underWay -= 1;
      tries += 1;
      return { status: tries % 2 === 0 ? 200 : 503 };
    });
    await d.publishMany(30);
    await d.start();
    for (let attempts = 0; attempts < 20; attempts += 1) {
      const { records } = await at.next();
      const first = Math.floor(attempts / 2) * 3;
      assert.deepEqual(
        records.map(({ offset }) => offset),
        range(first, first + 3),
      );
      await d.log.line(
        (line) => line.msg === 'attempt' && d.log.lines().filter(({ msg }) => msg === 'attempt').length > attempts,
      );
      if (attempts % 2 === 0) d.advance(6000);
    }
    await until('the end', () => isDrained(d));
    assert.equal(at.deliveries.length, 20);
  });

  it('lets nothing overtake a batch that waits for its retry, however often it is looked at, even after a restart', async (t) => {
    const d = await openDispatching(t);
    const { at } = await d.connect({ webhook: { ...ORDERED, maxBatchRecords: 1 } });
    at.answer(() => ({ status: 503 }));
    await d.publishMany(6);
    let looks = 0;
    const { dispatch } = d.store;
    const firstPending: typeof dispatch.firstPending = async (...asked) => {
      looks += 1;
      return dispatch.firstPending(...asked);
    };
    const store = { ...d.store, dispatch: { ...dispatch, firstPending } };
    const first = await d.start({ store });
    await at.next();
    const retryAt = async (): Promise<number> =>
      Number((await d.rows('SELECT next_attempt_at AS at FROM batch'))[0]?.at ?? 0);
    await until('the retry is due later', async () => (await retryAt()) > d.clock());
    for (const restart of [false, true]) {
      if (restart) await first.stop();
      const dispatcher = restart ? await d.start({ store }) : first;
      for (let n = 0; n < 3; n += 1) {
        const before = looks;
        await d.publishMany(1);
        dispatcher.wake();
        await until('a look', () => looks > before);
      }
      assert.deepEqual(offsets(at), [0]);
    }
    at.answer(() => ({ status: 200 }));
    d.advance((await retryAt()) - d.clock());
    await until('the end', () => isDrained(d));
    assert.deepEqual(offsets(at), [0, ...range(0, 12)]);
  });

  // On PostgreSQL another instance waits until the lease of this one ends (test/chaos).
  onSqlite('continues in order after a process died, and repeats only unrecorded records', async (t) => {
    const d = await openDispatching(t);
    const { at } = await d.connect({ webhook: { ...ORDERED, maxBatchRecords: 1 } });
    const ids = await d.publishMany(6);
    // The first process sends offset 2 and dies before it has written it: nothing of it comes through any more.
    const died = deferred();
    const { store, dies, buried } = mortalStore(d.store);
    const { settlements } = store;
    const settle: typeof settlements.settle = (settlement) => {
      if (settlement.batches[0]?.batch?.firstOffset === 2) {
        dies();
        died.resolve();
      }
      return settlements.settle(settlement);
    };
    await d.start({ store: { ...store, settlements: { ...settlements, settle } }, pollMs: 60_000 });
    await died.promise;
    await d.start();
    await takeRecords(at, 4);
    await until('the end', () => isDrained(d));
    buried();
    assert.deepEqual(offsets(at), [0, 1, 2, 2, 3, 4, 5]);
    assert.deepEqual([...new Set(messageIds(at))], ids);
    // Nothing says that the first process sent it.
    assert.equal(at.deliveries[3]?.envelope.attemptNumber, 1);
  });

  it('that was unordered until now lets no batch that was claimed ahead overtake a failed one', async (t) => {
    const d = await openDispatching(t);
    const { at, webhook } = await d.connect({ webhook: { maxBatchRecords: 1 } });
    await execute(d, `UPDATE webhook_progress SET state = 'running'`);
    const open = deferred();
    at.answer(async ({ envelope, records }) => {
      if (envelope.attemptNumber > 1 || (records[0]?.offset ?? 0) >= 8) return { status: 200 };
      await open.promise;
      return { status: records[0]?.offset === 5 ? 503 : 200 };
    });
    await d.publishMany(40);
    await d.start();
    await takeRecords(at, 8);
    await d.webhooks.patch(webhook.id, { ordered: true }, ACTOR);
    open.resolve();
    // All of it is claimed.
    await until('all is given back', async () => (await d.rows('SELECT 1 FROM batch')).length === 40);
    assert.equal(at.deliveries.length, 8);
    assert.deepEqual(
      await d.rows(`SELECT attempt_count, count(*) AS n FROM batch WHERE state = 'pending' GROUP BY attempt_count`),
      [
        { attempt_count: 0, n: 32 },
        { attempt_count: 1, n: 1 },
      ],
    );
    d.advance(10_000);
    await until('the end', () => isDrained(d));
    assert.deepEqual(offsets(at).slice(8), [5, ...range(8, 40)]);
  });

  it('takes its next batch when the one before is settled, with no look or timer in between', async (t) => {
    const d = await openDispatching(t);
    const { at } = await d.connect({ webhook: { ...ORDERED, maxBatchRecords: 1 } });
    await d.publishMany(50);
    let looks = 0;
    const commits: number[] = [];
    const { dispatch, settlements } = d.store;
    const store = {
      ...d.store,
      dispatch: {
        ...dispatch,
        changed: async () => {
          looks += 1;
          return dispatch.changed();
        },
      },
      settlements: {
        ...settlements,
        settle: async (settlement: Parameters<typeof settlements.settle>[0]) => {
          commits.push(settlement.batches.length);
          return settlements.settle(settlement);
        },
      },
    };
    const dispatcher = await d.start({ store, pollMs: 60_000 });
    await takeRecords(at, 50);
    await until('the end', () => isDrained(d));
    assert.deepEqual(offsets(at), range(0, 50));
    // The first, and those after a change of its state.
    assert.ok(looks <= 3, `${looks} looks`);
    assert.deepEqual(commits, Array(50).fill(1));
    await dispatcher.stop();
  });

  onSqlite('sends in the turn in which the previous outcome was written', async (t) => {
    const turn = countTurns(t);
    const left: number[] = [];
    const d = await openDispatching(t, { onPost: () => left.push(turn()) });
    const { at } = await d.connect({ webhook: { ...ORDERED, maxBatchRecords: 1 } });
    await d.publishMany(20);
    const written: number[] = [];
    const { settlements } = d.store;
    const settle: typeof settlements.settle = async (settlement) => {
      await settlements.settle(settlement);
      written.push(turn());
    };
    await d.start({ store: { ...d.store, settlements: { ...settlements, settle } } });
    await takeRecords(at, 20);
    await until('the end', () => isDrained(d));
    for (const [n, at] of written.slice(0, -1).entries())
      assert.ok((left[n + 1] ?? 0) - at <= 1, `${left} after ${written}`);
  });

  it('claims nothing for events published while a batch is in progress, and sends them once it settles', async (t) => {
    const d = await openDispatching(t);
    const { at } = await d.connect({ webhook: { ...ORDERED, maxBatchRecords: 1 } });
    const open = deferred();
    at.answer(async () => {
      await open.promise;
      return { status: 200 };
    });
    let reads = 0;
    let looks = 0;
    const { dispatch } = d.store;
    const store = {
      ...d.store,
      dispatch: {
        ...dispatch,
        changed: async () => {
          looks += 1;
          return dispatch.changed();
        },
        waiting: async (...asked: Parameters<typeof dispatch.waiting>) => {
          reads += 1;
          return dispatch.waiting(...asked);
        },
      },
    };
    await d.publishMany(1);
    const dispatcher = await d.start({ store });
    await at.next();
    for (let n = 0; n < 5; n += 1) {
      const before = looks;
      await d.publishMany(1);
      dispatcher.wake();
      await until('two looks', () => looks > before + 1);
    }
    assert.equal(reads, 1);
    open.resolve();
    await takeRecords(at, 5);
    await until('the end', () => isDrained(d));
    assert.deepEqual(offsets(at), range(0, 6));
  });

  it('that stops during the write of an outcome keeps the outcome and claims nothing more', async (t) => {
    const d = await openDispatching(t);
    const { at, webhook, number } = await d.connect({ webhook: { ...ORDERED, maxBatchRecords: 1 } });
    await d.publishMany(3);
    const { settlements } = d.store;
    let isStopped = false;
    const settle: typeof settlements.settle = async (settlement) => {
      if (!isStopped) await d.webhooks.stop(webhook.id, ACTOR);
      isStopped = true;
      return settlements.settle(settlement);
    };
    const dispatcher = await d.start({ store: { ...d.store, settlements: { ...settlements, settle } } });
    await at.next();
    await until(
      'the outcome',
      async () => (await d.rows("SELECT 1 FROM batch WHERE state = 'delivered'")).length === 1,
    );
    await dispatcher.stop();
    assert.deepEqual(offsets(at), [0]);
    assert.equal((await d.rows('SELECT 1 FROM batch')).length, 1);
    assert.deepEqual(
      await d.rows(`SELECT state, cursor_offset, waiting_records FROM webhook_status WHERE webhook_number = ${number}`),
      [{ state: 'stopped', cursor_offset: 1, waiting_records: 2 }],
    );
  });

  it('sends nothing more if the service stops while its outcome is written', async (t) => {
    const d = await openDispatching(t);
    const { at } = await d.connect({ webhook: { ...ORDERED, maxBatchRecords: 1 } });
    await d.publishMany(3);
    const { settlements } = d.store;
    const written = deferred();
    const stopping = deferred();
    const settle: typeof settlements.settle = async (settlement) => {
      await settlements.settle(settlement);
      written.resolve();
      await stopping.promise;
    };
    const dispatcher = await d.start({ store: { ...d.store, settlements: { ...settlements, settle } } });
    await written.promise;
    const stopped = dispatcher.stop();
    await new Promise(setImmediate);
    stopping.resolve();
    await stopped;
    assert.deepEqual(offsets(at), [0]);
    assert.deepEqual(await d.rows('SELECT first_offset, state FROM batch'), [{ first_offset: 0, state: 'delivered' }]);
    assert.deepEqual(await d.rows('SELECT covered_offset FROM webhook_position'), [{ covered_offset: 1 }]);
  });

  it('sends replayed records in order before new ones, and repeats nothing else', async (t) => {
    const d = await openDispatching(t);
    const { at, webhook } = await d.connect({ webhook: { ...ORDERED, maxBatchRecords: 1 } });
    await d.publishMany(5);
    const dispatcher = await d.start();
    await takeRecords(at, 5);
    await until('the end', () => isDrained(d));
    await dispatcher.stop();
    await d.webhooks.replay(webhook.id, { states: ['delivered'] }, ACTOR);
    await d.publishMany(2);
    await d.start();
    await takeRecords(at, 7);
    await until('the end', () => isDrained(d));
    assert.deepEqual(offsets(at).slice(5), [0, 1, 2, 3, 4, 5, 6]);
  });
});

describe('a webhook that is not ordered', () => {
  it('delivers everything else while one record is refused again and again', async (t) => {
    const d = await openDispatching(t);
    const { at } = await d.connect({ webhook: { maxBatchRecords: 1 } });
    at.answer(({ records }) => ({ status: records[0]?.offset === 3 ? 422 : 200 }));
    await d.publishMany(200);
    await d.start();
    await takeRecords(at, 200);
    await until(
      'the others',
      async () => (await d.rows("SELECT 1 FROM batch WHERE state = 'delivered'")).length === 199,
    );
    // No moment of the clock was needed for that: nothing waited for the bad one.
    assert.deepEqual(
      [...offsets(at)].sort((a, b) => a - b),
      range(0, 200),
    );
    const [bad] = await d.rows("SELECT first_offset, attempt_count FROM batch WHERE state = 'pending'");
    assert.deepEqual(bad, { first_offset: 3, attempt_count: 1 });
    d.advance(10_000);
    assert.equal((await at.next()).envelope.attemptNumber, 2);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { attemptOf, checkLog, claimNext, publishMany, run, settleBatch, settleNext } from '../support/batches.ts';
import { newEvent, subscribe } from '../support/events.ts';
import { count, housekeepingFor } from '../support/housekeeping.ts';
import { repeats } from '../support/repeats.ts';
import { onPostgres, onSqlite, openTestStore, type TestStore } from '../support/store.ts';

repeats('postgres');

async function idOf(s: TestStore, number: number): Promise<string> {
  const found = (await s.store.webhooks.list('', 100)).find(({ progress }) => progress.webhookNumber === number);
  return found?.id ?? assert.fail(`there is no webhook ${number}`);
}

const LOG = ['outbox', 'batch', 'attempt'] as const;

describe('a deleted webhook', () => {
  it('disappears immediately from lists and from delivery, without deleting its log yet', async (t) => {
    const s = await openTestStore(t);
    const number = await subscribe(s, ['order.*']);
    await run(s, number);
    await publishMany(s, 'order.placed', 30);
    await settleNext(s, number, [10], 'delivered');
    const underWay = await claimNext(s, number, 10);
    const id = await idOf(s, number);
    const before = await Promise.all(LOG.map((table) => count(s, table)));
    await s.store.webhooks.remove(id, s.entry());
    assert.deepEqual(await Promise.all(LOG.map((table) => count(s, table))), before);

    assert.equal(await s.store.webhooks.get(id), null);
    assert.deepEqual(await s.store.webhooks.list('', 10), []);
    assert.deepEqual(await s.store.webhooks.ofPattern('order.*'), []);
    assert.equal(await s.store.dispatch.target(number), null);
    assert.deepEqual(await s.store.dispatch.positions([number]), []);
    assert.deepEqual((await s.store.deliveries.list({}, null, 100)).items, []);
    assert.deepEqual((await s.store.queues.read(10)).queues, []);

    await s.store.events.publish([newEvent(s, 'order.placed')]);
    assert.equal(await count(s, 'outbox'), 30);
    await settleBatch(s, underWay, { kind: 'delivered', at: s.clock() });
    assert.equal(await s.store.webhooks.get(id), null);
  });

  it('no longer prevents the deletion of its endpoint', async (t) => {
    const s = await openTestStore(t);
    const number = await subscribe(s, ['*']);
    await publishMany(s, 'order.placed', 1);
    await s.store.webhooks.remove(await idOf(s, number), s.entry());
    const [endpoint] = await s.rows('SELECT id FROM endpoint');
    await s.store.endpoints.remove(String(endpoint?.id), s.entry());
    assert.equal(await count(s, 'endpoint'), 0);
  });

  onSqlite('has only its own log deleted, in steps of a bounded number of rows', async (t) => {
    const s = await openTestStore(t);
    const [kept, gone] = [await subscribe(s, ['order.placed']), await subscribe(s, ['*'])];
    await run(s, kept);
    await run(s, gone);
    await publishMany(s, 'order.placed', 60);
    await publishMany(s, 'stock.low', 60);
    for (const number of [kept, gone]) await settleNext(s, number, [20, 20], 'delivered');
    const pending = await claimNext(s, gone, 20);
    await s.store.attempts.insert(
      attemptOf(s, pending, { kind: 'heartbeat', firstOffset: null, lastOffset: null, batchId: null }),
    );
    await s.store.webhooks.remove(await idOf(s, gone), s.entry());
    const size = 7;
    const total = async (): Promise<number> => {
      const counts = await Promise.all(LOG.map((table) => count(s, table, `webhook_number = ${gone}`)));
      return counts.reduce((sum, rows) => sum + rows, 0);
    };
    for (let left = await total(); ; ) {
      const step = await s.store.removals.step(size);
      const now = await total();
      assert.ok(left - now <= size, `a step took ${left - now} rows`);
      left = now;
      if (step.done) break;
    }
    assert.equal(await total(), 0);
    assert.equal(await count(s, 'removed_webhook'), 0);
    assert.equal(await count(s, 'event', "type = 'stock.low'"), 0);
    assert.equal(await count(s, 'event', "type = 'order.placed'"), 60);
    assert.equal(await count(s, 'outbox', `webhook_number = ${kept}`), 60);
    await checkLog(s, kept);
  });

  it('has its log deleted by housekeeping, also if several webhooks were deleted', async (t) => {
    const s = await openTestStore(t);
    const numbers = [await subscribe(s, ['*']), await subscribe(s, ['*'])];
    await publishMany(s, 'order.placed', 300);
    for (const number of numbers) await s.store.webhooks.remove(await idOf(s, number), s.entry());
    await housekeepingFor(s).runOnce();
    // On PostgreSQL events go with their partition.
    const events = onPostgres ? [] : ['event'];
    for (const table of [...LOG, ...events, 'removed_webhook']) assert.equal(await count(s, table), 0, table);
  });
});

/** Order by key with 100,000 records of a key that fails before all others. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { openDispatching, TYPE, until } from '../support/dispatching.ts';
import { repeatsInSlowTier } from '../support/repeats.ts';
import { ACTOR } from '../support/services.ts';

repeatsInSlowTier('postgres');

const FAILING = 100_000;
const OTHERS = 100;

it('delivers the records behind 100,000 of a failing key, with few looks and bounded memory', async (t) => {
  const d = await openDispatching(t);
  const { at, webhook } = await d.connect({
    webhook: { ordered: 'key', maxBatchRecords: 1, retry: { policy: 'schedule', delaysSeconds: Array(50).fill(3600) } },
  });
  at.answer(({ records }) => ({ status: (records[0]?.offset ?? 0) < FAILING ? 500 : 200 }));
  for (let from = 0; from < FAILING + OTHERS; from += 100) {
    const events = Array.from({ length: 100 }, (_, n) => ({
      type: TYPE,
      data: {},
      orderingKey: from + n < FAILING ? 'failing' : `other-${n}`,
    }));
    await d.publish({ events }, ACTOR);
  }
  const before = process.cpuUsage();
  const startedAt = performance.now();
  await d.start();
  await until('the others', async () => {
    const [row] = await d.rows("SELECT count(*) AS n FROM batch WHERE state = 'delivered'");
    return Number(row?.n) === OTHERS;
  });
  const { user, system } = process.cpuUsage(before);
  const ms = (user + system) / 1000;
  t.diagnostic(`${ms.toFixed(0)} ms of CPU time, ${(performance.now() - startedAt).toFixed(0)} ms`);
  const failed = at.deliveries.filter(({ records }) => (records[0]?.offset ?? 0) < FAILING);
  assert.deepEqual(new Set(failed.map(({ records }) => records[0]?.offset)), new Set([0]));
  const { items } = await d.webhooks.keyOrder.waitingKeys(webhook.id, { cursor: null, limit: 10 });
  assert.deepEqual(
    items.map(({ orderingKey, firstOffset, waitingRecords }) => [orderingKey, firstOffset, waitingRecords]),
    [['failing', 0, 1000]],
  );
});

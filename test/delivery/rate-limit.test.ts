import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { openDispatching, watchDeliveries } from '../support/dispatching.ts';
import { repeatsInSlowTier } from '../support/repeats.ts';
import { execute } from '../support/store.ts';

repeatsInSlowTier('postgres');

/** When each record of a webhook was sent, by the test's clock, which advances by `stepMs` each time everything due was sent. */
async function sendTimes(t: TestContext, webhook: Readonly<Record<string, unknown>>, stepMs: number, count: number) {
  const sent: number[] = [];
  let now = (): number => Number.NaN;
  const d = await openDispatching(t, { onPost: () => sent.push(now()) });
  now = d.clock;
  await d.connect({ webhook: { maxBatchRecords: 1, ...webhook } });
  // So that it may have as many under way as there are places.
  await execute(d, `UPDATE webhook_progress SET state = 'running'`);
  await d.publishMany(count);
  const { options, everythingIsSent } = watchDeliveries(d);
  const dispatcher = await d.start({ ...options, pollMs: 1 });
  while (sent.length < count) {
    await everythingIsSent();
    d.advance(stepMs);
    dispatcher.wake();
  }
  return sent;
}

it('maxRecordsPerSecond keeps single records apart: claimed records count before they are sent', async (t) => {
  const oneASecond = await sendTimes(t, { maxRecordsPerSecond: 1 }, 100, 6);
  assert.deepEqual(
    oneASecond.map((at) => at - (oneASecond[0] ?? 0)),
    [0, 1000, 2000, 3000, 4000, 5000],
  );
  // A fifth of a second's worth may go together, once.
  const tenASecond = await sendTimes(t, { maxRecordsPerSecond: 10 }, 50, 8);
  assert.deepEqual(
    tenASecond.map((at) => at - (tenASecond[0] ?? 0)),
    [0, 0, 100, 200, 300, 400, 500, 600],
  );
});

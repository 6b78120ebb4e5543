import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { type Connected, type Dispatching, isDrained, openDispatching, until } from '../support/dispatching.ts';
import type { ReceivingEndpoint } from '../support/receiver.ts';
import { execute } from '../support/store.ts';

/** At the highest rate, a step has 80 records, and the tolerance of 5 % is 1,000. */
const STEP_MS = 40;

/** When each record of a webhook arrived, by the clock of the test. */
function arrivals(at: ReceivingEndpoint, clock: () => number): Map<string, number[]> {
  const times = new Map<string, number[]>();
  at.answer(({ envelope }) => {
    const own = times.get(envelope.subscriptionId) ?? [];
    times.set(envelope.subscriptionId, own);
    for (let n = 0; n < envelope.records.length; n += 1) own.push(clock());
    return { status: 200 };
  });
  return times;
}

const within = (times: readonly number[], from: number, to: number): number =>
  times.filter((at) => at >= from && at < to).length;

/** Whether everything due was sent and settled. One statement: between two, a claim could move work from the second to the first. */
async function isIdle({ rows, clock }: Dispatching): Promise<boolean> {
  const sql = `SELECT 1 WHERE EXISTS (SELECT 1 FROM batch WHERE lease_owner IS NOT NULL)
    OR EXISTS (SELECT 1 FROM webhook_progress WHERE wake_at <= ${clock()})`;
  return (await rows(sql)).length === 0;
}

it('maxRecordsPerSecond holds within 5 % over 10 s for each of several webhooks at one endpoint, beside one without a limit', async (t) => {
  const d = await openDispatching(t, { now: Date.now() });
  const rates = [50, 400, 2000];
  const first = await d.connect({ webhook: { maxRecordsPerSecond: rates[0], maxBatchRecords: 1 } });
  const beside = (fields: Readonly<Record<string, unknown>>): Promise<Connected> =>
    d.connect({ at: first.at, webhook: { endpointId: first.webhook.endpointId, ...fields } });
  const limited = [
    first,
    await beside({ maxRecordsPerSecond: rates[1], maxBatchRecords: 10 }),
    await beside({ maxRecordsPerSecond: rates[2] }),
  ];
  const free = await beside({});
  // The clock of this test is the dispatcher's, and steps whenever everything that was due has gone out.
  const times = arrivals(first.at, d.clock);
  const beginning = d.clock();
  await d.publishMany(22_000);
  const dispatcher = await d.start({ pollMs: 1 });
  await until('the unlimited one', () => (times.get(free.webhook.id)?.length ?? 0) === 22_000);
  assert.equal(d.clock(), beginning);
  while (d.clock() < beginning + 10_500) {
    await until('all that is due', () => isIdle(d));
    d.advance(STEP_MS);
    dispatcher.wake();
  }
  for (const [n, { webhook }] of limited.entries()) {
    const rate = rates[n] ?? Number.NaN;
    const own = times.get(webhook.id) ?? [];
    for (const from of [0, 250, 500]) {
      const count = within(own, beginning + from, beginning + from + 10_000);
      assert.ok(Math.abs(count - rate * 10) <= rate * 10 * 0.05, `${count} in 10 s at ${rate}/s`);
    }
  }
  await dispatcher.stop();
  assert.equal(await isDrained(d), false);
});

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
  const dispatcher = await d.start({ pollMs: 1 });
  while (sent.length < count) {
    await until('all that is due', () => isIdle(d));
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

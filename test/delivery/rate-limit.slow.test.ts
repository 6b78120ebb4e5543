import assert from 'node:assert/strict';
import { it } from 'node:test';
import { type Connected, isDrained, openDispatching, until, watchDeliveries } from '../support/dispatching.ts';
import type { ReceivingEndpoint } from '../support/receiver.ts';

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

it(
  'maxRecordsPerSecond holds within 5 % over 10 s for each of several webhooks at one endpoint, one without a ' +
    'limit beside them',
  async (t) => {
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
    const { options, everythingIsSent } = watchDeliveries(d);
    const dispatcher = await d.start({ ...options, pollMs: 1 });
    await until('the unlimited one', () => (times.get(free.webhook.id)?.length ?? 0) === 22_000);
    assert.equal(d.clock(), beginning);
    while (d.clock() < beginning + 10_500) {
      await everythingIsSent();
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
  },
);

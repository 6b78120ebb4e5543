import assert from 'node:assert/strict';
import { it } from 'node:test';
import { publishMany, run, settleNext } from '../support/batches.ts';
import { subscribe } from '../support/events.ts';
import { count, DAY_MS, housekeepingFor } from '../support/housekeeping.ts';
import { openTestStore } from '../support/store.ts';

it('the file stops growing once deletions balance additions, although a few records are kept longer', async (t) => {
  const s = await openTestStore(t);
  const number = await subscribe(s, ['order.placed']);
  await run(s, number);
  const house = housekeepingFor(s, { deliveredDays: 2, deadDays: 5, attemptsDays: 2 });
  const pages: number[] = [];
  for (let day = 0; day < 16; day++) {
    const text = (n: number): string => 'x'.repeat(200 + ((n * 7919 + day * 104_729) % 3000));
    await publishMany(s, 'order.placed', 200, (n) => ({
      dataJson: JSON.stringify({ text: text(n) }),
      subject: `p${n}`,
    }));
    await publishMany(s, 'stock.low', 20, (n) => ({ dataJson: JSON.stringify({ text: text(n) }) }));
    for (let n = 0; n < 9; n++) await settleNext(s, number, [20], 'delivered');
    await settleNext(s, number, [20], 'dead');
    s.advance(DAY_MS);
    await house.runOnce();
    pages.push(Number(s.sqlite.connection.pragma('page_count', { simple: true })));
  }
  const [filling, steady] = [pages.slice(0, 6), pages.slice(6)];
  assert.ok((filling[4] ?? 0) > (filling[0] ?? 0), 'it did not grow while nothing was old enough to be taken');
  const most = Math.max(...filling);
  assert.ok(Math.max(...steady) <= most * 1.03, `it went on growing: ${pages.join(', ')} pages`);
  // Keeps delivered records for two days, dead records for five, and events without subscribers for two.
  assert.ok((await count(s, 'outbox')) <= 2 * 180 + 5 * 20);
  assert.ok((await count(s, 'event')) <= 2 * 200 + 5 * 20);
  assert.equal(s.sqlite.connection.pragma('integrity_check', { simple: true }), 'ok');
});

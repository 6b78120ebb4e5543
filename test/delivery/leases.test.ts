import assert from 'node:assert/strict';
import { it } from 'node:test';
import { FULL_PAUSE_MS } from '../../src/delivery/limits.ts';
import { DatabaseUnavailable } from '../../src/store/port/errors.ts';
import type { Store } from '../../src/store/port/store.ts';
import { deferred } from '../support/deferred.ts';
import { isDrained, messageIds, openDispatching, takeRecords, until } from '../support/dispatching.ts';
import { repeats } from '../support/repeats.ts';
import { execute, onSqlite } from '../support/store.ts';

repeats('postgres');

const HOUR_MS = 3_600_000;

// On PostgreSQL leases end by the clock of the database.
onSqlite(
  'a lease that a clock jump ends during its request costs a claim every few seconds, not one a turn',
  async (t) => {
    const d = await openDispatching(t);
    const jumped = await d.connect({ webhook: { maxBatchRecords: 1 } });
    const other = await d.connect({ webhook: { eventTypes: ['webhook.*'] } });
    await execute(d, `UPDATE webhook_progress SET state = 'running'`);
    const open = deferred();
    jumped.at.answer(async () => {
      await open.promise;
      return { status: 200 };
    });
    let claims = 0;
    const store = {
      ...d.store,
      dispatch: {
        ...d.store.dispatch,
        claim: (claim: Parameters<typeof d.store.dispatch.claim>[0]) => {
          if (claim.webhookNumber === jumped.number) claims += 1;
          return d.store.dispatch.claim(claim);
        },
      },
    };
    const ids = await d.publishMany(3);
    const dispatcher = await d.start({ store });
    await takeRecords(jumped.at, 3);
    const wakeAt = async (): Promise<number> =>
      Number(
        (await d.rows(`SELECT wake_at FROM webhook_progress WHERE webhook_number = ${jumped.number}`))[0]?.wake_at,
      );
    for (const jumpMs of [HOUR_MS, FULL_PAUSE_MS, FULL_PAUSE_MS]) {
      d.advance(jumpMs);
      claims = 0;
      dispatcher.wake();
      await until('a look', async () => claims > 0 && (await wakeAt()) === d.clock() + FULL_PAUSE_MS);
      // Each of these takes a look of its own, at every webhook that is due.
      for (let looks = 0; looks < 10; looks += 1) {
        await d.connect();
        dispatcher.wake();
        await other.at.next();
      }
      assert.equal(claims, 1);
    }
    // Events published meanwhile do not wait.
    ids.push(...(await d.publishMany(2)));
    dispatcher.wake();
    await takeRecords(jumped.at, 2);
    open.resolve();
    await until(
      'the end',
      async () =>
        (await d.rows(`SELECT 1 FROM batch WHERE state = 'delivered' AND webhook_number = ${jumped.number}`)).length ===
        5,
    );
    assert.deepEqual([...messageIds(jumped.at)].sort(), [...ids].sort());
    assert.equal((await d.rows(`SELECT 1 FROM attempt WHERE webhook_number = ${jumped.number}`)).length, 5);
  },
);

for (const [what, kind] of [
  ['a claim', 'claim'],
  ['a settlement with the next claim', 'settle'],
] as const) {
  it(`${what} that was committed without an answer delays nothing`, async (t) => {
    const d = await openDispatching(t);
    const { at } = await d.connect({ webhook: { ordered: true, maxBatchRecords: 1 } });
    let lost = 0;
    const loses = (isIt: boolean): void => {
      if (!isIt || lost > 0) return;
      lost += 1;
      throw new DatabaseUnavailable('unknown');
    };
    const { dispatch, settlements } = d.store;
    const store: Store = {
      ...d.store,
      dispatch: {
        ...dispatch,
        claim: async (claim) => {
          await dispatch.claim(claim);
          loses(kind === 'claim');
        },
      },
      settlements: {
        ...settlements,
        settle: async (settlement) => {
          await settlements.settle(settlement);
          loses(kind === 'settle' && settlement.next !== null && settlement.next.fresh.length > 0);
        },
      },
    };
    const ids = await d.publishMany(3);
    await d.start({ store });
    // No clock moves, so no lease ends.
    await takeRecords(at, 3);
    assert.deepEqual(messageIds(at), ids);
    await until('all is settled', () => isDrained(d));
    assert.equal(lost, 1);
    assert.deepEqual(await d.rows('SELECT attempt_count FROM batch WHERE attempt_count <> 1'), []);
  });
}

/** No change is missed while the dispatcher reads. The clock stands still, so no later look makes up for it. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { Membership } from '../../src/delivery/membership.ts';
import type { DispatchStore } from '../../src/store/port/dispatch.ts';
import { DatabaseUnavailable } from '../../src/store/port/errors.ts';
import { offsets, openDispatching, TYPE, until } from '../support/dispatching.ts';
import { repeats } from '../support/repeats.ts';
import { ACTOR } from '../support/services.ts';
import { execute } from '../support/store.ts';

repeats('postgres');

const LATER = { policy: 'schedule', delaysSeconds: [3600, 3600] } as const;

describe('a delivery that is tried now', () => {
  it('is sent although the claim in progress read that it is to wait', async (t) => {
    const d = await openDispatching(t);
    const { at, webhook } = await d.connect({ webhook: { ordered: true, maxBatchRecords: 1, retry: LATER } });
    const { dispatch, settlements } = d.store;
    at.answer(() => ({ status: 503 }));
    await d.publishMany(2);
    let hasFailed = false;
    let isTriedNow = false;
    const settle: typeof settlements.settle = async (settlement) => {
      await settlements.settle(settlement);
      hasFailed ||= settlement.batches.length > 0;
    };
    // Of the claim that follows the outcome. Looks go on meanwhile, as it is not one of theirs.
    const firstPending: DispatchStore['firstPending'] = async (...asked) => {
      const found = await dispatch.firstPending(...asked);
      if (!hasFailed || isTriedNow) return found;
      isTriedNow = true;
      at.answer(() => ({ status: 200 }));
      const { items } = await d.deliveries.list({ webhookId: webhook.id }, null, 10);
      await d.deliveries.replay(items.find(({ offset }) => offset === 0)?.id ?? '', ACTOR);
      await d.looked();
      return found;
    };
    await d.start({
      store: { ...d.store, dispatch: { ...dispatch, firstPending }, settlements: { ...settlements, settle } },
    });
    await until('both', () => offsets(at).includes(1));
    assert.deepEqual([isTriedNow, offsets(at)], [true, [0, 0, 1]]);
  });
});

describe('order by key, whose rows could not be read at first', () => {
  /** Begins with failed records of the keys a and b: a is due in an hour. The verb fails once. */
  const begin = async (t: TestContext, verb: 'unlabelled' | 'firstOfKeys', rowOfB: string) => {
    const d = await openDispatching(t);
    const { at } = await d.connect({ webhook: { ordered: 'key', maxBatchRecords: 1, retry: LATER } });
    await execute(d, `UPDATE webhook_progress SET state = 'running'`);
    at.answer(() => ({ status: 503 }));
    const events = ['a', 'b'].map((orderingKey) => ({ type: TYPE, data: {}, orderingKey }));
    await d.publish({ events }, ACTOR);
    const before = await d.start();
    await until('the failures', async () => {
      d.advance(1000);
      return (await d.rows('SELECT 1 FROM batch WHERE attempt_count > 0')).length === 2;
    });
    await before.stop();
    at.answer(() => ({ status: 200 }));
    await execute(
      d,
      `UPDATE batch SET ${rowOfB} WHERE first_offset = 1`,
      'UPDATE webhook_progress SET probe_at = NULL',
    );
    const { dispatch } = d.store;
    let failures = 0;
    const failOnce = (): void => {
      failures += 1;
      if (failures === 1) throw new DatabaseUnavailable('unreachable');
    };
    const unlabelled: DispatchStore['unlabelled'] = async (...asked) => {
      if (verb === 'unlabelled') failOnce();
      return dispatch.unlabelled(...asked);
    };
    const firstOfKeys: DispatchStore['firstOfKeys'] = async (...asked) => {
      if (verb === 'firstOfKeys') failOnce();
      return dispatch.firstOfKeys(...asked);
    };
    await d.start({ store: { ...d.store, dispatch: { ...dispatch, unlabelled, firstOfKeys } } });
    await until('b', () => offsets(at).filter((offset) => offset === 1).length === 2);
    assert.ok(failures > 1);
  };

  it('goes on with a row whose key it had not read', (t) => begin(t, 'unlabelled', 'order_key = NULL'));

  it('goes on with a row that waited for nothing any more', (t) =>
    begin(t, 'firstOfKeys', 'next_attempt_at = NULL, attempt_count = 0'));
});

describe('a webhook that this process holds no longer', () => {
  for (const how of ['handOver', 'lost'] as const)
    it(`is not sent for if that came out while its position was read: ${how}`, async (t) => {
      const d = await openDispatching(t);
      const { at, number } = await d.connect();
      await d.publishMany(1);
      const { dispatch } = d.store;
      const given = Promise.withResolvers<void>();
      let listener: Parameters<Membership['start']>[0] | null = null;
      const membership: Membership = {
        start: async (told) => {
          listener = told;
        },
        maySend: () => true,
        hasDuty: () => false,
        handedOver: async () => given.resolve(),
        stop: async () => undefined,
      };
      let reads = 0;
      const positions: DispatchStore['positions'] = async (webhookNumbers) => {
        reads += 1;
        // From then on another process holds it.
        if (reads > 1) return [];
        const found = await dispatch.positions(webhookNumbers);
        if (how === 'lost') listener?.lost();
        else listener?.handOver([number]);
        if (how === 'handOver') await given.promise;
        await new Promise(setImmediate);
        return found;
      };
      await d.start({ store: { ...d.store, dispatch: { ...dispatch, positions } }, membership });
      await until('another read', () => reads > 1);
      await d.looked();
      await d.looked();
      assert.deepEqual(at.deliveries, []);
    });
});

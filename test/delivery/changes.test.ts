/** Changes that a dispatcher learns of from the database only: by another process, or by a request that this process answers. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startedProgress, stoppedProgress } from '../../src/domain/webhook-states.ts';
import { checkLog } from '../support/batches.ts';
import { deferred } from '../support/deferred.ts';
import { isDrained, offsets, openDispatching, takeRecords, until } from '../support/dispatching.ts';
import { repeats } from '../support/repeats.ts';
import { ACTOR } from '../support/services.ts';
import { execute, storeOn } from '../support/store.ts';

repeats('postgres');

const SINGLE = { maxBatchRecords: 1, timeoutSeconds: 60 };

describe('a webhook that another process', () => {
  it('starts, stops and starts again sends exactly while it runs, from where it was', async (t) => {
    const d = await openDispatching(t);
    const { at, webhook, number } = await d.connect({ webhook: SINGLE });
    const elsewhere = storeOn(d.database, d.vault, d.ids);
    const running = async () => d.webhooks.get(webhook.id);
    const stop = async (): Promise<void> => {
      const { progress } = await running();
      const stopped = stoppedProgress(progress, 'stop', 'stopped_by_administrator', d.clock());
      await elsewhere.webhooks.setState({ progress: stopped, stateBefore: progress.state, event: null }, d.entry());
    };
    const start = async (): Promise<void> => {
      const before = await running();
      const started = startedProgress(before, { sessionId: d.ids.uuid(), now: d.clock() });
      await elsewhere.webhooks.setState({ progress: started, stateBefore: 'stopped', event: null }, d.entry());
      await elsewhere.webhooks.resume(number, d.clock());
    };
    await stop();
    await d.start();
    await d.publishMany(2);
    await d.looked();
    assert.equal(at.deliveries.length, 0);
    await start();
    await takeRecords(at, 2);
    await until('the end', () => isDrained(d));
    d.advance(1000);
    await stop();
    await d.publishMany(2);
    await d.looked();
    assert.equal(at.deliveries.length, 2);
    await start();
    await takeRecords(at, 2);
    await until('the end', () => isDrained(d));
    assert.deepEqual(offsets(at), [0, 1, 2, 3]);
    await checkLog(d, number);
  });

  it('changes sends by its new settings', async (t) => {
    const d = await openDispatching(t);
    const { at, webhook } = await d.connect({ webhook: { maxRecordsPerSecond: 0.01, maxBatchRecords: 1 } });
    await d.publishMany(3);
    await d.start();
    await at.next();
    const before = await d.webhooks.get(webhook.id);
    const changed = { ...before, maxRecordsPerSecond: null, maxBatchRecords: 2, updatedAt: d.clock() + 1 };
    await storeOn(d.database, d.vault, d.ids).webhooks.update(changed, before, d.entry());
    assert.equal((await at.next()).records.length, 2);
  });

  it('deletes sends nothing more, and its log does not grow again', async (t) => {
    const d = await openDispatching(t);
    const { at, webhook, number } = await d.connect({ webhook: SINGLE });
    const open = deferred();
    at.answer(async () => {
      await open.promise;
      return { status: 200 };
    });
    await d.publishMany(2);
    const dispatcher = await d.start();
    await at.next();
    await storeOn(d.database, d.vault, d.ids).webhooks.remove(webhook.id, d.entry());
    open.resolve();
    await d.looked();
    await dispatcher.stop();
    assert.equal(at.deliveries.length, 1);
    assert.deepEqual(await d.rows(`SELECT 1 FROM batch WHERE webhook_number = ${number}`), []);
  });
});

describe('a replay of a webhook that delivers', () => {
  for (const ordered of [false, true])
    it(`sends each of its records once more, and each new record once${ordered ? ', in order' : ''}`, async (t) => {
      const d = await openDispatching(t);
      const { at, webhook, number } = await d.connect({ webhook: { ...SINGLE, ordered } });
      await execute(d, `UPDATE webhook_progress SET state = 'running'`);
      await d.publishMany(20);
      await d.start();
      await takeRecords(at, 20);
      await until('the end', () => isDrained(d));
      const open = deferred();
      at.answer(async ({ records }) => {
        if ((records[0]?.offset ?? 0) >= 20) await open.promise;
        return { status: 200 };
      });
      await d.publishMany(20);
      await at.next();
      assert.deepEqual(await d.webhooks.replay(webhook.id, { states: ['delivered'] }, ACTOR), { replayed: 20 });
      await d.publishMany(5);
      await d.looked();
      open.resolve();
      await until('the end', () => isDrained(d));
      const sent = offsets(at).slice(20);
      const all = Array.from({ length: 45 }, (_, offset) => offset);
      assert.deepEqual(
        sent.toSorted((one, other) => one - other),
        all,
      );
      // The one that was in progress goes first.
      if (ordered) assert.deepEqual(sent, [20, ...all.filter((offset) => offset !== 20)]);
      await checkLog(d, number);
    });

  it('in the middle of a retry changes nothing of it', async (t) => {
    const d = await openDispatching(t);
    const { at, webhook, number } = await d.connect({ webhook: SINGLE });
    const open = deferred();
    at.answer(async ({ envelope }) => {
      if (envelope.attemptNumber === 2) await open.promise;
      return { status: envelope.attemptNumber === 1 ? 422 : 200 };
    });
    await d.publishMany(1);
    await d.start();
    await at.next();
    await until('the failure', async () => (await d.rows('SELECT 1 FROM attempt')).length === 1);
    d.advance(60_000);
    assert.equal((await at.next()).envelope.attemptNumber, 2);
    assert.deepEqual(await d.webhooks.replay(webhook.id, { states: ['delivered', 'dead'] }, ACTOR), { replayed: 0 });
    await d.looked();
    open.resolve();
    await until('the end', () => isDrained(d));
    assert.equal(at.deliveries.length, 2);
    await checkLog(d, number);
  });
});

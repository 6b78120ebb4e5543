import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { DATABASE_FILE } from '../../src/data/data-folder.ts';
import { deferred } from '../support/deferred.ts';
import { isDrained, messageIds, openDispatching, TYPE, takeRecords, until } from '../support/dispatching.ts';
import { connect, deliveriesOf, makeEventType, publish, startJourney } from '../support/journey.ts';
import { holdLock } from '../support/lock-holder.ts';
import { execute } from '../support/store.ts';

describe('a database that another process holds for a while', () => {
  it('makes all work wait, and loses and repeats nothing: attempts in progress are recorded, waiting records are sent', async (t) => {
    const d = await openDispatching(t);
    const { at } = await d.connect({ webhook: { maxBatchRecords: 1, timeoutSeconds: 60 } });
    await execute(d, `UPDATE webhook_progress SET state = 'running'`);
    const open = deferred();
    at.answer(async () => {
      await open.promise;
      return { status: 200 };
    });
    const ids = await d.publishMany(40);
    await d.start();
    await takeRecords(at, 8);
    const holder = await holdLock(t, d.path);
    open.resolve();
    // Claimed batches are sent all the same. Their outcomes cannot be recorded, and nothing else can be claimed or published.
    const more = d.publishMany(5);
    await takeRecords(at, 32);
    assert.deepEqual(await d.rows('SELECT count(*) AS n FROM attempt'), [{ n: 0 }]);
    await holder.release();
    ids.push(...(await more));
    await takeRecords(at, 5);
    await until('the end', () => isDrained(d));
    assert.deepEqual([...messageIds(at)].sort(), [...ids].sort());
    assert.deepEqual(await d.rows('SELECT count(*) AS n FROM attempt'), [{ n: 45 }]);
  });

  it('makes the requests of a server wait too, while it reads and answers as ever', async (t) => {
    const { service, admin, receiver } = await startJourney(t, { writerThread: true });
    await makeEventType(admin, TYPE);
    const { at, webhook } = await connect({ admin, receiver }, [TYPE], {
      webhook: { maxBatchRecords: 1, timeoutSeconds: 60 },
    });
    const ids = await publish(admin, TYPE, { n: 0 });
    await service.log.nextAttempt(webhook.id);
    await takeRecords(at, 1);
    const open = deferred();
    at.answer(async () => {
      await open.promise;
      return { status: 200 };
    });
    ids.push(...(await publish(admin, TYPE, ...Array.from({ length: 8 }, (_, n) => ({ n })))));
    await takeRecords(at, 8);
    const holder = await holdLock(t, join(service.dataDir, DATABASE_FILE));
    open.resolve();
    let accepted = false;
    const more = publish(admin, TYPE, { n: 9 }).then((all) => {
      accepted = true;
      return all;
    });
    for (let n = 0; n < 20; n += 1) {
      const deliveries = await deliveriesOf(admin, webhook);
      assert.deepEqual([deliveries.length, deliveries.filter(({ state }) => state === 'delivered').length], [9, 1]);
    }
    assert.equal((await fetch(`${service.url}/livez`)).status, 200);
    assert.equal(accepted, false);
    await holder.release();
    ids.push(...(await more));
    await until('everything', async () =>
      (await deliveriesOf(admin, webhook)).every(({ state }) => state === 'delivered'),
    );
    assert.deepEqual([...messageIds(at)].sort(), [...ids].sort());
  });
});

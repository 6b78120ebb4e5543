import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { DATABASE_FILE } from '../../src/data-folder.ts';
import type { AcceptedView } from '../../src/events/publish.ts';
import { cleanUp } from '../support/cleanup.ts';
import { deferred } from '../support/deferred.ts';
import { isDrained, messageIds, openDispatching, TYPE, takeRecords, until } from '../support/dispatching.ts';
import { connect, deliveriesOf, makeEventType, publish, sharedCertificates, startJourney } from '../support/journey.ts';
import { holdLock } from '../support/lock-holder.ts';
import { startReceiver } from '../support/receiver.ts';
import { startService, temporaryFolder } from '../support/service.ts';

/** A disk of a few megabytes, mounted for the test, or null where this account may not mount one. */
function mountSmallDisk(t: TestContext, megabytes: number): string | null {
  const folder = join(temporaryFolder(t), 'disk');
  mkdirSync(folder);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder], { stdio: 'pipe' });
  } catch (error) {
    t.skip(`a small disk cannot be mounted here: ${String(error).split('\n')[0]}`);
    return null;
  }
  cleanUp(t, () => execFileSync('umount', [folder]));
  return folder;
}

/** Takes up all that is left of a disk. */
function fillUp(disk: string): string {
  const filler = join(disk, 'filler');
  let chunk = Buffer.alloc(1024 * 1024);
  while (chunk.length >= 4096) {
    try {
      writeFileSync(filler, chunk, { flag: 'a' });
    } catch {
      chunk = chunk.subarray(0, chunk.length / 2);
    }
  }
  return filler;
}

describe('a disk that is full', () => {
  it('refuses what cannot be kept, loses nothing that was accepted, and repeats nothing once there is room', async (t) => {
    const disk = mountSmallDisk(t, 12);
    if (disk === null) return;
    const first = await startService(t);
    await first.stop();
    const dataDir = join(disk, 'data');
    cpSync(first.dataDir, dataDir, { recursive: true });
    const { ca, server } = sharedCertificates();
    const service = await startService(t, { ca, after: { dataDir, credentials: first.credentials } });
    const { admin } = service;
    const receiver = await startReceiver(t, server, { clock: service.clock });
    await makeEventType(admin, TYPE);
    const { at, webhook } = await connect({ admin, receiver }, [TYPE], { webhook: { maxBatchRecords: 1 } });
    const accepted = await publish(admin, TYPE, { n: 0 });
    await at.next();
    await service.log.nextAttempt(webhook.id);

    // Eight are under way, more wait, and then the disk is full before any is answered.
    const open = deferred();
    at.answer(async () => {
      await open.promise;
      return { status: 200 };
    });
    accepted.push(...(await publish(admin, TYPE, ...Array.from({ length: 30 }, (_, n) => ({ n })))));
    await takeRecords(at, 8);
    const filler = fillUp(disk);
    let refused = 0;
    while (refused < 3) {
      const event = { type: TYPE, data: { text: 'x'.repeat(200_000) } };
      const reply = await admin.post<AcceptedView>('events', event);
      if (reply.status === 202) accepted.push(...reply.body.events.map(({ id }) => id));
      else {
        assert.equal(reply.status, 500);
        refused += 1;
      }
    }
    open.resolve();
    await service.log.line(({ msg }) => msg === 'the outcome of an attempt cannot be written yet');
    assert.equal((await fetch(`${service.url}/livez`)).status, 200);
    assert.equal((await fetch(`${service.url}/readyz`)).status, 503);

    rmSync(filler);
    await until('everything', async () =>
      (await deliveriesOf(admin, webhook)).every(({ state }) => state === 'delivered'),
    );
    assert.deepEqual([...messageIds(at)].sort(), [...accepted].sort());
    await until('ready again', async () => (await fetch(`${service.url}/readyz`)).status === 200);
    accepted.push(...(await publish(admin, TYPE, { n: 99 })));
    await until('the last', () => messageIds(at).length === accepted.length);
  });
});

describe('a database that another process holds for a while', () => {
  it('makes everything wait and loses and repeats nothing: what was under way is recorded, what waited goes out', async (t) => {
    const d = await openDispatching(t);
    const { at } = await d.connect({ webhook: { maxBatchRecords: 1 } });
    d.database.connection.exec(`UPDATE webhook_progress SET state = 'running'`);
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
    // What was claimed before goes out all the same; nothing of it can be recorded, and nothing more be claimed or taken.
    const more = d.publishMany(5);
    await takeRecords(at, 32);
    assert.deepEqual(d.rows('SELECT count(*) AS n FROM attempt'), [{ n: 0 }]);
    await holder.release();
    ids.push(...(await more));
    await takeRecords(at, 5);
    await until('the end', () => isDrained(d));
    assert.deepEqual([...messageIds(at)].sort(), [...ids].sort());
    assert.deepEqual(d.rows('SELECT count(*) AS n FROM attempt'), [{ n: 45 }]);
  });

  it('makes the requests of a server wait too, while it reads and answers as ever', async (t) => {
    const { service, admin, receiver } = await startJourney(t);
    await makeEventType(admin, TYPE);
    const { at, webhook } = await connect({ admin, receiver }, [TYPE], { webhook: { maxBatchRecords: 1 } });
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

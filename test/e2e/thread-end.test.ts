/** A thread of the database ends: the service logs it and exits, an embedding program is notified, and `npm start` restarts the service. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import type { Worker } from 'node:worker_threads';
import { Refusal } from '../../src/kernel/refusal.ts';
import { createSallyport } from '../../src/sallyport.ts';
import { cleanUp } from '../support/cleanup.ts';
import { refusalOf, succeeded } from '../support/client.ts';
import { makeEventType, publish } from '../support/journey.ts';
import { holdLock } from '../support/lock-holder.ts';
import { spawnService, startedFolder, temporaryFolder } from '../support/service.ts';
import { onSqlite } from '../support/store.ts';

const TYPE = 'order.placed';
const END_THREAD = new URL('../support/end-thread.mjs', import.meta.url).href;
const LAUNCH = new URL('../../scripts/launch.mjs', import.meta.url).href;
const LAST_LINE =
  'sallyport: a thread of the database ended (the thread ended), so the service stopped; nothing that was ' +
  'acknowledged is lost; systemd, Docker or npm start starts it again';

onSqlite(
  'serve refuses requests in progress, says why and exits with 1; the next start has all acknowledged data',
  async (t) => {
    const env = { NODE_OPTIONS: `--import=${END_THREAD}` };
    const service = await spawnService(t, { after: await startedFolder(t), env });
    const { admin, url } = service;
    await makeEventType(admin, TYPE);
    const holder = await holdLock(t, join(service.dataDir, 'sallyport.db'));
    const refused = refusalOf(admin.post('event-types', { name: 'order.shipped' }), 503);
    // Answered after the request above was read.
    for (let n = 0; n < 3; n += 1) await (await fetch(`${url}/livez`)).text();
    service.kill('SIGUSR2');
    assert.match((await refused).description, /the thread that writes it ended/);
    assert.deepEqual(await service.exited, { code: 1, signal: null });
    assert.equal(service.log.text().trimEnd().split('\n').at(-1), LAST_LINE);
    await holder.release();
    const again = await spawnService(t, { after: service });
    await publish(again.admin, TYPE, { n: 1 });
    await succeeded(again.admin.post('event-types', { name: 'order.shipped' }));
  },
);

test('an embedding program is notified, and may create another Sallyport on the folder after stopping this one', async (t) => {
  const options = { dataDir: join(temporaryFolder(t), 'data'), logLevel: 'silent' } as const;
  const threads: Worker[] = [];
  const note = (thread: Worker): void => void threads.push(thread);
  process.on('worker', note);
  cleanUp(t, () => process.off('worker', note));
  const first = await createSallyport(options);
  cleanUp(t, () => first.stop());
  await first.startDelivery();
  await threads[0]?.terminate();
  assert.equal((await first.failed).message, 'the thread ended');
  await assert.rejects(
    first.eventTypes.create({ name: TYPE }),
    (error: unknown) => error instanceof Refusal && error.code === 'unavailable',
  );
  await first.stop();
  const second = await createSallyport(options);
  cleanUp(t, () => second.stop());
  await second.eventTypes.create({ name: TYPE });
  await second.publish({ type: TYPE, data: {} });
});

test('npm start starts a service that failed again, but not forever, and none that could not start', async (t) => {
  const folder = temporaryFolder(t);
  const program = join(folder, 'failing.mjs');
  const starts = join(folder, 'starts');
  writeFileSync(
    program,
    `import { appendFileSync } from 'node:fs'; appendFileSync(process.argv[2], '.'); process.exit(1);`,
  );
  const limits = { max: 3, withinMs: 600_000, pauseMs: 1, runningMs: 0 };
  for (const [runningMs, expected] of [
    [0, '....'],
    [600_000, '.'],
  ] as const) {
    writeFileSync(starts, '');
    const restarts = JSON.stringify({ ...limits, runningMs });
    const script = `import(${JSON.stringify(LAUNCH)}).then(({ launch }) => launch(process.argv.slice(1), { restarts: ${restarts} }))`;
    const child = spawn(process.execPath, ['-e', script, program, starts], { stdio: 'ignore' });
    const [code] = await once(child, 'exit');
    assert.deepEqual([code, readFileSync(starts, 'utf8')], [1, expected]);
  }
});

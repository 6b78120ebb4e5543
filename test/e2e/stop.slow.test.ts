import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync } from 'node:fs';
import { join } from 'node:path';
import test from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { DATABASE_FILE } from '../../src/data/data-folder.ts';
import { DRAIN_MS } from '../../src/delivery/limits.ts';
import { STOP_MS } from '../../src/open.ts';
import { createClient, succeeded } from '../support/client.ts';
import { deferred } from '../support/deferred.ts';
import {
  connect,
  deliveriesOf,
  makeEndpoint,
  makeEventType,
  makeWebhook,
  publish,
  startWebhook,
} from '../support/journey.ts';
import { holdLock } from '../support/lock-holder.ts';
import { startReceiver } from '../support/receiver.ts';
import { repeatsInSlowTier } from '../support/repeats.ts';
import { spawnService, temporaryFolder } from '../support/service.ts';
import { onSqlite } from '../support/store.ts';
import { sharedCertificates } from '../support/tls.ts';

repeatsInSlowTier('postgres', 'pgbouncer');

const TYPE = 'order.placed';
const SECRET = Buffer.alloc(32, 1).toString('base64');
const API_KEY = 'a'.repeat(32);

test('SIGTERM: accepts no new connection, finishes and records deliveries in flight, and exits with 0', async (t) => {
  const { ca, server } = sharedCertificates();
  const service = await spawnService(t, { ca });
  const { admin } = service;
  const receiver = await startReceiver(t, server);
  await makeEventType(admin, TYPE);
  const { at, webhook } = await connect({ admin, receiver }, [TYPE], {
    webhook: { ordered: true, maxBatchRecords: 1 },
  });
  const sent = deferred();
  const release = deferred();
  at.answer(async () => {
    sent.resolve();
    await release.promise;
    return { status: 204 };
  });
  const ids = await publish(admin, TYPE, { n: 0 }, { n: 1 });
  await sent.promise;
  service.kill('SIGTERM');
  await refusesConnections(service.url);
  release.resolve();
  assert.deepEqual(await service.exited, { code: 0, signal: null });
  assert.equal(at.deliveries.length, 1, 'nothing new was begun');

  const again = await spawnService(t, { ca, after: service });
  assert.deepEqual([(await again.log.nextAttempt(webhook.id)).firstOffset], [1]);
  assert.deepEqual(
    at.deliveries.flatMap(({ records }) => records.map(({ messageId }) => messageId)),
    ids,
    'each once',
  );
});

test('SIGTERM waits at most 8 s for an answer, exits with 0, and the next start sends the delivery again', async (t) => {
  assert.deepEqual([DRAIN_MS, STOP_MS], [8000, 9500]);
  const { ca, server } = sharedCertificates();
  const service = await spawnService(t, { ca });
  const receiver = await startReceiver(t, server);
  await makeEventType(service.admin, TYPE);
  const { at, webhook } = await connect({ admin: service.admin, receiver }, [TYPE], {
    webhook: { timeoutSeconds: 60 },
  });
  at.answer(() => () => {});
  const ids = await publish(service.admin, TYPE, { n: 0 });
  await at.next();
  const toldAt = performance.now();
  service.kill('SIGTERM');
  assert.deepEqual(await service.exited, { code: 0, signal: null });
  const tookMs = performance.now() - toldAt;
  // Less than the timeout of the delivery, so it was not the timeout that ended it.
  assert.ok(tookMs >= DRAIN_MS - 500 && tookMs < 45_000, `ended after ${tookMs} ms`);

  at.answer(() => ({ status: 204 }));
  const again = await spawnService(t, { ca, after: service });
  assert.equal((await again.log.nextAttempt(webhook.id)).fate, 'delivered');
  assert.deepEqual(
    at.deliveries.flatMap(({ records }) => records.map(({ messageId }) => messageId)),
    [ids[0], ids[0]],
  );
});

test('SIGTERM does not wait for name look-ups that never end', async (t) => {
  // The system reads this file for every look-up. The pipe in its place never ends.
  const hosts = join(temporaryFolder(t), 'hosts');
  execFileSync('mkfifo', [hosts]);
  const mount = `mount --bind ${hosts} /etc/hosts && exec "$0" "$@"`;
  const service = await spawnService(t, { through: ['unshare', '--mount', '--map-root-user', 'sh', '-c', mount] });
  const { admin } = service;
  await makeEventType(admin, TYPE);
  const webhooks = await Promise.all(
    Array.from({ length: 40 }, async (_, n) => {
      const at = { url: `https://customer-${n}.example/hook`, secret: SECRET, apiKey: API_KEY };
      const endpoint = await makeEndpoint(admin, at);
      return startWebhook(admin, await makeWebhook(admin, endpoint, [TYPE], { timeoutSeconds: 1 }));
    }),
  );
  await publish(admin, TYPE, { n: 0 });
  // Opens once a look-up reads it.
  let held: number | null = null;
  while (held === null) {
    held = openUnlessUnread(hosts);
    await sleep(20);
  }
  const toldAt = performance.now();
  service.kill('SIGTERM');
  const exit = await service.exited;
  const tookMs = performance.now() - toldAt;
  closeSync(held);
  assert.deepEqual(exit, { code: 0, signal: null });
  assert.ok(tookMs < 45_000, `ended after ${tookMs} ms`);
  assert.ok(service.log.lines().some(({ msg }) => msg === 'stopped'));

  const again = await spawnService(t, { after: service });
  for (const webhook of webhooks) {
    assert.deepEqual(
      (await deliveriesOf(again.admin, webhook)).map(({ state }) => state),
      ['pending'],
    );
  }
});

onSqlite(
  'SIGTERM ends within its limit while another process locks the database, and acknowledged data is kept',
  async (t) => {
    const { ca, server } = sharedCertificates();
    const service = await spawnService(t, { ca });
    const { admin } = service;
    const receiver = await startReceiver(t, server);
    await makeEventType(admin, TYPE);
    const { at, webhook } = await connect({ admin, receiver }, [TYPE], {});
    const asked = deferred();
    const release = deferred();
    at.answer(async () => {
      asked.resolve();
      await release.promise;
      return { status: 204 };
    });
    await publish(admin, TYPE, { n: 0 });
    await asked.promise;
    const holder = await holdLock(t, join(service.dataDir, DATABASE_FILE));
    release.resolve();
    service.kill('SIGTERM');
    assert.deepEqual(await service.exited, { code: 0, signal: null });
    assert.ok(service.log.lines().some(({ msg }) => msg === 'the stop took too long'));
    await holder.release();
    at.answer(() => ({ status: 204 }));
    const again = await spawnService(t, { ca, after: service });
    assert.equal((await again.log.nextAttempt(webhook.id)).fate, 'delivered');
  },
);

/** The pipe opened for writing, or null if nothing reads it. */
function openUnlessUnread(path: string): number | null {
  try {
    return openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENXIO') return null;
    throw error;
  }
}

/** Resolves once the port is closed. */
async function refusesConnections(url: string): Promise<void> {
  const open = async (): Promise<boolean> => {
    const response = await fetch(`${url}/livez`, { headers: { connection: 'close' } }).catch(() => null);
    await response?.arrayBuffer();
    return response !== null;
  };
  while (await open());
}

onSqlite('a second service on the same data folder is refused, and the first continues', async (t) => {
  const service = await spawnService(t);
  await assert.rejects(spawnService(t, { after: service }), /serve ended \(1\): .*is in use/s);
  await succeeded(service.admin.get('webhooks'));
  await succeeded(createClient(service.url, null).get('/readyz'));
});

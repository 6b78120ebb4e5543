import assert from 'node:assert/strict';
import test from 'node:test';
import { DRAIN_MS } from '../../src/limits.ts';
import { createClient, succeeded } from '../support/client.ts';
import { deferred } from '../support/deferred.ts';
import { connect, makeEventType, publish, sharedCertificates } from '../support/journey.ts';
import { startReceiver } from '../support/receiver.ts';
import { spawnService } from '../support/service.ts';

const TYPE = 'order.placed';

test('SIGTERM: no new connection, what is in flight is finished and written, exit 0', async (t) => {
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

test('SIGTERM waits 10 s for an answer and no longer: exit 0, and it goes out again at the next start', async (t) => {
  assert.equal(DRAIN_MS, 10_000);
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
  // Less than the delivery itself would wait, whatever else the machine does: it is not its time-out that ended it.
  assert.ok(tookMs >= DRAIN_MS - 500 && tookMs < 45_000, `ended after ${tookMs} ms`);

  at.answer(() => ({ status: 204 }));
  const again = await spawnService(t, { ca, after: service });
  assert.equal((await again.log.nextAttempt(webhook.id)).fate, 'delivered');
  assert.deepEqual(
    at.deliveries.flatMap(({ records }) => records.map(({ messageId }) => messageId)),
    [ids[0], ids[0]],
  );
});

/** Resolves once nobody listens any more. */
async function refusesConnections(url: string): Promise<void> {
  const open = async (): Promise<boolean> => {
    const response = await fetch(`${url}/livez`, { headers: { connection: 'close' } }).catch(() => null);
    await response?.arrayBuffer();
    return response !== null;
  };
  while (await open());
}

test('a second service on the same data folder is refused, and the first goes on', async (t) => {
  const service = await spawnService(t);
  await assert.rejects(spawnService(t, { after: service }), /serve ended \(1\): .*is in use/s);
  await succeeded(service.admin.get('webhooks'));
  await succeeded(createClient(service.url, null).get('/readyz'));
});

/** A service whose webhook keeps the order by key, and which is killed again and again. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { succeeded } from '../support/client.ts';
import { deferred } from '../support/deferred.ts';
import { until } from '../support/dispatching.ts';
import { connect, deliveriesOf, makeEventType } from '../support/journey.ts';
import { type Delivery, startReceiver } from '../support/receiver.ts';
import { repeatsInSlowTier } from '../support/repeats.ts';
import { type ServiceProcess, spawnService } from '../support/service.ts';
import { sharedCertificates } from '../support/tls.ts';

repeatsInSlowTier('postgres');

const TYPE = 'order.placed';
const EVENTS = 200;
const KEYS = 10;
/** Its first record fails until the last kill. */
const FAILING = 'key-3';

const keyOf = (n: number): string => `key-${n % KEYS}`;

for (const maxBatchRecords of [1, 7])
  test(`killed three times: nothing is lost, and every key keeps its order, ${maxBatchRecords} at a time`, (t) =>
    assertOrderOverKills(t, { maxBatchRecords, killsAt: [40, 90, 150] }));

/**
 * Kills the service each time so many records are accepted. Asserts that nothing is lost, and that every key keeps its order.
 */
async function assertOrderOverKills(
  t: TestContext,
  { maxBatchRecords, killsAt }: { readonly maxBatchRecords: number; readonly killsAt: readonly number[] },
): Promise<void> {
  const { ca, server } = sharedCertificates();
  let service = await spawnService(t, { ca });
  await makeEventType(service.admin, TYPE);
  const receiver = await startReceiver(t, server);
  const { at, webhook } = await connect({ admin: service.admin, receiver }, [TYPE], {
    webhook: { ordered: 'key', maxBatchRecords, retry: { policy: 'schedule', delaysSeconds: Array(50).fill(1) } },
  });
  let isFailing = true;
  let killAt = killsAt[0] ?? 0;
  let reached = deferred();
  const accepted: Delivery[] = [];
  at.answer((delivery) => {
    if (isFailing && delivery.records.some(({ offset }) => keyOf(offset) === FAILING)) return { status: 500 };
    accepted.push(delivery);
    if (accepted.flatMap(({ records }) => records).length >= killAt) reached.resolve();
    return { status: 204 };
  });
  const events = Array.from({ length: EVENTS }, (_, n) => ({ type: TYPE, data: { n }, orderingKey: keyOf(n) }));
  await succeeded(service.admin.post('events', { events }));
  for (const next of [...killsAt.slice(1), Number.POSITIVE_INFINITY]) {
    await reached.promise;
    await kill(service);
    killAt = next;
    reached = deferred();
    isFailing = next !== Number.POSITIVE_INFINITY;
    service = await restart(t, service);
  }
  await until('the end', async () =>
    (await deliveriesOf(service.admin, webhook)).every(({ state }) => state === 'delivered'),
  );
  const offsets = accepted.flatMap(({ records }) => records.map(({ offset }) => offset));
  assert.equal(new Set(offsets).size, EVENTS);
  for (let key = 0; key < KEYS; key += 1) assertInOrder(offsets.filter((offset) => offset % KEYS === key));
}

/** A record may come again after a kill, but none comes for the first time before an earlier one of its key. */
function assertInOrder(offsets: readonly number[]): void {
  const first = offsets.filter((offset, n) => offsets.indexOf(offset) === n);
  assert.deepEqual(
    first,
    first.toSorted((one, other) => one - other),
  );
}

async function kill(service: ServiceProcess): Promise<void> {
  service.kill('SIGKILL');
  assert.deepEqual(await service.exited, { code: null, signal: 'SIGKILL' });
}

function restart(t: TestContext, service: ServiceProcess): Promise<ServiceProcess> {
  return spawnService(t, { ca: sharedCertificates().ca, after: service });
}

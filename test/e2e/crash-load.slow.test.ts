/** A service that is killed under load. */
import assert from 'node:assert/strict';
import test from 'node:test';
import { DELIVERIES_IN_FLIGHT_PER_ENDPOINT } from '../../src/delivery/limits.ts';
import { createClient, EMPLOYEES, type Page, succeeded, tokenFor } from '../support/client.ts';
import { deferred } from '../support/deferred.ts';
import {
  connect,
  deliveriesOf,
  importKey,
  makeEndpoint,
  makeWebhook,
  only,
  registerApplication,
} from '../support/journey.ts';
import { arrivals, kill, restart, startBoth } from '../support/killed.ts';
import type { ServiceProcess } from '../support/service.ts';
import { pgpVector } from '../support/vectors.ts';

const TYPE = 'order.placed';

test('killed repeatedly under load: every acknowledged event arrives, and none again once its outcome was written', async (t) => {
  const { service: first, admin, receiver } = await startBoth(t, TYPE);
  const { at, webhook } = await connect({ admin, receiver }, [TYPE], { webhook: { maxBatchRecords: 3 } });
  const services = [first];
  let service = first;
  const acknowledged = new Map<number, string>();
  const total = 240;
  const kills = [7, 31, 83];
  /** The records of the last life that ended by a kill, and how many deliveries came before the next one. */
  let lastLife = new Set<string>();
  let arrived = 0;
  for (const killAfter of kills) {
    const [due, killed] = [deferred(), deferred()];
    const isLast = killAfter === kills.at(-1);
    let held = 0;
    at.answer(async () => {
      if (at.deliveries.length >= killAfter) {
        if (isLast) held += 1;
        due.resolve();
        if (isLast) await killed.promise;
      }
      return { status: 204 };
    });
    const publishing = publishAll(service, acknowledged, total);
    await due.promise;
    // Answered requests may be repeated too until their outcomes are written. Here only those in progress are left.
    const written = () => service.log.lines().filter(({ msg, fate }) => msg === 'attempt' && fate === 'delivered');
    if (isLast) await service.log.line(() => written().length >= at.deliveries.length - arrived - held);
    await kill(service);
    killed.resolve();
    // What the killed process had sent may still be read.
    await receiver.quiet();
    lastLife = new Set(arrivals(at.deliveries.slice(arrived)).keys());
    arrived = at.deliveries.length;
    await publishing;
    service = await restart(t, service);
    services.push(service);
  }
  await publishAll(service, acknowledged, total);
  const wanted = [...acknowledged.values()];
  assert.equal(new Set(wanted).size, total, 'an idempotency key belongs to one event, however often it was sent');
  while (arrivals(at.deliveries).size < total) await at.next();
  const times = arrivals(at.deliveries);
  assert.deepEqual([...times.keys()].sort(), wanted.toSorted());

  const written = deliveredAttempts(services);
  for (const { records, envelope } of at.deliveries) {
    for (const { offset } of records) {
      const last = written.get(offset) ?? Number.POSITIVE_INFINITY;
      assert.ok(envelope.attemptNumber <= last, `offset ${offset} was sent again after attempt ${last} delivered it`);
    }
  }
  const after = at.deliveries.slice(arrived).flatMap(({ records }) => records);
  const repeats = after.filter(({ messageId }) => lastLife.has(messageId)).length;
  const underWay = DELIVERIES_IN_FLIGHT_PER_ENDPOINT * 3;
  assert.ok(repeats <= underWay, `${repeats} repeats, although ${underWay} records at most can have been under way`);
  const offsets = (await deliveriesOf(service.admin, webhook)).map(({ offset }) => offset);
  assert.deepEqual(
    offsets,
    wanted.map((_, offset) => offset),
  );
});

/** The delivering attempt of each offset. No offset is delivered twice. */
function deliveredAttempts(services: readonly ServiceProcess[]): Map<number, number> {
  const delivered = new Map<number, number>();
  for (const line of services.flatMap(({ log }) => log.lines())) {
    if (line.msg !== 'attempt' || line.fate !== 'delivered') continue;
    for (let offset = Number(line.firstOffset); offset <= Number(line.lastOffset); offset += 1) {
      assert.equal(delivered.has(offset), false, `offset ${offset} was delivered twice`);
      delivered.set(offset, Number(line.attemptNumber));
    }
  }
  return delivered;
}

/** Publishes the events that are not acknowledged yet, eight at a time, until all are or the service has ended. */
async function publishAll({ admin }: ServiceProcess, acknowledged: Map<number, string>, total: number): Promise<void> {
  const open = Array.from({ length: total }, (_, n) => n).filter((n) => !acknowledged.has(n));
  const work = async (): Promise<void> => {
    for (let n = open.shift(); n !== undefined; n = open.shift()) {
      const body = { type: TYPE, data: { n }, idempotencyKey: `event-${n}` };
      const reply = await admin.post<{ events: { id: string }[] }>('events', body).catch(() => null);
      if (reply === null) return;
      assert.equal(reply.status, 202);
      acknowledged.set(n, only(reply.body.events).id);
    }
  };
  await Promise.all(Array.from({ length: 8 }, work));
}

test('killed while employees are created: each acknowledged employee exists, and each existing one has its event', async (t) => {
  const { service, admin, receiver } = await startBoth(t, TYPE);
  const endpoint = await makeEndpoint(admin, receiver.endpoint('/hook'));
  await importKey(admin, 'key', pgpVector('rsa2048'));
  const webhook = await makeWebhook(admin, endpoint, ['employee.created'], { encryptionKeyName: 'key' });
  const scopes = ['employees:create', 'employees:view'];
  const { api, credentials } = await registerApplication(admin, scopes);
  const acknowledged: string[] = [];
  const create = async (worker: number): Promise<void> => {
    for (let n = 0; ; n += 1) {
      const body = { userName: `${worker}-${n}`, firstName: 'A', lastName: 'B', email: 'a@b.example', division: 'x' };
      const reply = await api.post<{ userId: string }>(EMPLOYEES, body).catch(() => null);
      if (reply === null) return;
      assert.equal(reply.status, 201);
      acknowledged.push(reply.body.userId);
      if (acknowledged.length === 40) service.kill('SIGKILL');
    }
  };
  await Promise.all([create(0), create(1), create(2), create(3)]);
  await service.exited;

  const again = await restart(t, service);
  const reader = createClient(again.url, await tokenFor(again.url, credentials));
  for (const userId of acknowledged) await succeeded(reader.get(`${EMPLOYEES}/${userId}`));
  const { items } = await succeeded<Page<{ userId: string }>>(reader.get(`${EMPLOYEES}?limit=200`));
  assert.ok(items.length >= acknowledged.length && items.length <= acknowledged.length + 4);
  assert.equal((await deliveriesOf(again.admin, webhook)).length, items.length);
});

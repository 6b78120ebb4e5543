import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import test, { type TestContext } from 'node:test';
import { DATABASE_FILE } from '../../src/data/data-folder.ts';
import { DELIVERIES_IN_FLIGHT_PER_ENDPOINT } from '../../src/delivery/limits.ts';
import { type ApiClient, createClient, EMPLOYEES, type Page, succeeded, tokenFor } from '../support/client.ts';
import { deferred } from '../support/deferred.ts';
import { startFront } from '../support/front.ts';
import {
  connect,
  deliveriesOf,
  importKey,
  makeEndpoint,
  makeEventType,
  makeWebhook,
  only,
  publish,
  registerApplication,
  sharedCertificates,
  startWebhook,
} from '../support/journey.ts';
import { holdLock } from '../support/lock-holder.ts';
import { type Delivery, type Receiver, startReceiver } from '../support/receiver.ts';
import { type ServiceProcess, spawnService } from '../support/service.ts';
import { pgpVector } from '../support/vectors.ts';

const TYPE = 'order.placed';

async function startBoth(t: TestContext): Promise<{ service: ServiceProcess; admin: ApiClient; receiver: Receiver }> {
  const { ca, server } = sharedCertificates();
  const service = await spawnService(t, { ca });
  await makeEventType(service.admin, TYPE);
  return { service, admin: service.admin, receiver: await startReceiver(t, server) };
}

async function kill(service: ServiceProcess): Promise<void> {
  service.kill('SIGKILL');
  assert.deepEqual(await service.exited, { code: null, signal: 'SIGKILL' });
}

function restart(t: TestContext, service: ServiceProcess): Promise<ServiceProcess> {
  return spawnService(t, { ca: sharedCertificates().ca, after: service });
}

/** How often each message arrived. */
function arrivals(deliveries: readonly Delivery[]): Map<string, number> {
  const times = new Map<string, number>();
  for (const { messageId } of deliveries.flatMap(({ records }) => records)) {
    times.set(messageId, (times.get(messageId) ?? 0) + 1);
  }
  return times;
}

test('killed while the first of five is being sent: that one arrives twice, those not claimed yet once', async (t) => {
  const { service, admin, receiver } = await startBoth(t);
  const { at, webhook } = await connect({ admin, receiver }, [TYPE], {
    webhook: { ordered: true, maxBatchRecords: 1 },
  });
  const sent = deferred();
  at.answer(() => {
    sent.resolve();
    return () => {};
  });
  const ids = await publish(admin, TYPE, ...numbered(5));
  await sent.promise;
  await kill(service);
  assert.equal(at.deliveries.length, 1, 'an ordered webhook has claimed one');

  at.answer(() => ({ status: 204 }));
  const again = await restart(t, service);
  for (const _ of ids) await again.log.nextAttempt(webhook.id);
  const [first, second, ...others] = at.deliveries.map(
    ({ records, envelope }) => `${only(records).offset} ${envelope.attemptNumber}`,
  );
  // It counts if it was killed late: an attempt gets a row after two seconds.
  assert.deepEqual([first, second === '0 2' ? '0 1' : second], ['0 1', '0 1']);
  assert.deepEqual(others, ['1 1', '2 1', '3 1', '4 1']);
  assert.deepEqual([...arrivals(at.deliveries)], [[ids[0], 2], ...ids.slice(1).map((id) => [id, 1])]);
  const after = await deliveriesOf(again.admin, webhook);
  assert.ok(after.every(({ state }) => state === 'delivered'));
});

test('killed between claim and send: everything arrives once', async (t) => {
  const { service, admin, receiver } = await startBoth(t);
  const claimed = deferred();
  const front = await startFront(t, () => claimed.resolve());
  const known = { secret: randomBytes(32).toString('base64'), apiKey: randomBytes(16).toString('hex') };
  const endpoint = await makeEndpoint(admin, { url: `https://localhost:${front.port}/hook`, ...known });
  const webhook = await startWebhook(admin, await makeWebhook(admin, endpoint, [TYPE]));
  const ids = await publish(admin, TYPE, ...numbered(3));
  await claimed.promise;
  await kill(service);

  const at = receiver.endpoint('/hook', known);
  front.passTo(receiver.port);
  const again = await restart(t, service);
  const settled = await again.log.nextAttempt(webhook.id);
  assert.equal(settled.fate, 'delivered');
  assert.deepEqual(
    [...arrivals(at.deliveries)],
    ids.map((id) => [id, 1]),
  );
});

test('killed at the moment of the answer: every message arrives, and only once if its outcome was written', async (t) => {
  const { service, admin, receiver } = await startBoth(t);
  const { at } = await connect({ admin, receiver }, [TYPE], {
    webhook: { ordered: true, maxBatchRecords: 1 },
  });
  at.answer(({ records }) => (_, response) => {
    response.writeHead(204).end(() => {
      if (only(records).offset === 2) service.kill('SIGKILL');
    });
  });
  const ids = await publish(admin, TYPE, ...numbered(5));
  await service.exited;
  at.answer(() => ({ status: 204 }));
  const again = await restart(t, service);
  await again.log.line(({ msg, lastOffset }) => msg === 'attempt' && lastOffset === 4);
  const times = arrivals(at.deliveries);
  assert.deepEqual([...times.keys()].sort(), [...ids].sort());
  for (const [offset, id] of ids.entries()) {
    const written = service.log.lines().some((line) => line.msg === 'attempt' && line.lastOffset === offset);
    if (written) assert.equal(times.get(id), 1, `offset ${offset}`);
    else assert.ok((times.get(id) ?? 0) <= 2, `offset ${offset}`);
  }
});

test('killed between the answer and its commit: that message arrives twice, and every other once', async (t) => {
  const { service, admin, receiver } = await startBoth(t);
  const { at, webhook } = await connect({ admin, receiver }, [TYPE], {
    webhook: { ordered: true, maxBatchRecords: 1 },
  });
  const asked = deferred();
  const mayAnswer = deferred();
  const answered = deferred();
  at.answer(async ({ records }) => {
    if (only(records).offset < 2) return { status: 204 };
    asked.resolve();
    await mayAnswer.promise;
    return (_, response) => void response.writeHead(204).end(answered.resolve);
  });
  const ids = await publish(admin, TYPE, ...numbered(5));
  await asked.promise;
  // The service cannot write the outcome.
  const holder = await holdLock(t, join(service.dataDir, DATABASE_FILE));
  mayAnswer.resolve();
  await answered.promise;
  await kill(service);
  await holder.release();
  at.answer(() => ({ status: 204 }));
  const again = await restart(t, service);
  await again.log.line(({ msg, lastOffset }) => msg === 'attempt' && lastOffset === 4);
  assert.deepEqual(
    [...arrivals(at.deliveries)],
    ids.map((id, offset) => [id, offset === 2 ? 2 : 1]),
  );
  assert.ok((await deliveriesOf(again.admin, webhook)).every(({ state }) => state === 'delivered'));
});

test('killed repeatedly under load: every acknowledged event arrives, and none again once its outcome was written', async (t) => {
  const { service: first, admin, receiver } = await startBoth(t);
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
  const { service, admin, receiver } = await startBoth(t);
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

function numbered(count: number): { n: number }[] {
  return Array.from({ length: count }, (_, n) => ({ n }));
}

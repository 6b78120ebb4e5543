import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import test from 'node:test';
import { DATABASE_FILE } from '../../src/data/data-folder.ts';
import { deferred } from '../support/deferred.ts';
import { startFront } from '../support/front.ts';
import { connect, deliveriesOf, makeEndpoint, makeWebhook, only, publish, startWebhook } from '../support/journey.ts';
import { arrivals, kill, restart, startBoth } from '../support/killed.ts';
import { holdLock } from '../support/lock-holder.ts';

const TYPE = 'order.placed';

test('killed while the first of five is being sent: that one arrives twice, those not claimed yet once', async (t) => {
  const { service, admin, receiver } = await startBoth(t, TYPE);
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
  const { service, admin, receiver } = await startBoth(t, TYPE);
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
  const { service, admin, receiver } = await startBoth(t, TYPE);
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
  const { service, admin, receiver } = await startBoth(t, TYPE);
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

function numbered(count: number): { n: number }[] {
  return Array.from({ length: count }, (_, n) => ({ n }));
}

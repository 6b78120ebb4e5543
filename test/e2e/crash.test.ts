import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import test from 'node:test';
import { DATABASE_FILE } from '../../src/data/data-folder.ts';
import { deferred } from '../support/deferred.ts';
import { startFront } from '../support/front.ts';
import {
  connect,
  deliveriesOf,
  makeEndpoint,
  makeEventType,
  makeWebhook,
  only,
  publish,
  startWebhook,
} from '../support/journey.ts';
import { arrivals, kill, restart, startBoth } from '../support/killed.ts';
import { holdLock } from '../support/lock-holder.ts';
import type { LogLine } from '../support/log-reader.ts';

/** Each moment has its own event type, and kills the service that was started again after the one before. */
test('a service that is killed', async (t) => {
  const { service: started, receiver } = await startBoth(t, 'order.sending');
  const ordered = { webhook: { ordered: true, maxBatchRecords: 1 } };
  let service = started;

  await t.test('while the first of five is sent: that one arrives twice, those not claimed yet once', async () => {
    const { at, webhook } = await connect({ admin: service.admin, receiver }, ['order.sending'], ordered);
    const sent = deferred();
    at.answer(() => {
      sent.resolve();
      return () => {};
    });
    const ids = await publish(service.admin, 'order.sending', ...numbered(5));
    await sent.promise;
    await kill(service);
    assert.equal(at.deliveries.length, 1, 'an ordered webhook has claimed one');

    at.answer(() => ({ status: 204 }));
    service = await restart(t, service);
    for (const _ of ids) await service.log.nextAttempt(webhook.id);
    const [first, second, ...others] = at.deliveries.map(
      ({ records, envelope }) => `${only(records).offset} ${envelope.attemptNumber}`,
    );
    // It counts if it was killed late: an attempt gets a row after two seconds.
    assert.deepEqual([first, second === '0 2' ? '0 1' : second], ['0 1', '0 1']);
    assert.deepEqual(others, ['1 1', '2 1', '3 1', '4 1']);
    assert.deepEqual([...arrivals(at.deliveries)], [[ids[0], 2], ...ids.slice(1).map((id) => [id, 1])]);
    const after = await deliveriesOf(service.admin, webhook);
    assert.ok(after.every(({ state }) => state === 'delivered'));
  });

  await t.test('between claim and send: everything arrives once', async (moment) => {
    await makeEventType(service.admin, 'order.claimed');
    const claimed = deferred();
    const front = await startFront(moment, () => claimed.resolve());
    const known = { secret: randomBytes(32).toString('base64'), apiKey: randomBytes(16).toString('hex') };
    const endpoint = await makeEndpoint(service.admin, { url: `https://localhost:${front.port}/claimed`, ...known });
    const webhook = await startWebhook(service.admin, await makeWebhook(service.admin, endpoint, ['order.claimed']));
    const ids = await publish(service.admin, 'order.claimed', ...numbered(3));
    await claimed.promise;
    await kill(service);

    const at = receiver.endpoint('/claimed', known);
    front.passTo(receiver.port);
    service = await restart(t, service);
    const settled = await service.log.nextAttempt(webhook.id);
    assert.equal(settled.fate, 'delivered');
    assert.deepEqual(
      [...arrivals(at.deliveries)],
      ids.map((id) => [id, 1]),
    );
  });

  await t.test('at the moment of the answer: every message arrives, and once if its outcome was written', async () => {
    await makeEventType(service.admin, 'order.answered');
    const { at, webhook } = await connect({ admin: service.admin, receiver }, ['order.answered'], ordered);
    const killed = service;
    at.answer(({ records }) => (_, response) => {
      response.writeHead(204).end(() => {
        if (only(records).offset === 2) killed.kill('SIGKILL');
      });
    });
    const ids = await publish(killed.admin, 'order.answered', ...numbered(5));
    await killed.exited;
    at.answer(() => ({ status: 204 }));
    service = await restart(t, killed);
    await service.log.line(isAttempt(webhook.id, 4));
    const times = arrivals(at.deliveries);
    assert.deepEqual([...times.keys()].sort(), [...ids].sort());
    for (const [offset, id] of ids.entries()) {
      const written = killed.log.lines().some(isAttempt(webhook.id, offset));
      if (written) assert.equal(times.get(id), 1, `offset ${offset}`);
      else assert.ok((times.get(id) ?? 0) <= 2, `offset ${offset}`);
    }
  });

  await t.test('between the answer and its commit: that message arrives twice, every other once', async (moment) => {
    await makeEventType(service.admin, 'order.committing');
    const { at, webhook } = await connect({ admin: service.admin, receiver }, ['order.committing'], ordered);
    const asked = deferred();
    const mayAnswer = deferred();
    const answered = deferred();
    at.answer(async ({ records }) => {
      if (only(records).offset < 2) return { status: 204 };
      asked.resolve();
      await mayAnswer.promise;
      return (_, response) => void response.writeHead(204).end(answered.resolve);
    });
    const ids = await publish(service.admin, 'order.committing', ...numbered(5));
    await asked.promise;
    // The service cannot write the outcome.
    const holder = await holdLock(moment, join(service.dataDir, DATABASE_FILE));
    mayAnswer.resolve();
    await answered.promise;
    await kill(service);
    await holder.release();
    at.answer(() => ({ status: 204 }));
    service = await restart(t, service);
    await service.log.line(isAttempt(webhook.id, 4));
    assert.deepEqual(
      [...arrivals(at.deliveries)],
      ids.map((id, offset) => [id, offset === 2 ? 2 : 1]),
    );
    assert.ok((await deliveriesOf(service.admin, webhook)).every(({ state }) => state === 'delivered'));
  });
});

function isAttempt(webhookId: string, lastOffset: number): (line: LogLine) => boolean {
  return (line) => line.msg === 'attempt' && line.webhookId === webhookId && line.lastOffset === lastOffset;
}

function numbered(count: number): { n: number }[] {
  return Array.from({ length: count }, (_, n) => ({ n }));
}

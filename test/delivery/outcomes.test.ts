/** Responses on raw connections, below HTTP, and the outcome of the records for each. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { TestContext } from 'node:test';
import { describe, it } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { createTestDelivery } from '../../src/delivery/trials/test-delivery.ts';
import { LINEAR_STEP_MS } from '../../src/domain/retry.ts';
import { viewAttempt, viewDelivery } from '../../src/webhooks/deliveries.ts';
import { type Dispatching, isDrained, openDispatching, until } from '../support/dispatching.ts';
import { startRawTlsServer } from '../support/https-server.ts';
import { repeats } from '../support/repeats.ts';
import { ACTOR } from '../support/services.ts';
import { sharedCertificates } from '../support/tls.ts';

repeats('postgres');

const HALF = 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf';

async function connectRaw(t: TestContext, d: Dispatching, onSocket: (socket: TLSSocket) => void, webhook = {}) {
  const port = await startRawTlsServer(t, sharedCertificates().server, onSocket);
  return d.connect({ endpoint: { url: `https://127.0.0.1:${port}/` }, webhook });
}

describe('a 2xx answer', () => {
  const ends: Readonly<Record<string, (socket: TLSSocket) => void>> = {
    'is reset within its body': (socket) => void socket.write(HALF, () => setTimeout(() => socket.destroy(), 10)),
    'never ends its body': (socket) => void socket.write(HALF),
    'has a malformed body': (socket) =>
      void socket.write('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\nzz'),
  };
  for (const [name, answer] of Object.entries(ends)) {
    it(`that ${name} delivers the records once, and the part of its body that arrived is stored`, async (t) => {
      const d = await openDispatching(t);
      let requests = 0;
      const { webhook } = await connectRaw(t, d, async (socket) => {
        await once(socket, 'data');
        requests += 1;
        answer(socket);
      });
      await d.publishMany(1);
      await d.start();
      await until('the delivery', () => isDrained(d));
      const kept = await d.rows('SELECT response_status, response_body, error_class FROM attempt');
      assert.deepEqual(kept, [{ response_status: 200, response_body: Buffer.from('half'), error_class: null }]);
      assert.equal((await d.webhooks.get(webhook.id)).progress.state, 'running');

      const test = createTestDelivery(d);
      const attempt = await test(webhook.id, ACTOR.actor);
      assert.deepEqual([attempt.responseStatus, attempt.errorClass], [200, null]);
      assert.equal(requests, 2);
    });
  }
});

it('a response that violates HTTP delivers by its status, and the attempt names the violation', async (t) => {
  const d = await openDispatching(t);
  await connectRaw(t, d, async (socket) => {
    await once(socket, 'data');
    socket.write('HTTP/1.1 200 OK\r\nX-Trace: a\r\n b\r\nno colon\r\nContent-Length: 0, 0\r\n\r\n');
  });
  const [eventId = ''] = await d.publishMany(1);
  await d.start();
  await until('the delivery', () => isDrained(d));
  const { items } = await d.deliveries.list({ eventId }, null, 1);
  const { attempts } = await d.deliveries.get(items[0]?.id ?? '');
  const views = attempts
    .map((one) => viewAttempt(one, null))
    .map(({ delivered, responseHeaders, error, responseProblem }) => ({
      delivered,
      responseHeaders,
      error,
      responseProblem,
    }));
  assert.deepEqual(views, [
    {
      delivered: true,
      responseHeaders: { 'x-trace': 'a b', 'content-length': '0' },
      error: null,
      responseProblem: 'a header is folded over several lines; a header line has no colon; Content-Length is repeated',
    },
  ]);
});

it('a request with one attempt survives a kept-alive connection that the receiver closes as it is used again', async (t) => {
  const d = await openDispatching(t);
  let requests = 0;
  const webhook = { retry: { maxAttempts: 1 }, maxBatchRecords: 1, ordered: true };
  const onSocket = (socket: TLSSocket): void => {
    socket.on('data', () => {
      requests += 1;
      if (requests === 2) socket.destroy();
      else socket.write('HTTP/1.1 204 No Content\r\n\r\n');
    });
  };
  await connectRaw(t, d, onSocket, webhook);
  await d.publishMany(2);
  await d.start();
  await until('both deliveries', () => isDrained(d));
  assert.equal(requests, 3);
  assert.deepEqual(await d.rows('SELECT state, attempt_count FROM batch ORDER BY first_offset'), [
    { state: 'delivered', attempt_count: 1 },
    { state: 'delivered', attempt_count: 1 },
  ]);
  assert.deepEqual(await d.rows('SELECT error_class FROM attempt'), [{ error_class: null }, { error_class: null }]);
});

it('a 413 counts although the connection breaks within its head: the batch goes on as two halves', async (t) => {
  const d = await openDispatching(t);
  let requests = 0;
  await connectRaw(t, d, (socket) => {
    socket.on('data', () => {
      requests += 1;
      if (requests === 1) socket.end('HTTP/1.1 413 Content Too Large\r\nConn');
      else socket.write('HTTP/1.1 204 No Content\r\n\r\n');
    });
  });
  await d.publishMany(2);
  await d.start();
  await until('both halves', () => isDrained(d));
  const attempts = await d.rows(
    'SELECT response_status, error_class, first_offset, last_offset FROM attempt ORDER BY key',
  );
  assert.deepEqual(
    attempts.map((one) => one.response_status),
    [413, 204, 204],
  );
  assert.deepEqual(attempts.map((one) => [one.first_offset, one.last_offset]).sort(), [
    [0, 0],
    [0, 1],
    [1, 1],
  ]);
});

it('updatedAt of a delivery moves when an attempt ends, and with a replay', async (t) => {
  const d = await openDispatching(t);
  const { at } = await d.connect({ webhook: { retry: { policy: 'linear', maxAttempts: 2 } } });
  const [eventId = ''] = await d.publishMany(1);
  const read = async () => (await d.deliveries.list({ eventId }, null, 1)).items[0];
  const shown = async (): Promise<string | undefined> => {
    const delivery = await read();
    return delivery === undefined ? undefined : viewDelivery(delivery).updatedAt;
  };
  const now = (): string => new Date(d.clock()).toISOString();
  assert.equal(await shown(), now());
  at.answer(async () => {
    d.advance(5);
    return { status: 503 };
  });
  d.advance(1000);
  await d.start();
  for (const state of ['pending', 'dead'] as const) {
    await until(`the attempt before ${state}`, async () => {
      const delivery = await read();
      return delivery?.state === state && !delivery.isLeased && delivery.attemptCount > 0;
    });
    assert.equal(await shown(), now());
    d.advance(LINEAR_STEP_MS);
  }
  assert.equal((await d.rows('SELECT 1 FROM attempt')).length, 2);
  at.answer(() => ({ status: 204 }));
  await d.deliveries.replay((await read())?.id ?? '', ACTOR);
  assert.equal(await shown(), now());
});

it('410 stops the webhook also when its body never ends', async (t) => {
  const d = await openDispatching(t);
  const { webhook } = await connectRaw(t, d, async (socket) => {
    await once(socket, 'data');
    socket.write('HTTP/1.1 410 Gone\r\nContent-Length: 100\r\n\r\nhalf');
  });
  await d.publishMany(1);
  await d.start();
  await until('the stop', async () => (await d.webhooks.get(webhook.id)).progress.state === 'stopped');
  assert.equal((await d.webhooks.get(webhook.id)).progress.stateReason, 'endpoint_gone');
  assert.deepEqual(await d.rows('SELECT state FROM batch'), [{ state: 'pending' }]);
});

it('interim answers without end are a failed attempt, which is tried again', async (t) => {
  const d = await openDispatching(t);
  await connectRaw(t, d, async (socket) => {
    await once(socket, 'data');
    const send = (): void => {
      if (!socket.destroyed) socket.write('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(100), () => setImmediate(send));
    };
    send();
  });
  await d.publishMany(1);
  await d.start();
  await until('the attempt', async () => (await d.rows('SELECT 1 FROM attempt')).length === 1);
  assert.deepEqual(await d.rows('SELECT error_class, response_status FROM attempt'), [
    { error_class: 'malformed_response', response_status: null },
  ]);
  assert.deepEqual(await d.rows('SELECT state, attempt_count FROM batch'), [{ state: 'pending', attempt_count: 1 }]);
});

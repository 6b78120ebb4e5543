/** Receivers that misbehave before the head of their response, and between the head and the end of the connection. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { RESPONSE_READ_BYTES } from '../../src/domain/outcome.ts';
import { ANSWER_BYTES } from '../../src/outbound/exchange.ts';
import { INTERIM_ANSWERS_MAX } from '../../src/outbound/incoming.ts';
import { RESPONSE_HEADER_BYTES } from '../../src/outbound/limits.ts';
import { deferred } from '../support/deferred.ts';
import { startHttpsServer, startRawTlsServer } from '../support/https-server.ts';
import { makeCertificates } from '../support/tls.ts';
import { failed, loopbackTransport, requestTo } from '../support/transport.ts';

const certificates = makeCertificates({ names: ['receiver.test'] });
const { ca: caPem, server: identity } = certificates;

const HINTS = 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n';
const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n';
const END = 'HTTP/1.1 204 No Content\r\n\r\n';

test('interim responses are skipped, also an unrequested 100 Continue, and the connection stays open', async (t) => {
  const replies = [CONTINUE + END, HINTS + CONTINUE + END, HINTS.repeat(INTERIM_ANSWERS_MAX) + END, END];
  let connections = 0;
  let reply = '';
  const port = await startRawTlsServer(t, identity, (socket) => {
    connections += 1;
    socket.on('data', () => {
      const cut = Math.floor(reply.length / 2);
      socket.write(reply.slice(0, cut), () => setImmediate(() => socket.write(reply.slice(cut))));
    });
  });
  const { post } = loopbackTransport(t, { caPem });
  for (reply of replies) {
    const { ok, answer } = await post(requestTo(`https://receiver.test:${port}/`));
    assert.deepEqual([ok, answer?.status, answer?.headers], [true, 204, {}]);
  }
  assert.equal(connections, 1);
});

test('interim answers without end fail the attempt, and its connection is closed', async (t) => {
  for (const flood of [
    HINTS.repeat(100),
    `HTTP/1.1 103 x\r\n${'A: b\r\n'.repeat(1000)}`,
    '\r\n'.repeat(1000),
    HINTS.replace('103', ' 103').repeat(100),
  ]) {
    const closed = deferred();
    let sent = 0;
    const port = await startRawTlsServer(t, identity, async (socket) => {
      await once(socket, 'data');
      const send = (): void => {
        sent += flood.length;
        if (socket.destroyed) closed.resolve();
        else socket.write(flood, () => setImmediate(send));
      };
      send();
    });
    const { post } = loopbackTransport(t, { caPem });
    const outcome = failed(
      await post(requestTo(`https://receiver.test:${port}/`, { headDecides: true })),
      'malformed_response',
    );
    assert.equal(outcome.answer, null);
    assert.match(outcome.message, /more than 16 interim answers \(1xx\), or more than 16384 bytes/);
    await closed.promise;
    assert.ok(sent < 16 * 1024 * 1024);
  }
});

type Answering = { readonly text: string; readonly endless?: string; readonly ends?: boolean };

test('2xx delivers once its head is read, even if its body fails, and the connection is closed', async (t) => {
  const chunked = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';
  const table: Readonly<Record<string, Answering>> = {
    'a body that never comes': { text: 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n' },
    'a body that never ends': { text: chunked, endless: '1\r\nx\r\n' },
    'a body that is too large': { text: chunked, endless: `4000\r\n${'x'.repeat(0x4000)}\r\n` },
    'chunk extensions without end': { text: `${chunked}1;`, endless: 'e'.repeat(0x4000) },
    'trailers without end': { text: `${chunked}0\r\n`, endless: 'A: b\r\n'.repeat(100) },
    'a malformed chunk': { text: `${chunked}4\r\nhalf\r\nzz\r\n` },
    'a reset': { text: `${chunked}4\r\nhalf\r\n`, ends: true },
    'an early end': { text: 'HTTP/1.1 201 Created\r\nContent-Length: 9\r\n\r\nhalf', ends: true },
  };
  const { post } = loopbackTransport(t, { caPem });
  await Promise.all(
    Object.entries(table).map(async ([name, { text, endless, ends }]) => {
      const closed = deferred();
      let connections = 0;
      const port = await startRawTlsServer(t, identity, async (socket) => {
        connections += 1;
        socket.once('close', () => closed.resolve());
        await once(socket, 'data');
        socket.write(text);
        if (ends) setTimeout(() => socket.destroy(), 10);
        if (endless === undefined) return;
        const drip = setInterval(() => socket.write(endless), 1);
        socket.once('close', () => clearInterval(drip));
      });
      const request = requestTo(`https://receiver.test:${port}/`, { headDecides: true, timeoutMs: 30_000 });
      const outcome = await post(request);
      assert.ok(outcome.ok, `${name}: ${JSON.stringify(outcome)}`);
      assert.equal(outcome.answer.truncated, true, name);
      assert.ok(outcome.answer.body.length <= RESPONSE_READ_BYTES, name);
      assert.ok((outcome.timings.totalMs ?? 0) < 25_000, name);
      await closed.promise;
      assert.equal(connections, 1, name);
    }),
  );
});

test('a body that comes within its time is recorded whole, and its connection is used again', async (t) => {
  const receiver = await startHttpsServer(identity, {
    answer: (_seen, response) => {
      response.writeHead(202, { 'content-length': 8 });
      response.write('half');
      setTimeout(() => response.end('half'), 50);
    },
  });
  t.after(() => receiver.close());
  const { post } = loopbackTransport(t, { caPem });
  for (let i = 0; i < 2; i += 1) {
    const outcome = await post(requestTo(`https://receiver.test:${receiver.port}/`, { headDecides: true }));
    assert.ok(outcome.ok);
    assert.deepEqual([Buffer.from(outcome.answer.body).toString(), outcome.answer.truncated], ['halfhalf', false]);
  }
  assert.equal(receiver.connections(), 1);
});

test('any other status counts as soon as its line is read, and a 2xx only with its whole head', async (t) => {
  let reply = '';
  const port = await startRawTlsServer(t, identity, async (socket) => {
    await once(socket, 'data');
    socket.write(reply, () => setTimeout(() => socket.destroy(), 10));
  });
  const { post } = loopbackTransport(t, { caPem });
  const request = requestTo(`https://receiver.test:${port}/`, { headDecides: true });
  reply = 'HTTP/1.1 410 Gone\r\nContent-Length: 100\r\n\r\nhalf';
  assert.equal(failed(await post(request), 'http_status').answer?.status, 410);
  reply = 'HTTP/1.1 413 Content Too Large\r\nRetry-After: 7\r\nContent-Le';
  const { answer } = failed(await post(request), 'http_status');
  assert.deepEqual([answer?.status, answer?.headers, answer?.truncated], [413, { 'retry-after': '7' }, true]);
  assert.match(answer?.problems?.join() ?? '', /closed before the answer was complete/);
  for (reply of ['HTTP/1.1 200 OK\r\nContent-Length: 0\r\n', 'HTTP/1.1 503 Bus'])
    assert.equal(failed(await post(request), 'reset').answer, null);
});

test('a status decides even if its headers are larger than the bound', async (t) => {
  const receiver = await startHttpsServer(identity, {
    answer: { headers: { 'x-long': 'x'.repeat(RESPONSE_HEADER_BYTES) } },
  });
  t.after(() => receiver.close());
  const { post } = loopbackTransport(t, { caPem });
  const request = requestTo(`https://receiver.test:${receiver.port}/`, { headDecides: true });
  const { ok, answer } = await post(request);
  assert.deepEqual(
    [ok, answer?.status, answer?.problems],
    [true, 200, ["the answer's headers are too large: more than 16384 bytes"]],
  );
  failed(await post({ ...request, headDecides: false }), 'response_too_large');
  assert.equal(receiver.connections(), 2);
});

test('a request whose outcome the head does not decide needs the body, for example a token request', async (t) => {
  let reply = 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf';
  const port = await startRawTlsServer(t, identity, async (socket) => {
    await once(socket, 'data');
    socket.write(reply, () => setTimeout(() => socket.destroy(), 10));
  });
  const { post } = loopbackTransport(t, { caPem });
  const url = `https://receiver.test:${port}/`;
  failed(await post(requestTo(url)), 'reset');
  reply = `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;${'e'.repeat(ANSWER_BYTES)}`;
  failed(await post(requestTo(url)), 'response_too_large');
});

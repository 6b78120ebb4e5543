import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { adviceFor, RESPONSE_READ_BYTES } from '../../src/domain/outcome.ts';
import { CONNECTIONS_PER_ORIGIN_MAX, RESPONSE_HEADER_BYTES } from '../../src/outbound/limits.ts';
import { cancel, createCancellation, ORIGINS_MAX } from '../../src/outbound/transport.ts';
import { deferred } from '../support/deferred.ts';
import { type HttpsServer, type PlannedAnswer, startHttpsServer } from '../support/https-server.ts';
import { makeCertificates } from '../support/tls.ts';
import { failed, loopbackTransport, requestTo } from '../support/transport.ts';

const certificates = makeCertificates({ names: ['localhost', '*.receiver.test', '127.0.0.1'] });
const { ca: caPem } = certificates;

/** For as many connections as there may be: on Deno each takes tens of milliseconds. */
const PATIENCE_MS = 60_000;

async function startReceiver(t: TestContext, answer: PlannedAnswer = {}): Promise<HttpsServer> {
  const receiver = await startHttpsServer(certificates.server, { answer });
  t.after(() => receiver.close());
  return receiver;
}

test('a request arrives as it was given, with host and length made here', async (t) => {
  const receiver = await startReceiver(t, {
    status: 202,
    headers: { 'X-Trace': 'abc', 'Set-Cookie': ['a=1', 'b=2'] },
    body: 'taken',
  });
  const { post } = loopbackTransport(t, { caPem });
  const body = new Uint8Array([0, 255, 10, 13]);
  const headers = {
    'x-api-key': 'k',
    Date: 'Sat, 21 Nov 2026 05:00:00 GMT',
    'Content-Length': '99',
    Host: 'other.test',
  };
  const outcome = await post(requestTo(`${receiver.origin}/Hook/%C3%A9?b=2&a=1#part`, { headers, body }));

  assert.ok(outcome.ok);
  assert.equal(outcome.answer.status, 202);
  assert.equal(outcome.answer.headers['x-trace'], 'abc');
  assert.equal(outcome.answer.headers['set-cookie'], 'a=1, b=2');
  assert.equal(Buffer.from(outcome.answer.body).toString(), 'taken');
  assert.equal(outcome.answer.truncated, false);

  const [seen] = receiver.requests;
  assert.ok(seen);
  assert.deepEqual([seen.method, seen.url], ['POST', '/Hook/%C3%A9?b=2&a=1']);
  assert.deepEqual(Uint8Array.from(seen.body), body);
  assert.deepEqual(
    seen.rawHeaders.filter((_, i) => i % 2 === 0),
    ['host', 'connection', 'x-api-key', 'Date', 'content-length'],
  );
  assert.equal(seen.headers.host, `localhost:${receiver.port}`);
  assert.equal(seen.headers['content-length'], '4');
});

test('an empty body and headers by name are sent too', async (t) => {
  const receiver = await startReceiver(t);
  const { post } = loopbackTransport(t, { caPem });
  assert.ok(
    (await post(requestTo(receiver.origin, { headers: { 'x-a': '1', 'content-length': '7' }, body: new Uint8Array() })))
      .ok,
  );
  const [seen] = receiver.requests;
  assert.deepEqual([seen?.headers['x-a'], seen?.headers['content-length'], seen?.body.length], ['1', '0', 0]);
});

test('each step of a new connection is timed, and a kept-alive one has none', async (t) => {
  const receiver = await startReceiver(t);
  const { post } = loopbackTransport(t, { caPem });
  const first = (await post(requestTo(receiver.origin))).timings;
  for (const [step, ms] of Object.entries(first)) assert.ok(Number.isInteger(ms), `${step} ${ms}`);
  const second = (await post(requestTo(receiver.origin))).timings;
  assert.deepEqual(
    { ...second, firstByteMs: 0, totalMs: 0 },
    { dnsMs: null, connectMs: null, tlsMs: null, firstByteMs: 0, totalMs: 0 },
  );
  assert.ok(Number.isInteger(second.firstByteMs) && Number.isInteger(second.totalMs));
  assert.equal(receiver.connections(), 1);
});

test('more requests than connections wait for one, and each is sent once', async (t) => {
  const receiver = await startReceiver(t);
  const { post } = loopbackTransport(t, { caPem });
  const count = CONNECTIONS_PER_ORIGIN_MAX + 20;
  const outcomes = await Promise.all(
    Array.from({ length: count }, (_, i) => post(requestTo(`${receiver.origin}/${i}`, { timeoutMs: PATIENCE_MS }))),
  );
  assert.ok(outcomes.every(({ ok }) => ok));
  assert.equal(new Set(receiver.requests.map(({ url }) => url)).size, count);
  assert.equal(receiver.requests.length, count);
  assert.ok(receiver.connections() <= CONNECTIONS_PER_ORIGIN_MAX);
});

test('a request that waits for a connection runs out of time too, and the next is served', async (t) => {
  const receiver = await startReceiver(t, () => {});
  const { post } = loopbackTransport(t, { caPem });
  const stop = createCancellation();
  const holding = Array.from({ length: CONNECTIONS_PER_ORIGIN_MAX }, () =>
    post(requestTo(receiver.origin, { cancellation: stop, timeoutMs: PATIENCE_MS })),
  );
  for (const _ of holding) await receiver.next();
  const { message } = failed(await post(requestTo(receiver.origin, { timeoutMs: 30 })), 'timeout');
  assert.match(message, /connections to the receiver were in use$/);
  assert.equal(receiver.requests.length, CONNECTIONS_PER_ORIGIN_MAX);
  const next = post(requestTo(receiver.origin));
  receiver.answer({});
  cancel(stop);
  assert.ok((await next).ok);
  for (const outcome of await Promise.all(holding)) failed(outcome, 'internal');
});

test('the origin that was unused longest gives way to a new one', async (t) => {
  const receiver = await startReceiver(t);
  const { post } = loopbackTransport(t, { caPem });
  const postTo = async (i: number): Promise<number> => {
    assert.ok((await post(requestTo(`https://r${i}.receiver.test:${receiver.port}/`))).ok);
    return receiver.connections();
  };
  await postTo(0);
  await postTo(1);
  assert.equal(await postTo(0), 2);
  for (let i = 2; i <= ORIGINS_MAX; i++) await postTo(i);
  assert.equal(receiver.connections(), ORIGINS_MAX + 1);
  assert.equal(await postTo(1), ORIGINS_MAX + 2);
  assert.equal(await postTo(ORIGINS_MAX), ORIGINS_MAX + 2);
});

test('any status but 2xx is a failure that has the answer', async (t) => {
  const receiver = await startReceiver(t);
  const { post } = loopbackTransport(t, { caPem });
  for (const status of [304, 400, 401, 410, 413, 429, 500, 503]) {
    receiver.answer({ status, headers: { 'retry-after': '7' }, body: status === 304 ? '' : 'why' });
    const { answer, message, advice } = failed(await post(requestTo(receiver.origin)), 'http_status');
    assert.deepEqual([answer?.status, answer?.headers['retry-after']], [status, '7']);
    assert.equal(message, `the receiver answered ${status}`);
    assert.equal(advice, adviceFor('http_status', status));
  }
  for (const status of [200, 201, 204, 299]) {
    receiver.answer({ status });
    assert.ok((await post(requestTo(receiver.origin))).ok, `${status}`);
  }
});

test('a redirect is not followed', async (t) => {
  const elsewhere = await startReceiver(t);
  const receiver = await startReceiver(t, { status: 307, headers: { location: `${elsewhere.origin}/` } });
  const { post } = loopbackTransport(t, { caPem });
  const { answer } = failed(await post(requestTo(receiver.origin)), 'http_status');
  assert.equal(answer?.status, 307);
  assert.equal(elsewhere.connections(), 0);
});

test('an interim answer is not taken for the answer', async (t) => {
  const receiver = await startReceiver(t, (_seen, response) => {
    response.writeEarlyHints({ link: '</x>; rel=preload' });
    response.end('final');
  });
  const { post } = loopbackTransport(t, { caPem });
  const outcome = await post(requestTo(receiver.origin));
  assert.ok(outcome.ok && outcome.answer.status === 200 && outcome.answer.headers.link === undefined);
});

test('of an endless body 64 KiB are read, the connection is dropped, and the status counts', async (t) => {
  const closed = deferred();
  const receiver = await startReceiver(t, (_seen, response) => {
    response.once('close', () => closed.resolve());
    const more = (): unknown =>
      response.destroyed || response.write(Buffer.alloc(16_384, 'x'), () => setImmediate(more));
    more();
  });
  const { post } = loopbackTransport(t, { caPem });
  const outcome = await post(requestTo(receiver.origin));
  assert.ok(outcome.ok && outcome.answer.truncated);
  assert.equal(outcome.answer.body.length, RESPONSE_READ_BYTES);
  assert.equal(Buffer.from(outcome.answer.body).toString(), 'x'.repeat(RESPONSE_READ_BYTES));
  await closed.promise;
  receiver.answer({ status: 500, body: Buffer.alloc(RESPONSE_READ_BYTES + 1) });
  const { answer } = failed(await post(requestTo(receiver.origin)), 'http_status');
  assert.deepEqual([answer?.status, answer?.truncated, answer?.body.length], [500, true, RESPONSE_READ_BYTES]);
});

test('a body of exactly 64 KiB is whole and its connection is used again', async (t) => {
  const receiver = await startReceiver(t, { body: Buffer.alloc(RESPONSE_READ_BYTES, 'y') });
  const { post } = loopbackTransport(t, { caPem });
  for (let i = 0; i < 2; i++) {
    const outcome = await post(requestTo(receiver.origin));
    assert.ok(outcome.ok && !outcome.answer.truncated);
    assert.equal(outcome.answer.body.length, RESPONSE_READ_BYTES);
  }
  assert.equal(receiver.connections(), 1);
});

test('a compressed body stays as it is', async (t) => {
  const bomb = gzipSync(Buffer.alloc(32 * 1024 * 1024));
  const receiver = await startReceiver(t, { headers: { 'content-encoding': 'gzip' }, body: bomb });
  const { post } = loopbackTransport(t, { caPem });
  const outcome = await post(requestTo(receiver.origin));
  assert.ok(outcome.ok);
  assert.deepEqual(Buffer.from(outcome.answer.body), bomb.subarray(0, RESPONSE_READ_BYTES));
});

test('headers up to 16 KiB are read and more is a failure', async (t) => {
  const receiver = await startReceiver(t, { headers: { 'x-long': 'x'.repeat(RESPONSE_HEADER_BYTES - 512) } });
  const { post } = loopbackTransport(t, { caPem });
  assert.ok((await post(requestTo(receiver.origin))).ok);
  receiver.answer({ headers: { 'x-long': 'x'.repeat(RESPONSE_HEADER_BYTES) } });
  const { answer } = failed(await post(requestTo(receiver.origin)), 'response_too_large');
  assert.equal(answer, null);
});

test('header names that mean something to JavaScript are only names', async (t) => {
  const receiver = await startReceiver(t, {
    headers: Object.fromEntries([
      ['__proto__', 'a'],
      ['constructor', 'b'],
    ]),
  });
  const { post } = loopbackTransport(t, { caPem });
  const outcome = await post(requestTo(receiver.origin));
  assert.ok(outcome.ok);
  assert.deepEqual(
    [Object.getOwnPropertyDescriptor(outcome.answer.headers, '__proto__')?.value, outcome.answer.headers.constructor],
    ['a', 'b'],
  );
});

test('only https is allowed, and a header that cannot be sent is `internal` with a message that names no value', async (t) => {
  const receiver = await startReceiver(t);
  const { post } = loopbackTransport(t, { caPem });
  failed(await post(requestTo(`http://localhost:${receiver.port}/`)), 'internal');
  for (const headers of [{ 'x-a': 'secret\r\nx-b: 1' }, { 'x a': 'secret' }, { upgrade: 'secret' }]) {
    const { message } = failed(await post(requestTo(receiver.origin, { headers })), 'internal');
    assert.doesNotMatch(message, /secret/);
  }
  assert.equal(receiver.requests.length, 0);
  assert.ok((await post(requestTo(receiver.origin))).ok);
});

test('a request that is given up ends immediately and its connection with it', async (t) => {
  const closed = deferred();
  const receiver = await startReceiver(t, (_seen, response) => void response.once('close', () => closed.resolve()));
  const { post } = loopbackTransport(t, { caPem });
  const stop = createCancellation();
  const outcome = post(requestTo(receiver.origin, { cancellation: stop }));
  await receiver.next();
  cancel(stop);
  failed(await outcome, 'internal');
  await closed.promise;
  failed(await post(requestTo(receiver.origin, { cancellation: stop })), 'internal');
  assert.equal(receiver.requests.length, 1);
});

test('closing ends requests without a signal of their own, and their connections', async (t) => {
  const closed = deferred();
  const receiver = await startReceiver(t, (_seen, response) => void response.once('close', () => closed.resolve()));
  const transport = loopbackTransport(t, { caPem });
  const outcome = transport.post(requestTo(receiver.origin));
  await receiver.next();
  await transport.close();
  failed(await outcome, 'internal');
  await closed.promise;
});

test('closing waits for requests with a signal, closes the connections, and refuses later requests', async (t) => {
  const held = deferred<() => void>();
  const receiver = await startReceiver(t, (_seen, response) => held.resolve(() => response.end('late')));
  const transport = loopbackTransport(t, { caPem });
  const outcome = transport.post(requestTo(receiver.origin, { cancellation: createCancellation() }));
  const answer = await held.promise;
  const closing = transport.close();
  failed(await transport.post(requestTo(receiver.origin)), 'internal');
  answer();
  assert.ok((await outcome).ok);
  await closing;
  assert.equal(receiver.requests.length, 1);
});

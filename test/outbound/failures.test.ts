import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { adviceForOwner } from '../../src/domain/outcome.ts';
import type { ResolveHost } from '../../src/outbound/resolve.ts';
import { deferred } from '../support/deferred.ts';
import { startHttpsServer, startRawTlsServer, startTcpServer } from '../support/https-server.ts';
import { makeCertificates } from '../support/tls.ts';
import { allowing, failed, loopbackTransport, requestTo, resolvingTo } from '../support/transport.ts';

const certificates = makeCertificates({ names: ['receiver.test', '127.0.0.1', '::1'] });
const { ca: caPem, server: identity } = certificates;

/** Resolves once the client's first bytes have come. */
function firstBytes(socket: Socket): Promise<unknown> {
  return once(socket, 'data');
}

test('nothing that listens is a failure to connect', async (t) => {
  const port = 1;
  const { post } = loopbackTransport(t, { caPem });
  const { message, timings, answer } = failed(await post(requestTo(`https://receiver.test:${port}/`)), 'connect');
  assert.match(message, /ECONNREFUSED/);
  assert.deepEqual([typeof timings.dnsMs, timings.tlsMs, timings.firstByteMs, answer], ['number', null, null, null]);
  const both = loopbackTransport(t, { caPem, resolve: resolvingTo('127.0.0.1', '127.0.0.2') });
  failed(await both.post(requestTo(`https://receiver.test:${port}/`)), 'connect');
});

test('a name that does not resolve, and one without addresses, fail closed', async (t) => {
  const failing: ResolveHost = () => Promise.reject(Object.assign(new Error('no'), { code: 'ENOTFOUND' }));
  for (const resolve of [failing, resolvingTo()]) {
    const { post } = loopbackTransport(t, { caPem, resolve });
    const { message, timings } = failed(await post(requestTo('https://receiver.test/')), 'dns');
    assert.match(message, /could not be resolved \(ENOTFOUND\)/);
    assert.equal(timings.connectMs, null);
  }
});

test('a name that no resolver takes is a failure of the name', async (t) => {
  const { post } = loopbackTransport(t, { caPem, resolve: undefined });
  failed(await post(requestTo(`https://${'label.'.repeat(60)}example/`)), 'dns');
});

test('a response that the receiver breaks off is `reset`, with the part that arrived', async (t) => {
  let reply = '';
  const port = await startRawTlsServer(t, identity, async (socket) => {
    await firstBytes(socket);
    if (reply === '') socket.destroy();
    else socket.write(reply, () => socket.destroy());
  });
  const { post } = loopbackTransport(t, { caPem });
  const url = `https://receiver.test:${port}/`;
  assert.equal(failed(await post(requestTo(url)), 'reset').answer, null);
  reply = 'HTTP/1.1 200 OK\r\nContent-Le';
  assert.equal(failed(await post(requestTo(url)), 'reset').answer, null);
  reply = 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf';
  const { answer } = failed(await post(requestTo(url)), 'reset');
  assert.deepEqual(
    [answer?.status, answer?.truncated, Buffer.from(answer?.body ?? []).toString()],
    [200, true, 'half'],
  );
});

test('an answer that is not HTTP is malformed', async (t) => {
  const answers = [
    'garbage\r\n\r\n',
    'HTTP/1.1 abc OK\r\n\r\n',
    'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
    'HTTP/1.1 2OO OK\r\nContent-Length: 0\r\n\r\n',
    'HTTP/2 200\r\nContent-Length: 0\r\n\r\n',
    'HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n',
    'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n',
    'HTTP/1.1 000 Nothing\r\nContent-Length: 0\r\n\r\n',
    'HTTP/1.1 099 Below\r\nContent-Length: 0\r\n\r\n',
  ];
  let reply = '';
  const port = await startRawTlsServer(t, identity, async (socket) => {
    await firstBytes(socket);
    socket.write(reply);
  });
  const { post } = loopbackTransport(t, { caPem });
  for (reply of answers) {
    for (const headDecides of [true, false]) {
      if (headDecides && reply.includes('zz')) continue;
      failed(await post(requestTo(`https://receiver.test:${port}/`, { headDecides })), 'malformed_response');
    }
  }
});

test('an unrequested change of protocol is malformed_response and is named as such', async (t) => {
  const port = await startRawTlsServer(t, identity, async (socket) => {
    await firstBytes(socket);
    socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n');
    socket.write('HTTP/1.1 204 No Content\r\n\r\n');
  });
  const { post } = loopbackTransport(t, { caPem });
  const { message } = failed(await post(requestTo(`https://receiver.test:${port}/`)), 'malformed_response');
  assert.match(message, /answered with another protocol, which was not requested$/);
});

test('extra bytes after a response affect neither it nor the next one', async (t) => {
  const port = await startRawTlsServer(t, identity, async (socket) => {
    await firstBytes(socket);
    socket.write('HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 500 Forged\r\nContent-Length: 0\r\n\r\n');
  });
  const { post } = loopbackTransport(t, { caPem });
  for (let i = 0; i < 3; i++) {
    const outcome = await post(requestTo(`https://receiver.test:${port}/`));
    assert.ok(outcome.ok && outcome.answer.status === 204);
  }
});

test('the total time-out cuts off every step, and says which', async (t) => {
  const closed = deferred();
  const silent = await startTcpServer(t, () => {});
  /** Answers a first request, so that the second one finds an open connection, and then does as the test says. */
  const startSlow = (goOn: (socket: Socket) => void): Promise<number> =>
    startRawTlsServer(t, identity, async (socket) => {
      await firstBytes(socket);
      const next = firstBytes(socket);
      socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
      await next;
      goOn(socket);
    });
  const drip = (socket: Socket, head: string, drop: string): void => {
    socket.write(head);
    const dripping = setInterval(() => socket.write(drop), 5);
    socket.once('close', () => {
      clearInterval(dripping);
      closed.resolve();
    });
  };
  const never: ResolveHost = () => new Promise(() => {});
  const table = [
    {
      timeoutMs: 300,
      port: silent,
      warm: false,
      resolve: never,
      at: /the host name was being resolved$/,
      status: undefined,
    },
    // What takes others to come so far has more time.
    { timeoutMs: 5000, port: silent, warm: false, at: /the TLS handshake was in progress$/, status: undefined },
    {
      timeoutMs: 300,
      port: await startSlow(() => {}),
      warm: true,
      at: /the receiver had not begun to answer$/,
      status: undefined,
    },
    {
      timeoutMs: 300,
      port: await startSlow((socket) => drip(socket, 'HTTP/1.1 200 OK\r\n', 'x-a: b\r\n')),
      warm: true,
      at: /the receiver had not begun to answer$/,
      status: undefined,
    },
    {
      timeoutMs: 5000,
      port: await startSlow((socket) => drip(socket, 'HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n', 'x')),
      warm: true,
      at: /the answer was being read$/,
      status: 200,
    },
  ];
  for (const { timeoutMs, port, warm, at, status, ...options } of table) {
    const { post } = loopbackTransport(t, { caPem, ...options });
    const url = `https://receiver.test:${port}/`;
    if (warm) assert.ok((await post(requestTo(url))).ok);
    const outcome = failed(await post(requestTo(url, { timeoutMs })), 'timeout');
    assert.match(outcome.message, at);
    assert.equal(outcome.answer?.status, status);
    assert.ok((outcome.timings.totalMs ?? 0) >= timeoutMs - 1);
  }
  await closed.promise;
});

test('a kept-alive connection that the receiver closes while it is idle is replaced unnoticed', async (t) => {
  const closed = deferred();
  const receiver = await startHttpsServer(identity, {
    answer: (_seen, response) => {
      const { socket } = response;
      socket?.once('close', () => closed.resolve());
      response.end(() => socket?.end());
    },
  });
  t.after(() => receiver.close());
  const { post } = loopbackTransport(t, { caPem });
  assert.ok((await post(requestTo(`https://receiver.test:${receiver.port}/`))).ok);
  await closed.promise;
  const { ok, timings } = await post(requestTo(`https://receiver.test:${receiver.port}/`));
  assert.ok(ok && timings.tlsMs !== null);
  assert.deepEqual([receiver.connections(), receiver.requests.length], [2, 2]);
});

test('a request on a kept-alive connection that is closed before an answer is sent once more, on a new connection', async (t) => {
  let requests = 0;
  let closing: 'second' | 'all' = 'second';
  const port = await startRawTlsServer(t, identity, (socket) => {
    socket.on('data', () => {
      requests += 1;
      if (closing === 'all' || requests === 2) socket.destroy();
      else socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
    });
  });
  const { post } = loopbackTransport(t, { caPem });
  const url = `https://receiver.test:${port}/`;
  assert.ok((await post(requestTo(url))).ok);
  const { ok, timings } = await post(requestTo(url));
  assert.deepEqual([ok, typeof timings.connectMs, requests], [true, 'number', 3]);
  closing = 'all';
  const { answer } = failed(await post(requestTo(url)), 'reset');
  assert.deepEqual([answer, requests], [null, 5]);
  // Not on a new connection.
  failed(await post(requestTo(url)), 'reset');
  assert.equal(requests, 6);
});

test('a request is not sent again after a byte of an answer, an interim one included', async (t) => {
  for (const begun of ['HTTP/1.1 100 Continue\r\n\r\n', 'HTTP/1.1 200 OK\r\n', 'H']) {
    let requests = 0;
    const port = await startRawTlsServer(t, identity, (socket) => {
      socket.on('data', () => {
        requests += 1;
        if (requests === 1) socket.write('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
        else socket.end(begun);
      });
    });
    const { post } = loopbackTransport(t, { caPem });
    assert.ok((await post(requestTo(`https://receiver.test:${port}/`))).ok);
    const request = requestTo(`https://receiver.test:${port}/`, { headDecides: true });
    failed(await post(request), 'reset');
    assert.equal(requests, 2, JSON.stringify(begun));
  }
});

test('no connection is made to an address that is not public, resolved or literal', async (t) => {
  let connections = 0;
  const port = await startTcpServer(t, () => {
    connections += 1;
  });
  const refusing = allowing();
  const { post } = loopbackTransport(t, { caPem, egress: refusing });
  const { message, advice } = failed(await post(requestTo(`https://receiver.test:${port}/`)), 'egress_refused');
  assert.equal(message, 'receiver.test: 127.0.0.1 is loopback (127.0.0.0/8)');
  assert.doesNotMatch(advice, /SALLYPORT/);
  assert.match(adviceForOwner(null, 'egress_refused'), /SALLYPORT_EGRESS_ALLOW/);
  for (const host of [
    '127.0.0.1',
    '2130706433',
    '0x7f.1',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '[64:ff9b::127.0.0.1]',
    '127.0.0.1.',
  ]) {
    failed(await post(requestTo(`https://${host}:${port}/`)), 'egress_refused');
  }
  for (const addresses of [['127.0.0.1', '10.0.0.1'], ['::ffff:10.0.0.1'], ['127.0.0.1', 'fe80::1']]) {
    const mixed = loopbackTransport(t, { caPem, resolve: resolvingTo(...addresses) });
    failed(await mixed.post(requestTo(`https://receiver.test:${port}/`)), 'egress_refused');
  }
  const byDefault = loopbackTransport(t, { caPem, egress: refusing, resolve: undefined });
  failed(await byDefault.post(requestTo(`https://localhost:${port}/`)), 'egress_refused');
  assert.equal(connections, 0);
});

test('a customer reaches no address of the operator, not even by its open connection, and is told no address', async (t) => {
  const receiver = await startHttpsServer(identity);
  t.after(() => receiver.close());
  const named = `https://receiver.test:${receiver.port}/`;
  const literal = `https://127.0.0.1:${receiver.port}/`;
  const { post } = loopbackTransport(t, { caPem, customerEgress: allowing() });
  for (const url of [named, literal]) {
    assert.ok((await post(requestTo(url))).ok);
    failed(await post(requestTo(url, { customerId: 'a' })), 'egress_refused');
    assert.ok((await post(requestTo(url))).ok);
  }
  const { message } = failed(await post(requestTo(named, { customerId: 'a' })), 'egress_refused');
  assert.equal(message, 'receiver.test: resolves to an address that is not public');
  assert.equal(receiver.connections(), 2);
  // What is allowed to customers is not allowed to the operator.
  const other = loopbackTransport(t, { caPem, egress: allowing(), customerEgress: allowing('127.0.0.1') });
  assert.ok((await other.post(requestTo(named, { customerId: 'a' }))).ok);
  failed(await other.post(requestTo(named)), 'egress_refused');
});

test('a name is looked up in the share of the customer whose request opens the connection', async (t) => {
  const receiver = await startHttpsServer(identity, { answer: { headers: { connection: 'close' } } });
  t.after(() => receiver.close());
  const owners: unknown[] = [];
  const resolve: ResolveHost = async (_name, owner) => {
    owners.push(owner);
    return [{ address: '127.0.0.1', family: 4 }];
  };
  const { post } = loopbackTransport(t, { caPem, resolve });
  const url = `https://receiver.test:${receiver.port}/`;
  for (const customerId of ['a', null, 'b']) assert.ok((await post(requestTo(url, { customerId }))).ok);
  assert.deepEqual(owners, ['a', null, 'b']);
});

test('a name is resolved once for a connection, which uses only the checked address', async (t) => {
  const receiver = await startHttpsServer(identity, { answer: { headers: { connection: 'close' } } });
  t.after(() => receiver.close());
  let questions = 0;
  const rebinding: ResolveHost = async () => {
    questions += 1;
    return [{ address: questions % 2 === 1 ? '127.0.0.1' : '127.0.0.66', family: 4 }];
  };
  const { post } = loopbackTransport(t, { caPem, egress: allowing('127.0.0.1'), resolve: rebinding });
  const url = `https://receiver.test:${receiver.port}/`;
  assert.ok((await post(requestTo(url))).ok);
  assert.equal(questions, 1);
  failed(await post(requestTo(url)), 'egress_refused');
  assert.deepEqual([questions, receiver.connections()], [2, 1]);
});

test('addresses are tried in turn until one connects', async (t) => {
  const receiver = await startHttpsServer(identity);
  t.after(() => receiver.close());
  for (const addresses of [
    ['::1', '127.0.0.1'],
    ['127.0.0.2', '127.0.0.1'],
    ['127.0.0.1', '::1'],
  ]) {
    const { post } = loopbackTransport(t, { caPem, resolve: resolvingTo(...addresses) });
    assert.ok((await post(requestTo(`https://receiver.test:${receiver.port}/`))).ok, addresses.join());
  }
});

test('an answer that comes before all is read ends its connection: the next request has one of its own', async (t) => {
  const heads: string[] = [];
  const port = await startRawTlsServer(t, identity, async (socket) => {
    const [chunk] = (await firstBytes(socket)) as [Buffer];
    heads.push(chunk.toString('latin1').split('\r\n')[0] ?? '');
    // Of the rest nothing is read.
    socket.pause();
    socket.write('HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n');
  });
  const { post } = loopbackTransport(t, { caPem });
  const large = { ...requestTo(`https://receiver.test:${port}/large`), body: new Uint8Array(32 * 1024 * 1024) };
  assert.equal(failed(await post(large), 'http_status').answer?.status, 413);
  // As who is done with it may.
  large.body.buffer.transfer(0);
  assert.equal(failed(await post(requestTo(`https://receiver.test:${port}/next`)), 'http_status').answer?.status, 413);
  assert.deepEqual(heads, ['POST /large HTTP/1.1', 'POST /next HTTP/1.1']);
});

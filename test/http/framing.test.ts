/** Requests that Node's parser accepts but the service refuses, and clients that close their side early. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { z } from 'zod';
import { isHost } from '../../src/http/request.ts';
import type { Route } from '../../src/http/route.ts';
import { createListener, createRequestHandler } from '../../src/http/server.ts';
import { createLog } from '../../src/observe/log.ts';
import { cleanUp } from '../support/cleanup.ts';
import { type Deferred, deferred } from '../support/deferred.ts';
import { createLogReader } from '../support/log-reader.ts';
import { openTestServices } from '../support/services.ts';
import { sharedCertificates } from '../support/tls.ts';

const { certificate: cert, privateKey: key } = sharedCertificates().server;

type Listening = {
  open(): Socket;
  /** Number of requests that reached a route. */
  arrived(): number;
  readonly first: Promise<void>;
  /** /held waits for it. */
  readonly release: Deferred<void>;
  /** Resolves when the server has no connection left. */
  readonly logged: () => string;
  close(): Promise<void>;
};

async function listening(t: TestContext, isTls = false): Promise<Listening> {
  const { gate, clock } = await openTestServices(t);
  const [first, release] = [deferred<void>(), deferred<void>()];
  let arrived = 0;
  const shared = { for: 'anyone', access: 'open', tag: 'test', summary: '', replies: {} } as const;
  const answered = async (): Promise<void> => {
    arrived += 1;
    first.resolve();
  };
  const body = { maxBytes: 1024, types: ['application/json'], schema: z.unknown() } as const;
  const routes: Route[] = [
    {
      ...shared,
      method: 'GET',
      path: '/now',
      respond: async () => {
        await answered();
        return { status: 200, body: { now: true } };
      },
    },
    {
      ...shared,
      method: 'GET',
      path: '/held',
      respond: async () => {
        await answered();
        await release.promise;
        return { status: 200, body: { held: true } };
      },
    },
    {
      ...shared,
      method: 'POST',
      path: '/body',
      body,
      respond: async ({ body: sent }) => {
        await answered();
        return { status: 200, body: { sent } };
      },
    },
    {
      ...shared,
      method: 'GET',
      path: '/stream',
      respond: async ({ signal }) => ({
        status: 200,
        stream: (async function* () {
          yield 'begun';
          await answered();
          await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
        })(),
      }),
    },
  ];
  const reader = createLogReader();
  const log = createLog('info', { write: reader.take });
  const handler = createRequestHandler({ routes, gate, clock, log, remoteAddress: () => '127.0.0.1' });
  const listener = createListener({ handler, tls: isTls ? { cert, key } : null, clock, log });
  const port = await listener.listen('127.0.0.1', 0);
  let closing: Promise<void> | null = null;
  const close = (): Promise<void> => {
    closing ??= listener.close();
    return closing;
  };
  cleanUp(t, close);
  const to = { port, host: '127.0.0.1', allowHalfOpen: true };
  return {
    open: () => {
      const socket = isTls ? connectTls({ ...to, rejectUnauthorized: false }) : connect(to);
      socket.on('error', () => {});
      cleanUp(t, () => socket.destroy());
      return socket;
    },
    arrived: () => arrived,
    first: first.promise,
    release,
    logged: reader.text,
    close,
  };
}

/** Everything received until the server closes its side. */
async function answersOn(socket: Socket): Promise<string> {
  let text = '';
  socket.setEncoding('latin1').on('data', (piece: string) => {
    text += piece;
  });
  await once(socket, 'end');
  return text;
}

function statuses(text: string): number[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status));
}

const GET = 'GET /now HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';
const POSTED = 'POST /body HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n';
const CHUNKS = '\r\n2\r\n{}\r\n0\r\n\r\n';

describe('a request that Node would accept', () => {
  const table: readonly (readonly [what: string, sent: string, status: number, says: RegExp])[] = [
    [
      'compressed as a transfer',
      `${POSTED}Transfer-Encoding: gzip, chunked\r\n${CHUNKS}`,
      501,
      /"not_implemented".*is chunked/,
    ],
    ['of an unknown coding', `${POSTED}Transfer-Encoding: xchunked, chunked\r\n${CHUNKS}`, 501, /"not_implemented"/],
    ['of a coding without a name', `${POSTED}Transfer-Encoding: ,chunked\r\n${CHUNKS}`, 501, /"not_implemented"/],
    [
      'of two codings in two headers',
      `${POSTED}Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n${CHUNKS}`,
      501,
      /"not_implemented"/,
    ],
    [
      'in chunks although of HTTP/1.0',
      `${POSTED.replace('1.1', '1.0')}Transfer-Encoding: chunked\r\n${CHUNKS}`,
      400,
      /HTTP\/1\.0 has no/,
    ],
    ['of HTTP/2.0', 'GET /now HTTP/2.0\r\nHost: a\r\n\r\n', 505, /"http_version_not_supported"/],
    ['of HTTP/0.9', 'GET /now HTTP/0.9\r\nHost: a\r\n\r\n', 505, /"http_version_not_supported"/],
    ['of HTTP/1.2', 'GET /now HTTP/1.2\r\nHost: a\r\n\r\n', 505, /"http_version_not_supported"/],
    ['of HTTP/3.0', 'GET /now HTTP/3.0\r\nHost: a\r\n\r\n', 505, /"http_version_not_supported"/],
    ['that begins HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 505, /"http_version_not_supported"/],
    [
      'with a Host of two words',
      'GET /now HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n',
      400,
      /Host header is not a host/,
    ],
    ['with an empty Host', 'GET /now HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n', 400, /Host header is not a host/],
    [
      'with a Host in absolute form',
      'GET http://a/now HTTP/1.1\r\nHost: http://a\r\nConnection: close\r\n\r\n',
      400,
      /Host header is not a host/,
    ],
  ];
  for (const [what, sent, status, says] of table) {
    it(`${what} gets ${status}, and nothing after it is read as a request`, async (t) => {
      const { open, arrived } = await listening(t);
      const socket = open();
      socket.write(sent + GET);
      const text = await answersOn(socket);
      assert.equal(statuses(text)[0], status, text);
      assert.equal(statuses(text).length, 1, text);
      assert.match(text, says);
      assert.match(text, /Connection: close/);
      assert.equal(arrived(), 0);
    });
  }

  it('is served with chunked in upper or lower case', async (t) => {
    const { open } = await listening(t);
    const socket = open();
    socket.write(`${POSTED}Connection: close\r\nTransfer-Encoding: Chunked\r\n${CHUNKS}`);
    assert.match(await answersOn(socket), /^HTTP\/1\.1 200 .*\{"sent":\{\}\}$/s);
  });
});

describe('a Host', () => {
  for (const [isOne, hosts] of [
    [
      true,
      [
        'a',
        'api.example',
        'API.example.:8080',
        'a_b',
        'xn--mller-kva.de',
        '127.0.0.1:80',
        '[::1]',
        '[::1]:65535',
        '[::ffff:1.2.3.4]',
        'a:',
        'a%20b',
        "a!$&'()*+,;=~",
      ],
    ],
    [
      false,
      [
        '',
        ' ',
        'a b',
        'a/b',
        'a@b',
        'a?b',
        'a#b',
        'a\\b',
        'a:b',
        'a:1:2',
        'a:65536',
        'a:123456',
        ':80',
        '::1',
        '[::1',
        '[::1]x',
        '[]',
        '[1.2.3.4]',
        '[fe80::1%25eth0]',
        'a%2',
        'a%zz',
        'a"b',
        '<a>',
        'é',
        'a\tb',
      ],
    ],
  ] as const) {
    for (const host of hosts)
      it(`${JSON.stringify(host)} is ${isOne ? 'one' : 'none'}`, () => assert.equal(isHost(host), isOne));
  }
});

for (const isTls of [false, true]) {
  describe(`a client that ends its side after its request, ${isTls ? 'with' : 'without'} TLS`, () => {
    it('gets its reply and then the end of the connection', async (t) => {
      const { open, first, release, logged } = await listening(t, isTls);
      const socket = open();
      const answers = answersOn(socket);
      const ended = new Promise<void>((resolve) => {
        socket.end('GET /held HTTP/1.1\r\nHost: a\r\n\r\n', () => resolve());
      });
      await Promise.all([first, ended]);
      release.resolve();
      assert.match(await answers, /^HTTP\/1\.1 200 .*\{"held":true\}$/s);
      assert.ok(!logged().includes('"level":50'), logged());
    });

    it('gets the replies to all its requests, in order', async (t) => {
      const { open, release } = await listening(t, isTls);
      release.resolve();
      const socket = open();
      const answers = answersOn(socket);
      socket.end(
        `GET /held HTTP/1.1\r\nHost: a\r\n\r\n${POSTED}Content-Length: 2\r\n\r\n{}GET /now HTTP/1.1\r\nHost: a\r\n\r\n`,
      );
      assert.match(await answers, /\{"held":true\}HTTP\/1\.1 200 .*\{"sent":\{\}\}HTTP\/1\.1 200 .*\{"now":true\}$/s);
    });

    it('gets an error for its incomplete body', async (t) => {
      const { open, arrived } = await listening(t, isTls);
      const socket = open();
      const answers = answersOn(socket);
      socket.end(`${POSTED}Content-Length: 3\r\n\r\n{}`);
      assert.deepEqual(statuses(await answers), [400]);
      assert.equal(arrived(), 0);
    });

    it('is disconnected immediately without a request, or after its reply', async (t) => {
      const { open, release } = await listening(t, isTls);
      release.resolve();
      const silent = open();
      const nothing = answersOn(silent);
      silent.end();
      assert.equal(await nothing, '');
      const answered = open();
      const answers = answersOn(answered);
      answered.write('GET /held HTTP/1.1\r\nHost: a\r\n\r\n');
      await once(answered, 'data');
      answered.end();
      assert.deepEqual(statuses(await answers), [200]);
    });

    it('ends the stream that it reads', async (t) => {
      const { open, first } = await listening(t, isTls);
      const socket = open();
      const answers = answersOn(socket);
      socket.write('GET /stream HTTP/1.1\r\nHost: a\r\n\r\n');
      await first;
      socket.end();
      assert.match(await answers, /begun/);
    });

    it('and disconnects before its reply causes no error and leaves no connection behind', async (t) => {
      const { open, first, release, logged, close } = await listening(t, isTls);
      const socket = open();
      socket.end('GET /held HTTP/1.1\r\nHost: a\r\n\r\n');
      await first;
      socket.destroy();
      release.resolve();
      // Resolves when no connection is left, after ten seconds at most.
      await close();
      assert.ok(!logged().includes('"level":50'), logged());
    });
  });
}

/** How the listener stops: current requests get complete replies, which are the last on their connections; nothing else is waited for. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { connect as connectTls } from 'node:tls';
import { createListener } from '../../src/http/server.ts';
import { createLog } from '../../src/observe/log.ts';
import { cleanUp } from '../support/cleanup.ts';
import { succeeded, tokenFor } from '../support/client.ts';
import { type Deferred, deferred } from '../support/deferred.ts';
import { makeEventType } from '../support/journey.ts';
import { createLogReader, type LogReader } from '../support/log-reader.ts';
import { spawnService, startedFolder } from '../support/service.ts';
import { sharedCertificates } from '../support/tls.ts';

const { certificate: cert, privateKey: key } = sharedCertificates().server;
/** So long that a test that needs it times out. */
const NEVER_MS = 2 ** 31 - 1;

type Client = {
  readonly socket: Socket;
  /** Everything received so far. */
  text(): string;
  /** Resolves when the received text matches. */
  received(pattern: RegExp): Promise<void>;
  /** Resolves with everything received when the connection is closed. */
  readonly closed: Promise<string>;
};

function clientOf(t: TestContext, socket: Socket): Client {
  cleanUp(t, () => socket.destroy());
  let text = '';
  let look = (): void => {};
  socket.setEncoding('utf8').on('data', (piece: string) => {
    text += piece;
    look();
  });
  // A connection that is cut off while sending may be reset.
  socket.on('error', () => {});
  return {
    socket,
    text: () => text,
    received: (pattern) =>
      new Promise((resolve) => {
        look = () => {
          if (pattern.test(text)) resolve();
        };
        look();
      }),
    closed: new Promise((resolve) => socket.once('close', () => resolve(text))),
  };
}

type Stopping = {
  readonly log: LogReader;
  /** The paths of the processed requests, in order. */
  readonly carriedOut: readonly string[];
  /** A new connection after its handshake. */
  open(): Promise<Client>;
  /** A new connection before its handshake. */
  openBare(): Promise<Client>;
  /** Resolves with the request for this path when it arrives. */
  arrived(path: string): Promise<IncomingMessage>;
  /** Releases the reply for this path. Only paths that begin with `/held` wait. */
  release(path: string): void;
  close(): Promise<void>;
};

/** Answers each request with its path; `/held-body…` with the head and a piece at once, and the rest when released. */
async function start(t: TestContext, isTls: boolean, drainMs = NEVER_MS): Promise<Stopping> {
  const log = createLogReader();
  const carriedOut: string[] = [];
  const arrivals = new Map<string, Deferred<IncomingMessage>>();
  const releases = new Map<string, Deferred<void>>();
  const of = <T>(map: Map<string, Deferred<T>>, path: string): Deferred<T> => {
    const found = map.get(path) ?? deferred<T>();
    map.set(path, found);
    return found;
  };
  const listener = createListener({
    handler: async (request, response) => {
      const path = request.url ?? '';
      carriedOut.push(path);
      const body = `answer to ${path}`;
      if (path.startsWith('/held-body')) {
        response.writeHead(200, { 'Content-Length': body.length });
        response.write(body.slice(0, 6));
      }
      of(arrivals, path).resolve(request);
      if (path.startsWith('/held')) await of(releases, path).promise;
      if (response.headersSent) response.end(body.slice(6));
      else response.writeHead(200, { 'Content-Length': body.length }).end(body);
    },
    tls: isTls ? { cert, key } : null,
    clock: Date.now,
    log: createLog('info', { write: log.take }),
    drainMs,
  });
  const port = await listener.listen('127.0.0.1', 0);
  cleanUp(t, () => {
    for (const { resolve } of releases.values()) resolve();
  });
  const openBare = async (): Promise<Client> => {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    return clientOf(t, socket);
  };
  return {
    log,
    carriedOut,
    openBare,
    open: async () => {
      if (!isTls) return await openBare();
      const socket = connectTls({ port, host: '127.0.0.1', ca: cert, rejectUnauthorized: false });
      await once(socket, 'secureConnect');
      return clientOf(t, socket);
    },
    arrived: (path) => of(arrivals, path).promise,
    release: (path) => of(releases, path).resolve(),
    close: () => listener.close(),
  };
}

function get(path: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
}

/** The Connection header and body of each reply in a text. */
function answersIn(text: string): readonly (readonly [connection: string, body: string])[] {
  return text.split(/(?=HTTP\/1\.1 )/).map((answer) => {
    const [head = '', body = ''] = answer.split('\r\n\r\n');
    return [/^Connection: (.*)$/m.exec(head)?.[1] ?? 'not said', body];
  });
}

/** Writes, and waits until the server has read it. */
async function sendTo(server: Socket, client: Client, text: string): Promise<void> {
  const { bytesRead } = server;
  client.socket.write(text);
  while (server.bytesRead === bytesRead && !server.destroyed) await new Promise((resolve) => setImmediate(resolve));
}

for (const isTls of [false, true]) {
  describe(`a stop of the listener, ${isTls ? 'with TLS' : 'without TLS'}`, { timeout: 60_000 }, () => {
    it('answers the current request as the last one and closes its connection', async (t) => {
      const { open, arrived, carriedOut, release, close } = await start(t, isTls);
      const client = await open();
      client.socket.write(get('/first'));
      await client.received(/answer to \/first/);
      client.socket.write(get('/held'));
      const { socket } = await arrived('/held');
      const stopped = close();
      await sendTo(socket, client, get('/late'));
      release('/held');
      assert.deepEqual(answersIn(await client.closed), [
        ['keep-alive', 'answer to /first'],
        ['close', 'answer to /held'],
      ]);
      await stopped;
      assert.deepEqual(carriedOut, ['/first', '/held']);
    });

    it('closes idle connections immediately', async (t) => {
      const { open, openBare, arrived, release, close, log } = await start(t, isTls);
      const busy = await open();
      busy.socket.write(get('/held'));
      await arrived('/held');
      const silent = await open();
      const bare = await openBare();
      const begun = await open();
      const idle = await open();
      const next = await open();
      if (isTls) bare.socket.write(Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01]));
      begun.socket.write('GET / HTTP/1.1\r\nHost: a\r\nX-');
      next.socket.write(`${get('/first')}GET / HTTP/1.1\r\nHost: a\r\nX-`);
      await next.received(/answer to \/first/);
      idle.socket.write(get('/first'));
      await idle.received(/answer to \/first/);
      const stopped = close();
      // Before anything is released, and without a deadline that could have ended them.
      for (const client of [silent, bare, begun]) assert.equal(await client.closed, '');
      for (const client of [idle, next])
        assert.deepEqual(answersIn(await client.closed), [['keep-alive', 'answer to /first']]);
      assert.equal(busy.text(), '');
      release('/held');
      assert.deepEqual(answersIn(await busy.closed), [['close', 'answer to /held']]);
      await stopped;
      assert.equal(log.text(), '');
    });

    it('sends the rest of a reply that has begun, and then closes the connection', async (t) => {
      const { open, arrived, carriedOut, release, close } = await start(t, isTls);
      const client = await open();
      client.socket.write(get('/held-body'));
      const { socket } = await arrived('/held-body');
      await client.received(/\r\n\r\nanswer$/);
      const stopped = close();
      await sendTo(socket, client, get('/late'));
      release('/held-body');
      // The head had announced a persistent connection.
      assert.deepEqual(answersIn(await client.closed), [['keep-alive', 'answer to /held-body']]);
      await stopped;
      assert.deepEqual(carriedOut, ['/held-body']);
    });

    it('answers all earlier requests of a connection, and no later ones', async (t) => {
      const { open, arrived, carriedOut, release, close } = await start(t, isTls);
      const client = await open();
      client.socket.write(get('/held-body/1') + get('/held/2') + get('/held/3'));
      const { socket } = await arrived('/held/3');
      const stopped = close();
      await sendTo(socket, client, get('/late') + get('/later').slice(0, 9));
      release('/held/3');
      release('/held/2');
      release('/held-body/1');
      assert.deepEqual(answersIn(await client.closed), [
        ['keep-alive', 'answer to /held-body/1'],
        ['keep-alive', 'answer to /held/2'],
        ['close', 'answer to /held/3'],
      ]);
      await stopped;
      assert.deepEqual(carriedOut, ['/held-body/1', '/held/2', '/held/3']);
    });

    it('does not wait longer than its limit', async (t) => {
      const { open, arrived, carriedOut, close } = await start(t, isTls, 50);
      const client = await open();
      client.socket.write(get('/held'));
      await arrived('/held');
      await close();
      assert.equal(await client.closed, '');
      assert.deepEqual(carriedOut, ['/held']);
    });

    it('ends automatically without requests, and so does a second one', async (t) => {
      const { open, close } = await start(t, isTls);
      const client = await open();
      client.socket.write(get('/first'));
      await client.received(/answer to \/first/);
      await close();
      await client.closed;
      await close();
    });
  });
}

it('SIGTERM: an event that is being published is taken, nothing that follows on its connection, and the process ends', async (t) => {
  const service = await spawnService(t, { after: await startedFolder(t) });
  await makeEventType(service.admin, 'order.placed');
  const port = Number(new URL(service.url).port);
  const open = async (): Promise<Client> => {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    return clientOf(t, socket);
  };
  const publisher = await open();
  const silent = await open();
  const token = await tokenFor(service.url, service.credentials);
  const event = (idempotencyKey: string): string =>
    JSON.stringify({ type: 'order.placed', data: {}, idempotencyKey: idempotencyKey.padEnd(6) });
  const [taken, late] = [event('taken'), event('late')];
  assert.equal(taken.length, late.length);
  const head =
    `POST /services/api/x/edge/v1/events HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\nContent-Type: ` +
    `application/json\r\nContent-Length: ${taken.length}\r\n`;
  // Shows the test that the head has arrived.
  publisher.socket.write(`${head}Expect: 100-continue\r\n\r\n`);
  await publisher.received(/^HTTP\/1\.1 100 /);
  service.kill('SIGTERM');
  assert.equal(await silent.closed, '');
  publisher.socket.write(`${taken}${head}\r\n${late}`);
  const [, answer = '', ...more] = (await publisher.closed).split(/(?=HTTP\/1\.1 )/);
  assert.deepEqual(more, []);
  assert.match(answer, /^HTTP\/1\.1 202 .*\r\nConnection: close\r\n.*"accepted":1/s);
  assert.deepEqual(await service.exited, { code: 0, signal: null });

  const again = await spawnService(t, { after: service });
  const repeat = { events: [JSON.parse(taken), JSON.parse(late)] as unknown[] };
  const { events } = await succeeded<{ events: { duplicate: boolean }[] }>(again.admin.post('events', repeat));
  assert.deepEqual(
    events.map(({ duplicate }) => duplicate),
    [true, false],
  );
});

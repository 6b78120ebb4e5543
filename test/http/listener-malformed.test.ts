/** Unreadable requests after others on a connection: replies are in the order of requests (RFC 9112 §9.3.2). */
import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { connect as connectTls } from 'node:tls';
import { createListener } from '../../src/http/server.ts';
import { createLog } from '../../src/observe/log.ts';
import { cleanUp } from '../support/cleanup.ts';
import { type Deferred, deferred } from '../support/deferred.ts';
import { createLogReader, type LogReader } from '../support/log-reader.ts';
import { sharedCertificates } from '../support/tls.ts';

const { certificate: cert, privateKey: key } = sharedCertificates().server;

type Asked = {
  /** Another connection. */
  readonly open: () => Socket;
  readonly socket: Socket;
  readonly log: LogReader;
  /** Resolves when the first request and everything that came with it has been read. */
  readonly read: Promise<void>;
  readonly release: Deferred<void>;
  /** Everything received until the connection ends. */
  readonly answers: Promise<string>;
};

/**
 * Says all of it in one piece to a listener that answers when it is released, but /now at once, and where there is a body never before
 * that was read.
 */
async function ask(t: TestContext, isTls: boolean, said: string): Promise<Asked> {
  const [arrived, release] = [deferred<void>(), deferred<void>()];
  const log = createLogReader();
  const listener = createListener({
    handler: async (request, response) => {
      const { url, method } = request;
      arrived.resolve();
      if (url !== '/now') await (method === 'POST' ? text(request) : release.promise);
      response.end(`answer to ${url}.`);
    },
    tls: isTls ? { cert, key } : null,
    clock: Date.now,
    log: createLog('info', { write: log.take }),
  });
  const port = await listener.listen('127.0.0.1', 0);
  cleanUp(t, () => listener.close());
  const to = { port, host: '127.0.0.1' };
  const open = (): Socket => {
    const socket = isTls ? connectTls({ ...to, rejectUnauthorized: false }) : connect(to);
    cleanUp(t, () => socket.destroy());
    return socket;
  };
  const socket = open();
  socket.write(said);
  return { open, socket, log, read: arrived.promise.then(() => turn()), release, answers: text(socket) };
}

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
/** With a chunk without a length. */
const post = (path: string): string =>
  `POST ${path} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nno length\r\n`;
/** Deno's parser reports no details. */
const PROBLEM = /does not begin with a known method|is not valid HTTP/;
const CONNECT = 'CONNECT a.example:443 HTTP/1.1\r\nHost: a.example\r\n\r\n';
const NO_REQUEST = 'this is no HTTP\r\n\r\n';
const refusals = (log: LogReader): number => log.lines().filter(({ msg }) => msg === 'malformed request').length;

for (const isTls of [false, true]) {
  describe(`a request that cannot be read, ${isTls ? 'with' : 'without'} TLS`, () => {
    it('is answered once, after earlier requests', async (t) => {
      const { socket, log, read, release, answers } = await ask(t, isTls, get('/1') + get('/2') + NO_REQUEST);
      await read;
      socket.write(NO_REQUEST);
      await turn();
      release.resolve();
      const text = await answers;
      assert.match(text, /^HTTP\/1\.1 200 .*answer to \/1\.HTTP\/1\.1 200 .*answer to \/2\.HTTP\/1\.1 400 /s);
      assert.equal(text.match(/HTTP\/1\.1 400 /g)?.length, 1);
      assert.equal(refusals(log), 1);
    });

    it('is answered immediately without earlier requests', async (t) => {
      const { log, answers } = await ask(t, isTls, NO_REQUEST);
      assert.match(await answers, /^HTTP\/1\.1 400 .*"invalid_request"/s);
      assert.equal(refusals(log), 1);
    });

    for (const [what, said, problem] of [
      ['whose method nobody knows', get('/').replace('GET', 'FOO'), PROBLEM],
      ['for a proxy', CONNECT, /CONNECT is not supported/],
    ] as const) {
      it(`${what} is refused with the reason, and the connection ends`, async (t) => {
        const { log, answers } = await ask(t, isTls, said);
        const text = await answers;
        assert.match(text, /^HTTP\/1\.1 400 .*"invalid_request"/s);
        assert.match(text, problem);
        assert.equal(refusals(log), 1);
      });
    }

    it('is answered immediately if its own body is invalid', async (t) => {
      const { answers } = await ask(t, isTls, post('/1'));
      assert.match(await answers, /^HTTP\/1\.1 400 .*"invalid_request"/s);
    });

    it('is answered after earlier requests if its own body is invalid', async (t) => {
      const { log, read, release, answers } = await ask(t, isTls, get('/1') + get('/2') + post('/3'));
      await read;
      assert.equal(refusals(log), 0);
      release.resolve();
      const ok = String.raw`HTTP\/1\.1 200 .*answer to \/`;
      assert.match(await answers, new RegExp(`^${ok}1\\.${ok}2\\.HTTP/1\\.1 400 .*"invalid_request"`, 's'));
      assert.equal(refusals(log), 1);
    });

    it('keeps its reply if the body was not read', async (t) => {
      const { log, read, release, answers } = await ask(t, isTls, get('/1') + post('/now'));
      await read;
      release.resolve();
      assert.match(await answers, /^HTTP\/1\.1 200 .*answer to \/1\.HTTP\/1\.1 200 .*answer to \/now\.$/s);
      assert.equal(refusals(log), 0);
    });
  });
}

it('a request for a proxy ends nothing but its connection where the client resets that', async (t) => {
  const { socket, read, release, answers, open } = await ask(t, false, get('/1') + CONNECT);
  await read;
  socket.on('error', () => {});
  socket.resetAndDestroy();
  await answers.catch(() => '');
  release.resolve();
  const other = open();
  other.write(get('/2').replace('Host', 'Connection: close\r\nHost'));
  assert.match(await text(other), /answer to \/2\.$/);
});

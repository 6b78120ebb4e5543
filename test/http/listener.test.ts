/** The time limit for the headers of a request. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { HEADERS_MS } from '../../src/http/limits.ts';
import { createListener } from '../../src/http/server.ts';
import { createLog } from '../../src/observe/log.ts';
import { sharedCertificates } from '../support/tls.ts';

async function listening(t: TestContext, isTls: boolean): Promise<number> {
  const { certificate: cert, privateKey: key } = sharedCertificates().server;
  const listener = createListener({
    handler: async (_, response) => void response.end(),
    tls: isTls ? { cert, key } : null,
    clock: Date.now,
    log: createLog('silent'),
  });
  const port = await listener.listen('127.0.0.1', 0);
  t.after(() => listener.close());
  return port;
}

describe('a client whose headers never end', { concurrency: true }, () => {
  const table: readonly (readonly [what: string, isTls: boolean, sent: string, answer: RegExp])[] = [
    ['that says nothing', false, '', /^HTTP\/1\.1 408 .*"request_timeout"/s],
    ['that stops in the middle', false, 'GET / HTTP/1.1\r\nHost: a', /^HTTP\/1\.1 408 .*"request_timeout"/s],
    ['that begins no TLS', true, '', /^$/],
  ];
  for (const [what, isTls, sent, answer] of table) {
    it(`${what} is closed after ten seconds`, { timeout: 40_000 }, async (t) => {
      const port = await listening(t, isTls);
      const begunAt = performance.now();
      // The client does not close the connection either.
      const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).setEncoding('utf8');
      t.after(() => socket.destroy());
      let text = '';
      socket.on('data', (piece: string) => {
        text += piece;
      });
      socket.write(sent);
      await once(socket, 'end');
      const tookMs = performance.now() - begunAt;
      // Without the check it would be 30 s, and 120 s for TLS; less means a busy machine.
      assert.ok(tookMs > HEADERS_MS - 100 && tookMs < 29_000, `${tookMs} ms`);
      assert.match(text, answer);
      // Its errors have no listener from now on.
      const closed = new Promise((resolve) => socket.once('close', resolve));
      const drip = setInterval(() => socket.write('a'), 50);
      t.after(() => clearInterval(drip));
      socket.on('error', () => {});
      if (!socket.closed) await closed;
    });
  }
});

/** Bodies of which something else is waited for before they are read. */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { it } from 'node:test';
import { z } from 'zod';
import type { Gate } from '../../src/access/gate.ts';
import { createListener } from '../../src/http/listener.ts';
import type { Route } from '../../src/http/route.ts';
import { createRequestHandler } from '../../src/http/server.ts';
import { createLog } from '../../src/log.ts';
import { cleanUp } from '../support/cleanup.ts';
import { deferred } from '../support/deferred.ts';

it('a body whose client has left before it was read is waited for no longer', async (t) => {
  const asked = deferred<void>();
  const answered = deferred<{ status: number; refusal: string | null }>();
  const route: Route = {
    method: 'POST',
    path: '/late',
    access: 'open',
    tag: 'test',
    summary: 'Waits before it reads',
    body: { maxBytes: 100, types: ['application/json'], schema: z.unknown() },
    replies: {},
    admit: async (request) => {
      asked.resolve();
      await new Promise((resolve) => request.once('close', resolve));
      return null;
    },
    respond: async () => assert.fail('the body was never whole'),
  };
  const log = createLog('silent');
  const handler = createRequestHandler({
    ...{ routes: [route], gate: {} as Gate, clock: Date.now, log, remoteAddress: () => '127.0.0.1' },
    observe: answered.resolve,
    bodyTimeoutMs: 2000,
  });
  const listener = createListener({ handler, tls: null, clock: Date.now, log });
  const port = await listener.listen('127.0.0.1', 0);
  cleanUp(t, () => listener.close());
  const socket = connect({ port, host: '127.0.0.1' });
  const head = ['POST /late HTTP/1.1', 'Host: a', 'Content-Type: application/json', 'Content-Length: 50'];
  socket.write(`${head.join('\r\n')}\r\n\r\n{`);
  await asked.promise;
  socket.destroy();
  const { status, refusal } = await answered.promise;
  assert.deepEqual({ status, refusal }, { status: 400, refusal: 'invalid_request' });
});

/** When bodies are read: together with the head, or later. */

import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { z } from 'zod';
import type { Gate } from '../../src/access/gate.ts';
import { BODY_FIRST_BYTES, createBodies } from '../../src/http/body-memory.ts';
import type { Call, Route } from '../../src/http/route.ts';
import { createListener, createRequestHandler } from '../../src/http/server.ts';
import type { FairQueue } from '../../src/kernel/fair-queue.ts';
import { createLog } from '../../src/observe/log.ts';
import type { ObserveRequest } from '../../src/observe/requests.ts';
import { cleanUp } from '../support/cleanup.ts';
import { deferred } from '../support/deferred.ts';

/** A server that accepts a JSON body at one path, and a connection to it. */
async function serving(
  t: TestContext,
  { observe, bodies = createBodies(), ...rest }: Pick<Route, 'admit' | 'respond'> & Partial<Route> & Served,
): Promise<Socket> {
  const { port } = await listening(t, { observe, bodies, ...rest });
  const socket = connect({ port, host: '127.0.0.1' });
  cleanUp(t, () => socket.destroy());
  return socket;
}

type Served = { readonly observe: ObserveRequest; readonly bodies?: FairQueue };

async function listening(
  t: TestContext,
  { observe, bodies = createBodies(), ...rest }: Pick<Route, 'admit' | 'respond'> & Partial<Route> & Served,
): Promise<{ port: number }> {
  const route: Route = {
    for: 'anyone',
    method: 'POST',
    path: '/body',
    access: 'open',
    tag: 'test',
    summary: 'Reads a body',
    replies: {},
    body: { maxBytes: 100_000, types: ['application/json'], schema: z.unknown() },
    ...rest,
  };
  const log = createLog('silent');
  const handler = createRequestHandler({
    routes: [route],
    gate: {} as Gate,
    clock: Date.now,
    log,
    remoteAddress: () => '127.0.0.1',
    observe: [observe],
    bodyTimeoutMs: 60_000,
    bodies,
  });
  const listener = createListener({ handler, tls: null, clock: Date.now, log });
  const port = await listener.listen('127.0.0.1', 0);
  cleanUp(t, () => listener.close());
  return { port };
}

function head(contentLength: number): string {
  const lines = [
    'POST /body HTTP/1.1',
    'Host: a',
    'Content-Type: application/json',
    `Content-Length: ${contentLength}`,
  ];
  return `${lines.join('\r\n')}\r\n\r\n`;
}

/** Node reads 64 KiB at once, and up to three times before a pause takes effect. */
const PIECE_MAX = 4 * 64 * 1024;

describe('a body', () => {
  it('does not wait for a client that disconnected before it was read', async (t) => {
    const asked = deferred<void>();
    const answered = deferred<{ status: number; refusal: string | null }>();
    const socket = await serving(t, {
      admit: async (request) => {
        asked.resolve();
        await new Promise((resolve) => request.once('close', resolve));
        return null;
      },
      respond: async () => assert.fail('the body was never whole'),
      observe: answered.resolve,
    });
    socket.write(`${head(50)}{`);
    await asked.promise;
    socket.destroy();
    const { status, refusal } = await answered.promise;
    assert.deepEqual({ status, refusal }, { status: 400, refusal: 'invalid_request' });
  });

  it('is read completely if it arrives with the head in several chunks', async (t) => {
    const text = JSON.stringify('x'.repeat(70_000));
    const read = deferred<unknown>();
    const socket = await serving(t, {
      // Both chunks have arrived before the body is read.
      admit: async (request) => {
        while (request.readableLength < text.length) await new Promise((resolve) => setImmediate(resolve));
        return null;
      },
      respond: async ({ body }) => {
        read.resolve(body);
        return { status: 204 };
      },
      observe: ({ status }) => read.resolve(status),
    });
    socket.write(head(text.length) + text);
    assert.equal(String(await read.promise).length, 70_000);
  });

  for (const [how, length] of [
    ['is accepted', 8_000_000],
    ['is refused and discarded', 12_000_000],
  ] as const)
    it(`is read in pieces, one in a turn of the event loop, if it ${how}`, async (t) => {
      const read: number[] = [];
      const ended = deferred<void>();
      const socket = await serving(t, {
        body: { maxBytes: 10_000_000, types: ['application/json'], isBytes: true, schema: z.unknown() },
        admit: async ({ socket: peer }) => {
          const turn = (): void => {
            read.push(peer.bytesRead);
            if (peer.bytesRead < length) setImmediate(turn);
            else ended.resolve();
          };
          turn();
          return null;
        },
        respond: async () => ({ status: 204 }),
        observe: () => {},
      });
      socket.resume().write(head(length) + 'x'.repeat(length));
      await ended.promise;
      const steps = read.map((bytes, n) => bytes - (read[n - 1] ?? bytes));
      assert.ok(Math.max(...steps) <= PIECE_MAX, String(Math.max(...steps)));
    });

  for (const [how, cut] of [
    ['with its head is read as it is, without anyone who waits for more of it', 0],
    ['in two pieces is waited for', 3],
  ] as const)
    it(`that comes ${how}`, async (t) => {
      const text = '{"a":1}';
      const asked = deferred<void>();
      const read = deferred<{ body: unknown; waited: boolean }>();
      let listeners = 0;
      const count = ({ request }: Pick<Call, 'request'>): number =>
        request.listenerCount('error') + request.listenerCount('close');
      const socket = await serving(t, {
        admit: async (request) => {
          listeners = count({ request });
          asked.resolve();
          return null;
        },
        respond: async (call) => {
          read.resolve({ body: call.body, waited: count(call) > listeners });
          return { status: 204 };
        },
        observe: () => undefined,
      });
      socket.setNoDelay(true);
      socket.write(head(text.length) + text.slice(0, text.length - cut));
      await asked.promise;
      if (cut > 0) {
        // Reads everything that arrives in this turn and the next.
        await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
        socket.write(text.slice(-cut));
      }
      assert.deepEqual(await read.promise, { body: { a: 1 }, waited: cut > 0 });
    });
});

describe('the memory of bodies', () => {
  it('grows with the bytes that have arrived, is bounded for one sender and for all, and is given back', async (t) => {
    const bodies = createBodies(100_000, 60_000);
    const answered: number[] = [];
    let came = deferred<void>();
    const { port } = await listening(t, {
      bodies,
      respond: async ({ body }) => ({ status: 200, body: { length: (body as string).length } }),
      observe: ({ status }) => {
        answered.push(status);
        came.resolve();
      },
    });
    const open = (bytes: number): Socket => {
      const socket = connect({ port, host: '127.0.0.1' });
      cleanUp(t, () => socket.destroy());
      socket.write(`${head(bytes)}"`);
      return socket;
    };
    const until = async (test: () => boolean): Promise<void> => {
      while (!test()) await new Promise((resolve) => setTimeout(resolve, 2));
    };
    // A body that announces 40,000 bytes and sends one holds little.
    const first = open(40_000);
    await until(() => bodies.held('127.0.0.1') > 0);
    assert.equal(bodies.held(), BODY_FIRST_BYTES);
    first.write('x'.repeat(BODY_FIRST_BYTES));
    await until(() => bodies.held() === 2 * BODY_FIRST_BYTES);
    const second = open(40_000);
    await until(() => bodies.held() === 3 * BODY_FIRST_BYTES);
    const third = open(40_000);
    const text = await new Promise<string>((resolve) => third.once('data', (data) => resolve(String(data))));
    assert.match(text, /^HTTP\/1\.1 429 /);
    assert.match(text, /\r\nRetry-After: 1\r\n/);
    assert.match(text, /\r\nConnection: close\r\n/);
    assert.match(text, /too many bytes of bodies in progress/);
    assert.equal(bodies.held(), 3 * BODY_FIRST_BYTES);
    await came.promise;
    second.destroy();
    await until(() => bodies.held() === 2 * BODY_FIRST_BYTES);
    came = deferred();
    first.write(`${'x'.repeat(40_000 - BODY_FIRST_BYTES - 2)}"`);
    const reply = await new Promise<string>((resolve) => first.once('data', (data) => resolve(String(data))));
    assert.match(reply, /\{"length":39998\}$/);
    await until(() => bodies.held() === 0);
  });
});

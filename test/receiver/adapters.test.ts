import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import express, { type Express } from 'express';
import fastify from 'fastify';
import {
  createReceiver,
  fastifyPlugin,
  fetchHandler,
  nodeHandler,
  type Receives,
  type Refusal,
} from '../../src/receiver/index.ts';
import { cleanUp } from '../support/cleanup.ts';
import { deferred } from '../support/deferred.ts';
import { type Reply, sendRaw, webRequest } from '../support/receiver-transports.ts';
import { API_KEY, PATH, type RawRequest, SECRET, signedRequest, withHeader } from '../support/signed-request.ts';

const PARSED = 'body_was_parsed: the body was parsed before verification: pass the raw bytes';

function receiver(): { receiver: Receives; orders: unknown[] } {
  const orders: unknown[] = [];
  const made = createReceiver<{ 'order.created': { orderId: number } }>({
    secrets: SECRET,
    apiKey: API_KEY,
    onRecords: (records) => void orders.push(...records.map(({ data }) => data.orderId)),
  });
  return { receiver: made, orders };
}

async function serve(t: TestContext, listener: RequestListener): Promise<number> {
  const server = createServer(listener);
  cleanUp(t, () => server.close());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

async function deliver(port: number, request?: RawRequest): Promise<Pick<Reply, 'status' | 'body'>> {
  const { status, body } = await sendRaw(port, request ?? (await signedRequest({ gzip: true })));
  return { status, body };
}

const TAKEN = { status: 204, body: '' };

describe('a receiver in Express', () => {
  const [pathname = ''] = PATH.split('?');
  const cases: readonly [what: string, mount: (app: Express, handler: ReturnType<typeof nodeHandler>) => void][] = [
    ['at a path', (app, handler) => app.post(pathname, handler)],
    ['before body-parsing middleware', (app, handler) => app.post(pathname, handler).use(express.json())],
    [
      'below a router, which cuts the path',
      (app, handler) => app.use('/hooks', express.Router().post('/Sallyport', handler)),
    ],
    ['as the handler of all requests', (app, handler) => app.use(handler)],
  ];
  for (const [what, mount] of cases) {
    it(`accepts a delivery ${what}`, async (t) => {
      const { receiver: made, orders } = receiver();
      const app = express();
      mount(app, nodeHandler(made));
      assert.deepEqual(await deliver(await serve(t, app)), TAKEN);
      assert.deepEqual(orders, [42]);
    });
  }

  const parsers = { 'express.json()': express.json(), 'express.text()': express.text({ type: '*/*' }) };
  for (const [what, parser] of Object.entries(parsers)) {
    it(`reports that ${what} has parsed the body`, async (t) => {
      const { receiver: made, orders } = receiver();
      const app = express().use(parser).post(pathname, nodeHandler(made));
      assert.deepEqual(await deliver(await serve(t, app)), { status: 500, body: PARSED });
      assert.deepEqual(orders, []);
    });
  }

  it('accepts the bytes of express.raw, and reports if it has decompressed them', async (t) => {
    const { receiver: made, orders } = receiver();
    const app = express()
      .use(express.raw({ type: '*/*' }))
      .post(pathname, nodeHandler(made));
    const port = await serve(t, app);
    assert.deepEqual(await deliver(port, await signedRequest()), TAKEN);
    const { status, body } = await deliver(port, await signedRequest({ gzip: true }));
    assert.equal(status, 400);
    assert.match(body, /^wrong_content_hash: .* was it decompressed or parsed before\?$/);
    assert.deepEqual(orders, [42]);
  });
});

describe('a receiver in node:http', () => {
  it('accepts the bytes that a platform keeps in addition to a parsed body', async (t) => {
    const { receiver: made, orders } = receiver();
    const handler = nodeHandler(made);
    const port = await serve(t, async (request: IncomingMessage & { rawBody?: Buffer; body?: unknown }, response) => {
      request.rawBody = Buffer.concat(await request.toArray());
      request.body = { parsed: true };
      await handler(request, response);
    });
    assert.deepEqual(await deliver(port), TAKEN);
    assert.deepEqual(orders, [42]);
  });

  it('reports that the connection ended before the body was complete', async (t) => {
    const refused = deferred<Refusal>();
    const onRecords = (): void => assert.fail('handed over');
    const made = createReceiver({ secrets: SECRET, onRecords, onRefusal: refused.resolve });
    const socket = connect(await serve(t, nodeHandler(made)), '127.0.0.1');
    const { headers, body } = await signedRequest();
    const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
    socket.write(`POST ${PATH} HTTP/1.1\r\nHost: h\r\nContent-Length: ${body.length}\r\n${lines}\r\n`);
    socket.end(body.subarray(0, -1));
    const { code, description } = await refused.promise;
    assert.deepEqual([code, description], ['body_incomplete', 'the connection ended before the body was complete']);
  });
});

describe('a receiver in Fastify', () => {
  it('accepts deliveries next to routes whose bodies Fastify parses', async (t) => {
    const { receiver: made, orders } = receiver();
    const app = fastify();
    const [pathname = ''] = PATH.split('?');
    app.register(fastifyPlugin(made, pathname));
    app.post('/other', async (request) => ({ got: request.body }));
    const port = Number(new URL(await app.listen({ port: 0, host: '127.0.0.1' })).port);
    cleanUp(t, () => app.close());
    assert.deepEqual(await deliver(port), TAKEN);
    const octets = { 'content-type': 'application/octet-stream' };
    const binary = await deliver(port, await signedRequest({ payload: { bytes: Buffer.of(1), headers: octets } }));
    assert.match(binary.body, /^unsupported_content_type: /);
    const wrong = await deliver(port, withHeader(await signedRequest(), 'x-api-key', 'other'));
    assert.deepEqual(wrong, { status: 401, body: 'wrong_api_key: x-api-key is wrong' });
    assert.deepEqual(orders, [42]);
    const other = await fetch(`http://127.0.0.1:${port}/other`, {
      method: 'POST',
      body: '{"a":1}',
      headers: { 'content-type': 'application/json' },
    });
    assert.deepEqual(await other.json(), { got: { a: 1 } });
  });

  it('accepts deliveries below a prefix', async (t) => {
    const { receiver: made, orders } = receiver();
    const app = fastify();
    app.register(fastifyPlugin(made, '/Sallyport'), { prefix: '/hooks' });
    const port = Number(new URL(await app.listen({ port: 0, host: '127.0.0.1' })).port);
    cleanUp(t, () => app.close());
    assert.deepEqual(await deliver(port), TAKEN);
    assert.deepEqual(orders, [42]);
  });
});

describe('a receiver as a fetch-style handler', () => {
  it('reports that the body was already read', async () => {
    const { receiver: made, orders } = receiver();
    const request = webRequest(await signedRequest());
    await request.json();
    const response = await fetchHandler(made)(request);
    assert.deepEqual([response.status, await response.text()], [500, PARSED]);
    assert.deepEqual(orders, []);
  });

  it('reports an incomplete body', async () => {
    const { receiver: made } = receiver();
    const { path, headers } = await signedRequest();
    const body = new ReadableStream({
      pull(controller) {
        controller.error(new Error('aborted'));
      },
    });
    const init = { method: 'POST', headers: Object.fromEntries(headers), body, duplex: 'half' } as const;
    const response = await fetchHandler(made)(new Request(`https://hooks.example.com${path}`, init));
    assert.deepEqual(
      [response.status, await response.text()],
      [400, 'body_incomplete: the connection ended before the body was complete'],
    );
  });
});

describe('a receiver that gets a parsed body', () => {
  for (const body of ['{"records":[]}', { records: [] }, null, undefined, 7]) {
    it(`reports it (${JSON.stringify(body)})`, async () => {
      const { receiver: made } = receiver();
      const { method, path, headers } = await signedRequest();
      const request = { method, pathAndQuery: path, headers, body: body as unknown as Uint8Array };
      assert.deepEqual((await made.receive(request)).body, PARSED);
    });
  }
});

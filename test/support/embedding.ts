/** Tests that every program of docs/how-to/embed-in-node.md must pass. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, type TestContext, test } from 'node:test';
import { cleanUp } from './cleanup.ts';
import {
  type ApiClient,
  type ApiReply,
  createClient,
  errorOf,
  refusalOf,
  succeeded,
  TOKEN,
  tokenFor,
} from './client.ts';
import { type RunningProgram, runDocumentedCommands, runProgram } from './documented-program.ts';

const PUBLIC_URL = 'https://shop.example';

type Credentials = { readonly clientId: string; readonly clientSecret: string };

type Shop = {
  readonly administrator: Credentials;
  readonly shop: Credentials;
  readonly running: RunningProgram;
  readonly admin: ApiClient;
  readonly adminToken: string;
  /** `POST /orders` with this token, without one (null), or with a new token that has `orders:create`. */
  order(token?: string | null): Promise<ApiReply<unknown>>;
};

/** Sets up a data folder with the commands of docs/how-to/embed-in-node.md, and runs the program with it. */
async function openShop(program: string, folder: string): Promise<Shop> {
  const outputs = await runDocumentedCommands(folder, 'how-to/embed-in-node.md', 'Prepare the data folder');
  const [administrator, shop] = outputs.flatMap(credentialsIn);
  assert.ok(administrator !== undefined && shop !== undefined, outputs.join('\n'));
  const running = await runProgram(program, folder, {
    SALLYPORT_DATA: join(folder, 'data'),
    SALLYPORT_PUBLIC_URL: PUBLIC_URL,
    SALLYPORT_LOG_LEVEL: 'info',
  });
  const { url } = running;
  const adminToken = await tokenFor(url, administrator);
  // Uses fetch, because the API client checks replies against the OpenAPI document, which lacks the program's own paths.
  const order = async (given?: string | null): Promise<ApiReply<unknown>> => {
    const token = given === undefined ? await tokenFor(url, shop) : given;
    const reply = await fetch(`${url}/orders`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...(token === null ? {} : { Authorization: `Bearer ${token}` }) },
      body: JSON.stringify({ item: 'x'.repeat(10_000) }),
    });
    const text = await reply.text();
    return { status: reply.status, headers: reply.headers, body: text.startsWith('{') ? JSON.parse(text) : text };
  };
  return { administrator, shop, running, adminToken, admin: createClient(url, adminToken), order };
}

function credentialsIn(output: string): Credentials[] {
  const clientId = /spc_\w+/.exec(output)?.[0];
  const clientSecret = /sps_\w+/.exec(output)?.[0];
  return clientId === undefined || clientSecret === undefined ? [] : [{ clientId, clientSecret }];
}

/** Returns a function that lists the orders published since this call. It reads them from a stopped webhook, removed at the end. */
async function watchOrders(t: TestContext, admin: ApiClient): Promise<() => Promise<string[]>> {
  const endpoint = { name: 'receiver', url: 'https://receiver.example/hook' };
  const { id: endpointId } = await succeeded<{ id: string }>(admin.post('endpoints', endpoint));
  const webhook = { name: 'orders', endpointId, eventTypes: ['order.created'] };
  const { id } = await succeeded<{ id: string }>(admin.post('webhooks', webhook));
  cleanUp(t, async () => {
    for (const path of [`webhooks/${id}`, `endpoints/${endpointId}`]) await admin.delete(path);
  });
  return async () => {
    const page = await succeeded<{ items: { eventId: string }[] }>(admin.get(`deliveries?webhookId=${id}`));
    return page.items.map(({ eventId }) => eventId);
  };
}

/**
 * Tests a program of docs/how-to/embed-in-node.md. One process serves all tests in their order. `notFound` is the text of the program's
 * own 404.
 */
export function testEmbedding(server: string, program: string, notFound: RegExp): void {
  // Hooks outside a suite would belong to all files of the process.
  describe(`the program for ${server}`, () => testProgram(server, program, notFound));
}

function testProgram(server: string, program: string, notFound: RegExp): void {
  let folder: string;
  let opened: Shop;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'embedding-'));
    opened = await openShop(program, folder);
  });
  after(async () => {
    await opened?.running.kill();
    rmSync(folder, { recursive: true, force: true });
  });

  test(`within ${server}, Sallyport answers its own OAuth and API paths and gets their bodies`, async () => {
    const { running, shop, admin } = opened;
    const form = { grant_type: 'client_credentials', client_id: shop.clientId, client_secret: shop.clientSecret };
    const reply = await fetch(running.url + TOKEN, { method: 'POST', body: new URLSearchParams(form) });
    assert.equal(reply.status, 200, await reply.text());
    assert.equal(reply.headers.get('cache-control'), 'no-store');

    const { issuer } = await succeeded<{ issuer: string }>(admin.get('/.well-known/oauth-authorization-server'));
    assert.equal(issuer, PUBLIC_URL);
    const { items } = await succeeded<{ items: { name: string }[] }>(admin.get('products?limit=200'));
    assert.ok(items.some(({ name }) => name === 'Orders'));
    assert.equal((await refusalOf(admin.get('products/none'), 404)).code, 'not_found');
    assert.equal((await refusalOf(admin.put('products', {}), 405)).code, 'method_not_allowed');
    assert.equal((await admin.get('/readyz')).status, 200);
  });

  test(`${server} gets all other paths, including ambiguous forms of Sallyport's`, async () => {
    const { running } = opened;
    for (const path of ['/', '/no-such-page', '/services/api/x/edge/v1/no-such-thing', `/${TOKEN}`, `${TOKEN}/`]) {
      const reply = await fetch(running.url + path, { method: 'POST' });
      const text = await reply.text();
      assert.equal(reply.status, 404, path);
      assert.match(text, notFound, path);
      assert.doesNotMatch(text, /errorId/, path);
    }
  });

  test(`a guard of ${server} allows the right caller, and an event published there is in the outbox`, async (t) => {
    const { admin, order } = opened;
    const orders = await watchOrders(t, admin);
    const ordered = await succeeded<{ orderedBy: string; eventId: string }>(order());
    assert.equal(ordered.orderedBy, 'shop');
    assert.deepEqual(await orders(), [ordered.eventId]);
  });

  test(`a guard of ${server} refuses other callers with the error body, and nothing is published`, async (t) => {
    const { admin, adminToken, administrator, order, running, shop } = opened;
    const shopToken = await tokenFor(running.url, shop);
    const orders = await watchOrders(t, admin);
    const refused = async (code: string, challenge: RegExp, token: string | null): Promise<void> => {
      const reply = await order(token);
      assert.equal(reply.status, 401, JSON.stringify(reply.body));
      assert.equal(errorOf(reply).code, code);
      assert.match(reply.headers.get('www-authenticate') ?? '', challenge);
    };
    await refused('unauthorized', /^Bearer$/, null);
    await refused('invalid_token', /^Bearer error="invalid_token"/, 'spt_nonsense');
    await refused('insufficient_scope', /^Bearer error="insufficient_scope", scope="orders:create", /, adminToken);

    const { items: users } = await succeeded<{ items: { id: string; userName: string }[] }>(admin.get('users'));
    const user = `users/${users.find(({ userName }) => userName === 'shop')?.id}`;
    await succeeded(admin.patch(user, { permissions: [] }));
    await refused('insufficient_permission', /^Bearer error="insufficient_permission"/, shopToken);
    await succeeded(admin.patch(user, { permissions: ['orders:create'] }));
    assert.equal((await order(shopToken)).status, 201);
    await succeeded(admin.patch(user, { active: false }));
    await refused('invalid_token', /^Bearer error="invalid_token"/, shopToken);
    await succeeded(admin.patch(user, { active: true }));

    assert.equal((await orders()).length, 1);
    assert.ok(!running.errors().includes(administrator.clientSecret));
  });

  test(`a refused request of ${server} whose body is still arriving ends its connection`, async (t) => {
    const socket = connect(Number(new URL(opened.running.url).port), '127.0.0.1');
    t.after(() => socket.destroy());
    let text = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
    });
    socket.write('POST /orders HTTP/1.1\r\nHost: shop\r\nContent-Length: 100\r\n\r\nGET /smuggled HTTP/1.1\r\n');
    await new Promise((resolve) => socket.once('close', resolve));
    assert.match(text, /^HTTP\/1\.1 401 /);
    assert.match(text, /\r\nConnection: close\r\n/i);
    assert.equal(text.match(/HTTP\/1\.1 /g)?.length, 1);
  });

  test(`a failed publish within ${server} is an error reply, and the program continues`, async () => {
    const { admin, order } = opened;
    const { items } = await succeeded<{ items: { id: string; name: string }[] }>(admin.get('event-types?limit=200'));
    const { id } = items.find(({ name }) => name === 'order.created') ?? {};
    assert.equal((await admin.delete(`event-types/${id}`)).status, 204);
    // Express and Fastify answer with the status of the refusal.
    for (const _ of [1, 2]) assert.ok([400, 500].includes((await order()).status));
    assert.equal((await admin.get('/readyz')).status, 200);
    await succeeded(admin.post('event-types', { name: 'order.created' }));
  });

  test(`the program for ${server} ends gracefully at SIGTERM`, async () => {
    const { order, running } = opened;
    const ordered = await order();
    assert.equal(ordered.status, 201, JSON.stringify(ordered.body));
    assert.deepEqual(await running.end(), { code: 0, signal: null }, running.errors());
  });
}

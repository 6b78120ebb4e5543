/** What holds for every program of docs/embedding.md, whichever server it has Sallyport in. */
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, type TestContext, test } from 'node:test';
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
import {
  documentedProgram,
  type Program,
  type RunningProgram,
  runDocumentedCommands,
  runProgram,
  typeErrors,
} from './documented-program.ts';
import { temporaryFolder } from './service.ts';

const PAGE = 'embedding.md';
const PUBLIC_URL = 'https://shop.example';

type Credentials = { readonly clientId: string; readonly clientSecret: string };

/** The program with a data folder that was set up as the page says, by the commands that it gives. */
type Prepared = { readonly program: Program; readonly administrator: Credentials; readonly shop: Credentials };

type Shop = Prepared & {
  readonly running: RunningProgram;
  readonly admin: ApiClient;
  /** `POST /orders` with a token that holds `orders:create`, another, or none. */
  order(token?: string | null): Promise<ApiReply<unknown>>;
  readonly adminToken: string;
};

async function prepare(heading: string): Promise<Prepared> {
  const program = documentedProgram(mkdtempSync(join(tmpdir(), 'embedding-')), PAGE, heading);
  const outputs = await runDocumentedCommands(program.folder, PAGE, 'What they need');
  const [administrator, shop] = outputs.flatMap(credentialsIn);
  assert.ok(administrator !== undefined && shop !== undefined, outputs.join('\n'));
  return { program, administrator, shop };
}

/** Runs the program on a copy of the data folder. */
async function openShop(t: TestContext, prepared: Prepared): Promise<Shop> {
  const { program, administrator, shop } = prepared;
  const data = join(temporaryFolder(t), 'data');
  cpSync(join(program.folder, 'data'), data, { recursive: true });
  const running = await runProgram(t, program, {
    SALLYPORT_DATA: data,
    SALLYPORT_PUBLIC_URL: PUBLIC_URL,
    SALLYPORT_LOG_LEVEL: 'info',
  });
  const { url } = running;
  const adminToken = await tokenFor(url, administrator);
  const shopToken = await tokenFor(url, shop);
  // Not with the client of the API, which holds answers to a document that does not know the program's own paths.
  const order = async (token: string | null = shopToken): Promise<ApiReply<unknown>> => {
    const reply = await fetch(`${url}/orders`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...(token === null ? {} : { Authorization: `Bearer ${token}` }) },
      body: JSON.stringify({ item: 'x'.repeat(10_000) }),
    });
    const text = await reply.text();
    return { status: reply.status, headers: reply.headers, body: text.startsWith('{') ? JSON.parse(text) : text };
  };
  return { ...prepared, running, adminToken, admin: createClient(url, adminToken), order };
}

function credentialsIn(output: string): Credentials[] {
  const clientId = /spc_\w+/.exec(output)?.[0];
  const clientSecret = /sps_\w+/.exec(output)?.[0];
  return clientId === undefined || clientSecret === undefined ? [] : [{ clientId, clientSecret }];
}

/** The orders that were published, as a webhook that nobody started has them waiting. */
async function watchOrders(admin: ApiClient): Promise<() => Promise<string[]>> {
  const endpoint = { name: 'receiver', url: 'https://receiver.example/hook' };
  const { id: endpointId } = await succeeded<{ id: string }>(admin.post('endpoints', endpoint));
  const webhook = { name: 'orders', endpointId, eventTypes: ['order.created'] };
  const { id } = await succeeded<{ id: string }>(admin.post('webhooks', webhook));
  return async () => {
    const page = await succeeded<{ items: { eventId: string }[] }>(admin.get(`deliveries?webhookId=${id}`));
    return page.items.map(({ eventId }) => eventId);
  };
}

/** `notFound` is the text of the program's own 404. */
export function testEmbedding(heading: string, notFound: RegExp): void {
  let prepared: Prepared;
  before(async () => {
    prepared = await prepare(heading);
  });
  after(() => rmSync(prepared.program.folder, { recursive: true, force: true }));

  test(`the program for ${heading} is correctly typed`, async () => {
    assert.equal(await typeErrors(prepared.program), '');
  });

  test(`Sallyport's own paths are answered within ${heading}, in both dialects, and its bodies reach it`, async (t) => {
    const { running, shop, admin } = await openShop(t, prepared);
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

  test(`what is not Sallyport's is left to ${heading}, ambiguous spellings of its paths too`, async (t) => {
    const { running } = await openShop(t, prepared);
    for (const path of ['/', '/no-such-page', '/services/api/x/edge/v1/no-such-thing', `/${TOKEN}`, `${TOKEN}/`]) {
      const reply = await fetch(running.url + path, { method: 'POST' });
      const text = await reply.text();
      assert.equal(reply.status, 404, path);
      assert.match(text, notFound, path);
      assert.doesNotMatch(text, /errorId/, path);
    }
  });

  test(`a guard of ${heading} lets the right caller through, and an event published there is in the outbox`, async (t) => {
    const { admin, order } = await openShop(t, prepared);
    const orders = await watchOrders(admin);
    const ordered = await succeeded<{ orderedBy: string; eventId: string }>(order());
    assert.equal(ordered.orderedBy, 'shop');
    assert.deepEqual(await orders(), [ordered.eventId]);
  });

  test(`a guard of ${heading} refuses everybody else in the error body, and nothing is published`, async (t) => {
    const { admin, adminToken, administrator, order, running } = await openShop(t, prepared);
    const orders = await watchOrders(admin);
    const refused = async (code: string, challenge: RegExp, token?: string | null): Promise<void> => {
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
    await refused('insufficient_permission', /^Bearer error="insufficient_permission"/);
    await succeeded(admin.patch(user, { permissions: ['orders:create'] }));
    assert.equal((await order()).status, 201);
    await succeeded(admin.patch(user, { active: false }));
    await refused('invalid_token', /^Bearer error="invalid_token"/);

    assert.equal((await orders()).length, 1);
    assert.ok(!running.errors().includes(administrator.clientSecret));
  });

  test(`a publish that fails within ${heading} is an answer that says so, and the program serves on`, async (t) => {
    const { admin, order } = await openShop(t, prepared);
    const { items } = await succeeded<{ items: { id: string; name: string }[] }>(admin.get('event-types?limit=200'));
    const type = items.find(({ name }) => name === 'order.created');
    assert.equal((await admin.delete(`event-types/${type?.id}`)).status, 204);
    for (const _ of [1, 2]) assert.ok((await order()).status >= 400);
    assert.equal((await admin.get('/readyz')).status, 200);
  });

  test(`a refused request of ${heading} whose body is still coming ends its connection`, async (t) => {
    const { running } = await openShop(t, prepared);
    const socket = connect(Number(new URL(running.url).port), '127.0.0.1');
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

  test(`the program for ${heading} ends in order at SIGTERM`, async (t) => {
    const { order, running } = await openShop(t, prepared);
    assert.equal((await order()).status, 201);
    assert.deepEqual(await running.end(), { code: 0, signal: null }, running.errors());
  });
}

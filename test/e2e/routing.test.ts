import assert from 'node:assert/strict';
import { request as rawRequest } from 'node:http';
import test from 'node:test';
import type { ApplicationView } from '../../src/access/applications.ts';
import type { UserView } from '../../src/access/users.ts';
import { ADMIN_REQUEST_BYTES, TOKEN_REQUEST_BYTES } from '../../src/domain/limits.ts';
import {
  type ApiClient,
  createClient,
  EDGE,
  EMPLOYEES,
  errorOf,
  type Page,
  refusalOf,
  succeeded,
  TOKEN,
} from '../support/client.ts';
import { makeEndpoint, makeEventType, makeWebhook, publish, registerApplication } from '../support/journey.ts';
import { startService } from '../support/service.ts';

const NOWHERE = '01a1fd3d-5320-72e3-bf01-0aa3ceda66c3';
const RESOURCES = ['users', 'products', 'applications', 'endpoints', 'keys', 'event-types', 'webhooks'];

test('an unknown path is 404 and a known one with another method 405 with Allow', async (t) => {
  const { admin } = await startService(t);
  for (const path of ['/nothing', `${EDGE}/nothing`, `${EDGE}/users/`, '/services/api']) {
    assert.equal((await refusalOf(admin.get(path), 404)).code, 'not_found', path);
  }
  const methods = [
    { method: 'DELETE', path: `${EDGE}/users`, allow: 'GET, HEAD, POST' },
    { method: 'PUT', path: `${EDGE}/users/${NOWHERE}`, allow: 'DELETE, GET, HEAD, PATCH' },
    { method: 'GET', path: TOKEN, allow: 'POST' },
    { method: 'POST', path: `${EMPLOYEES}/${NOWHERE}`, allow: 'GET, HEAD, PATCH, PUT' },
    { method: 'OPTIONS', path: `${EDGE}/users`, allow: 'GET, HEAD, POST' },
  ];
  for (const { method, path, allow } of methods) {
    const reply = await admin.send(method, path);
    assert.equal(reply.status, 405, path);
    assert.equal(reply.headers.get('allow'), allow);
    assert.equal(errorOf(reply).code, 'method_not_allowed');
  }
});

test('an ambiguous path is refused before routing', async (t) => {
  const { admin } = await startService(t);
  for (const path of [
    `${EDGE}//users`,
    `${EDGE}/users/..%2fkeys`,
    `${EDGE}/%2e%2e/v1/users`,
    `${EDGE}/users/%00`,
    `${EDGE}/users/%zz`,
  ]) {
    const { status, body } = await raw(admin.url, 'GET', path);
    assert.equal(status, 400, path);
    assert.equal(JSON.parse(body).error.code, 'ambiguous_path', path);
  }
});

test('an unknown or malformed id is 404 for every method of every resource', async (t) => {
  const { admin } = await startService(t);
  for (const resource of RESOURCES) {
    for (const id of [NOWHERE, 'not-an-id', "'%20OR%201=1"]) {
      const path = `${resource}/${id}`;
      for (const sent of [admin.get(path), admin.patch(path, {}), admin.delete(path)]) {
        assert.equal((await refusalOf(sent, 404)).code, 'not_found', path);
      }
    }
  }
  const { api } = await registerApplication(admin, ['employees:view', 'employees:edit']);
  const employee = `${EMPLOYEES}/${NOWHERE}`;
  for (const sent of [admin.get(`deliveries/${NOWHERE}`), admin.get(`audit/${NOWHERE}`)]) await refusalOf(sent, 404);
  for (const sent of [api.get(employee), api.patch(employee, { division: 'x' })]) {
    assert.equal((await refusalOf(sent, 404)).code, 'not_found');
  }
  assert.equal((await refusalOf(admin.get(employee), 401)).code, 'insufficient_scope');
  for (const action of ['start', 'stop', 'test', 'replay']) {
    assert.equal((await refusalOf(admin.post(`webhooks/${NOWHERE}/${action}`), 404)).code, 'not_found');
  }
});

test('another media type is 415, and so is a content coding', async (t) => {
  const { admin, url, credentials } = await startService(t);
  const { clientId, clientSecret } = credentials;
  const body = JSON.stringify({ userName: 'somebody' });
  for (const headers of [
    { 'content-type': 'text/plain' },
    { 'content-type': 'application/xml' },
    { 'content-type': 'application/merge-patch+json' },
    { 'content-type': 'application/json;charset=utf-16' },
    { 'content-type': 'application/json', 'content-encoding': 'gzip' },
  ]) {
    assert.equal((await refusalOf(admin.post('users', body, headers), 415)).code, 'unsupported_media_type');
  }
  const token = JSON.stringify({ clientId, clientSecret, grantType: 'client_credentials' });
  await refusalOf(createClient(url, null).post(TOKEN, token, { 'content-type': 'text/json' }), 415);
  for (const type of ['application/json', 'Application/JSON; charset=UTF-8']) {
    await succeeded(admin.post('users', JSON.stringify({ userName: `user-${type.length}` }), { 'content-type': type }));
  }
});

test('a body is accepted up to its limit, with or without Content-Length', async (t) => {
  const { admin, url, credentials } = await startService(t);
  const filled = (size: number, fields: object): string => JSON.stringify(fields).padEnd(size, ' ');
  const user = (name: string) => ({ userName: name });
  await succeeded(admin.post('users', filled(ADMIN_REQUEST_BYTES, user('full'))));
  const over = await refusalOf(admin.post('users', filled(ADMIN_REQUEST_BYTES + 1, user('over'))), 413);
  assert.equal(over.code, 'content_too_large');
  assert.match(over.description, /1048576/);
  const { clientId, clientSecret } = credentials;
  const asked = { clientId, clientSecret, grantType: 'client_credentials' };
  const nobody = createClient(url, null);
  await succeeded(nobody.post(TOKEN, filled(TOKEN_REQUEST_BYTES, asked)));
  await refusalOf(nobody.post(TOKEN, filled(TOKEN_REQUEST_BYTES + 1, asked)), 413);

  const chunked = await raw(url, 'POST', TOKEN, {
    headers: { 'content-type': 'application/json', 'transfer-encoding': 'chunked' },
    chunks: Array.from({ length: 17 }, () => ' '.repeat(1024)),
  });
  assert.equal(chunked.status, 413);
  const { items } = await succeeded<Page<UserView>>(admin.get('users'));
  assert.equal(items.filter(({ userName }) => userName === 'over').length, 0);
});

test('unknown and repeated query parameters are refused by name', async (t) => {
  const { admin } = await startService(t);
  const unknown = await refusalOf(admin.get('users?limt=5'), 400);
  assert.deepEqual(unknown.details, [{ field: 'limt', problem: 'is not a known query parameter' }]);
  for (const name of ['constructor', '__proto__', 'toString']) {
    const inherited = await refusalOf(admin.get(`users?${name}=5`), 400);
    assert.deepEqual(inherited.details, [{ field: name, problem: 'is not a known query parameter' }]);
  }
  const twice = await refusalOf(admin.get('users?limit=5&limit=6'), 400);
  assert.equal(twice.details?.[0]?.field, 'limit');
  await refusalOf(admin.post('users?dry=1', { userName: 'somebody' }), 400);
});

test('HEAD answers like GET, without the body', async (t) => {
  const { admin } = await startService(t);
  const got = await admin.get('users');
  const head = await admin.send('HEAD', 'users');
  assert.equal(head.status, 200);
  assert.equal(head.body, undefined);
  for (const name of ['content-type', 'content-length', 'cache-control']) {
    assert.equal(head.headers.get(name), got.headers.get(name), name);
  }
  const missing = await admin.send('HEAD', `users/${NOWHERE}`);
  assert.deepEqual([missing.status, missing.body], [404, undefined]);
});

test('a created resource has a Location, and a deleted one answers 204 and then 404', async (t) => {
  const { admin } = await startService(t);
  const created = await admin.post<UserView>('users', { userName: 'somebody' });
  assert.equal(created.status, 201);
  assert.equal(created.headers.get('location'), `${EDGE}/users/${created.body.id}`);
  assert.deepEqual(await succeeded(admin.get(created.headers.get('location') ?? '')), created.body);
  assert.equal(created.body.createdAt, new Date(created.body.createdAt).toISOString());
  const deleted = await admin.delete(`users/${created.body.id}`);
  assert.deepEqual([deleted.status, deleted.body], [204, undefined]);
  await refusalOf(admin.get(`users/${created.body.id}`), 404);
  await refusalOf(admin.delete(`users/${created.body.id}`), 404);
});

test('a patch merges: named fields change, null resets to the default, objects merge, other fields stay', async (t) => {
  const { admin } = await startService(t);
  const { user, application } = await registerApplication(admin, ['employees:view'], {
    user: { displayName: 'Somebody', email: 'a@b.example', constraints: { divisions: ['sales'] } },
    application: { accessTokenValiditySeconds: 600 },
  });
  const path = `users/${user.id}`;
  const renamed = await succeeded<UserView>(admin.patch(path, { displayName: 'Other' }));
  assert.deepEqual({ ...renamed, updatedAt: null }, { ...user, displayName: 'Other', updatedAt: null });
  assert.ok(renamed.updatedAt > user.updatedAt);
  const merged = { 'content-type': 'application/merge-patch+json' };
  const cleared = await succeeded<UserView>(
    admin.patch(path, { email: null, constraints: { divisions: null } }, merged),
  );
  assert.deepEqual([cleared.email, cleared.constraints, cleared.displayName], [null, {}, 'Other']);
  const back = await succeeded<ApplicationView>(
    admin.patch(`applications/${application.id}`, { accessTokenValiditySeconds: null }),
  );
  assert.equal(back.accessTokenValiditySeconds, 3600);
  assert.deepEqual([back.scopes, back.clientId], [application.scopes, application.clientId]);
});

test('lists page in order with each item once, while items are added, and end with nextCursor null', async (t) => {
  const service = await startService(t);
  const { admin } = service;
  const names = Array.from({ length: 55 }, (_, n) => `user-${String(n).padStart(2, '0')}`);
  for (const userName of names) await succeeded(admin.post('users', { userName }));
  const seen = await pages<UserView>(admin, 'users', 20, async () => {
    await succeeded(admin.post('users', { userName: `late-${Math.random()}` }));
  });
  assert.deepEqual(
    seen.map(({ userName }) => userName).filter((name) => name.startsWith('user-')),
    names,
  );
  assert.equal(new Set(seen.map(({ id }) => id)).size, seen.length);

  await makeEventType(admin, 'order.placed');
  const endpoint = await makeEndpoint(admin, { url: 'https://receiver.example/', secret: 'a', apiKey: '0'.repeat(32) });
  const webhook = await makeWebhook(admin, endpoint, ['order.placed']);
  const ids = await publish(admin, 'order.placed', ...Array.from({ length: 12 }, (_, n) => ({ n })));
  for (const path of [`deliveries?webhookId=${webhook.id}`, 'deliveries']) {
    const listed = await pages<{ eventId: string }>(admin, path, 5);
    assert.deepEqual(
      listed.map(({ eventId }) => eventId),
      ids.toReversed(),
      'the newest first',
    );
  }
  const defaulted = await succeeded<Page<unknown>>(admin.get('users'));
  assert.equal(defaulted.items.length, 50);
  assert.notEqual(defaulted.nextCursor, null);
});

/** All items of a list, page by page. `between` runs after each page. */
async function pages<T>(
  admin: ApiClient,
  path: string,
  limit: number,
  between: () => Promise<void> = async () => {},
): Promise<T[]> {
  const items: T[] = [];
  let cursor: string | null = null;
  do {
    const query: string = `${path.includes('?') ? '&' : '?'}limit=${limit}${cursor === null ? '' : `&cursor=${cursor}`}`;
    const page: Page<T> = await succeeded(admin.get(path + query));
    assert.ok(page.items.length <= limit);
    assert.equal(page.nextCursor === null || page.items.length === limit, true);
    items.push(...page.items);
    cursor = page.nextCursor;
    if (items.length <= 40) await between();
  } while (cursor !== null);
  return items;
}

type Raw = { readonly headers?: Record<string, string>; readonly chunks?: readonly string[] };

/** Sends a request unchanged. `fetch` would normalize its path. */
function raw(url: string, method: string, path: string, { headers = {}, chunks = [] }: Raw = {}) {
  return new Promise<{ status: number; body: string }>((resolve, reject) => {
    const { hostname, port } = new URL(url);
    const request = rawRequest({ hostname, port, method, path, headers }, async (response) => {
      let body = '';
      for await (const chunk of response.setEncoding('utf8')) body += chunk;
      resolve({ status: response.statusCode ?? 0, body });
    });
    request.on('error', reject);
    for (const chunk of chunks) request.write(chunk);
    request.end();
  });
}

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { IDEMPOTENCY_MS } from '../../src/events/limits.ts';
import { type ApiClient, type ApiReply, EMPLOYEES, type Page, refusalOf, succeeded } from '../support/client.ts';
import { registerApplication } from '../support/journey.ts';
import { repeatsInSlowTier } from '../support/repeats.ts';
import { type ServiceInProcess, startService } from '../support/service.ts';
import { pgpVector } from '../support/vectors.ts';

repeatsInSlowTier('postgres');

const EMPLOYEE_SCOPES = ['employees:create', 'employees:view', 'employees:edit'];
const url = 'https://receiver.example/hook';

type Made = { readonly id: string };
const idOf = async (sent: Promise<ApiReply<unknown>>): Promise<string> => (await succeeded<Made>(sent)).id;

/** Every request that creates a resource or a secret: its path and two valid bodies. */
type Creating = { readonly path: string; readonly body: unknown; readonly other: unknown; readonly list: string };

const CREATING: Readonly<Record<string, (admin: ApiClient) => Promise<Creating>>> = {
  'a user': async () => ({ path: 'users', list: 'users', body: { userName: 'ada' }, other: { userName: 'bob' } }),
  'a product': async () => ({ path: 'products', list: 'products', body: { name: 'a' }, other: { name: 'b' } }),
  'an application': async (admin) => {
    const userId = await idOf(admin.post('users', { userName: 'robot' }));
    const body = { name: 'a', userId };
    return { path: 'applications', list: 'applications', body, other: { ...body, name: 'b' } };
  },
  'an endpoint': async () => ({
    path: 'endpoints',
    list: 'endpoints',
    body: { name: 'a', url },
    other: { name: 'b', url },
  }),
  'a key': async () => {
    const publicKey = pgpVector('curve25519');
    return { path: 'keys', list: 'keys', body: { name: 'a', publicKey }, other: { name: 'b', publicKey } };
  },
  'an event type': async () => ({
    path: 'event-types',
    list: 'event-types',
    body: { name: 'order.placed' },
    other: { name: 'order.paid' },
  }),
  'a webhook': async (admin) => {
    const endpointId = await idOf(admin.post('endpoints', { name: 'a', url }));
    const body = { name: 'a', endpointId, eventTypes: ['webhook.*'] };
    return { path: 'webhooks', list: 'webhooks', body, other: { ...body, name: 'b' } };
  },
  'an employee': async () => {
    const body = { userName: 'ada', firstName: 'Ada', lastName: 'L', email: 'a@b.example', division: 'sales' };
    return { path: EMPLOYEES, list: EMPLOYEES, body, other: { ...body, lastName: 'King' } };
  },
  'a new client secret': async (admin) => {
    const userId = await idOf(admin.post('users', { userName: 'robot' }));
    const id = await idOf(admin.post('applications', { name: 'a', userId }));
    const body = { overlapSeconds: 60 };
    return { path: `applications/${id}/regenerate-secret`, list: 'audit', body, other: { overlapSeconds: 61 } };
  },
  'a new endpoint secret': async (admin) => {
    const id = await idOf(admin.post('endpoints', { name: 'a', url }));
    return { path: `endpoints/${id}/rotate-secret`, list: 'audit', body: {}, other: { activateAfterSeconds: 60 } };
  },
  'a new API key': async (admin) => {
    const id = await idOf(admin.post('endpoints', { name: 'a', url }));
    return { path: `endpoints/${id}/rotate-api-key`, list: 'audit', body: {}, other: { activateAfterSeconds: 60 } };
  },
};

async function startWithEmployees(
  t: Parameters<typeof startService>[0],
): Promise<ServiceInProcess & { api: ApiClient }> {
  const service = await startService(t);
  const { api } = await registerApplication(service.admin, EMPLOYEE_SCOPES);
  return { ...service, api };
}

const countOf = async (client: ApiClient, list: string): Promise<number> =>
  (await succeeded<Page<unknown>>(client.get(`${list}?limit=200`))).items.length;

const shown = ({ status, headers, body }: ApiReply<unknown>): unknown => ({
  status,
  location: headers.get('location'),
  type: headers.get('content-type'),
  etag: headers.get('etag'),
  body: JSON.stringify(body),
});

describe('an Idempotency-Key', () => {
  for (const [what, prepare] of Object.entries(CREATING)) {
    it(`gives the first reply again where ${what} was made, and refuses another request`, async (t) => {
      const { admin, api } = await startWithEmployees(t);
      const { path, body, other, list } = await prepare(admin);
      const client = path === EMPLOYEES ? api : admin;
      const key = { 'idempotency-key': `make-${path.length}` };
      const first = await client.post(path, body, key);
      assert.ok([200, 201].includes(first.status), JSON.stringify(first.body));
      const count = await countOf(client, list);
      assert.deepEqual(shown(await client.post(path, body, key)), shown(first));
      const { code } = await refusalOf(client.post(path, other, key), 409);
      assert.equal(code, 'idempotency_conflict');
      assert.equal(await countOf(client, list), count);
      const another = await client.post(path, other, { 'idempotency-key': 'another' });
      // An employee with the same name is still refused because of the name.
      assert.equal(another.status, path === EMPLOYEES ? 409 : first.status);
    });
  }

  it('returns the first link again for an invitation, which stays valid', async (t) => {
    const { admin } = await startService(t);
    const id = await idOf(admin.post('users', { userName: 'ada', role: 'viewer' }));
    const key = { 'idempotency-key': 'k' };
    const first = await admin.post<{ url: string }>(`users/${id}/invite`, {}, key);
    assert.deepEqual(shown(await admin.post(`users/${id}/invite`, {}, key)), shown(first));
    assert.equal((await fetch(first.body.url)).status, 200);
  });

  it('lets one of many concurrent requests create, and returns its reply to all', async (t) => {
    const { admin } = await startService(t);
    const body = { userName: 'ada' };
    const replies = await Promise.all(
      Array.from({ length: 8 }, () => admin.post('users', body, { 'idempotency-key': 'k' })),
    );
    assert.equal(new Set(replies.map((reply) => JSON.stringify(shown(reply)))).size, 1);
    assert.equal(replies[0]?.status, 201);
    assert.equal((await refusalOf(admin.post('users', body), 409)).code, 'conflict');
  });

  it('is not used by a refused request', async (t) => {
    const { admin } = await startService(t);
    const key = { 'idempotency-key': 'k' };
    await refusalOf(admin.post('users', { userName: '' }, key), 400);
    await succeeded(admin.post('users', { userName: 'taken' }));
    await refusalOf(admin.post('users', { userName: 'taken' }, key), 409);
    await succeeded(admin.post('users', { userName: 'ada' }, key));
    assert.equal((await refusalOf(admin.post('users', { userName: 'taken' }, key), 409)).code, 'idempotency_conflict');
  });

  it('is separate per application, and another path is another request', async (t) => {
    const { admin, api } = await startWithEmployees(t);
    const { api: other } = await registerApplication(admin, ['users:manage']);
    const key = { 'idempotency-key': 'k' };
    const mine = await succeeded<Made>(admin.post('products', { name: 'a' }, key));
    assert.ok(mine.id);
    assert.equal((await refusalOf(admin.post('users', { name: 'a' }, key), 409)).code, 'idempotency_conflict');
    await succeeded(other.post('users', { userName: 'ada' }, key));
    const employee = { userName: 'ada', firstName: 'Ada', lastName: 'L', email: 'a@b.example', division: 'sales' };
    await succeeded(api.post(EMPLOYEES, employee, key));
  });

  it('accepts the members of the body in any order', async (t) => {
    const { admin } = await startService(t);
    const key = { 'idempotency-key': 'k' };
    const first = await admin.post('users', '{"userName":"ada","displayName":"Ada"}', key);
    const again = await admin.post('users', '{ "displayName": "Ada", "userName": "ada" }', key);
    assert.deepEqual(shown(again), shown(first));
  });

  it('is valid for 24 hours, also after the resource was changed or deleted', async (t) => {
    const { admin, advance, signIn } = await startService(t);
    const key = { 'idempotency-key': 'k' };
    const first = await admin.post<Made>('products', { name: 'a' }, key);
    await succeeded(admin.patch(`products/${first.body.id}`, { name: 'b' }));
    assert.deepEqual(shown(await admin.post('products', { name: 'a' }, key)), shown(first));
    assert.equal((await admin.delete(`products/${first.body.id}`)).status, 204);
    advance(IDEMPOTENCY_MS - 60_000);
    const later = await signIn();
    assert.deepEqual(shown(await later.post('products', { name: 'a' }, key)), shown(first));
    advance(60_000);
    const again = await later.post<Made>('products', { name: 'a' }, key);
    assert.equal(again.status, 201);
    assert.notEqual(again.body.id, first.body.id);
  });

  const illFormed: readonly [what: string, key: string][] = [
    ['that is empty', ''],
    ['with a space', 'a b'],
    ['with a character that is not ASCII', '\u00e9'],
    ['of 256 characters', 'x'.repeat(256)],
  ];
  for (const [what, key] of illFormed) {
    it(`${what} is refused, and nothing is made`, async (t) => {
      const { admin } = await startService(t);
      const refusal = await refusalOf(admin.post('users', { userName: 'ada' }, { 'idempotency-key': key }), 400);
      assert.equal(refusal.details?.[0]?.field, 'Idempotency-Key');
      assert.equal((await admin.post('users', { userName: 'ada' })).status, 201);
    });
  }

  it('may have 255 characters', async (t) => {
    const { admin } = await startService(t);
    await succeeded(admin.post('users', { userName: 'ada' }, { 'idempotency-key': '~'.repeat(255) }));
  });
});

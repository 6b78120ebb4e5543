import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseEntityTags } from '../../src/resources/entity-tag.ts';
import { type ApiClient, type ApiReply, EDGE, EMPLOYEES, type Page, refusalOf, succeeded } from '../support/client.ts';
import { registerApplication } from '../support/journey.ts';
import { repeatsInSlowTier } from '../support/repeats.ts';
import { startService } from '../support/service.ts';
import { pgpVector } from '../support/vectors.ts';

repeatsInSlowTier('postgres');

type Paths = Record<string, { get?: { responses: Record<string, { headers?: Record<string, unknown> }> } }>;
type Made = { readonly id?: string; readonly userId?: string };
type Kind = {
  readonly collection: string;
  readonly body: object;
  readonly patch: object;
  /** Other changes, as by another client. */
  readonly other: object;
  readonly third: object;
  readonly isDeletable?: false;
};

const url = 'https://receiver.example/hook';
const idOf = async (sent: Promise<ApiReply<unknown>>): Promise<string> => (await succeeded<{ id: string }>(sent)).id;

const KINDS: Readonly<Record<string, (admin: ApiClient) => Promise<Kind>>> = {
  'a user': async () => ({
    collection: 'users',
    body: { userName: 'ada', role: 'viewer' },
    patch: { displayName: 'Ada' },
    other: { displayName: 'Countess' },
    third: { active: false },
  }),
  'a product': async () => ({
    collection: 'products',
    body: { name: 'a' },
    patch: { name: 'b' },
    other: { name: 'c' },
    third: { name: 'd' },
  }),
  'an application': async (admin) => ({
    collection: 'applications',
    body: { name: 'a', userId: await idOf(admin.post('users', { userName: 'robot' })) },
    patch: { name: 'b' },
    other: { active: false },
    third: { name: 'c' },
  }),
  'an endpoint': async () => ({
    collection: 'endpoints',
    body: { name: 'a', url },
    patch: { name: 'b' },
    other: { contentEncoding: 'gzip' },
    third: { name: 'c' },
  }),
  'a key': async () => ({
    collection: 'keys',
    body: { name: 'a', publicKey: pgpVector('curve25519') },
    patch: { name: 'b' },
    other: { name: 'c' },
    third: { name: 'd' },
  }),
  'an event type': async () => ({
    collection: 'event-types',
    body: { name: 'order.placed' },
    patch: { description: 'b' },
    other: { description: 'c' },
    third: { description: 'd' },
  }),
  'a webhook': async (admin) => {
    const endpointId = await idOf(admin.post('endpoints', { name: 'a', url }));
    return {
      collection: 'webhooks',
      body: { name: 'a', endpointId, eventTypes: ['webhook.*'] },
      patch: { name: 'b' },
      other: { ordered: true },
      third: { name: 'c' },
    };
  },
  'a customer': async () => ({
    collection: 'customers',
    body: { name: 'a' },
    patch: { name: 'b' },
    other: { metadata: { plan: 'large' } },
    third: { name: 'c' },
  }),
  'an employee': async () => ({
    collection: EMPLOYEES,
    body: { userName: 'ada', firstName: 'Ada', lastName: 'L', email: 'a@b.example', division: 'sales' },
    patch: { lastName: 'King' },
    other: { lastName: 'Byron' },
    third: { lastName: 'Ada' },
    isDeletable: false,
  }),
};

/** Bodies of the actions that require one. */
const BODIES: Readonly<Record<string, object>> = {
  'rotate-authentication': { authentication: { method: 'bearer', token: 'opaque' } },
  'portal-links': { role: 'viewer' },
  'portal-tokens': { role: 'viewer' },
};

/** The actions of a resource that the OpenAPI document has. */
async function actionsOf(admin: ApiClient, collection: string): Promise<string[]> {
  const { paths } = await succeeded<{ paths: Record<string, object> }>(admin.get('/services/api/openapi.json'));
  const prefix = `${EDGE}/${collection}/{id}/`;
  return Object.keys(paths)
    .filter((path) => path.startsWith(prefix) && 'post' in (paths[path] ?? {}))
    .map((path) => path.slice(prefix.length));
}

const tagOf = ({ headers }: ApiReply<unknown>): string => headers.get('etag') ?? '';
const when = (tag: string) => ({ 'if-match': tag });

async function refusedAsChanged(sent: Promise<ApiReply<unknown>>, present: string): Promise<void> {
  const reply = await sent;
  assert.equal(reply.status, 412, JSON.stringify(reply.body));
  assert.equal((await refusalOf(Promise.resolve(reply), 412)).code, 'precondition_failed');
  assert.equal(tagOf(reply), present);
}

describe('conditional requests', () => {
  for (const [name, prepare] of Object.entries(KINDS)) {
    it(`keep a change of ${name} from being lost, and tell a reader that its copy is up to date`, async (t) => {
      const { admin } = await startService(t);
      const { api } = await registerApplication(admin, ['employees:create', 'employees:view', 'employees:edit']);
      const { collection, body, patch, other, third, isDeletable = true } = await prepare(admin);
      const client = collection === EMPLOYEES ? api : admin;
      const actions = await actionsOf(admin, collection);
      const created = await client.post<Made>(collection, body);
      assert.equal(created.status, 201, JSON.stringify(created.body));
      const path = `${collection}/${created.body.id ?? created.body.userId}`;
      const first = tagOf(created);
      assert.match(first, /^"[!#-~]+"$/);

      const read = await client.get(path);
      assert.equal(tagOf(read), first);
      for (const tags of [first, `W/${first}`, `"x", ${first}`, '*']) {
        const again = await client.get(path, { 'if-none-match': tags });
        assert.deepEqual([again.status, again.body, tagOf(again)], [304, undefined, first], tags);
      }
      assert.equal((await client.get(path, { 'if-none-match': '"x"' })).status, 200);

      const changed = await client.patch(path, other, when(`"x", ${first}`));
      const present = tagOf(changed);
      assert.equal(changed.status, 200);
      assert.notEqual(present, first);
      assert.equal(tagOf(await client.get(path, { 'if-none-match': first })), present);

      const unchanged = JSON.stringify((await client.get(path)).body);
      for (const tag of [first, `W/${present}`, '"x"']) {
        await refusedAsChanged(client.patch(path, patch, when(tag)), present);
        if (isDeletable) await refusedAsChanged(client.delete(path, when(tag)), present);
        else await refusedAsChanged(client.put(path, { ...body, ...patch }, when(tag)), present);
        for (const action of actions) {
          const sent = client.post(`${path}/${action}`, BODIES[action] ?? {}, when(tag));
          await refusedAsChanged(sent, present);
        }
      }
      assert.equal(JSON.stringify((await client.get(path)).body), unchanged);
      for (const tag of ['x', present.slice(1, -1), `${present} "x"`, '*, "x"', '']) {
        const refusal = await refusalOf(client.patch(path, patch, when(tag)), 400);
        assert.equal(refusal.details?.[0]?.field, 'If-Match', tag);
      }

      const two = await Promise.all([patch, third].map((change) => client.patch(path, change, when(present))));
      assert.deepEqual(two.map(({ status }) => status).toSorted(), [200, 412]);
      assert.equal((await client.patch(path, patch, when('*'))).status, 200);
      const last = await client.get(path);
      if (isDeletable) assert.equal((await client.delete(path, when(tagOf(last)))).status, 204);
      else assert.equal((await client.put(path, body, when(tagOf(last)))).status, 200);
    });
  }

  it('keep all of eight concurrent changes if each is retried after a refusal', async (t) => {
    const { admin } = await startService(t);
    const id = await idOf(admin.post('users', { userName: 'ada' }));
    const permissions = Array.from({ length: 8 }, (_, n) => `shop:p${n}`);
    const add = async (permission: string): Promise<void> => {
      for (;;) {
        const read = await admin.get<{ permissions: string[] }>(`users/${id}`);
        const patch = { permissions: [...read.body.permissions, permission] };
        const { status } = await admin.patch(`users/${id}`, patch, when(tagOf(read)));
        if (status === 200) return;
        assert.equal(status, 412);
      }
    };
    await Promise.all(permissions.map(add));
    const { body } = await admin.get<{ permissions: string[] }>(`users/${id}`);
    assert.deepEqual(body.permissions, permissions);
  });

  it('detect a state that the service changed, and protect actions from it', async (t) => {
    const { admin } = await startService(t);
    const endpointId = await idOf(admin.post('endpoints', { name: 'a', url }));
    const id = await idOf(admin.post('webhooks', { name: 'a', endpointId, eventTypes: ['webhook.*'] }));
    const stopped = tagOf(await admin.get(`webhooks/${id}`));
    const started = await admin.post(`webhooks/${id}/start`, {}, when(stopped));
    assert.equal(started.status, 200);
    assert.notEqual(tagOf(started), stopped);
    assert.equal(
      (await refusalOf(admin.post(`webhooks/${id}/stop`, {}, when(stopped)), 412)).code,
      'precondition_failed',
    );
  });

  it('work for single deliveries and audit entries too', async (t) => {
    const { admin } = await startService(t);
    const { items } = await succeeded<Page<{ id: string }>>(admin.get('audit?limit=1'));
    const entry = await admin.get(`audit/${items[0]?.id}`);
    assert.equal((await admin.get(`audit/${items[0]?.id}`, { 'if-none-match': tagOf(entry) })).status, 304);
  });

  it('come with every single resource that the API document has', async (t) => {
    const { url } = await startService(t);
    const { paths } = (await (await fetch(`${url}/services/api/openapi.json`)).json()) as { paths: Paths };
    const single = Object.entries(paths).filter(([path, { get }]) => get !== undefined && path.endsWith('}'));
    assert.ok(single.length > 10);
    const untagged = single.filter(([, { get }]) => get?.responses['200']?.headers?.ETag === undefined);
    assert.deepEqual(
      untagged.map(([path]) => path),
      [],
    );
  });
});

describe('a list of entity tags', () => {
  const table: readonly [text: string, tags: readonly string[] | null][] = [
    ['"a"', ['"a"']],
    ['""', ['""']],
    ['W/"a"', ['W/"a"']],
    ['"a","b" , W/"c,d"', ['"a"', '"b"', 'W/"c,d"']],
    [', "a",, "b",', ['"a"', '"b"']],
    ['', null],
    ['a', null],
    ['"a', null],
    ['"a" "b"', null],
    ['w/"a"', null],
    ['"a b"', null],
    ['*', null],
  ];
  for (const [text, tags] of table) {
    it(`reads ${JSON.stringify(text)} as ${tags === null ? 'none' : tags.join(' and ')}`, () => {
      assert.deepEqual(parseEntityTags(text), tags);
    });
  }
});

/**
 * An embedding program, written only with what the package exports. Each `@ts-expect-error` fails the type check of the tests without its
 * error.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type {
  ApplicationWithSecret,
  Caller,
  Customer,
  CustomerInput,
  EndpointWithSecret,
  EventType,
  Key,
  MergePatch,
  Page,
  Product,
  Program,
  Published,
  Sallyport,
  User,
  Webhook,
  WebhookQuery,
} from 'sallyport';
import { refused } from '../support/refusals.ts';
import { type Service, startService } from '../support/service.ts';
import { pgpVector } from '../support/vectors.ts';

const UNKNOWN = '0193a1f0-0000-7000-8000-0000000000ff';

/** A customer with one of everything that a customer can have. */
type Made = {
  readonly customer: Customer;
  readonly user: User;
  readonly application: ApplicationWithSecret;
  readonly endpoint: EndpointWithSecret;
  readonly key: Key;
  readonly webhook: Webhook;
};

async function makeCustomer(program: Program, name: string, scopes: readonly string[]): Promise<Made> {
  const input: CustomerInput = { name, externalId: `crm-${name}`, metadata: { plan: 'small', region: 'eu' } };
  const customer = await program.customers.create(input);
  const { id: customerId } = customer;
  const user = await program.users.create({ customerId, userName: `${name}-bot`, permissions: scopes });
  const application = await program.applications.create({ customerId, name: 'API', userId: user.id, scopes });
  const endpoint = await program.endpoints.create({ customerId, name: 'Shop', url: 'https://shop.example/hook' });
  const key = await program.keys.create({ customerId, name: 'Shop', publicKey: pgpVector('curve25519') });
  const webhook = await program.webhooks.create({
    customerId,
    name: 'Orders',
    endpointId: endpoint.id,
    eventTypes: ['order.*'],
    retry: { maxAttempts: 3 },
  });
  return { customer, user, application, endpoint, key, webhook };
}

async function makeCatalogue(program: Program): Promise<{ readonly product: Product; readonly eventType: EventType }> {
  const rules = [{ methods: ['POST'], path: '/orders', scope: 'orders:create' }];
  const product = await program.products.create({ name: 'Orders', scopes: [{ name: 'orders:create' }], rules });
  return { product, eventType: await program.eventTypes.create({ name: 'order.created' }) };
}

/** The caller of the first token of an application. */
async function callerOf(
  { url, sallyport }: Pick<Service, 'url'> & { readonly sallyport: Sallyport },
  { clientId, clientSecret }: ApplicationWithSecret,
  scope: string,
): Promise<Caller> {
  const body = new URLSearchParams({ grant_type: 'client_credentials' });
  const authorization = `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString('base64')}`;
  const reply = await fetch(`${url}/services/api/oauth2/token`, { method: 'POST', headers: { authorization }, body });
  const { access_token: token } = (await reply.json()) as { readonly access_token: string };
  return sallyport.authenticate(`Bearer ${token}`, scope);
}

describe('a program', () => {
  it('creates, reads, changes and deletes what the API has, and gets the same records', async (t) => {
    const { sallyport, admin } = await startService(t);
    const catalogue = await makeCatalogue(sallyport);
    const { customer, user, application, endpoint, key, webhook } = await makeCustomer(sallyport, 'acme', []);
    const { clientSecret, ...shown } = application;
    const { secret, ...shownEndpoint } = endpoint;
    assert.match(`${clientSecret} ${secret}`, /^sps_\S+ \S{20,}$/);
    const resources = { customers: customer, users: user, applications: shown, endpoints: shownEndpoint, keys: key };
    const named = { ...resources, webhooks: webhook, products: catalogue.product, eventTypes: catalogue.eventType };
    for (const [name, record] of Object.entries(named) as [keyof typeof named, { readonly id: string }][]) {
      const path = name === 'eventTypes' ? 'event-types' : name;
      assert.deepEqual((await admin.get(`${path}/${record.id}`)).body, record);
      assert.deepEqual(await sallyport[name].get(record.id), record);
      const { items } = await sallyport[name].list({ limit: 200 });
      assert.ok(items.some(({ id }) => id === record.id));
      await refused(() => sallyport[name].get(UNKNOWN), { code: 'not_found' });
    }
    assert.deepEqual(await sallyport.customers.get('externalId:crm-acme'), customer);
    const patch: MergePatch<CustomerInput> = { metadata: { plan: 'large', region: null }, externalId: null };
    const changed = await sallyport.customers.update(customer.id, patch);
    assert.deepEqual([changed.metadata, changed.externalId, changed.name], [{ plan: 'large' }, null, 'acme']);
    await refused(() => sallyport.endpoints.delete(endpoint.id), { code: 'in_use' });
    for (const [name, { id }] of Object.entries({ webhooks: webhook, endpoints: endpoint, keys: key }))
      await sallyport[name as 'webhooks'].delete(id);
    await refused(() => sallyport.webhooks.get(webhook.id), { code: 'not_found' });
  });

  it('makes links and secrets, reads usage, publishes, reads, replays and erases', async (t) => {
    const service = await startService(t);
    const { sallyport, url } = service;
    await makeCatalogue(sallyport);
    const { customer, user, application, endpoint } = await makeCustomer(sallyport, 'acme', []);
    const link = await sallyport.customers.createPortalLink(customer.id, { role: 'administrator' });
    assert.equal((await fetch(link.url, { redirect: 'manual' })).status < 400, true);
    const { token } = await sallyport.customers.createPortalToken(customer.id, {
      role: 'viewer',
      expiresInSeconds: 60,
    });
    const program = sallyport.as(await sallyport.authenticate(`Bearer ${token}`, 'endpoints:view'));
    assert.deepEqual(
      (await program.endpoints.list()).items.map((one) => one.id),
      [endpoint.id],
    );
    const { id } = await sallyport.users.create({ userName: 'ada', role: 'viewer' });
    assert.ok((await sallyport.users.invite(id)).url.startsWith(`${url}/invitations/spi_`));
    const regenerated = await sallyport.applications.regenerateSecret(application.id, { overlapSeconds: 60 });
    assert.notEqual(regenerated.clientSecret, application.clientSecret);
    assert.equal((await sallyport.applications.revokeTokens(application.id)).userId, user.id);
    const rotated = await sallyport.endpoints.rotateSecret(endpoint.id);
    assert.notEqual(rotated.secret, endpoint.secret);
    const { apiKey } = await sallyport.endpoints.rotateApiKey(endpoint.id);
    assert.notEqual(apiKey, endpoint.apiKey);
    assert.equal((await sallyport.endpoints.verify(endpoint.id)).lastVerification?.verified, false);

    const pulled = { name: 'Pull', mode: 'pull', eventTypes: ['order.created'] } as const;
    const { id: webhookId, state } = await sallyport.webhooks.create(pulled);
    assert.equal(state, 'started');
    const events = [1, 2].map((n) => ({ type: 'order.created', data: { n, at: new Date(0) }, subject: 'jane' }));
    const published: Published = await sallyport.publish({ events });
    assert.equal(published.accepted, 2);
    const { bytes } = await sallyport.webhooks.readRecords(webhookId, { limit: 1 });
    const body = JSON.parse(Buffer.from(bytes).toString());
    assert.deepEqual(body.records[0].value.orderCreated, { n: 1, at: '1970-01-01T00:00:00.000Z' });
    const preview = await sallyport.webhooks.previewFilter(webhookId, { filter: { 'data.n': 2 } });
    assert.deepEqual([preview.judged, preview.passed], [2, 1]);
    const acknowledged = await sallyport.webhooks.acknowledge(webhookId, { throughOffset: 0 });
    assert.deepEqual(acknowledged, { acknowledged: 1, acknowledgedOffset: 0, newestOffset: 1 });
    const [delivery] = (await sallyport.deliveries.list({ webhookId, state: 'delivered' })).items;
    assert.deepEqual({ ...delivery, attempts: [] }, await sallyport.deliveries.get(delivery?.id ?? ''));
    await refused(() => sallyport.deliveries.replay(delivery?.id ?? ''), { code: 'invalid_state' });
    const orders = (await sallyport.webhooks.list({ customerId: customer.id })).items[0];
    assert.deepEqual(await sallyport.webhooks.replay(orders?.id ?? ''), { replayed: 0 });
    assert.equal((await sallyport.webhooks.stop(webhookId)).state, 'stopped');
    assert.equal((await sallyport.webhooks.start(webhookId)).state, 'started');
    assert.equal(
      (await sallyport.customers.usage('externalId:crm-acme', { since: '2026-11-01' })).customerId,
      customer.id,
    );
    const erasure = await sallyport.erasures.create({ subject: 'jane' });
    assert.equal((await sallyport.erasures.get(erasure.id)).subject, 'jane');
  });

  it('does not compile with a wrong field or value, and both are refused at run time', async (t) => {
    const { sallyport } = await startService(t);
    await makeCatalogue(sallyport);
    const { endpoint, user, customer, webhook } = await makeCustomer(sallyport, 'acme', []);
    const { id } = endpoint;
    const orders = { name: 'orders', endpointId: id, eventTypes: ['order.*'] } as const;
    await sallyport.endpoints.update(id, { contentEncoding: 'gzip', oauth: null });
    const calls: readonly [field: string, call: () => Promise<unknown>][] = [
      // @ts-expect-error a required field is missing
      ['url', () => sallyport.endpoints.create({ name: 'shop' })],
      // @ts-expect-error an unknown field
      ['color', () => sallyport.webhooks.create({ ...orders, color: 'red' })],
      // @ts-expect-error a field of another type
      ['ordered', () => sallyport.webhooks.create({ ...orders, ordered: 'yes' })],
      // @ts-expect-error a field of a nested object
      ['retry.maxattempts', () => sallyport.webhooks.create({ ...orders, retry: { maxattempts: 3 } })],
      // @ts-expect-error a required field cannot be removed
      ['url', () => sallyport.endpoints.update(id, { url: null })],
      // @ts-expect-error only the service sets this field
      ['verified', () => sallyport.endpoints.update(id, { verified: true })],
      // @ts-expect-error no such role
      ['role', () => sallyport.users.update(user.id, { role: 'owner' })],
      // @ts-expect-error a number of seconds
      ['activateAfterSeconds', () => sallyport.endpoints.rotateSecret(id, { activateAfterSeconds: '60' })],
      // @ts-expect-error no subject
      ['subject', () => sallyport.erasures.create({})],
      // @ts-expect-error an event has a type
      ['type', () => sallyport.publish({ data: {} })],
      // @ts-expect-error an id is text
      ['id', () => sallyport.webhooks.start(7)],
      // @ts-expect-error no filter of this list
      ['colour', () => sallyport.webhooks.list({ colour: 'red' })],
      // @ts-expect-error no such state
      ['state', () => sallyport.webhooks.list({ state: 'asleep' })],
      // @ts-expect-error no such order
      ['sort', () => sallyport.webhooks.list({ sort: 'url' })],
      // @ts-expect-error a list takes no text
      ['query', () => sallyport.webhooks.list('orders')],
      // @ts-expect-error no such field of a period
      ['from', () => sallyport.customers.usage(customer.id, { from: '2026-11-01' })],
      // @ts-expect-error no such state of a delivery
      ['state', () => sallyport.deliveries.list({ state: 'lost' })],
      ['limit', () => sallyport.webhooks.list({ limit: 0 })],
      ['cursor', () => sallyport.webhooks.list({ cursor: 'next' })],
      ['cursor', () => sallyport.deliveries.list({ cursor: 'next' })],
      ['since', () => sallyport.deliveries.list({ since: 'yesterday' })],
      ['until', () => sallyport.webhooks.replay(webhook.id, { until: 'now' })],
      ['name', () => sallyport.keys.create({ name: ' ', publicKey: 'x' })],
    ];
    for (const [field, call] of calls) await refused(call, { code: 'validation_failed', fields: [field] });
  });

  it('creates once for each key, and gets the first result again, secrets included', async (t) => {
    const { sallyport } = await startService(t);
    const made = await makeCustomer(sallyport, 'acme', ['events:publish']);
    const input = { customerId: made.customer.id, name: 'Second', url: 'https://shop.example/second' };
    const options = { idempotencyKey: 'order-4711' };
    const [first, ...again] = await Promise.all([1, 2, 3].map(() => sallyport.endpoints.create(input, options)));
    assert.ok(first?.secret);
    for (const one of again) assert.deepEqual(one, first);
    const { userId } = made.application;
    const application = { customerId: made.customer.id, name: 'Second', userId, scopes: [] };
    const issued = await sallyport.applications.create(application, { idempotencyKey: 'order-4712' });
    assert.deepEqual(await sallyport.applications.create(application, { idempotencyKey: 'order-4712' }), issued);
    assert.equal((await sallyport.endpoints.list({ customerId: made.customer.id })).items.length, 2);
    const customer = await sallyport.customers.create({ name: 'Once' }, { idempotencyKey: 'once' });
    assert.deepEqual(await sallyport.customers.create({ name: 'Once' }, { idempotencyKey: 'once' }), customer);
    const code = 'idempotency_conflict';
    await refused(() => sallyport.endpoints.create({ ...input, name: 'Third' }, options), { code });
    await refused(() => sallyport.customers.create({ name: 'Once' }, options), { code });
    // A refused call does not use its key.
    const key = { idempotencyKey: 'wrong' };
    await refused(() => sallyport.customers.create({ name: '' }, key), { code: 'validation_failed' });
    const circular: Record<string, unknown> = { name: 'Circular' };
    circular.metadata = circular;
    await refused(() => sallyport.customers.create(circular as never, key), { code: 'validation_failed' });
    await sallyport.customers.create({ name: 'Right' }, key);
    const options400 = [
      { idempotencyKey: '' },
      { idempotencyKey: 'a b' },
      { idempotencyKey: 1 },
      { ifMatch: customer },
    ];
    for (const wrong of options400)
      await refused(() => sallyport.customers.create({ name: 'A' }, wrong as never), { code: 'validation_failed' });
  });

  it('changes and deletes a record only as it was read, if asked so', async (t) => {
    const { sallyport } = await startService(t);
    const made = await makeCustomer(sallyport, 'acme', ['events:publish']);
    const code = 'precondition_failed';
    const { customers, users, applications, endpoints, keys, webhooks } = sallyport;
    const renamed = { name: 'Renamed' };
    const [customer, user, application, endpoint, key, webhook] = [
      await customers.update(made.customer.id, renamed, { ifMatch: made.customer }),
      await users.update(made.user.id, { displayName: 'Renamed' }, { ifMatch: made.user }),
      await applications.update(made.application.id, renamed, { ifMatch: made.application }),
      await endpoints.update(made.endpoint.id, renamed, { ifMatch: made.endpoint }),
      await keys.update(made.key.id, renamed, { ifMatch: made.key }),
      await webhooks.update(made.webhook.id, renamed, { ifMatch: await webhooks.get(made.webhook.id) }),
    ];
    await refused(() => customers.update(customer.id, { name: 'A' }, { ifMatch: made.customer }), { code });
    await refused(() => users.update(user.id, { displayName: 'A' }, { ifMatch: made.user }), { code });
    await refused(() => applications.delete(application.id, { ifMatch: made.application }), { code });
    await refused(() => endpoints.update(endpoint.id, { name: 'A' }, { ifMatch: made.endpoint }), { code });
    await refused(() => keys.delete(key.id, { ifMatch: made.key }), { code });
    await refused(() => webhooks.delete(webhook.id, { ifMatch: made.webhook }), { code });
    const [read] = (await webhooks.list({ customerId: customer.id })).items;
    assert.deepEqual([read?.name, (await keys.get(key.id)).name], ['Renamed', 'Renamed']);
    await webhooks.delete(webhook.id, { ifMatch: read });
    await keys.delete(key.id, { ifMatch: key });
    await refused(() => users.update(user.id, {}, { ifMatch: 'W/"1"' } as never), { code: 'validation_failed' });
  });

  it('acts once for each key: gets the same secret, link or token again', async (t) => {
    const { sallyport } = await startService(t);
    const { customer, user, application, endpoint } = await makeCustomer(sallyport, 'acme', []);
    const { customers, users, applications, endpoints } = sallyport;
    const authentication = { method: 'bearer', token: 'a-token-of-the-receiver' } as const;
    await endpoints.update(endpoint.id, { authentication });
    await users.update(user.id, { role: 'viewer' });
    const actions: readonly ((options: { readonly idempotencyKey: string }) => Promise<unknown>)[] = [
      (options) => customers.createPortalLink(customer.id, { role: 'viewer' }, options),
      (options) => customers.createPortalToken(customer.id, { role: 'viewer' }, options),
      (options) => users.invite(user.id, options),
      (options) => applications.regenerateSecret(application.id, {}, options),
      (options) => endpoints.rotateSecret(endpoint.id, {}, options),
      (options) => endpoints.rotateApiKey(endpoint.id, {}, options),
      (options) => endpoints.rotateAuthentication(endpoint.id, { authentication }, options),
    ];
    for (const [at, act] of actions.entries()) {
      const first = await act({ idempotencyKey: `key-${at}` });
      assert.deepEqual(await act({ idempotencyKey: `key-${at}` }), first);
      assert.notDeepEqual(await act({ idempotencyKey: `other-${at}` }), first);
      if (at > 0) await refused(() => act({ idempotencyKey: 'key-0' }), { code: 'idempotency_conflict' });
    }
  });

  it('acts on a record only as it was read, if asked so', async (t) => {
    const { sallyport } = await startService(t);
    await makeCatalogue(sallyport);
    const { customer, user, application, endpoint, webhook } = await makeCustomer(sallyport, 'acme', []);
    const { customers, users, applications, endpoints, webhooks, deliveries } = sallyport;
    const viewer = await users.update(user.id, { role: 'viewer' });
    const pull = await webhooks.create({ name: 'Pull', mode: 'pull', eventTypes: ['order.created'] });
    await sallyport.publish({ type: 'order.created', data: {} });
    const [{ id: deliveryId } = { id: '' }] = (await deliveries.list({ webhookId: pull.id })).items;
    const delivery = await deliveries.get(deliveryId);
    const based = <Item extends { readonly updatedAt: string }>(item: Item) => ({ ifMatch: item });
    const stale = <Item extends { readonly updatedAt: string }>(item: Item) =>
      based({ ...item, updatedAt: '2020-01-01T00:00:00.000Z' });
    const calls = (on: typeof based): readonly (() => Promise<unknown>)[] => [
      () => customers.createPortalLink(customer.id, { role: 'viewer' }, on(customer)),
      () => customers.createPortalToken(customer.id, { role: 'viewer' }, on(customer)),
      () => users.invite(user.id, on(viewer)),
      () => applications.revokeTokens(application.id, on(application)),
      () => endpoints.rotateSecret(endpoint.id, {}, on(endpoint)),
      () => webhooks.previewFilter(pull.id, { filter: null }, on(pull)),
      () => webhooks.acknowledge(pull.id, { throughOffset: 0 }, on(pull)),
      () => webhooks.replay(webhook.id, {}, on(webhook)),
      () => webhooks.stop(webhook.id, on(webhook)),
      () => webhooks.start(webhook.id, on(webhook)),
    ];
    const refusals = (on: typeof based): readonly (() => Promise<unknown>)[] => [
      () => webhooks.previewSignature(webhook.id, {}, on(webhook)),
      () => deliveries.replay(deliveryId, on(delivery)),
    ];
    const others = [
      () => applications.regenerateSecret(application.id, {}, stale(application)),
      () => endpoints.verify(endpoint.id, stale(endpoint)),
      () => endpoints.rotateApiKey(endpoint.id, {}, stale(endpoint)),
    ];
    for (const call of [...calls(stale), ...refusals(stale), ...others])
      await refused(call, { code: 'precondition_failed' });
    for (const call of refusals(based)) await refused(call, { code: 'invalid_state' });
    for (const call of calls(based)) await call();
    await refused(() => webhooks.stop(webhook.id, { idempotencyKey: 'a' } as never), { code: 'validation_failed' });
  });

  it('reads lists by page, filter and order', async (t) => {
    const { sallyport } = await startService(t);
    await makeCatalogue(sallyport);
    const { webhook } = await makeCustomer(sallyport, 'acme', []);
    const pull = { mode: 'pull', eventTypes: ['order.*'] } as const;
    for (const name of ['b', 'c', 'a']) await sallyport.webhooks.create({ ...pull, name });
    const names = async (query: WebhookQuery): Promise<string> => {
      const found: string[] = [];
      let page: Page<Webhook> = { items: [], nextCursor: null };
      do {
        page = await sallyport.webhooks.list({ ...query, limit: 2, cursor: page.nextCursor });
        found.push(...page.items.map(({ name }) => name));
      } while (page.nextCursor !== null);
      return found.join(' ');
    };
    assert.equal(await names({}), 'Orders b c a');
    assert.equal(await names({ sort: 'name' }), 'a b c Orders');
    assert.equal(await names({ sort: '-createdAt', mode: 'pull' }), 'a c b');
    assert.equal(await names({ customerId: null }), 'b c a');
    assert.equal(await names({ customerId: webhook.customerId }), 'Orders');
    assert.equal(await names({ state: 'running' }), '');
    const active = await sallyport.customers.list({ active: false });
    assert.deepEqual(active, { items: [], nextCursor: null });
  });
});

describe('sallyport.as(caller)', () => {
  it('grants no right that the caller lacks, and records changes under its name', async (t) => {
    const { sallyport, url, admin } = await startService(t);
    const scopes = ['users:manage', 'employees:view'];
    const user = await sallyport.users.create({ userName: 'shop', permissions: scopes });
    const application = await sallyport.applications.create({ name: 'Shop', userId: user.id, scopes });
    const program = sallyport.as(await callerOf({ url, sallyport }, application, 'users:manage'));
    const made = await program.users.create({ userName: 'ada', permissions: ['employees:view'] });
    await refused(() => program.users.update(made.id, { permissions: ['employees:edit'] }), {
      code: 'insufficient_permission',
    });
    const { body } = await admin.get<Page<{ actor: string }>>(`audit?target=user:${made.id}`);
    assert.deepEqual(
      body.items.map(({ actor }) => actor),
      [`application:${application.id}`],
    );
    const byProgram = await admin.get<Page<{ actor: string }>>(`audit?target=user:${user.id}`);
    assert.deepEqual(byProgram.body.items[0]?.actor, 'embedding-program');
  });

  it('reaches only the resources of its customer', async (t) => {
    const service = await startService(t);
    const { sallyport } = service;
    await makeCatalogue(sallyport);
    const acme = await makeCustomer(sallyport, 'acme', ['webhooks:manage']);
    const other = await makeCustomer(sallyport, 'other', ['webhooks:manage']);
    const program = sallyport.as(await callerOf(service, acme.application, 'webhooks:manage'));
    for (const name of ['users', 'applications', 'endpoints', 'keys', 'webhooks'] as const) {
      const { items } = await program[name].list();
      assert.deepEqual(new Set(items.map(({ customerId }) => customerId)), new Set([acme.customer.id]), name);
    }
    await refused(() => program.webhooks.stop(other.webhook.id), { code: 'not_found' });
    await refused(
      () => program.endpoints.create({ customerId: other.customer.id, name: 'a', url: 'https://a.example' }),
      {
        code: 'validation_failed',
      },
    );
    assert.equal((await program.customers.usage(acme.customer.id)).customerId, acme.customer.id);
    await refused(() => program.customers.usage(other.customer.id), { code: 'not_found' });
    const operatorOnly: readonly (() => Promise<unknown>)[] = [
      () => program.customers.list(),
      () => program.customers.get(acme.customer.id),
      () => program.customers.update(acme.customer.id, { limits: { webhooks: 100 } }),
      () => program.customers.createPortalLink(acme.customer.id, { role: 'viewer' }),
      () => program.customers.createPortalToken(acme.customer.id, { role: 'viewer' }),
      () => program.products.list(),
      () => program.eventTypes.create({ name: 'order.paid' }),
      () => program.erasures.create({ subject: 'jane' }),
      () => program.erasures.get(UNKNOWN),
    ];
    for (const call of operatorOnly) await refused(call, { code: 'insufficient_permission' });
    await refused(() => sallyport.authenticate(undefined, 'webhooks:manage'), { code: 'unauthorized' });
    await refused(() => sallyport.authenticate('Bearer spt_x', 'webhooks:manage'), { code: 'invalid_token' });
    await assert.rejects(sallyport.authenticate('Bearer spt_x', 'webhooks'), TypeError);
  });
});

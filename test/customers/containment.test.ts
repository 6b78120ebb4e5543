/**
 * Nobody gives customers more than it holds (contract §8.4): offered scopes, administrators of customers, and event types that are not
 * public.
 */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { CUSTOMER_SCOPES } from '../../src/access/built-in.ts';
import { type ApiClient, createClient, EMPLOYEES, refusalOf, succeeded, tokenFor } from '../support/client.ts';
import { created, makeCustomer, type TestCustomer } from '../support/customers.ts';
import { makeEventType, unique } from '../support/journey.ts';
import { changeBeside, type ServiceInProcess, startService } from '../support/service.ts';

type Fields = Readonly<Record<string, unknown>>;
const OFFERED = [{ name: 'shop:offered', offered: true }];

type World = { readonly service: ServiceInProcess; readonly admin: ApiClient; readonly customer: TestCustomer };

async function openWorld(t: TestContext): Promise<World> {
  const service = await startService(t);
  return { service, admin: service.admin, customer: await makeCustomer(service) };
}

/** A client of the operator with these scopes and permissions. Role: administrator, so that nothing else is lacking. */
async function callerWith({ admin, service }: World, scopes: readonly string[], more: Fields = {}): Promise<ApiClient> {
  const permissions = [...new Set([...scopes, 'shop:offered'])];
  const user = await created(admin, 'users', { userName: unique('caller'), permissions, ...more });
  const made = await created<{ clientId: string; clientSecret: string }>(admin, 'applications', {
    name: unique('caller'),
    userId: user.id,
    scopes,
  });
  return createClient(service.url, await tokenFor(service.url, made));
}

async function lacks(sent: ReturnType<ApiClient['post']>, what: RegExp): Promise<void> {
  const { code, description } = await refusalOf(sent, 401);
  assert.equal(code, 'insufficient_permission', description);
  assert.match(description, what);
}

describe('offering a scope to customers', () => {
  it('takes the scope and its permission: in a new product, a changed one, and under another name', async (t) => {
    const world = await openWorld(t);
    const { admin } = world;
    const product = await created(admin, 'products', { name: 'shop', scopes: [{ name: 'shop:offered' }] });
    const manager = await callerWith(world, ['catalogue:manage']);
    await lacks(manager.patch(`products/${product.id}`, { scopes: OFFERED }), /the scope shop:offered/);
    await lacks(manager.post('products', { name: 'new', scopes: [{ name: 'new:all', offered: true }] }), /new:all/);
    const holder = await callerWith(world, ['catalogue:manage', 'shop:offered']);
    const onlyScope = await callerWith(world, ['catalogue:manage', 'shop:offered'], {
      permissions: ['catalogue:manage'],
    });
    await lacks(onlyScope.patch(`products/${product.id}`, { scopes: OFFERED }), /the permission shop:offered/);
    await succeeded(holder.patch(`products/${product.id}`, { scopes: OFFERED }));
    // What is offered already stays so while other things change; a new name is a new offer.
    await succeeded(manager.patch(`products/${product.id}`, { name: 'renamed' }));
    const more = [...OFFERED, { name: 'shop:more', offered: true }];
    await lacks(holder.patch(`products/${product.id}`, { scopes: more }), /the scope shop:more/);
    // The first application could give itself everything.
    await succeeded(admin.patch(`products/${product.id}`, { scopes: more }));
  });

  it('does not let rules open more to a scope that customers can have', async (t) => {
    const world = await openWorld(t);
    const { admin } = world;
    const path = '/services/api/x/shop/v1/orders';
    const rules = [{ methods: ['GET'], path, scope: 'shop:offered' }];
    const product = await created(admin, 'products', { name: 'shop', scopes: OFFERED, rules });
    const manager = await callerWith(world, ['catalogue:manage']);
    // No application holds the scope, yet every administrator of a customer can give it to one.
    const opened = [...rules, { methods: ['DELETE'], path, scope: 'shop:offered' }];
    await lacks(manager.patch(`products/${product.id}`, { rules: opened }), /to open DELETE/);
  });
});

describe('an administrator of a customer', () => {
  it('is made by callers that hold the offered rights: by portal link or token, as a user, and by an invitation', async (t) => {
    const world = await openWorld(t);
    const { admin, customer } = world;
    const links = `customers/${customer.id}/portal-links`;
    const tokens = `customers/${customer.id}/portal-tokens`;
    const manager = await callerWith(world, ['customers:manage']);
    for (const path of [links, tokens]) await succeeded(manager.post(path, { role: 'administrator' }));
    const product = await created(admin, 'products', { name: 'shop', scopes: OFFERED });
    for (const path of [links, tokens])
      await lacks(manager.post(path, { role: 'administrator' }), /the scope shop:offered/);
    await lacks(
      manager.post(`customers/externalId:${customer.externalId}/portal-links`, { role: 'administrator' }),
      /shop/,
    );
    // A viewer changes nothing, and so holds nothing.
    for (const path of [links, tokens]) await succeeded(manager.post(path, { role: 'viewer' }));
    const holder = await callerWith(world, ['customers:manage', 'shop:offered']);
    for (const path of [links, tokens]) await succeeded(holder.post(path, { role: 'administrator' }));
    // The session of a link knows no divisions.
    const ofSales = await callerWith(world, ['customers:manage', 'shop:offered'], {
      constraints: { divisions: ['sales'] },
    });
    for (const path of [links, tokens])
      await lacks(ofSales.post(path, { role: 'administrator' }), /without a limit to divisions/);

    const users = await callerWith(world, CUSTOMER_SCOPES, { role: 'administrator' });
    const user = { customerId: customer.id, userName: 'boss', role: 'administrator' };
    await lacks(users.post('users', user), /the scope shop:offered/);
    await lacks(users.patch(`users/${customer.userId}`, { displayName: 'x' }), /the scope shop:offered/);
    await lacks(users.post(`users/${customer.userId}/invite`), /the scope shop:offered/);
    await lacks(users.delete(`users/${customer.userId}`), /the scope shop:offered/);
    const viewer = await created(admin, 'users', { customerId: customer.id, userName: 'viewer', role: 'viewer' });
    await lacks(users.patch(`users/${viewer.id}`, { role: 'administrator' }), /the scope shop:offered/);
    await succeeded(admin.patch(`products/${product.id}`, { scopes: [{ name: 'shop:offered' }] }));
    await succeeded(manager.post(links, { role: 'administrator' }));
  });

  it('is not made through an embedding program that names its caller', async (t) => {
    const world = await openWorld(t);
    const { admin, customer, service } = world;
    await created(admin, 'products', { name: 'shop', scopes: OFFERED });
    const authority = {
      ...({ through: 'token', customerId: null, userName: 'caller', role: 'viewer', constraints: {} } as const),
      permissions: ['customers:manage'],
      scopes: ['customers:manage'],
    };
    const made = service.services.portalLinks.create(
      customer.id,
      { role: 'administrator', expiresInSeconds: 60, sessionSeconds: 300 },
      { actor: 'embedding-program', authority },
    );
    await assert.rejects(made, { code: 'insufficient_permission', message: /the scope shop:offered/ });
  });
});

describe('an application of a customer', () => {
  it('gets no scope of the employees API, and reaches no employee with one that it had', async (t) => {
    const world = await openWorld(t);
    const { admin, customer, service } = world;
    const body = { customerId: customer.id, name: 'hr', userId: customer.userId, scopes: ['employees:view'] };
    for (const api of [admin, customer.api]) {
      const { details } = await refusalOf(api.post('applications', body), 400);
      assert.deepEqual(
        details?.map(({ field }) => field),
        ['scopes[0]'],
      );
      const path = `applications/${customer.applicationId}`;
      await refusalOf(api.patch(path, { scopes: [...CUSTOMER_SCOPES, 'employees:edit'] }), 400);
    }
    // Registered when that was possible.
    const mine = '["employees:view"]';
    const { userId, applicationId } = customer;
    await changeBeside(t, service, 'UPDATE user_account SET permissions = @mine WHERE id = @userId', { mine, userId });
    await changeBeside(t, service, 'UPDATE application SET scopes = @mine WHERE id = @applicationId', {
      mine,
      applicationId,
    });
    const token = await tokenFor(service.url, customer.credentials);
    await lacks(createClient(service.url, token).get(EMPLOYEES), /only for applications of the operator/);
  });

  it('is told the same of a scope that the operator has and of one that nobody has', async (t) => {
    const { admin, customer } = await openWorld(t);
    await created(admin, 'products', { name: 'shop', scopes: [{ name: 'shop:inside' }] });
    const answerOf = async (scope: string): Promise<unknown> => {
      const body = { name: 'more', userId: customer.userId, scopes: [scope] };
      const path = `applications/${customer.applicationId}`;
      const replies = [
        await customer.api.post('applications', body),
        await customer.api.patch(path, { scopes: [scope] }),
      ];
      const shown = JSON.stringify(replies.map(({ status, body }) => [status, body]));
      return shown.replaceAll(scope, '…').replace(/"(errorId|timeStamp)":"[^"]*"/g, '');
    };
    assert.equal(await answerOf('shop:inside'), await answerOf('shop:nobody'));
  });
});

describe('an event type that is not public', () => {
  it('reaches no webhook of a customer, whatever its patterns, and all of the operator', async (t) => {
    const { admin, customer } = await openWorld(t);
    await makeEventType(admin, 'order.placed');
    const type = await created(admin, 'event-types', { name: 'order.margin', public: false });
    const webhook = (api: ApiClient, eventTypes: string[], more: Fields = {}) =>
      created(api, 'webhooks', { name: unique('webhook'), mode: 'pull', eventTypes, ...more });
    const recordsOf = async (api: ApiClient, { id }: { id: string }): Promise<string[]> => {
      const { records } = await succeeded<{ records: { value: { headers: { eventType: string } } }[] }>(
        api.get(`webhooks/${id}/records?after=-1`),
      );
      return records.map(({ value }) => value.headers.eventType);
    };
    const named = { customerId: customer.id };
    const { details } = await refusalOf(
      admin.post('webhooks', { name: 'named', mode: 'pull', eventTypes: ['order.margin'], ...named }),
      400,
    );
    assert.deepEqual(
      details?.map(({ field }) => field),
      ['eventTypes[0]'],
    );
    const own = await webhook(admin, ['order.*']);
    const theirs = await webhook(customer.api, ['order.*']);
    const events = ['order.margin', 'order.placed'].flatMap((type) => [
      { type, data: {}, ...named },
      { type, data: {}, audience: 'everyone' },
    ]);
    // One by one and in one request: these are other statements.
    for (const event of events) await succeeded(admin.post('events', event));
    await succeeded(admin.post('events', { events: events.filter(({ audience }) => audience === undefined) }));
    await succeeded(customer.api.post('events', { type: 'order.placed', data: {} }));
    assert.deepEqual(
      (await recordsOf(customer.api, theirs)).filter((name) => name !== 'order.placed'),
      [],
    );
    assert.equal((await recordsOf(customer.api, theirs)).length, 4);
    assert.equal((await recordsOf(admin, own)).length, 7);
    const preview = await succeeded<{ items: { eventType: string }[] }>(
      admin.post(`webhooks/${theirs.id}/filter-preview`, { filter: null }),
    );
    assert.ok(preview.items.every(({ eventType }) => eventType === 'order.placed'));
    // Made public, its events come from then on.
    await succeeded(admin.patch(`event-types/${type.id}`, { public: true }));
    await succeeded(admin.post('events', { type: 'order.margin', data: {}, ...named }));
    assert.deepEqual((await recordsOf(customer.api, theirs)).slice(-1), ['order.margin']);
  });

  it('does not become public and encrypted while a customer would get it without a key', async (t) => {
    const { admin, customer } = await openWorld(t);
    const type = await created(admin, 'event-types', { name: 'order.margin', public: false });
    await created(customer.api, 'webhooks', { name: 'all', mode: 'pull', eventTypes: ['order.*'] });
    await succeeded(admin.patch(`event-types/${type.id}`, { encryptionRequired: true }));
    assert.equal((await refusalOf(admin.patch(`event-types/${type.id}`, { public: true }), 409)).code, 'conflict');
  });
});

/** A suspended customer loses its sessions, links, invitations and tokens permanently, and its webhooks stop (contract §8.5). */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { errorOf, refusalOf, succeeded, tokenFor } from '../support/client.ts';
import { created, makeCustomer, ORDERS, sessionOf } from '../support/customers.ts';
import { startInstances } from '../support/instances.ts';
import { deliveriesOf, makeEventType, readWebhook, startJourney } from '../support/journey.ts';
import { request } from '../support/portal-requests.ts';
import { repeats } from '../support/repeats.ts';
import { changeBeside, type ServiceInProcess, startService } from '../support/service.ts';
import { ACTOR, makeEndpoint, makeEventType as makeType, makeWebhook, openTestServices } from '../support/services.ts';
import { onPostgres } from '../support/store.ts';

repeats('postgres');

const VISITOR = { address: '127.0.0.1', userAgent: 'a test' };

/** On PostgreSQL, what one instance ends is asked of the other. */
async function startServices(t: TestContext): Promise<readonly [ServiceInProcess, ServiceInProcess]> {
  if (onPostgres) return startInstances(t);
  const service = await startService(t);
  return [service, service];
}

/** A webhook that was stopped because its endpoint is disabled, of a customer that became inactive afterwards. */
async function stopBoth(t: TestContext) {
  const { service, admin, receiver } = await startJourney(t);
  const customer = await makeCustomer(service);
  await makeEventType(admin, ORDERS);
  const at = receiver.endpoint('/customer');
  const { url, secret, apiKey } = at;
  const endpoint = await created(customer.api, 'endpoints', { name: 'shop', url, secret, apiKey });
  const body = { name: 'one', endpointId: endpoint.id, eventTypes: [ORDERS], heartbeatSeconds: 0 };
  const webhook = await created(customer.api, 'webhooks', body);
  await succeeded(customer.api.post(`webhooks/${webhook.id}/start`));
  await succeeded(admin.patch(`endpoints/${endpoint.id}`, { enabled: false }));
  await service.log.line(({ msg, reason }) => msg === 'webhook stopped' && reason === 'endpoint_disabled');
  await succeeded(admin.patch(`customers/${customer.id}`, { active: false }));
  const state = async (): Promise<unknown[]> => {
    const found = await readWebhook(admin, webhook);
    return [found.state, found.stateReason];
  };
  return { service, admin, customer, at, endpoint, webhook, state };
}

/** 303 leads to the sign-in. */
async function statusWith({ url }: ServiceInProcess, token: string): Promise<number> {
  return (await request(`${url}/`, { token })).status;
}

describe('a customer that is suspended and becomes active again', () => {
  it('gets back no session, unused link, invitation or token', async (t) => {
    const [service, other] = await startServices(t);
    const { admin } = service;
    const customer = await makeCustomer(service);
    const neighbour = await makeCustomer(service);
    const sessions = [
      await sessionOf(service, customer, 'user'),
      await sessionOf(service, customer, 'link'),
      await sessionOf(service, customer, 'link', 'viewer'),
    ];
    const kept = await sessionOf(service, neighbour, 'link');
    const link = await created<{ url: string }>(admin, `customers/${customer.id}/portal-links`, { role: 'viewer' });
    const invitation = await created<{ url: string }>(admin, `users/${customer.userId}/invite`, {});
    const elsewhere = (url: string): string => other.url + new URL(url).pathname;
    assert.equal((await request(elsewhere(invitation.url))).status, 200);
    const second = customer.api.as(await tokenFor(service.url, customer.credentials));
    await succeeded(admin.patch(`customers/${customer.id}`, { active: false }));
    const invited = await refusalOf(admin.post(`users/${customer.userId}/invite`, {}), 409);
    assert.match(invited.description, /is suspended$/);
    assert.equal((await request(elsewhere(invitation.url))).status, 404);
    await succeeded(admin.patch(`customers/${customer.id}`, { active: true }));
    for (const token of sessions) assert.equal(await statusWith(other, token), 303);
    assert.equal((await request(elsewhere(link.url))).status, 404);
    assert.equal((await request(elsewhere(invitation.url))).status, 404);
    for (const api of [customer.api, second]) assert.equal(errorOf(await api.get('endpoints')).code, 'invalid_token');
    const { body } = await admin.post<{ active: boolean }>('/services/api/oauth2/introspect', {
      token: customer.token,
    });
    assert.equal(body.active, false);
    // Its applications and users come in again, and nothing of the neighbour has ended.
    await succeeded(customer.api.as(await tokenFor(other.url, customer.credentials)).get('endpoints'));
    assert.equal(await statusWith(other, await sessionOf(service, customer, 'user')), 200);
    assert.equal(await statusWith(other, kept), 200);
    await succeeded(neighbour.api.get('endpoints'));
  });

  it('gets back nothing that a version before had left', async (t) => {
    const service = await startService(t);
    const { admin } = service;
    const customer = await makeCustomer(service);
    const session = await sessionOf(service, customer, 'link');
    const { id } = customer;
    await changeBeside(t, service, 'UPDATE customer SET active = @active WHERE id = @id', {
      active: onPostgres ? 'f' : 0,
      id,
    });
    await succeeded(admin.patch(`customers/${id}`, { active: true }));
    assert.equal(await statusWith(service, session), 303);
    assert.equal(errorOf(await customer.api.get('endpoints')).code, 'invalid_token');
  });

  it('leaves no session that begins at the same moment', async (t) => {
    const [service, other] = await startServices(t);
    const { admin, services } = service;
    const customer = await makeCustomer(service);
    const user = await services.users.get(customer.userId);
    for (let round = 0; round < 5; round += 1) {
      const [, ...started] = await Promise.all([
        admin.patch(`customers/${customer.id}`, { active: false }),
        ...[1, 2, 3, 4].map(() => other.services.sessions.begin(user, 'password', VISITOR)),
      ]);
      await succeeded(admin.patch(`customers/${customer.id}`, { active: true }));
      for (const session of started) if (session !== null) assert.equal(await statusWith(other, session.token), 303);
    }
  });
});

describe('a webhook of a customer that is inactive', () => {
  it('in mode pull starts when the customer is active again, also if it was created while it was not', async (t) => {
    const service = await startService(t);
    const { admin } = service;
    const customer = await makeCustomer(service);
    await makeEventType(admin, ORDERS);
    await succeeded(admin.patch(`customers/${customer.id}`, { active: false }));
    const body = { name: 'one', mode: 'pull', customerId: customer.id, eventTypes: [ORDERS] };
    const webhook = await created(admin, 'webhooks', body);
    const state = async (): Promise<unknown[]> => {
      const found = await readWebhook(admin, webhook);
      return [found.state, found.stateReason, found.sessionId === null];
    };
    assert.deepEqual(await state(), ['stopped', 'customer_inactive', true]);
    await succeeded(admin.patch(`customers/${customer.id}`, { active: true }));
    assert.deepEqual(await state(), ['started', null, false]);
  });

  it('sends nothing when its endpoint is enabled, until the customer is active again', async (t) => {
    const { service, admin, customer, at, endpoint, webhook, state } = await stopBoth(t);
    await succeeded(admin.post('events', { type: ORDERS, data: { n: 1 }, customerId: customer.id }));
    await succeeded(admin.patch(`endpoints/${endpoint.id}`, { enabled: true }));
    assert.deepEqual(await state(), ['stopped', 'customer_inactive']);
    assert.equal(at.deliveries.length, 0);
    await succeeded(admin.patch(`customers/${customer.id}`, { active: true }));
    await service.log.nextAttempt(webhook.id);
    assert.equal((await deliveriesOf(admin, webhook))[0]?.state, 'delivered');
  });

  it('does not start again automatically once someone has stopped it', async (t) => {
    const { admin, customer, endpoint, webhook, state } = await stopBoth(t);
    await succeeded(admin.post(`webhooks/${webhook.id}/stop`));
    await succeeded(admin.patch(`endpoints/${endpoint.id}`, { enabled: true }));
    await succeeded(admin.patch(`customers/${customer.id}`, { active: true }));
    assert.deepEqual(await state(), ['stopped', 'stopped_by_administrator']);
  });
});

describe('a webhook that starts while its customer is suspended', () => {
  const open = async (t: TestContext) => {
    const s = await openTestServices(t);
    await makeType(s, ORDERS);
    const { id: customerId } = await s.customers.create({ name: 'Acme' }, ACTOR);
    const { id: endpointId } = await makeEndpoint(s, { customerId });
    const { id } = await makeWebhook(s, [ORDERS], { customerId, endpointId });
    const suspend = () => s.customers.patch(customerId, { active: false }, ACTOR);
    const stateOf = async (): Promise<unknown[]> => {
      const { state, stateReason } = (await s.webhooks.get(id)).progress;
      return [state, stateReason];
    };
    return { s, id, customerId, endpointId, suspend, stateOf };
  };
  /** Calls `meanwhile` once, after the first read by this function. */
  const after = <Name extends string, Read extends (...args: never[]) => Promise<unknown>>(
    part: { [name in Name]: Read },
    name: Name,
    meanwhile: () => Promise<unknown>,
  ): void => {
    const { [name]: read } = part;
    let isFirst = true;
    const reading = async (...args: Parameters<Read>): Promise<unknown> => {
      const found = await read(...args);
      if (isFirst) {
        isFirst = false;
        await meanwhile();
      }
      return found;
    };
    Object.assign(part, { [name]: reading });
  };

  it('stops if it started after the suspension had read the webhooks', async (t) => {
    const { s, id, suspend, stateOf } = await open(t);
    after(s.store.webhooks, 'list', () => s.webhooks.start(id, ACTOR));
    await suspend();
    assert.deepEqual(await stateOf(), ['stopped', 'customer_inactive']);
  });

  it('does not start if the suspension came after the start had read the customer', async (t) => {
    const { s, id, suspend, stateOf } = await open(t);
    after(s.store.customers, 'get', suspend);
    await assert.rejects(s.webhooks.start(id, ACTOR), /the customer Acme is suspended/);
    assert.equal((await stateOf())[0], 'stopped');
  });

  it('does not start with its endpoint if the suspension came first', async (t) => {
    const { s, id, endpointId, suspend, stateOf } = await open(t);
    await s.webhooks.start(id, ACTOR);
    await s.endpoints.patch(endpointId, { enabled: false }, ACTOR);
    const { webhookNumber } = (await s.webhooks.get(id)).progress;
    const sql = `UPDATE webhook_progress SET state = 'stopped', state_reason = 'endpoint_disabled' WHERE webhook_number = @webhookNumber`;
    await s.database.commit([{ sql, params: { webhookNumber } }]);
    after(s.store.webhooks, 'stoppedWithEndpoint', suspend);
    await s.endpoints.patch(endpointId, { enabled: true }, ACTOR);
    assert.deepEqual(await stateOf(), ['stopped', 'customer_inactive']);
  });
});

describe('a user that gets another role and the old one again', () => {
  it('gets back no session', async (t) => {
    const service = await startService(t);
    const customer = await makeCustomer(service);
    const session = await sessionOf(service, customer, 'user');
    for (const role of ['viewer', 'administrator'])
      await succeeded(service.admin.patch(`users/${customer.userId}`, { role }));
    assert.equal(await statusWith(service, session), 303);
  });
});

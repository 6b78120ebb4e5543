/** A customer learns no id and no address of the operator, and nothing that only the operator may reach (contract §8.3). */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { VISITED_COOKIE } from '../../src/portal/frame/cookies.ts';
import { type ApiClient, type Page, refusalOf, succeeded } from '../support/client.ts';
import { created, makeCustomer, sessionOf } from '../support/customers.ts';
import { deliveriesOf, deliveryOf, makeEventType, startJourney } from '../support/journey.ts';
import { newSession, request } from '../support/portal-requests.ts';
import { startService } from '../support/service.ts';

type Entry = {
  readonly id: string;
  readonly actor: string;
  readonly action: string;
  readonly target: string;
  readonly changes: Readonly<Record<string, unknown>>;
};

async function auditOf(api: ApiClient, query = ''): Promise<readonly Entry[]> {
  return (await succeeded<Page<Entry>>(api.get(`audit?limit=200${query}`))).items;
}

describe('the audit log of a customer', () => {
  it('has the operator without ids and addresses, by every actor of the operator', async (t) => {
    const service = await startService(t);
    const { admin, services } = service;
    const customer = await makeCustomer(service);
    const { api } = customer;
    const person = await newSession(service, 'administrator');
    const about = created<{ id: string }>(api, 'users', { userName: 'ada', role: 'viewer' });
    const { id } = await about;
    const portal = (path: string, form: Record<string, string>) =>
      request(`${service.url}${path}`, { token: person.token, form });
    // An application, a person and a program of the operator, and the person in the customer's portal.
    await succeeded(admin.patch(`users/${id}`, { displayName: 'by an application' }));
    assert.equal((await portal(`/users/${id}/deactivate`, {})).status, 303);
    await services.users.patch(id, { active: true }, { actor: 'embedding-program', authority: 'unlimited' });
    await services.users.patch(id, { displayName: 'x' }, { actor: 'command-line', authority: 'unlimited' });
    const { headers } = await portal(`/customers/${customer.id}/open`, {});
    const visitor = new RegExp(`${VISITED_COOKIE}=([\\w-]{43})`).exec(headers.get('set-cookie') ?? '')?.[1] ?? '';
    assert.equal((await request(`${service.url}/users/${id}/deactivate`, { token: visitor, form: {} })).status, 303);
    await succeeded(api.patch(`users/${id}`, { active: true }));
    await succeeded(api.delete(`users/${id}`));

    const entries = await auditOf(api);
    const all = await auditOf(admin, `&customerId=${customer.id}`);
    assert.deepEqual(
      entries.map((entry) => entry.id),
      all.map((entry) => entry.id),
    );
    const operators = all.filter(
      ({ actor }) => !actor.startsWith('portal-link:') && actor !== `application:${customer.applicationId}`,
    );
    assert.ok(new Set(operators.map(({ actor }) => actor)).size >= 4, 'the operator acted in every way');
    const shown = JSON.stringify(entries);
    for (const secret of ['"address"', person.userId, ...operators.map(({ actor }) => actor.split(':').at(-1) ?? '')])
      assert.ok(!shown.includes(secret), secret);
    const byOperator = entries.filter(({ actor }) => actor === 'operator');
    assert.deepEqual(
      byOperator.map((entry) => entry.id),
      operators.map((entry) => entry.id),
    );
    for (const entry of entries)
      assert.deepEqual((await succeeded<Entry>(api.get(`audit/${entry.id}`))).actor, entry.actor);

    // The filter tells no more: a name of the operator's gets the answer of an unknown one.
    assert.deepEqual(await auditOf(api, '&actor=operator'), byOperator);
    for (const { actor } of operators) assert.deepEqual(await auditOf(api, `&actor=${encodeURIComponent(actor)}`), []);
    const mine = await auditOf(api, `&actor=application:${customer.applicationId}`);
    assert.ok(mine.length > 0 && mine.every(({ actor }) => actor.startsWith('application:')));
    const page = async (token: string, query: string): Promise<string> =>
      (await request(`${service.url}/audit?${query}`, { token })).text;
    const token = await sessionOf(service, customer, 'link');
    const { userName } = await services.users.get(person.userId);
    for (const text of [
      await page(token, ''),
      await page(token, `actor=${userName}`),
      await page(token, 'actor=operator'),
    ])
      assert.ok(!text.includes(person.userId));
    assert.doesNotMatch(await page(token, `actor=${userName}`), /class="audit-changes"/);
  });

  it('still has its own users and applications that were deleted', async (t) => {
    const service = await startService(t);
    const customer = await makeCustomer(service);
    const token = await sessionOf(service, customer, 'user');
    assert.equal(
      (await request(`${service.url}/users/new`, { token, form: { userName: 'grace', role: 'viewer' } })).status,
      303,
    );
    const second = await sessionOf(service, customer, 'link');
    await succeeded(service.admin.delete(`applications/${customer.applicationId}`));
    await succeeded(service.admin.delete(`users/${customer.userId}`));
    const { items } = await succeeded<Page<{ id: string }>>(service.admin.get('users?userName=grace'));
    const { text } = await request(`${service.url}/audit?target=user:${items[0]?.id}`, { token: second });
    assert.match(text, new RegExp(`…${customer.userId.slice(-12)} \\(deleted\\)`));
  });
});

describe('a receiver of a customer', () => {
  it('is not told who of the operator sent a test', async (t) => {
    const { service, admin, receiver } = await startJourney(t);
    const customer = await makeCustomer(service);
    await makeEventType(admin, 'order.placed');
    const at = receiver.endpoint('/customer');
    const endpoint = await created(customer.api, 'endpoints', {
      name: 'shop',
      url: at.url,
      secret: at.secret,
      apiKey: at.apiKey,
    });
    const webhook = await created(customer.api, 'webhooks', {
      name: 'one',
      endpointId: endpoint.id,
      eventTypes: ['order.placed'],
    });
    const actorOf = async (api: ApiClient): Promise<unknown> => {
      await succeeded(api.post(`webhooks/${webhook.id}/test`));
      const body = JSON.parse(at.deliveries.at(-1)?.json ?? '') as {
        records: { value: { headers: { actorId: unknown } } }[];
      };
      return body.records[0]?.value.headers.actorId;
    };
    assert.equal(await actorOf(admin), null);
    assert.equal(await actorOf(customer.api), customer.userId);
  });

  it('is not told who of the operator published in the portal', async (t) => {
    const service = await startService(t);
    const { admin, url } = service;
    const customer = await makeCustomer(service);
    await makeEventType(admin, 'order.placed');
    const pull = { name: 'read', mode: 'pull', eventTypes: ['order.placed'] };
    const theirs = await created(customer.api, 'webhooks', pull);
    const own = await created(admin, 'webhooks', pull);
    const { token, userId } = await newSession(service, 'operator');
    for (const audience of [{ for: 'customer', customer: customer.id }, { for: 'everyone' }, { for: 'own' }] as const) {
      const form = { type: 'order.placed', data: '{}', idempotencyKey: audience.for, ...audience };
      assert.equal((await request(`${url}/publish`, { token, form })).status, 303);
    }
    const actorsOf = async (api: ApiClient, { id }: { readonly id: string }): Promise<unknown[]> => {
      type Record = { value: { headers: { actorId: unknown } } };
      const { records } = await succeeded<{ records: readonly Record[] }>(api.get(`webhooks/${id}/records`));
      return records.map(({ value }) => value.headers.actorId);
    };
    assert.deepEqual(await actorsOf(customer.api, theirs), [null, null]);
    assert.deepEqual(await actorsOf(admin, own), [null, null, userId]);
  });

  it('at an address that the operator allowed itself is neither registered nor sent to', async (t) => {
    const { service, admin, receiver } = await startJourney(t, { env: { SALLYPORT_CUSTOMER_EGRESS_ALLOW: '' } });
    const customer = await makeCustomer(service);
    await makeEventType(admin, 'order.placed');
    const at = receiver.endpoint('/internal');
    // By a name, which is resolved only when something is sent.
    const url = at.url;
    const mine = { name: 'shop', url: url.replace('localhost', '127.0.0.1'), secret: at.secret, apiKey: at.apiKey };
    await created(admin, 'endpoints', mine);
    for (const [api, more] of [
      [customer.api, {}],
      [admin, { customerId: customer.id }],
    ] as const) {
      const { description } = await refusalOf(api.post('endpoints', { ...mine, ...more }), 400);
      assert.match(description, /\. Use an address that can be reached from the internet$/);
      assert.doesNotMatch(description, /SALLYPORT/);
    }
    const oauth = { clientId: 'a', clientSecret: 'b', tokenUrl: `${url}/token` };
    const byName = await created(customer.api, 'endpoints', { ...mine, url });
    const byToken = await created(customer.api, 'endpoints', {
      ...mine,
      name: 'oauth',
      url: 'https://receiver.example/',
      oauth,
    });
    const shaken = await customer.api.post('endpoints', { ...mine, name: 'h', url, verification: 'cloudevents' });
    assert.match(JSON.stringify(shaken.body), /resolves to an address that is not public"/);
    const verified = await succeeded<{ lastVerification: object }>(customer.api.post(`endpoints/${byName.id}/verify`));
    for (const endpoint of [byName, byToken]) {
      const body = { name: endpoint.id, endpointId: endpoint.id, eventTypes: ['order.placed'], heartbeatSeconds: 0 };
      const webhook = await created(customer.api, 'webhooks', { ...body, retry: { policy: 'linear', maxAttempts: 1 } });
      await succeeded(customer.api.post(`webhooks/${webhook.id}/start`));
      await succeeded(customer.api.post('events', { type: 'order.placed', data: {} }));
      await service.log.nextAttempt(webhook.id);
      const [delivery] = await deliveriesOf(customer.api, webhook);
      for (const refused of [
        verified.lastVerification,
        await deliveryOf(customer.api, webhook, delivery?.eventId ?? ''),
        await succeeded(customer.api.post(`webhooks/${webhook.id}/test`)),
      ]) {
        const shown = JSON.stringify([refused, await succeeded(customer.api.get(`webhooks/${webhook.id}`))]);
        assert.match(JSON.stringify(refused), /resolves to an address that is not public/);
        assert.doesNotMatch(shown, /127\.0\.0\.1|::1|SALLYPORT/);
      }
      await succeeded(customer.api.post(`webhooks/${webhook.id}/stop`));
    }
    assert.deepEqual(receiver.requests, []);
  });
});

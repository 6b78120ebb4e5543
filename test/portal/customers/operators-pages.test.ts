/** The operator's pages about one customer and all of them, by requests. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { heldByBelongings } from '../../../src/portal/customers/customer-removal.ts';
import { succeeded } from '../../support/client.ts';
import { created, makeCustomer, ORDERS } from '../../support/customers.ts';
import { makeEventType } from '../../support/journey.ts';
import { formAt, sendForm } from '../../support/portal-forms.ts';
import { newSession, request } from '../../support/portal-requests.ts';
import { startService } from '../../support/service.ts';

describe('a new user of a suspended customer', () => {
  it('is kept without an invitation, and its page says why', async (t) => {
    const service = await startService(t);
    const { admin, url } = service;
    const customer = await makeCustomer(service, 'Acme');
    await succeeded(admin.patch(`customers/${customer.id}`, { active: false }));
    const { token } = await newSession(service, 'administrator');
    const path = `${url}/users/new?customer=${customer.id}`;
    const form = await formAt(`${url}/users/new`, token, await request(path, { token }));
    const sent = await sendForm(path, token, form, { userName: 'grace', role: 'viewer' });
    assert.equal(sent.status, 303, sent.text);
    const { items } = await succeeded<{ items: { id: string; userName: string }[] }>(admin.get('users?userName=grace'));
    assert.equal(items.length, 1);
    assert.equal(sent.headers.get('location'), `/users/${items[0]?.id}`);
    const cookie = `${sent.headers.get('set-cookie')?.split(';', 1)[0]}; sallyport=${token}`;
    const page = await request(`${url}/users/${items[0]?.id}`, { headers: { cookie } });
    assert.match(page.text, /grace is added but not invited\. The customer Acme is suspended\./);
  });
});

describe('the list of customers', () => {
  it('counts the pending deliveries of each', async (t) => {
    const service = await startService(t);
    const { admin, url } = service;
    await makeEventType(admin, ORDERS);
    const [acme, bolt] = [await makeCustomer(service, 'Acme'), await makeCustomer(service, 'Bolt')];
    for (const name of ['one', 'two'])
      await created(admin, 'webhooks', { customerId: acme.id, name, mode: 'pull', eventTypes: [ORDERS] });
    await succeeded(admin.post('events', { type: ORDERS, data: {}, customerId: acme.id }));
    const { token } = await newSession(service, 'viewer');
    const { text } = await request(`${url}/customers`, { token });
    assert.match(text, new RegExp(`href="/deliveries\\?customer=${acme.id}&state=pending">2<`));
    assert.ok(!text.includes(`/deliveries?customer=${bolt.id}`));
  });

  it('is where the page of the look leads back to, also after a change', async (t) => {
    const service = await startService(t);
    const { token } = await newSession(service, 'administrator');
    const path = '/settings/customers-portal?from=customers';
    const { text } = await request(`${service.url}/customers`, { token });
    assert.ok(text.includes(`href="${path}"`));
    const look = await request(service.url + path, { token });
    assert.ok(look.text.includes(`action="${path}"`));
    const refused = await request(service.url + path, { token, form: { name: '', logo: '', accent: 'none' } });
    assert.equal(refused.status, 400);
    for (const { text: shown } of [look, refused])
      assert.match(shown, /href="\/customers"[^>]*>Cancel|href="\/customers">/);
    const saved = await request(service.url + path, { token, form: { name: 'Nordia', logo: '', accent: '' } });
    assert.deepEqual([saved.status, saved.headers.get('location')], [303, path]);
  });
});

describe('the page of a customer', () => {
  it('leads to all entries of its audit log', async (t) => {
    const service = await startService(t);
    const customer = await makeCustomer(service);
    const { token } = await newSession(service, 'viewer');
    const { text } = await request(`${service.url}/customers/${customer.id}/history`, { token });
    assert.ok(text.includes(`href="/audit?customer=${customer.id}&amp;show=all"`));
  });

  it('begins with the next step until it has a webhook, and says which stopped webhooks hold deliveries', async (t) => {
    const service = await startService(t);
    const { admin } = service;
    await makeEventType(admin, ORDERS);
    const { id: customerId } = await makeCustomer(service);
    const { token } = await newSession(service, 'operator');
    const administrator = (await newSession(service, 'administrator')).token;
    const path = `${service.url}/customers/${customerId}`;
    const first = (await request(path, { token: administrator })).text;
    assert.match(first, new RegExp(`href="/endpoints/new\\?customer=${customerId}"`));
    assert.doesNotMatch(first, /class="figure/);
    const at = { name: 'Shop', url: 'https://receiver.example/', tokenChallenge: false, customerId };
    const { id: endpointId } = await succeeded<{ id: string }>(admin.post('endpoints', at));
    const next = (await request(path, { token: administrator })).text;
    assert.match(next, new RegExp(`href="/webhooks/new\\?customer=${customerId}"`));
    const orders = { name: 'Orders', endpointId, eventTypes: [ORDERS], customerId };
    const { id } = await succeeded<{ id: string }>(admin.post('webhooks', orders));
    await succeeded(admin.post('events', { type: ORDERS, data: {}, customerId }));
    const { text } = await request(path, { token });
    assert.match(text, /Stopped webhooks with pending deliveries.*never started/s);
    assert.ok(text.includes(`action="/webhooks/${id}/start"`));
  });

  it('has a tab for its activity, its resources, its usage, its settings and its history', async (t) => {
    const service = await startService(t);
    const { id } = await makeCustomer(service);
    const { token } = await newSession(service, 'administrator');
    const has = {
      '': 'Nothing is sent yet',
      resources: 'PGP keys',
      usage: 'Limits',
      settings: 'Suspend',
      history: 'History',
    };
    for (const [tab, title] of Object.entries(has)) {
      const path = tab === '' ? `/customers/${id}` : `/customers/${id}/${tab}`;
      const { status, text } = await request(service.url + path, { token });
      assert.equal(status, 200);
      assert.ok(text.includes(`href="${path}" aria-current="page"`), tab);
      assert.ok(text.includes(`<h2>${title}</h2>`), title);
    }
  });

  it('says what to delete before it, in which order if that matters, and to suspend it only if it is active', () => {
    const none = { webhooks: 0, endpoints: 0, keys: 0, applications: 0, users: 0 };
    assert.equal(heldByBelongings(none, true), null);
    for (const [belongings, active, title, text] of [
      [{ users: 1 }, true, '1 user', 'Delete this first, or suspend the customer instead.'],
      [{ keys: 3 }, false, '3 keys', 'Delete these first.'],
      [
        { users: 1, endpoints: 2, webhooks: 1 },
        false,
        '1 webhook, 2 endpoints and 1 user',
        'Delete these first, in this order.',
      ],
    ] as const)
      assert.deepEqual(heldByBelongings({ ...none, ...belongings }, active), {
        title: `This customer cannot be deleted: it has ${title}.`,
        text,
      });
  });
});

describe('the page of a user, an application or an event type', () => {
  it('has its history, and says what a user of a customer may do in the customers’ portal', async (t) => {
    const service = await startService(t);
    const customer = await makeCustomer(service);
    const { admin } = service;
    const mary = { userName: 'mary', role: 'administrator', customerId: customer.id };
    const user = await succeeded<{ id: string }>(admin.post('users', mary));
    const application = { name: 'Sync', userId: user.id, scopes: [], customerId: customer.id };
    const { id } = await succeeded<{ id: string }>(admin.post('applications', application));
    const type = await succeeded<{ id: string }>(admin.post('event-types', { name: 'order.created' }));
    const { token } = await newSession(service, 'administrator');
    const read = async (path: string): Promise<string> => (await request(service.url + path, { token })).text;
    for (const [path, target] of [
      [`/users/${user.id}`, `user:${user.id}`],
      [`/applications/${id}`, `application:${id}`],
      [`/event-types/${type.id}`, `event-type:${type.id}`],
    ] as const) {
      const page = await read(path);
      assert.match(page, /id="history".*Created the/s, path);
      assert.ok(page.includes(`href="/audit?target=${target}"`), path);
    }
    const page = await read(`/users/${user.id}`);
    assert.match(page, /In the customers’ portal.*Manages everything that belongs to this customer\./s);
    assert.doesNotMatch(page, /In this portal|May do everything in the portal/);
    const contents = await read(`/event-types/${type.id}`);
    assert.ok(contents.includes('href="/deliveries?q=type%3Aorder.created"'));
    for (const [, id] of contents.matchAll(/<li><a href="#([\w-]+)">/g))
      assert.ok(contents.includes(` id="${id}"`), id);
    assert.ok(contents.includes('<a href="#delete">'));
  });
});

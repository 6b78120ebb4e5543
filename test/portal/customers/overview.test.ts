/** The overview of a customer: the steps to the first delivery, and what it says while nothing was sent. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Delivery } from '../../../src/domain/webhook.ts';
import { newestDeliveries } from '../../../src/portal/overview/newest-deliveries.ts';
import { setUpChecklist } from '../../../src/portal/set-up/set-up-checklist.ts';
import { startPortal } from '../../support/browser.ts';
import { succeeded } from '../../support/client.ts';
import { type Customer, makeCustomer, openAs } from '../../support/customer-portal.ts';
import { makeEventType } from '../../support/journey.ts';
import { startReceiver } from '../../support/receiver.ts';
import { sharedCertificates } from '../../support/tls.ts';

describe('the overview of a customer', () => {
  it('leads each step to where it is done, and to nothing that is not there yet', async (t) => {
    const portal = await startPortal(t);
    const { admin } = portal.service;
    await makeEventType(admin, 'order.created');
    const customer = await makeCustomer(portal);
    const { page, open } = await openAs(portal, customer, { isBrowserless: true });
    const href = async (name: string): Promise<string | null> => {
      const link = page.locator('.checklist').getByRole('link', { name, exact: true });
      return (await link.count()) === 0 ? null : link.getAttribute('href');
    };
    assert.equal(await href('Guide'), '/guide');
    for (const name of ['See the endpoints', 'Send a test event']) assert.equal(await href(name), null, name);

    const make = (kind: string, body: object): Promise<Customer> =>
      succeeded<Customer>(admin.post(kind, { ...body, customerId: customer.id }));
    const endpoint = await make('endpoints', {
      name: 'Warehouse',
      url: 'https://receiver.example/',
      tokenChallenge: true,
    });
    await open('/');
    assert.equal(await href('Verify Warehouse'), `/endpoints/${endpoint.id}#challenge`);
    const webhook = { name: 'Orders', endpointId: endpoint.id, eventTypes: ['order.created'] };
    const { id } = await make('webhooks', webhook);
    // Each period is read for itself, so none of these is a reading that was kept.
    await open('/?period=day');
    assert.equal(await href('Send a test event'), `/webhooks/${id}#test-button`);
    const problems = page.getByRole('table', { name: 'Endpoints that are not verified' });
    await problems.getByRole('link', { name: 'Warehouse', exact: true }).waitFor();
    await problems.getByText('Nothing is sent to it until it passes its challenge.').waitFor();
    const operator = await portal.signIn('viewer', { isBrowserless: true });
    await operator.open(`/customers/${customer.id}`);
    await operator.page.getByRole('table', { name: 'Endpoints that are not verified' }).waitFor();

    // It was disabled on purpose.
    await succeeded(admin.patch(`endpoints/${endpoint.id}`, { enabled: false }));
    await open('/?period=week');
    assert.equal(await problems.count(), 0);
  });

  it('tells a viewer that an administrator takes the steps', () => {
    const step = { title: 'One', text: 'Do it.', isDone: false, link: { href: '/endpoints/new', label: 'Create' } };
    const shown = (role: 'viewer' | 'administrator') => setUpChecklist([step], role, () => true).markup;
    assert.match(shown('viewer'), /An administrator of your company does these steps\./);
    assert.ok(!shown('viewer').includes('href='));
    assert.match(shown('administrator'), /From nothing to the first delivered webhook\.[\s\S]*href="\/endpoints\/new"/);
  });

  it('praises no webhook that has sent nothing, and lists the newest deliveries', async (t) => {
    const { ca, server } = sharedCertificates();
    const portal = await startPortal(t, { ca });
    const { admin, clock } = portal.service;
    const receiver = await startReceiver(t, server, { clock });
    await makeEventType(admin, 'order.created');
    const customer = await makeCustomer(portal);
    const of = { customerId: customer.id };
    const { id: endpointId } = await succeeded<Customer>(
      admin.post('endpoints', { name: 'Shop', url: `${receiver.origin}/shop`, tokenChallenge: false, ...of }),
    );
    const { id } = await succeeded<Customer>(
      admin.post('webhooks', { name: 'Orders', endpointId, eventTypes: ['order.created'], ...of }),
    );
    await succeeded(admin.post(`webhooks/${id}/start`, {}));
    const { page, open } = await openAs(portal, customer, { isBrowserless: true });
    await page.getByText('No event has come since the webhooks were started.').waitFor();
    assert.equal(await page.getByText('Every started webhook delivers').count(), 0);
    assert.equal(await page.getByRole('table', { name: 'Latest deliveries' }).count(), 0);
    await succeeded(admin.post('events', { type: 'order.created', subject: 'buyer-34', data: { n: 1 }, ...of }));
    await open('/?period=day');
    const latest = page.getByRole('table', { name: 'Latest deliveries' });
    await latest.getByText('buyer-34').waitFor();
    await latest.getByRole('columnheader', { name: 'Response' }).waitFor();
  });

  it('sends a dead delivery again, and tries one that waits, while its webhook runs', () => {
    const now = 1_000_000;
    const plain = {
      createdAt: 0,
      settledAt: null,
      erasedAt: null,
      webhookMode: 'push',
      isLeased: false,
      subject: null,
    };
    const row = (id: string, more: object) => ({
      delivery: {
        ...plain,
        id,
        offset: 7,
        eventType: 'a.b',
        attemptCount: 3,
        webhookState: 'running',
        ...more,
      } as Delivery,
      attempt: null,
    });
    const rows = [
      row('dead', { state: 'dead', settledAt: 9, nextAttemptAt: null }),
      row('retried', { state: 'pending', nextAttemptAt: now + 60_000, webhookState: 'failing' }),
      row('failed', { state: 'pending', nextAttemptAt: now + 60_000, webhookState: 'failed' }),
      row('untried', { state: 'pending', nextAttemptAt: null, attemptCount: 0 }),
      row('arrived', { state: 'delivered', settledAt: 9, nextAttemptAt: null }),
    ];
    const shown = (form: string | null) =>
      newestDeliveries({ rows, heldBack: null, webhookIds: ['one', 'other'] }, form, now)?.markup ?? '';
    const buttons = Array.from(
      shown('f').matchAll(/formaction="\/deliveries\/(\w+)\/replay" form="f" aria-label="([^"]+)"/g),
    );
    assert.deepEqual(
      buttons.map(([, id, label]) => [id, label]),
      [
        ['dead', 'Send again: #7'],
        ['retried', 'Try now: #7'],
      ],
    );
    assert.ok(!shown(null).includes('formaction'));
  });
});

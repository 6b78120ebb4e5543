/** The ten jobs that people do most in the portal, in a real browser. docs/portal.md says how many clicks each takes. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { WebhookView } from '../../src/webhooks/webhook-schema.ts';
import { succeeded } from '../support/client.ts';
import { created } from '../support/customers.ts';
import { type DeliverPortal, startDeliverPortal } from '../support/deliver-portal.ts';
import { until } from '../support/dispatching.ts';
import { type Hands, handsOn } from '../support/hands.ts';
import { makeWebhook, startWebhook } from '../support/journey.ts';
import { newSession, request } from '../support/portal-requests.ts';

const DOCUMENTED = readFileSync(join(import.meta.dirname, '../../docs/portal.md'), 'utf8');

type Job = (hands: Hands) => Promise<void>;

const named = ({ page }: Hands, role: 'link' | 'button', name: string | RegExp) =>
  page.getByRole(role, { name, ...(typeof name === 'string' && { exact: true }) }).first();
const shown = ({ page }: Hands, text: string | RegExp) => page.locator('main').getByText(text).first().waitFor();

/** Each begins on the overview, and ends when the page shows what was wanted. The names are those of the documentation. */
const JOBS: Readonly<Record<string, Job>> = {
  'Find a failed delivery by order id, and understand it': async (hands) => {
    await hands.find('ord_1003', /Deliveries with/);
    const failed = hands.page.locator('main tr').filter({ hasText: 'dead' });
    await hands.click(failed.getByRole('link', { name: 'order.created' }));
    await shown(hands, /unknown signature/);
  },
  'Send a group of failed deliveries again': async (hands) => {
    await hands.click(named(hands, 'link', 'Deliveries'));
    await hands.click(named(hands, 'link', 'Failures by cause'));
    await hands.click(named(hands, 'link', /^(Start, and send|Send) \d+ again/));
    await hands.click(hands.page.locator('main').getByRole('button', { name: /Send \d+/ }));
    await shown(hands, /again/);
  },
  'Create a webhook with a filter': async (hands) => {
    const { page } = hands;
    await hands.click(named(hands, 'link', 'Webhooks'));
    await hands.click(named(hands, 'link', /New webhook/));
    await hands.type(page.locator('#field-name'), 'Large');
    await hands.choose(page.getByRole('combobox', { name: 'Endpoint' }), 'Own shop');
    await hands.click(page.getByLabel('order.created'));
    await hands.click(page.getByText('Filter: only events that meet conditions'));
    // It opens with an empty condition that has the focus, once the browser has told that it is open.
    await page.getByLabel('Condition 1: path').and(page.locator(':focus')).waitFor();
    for (const part of ['total', 'is at l', '250']) await hands.enter(part);
    await page.getByText('data.total is at least 250').waitFor();
    await hands.click(named(hands, 'button', 'Create the webhook'));
    await shown(hands, /was created/);
  },
  'Rotate a secret': async (hands) => {
    await hands.find('rot sec own', /Own shop/);
    await hands.click(named(hands, 'button', 'Create the new secret'));
    await shown(hands, 'Secret');
  },
  'Publish an event for a customer': async (hands) => {
    await hands.find('publish order.created', /Publish order\.created/);
    await hands.click(hands.page.getByLabel('A customer'));
    await hands.type(hands.page.locator('input[name="customer"]'), 'acct_1');
    await hands.click(named(hands, 'button', 'Publish the event'));
    await shown(hands, 'order.created is published.');
  },
  'See why a customer got nothing': async (hands) => {
    await hands.find('ord_2000', /who got it/);
    await shown(hands, /filter/);
  },
  'Add a person': async (hands) => {
    await hands.click(named(hands, 'link', 'Users'));
    await hands.click(named(hands, 'link', /Add a user/));
    await hands.type(hands.page.getByRole('textbox', { name: 'User name' }), 'zoe');
    await hands.click(named(hands, 'button', 'Add the user'));
    await shown(hands, /works once/);
  },
  'Make a portal link for a customer': async (hands) => {
    await hands.click(named(hands, 'link', 'Customers'));
    await hands.click(named(hands, 'link', 'Acme Stores'));
    await hands.click(named(hands, 'link', /portal link/i));
    await hands.click(named(hands, 'button', /Create the link/));
    await shown(hands, /works once/);
  },
  'See the usage of customers': async (hands) => {
    await hands.click(named(hands, 'link', 'Usage'));
    await hands.page.locator('h1', { hasText: 'Usage' }).waitFor();
    await shown(hands, 'Bolt Hardware');
  },
  'Find who changed a webhook, and what': async (hands) => {
    await hands.click(named(hands, 'link', 'Audit log'));
    const { page } = hands;
    const entry = page.locator('main tr').filter({ hasText: 'Stopped the webhook' });
    await hands.click(entry.locator('summary'));
    await entry.getByText('too_many_dead').waitFor();
  },
};

describe('the ten jobs of the portal', () => {
  it('take the clicks that the documentation states', async (t) => {
    const portal = await startDeliverPortal(t);
    await haveLife(portal);
    const { page, open } = await portal.openAs('administrator', '/');
    const measured: string[] = [];
    for (const [name, job] of Object.entries(JOBS)) {
      await open('/');
      const hands = handsOn(page);
      const began = performance.now();
      await job(hands);
      t.diagnostic(`${name}: ${Math.round(performance.now() - began)} ms in the browser`);
      measured.push(`| ${name} | ${hands.clicks()} |`);
    }
    const documented = [...DOCUMENTED.matchAll(/^\| [^|]+ \| \d+ \|$/gm)].map(([row]) => row);
    assert.deepEqual(measured, documented);
  });
});

/** Two customers. Receivers of Bolt fail, and the filter of Acme stops an event. */
async function haveLife({ admin, receiver, portal }: DeliverPortal): Promise<void> {
  const { service } = portal;
  await created(admin, 'event-types', {
    name: 'order.created',
    group: 'Orders',
    sample: { orderId: 'ord_1', total: 5 },
    searchPaths: ['data.orderId'],
  });
  const connected = async (name: string, customerId: string | null, more = {}): Promise<WebhookView> => {
    const at = receiver.endpoint(`/${name}`);
    if (name === 'Bolt') at.answer(() => ({ status: 401, body: '{"error":"unknown signature"}' }));
    const { url, secret, apiKey } = at;
    const endpoint = { customerId, name: `${name} shop`, url, secret, apiKey };
    const { id } = await created(admin, 'endpoints', endpoint);
    const webhook = { customerId, name: 'Orders', maxBatchRecords: 1, retry: { policy: 'linear', maxAttempts: 1 } };
    return startWebhook(admin, await makeWebhook(admin, { id }, ['order.created'], { ...webhook, ...more }));
  };
  await connected('Own', null);
  const acme = await created(admin, 'customers', { name: 'Acme Stores', externalId: 'acct_1' });
  await connected('Acme', acme.id, { filter: { 'data.total': { $gte: 100 } } });
  const bolt = await created(admin, 'customers', { name: 'Bolt Hardware', externalId: 'acct_2' });
  const { id } = await connected('Bolt', bolt.id);
  const publish = (customerId: string, orderId: string) =>
    succeeded(admin.post('events', { type: 'order.created', customerId, data: { orderId, total: 20 } }));
  for (let number = 1000; number < 1008; number += 1) {
    await publish(bolt.id, `ord_${number}`);
    await service.log.nextAttempt(id);
  }
  await publish(acme.id, 'ord_2000');
  const { token } = await newSession(service, 'administrator');
  service.advance(60_000);
  await until('the values to be kept', async () => {
    const { text } = await request(`${service.url}/search?q=ord_2000`, { token });
    return text.replaceAll(/<\/?mark>/g, '').includes('Deliveries with ord_2000');
  });
}

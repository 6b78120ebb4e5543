/** A customer by mouse alone: from the portal link to the first verified delivery, and an application without a thought about accounts. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { startPortal } from '../../support/browser.ts';
import { succeeded } from '../../support/client.ts';
import { makeCustomer, openAs } from '../../support/customer-portal.ts';
import { startReceiver } from '../../support/receiver.ts';
import { sharedCertificates } from '../../support/tls.ts';

const CLICKS_MAX = 11;

/** Counts the clicks in every document of the page, also those into fields. */
async function counted(page: Page): Promise<() => number> {
  let clicks = 0;
  await page.exposeBinding('counted', () => {
    clicks += 1;
  });
  await page.addInitScript("addEventListener('click', (event) => { if (event.isTrusted) counted(); }, true);");
  return () => clicks;
}

describe('a customer in its own portal', () => {
  it(`sees its first verified delivery after fewer than ${CLICKS_MAX + 1} clicks from the link on`, async (t) => {
    const { ca, server } = sharedCertificates();
    const portal = await startPortal(t, { ca });
    const receiver = await startReceiver(t, server, { clock: portal.service.clock });
    const { admin } = portal.service;
    await succeeded(
      admin.post('event-types', {
        name: 'order.created',
        description: 'An order was placed.',
        sample: { orderId: 17 },
      }),
    );
    const customer = await makeCustomer(portal);
    const { page } = await openAs(portal, customer);
    const clicks = await counted(page);
    await page.reload();
    assert.equal(await page.locator('.figure').count(), 0, 'nothing can have happened yet');

    await page.getByRole('link', { name: 'Open the catalogue' }).click();
    await page.getByRole('link', { name: 'order.created' }).click();
    await page.getByText('"orderId": 17').first().waitFor();
    await page.getByRole('link', { name: 'Endpoints', exact: true }).click();
    await page.getByRole('link', { name: 'New endpoint' }).click();
    const fields = { name: page.getByLabel('Name'), url: page.getByLabel('Address') };
    await fields.name.fill('Our shop');
    await fields.url.fill(`${receiver.origin}/hooks/acme`);
    await page.getByRole('button', { name: 'Create the endpoint' }).click();
    await page.getByRole('heading', { name: 'Our shop is created' }).waitFor();
    const secret = await page.getByRole('group', { name: 'Secret' }).locator('code').innerText();
    const apiKey =
      (await page.locator('dd', { hasText: 'In the header x-api-key' }).locator('code').textContent()) ?? '';
    const at = receiver.endpoint('/hooks/acme', { secret, apiKey });
    await page.getByRole('button', { name: 'Verify now: the endpoint Our shop' }).click();
    await page.getByText('Our shop passed the challenge and is enabled.').waitFor();
    await page.getByRole('link', { name: 'New webhook' }).first().click();
    await page.getByLabel('Name', { exact: true }).first().fill('Orders');
    await page.getByLabel('order.*').click();
    await page.getByRole('button', { name: 'Create the webhook' }).click();
    await page.getByText('Orders was created and started.').waitFor();
    await page.getByRole('button', { name: 'Send a test event through Orders' }).click();
    await page.getByText(/It arrived after/).waitFor();
    assert.equal((await at.next()).records[0]?.eventType, 'webhook.test');
    const made = clicks();
    assert(made > 5 && made <= CLICKS_MAX, `${made} clicks`);

    // Events reach it, and those of others do not.
    await portal.service.services.publish(
      { type: 'order.created', data: { orderId: 1 }, customerId: (await makeCustomer(portal, 'Globex')).id },
      { actor: 'command-line', authority: 'unlimited' },
    );
    await portal.service.services.publish(
      { type: 'order.created', data: { orderId: 2 }, customerId: customer.id },
      { actor: 'command-line', authority: 'unlimited' },
    );
    assert.deepEqual((await at.next()).records[0]?.data, { orderId: 2 });
    await page.goto(portal.url);
    assert.equal(await page.getByText('From nothing to the first delivered webhook').count(), 0);
  });

  it('registers applications within the offered scopes, which act as one account that is made automatically', async (t) => {
    const portal = await startPortal(t);
    await succeeded(
      portal.service.admin.post('products', {
        name: 'Orders API',
        scopes: [
          { name: 'orders:view', description: 'See orders.', offered: true },
          { name: 'orders:manage', description: 'Change orders.' },
        ],
        rules: [{ methods: ['GET'], path: '/shop/orders', scope: 'orders:view' }],
      }),
    );
    const customer = await makeCustomer(portal);
    const { page, open } = await openAs(portal, customer, { isBrowserless: true });
    for (const [name, scope] of [
      ['Warehouse', 'orders:view'],
      ['Books', 'deliveries:view'],
    ] as const) {
      await open('/applications/new');
      assert.equal(await page.getByText('service account').count(), 0);
      await page.getByLabel('Name', { exact: true }).fill(name);
      for (const withheld of ['orders:manage', 'tokens:introspect', 'customers:manage', 'employees:view'])
        assert.equal(await page.getByLabel(withheld, { exact: true }).count(), 0, withheld);
      const box = page.getByLabel(scope, { exact: true });
      if (!(await box.isVisible())) await page.locator('summary', { hasText: 'Events and deliveries' }).click();
      await box.check();
      await page.getByRole('button', { name: 'Register the application' }).click();
      await page.getByRole('heading', { name: `${name} is registered` }).waitFor();
    }
    const { items: users } = await succeeded<{ items: { userName: string; role: string; permissions: string[] }[] }>(
      portal.service.admin.get(`users?customerId=${customer.id}`),
    );
    assert.deepEqual(
      users.map(({ userName, role, permissions }) => [userName, role, permissions]),
      [['applications', 'service', ['deliveries:view', 'orders:view']]],
    );
    await open('/users');
    await page.getByText('Made with your first application. Your applications act as it').waitFor();
  });
});

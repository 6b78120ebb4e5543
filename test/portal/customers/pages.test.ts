/** Customers in the operator's portal: what belongs to whom, forms for a customer, links, suspending, and the look of its portal. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Portal, startPortal } from '../../support/browser.ts';
import { succeeded } from '../../support/client.ts';
import { makeCustomer, openAs } from '../../support/customer-portal.ts';
import { startDeliverPortal } from '../../support/deliver-portal.ts';
import { connect, makeEventType } from '../../support/journey.ts';
import { pgpVector } from '../../support/vectors.ts';

async function endpointOf({ service }: Portal, customerId: string | null, name: string): Promise<string> {
  const body = { name, url: 'https://127.0.0.1:9/hooks', tokenChallenge: false, ...(customerId && { customerId }) };
  return (await succeeded<{ id: string }>(service.admin.post('endpoints', body))).id;
}

describe('the pages of customers', () => {
  it('add, find, change and delete a customer in the portal', async (t) => {
    const portal = await startPortal(t);
    const added = await portal.signIn('administrator');
    await added.open('/');
    await added.page.getByRole('link', { name: 'Customers', exact: true }).click();
    await added.page.getByRole('link', { name: 'Add a customer' }).click();
    await added.page.getByLabel('Name', { exact: true }).first().fill('Acme');
    await added.page.getByLabel('External id').fill('cus_1');
    await added.page.getByLabel('Name', { exact: true }).last().fill('plan');
    await added.page.getByLabel('Value').fill('business');
    await added.page.getByRole('button', { name: 'Add the customer' }).click();
    await added.page.getByText('Acme was added.').waitFor();
    await added.isAccessible();
    await added.page
      .getByRole('navigation', { name: 'The customer Acme' })
      .getByRole('link', { name: 'Settings' })
      .click();
    await added.page.getByText('business').waitFor();
    await added.isAccessible();
    const { items } = await succeeded<{ items: { externalId: string; metadata: object }[] }>(
      portal.service.admin.get('customers'),
    );
    assert.deepEqual([items[0]?.externalId, items[0]?.metadata], ['cus_1', { plan: 'business' }]);
    const { page, open } = await portal.signIn('administrator', { isBrowserless: true });
    await open(new URL(added.page.url()).pathname);
    await page.getByRole('link', { name: 'Change' }).click();
    await page.getByLabel('Maximum endpoints').fill('3');
    // The first of several rows.
    await page.getByLabel('Value').first().fill('');
    await page.getByLabel('Name', { exact: true }).nth(1).fill('');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Acme is saved.').waitFor();
    const changed = await succeeded<{ items: { limits: { endpoints: number }; metadata: object }[] }>(
      portal.service.admin.get('customers'),
    );
    assert.deepEqual([changed.items[0]?.limits.endpoints, changed.items[0]?.metadata], [3, {}]);
    await makeCustomer(portal, 'Globex');
    await open('/customers?q=CUS_1');
    assert.deepEqual(await page.getByRole('rowheader').allInnerTexts(), ['Acme\ncus_1']);
    await open('/customers?state=suspended');
    await page.getByText('No customers fit these filters.').waitFor();
    await open('/customers');
    await page.getByRole('link', { name: 'Acme' }).click();
    await page.getByRole('navigation', { name: 'The customer Acme' }).getByRole('link', { name: 'Settings' }).click();
    await page.getByRole('link', { name: 'Delete the customer' }).click();
    await page.getByRole('button', { name: 'Delete the customer' }).click();
    await page.getByText('The customer Acme is deleted.').waitFor();
    assert.equal(await page.getByRole('link', { name: 'Acme', exact: true }).count(), 0);
  });

  it('make resources for a customer, whose forms offer nothing of others, and lists say whose each is', async (t) => {
    const portal = await startPortal(t);
    const [acme, globex] = [await makeCustomer(portal), await makeCustomer(portal, 'Globex')];
    await succeeded(portal.service.admin.post('event-types', { name: 'order.created' }));
    await endpointOf(portal, acme.id, 'Acme shop');
    await endpointOf(portal, globex.id, 'Globex shop');
    await endpointOf(portal, null, 'Our own');
    const { page, open, isAccessible } = await portal.signIn('administrator');
    const plain = await portal.signIn('administrator', { isBrowserless: true, expecting: [404] });
    const choices = async (path: string): Promise<string[]> => {
      await plain.open(path);
      return plain.page.getByRole('combobox', { name: 'Endpoint' }).locator('option:not([value=""])').allInnerTexts();
    };
    assert.deepEqual(await choices('/webhooks/new'), ['Our own']);
    assert.deepEqual(await choices(`/webhooks/new?customer=${acme.id}`), ['Acme shop']);
    // Chosen in the form, it keeps what was typed.
    await open('/webhooks/new');
    await page.getByLabel('Name', { exact: true }).first().fill('Orders of Acme');
    await page.getByLabel('A customer').check();
    // A problem while choosing is said beside the field, and takes no focus.
    const named = page.getByLabel('Customer', { exact: true });
    await named.fill('Nobody');
    await named.press('Enter');
    await page.getByText('Customer “Nobody” does not exist').waitFor();
    await named.and(page.locator(':focus')).waitFor();
    assert.equal(await page.locator('.error-summary').count(), 0);
    await named.fill('acm');
    await named.press('Enter');
    const endpoint = page.getByRole('combobox', { name: 'Endpoint' });
    await endpoint.filter({ hasText: 'Acme shop' }).waitFor();
    assert.equal(await named.inputValue(), 'Acme');
    await named.and(page.locator(':focus')).waitFor();
    assert.equal(await page.getByRole('button', { name: 'Choose' }).count(), 0);
    await isAccessible();
    await page.getByLabel('Your company').check();
    await endpoint.filter({ hasText: 'Our own' }).waitFor();
    await page.getByLabel('A customer').check();
    await endpoint.filter({ hasText: 'Acme shop' }).waitFor();
    await page.getByLabel('order.*').check();
    await page.getByRole('button', { name: 'Create the webhook' }).click();
    await page.locator('.record-facts').getByRole('link', { name: 'Acme', exact: true }).waitFor();
    const { items } = await succeeded<{ items: { name: string; customerId: string }[] }>(
      portal.service.admin.get('webhooks'),
    );
    assert.deepEqual(
      items.map(({ name, customerId }) => [name, customerId]),
      [['Orders of Acme', acme.id]],
    );
    assert.equal(await plain.open('/webhooks/new?customer=01933f2a-0000-7000-8000-000000000000'), 404);

    const names = async (path: string): Promise<string[]> => {
      await plain.open(path);
      return plain.page.getByRole('rowheader').getByRole('link').allInnerTexts();
    };
    assert.deepEqual(await names('/endpoints'), ['Acme shop', 'Acme', 'Globex shop', 'Globex', 'Our own']);
    for (const asked of ['Acme', 'acme', acme.id])
      assert.deepEqual(await names(`/endpoints?customer=${asked}`), ['Acme shop', 'Acme'], asked);
    assert.deepEqual(await names('/endpoints?customer=own'), ['Our own']);
    assert.deepEqual(await names('/endpoints?customer=nobody'), []);
    assert.deepEqual(await names('/webhooks?customer=Globex'), []);
    assert.deepEqual(await names('/keys?customer=Acme'), []);
    for (const list of ['applications', 'users', 'deliveries', 'audit'])
      assert.equal(await plain.open(`/${list}?customer=Acme`), 200, list);
    await plain.open(`/customers/${acme.id}/settings`);
    await plain.page.getByText('This customer cannot be deleted: it has 1 webhook and 1 endpoint.').waitFor();
  });

  it('make a link that is shown once, and suspending says what stops and closes the portal', async (t) => {
    const portal = await startPortal(t);
    const acme = await makeCustomer(portal);
    const { page, open } = await portal.signIn('administrator', { isBrowserless: true, expecting: [400] });
    await open(`/customers/${acme.id}`);
    await page.getByRole('link', { name: 'Create a portal link' }).click();
    await page.getByLabel('Return URL').fill('javascript:alert(1)');
    await page.getByRole('button', { name: 'Create the link' }).click();
    await page.getByText('must be an http: or https: URL').first().waitFor();
    await page.getByLabel('Return URL').fill('https://shop.example/settings');
    await page.getByLabel('Viewer').check();
    await page.getByRole('button', { name: 'Create the link' }).click();
    const link = await page.getByRole('group', { name: 'Portal link' }).locator('code').innerText();
    const guest = await portal.visit({ isBrowserless: true, expecting: [403, 404] });
    await guest.open(new URL(link).pathname);
    await guest.page.getByRole('heading', { name: 'Overview' }).waitFor();
    assert.equal(await guest.page.getByRole('link', { name: 'Back to shop.example' }).count(), 1);
    assert.equal(await guest.open('/endpoints/new'), 403);

    await open(`/customers/${acme.id}/settings`);
    await page.getByRole('link', { name: 'Suspend' }).click();
    await page.getByText(/its webhooks stop and keep their\s+pending deliveries/).waitFor();
    await page.getByRole('button', { name: 'Suspend the customer' }).click();
    await page.getByText('This customer is suspended.').waitFor();
    await guest.open('/endpoints');
    assert.equal(new URL(guest.page.url()).pathname, '/session-ended');
    await page.getByRole('button', { name: 'Activate the customer Acme' }).click();
    await page.getByText('Acme is active.').waitFor();
    await guest.open('/endpoints');
    assert.equal(new URL(guest.page.url()).pathname, '/session-ended', 'the session ended for good');
  });

  it('open the portal as the customer, stay signed in, and leave it again', async (t) => {
    const portal = await startPortal(t);
    const acme = await makeCustomer(portal);
    const seen = await portal.signIn('administrator');
    await seen.open(`/customers/${acme.id}`);
    await seen.page.getByRole('button', { name: 'Open as this customer' }).click();
    await seen.page.getByText('You are looking at Acme as').waitFor();
    await seen.isAccessible();
    // With the same cookies. The first page would leave by itself when its session ends, while it is given back.
    await seen.page.goto('about:blank');
    const { page, open, context } = await portal.visit({ isBrowserless: true, expecting: [404] });
    await context.addCookies(await seen.context.cookies());
    await open('/products');
    await page.getByRole('heading', { name: 'There is nothing here' }).waitFor();
    await open('/audit?show=all');
    await page.getByText('your provider').first().waitFor();
    const main = page.getByRole('main');
    assert.equal(
      await main.getByText('administrator-', { exact: false }).count(),
      0,
      'no name of the operator’s people',
    );
    await open('/keys/new');
    await page.getByLabel('Name').fill('acme-2026');
    await page.getByLabel('Public key').fill(pgpVector('curve25519'));
    await page.getByRole('button', { name: 'Import the key' }).click();
    await page.getByText('acme-2026').first().waitFor();
    await page.getByRole('button', { name: 'Leave' }).click();
    await page.getByRole('heading', { name: 'Acme' }).waitFor();
    assert.equal(new URL(page.url()).pathname, `/customers/${acme.id}`);
    // In the operator's log, the person who made the link also opened it.
    const log = await succeeded<{ items: { action: string; actor: string }[] }>(
      portal.service.admin.get(`audit?target=customer:${acme.id}`),
    );
    const actorOf = (action: string) => log.items.find((entry) => entry.action === action)?.actor;
    assert.match(actorOf('customer.open-link') ?? '', /^user:/);
    assert.equal(actorOf('customer.open-link'), actorOf('customer.create-link'));
    // And this person is who made the changes there.
    const changes = await succeeded<typeof log>(portal.service.admin.get('audit?action=key.create'));
    assert.deepEqual(
      changes.items.map(({ actor }) => actor),
      [actorOf('customer.open-link')],
    );
    await open('/products');
    await page.getByRole('heading', { name: 'API products' }).waitFor();
  });

  it('give the portal a name, a logo and a colour, and refuse a logo that is more than a picture', async (t) => {
    const portal = await startPortal(t);
    const acme = await makeCustomer(portal);
    const { page, open } = await portal.signIn('administrator', { expecting: [400] });
    await open('/settings/customers-portal');
    await page.getByLabel('Logo').fill('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('must be a plain picture, without the element script').first().waitFor();
    await page
      .getByLabel('Logo')
      .fill('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><path d="M0 0h9v9z"/></svg>');
    await page.getByLabel('Your name').fill('Nordia');
    // The preview follows what is typed, and the colour picker too, in both directions.
    const colour = page.getByLabel('Accent colour', { exact: false }).first();
    await page.getByLabel('Pick: Accent colour').fill('#3366cc');
    assert.equal(await colour.inputValue(), '#3366cc');
    const preview = page.locator('.look-figure').first();
    await preview.getByText('#3366cc on light').waitFor();
    assert.equal(
      await page.evaluate("getComputedStyle(document.querySelector('.is-light .button-primary')).backgroundColor"),
      'rgb(51, 102, 204)',
    );
    await preview.getByAltText('Nordia').waitFor();
    await colour.fill('#ffee00');
    await page.getByText('Text in #ffee00 would be hard to read').first().waitFor();
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Text in #ffee00 would be hard to read').first().waitFor();
    const customer = await openAs(portal, acme);
    assert.match(await customer.page.title(), /– Nordia$/);
    assert.match((await customer.page.getByAltText('Nordia').getAttribute('src')) ?? '', /^data:image\/svg/);
    assert.equal(await customer.page.getByText('Sallyport', { exact: false }).count(), 0);
    const style = (await customer.page.locator('link[href^="/assets/accent/"]').getAttribute('href')) ?? '';
    const get = (path: string) => customer.page.request.get(new URL(path, customer.page.url()).href);
    const sent = await get(style);
    assert.match(sent.headers()['cache-control'] ?? '', /immutable/);
    assert.equal((await get(style.replace('ffee00', 'ffee01'))).status(), 404);
    await customer.isAccessible();
    const { items } = await succeeded<{ items: { action: string; changes: Record<string, { to: string }> }[] }>(
      portal.service.admin.get('audit?action=portal.update'),
    );
    assert.deepEqual([items.length, items[0]?.changes.name?.to], [1, 'Nordia']);
    assert.match(items[0]?.changes.logo?.to ?? '', /^\d+ characters/);
  });

  it('ask again if someone else has changed the look in the meantime', async (t) => {
    const portal = await startPortal(t);
    const [mine, theirs] = [
      await portal.signIn('administrator', { isBrowserless: true, expecting: [412] }),
      await portal.signIn('administrator', { isBrowserless: true }),
    ];
    for (const { open } of [mine, theirs]) await open('/settings/customers-portal');
    const save = async ({ page }: typeof mine, name: string): Promise<void> => {
      await page.getByLabel('Your name').fill(name);
      await page.getByRole('button', { name: 'Save' }).click();
    };
    await save(theirs, 'Nordia');
    await theirs.page.getByText('The look is saved.').waitFor();
    await save(mine, 'Sudia');
    await mine.page.getByText('This was changed after you opened it').waitFor();
    const compared = await mine.page.locator('.overtaken').innerText();
    for (const name of ['Nordia', 'Sudia']) assert.match(compared, new RegExp(name));
    await mine.page.getByRole('button', { name: 'Save' }).click();
    await mine.page.getByText('The look is saved.').waitFor();
    const { items } = await succeeded<{ items: { changes: { name: { from: string | null; to: string } } }[] }>(
      portal.service.admin.get('audit?action=portal.update'),
    );
    // The newest first. What was refused is not in the log.
    assert.deepEqual(
      items.map(({ changes }) => changes.name),
      [
        { from: 'Nordia', to: 'Sudia' },
        { from: null, to: 'Nordia' },
      ],
    );
  });

  it('filter failures and the live list by customer too', async (t) => {
    const portal = await startDeliverPortal(t);
    const { admin, service } = { ...portal, ...portal.portal };
    await makeEventType(admin, 'order.created');
    const [acme, globex] = [await makeCustomer(portal.portal), await makeCustomer(portal.portal, 'Globex')];
    const owners = [acme.id, globex.id, null];
    const names = ['Acme orders', 'Globex orders', 'My orders'];
    const webhooks: string[] = [];
    for (const [at, customerId] of owners.entries()) {
      const own = { name: names[at], ...(customerId !== null && { customerId }) };
      const one = await connect(portal, ['order.created'], {
        endpoint: own,
        webhook: { ...own, retry: { policy: 'linear', maxAttempts: 1 } },
      });
      one.at.answer(() => ({ status: 422 }));
      webhooks.push(one.webhook.id);
    }
    const publishAll = (): Promise<unknown> =>
      succeeded(admin.post('events', { type: 'order.created', data: {}, audience: 'everyone' }));
    await publishAll();
    for (const id of webhooks) await service.log.nextAttempt(id);
    const plain = await portal.openAs('viewer', '/deliveries/failures', { isBrowserless: true });
    const shown = async (place: string, { page } = plain): Promise<string[]> => {
      const text = await page.locator(place).innerText();
      return names.filter((name) => text.includes(name));
    };
    assert.deepEqual((await shown('#results')).toSorted(), names.toSorted());
    for (const [typed, found] of [
      ['Acme', ['Acme orders']],
      ['own', ['My orders']],
      ['nobody', []],
    ] as const) {
      await plain.open(`/deliveries/failures?customer=${typed}`);
      assert.deepEqual(await shown('#results'), found);
      await plain.open(`/deliveries/watch?customer=${typed}`);
      assert.deepEqual(await shown('.tail'), found);
    }
    const visitor = await portal.openAs('viewer', '/deliveries/watch?customer=Acme');
    const { page, open } = visitor;
    await page.getByLabel('Webhook').pressSequentially('orders');
    const suggested = page.locator('#field-webhook-list option');
    await suggested.first().waitFor({ state: 'attached' });
    const values = await suggested.evaluateAll((all) => all.map((one) => one.getAttribute('value')));
    assert.deepEqual(values, ['Acme orders · Acme']);
    await open('/deliveries/watch?customer=Acme');
    await page.locator('.tail-live.is-live').waitFor();
    await publishAll();
    await page.locator('.tail-row').nth(1).waitFor();
    for (const id of webhooks) await service.log.nextAttempt(id);
    assert.deepEqual(await shown('.tail', visitor), ['Acme orders']);
  });
});

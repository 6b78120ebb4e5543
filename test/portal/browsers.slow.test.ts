/** The portal in other browsers than Chromium. WebKit keeps neither `Secure` cookies over plain HTTP nor cookies of frames. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { succeeded } from '../support/client.ts';
import { type Shop, startShop } from '../support/customer-frame.ts';
import { type ServiceInProcess, startService } from '../support/service.ts';
import { DRIVEN, type Driven } from '../support/webdriver.ts';

describe('leaving a page with a live stream', () => {
  for (const [name, start] of Object.entries(DRIVEN)) {
    it(`logs no error in ${name}`, async (t) => {
      const service = await startService(t);
      const browser = await start(t);
      await signIn(browser, service, '/deliveries/watch');
      const live = `document.querySelector('[data-tail]')?.dataset.connected === 'true'`;
      await browser.until(live);
      await browser.evaluate(`(() => {
        sessionStorage.setItem('errors', '');
        console.error = (text) => sessionStorage.setItem('errors', sessionStorage.getItem('errors') + text + '\\n');
      })()`);
      await browser.go(`${service.url}/endpoints`);
      await browser.evaluate('history.back()');
      // The stream of the page comes back with it.
      await browser.until(live);
      await browser.evaluate(`document.querySelector('a[href="/endpoints"]').click()`);
      await browser.until(`document.querySelector('h1')?.textContent === 'Endpoints'`);
      assert.equal(await browser.evaluate(`sessionStorage.getItem('errors')`), '');
    });
  }
});

describe('a portal in a frame of another site', () => {
  const shown = {
    // WebKitGTK keeps no partitioned cookies.
    WebKit: { links: 2, until: `document.querySelector('#webhooks button') !== null` },
    Firefox: { links: 1, until: `!['', '320px'].includes(document.querySelector('iframe')?.style.height ?? '')` },
  };
  for (const [name, { links, until }] of Object.entries(shown)) {
    it(`makes ${links} with the sample of the documentation in ${name}`, async (t) => {
      const shop = await startShop(t);
      const { id } = await succeeded<{ id: string }>(shop.service.admin.post('customers', { name: 'Acme' }));
      const browser = await DRIVEN[name]?.(t);
      await browser?.go(shop.serveSample(id));
      await browser?.until(until);
      assert.equal(shop.linksMade(), links);
    });
  }
});

describe('signing in over plain HTTP on this machine', () => {
  for (const [name, start] of Object.entries(DRIVEN)) {
    it(`works in ${name}, by name and by address, and so does signing out`, async (t) => {
      const service = await startService(t);
      const browser = await start(t);
      for (const host of ['localhost', '127.0.0.1']) {
        await signIn(browser, { ...service, url: service.url.replace('127.0.0.1', host) }, '/endpoints');
        await browser.until(`document.querySelector('h1')?.textContent === 'Endpoints'`);
        await browser.evaluate(`document.querySelector('form[action="/sign-out"]').requestSubmit()`);
        await browser.until(`location.pathname === '/sign-in' && document.readyState === 'complete'`);
        await browser.go(`${service.url.replace('127.0.0.1', host)}/endpoints`);
        assert.equal(await browser.evaluate('location.pathname'), '/sign-in');
      }
    });
  }
});

describe('signing in over HTTPS', () => {
  for (const [name, start] of Object.entries(DRIVEN)) {
    it(`works in ${name}`, async (t) => {
      const { service, portalUrl } = await startShop(t);
      const browser = await start(t);
      await signIn(browser, { ...service, url: portalUrl }, '/endpoints');
      await browser.until(`document.querySelector('h1')?.textContent === 'Endpoints'`);
    });
  }
});

describe('a live list of the customers’ portal', () => {
  for (const [name, start] of Object.entries(DRIVEN)) {
    it(`stays where it is while it has the focus in ${name}`, async (t) => {
      const shop = await startShop(t);
      const customer = await readingCustomer(shop);
      const browser = await start(t);
      await browser.go(await shop.link(customer.id));
      await browser.go(`${shop.portalUrl}/deliveries`);
      await holdsStill(browser, customer);
    });
  }

  // WebKitGTK keeps no cookies in frames, so the portal is not shown there.
  it('stays where it is in a frame of another site in Firefox', async (t) => {
    const shop = await startShop(t);
    const customer = await readingCustomer(shop);
    const browser = await DRIVEN.Firefox?.(t);
    assert.ok(browser !== undefined);
    await browser.go(shop.serveSample(customer.id));
    await browser.until(`!['', '320px'].includes(document.querySelector('iframe')?.style.height ?? '')`);
    await browser.enterFrame();
    await browser.evaluate(`document.querySelector('a[href="/deliveries"]').click()`);
    await holdsStill(browser, customer);
  });
});

type Reading = { readonly id: string; publish(): Promise<void> };

/** A customer whose webhook is read, so that its deliveries wait. It has three. */
async function readingCustomer({ service: { admin } }: Shop): Promise<Reading> {
  const { id } = await succeeded<{ id: string }>(admin.post('customers', { name: 'Acme' }));
  await succeeded(admin.post('event-types', { name: 'order.created' }));
  const webhook = { customerId: id, name: 'Orders', mode: 'pull', eventTypes: ['order.created'] };
  const made = await succeeded<{ id: string }>(admin.post('webhooks', webhook));
  await succeeded(admin.post(`webhooks/${made.id}/start`));
  const publish = async (): Promise<void> =>
    void (await succeeded(admin.post('events', { type: 'order.created', customerId: id, data: {} })));
  for (let count = 0; count < 3; count += 1) await publish();
  return { id, publish };
}

/** The list of deliveries is shown. A new one waits behind the button while the list has the focus, and the button shows it. */
async function holdsStill(browser: Driven, { publish }: Reading): Promise<void> {
  const rows = `document.querySelectorAll('.delivery-list tbody tr').length`;
  // The scripts of a page that is just loaded still change the fields above the list.
  await browser.until(
    `document.readyState === 'complete' && ${rows} === 3 && document.querySelector('[data-live-list]') !== null`,
  );
  await browser.evaluate(`document.querySelector('.delivery-list tbody a').focus()`);
  const place = `document.querySelector('.delivery-list tbody tr').getBoundingClientRect().top`;
  const before = await browser.evaluate<number>(place);
  await publish();
  const pill = `document.querySelector('[data-live-pill] button')`;
  await browser.until(`${pill}.textContent === '1 new delivery' && !${pill}.parentElement.hidden`);
  assert.deepEqual([await browser.evaluate(rows), await browser.evaluate(place)], [3, before]);
  await browser.evaluate(`${pill}.click()`);
  await browser.until(`${rows} === 4 && ${pill}.parentElement.hidden`);
  // Nothing holds it now.
  await publish();
  await browser.until(`${rows} === 5`);
}

async function signIn(
  browser: Driven,
  { url, credentials }: Pick<ServiceInProcess, 'url' | 'credentials'>,
  path: string,
): Promise<void> {
  await browser.go(url + path);
  assert.equal(await browser.evaluate('location.pathname'), '/sign-in');
  await browser.evaluate(`(() => {
    const form = document.querySelector('form[action="/sign-in"]');
    form.elements.userName.value = ${JSON.stringify(credentials.adminUserName)};
    form.elements.password.value = ${JSON.stringify(credentials.adminPassword)};
    form.requestSubmit();
  })()`);
}

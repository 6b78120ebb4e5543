/** The portal in other browsers than Chromium. WebKit keeps neither `Secure` cookies over plain HTTP nor cookies of frames. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { succeeded } from '../support/client.ts';
import { startShop } from '../support/customer-frame.ts';
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
      const browser = await DRIVEN[name]?.(t, { isInsecure: true });
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

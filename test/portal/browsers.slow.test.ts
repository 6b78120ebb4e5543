/** The portal in other browsers than Chromium, over plain HTTP on this machine: WebKit drops `Secure` cookies there. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startService } from '../support/service.ts';
import { DRIVEN } from '../support/webdriver.ts';

describe('signing in over plain HTTP on this machine', () => {
  for (const [name, start] of Object.entries(DRIVEN)) {
    it(`works in ${name}, by name and by address, and so does signing out`, async (t) => {
      const service = await startService(t);
      const { adminUserName, adminPassword } = service.credentials;
      const browser = await start(t);
      for (const host of ['localhost', '127.0.0.1']) {
        await browser.go(`${service.url.replace('127.0.0.1', host)}/endpoints`);
        assert.equal(await browser.evaluate('location.pathname'), '/sign-in');
        await browser.evaluate(`(() => {
          const form = document.querySelector('form[action="/sign-in"]');
          form.elements.userName.value = ${JSON.stringify(adminUserName)};
          form.elements.password.value = ${JSON.stringify(adminPassword)};
          form.requestSubmit();
        })()`);
        await browser.until(`document.querySelector('h1')?.textContent === 'Endpoints'`);
        await browser.evaluate(`document.querySelector('form[action="/sign-out"]').requestSubmit()`);
        await browser.until(`location.pathname === '/sign-in' && document.readyState === 'complete'`);
        await browser.go(`${service.url.replace('127.0.0.1', host)}/endpoints`);
        assert.equal(await browser.evaluate('location.pathname'), '/sign-in');
      }
    });
  }
});

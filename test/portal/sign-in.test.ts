import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SESSION_COOKIE } from '../../src/portal/frame/cookies.ts';
import { startPortal } from '../support/browser.ts';

describe('signing in', () => {
  for (const isScriptless of [false, true]) {
    it(`leads to the page that was asked for, and out again${isScriptless ? ', without JavaScript' : ''}`, async (t) => {
      const { service, visit } = await startPortal(t);
      const { page, context, open } = await visit({ isScriptless });
      await open('/audit?action=user.create');
      assert.equal(new URL(page.url()).pathname, '/sign-in');
      await page.getByLabel('User name').fill(service.credentials.adminUserName);
      await page.getByLabel('Password').fill(service.credentials.adminPassword);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('heading', { name: 'Audit log' }).waitFor();
      assert.equal(new URL(page.url()).search, '?action=user.create');
      const cookie = (await context.cookies()).find(({ name }) => name === SESSION_COOKIE);
      assert.deepEqual(
        { httpOnly: cookie?.httpOnly, secure: cookie?.secure, sameSite: cookie?.sameSite, path: cookie?.path },
        { httpOnly: true, secure: false, sameSite: 'Lax', path: '/' },
      );
      await page.getByRole('button', { name: 'Administrator' }).click();
      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.getByRole('heading', { name: 'Sign in' }).waitFor();
      assert.equal(
        (await context.cookies()).some(({ name }) => name === SESSION_COOKIE),
        false,
      );
      await open('/');
      assert.equal(new URL(page.url()).pathname, '/sign-in');
    });
  }

  it('says the same of a wrong password and of an unknown user, and keeps the name that was typed', async (t) => {
    const { visit } = await startPortal(t);
    const visitor = await visit({ expecting: [401] });
    const plain = await visit({ isBrowserless: true, expecting: [401] });
    const texts: (string | null)[] = [];
    for (const [name, { page, open }] of [
      ['admin', plain],
      ['nobody', visitor],
    ] as const) {
      await open('/sign-in');
      await page.getByLabel('User name').fill(name);
      await page.getByLabel('Password').fill('not this one');
      await page.getByRole('button', { name: 'Sign in' }).click();
      const alert = page.getByRole('alert');
      await alert.waitFor();
      texts.push(await alert.textContent());
      assert.equal(await page.getByLabel('User name').inputValue(), name);
      assert.equal(await page.getByLabel('Password').inputValue(), '');
    }
    assert.equal(texts[0], texts[1]);
    await visitor.isAccessible();
  });
});

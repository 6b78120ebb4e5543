import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { COMMAND_LINE, SERVICE } from '../../src/domain/acting.ts';
import { startPortal } from '../support/browser.ts';
import { succeeded } from '../support/client.ts';

describe('the audit log', () => {
  it('shows who did what, with differences, and is accessible', async (t) => {
    const portal = await startPortal(t);
    const { admin } = portal.service;
    const { id } = await succeeded<{ id: string }>(admin.post('users', { userName: 'grace', role: 'operator' }));
    await succeeded(admin.patch(`users/${id}`, { displayName: 'Grace', role: 'viewer' }));
    const { page, open } = await portal.signIn('viewer', { isBrowserless: true });
    assert.equal(await open('/audit'), 200);
    const row = page.getByRole('row').filter({ hasText: 'user.update' });
    await row.getByText('Name: Grace, and 1 more').click();
    await row.getByText('operator').waitFor();
    assert.match((await row.textContent()) ?? '', /changed the user\s+Grace.*Name.*Grace.*Role.*operator.*viewer/s);
  });

  for (const isScriptless of [false, true]) {
    const how = isScriptless ? 'by itself, without JavaScript' : 'in place, with the address kept up to date';
    it(`is filtered ${how}`, async (t) => {
      const portal = await startPortal(t);
      await succeeded(portal.service.admin.post('users', { userName: 'grace' }));
      const { page, open } = await portal.signIn('viewer', { isScriptless });
      await open('/audit');
      if (!isScriptless) await page.evaluate('window.stays = true');
      await page.getByLabel('Action').selectOption('user.create');
      if (isScriptless) await page.getByRole('button', { name: 'Filter' }).click();
      await page.waitForURL(/action=user\.create/);
      await page.getByRole('row').filter({ hasText: 'application.create' }).waitFor({ state: 'detached' });
      await page.getByRole('row').filter({ hasText: 'grace' }).waitFor();
      if (!isScriptless) {
        assert.equal(await page.evaluate('window.stays'), true);
        assert.equal(new URL(page.url()).search, '?action=user.create');
      }
    });

    it(`is paged ${how}`, async (t) => {
      const portal = await startPortal(t);
      for (let at = 0; at < 60; at += 1)
        await portal.service.services.users.create({ userName: `user-${at}` }, SERVICE);
      const { page, open } = await portal.signIn('viewer', { isBrowserless: isScriptless });
      await open('/audit?action=user.create&actor=service');
      await page.getByText('user-59', { exact: true }).first().waitFor();
      assert.equal(await page.getByText('user-5', { exact: true }).count(), 0);
      await page.getByRole('link', { name: 'Next page' }).click();
      await page.getByText('user-5', { exact: true }).first().waitFor();
      assert.match(page.url(), /actor=service.*cursor=/);
      await page.getByRole('link', { name: 'First page' }).click();
      await page.getByText('user-59', { exact: true }).first().waitFor();
    });
  }

  it('filters by every column, and shows the filters of its address', async (t) => {
    const portal = await startPortal(t);
    const { services } = portal.service;
    await services.erasures.erase({ subject: 'anna@example.com' }, COMMAND_LINE);
    const { page, open } = await portal.signIn('viewer', { isBrowserless: true });
    await open('/audit');
    const did = page.getByLabel('Action');
    for (const name of [
      'Requested the erasure of a person’s data',
      'Erased a person’s data',
      'Downloaded a backup',
      'Restored a backup',
      'Rotated the master key',
      'Added a passkey',
      'Removed a passkey',
    ]) {
      assert.equal(await did.locator('option', { hasText: name }).count(), 1, name);
    }
    await open('/audit?action=event.erase-done');
    assert.equal(await did.locator('option:checked').textContent(), 'Erased a person’s data');
    await page.getByRole('rowheader', { name: /erased a person’s data: anna@example.com/ }).waitFor();
    // The beginning of several, as a link may have it.
    await open('/audit?action=event.');
    assert.equal(await did.locator('option:checked').textContent(), 'event.');
    assert.equal(await page.locator('tbody tr').count(), 2);
  });

  it('can be empty, and says how to go on', async (t) => {
    const portal = await startPortal(t);
    const { page, open } = await portal.signIn('viewer', { isBrowserless: true });
    const { id } = await succeeded<{ id: string }>(portal.service.admin.post('customers', { name: 'Acme' }));
    // No customer: what the address asks for is a filter too.
    await open('/audit?show=sign-ins&customer=');
    await page.getByRole('row').first().waitFor();
    await open(`/audit?show=sign-ins&customer=${id}`);
    await page.getByRole('heading', { name: 'Nothing found' }).waitFor();
    await open('/audit?target=nothing');
    await page.getByRole('heading', { name: 'Nothing found' }).waitFor();
    await page.getByRole('link', { name: 'Show all' }).click();
    await page.getByRole('row').first().waitFor();
  });

  it('refuses a time that is none', async (t) => {
    const portal = await startPortal(t);
    const { page, open } = await portal.signIn('viewer', { isBrowserless: true, expecting: [400] });
    assert.equal(await open('/audit?since=yesterday'), 400);
    await page.getByText('Since must be a time').waitFor();
  });
});

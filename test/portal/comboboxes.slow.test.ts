/** Fields with suggestions, and the pages that the search remembers, in a real browser. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { startPortal } from '../support/browser.ts';
import { created, makeCustomer } from '../support/customers.ts';
import { sent } from '../support/sent-deliveries.ts';

const options = (page: Page) => page.getByRole('listbox', { name: 'Suggestions' }).getByRole('option');

describe('a field with suggestions', () => {
  it('completes the last word of the search line with keys and with the mouse, and searches', async (t) => {
    const { openAs } = await sent(t, 1);
    const { page, isAccessible } = await openAs('viewer', '/deliveries');
    const field = page.getByRole('combobox', { name: 'Search deliveries' });
    // The browser shows no list of its own.
    assert.equal(await field.getAttribute('list'), null);
    await field.click();
    await options(page).filter({ hasText: 'state:dead' }).waitFor();
    assert.equal(await field.getAttribute('aria-expanded'), 'true');
    await isAccessible();
    await page.keyboard.press('Escape');
    await options(page).first().waitFor({ state: 'hidden' });
    await page.keyboard.type('since:1h state:dea');
    assert.deepEqual(await options(page).locator('code').allInnerTexts(), ['state:dead']);
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('Enter');
    await page.waitForURL((url) => url.searchParams.get('q') === 'since:1h state:dead');
    await page.getByRole('combobox', { name: 'Search deliveries' }).pressSequentially('webhook:d');
    await options(page).filter({ hasText: 'webhook:Dock' }).click();
    await page.waitForURL((url) => url.searchParams.get('q')?.endsWith('webhook:Dock') === true);
    // Without a marked suggestion, Enter searches for what was typed.
    await page.getByRole('combobox', { name: 'Search deliveries' }).pressSequentially('42');
    await options(page).first().waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL((url) => url.searchParams.get('q')?.includes('42') === true);
  });

  it('shows what the server finds as soon as it is clicked, and filters by the choice', async (t) => {
    const portal = await startPortal(t);
    const name = 'Acme Stores';
    await makeCustomer(portal.service, name);
    await makeCustomer(portal.service, 'Bolt Hardware');
    const { page, open } = await portal.signIn('administrator');
    await open('/audit');
    const field = page.getByRole('combobox', { name: 'Customer' });
    await field.click();
    await options(page).filter({ hasText: 'Bolt Hardware' }).waitFor();
    await field.pressSequentially('acme');
    await options(page).filter({ hasText: 'Bolt Hardware' }).waitFor({ state: 'detached' });
    await options(page).filter({ hasText: name }).click();
    await page.waitForURL((url) => url.searchParams.get('customer') === name);
    await options(page).first().waitFor({ state: 'hidden' });
    // Leaving the field closes the list.
    await field.fill('');
    await field.click();
    await options(page).first().waitFor();
    await page.keyboard.press('Tab');
    await options(page).first().waitFor({ state: 'hidden' });
  });
});

describe('a long list of choices', () => {
  it('is searched by name, and the form has the value of the chosen one', async (t) => {
    const portal = await startPortal(t);
    const { admin } = portal.service;
    const made = (name: string) => created(admin, 'endpoints', { name, url: 'https://hooks.example.com/in' });
    const endpoints = new Map<string, string>();
    for (let n = 1; n <= 12; n += 1) endpoints.set(`Shop ${n}`, (await made(`Shop ${n}`)).id);
    const { page, open, isAccessible } = await portal.signIn('administrator');
    await open('/webhooks/new');
    const field = page.getByRole('combobox', { name: 'Endpoint' });
    await field.click();
    await options(page).nth(11).waitFor();
    await isAccessible();
    await page.evaluate(`addEventListener('change', ({ target }) => (window.heard ??= []).push(target.name))`);
    await field.pressSequentially('shop 1');
    assert.deepEqual(await options(page).locator('b').allInnerTexts(), ['Shop 1', 'Shop 10', 'Shop 11', 'Shop 12']);
    await options(page).filter({ hasText: 'Shop 11' }).click();
    const chosen = page.locator('select[name="endpointId"]');
    assert.equal(await chosen.inputValue(), endpoints.get('Shop 11'));
    assert.deepEqual(await page.evaluate('window.heard'), ['endpointId'], 'one change for one choice');
    // A text that is no choice changes nothing.
    await field.fill('nonsense');
    await field.press('Tab');
    assert.deepEqual([await field.inputValue(), await chosen.inputValue()], ['Shop 11', endpoints.get('Shop 11')]);
    // If it must be chosen, the browser says so at the field that people see.
    await field.fill('');
    await field.press('Tab');
    assert.equal(await chosen.inputValue(), '');
    await page.locator('#field-name').fill('Orders');
    assert.equal(await page.evaluate(`document.querySelector('main form.form').reportValidity()`), false);
    assert.equal(await page.evaluate('document.activeElement.id'), await field.getAttribute('id'));
  });
});

describe('the search before anything is typed', () => {
  it('has the pages that the tab showed last, and forgets them with the person', async (t) => {
    const portal = await startPortal(t);
    const { page, open } = await portal.signIn('administrator', { expecting: [404] });
    const types = [];
    for (const name of ['order.created', 'order.shipped'])
      types.push(await created(portal.service.admin, 'event-types', { name }));
    for (const { id } of types) await open(`/event-types/${id}`);
    await open('/event-types/01933f2a-0000-7000-8000-000000000000');
    await open('/');
    await page.keyboard.press('Control+k');
    const recent = page.locator('#search-results [aria-label="Recent"] a');
    await recent.first().waitFor();
    assert.deepEqual(await recent.locator('.search-name').allInnerTexts(), ['order.shipped', 'order.created']);
    await recent.last().click();
    await page.waitForURL(`**/event-types/${types[0]?.id}`);
    // Someone else in the same tab.
    await page.evaluate(`document.querySelector('.account-button').textContent = 'Grace'`);
    await page.keyboard.press('Control+k');
    await page.locator('#search-results a').first().waitFor();
    assert.equal(await recent.count(), 0);
  });
});

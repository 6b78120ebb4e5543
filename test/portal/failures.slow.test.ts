/** Failed requests of the portal's script: the page stays as it is and shows a message. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { deferred } from '../support/deferred.ts';
import { startDeliverPortal } from '../support/deliver-portal.ts';
import { makeEndpoint, makeEventType, makeWebhook } from '../support/journey.ts';

/** The response of a proxy while Sallyport does not answer. */
const BAD_GATEWAY = { status: 502, contentType: 'text/html', body: '<h1>502 Bad Gateway</h1>' };

/** Waits for a message where screen readers announce it. */
function said(page: Page, text: string): Promise<void> {
  return page.getByRole('alert').filter({ hasText: text }).waitFor();
}

function nothingSaid(page: Page): Promise<void> {
  return page.locator('#failure .notice').waitFor({ state: 'hidden' });
}

describe('a failed request of a page', () => {
  it('leaves the list, its filters and the URL as they are', async (t) => {
    const { openAs } = await startDeliverPortal(t);
    const { page, isAccessible } = await openAs('viewer', '/audit', { expecting: [400, 502] });
    await page.route('**/audit?*', (route) => route.fulfill(BAD_GATEWAY));
    await page.getByLabel('Action').selectOption('user.create');
    await said(page, 'The server answered 502.');
    await isAccessible();
    await page.getByRole('row').filter({ hasText: 'application.create' }).waitFor();
    assert.equal(new URL(page.url()).search, '');
    await page.unroute('**/audit?*');
    await page.getByLabel('Action').selectOption('user.delete');
    await page.getByText('No entries fit these filters.').waitFor();
    await nothingSaid(page);

    // Refusals by Sallyport have their own text.
    await page.evaluate("document.querySelector('[name=since]').type = 'text'");
    await page.getByText('Period', { exact: true }).click();
    await page.getByLabel('From').fill('yesterday');
    await said(page, 'Since must be a time');
    await page.getByText('No entries fit these filters.').waitFor();
    // Leaving the field asks once more.
    const asked = page.evaluate(`new Promise((resolve) =>
      document.addEventListener('htmx:finally:request', () => resolve(), { once: true }))`);
    await page.getByLabel('From').blur();
    await asked;
    await page.getByRole('button', { name: 'Close' }).click();
    await nothingSaid(page);
  });

  it('reports a lost connection, and removes the report after the next successful request', async (t) => {
    const { openAs } = await startDeliverPortal(t);
    const { page } = await openAs('viewer', '/audit', { expecting: ['Failed to fetch'] });
    await page.route('**/audit?*', (route) => route.abort('aborted'));
    await page.getByLabel('Action').selectOption('user.create');
    await said(page, 'There is no connection.');
    await page.getByRole('row').filter({ hasText: 'application.create' }).waitFor();
    await page.unroute('**/audit?*');
    await page.getByLabel('Action').selectOption('user.delete');
    await nothingSaid(page);
  });

  it('shows that no answer came in time, for a test event after the time-out of its receiver', async (t) => {
    const { admin, receiver, openAs } = await startDeliverPortal(t);
    await makeEventType(admin, 'order.created');
    const at = receiver.endpoint('/in');
    const endpoint = await makeEndpoint(admin, at, { name: 'Shop' });
    const { id } = await makeWebhook(admin, endpoint, ['order.created'], { name: 'Orders', timeoutSeconds: 60 });
    const { page, open } = await openAs('operator', '/account', { expecting: ['htmx:error: timeout'] });
    await page.clock.install();
    await open('/audit');
    await page.route('**/audit?*', () => {});
    const asked = page.waitForRequest('**/audit?*');
    await page.getByLabel('Action').selectOption('user.create');
    await asked;
    await page.clock.fastForward(31_000);
    await said(page, 'No answer came in time.');

    await open(`/webhooks/${id}`);
    const held = deferred();
    at.answer(async () => {
      await held.promise;
      return { status: 204 };
    });
    const sent = page.waitForRequest('**/test');
    await page.getByRole('button', { name: 'Send a test event through Orders' }).click();
    await sent;
    await page.clock.fastForward(61_000);
    await nothingSaid(page);
    held.resolve();
    await page.getByText(/It arrived after/).waitFor();
  });

  it('shows that a live page is not up to date until it reconnects', async (t) => {
    const { portal } = await startDeliverPortal(t);
    const { page, open } = await portal.signIn('viewer', {
      expecting: [503, 'SSE reconnect failed with status 503'],
    });
    const connected = page.waitForResponse('**/overview/live?*');
    await open('/');
    await connected;
    await page.route('**/overview/live?*', (route) => route.fulfill({ status: 503 }));
    await page.evaluate(`for (const hidden of [true, false]) {
      Object.defineProperty(document, 'hidden', { configurable: true, get: () => hidden });
      document.dispatchEvent(new Event('visibilitychange'));
    }`);
    await said(page, 'This page is not up to date.');
    await page.unroute('**/overview/live?*');
    await nothingSaid(page);
  });
});

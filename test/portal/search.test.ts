/** The search over everything, and the keyboard shortcuts, in a real browser. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SEARCH_PER_KIND } from '../../src/kernel/limits/portal.ts';
import { MARKUP, startDeliverPortal } from '../support/deliver-portal.ts';
import { deliveriesOf, makeEndpoint, makeEventType, makeWebhook, publish } from '../support/journey.ts';

describe('the search', () => {
  it('opens by Ctrl K, finds by name and id, and is used by keyboard alone', async (t) => {
    const { openAs, admin, receiver } = await startDeliverPortal(t);
    await makeEventType(admin, 'order.created');
    const endpoint = await makeEndpoint(admin, receiver.endpoint('/shop'), { name: 'Corner shop' });
    const webhook = await makeWebhook(admin, endpoint, ['order.*'], { name: `Orders ${MARKUP}` });
    await publish(admin, 'order.created', {});
    const { page, isAccessible } = await openAs('viewer', '/');
    await page.keyboard.press('Control+k');
    const field = page.getByRole('searchbox', { name: 'Find anything' });
    await field.pressSequentially('ORDER');
    const hits = page.locator('#search-results a');
    await hits.filter({ hasText: 'order.created' }).waitFor();
    assert.deepEqual((await hits.locator('.search-kind').allInnerTexts()).sort(), ['Event type', 'Webhook']);
    await isAccessible();
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowDown');
    await page.keyboard.press('ArrowUp');
    assert.match(String(await page.evaluate('document.activeElement.textContent')), /Orders/);
    await page.keyboard.press('Enter');
    await page.waitForURL(new RegExp(`/webhooks/${webhook.id}$`));

    await page.keyboard.press('/');
    await field.fill(endpoint.id.toUpperCase());
    await hits.filter({ hasText: 'Corner shop' }).waitFor();
    await page.keyboard.press('Escape');
    assert.equal(await field.isVisible(), false);

    const [delivery] = await deliveriesOf(admin, webhook);
    await page.keyboard.press('Control+k');
    await field.fill(delivery?.id ?? '');
    await hits.filter({ hasText: delivery?.id ?? '' }).waitFor();
    await page.keyboard.press('Enter');
    await page.waitForURL(new RegExp(`/deliveries/${delivery?.id}$`));
  });

  it('is a page without JavaScript, says when nothing was found, and finds pages', async (t) => {
    const { openAs } = await startDeliverPortal(t);
    const { page, open } = await openAs('viewer', '/', { isScriptless: true });
    await page.getByRole('link', { name: 'Search' }).click();
    await page.getByRole('searchbox').first().fill('settings');
    await page.getByRole('button', { name: 'Filter' }).click();
    await page.locator('.search-hits').getByRole('link', { name: 'Settings' }).click();
    await page.waitForURL(/settings$/);
    await open(`/search?q=${encodeURIComponent(MARKUP)}`);
    await page.getByText(`Nothing found for “${MARKUP}”.`).waitFor();
  });

  it('shows a few of each kind', async (t) => {
    const { openAs, admin, receiver } = await startDeliverPortal(t);
    const at = receiver.endpoint('/in');
    for (let count = 0; count <= SEARCH_PER_KIND; count += 1) await makeEndpoint(admin, at, { name: `Shop ${count}` });
    const { page } = await openAs('viewer', '/search?q=shop');
    assert.equal(await page.locator('.page .search-hits a').count(), SEARCH_PER_KIND);
  });
});

describe('keyboard shortcuts', () => {
  it('are listed at “?”, and go to pages, except while somebody types', async (t) => {
    const { openAs } = await startDeliverPortal(t);
    const { page, isAccessible } = await openAs('viewer', '/');
    await page.keyboard.press('?');
    const list = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
    await list.getByText('Webhooks').waitFor();
    await isAccessible();
    await page.keyboard.press('Escape');
    await page.keyboard.press('g');
    await page.keyboard.press('w');
    await page.waitForURL(/webhooks$/);
    await page.keyboard.press('g');
    await page.keyboard.press('e');
    await page.waitForURL(/endpoints$/);
    await page.keyboard.press('g');
    await page.keyboard.press('u');
    await page.waitForURL(/users$/);
    await page.getByLabel('Name').first().pressSequentially('g?/w');
    assert.equal(await list.isVisible(), false);
    await page.waitForURL(/users\?q=/);
  });
});

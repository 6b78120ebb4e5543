/** The overview in a real browser: the state of the service, charts and problems. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { type Portal, startPortal } from '../support/browser.ts';
import { createClient, tokenFor } from '../support/client.ts';
import { until } from '../support/dispatching.ts';
import { connect, deliveriesOf, importKey, makeEventType, publish } from '../support/journey.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { changeBeside } from '../support/service.ts';
import { ACTOR } from '../support/services.ts';
import { sharedCertificates } from '../support/tls.ts';
import { pgpVector } from '../support/vectors.ts';

const TYPE = 'order.created';

async function opened(t: TestContext): Promise<{ portal: Portal; receiver: Receiver }> {
  const { ca, server } = sharedCertificates();
  const portal = await startPortal(t, { ca });
  const receiver = await startReceiver(t, server, { clock: portal.service.clock });
  await makeEventType(portal.service.admin, TYPE);
  return { portal, receiver };
}

/** A figure by its name, with the text below it. */
async function figure(page: Page, name: string): Promise<string> {
  const dt = page.locator('.figure').filter({ has: page.locator('dt', { hasText: name }) });
  return (await dt.innerText()).split('\n').slice(1).join(' | ');
}

describe('the overview', () => {
  it('shows the set-up steps until the first delivery', async (t) => {
    const { portal, receiver } = await opened(t);
    const { page, open } = await portal.signIn('viewer');
    assert.equal(await open('/'), 200);
    await page.getByRole('heading', { name: 'Set up' }).waitFor();
    assert.equal(await figure(page, 'Delivered'), '0 | in the last hour');
    assert.equal(await figure(page, 'Success rate'), '– | no attempts yet');
    await page.getByText('No event was sent in the last hour.').waitFor();
    await page.getByText('No webhook yet. Problems will be listed here.').waitFor();
    const { at } = await connect({ admin: portal.service.admin, receiver }, [TYPE]);
    await publish(portal.service.admin, TYPE, { n: 1 });
    await at.next();
    // It goes on by itself: the figure, and a chart where there was none.
    await page.locator('.figure', { hasText: 'Delivered' }).getByText('1', { exact: true }).waitFor();
    await page.locator('.chart canvas').first().waitFor();
    await open('/');
    assert.equal(await page.getByRole('heading', { name: 'Set up' }).count(), 0);
    // A token is refused, and two calls with one that is none.
    await assert.rejects(tokenFor(portal.url, { clientId: 'nobody', clientSecret: 'nothing' }));
    for (let n = 0; n < 2; n += 1) await createClient(portal.url, 'spt_none').get('users');
    await page.locator('.figure', { hasText: 'Tokens issued' }).getByText('1 token and 2 calls refused').waitFor();
  });

  it('shows deliveries, response times, waiting records and problems with links', async (t) => {
    const { portal, receiver } = await opened(t);
    const { admin, clock } = portal.service;
    const good = await connect({ admin, receiver }, [TYPE], { webhook: { name: 'Shop', maxBatchRecords: 1 } });
    const bad = await connect({ admin, receiver }, [TYPE], {
      webhook: { name: 'Warehouse' },
      endpoint: { name: 'Dock' },
    });
    // Not again while the page is looked at.
    bad.at.answer(() => ({ status: 503, headers: { 'retry-after': '3600' } }));
    await importKey(admin, 'hr-2026', pgpVector('curve25519'));
    await changeBeside(t, portal.service, `UPDATE pgp_key SET expires_at = ${clock() + 3 * 86_400_000 + 60_000}`);
    await publish(admin, TYPE, { n: 1 }, { n: 2 }, { n: 3 });
    for (let n = 0; n < 3; n += 1) await portal.service.log.nextAttempt(good.webhook.id);
    await portal.service.log.line(({ msg }) => msg === 'webhook failing');
    const { page, open, isAccessible } = await portal.signIn('viewer');
    await open('/');
    assert.equal(await figure(page, 'Delivered'), '3 | in the last hour');
    assert.match(await figure(page, 'Success rate'), /^75.0 % \| 1 of 4 attempts failed$/);
    assert.match(await figure(page, 'Response time'), /^\d.* \| median; 95 % within \d/);
    assert.match(await figure(page, 'Pending now'), /^3 \| oldest /);
    assert.match(await figure(page, 'Tokens issued'), /^1 \| none refused$/);
    const row = page.getByRole('row', { name: /Warehouse/ }).first();
    assert.match(await row.innerText(), /failing[\s\S]*3 pending[\s\S]*The receiver answered 503\./);
    await page
      .getByRole('row', { name: /hr-2026/ })
      .getByText('in 3 days')
      .waitFor();
    // The same numbers as text.
    await page.getByText('Delivery attempts per minute as a table').click();
    assert.equal(await page.locator('.chart').first().getByRole('row').count(), 61);
    await isAccessible();
    await row.getByRole('link', { name: 'Warehouse', exact: true }).click();
    await page.getByRole('heading', { name: 'Warehouse', level: 1 }).waitFor();
    await page.goBack();
    await page.locator('.figure', { hasText: 'Pending' }).getByRole('link').click();
    await page.waitForURL('**/deliveries?state=pending');
  });

  it('shows an hour, a day or a week by its URL, and keeps sections open while it updates', async (t) => {
    const { portal, receiver } = await opened(t);
    const { admin, services } = portal.service;
    const { at, webhook } = await connect({ admin, receiver }, [TYPE]);
    await publish(admin, TYPE, { n: 1 });
    await portal.service.log.nextAttempt(webhook.id);
    await at.next();
    // An advance during its settlement would end the lease, and it would go out again.
    await until('the delivery', async () => (await deliveriesOf(admin, webhook))[0]?.state === 'delivered');
    portal.service.advance(3 * 3_600_000);
    const plain = await portal.signIn('viewer', { isBrowserless: true });
    await plain.open('/');
    assert.equal(await figure(plain.page, 'Delivered'), '0 | in the last hour');
    await plain.page.getByRole('link', { name: 'Last day' }).click();
    await plain.page.waitForURL('**/?period=day');
    assert.equal(await figure(plain.page, 'Delivered'), '1 | in the last day');
    await plain.page.getByRole('link', { name: 'Last week' }).click();
    await plain.page.waitForURL('**/?period=week');
    assert.equal(await figure(plain.page, 'Delivered'), '1 | in the last week');
    const { page, open } = await portal.signIn('viewer');
    await open('/?period=hour');
    await services.publish({ type: TYPE, data: {} }, ACTOR);
    await at.next();
    await page.locator('.figure', { hasText: 'Delivered' }).getByText('1', { exact: true }).waitFor();
    await page.getByText('Delivery attempts per minute as a table').click();
    await services.publish({ type: TYPE, data: {} }, ACTOR);
    await at.next();
    await page.locator('.figure', { hasText: 'Delivered' }).getByText('2', { exact: true }).waitFor();
    assert.equal(await page.locator('.chart details').first().getAttribute('open'), '');
    await page.locator('.chart').first().getByRole('row').nth(1).waitFor();
  });

  for (const isScriptless of [false, true]) {
    it(`starts a webhook that stopped, and says so, ${isScriptless ? 'without' : 'with'} JavaScript`, async (t) => {
      const { portal, receiver } = await opened(t);
      const { admin, log } = portal.service;
      const { at, webhook } = await connect({ admin, receiver }, [TYPE], { webhook: { name: 'Warehouse' } });
      at.answer(() => ({ status: 410 }));
      await publish(admin, TYPE, { n: 1 });
      await log.line(({ msg }) => msg === 'webhook stopped');
      const { page, open } = await portal.signIn('operator', { isBrowserless: isScriptless });
      await open('/?period=day');
      const row = page.locator('#attention').getByRole('row', { name: /Warehouse/ });
      await row.getByText('stopped').waitFor();
      at.answer(() => ({ status: 204 }));
      await row.getByRole('button', { name: 'Start the webhook Warehouse' }).click();
      await page.getByText('Warehouse is started.').waitFor();
      assert.equal(new URL(page.url()).search, '?period=day');
      assert.equal(await row.count(), 0);
      const { state } = await portal.service.services.webhooks.get(webhook.id).then(({ progress }) => progress);
      assert.notEqual(state, 'stopped');
    });
  }

  it('frees removed charts', async (t) => {
    const { portal, receiver } = await opened(t);
    const { admin } = portal.service;
    const { at, webhook } = await connect({ admin, receiver }, [TYPE]);
    await publish(admin, TYPE, { n: 1 });
    await portal.service.log.nextAttempt(webhook.id);
    await at.next();
    const { page, open } = await portal.signIn('viewer');
    // uPlot listens at the window for as long as it has a chart.
    await page.addInitScript(`window.listening = 0;
      const { addEventListener, removeEventListener } = window;
      window.addEventListener = (name, ...rest) => {
        if (name === 'dppxchange') window.listening += 1;
        addEventListener.call(window, name, ...rest);
      };
      window.removeEventListener = (name, ...rest) => {
        if (name === 'dppxchange') window.listening -= 1;
        removeEventListener.call(window, name, ...rest);
      };`);
    await open('/');
    await page.locator('.chart canvas').first().waitFor();
    const charts = await page.locator('.chart canvas').count();
    const kept = (await page.evaluate('listening')) as number;
    assert.ok(kept >= charts);
    // Dragging over a chart zooms in.
    const all = page.getByRole('button', { name: 'Show everything' }).first();
    const plot = await page.locator('.chart .u-over').first().boundingBox();
    assert.ok(plot !== null);
    const middle = plot.y + plot.height / 2;
    await page.mouse.move(plot.x + plot.width * 0.4, middle);
    await page.mouse.down();
    await page.mouse.move(plot.x + plot.width * 0.8, middle, { steps: 3 });
    await page.mouse.up();
    await all.waitFor();
    await all.click();
    await all.waitFor({ state: 'hidden' });
    await page.emulateMedia({ colorScheme: 'dark' });
    assert.equal(await page.evaluate('listening'), kept, 'another theme leaves the old drawings behind');
    // At once, since the live parts are replaced every few seconds.
    const left = await page.evaluate(`(() => {
      for (const chart of document.querySelectorAll('[data-chart]')) chart.remove();
      htmx.process(document.body);
      return listening;
    })()`);
    assert.equal(left, kept - charts);
  });

  it('works without JavaScript', async (t) => {
    const { portal, receiver } = await opened(t);
    const { admin } = portal.service;
    const { at, webhook } = await connect({ admin, receiver }, [TYPE], { webhook: { name: 'Warehouse' } });
    at.answer(() => ({ status: 500, headers: { 'retry-after': '3600' } }));
    await publish(admin, TYPE, { n: 1 });
    await portal.service.log.nextAttempt(webhook.id);
    const { page, open } = await portal.signIn('viewer', { isScriptless: true, width: 390 });
    await open('/');
    // Above problems, a phone has the numbers alone.
    assert.equal(await figure(page, 'Success rate'), '0 %');
    await page
      .getByRole('row', { name: /Warehouse/ })
      .first()
      .waitFor();
    await page.getByText('Delivery attempts per minute as a table').click();
    await page.locator('.chart').first().getByRole('row').nth(1).waitFor();
    await page.getByRole('link', { name: 'Last week' }).click();
    await page.waitForURL('**/?period=week');
    await page.getByRole('heading', { name: 'Delivery attempts per hour' }).waitFor();
    // Nothing is wider than the screen.
    assert.equal(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true);
  });
});

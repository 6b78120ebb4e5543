/** Pages that follow what happens, in a real browser: nobody reloads them, and nobody loses their place. */
import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import type { WebhookView } from '../../src/webhooks/webhook-schema.ts';
import { succeeded } from '../support/client.ts';
import { deferred } from '../support/deferred.ts';
import { type DeliverPortal, startDeliverPortal } from '../support/deliver-portal.ts';
import { connect, deliveriesOf, makeEventType, startWebhook, stopWebhook } from '../support/journey.ts';
import type { ReceivingEndpoint } from '../support/receiver.ts';
import { ACTOR } from '../support/services.ts';

const TYPE = 'order.created';

type Dock = DeliverPortal & {
  readonly at: ReceivingEndpoint;
  readonly webhook: WebhookView;
  /** Publishes one event and resolves with its delivery's id once its first attempt has settled. */
  sendOne(): Promise<string>;
};

/** A webhook that gives up after one attempt. */
async function dock(t: TestContext): Promise<Dock> {
  const deliver = await startDeliverPortal(t);
  const { admin, portal } = deliver;
  await makeEventType(admin, TYPE);
  const { at, webhook } = await connect(deliver, [TYPE], {
    webhook: { name: 'Dock', maxBatchRecords: 1, heartbeatSeconds: 0, retry: { policy: 'linear', maxAttempts: 1 } },
  });
  const sendOne = async (): Promise<string> => {
    await portal.service.services.publish({ type: TYPE, data: {} }, ACTOR);
    await portal.service.log.nextAttempt(webhook.id);
    return (await deliveriesOf(admin, webhook)).at(-1)?.id ?? '';
  };
  return { ...deliver, at, webhook, sendOne };
}

/** Marks the document, so that a reload would show. */
async function notReloaded(page: Page): Promise<() => Promise<void>> {
  await page.evaluate('window.marked = true');
  return async () => assert.equal(await page.evaluate('window.marked'), true, 'the page was loaded again');
}

describe('the page of a delivery', () => {
  it('shows the attempt that "Send again" leads to, from waiting to its end', async (t) => {
    const { at, sendOne, openAs } = await dock(t);
    at.answer(() => ({ status: 422 }));
    const id = await sendOne();
    const { page } = await openAs('operator', `/deliveries/${id}`);
    await page.getByText('Given up after one attempt.').waitFor();
    const held = deferred();
    at.answer(async () => {
      await held.promise;
      return { status: 204 };
    });
    await page.getByRole('button', { name: 'Send again' }).click();
    await page.getByText('Sending again.').waitFor();
    await page.getByText('Attempt 2 is in progress.').waitFor();
    const unchanged = await notReloaded(page);
    assert.equal(await page.getByRole('button', { name: 'Send again' }).count(), 0);
    held.resolve();
    await page.getByText(/^Delivered when it was sent again \(attempt 2\)/).waitFor();
    await page.locator('.page-title').getByText('delivered').waitFor();
    await page.locator('.moment-title', { hasText: /^Sent again by \S/ }).waitFor();
    await page.locator('.moment-title', { hasText: 'Attempt 2' }).waitFor();
    await page.getByRole('button', { name: 'Send again' }).waitFor();
    assert.equal(await page.locator('.attempt').count(), 2);
    await unchanged();
  });

  it('keeps open sections, the chosen tab, the focus and the place while it changes', async (t) => {
    const { admin, at, webhook, sendOne, openAs, portal } = await dock(t);
    at.answer(() => ({ status: 422 }));
    const id = await sendOne();
    await portal.service.services.deliveries.replay(id, ACTOR);
    await portal.service.log.nextAttempt(webhook.id);
    const { page } = await openAs('operator', `/deliveries/${id}`);
    const attempts = page.locator('.attempt');
    await attempts.first().locator('summary').first().click();
    await page.getByRole('tab', { name: 'As it is received' }).click();
    const link = page.getByRole('link', { name: 'Who got this event' });
    await link.focus();
    await page.evaluate('scrollTo(0, 200)');
    const unchanged = await notReloaded(page);
    await portal.service.services.deliveries.replay(id, ACTOR);
    await portal.service.log.nextAttempt(webhook.id);
    await attempts.nth(2).waitFor();
    assert.equal(await attempts.first().getAttribute('open'), '');
    assert.equal(await page.getByRole('tab', { name: 'As it is received' }).getAttribute('aria-selected'), 'true');
    assert.equal(await page.getByText('"messageId"').isVisible(), true);
    assert.equal(await link.evaluate((element) => element === element.ownerDocument.activeElement), true);
    assert.ok(((await page.evaluate('scrollY')) as number) >= 200);
    // Copy buttons stay, and times stay in the user's time zone.
    assert.equal(await page.locator('#story [data-copy][hidden]').count(), 0);
    const times = await page.locator('time[data-local="instant"]').allInnerTexts();
    assert.equal(times.filter((text) => text.includes('UTC')).length, 0, times.join(', '));
    // A change without an attempt is seen too.
    await stopWebhook(admin, webhook);
    await portal.service.services.deliveries.replay(id, ACTOR);
    await page.getByText('It waits because its webhook is stopped.').waitFor();
    await startWebhook(admin, webhook);
    await attempts.nth(3).waitFor();
    await unchanged();
  });

  it('catches up after its stream broke', async (t) => {
    const { at, webhook, sendOne, openAs, portal } = await dock(t);
    at.answer(() => ({ status: 422 }));
    const id = await sendOne();
    const { page } = await openAs('viewer', `/deliveries/${id}`, {
      expecting: [503, 'SSE reconnect failed with status 503'],
    });
    const unchanged = await notReloaded(page);
    await page.route(`**/deliveries/${id}/live`, (route) => route.fulfill({ status: 503 }));
    const alert = page.getByRole('alert').filter({ hasText: 'Not connected' });
    // While the first stream is still opening, the page does not open another one.
    while (!(await alert.isVisible())) {
      await page.evaluate(`for (const hidden of [true, false]) {
        Object.defineProperty(document, 'hidden', { configurable: true, get: () => hidden });
        document.dispatchEvent(new Event('visibilitychange'));
      }`);
      await alert.waitFor({ timeout: 3000 }).catch(() => undefined);
    }
    at.answer(() => ({ status: 204 }));
    await portal.service.services.deliveries.replay(id, ACTOR);
    await portal.service.log.nextAttempt(webhook.id);
    await page.unroute(`**/deliveries/${id}/live`);
    await page.getByText(/^Delivered when it was sent again \(attempt 2\)/).waitFor();
    await unchanged();
  });
});

describe('the list of deliveries', () => {
  const rows = (page: Page) => page.locator('#results tbody tr');

  it('shows new deliveries and changes, with its filters', async (t) => {
    const { at, sendOne, openAs } = await dock(t);
    at.answer(() => ({ status: 422 }));
    await sendOne();
    const { page } = await openAs('operator', '/deliveries', { width: 1700 });
    await rows(page).filter({ hasText: 'dead' }).getByText('422').waitFor();
    const unchanged = await notReloaded(page);
    await sendOne();
    await rows(page).nth(1).waitFor();
    assert.match(await rows(page).nth(1).innerText(), /#0/);
    at.answer(() => ({ status: 204 }));
    await sendOne();
    await rows(page).getByText('#2').waitFor();
    await unchanged();
    await page.getByRole('combobox', { name: 'Search deliveries' }).fill('state:delivered');
    await page.keyboard.press('Enter');
    await page.locator('.chip').waitFor();
    assert.equal(await rows(page).count(), 1);
    await sendOne();
    await rows(page).getByText('#3').waitFor();
    assert.equal(await rows(page).count(), 2);
  });

  it('holds its rows in place while they are hovered, focused, selected or scrolled, and is live at the top', async (t) => {
    const { at, webhook, sendOne, openAs, portal } = await dock(t);
    at.answer(() => ({ status: 422 }));
    const ids = [await sendOne(), await sendOne()];
    const { page } = await openAs('operator', `/deliveries?webhook=${webhook.id}`);
    await page.setViewportSize({ width: 1280, height: 1000 });
    const first = page.locator(`#delivery-${ids[0]}`);
    const box = first.getByRole('checkbox');
    const pill = page.locator('[data-live-pill] button');
    const placeOf = async () => (await first.boundingBox())?.y;
    const holds: readonly [what: string, begin: () => Promise<unknown>, end: () => Promise<unknown>][] = [
      ['hovered', () => first.hover(), () => page.mouse.move(1, 1)],
      ['focused', () => box.focus(), () => box.blur()],
      ['selected', () => box.dispatchEvent('click'), () => box.dispatchEvent('click')],
      [
        'scrolled',
        async () => {
          await page.setViewportSize({ width: 1280, height: 500 });
          await page.evaluate('scrollTo(0, 60)');
        },
        () => page.evaluate('scrollTo(0, 0)'),
      ],
    ];
    for (const [what, begin, end] of holds) {
      const before = await rows(page).count();
      await begin();
      const place = await placeOf();
      await sendOne();
      await pill.getByText('1 new delivery', { exact: true }).waitFor();
      assert.deepEqual([await rows(page).count(), await placeOf()], [before, place], `moved while it was ${what}`);
      await end();
      await rows(page).nth(before).waitFor();
      await pill.waitFor({ state: 'hidden' });
    }
    // Rows change where they are, and the key shows what is new.
    await first.hover();
    const before = await rows(page).count();
    at.answer(() => ({ status: 204 }));
    await portal.service.services.deliveries.replay(ids[0] ?? '', ACTOR);
    await portal.service.log.nextAttempt(webhook.id);
    await first.getByText('delivered').waitFor();
    await sendOne();
    await pill.getByText('1 new delivery').waitFor();
    await sendOne();
    await pill.getByText('2 new deliveries').waitFor();
    assert.equal(await rows(page).count(), before);
    await page.keyboard.press('.');
    await rows(page)
      .nth(before + 1)
      .waitFor();
    await pill.waitFor({ state: 'hidden' });
  });
});

describe('the live list of attempts', () => {
  it('holds its rows in place while it is hovered, until the button is pressed', async (t) => {
    const { sendOne, openAs } = await dock(t);
    await sendOne();
    const { page } = await openAs('viewer', '/deliveries/watch');
    await page.locator('.tail-live.is-live').waitFor();
    const tail = page.locator('.tail-row');
    await tail.first().hover();
    await sendOne();
    const pill = page.getByRole('button', { name: '1 new attempt', exact: true });
    await pill.waitFor();
    assert.equal(await tail.count(), 1);
    await pill.click();
    await tail.nth(1).waitFor();
    assert.match(await tail.first().innerText(), /#1/);
    await page.mouse.move(1, 1);
    await sendOne();
    await tail.nth(2).waitFor();
  });
});

describe('the failures by cause', () => {
  it('count each new failure, and no failure whose record is sent again', async (t) => {
    const { at, webhook, sendOne, openAs, portal } = await dock(t);
    const { page } = await openAs('viewer', '/deliveries/failures');
    await page.getByText('No delivery is dead').waitFor();
    const unchanged = await notReloaded(page);
    at.answer(() => ({ status: 422 }));
    const id = await sendOne();
    await page.getByRole('row').filter({ hasText: '422' }).getByRole('link', { name: '1', exact: true }).waitFor();
    await sendOne();
    await page.getByRole('row').filter({ hasText: '422' }).getByRole('link', { name: '2', exact: true }).waitFor();
    assert.equal(await page.getByRole('link', { name: 'Send all' }).count(), 0, 'a viewer may not send');
    at.answer(() => ({ status: 204 }));
    await portal.service.services.deliveries.replay(id, ACTOR);
    await portal.service.log.nextAttempt(webhook.id);
    await page.getByRole('row').filter({ hasText: '422' }).getByRole('link', { name: '1', exact: true }).waitFor();
    await unchanged();
  });
});

describe('the page of a webhook', () => {
  it('shows deliveries, figures and state together, and keeps the result of a test', async (t) => {
    const { admin, at, webhook, sendOne, openAs } = await dock(t);
    const { page } = await openAs('operator', `/webhooks/${webhook.id}`);
    const unchanged = await notReloaded(page);
    await page.getByRole('button', { name: 'Send a test event through Dock' }).click();
    await page.getByText(/It arrived after/).waitFor();
    await page.getByText('Delivery attempts per minute as a table').waitFor({ state: 'detached' });
    const button = page.getByRole('button', { name: 'Stop the webhook Dock' });
    await button.focus();
    await sendOne();
    await page.getByRole('row').filter({ hasText: '#0' }).getByText('204').waitFor();
    await page.locator('#state').getByText('running').waitFor();
    await page.getByText('Delivery attempts per minute as a table').waitFor();
    assert.equal(await button.evaluate((element) => element === element.ownerDocument.activeElement), true);
    at.answer(() => ({ status: 422 }));
    await sendOne();
    await page.locator('.figure', { hasText: 'Dead' }).getByText('1', { exact: true }).waitFor();
    await page.getByRole('link', { name: 'Send 1 again: Dock' }).waitFor();
    // Someone else stops it.
    await stopWebhook(admin, webhook);
    await page.locator('#state').getByText('stopped').waitFor();
    await page.getByRole('button', { name: 'Start the webhook Dock' }).waitFor();
    await page.getByText(/It arrived after/).waitFor();
    await unchanged();
  });
});

describe('the overview', () => {
  it('follows attempts', async (t) => {
    const { at, sendOne, openAs } = await dock(t);
    at.answer(() => ({ status: 422 }));
    const { page } = await openAs('viewer', '/');
    const unchanged = await notReloaded(page);
    await sendOne();
    await page.locator('.figure', { hasText: 'Dead' }).getByText('1', { exact: true }).waitFor();
    await unchanged();
  });

  it('keeps a table as it is while it is hovered, and changes the rest', async (t) => {
    const { admin, at, webhook, sendOne, openAs } = await dock(t);
    at.answer(() => ({ status: 503 }));
    await sendOne();
    const { page } = await openAs('viewer', '/');
    // A table that was scrolled to also stays as it is.
    await page.setViewportSize({ width: 1280, height: 1600 });
    const problem = page.getByRole('row').filter({ hasText: 'Dock' }).first();
    await problem.getByText('failing').waitFor();
    await problem.hover();
    await sendOne();
    await page.locator('.figure', { hasText: 'Dead' }).getByText('2', { exact: true }).waitFor();
    const came = page.evaluate(`new Promise((resolve) =>
      document.addEventListener('htmx:sse:before:message', () => setTimeout(resolve), { once: true }))`);
    await stopWebhook(admin, webhook);
    await came;
    assert.match(await problem.innerText(), /failing/);
    await page.mouse.move(1, 1);
    await page.getByRole('row').filter({ hasText: 'Dock' }).getByText('failing').waitFor({ state: 'detached' });
  });
});

describe('the page of an endpoint', () => {
  it('shows the result of a challenge that someone else sent, and deliveries', async (t) => {
    const { admin, webhook, sendOne, openAs } = await dock(t);
    const { page } = await openAs('viewer', `/endpoints/${webhook.endpointId}`);
    const unchanged = await notReloaded(page);
    await page.locator('.page-title').getByText('enabled').waitFor();
    await succeeded(admin.post(`endpoints/${webhook.endpointId}/verify`));
    await page.locator('.page-title').getByText('verified').waitFor();
    await sendOne();
    await page.locator('.figure', { hasText: 'Last success' }).getByText('accepted by the receiver').waitFor();
    await unchanged();
  });
});

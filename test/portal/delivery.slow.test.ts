/** One delivery in a real browser, beside the list and on its page, and the live list of attempts. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deliveriesOf, stopWebhook } from '../support/journey.ts';
import { OTHER, sent, TYPE } from '../support/sent-deliveries.ts';
import { ACTOR } from '../support/services.ts';

/** Of a long duration and a time of another day, the cells that they do not fit. */
const CUT = `[['2', '3 h 21 min ×2'], ['1', 'Nov 25, 11:30 AM']].filter(([at, text]) => {
  const cell = document.querySelector('.delivery-list td:nth-last-child(' + at + ') > .cell');
  const before = cell.innerHTML;
  cell.textContent = text;
  const isCut = cell.scrollWidth > cell.clientWidth;
  cell.innerHTML = before;
  return isCut;
}).length`;

/** Webhooks with a customer of this name that their cells do not fit. */
const CUT_NAMES = `[...document.querySelectorAll('.delivery-list td:nth-last-child(4) > .cell')].filter((cell) => {
  const owner = document.createElement('span');
  owner.className = 'cell-hint cell-owner';
  owner.textContent = 'Bolt Hardware of Springfield';
  cell.append(owner);
  const isCut = cell.scrollWidth > cell.clientWidth || owner.scrollWidth > owner.clientWidth;
  owner.remove();
  return isCut;
}).length`;

describe('the panel beside the list', () => {
  it('shows the chosen delivery: by a click, j and k, a link, and until Esc or Back', async (t) => {
    const { openAs, dock, portal } = await sent(t);
    const { page, open, context, isAccessible } = await openAs('operator', '/deliveries?state=dead');
    const panel = page.getByRole('complementary', { name: 'The chosen delivery' });
    const shows = (offset: number) => panel.getByText(`Delivery #${offset} of Dock`).waitFor();
    const row = (offset: number) => page.getByRole('row').filter({ hasText: `#${offset}` });
    const hasOpen = (isOpen: boolean) => page.waitForURL((url) => url.searchParams.has('open') === isOpen);
    const placeOf = async (offset: number) => {
      const { y, height } = (await row(offset).boundingBox()) ?? {};
      return { y, height };
    };
    const place = await placeOf(1);
    assert.equal(await page.evaluate(CUT), 0, 'a duration or time is cut');
    await row(1).getByText('dead').click();
    await shows(1);
    await hasOpen(true);
    // Its row stays as it is, and nothing in it is cut.
    const [pointer, beside] = [(place.y ?? 0) + (place.height ?? 0) / 2, await placeOf(1)];
    const isUnder = (beside.y ?? 0) < pointer && pointer < (beside.y ?? 0) + (beside.height ?? 0);
    assert.ok(isUnder, `the row stays under the pointer: ${JSON.stringify([place, beside])}`);
    assert.equal(await page.evaluate(CUT_NAMES), 0, 'a name is cut beside a delivery');
    assert.equal(await row(1).getAttribute('aria-current'), 'true');
    await isAccessible();
    await page.keyboard.press('j');
    await shows(0);
    await page.keyboard.press('k');
    await shows(1);
    await panel.getByRole('button', { name: 'Previous delivery' }).click();
    await shows(2);
    await page.goBack();
    await hasOpen(false);
    await panel.waitFor({ state: 'hidden' });
    await row(2).getByRole('link', { name: TYPE }).click();
    await shows(2);
    await hasOpen(true);
    await page.reload();
    await shows(2);
    assert.equal(await row(2).getAttribute('aria-current'), 'true');
    // It is live, and its form comes back to the list.
    dock.at.answer(() => ({ status: 204 }));
    await panel.getByRole('button', { name: 'Send again' }).click();
    await page.getByText('Sending again.').waitFor();
    await portal.service.log.nextAttempt(dock.webhook.id);
    await panel.getByText(/^Delivered when it was sent again/).waitFor();
    await hasOpen(true);
    await page.keyboard.press('Escape');
    await panel.waitFor({ state: 'hidden' });
    await hasOpen(false);
    const [tab] = await Promise.all([
      context.waitForEvent('page'),
      row(1)
        .getByRole('link', { name: TYPE })
        .click({ modifiers: ['ControlOrMeta'] }),
    ]);
    await tab.getByRole('heading', { level: 1, name: TYPE }).waitFor();
    await tab.close();
    await page.setViewportSize({ width: 390, height: 800 });
    const { height = 0 } = await placeOf(1);
    assert.ok(height > 24 && height <= 96, `${height} px a row on a phone`);
    await row(1).getByRole('link', { name: TYPE }).click();
    await page.waitForURL(/\/deliveries\/[0-9a-f-]+$/);
    // A link to a delivery that does not exist shows the list.
    assert.equal(await open('/deliveries?open=none'), 200);
  });
});

describe('a delivery', () => {
  it('shows viewers no actions', async (t) => {
    const { openAs, dock, admin } = await sent(t, 1);
    const [delivery] = await deliveriesOf(admin, dock.webhook);
    const { page, open } = await openAs('viewer', '/deliveries', { isBrowserless: true });
    assert.equal(await page.getByRole('checkbox').count(), 0);
    assert.equal(await page.getByRole('link', { name: 'Send many again' }).count(), 0);
    await open(`/deliveries/${delivery?.id}`);
    await page.getByRole('heading', { name: 'Payload' }).waitFor();
    assert.equal(await page.getByRole('button', { name: 'Send again' }).count(), 0);
  });

  it('shows neither erased data nor responses to it', async (t) => {
    const { openAs, dock, admin, portal } = await sent(t, 1);
    const [delivery] = await deliveriesOf(admin, dock.webhook);
    await portal.service.services.erasures.erase({ subject: 'anna <b>' }, ACTOR);
    const { page } = await openAs('administrator', `/deliveries/${delivery?.id}`, { isBrowserless: true });
    await page.getByText('The data was erased.').waitFor();
    await page.getByText('The response was erased').waitFor();
    await page.getByText('Data erased').waitFor();
    assert.equal((await page.content()).includes('onerror'), false);
  });

  it('says what it waits for, and is tried now', async (t) => {
    const { openAs, shop, dock, admin, portal } = await sent(t, 1);
    const { log, services } = portal.service;
    shop.at.answer(() => ({ status: 503, headers: { 'retry-after': '3600' } }));
    await services.publish({ type: TYPE, data: {} }, ACTOR);
    await log.nextAttempt(shop.webhook.id);
    const waiting = (await deliveriesOf(admin, shop.webhook)).at(-1);
    const { page, open } = await openAs('operator', `/deliveries/${waiting?.id}`);
    await page.getByText('Attempt 1 of 20 failed.').waitFor();
    await page.getByText(/The next attempt is due in \d/).waitFor();
    await page.locator('.moment-title', { hasText: 'Next attempt' }).waitFor();
    assert.match(
      (await page.getByRole('button', { name: 'Copy as curl' }).getAttribute('data-copy')) ?? '',
      /^curl --request POST/,
    );
    await page.getByRole('button', { name: 'Try now' }).click();
    await page.getByText('Attempt 2 of 20 failed.').waitFor();
    await page.locator('.moment-title', { hasText: /^Tried before its time by \S/ }).waitFor();
    await stopWebhook(admin, shop.webhook);
    await page.getByText('It waits because its webhook is stopped.').waitFor();
    await services.publish({ type: OTHER, data: {} }, ACTOR);
    await open('/deliveries');
    await page.getByText('webhook stopped').first().waitFor();
    const cut = `[...document.querySelectorAll('#results .quiet')].filter((text) => text.scrollWidth > text.clientWidth).length`;
    assert.equal(await page.evaluate(cut), 0);
    // What is sent again through a webhook that does not run waits, and the portal says so.
    const plain = await openAs('operator', '/deliveries', { isBrowserless: true });
    const again = (webhook: string, rest: string) => plain.open(`/deliveries/replay?webhook=${webhook}&${rest}`);
    await again(shop.webhook.id, 'state=delivered&since=2020-01-01T00:00');
    await plain.page.getByText(/Shop is stopped\. The .* until the webhook is started\./).waitFor();
    await plain.page.getByRole('button', { name: 'Send again at its next start', exact: true }).click();
    await plain.page.getByText('2 deliveries wait: Shop is stopped.').waitFor();
    const rows = plain.page.getByRole('row');
    await rows
      .filter({ hasText: /#0[\s\S]*Shop/ })
      .getByText('webhook stopped')
      .waitFor();
    assert.equal(await rows.filter({ hasText: /#\d[\s\S]*Shop/ }).count(), 2);
    await plain.page.getByRole('link', { name: 'Go to Shop to start it' }).click();
    await plain.page.getByRole('button', { name: 'Start the webhook Shop' }).waitFor();
    await stopWebhook(admin, dock.webhook);
    await again(dock.webhook.id, 'state=dead');
    await plain.page.getByRole('button', { name: 'Start, and send 2 again' }).click();
    await plain.page.getByText('Sending 2 deliveries again.').waitFor();
    await log.nextAttempt(dock.webhook.id);
  });

  it('offers to try the one before it while the webhook is failing', async (t) => {
    const { openAs, shop, admin, portal } = await sent(t, 1);
    const { log, services } = portal.service;
    shop.at.answer(() => ({ status: 503, headers: { 'retry-after': '3600' } }));
    await services.publish({ type: TYPE, data: {} }, ACTOR);
    await log.nextAttempt(shop.webhook.id);
    await services.publish({ type: TYPE, data: {} }, ACTOR);
    const [first, second] = (await deliveriesOf(admin, shop.webhook)).slice(-2);
    const { page } = await openAs('operator', `/deliveries/${second?.id}`);
    await page.getByText('It waits because its webhook is failing').waitFor();
    const turn = page.getByRole('listitem').filter({ hasText: 'Waits for its turn' });
    const told = (await turn.innerText()).replace(/\s+/g, ' ');
    assert.match(told, /1 older delivery waits too\./);
    assert.match(told, /Deliveries have failed since .+\. Latest error: the receiver answered 503\. /);
    assert.match(told, /If no delivery arrives, Shop stops .+, and this one waits until it is started\.$/);
    assert.equal(await page.getByRole('button', { name: 'Try now' }).count(), 0);
    await page.getByRole('button', { name: `Try #${first?.offset} now` }).click();
    await page.getByText('It was made due. Shop is failing: it sends one request at a time.').waitFor();
    await page.getByText('Attempt 2 of 20 failed.').waitFor();
    assert.ok(page.url().endsWith(`/deliveries/${first?.id}`));
  });
});

describe('the live list of attempts', () => {
  it('shows new attempts by webhook and outcome, and can be paused', async (t) => {
    const { openAs, shop, dock, portal } = await sent(t, 1);
    const { log, services } = portal.service;
    const { page, open } = await openAs('viewer', '/deliveries');
    await page.getByRole('link', { name: 'Live', exact: true }).click();
    await page.getByText('Live', { exact: true }).last().waitFor();
    const rows = page.locator('.tail-row');
    assert.equal(await rows.count(), 3, 'those before are there');
    await page.locator('.tail-live.is-live').waitFor();
    await services.publish({ type: TYPE, data: {} }, ACTOR);
    await rows.nth(4).waitFor();
    const texts = await rows.allInnerTexts();
    assert.match(texts.slice(0, 2).join('\n'), /#1[\s\S]*Dock/);
    assert.match(texts.slice(0, 2).join('\n'), /#2[\s\S]*Shop/);
    await page.getByRole('button', { name: 'Pause' }).click();
    await page.getByText('Paused').waitFor();
    await services.publish({ type: OTHER, data: {} }, ACTOR);
    await log.line(
      ({ msg, webhookId, firstOffset }) => msg === 'attempt' && webhookId === shop.webhook.id && firstOffset === 3,
    );
    await page.getByRole('button', { name: 'Pause' }).click();
    await services.publish({ type: TYPE, data: {} }, ACTOR);
    await page.getByText('#4').waitFor();
    await page.getByText('#3').waitFor();
    await log.line(
      ({ msg, webhookId, firstOffset }) => msg === 'attempt' && webhookId === dock.webhook.id && firstOffset === 2,
    );

    await open(`/deliveries/watch?webhook=${dock.webhook.id}`);
    await page.locator('.tail-live.is-live').waitFor();
    const before = await rows.count();
    await services.publish({ type: OTHER, data: {} }, ACTOR);
    await services.publish({ type: TYPE, data: {} }, ACTOR);
    await rows.nth(before).waitFor();
    assert.equal(await rows.count(), before + 1, 'nothing of the other webhook');
    await rows.first().getByRole('link', { name: '#3' }).click();
    await page.waitForURL(/\/deliveries\/[0-9a-f-]+$/);

    await open('/deliveries/watch');
    await page.getByLabel(/^Outcome/).selectOption('Failed');
    await page.waitForURL(/outcome=failed/);
    await page.locator('.tail-live.is-live').waitFor();
    assert.equal(await rows.count(), 4, 'the dock fails, the shop does not');
    await services.publish({ type: TYPE, data: {} }, ACTOR);
    await rows.nth(4).waitFor();
    for (const text of await rows.allInnerTexts()) assert.match(text, /422[\s\S]*Dock/);
  });

  it('shows earlier attempts without JavaScript, and says how to see newer ones', async (t) => {
    const { openAs } = await sent(t, 1);
    const { page } = await openAs('viewer', '/deliveries/watch', { isBrowserless: true });
    assert.equal(await page.locator('.tail-row').count(), 3);
    await page.getByText('Reload the page to see newer attempts.').waitFor();
  });
});

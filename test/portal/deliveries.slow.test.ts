/** The list of deliveries, in a browser and without one: finding them, and sending them again. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { deliveryAddress } from '../../src/kernel/ids.ts';
import type { WebhookView } from '../../src/webhooks/webhook-schema.ts';
import { MARKUP } from '../support/deliver-portal.ts';
import { deliveriesOf } from '../support/journey.ts';
import { OTHER, type Sent, sent, TYPE } from '../support/sent-deliveries.ts';
import { ACTOR } from '../support/services.ts';

/** Wide enough for the offsets. */
const WIDE = 1700;

/** The rows of the list, a line for each: event, webhook and offset, state. */
async function listed(page: Page): Promise<string[]> {
  const rows = await page.locator('#results tbody tr').all();
  return Promise.all(
    rows.map(async (row) => {
      const [event = '', offset = ''] = (await row.locator('.cell-main').innerText()).split(/\s+/);
      const [webhook] = /Shop|Dock/.exec(await row.innerText()) ?? [];
      const state = await row.locator('.badge').first().innerText();
      return `${event} ${webhook} ${offset} ${state}`;
    }),
  );
}

/** Adds filters to the search line, and waits for the page with these filters. */
async function search(page: Page, text: string): Promise<void> {
  const field = page.getByRole('combobox', { name: 'Search deliveries' });
  await field.fill(text);
  await Promise.all([page.waitForEvent('load'), field.press('Enter')]);
}

/** All rows of the list. Deliveries of one event are in order of the numbers of their webhooks, which are random. */
async function expectedRows({ admin, shop, dock }: Sent): Promise<readonly string[]> {
  const numberOf = async (webhook: WebhookView): Promise<number> => {
    const [delivery] = await deliveriesOf(admin, webhook);
    return deliveryAddress(delivery?.id ?? '')?.webhookNumber ?? 0;
  };
  const isDockFirst = (await numberOf(dock.webhook)) > (await numberOf(shop.webhook));
  const orders = [2, 1, 0].flatMap((n) => {
    const [atDock, atShop] = [`${TYPE} Dock #${n} dead`, `${TYPE} Shop #${n} delivered`];
    return isDockFirst ? [atDock, atShop] : [atShop, atDock];
  });
  return [`${OTHER} Shop #3 delivered`, ...orders];
}

describe('the list of deliveries', () => {
  it('finds by words, by the parameters of links and by ids, and says what nobody knows', async (t) => {
    const d = await sent(t);
    const { openAs, shop, dock, admin } = d;
    const all = await expectedRows(d);
    const options = { isBrowserless: true, expecting: [400] };
    const { page, open } = await openAs('viewer', '/deliveries', options);
    const dead = all.filter((row) => row.includes('dead'));
    const [first] = await deliveriesOf(admin, dock.webhook);
    for (const [text, wanted] of [
      ['webhook:dock', all.filter((row) => row.includes('Dock'))],
      ['state:dead', dead],
      [`type:${OTHER}`, all.slice(0, 1)],
      ['until:2020-01-01T00:00', []],
      ['since:1h', all],
      ['4xx', dead],
      ['500', []],
      ['2xx', all.filter((row) => row.includes('delivered'))],
      ['anna <b>', all.slice(5)],
      [first?.eventId ?? '', all.slice(5)],
      ['webhook:Shop #1-2', [`${TYPE} Shop #2 delivered`, `${TYPE} Shop #1 delivered`]],
    ] as const) {
      // As the form of the search line has it.
      await open(`/deliveries?q=${encodeURIComponent(text)}`);
      assert.deepEqual(await listed(page), wanted, text);
    }
    const chips = page.locator('.chip');
    await open('/deliveries?q=webhook%3ADok');
    await page.getByText('There is no webhook “Dok”.').waitFor();
    await page.getByRole('link', { name: 'webhook:Dock' }).click();
    await chips.getByText('webhook:Dock').waitFor();
    assert.deepEqual(await listed(page), dead);
    // Links from elsewhere.
    await open(`/deliveries?webhook=${shop.webhook.id}&state=delivered&response=2xx&period=24h&q=%231-2`);
    assert.deepEqual(await listed(page), [`${TYPE} Shop #2 delivered`, `${TYPE} Shop #1 delivered`]);
    assert.deepEqual(await chips.allInnerTexts(), ['#1-2', 'state:delivered', 'webhook:Shop', '2xx', 'since:24h']);
    await open('/deliveries?q=%232');
    await page.getByText('Choose the webhook of #2.').waitFor();
    // Ids of a delivery, of an attempt and of a batch lead to the delivery itself.
    const { attempts } = (await admin.get<{ attempts: { id: string; batchId: string }[] }>(`deliveries/${first?.id}`))
      .body;
    for (const id of [first?.id, attempts[0]?.id, attempts[0]?.batchId, `msg_${attempts[0]?.batchId}`]) {
      await open(`/deliveries?q=${id}`);
      await page.waitForURL(`**/deliveries/${first?.id}`);
    }
    await open('/deliveries?q=01933f2a-0000-7000-8000-000000000000');
    await page.getByText('No delivery, event, attempt or batch has this id.').waitFor();
  });
});

for (const isScriptless of [false, true]) {
  const how = isScriptless ? 'without JavaScript' : 'with JavaScript';
  // What no script takes part in is read without a browser, apart from one form.
  const options = { isBrowserless: isScriptless };
  describe(`the list of deliveries (${how})`, () => {
    it('finds by words of the search line, which become chips', async (t) => {
      const d = await sent(t);
      const all = await expectedRows(d);
      const { page } = await d.openAs('viewer', '/deliveries', { ...options, width: WIDE, expecting: [400] });
      assert.deepEqual(await listed(page), all);
      await search(page, 'state:dead since:1h');
      await search(page, '4xx state:delivered');
      const chips = page.locator('.chip');
      assert.deepEqual(await chips.allInnerTexts(), ['since:1h', '4xx', 'state:delivered']);
      await page.getByText('No deliveries fit these filters.').waitFor();
      await page.getByRole('link', { name: 'Remove 4xx' }).click();
      await page.waitForURL((url) => url.searchParams.get('q') === 'since:1h state:delivered');
      const delivered = all.filter((row) => row.includes('delivered'));
      assert.deepEqual(await listed(page), delivered);
      // Words that nobody knows.
      await search(page, 'stat:dead');
      await page.getByText('There is no filter “stat”.').waitFor();
      assert.equal(await page.getByRole('combobox', { name: 'Search deliveries' }).inputValue(), 'stat:dead');
      assert.deepEqual(await listed(page), []);
    });

    it('pages from the newest to the oldest delivery without gaps', async (t) => {
      const d = await sent(t);
      const all = await expectedRows(d);
      const { page } = await d.openAs('viewer', '/deliveries?limit=3', { ...options, width: WIDE });
      const seen = await listed(page);
      for (let n = 1; n < 3; n += 1) {
        await page.getByRole('link', { name: 'Next page' }).click();
        await page
          .getByText(all[3 * n]?.split(' ')[2] ?? '')
          .first()
          .waitFor();
        await page.waitForURL(/cursor=/);
        await page
          .locator('#results tbody tr')
          .nth(Math.min(3, all.length - 3 * n))
          .waitFor({ state: 'detached' });
        seen.push(...(await listed(page)));
      }
      assert.deepEqual(seen, all);
      await page.getByText('End of the list').waitFor();
      await page.getByRole('link', { name: 'First page' }).click();
      await page.getByRole('link', { name: 'Next page' }).waitFor();
      assert.deepEqual(await listed(page), all.slice(0, 3));
    });

    it('sends only the selected deliveries again', async (t) => {
      const { openAs, dock, portal } = await sent(t);
      const { log } = portal.service;
      dock.at.answer(() => ({ status: 204 }));
      const { page } = await openAs('operator', '/deliveries?state=dead', { isScriptless, width: WIDE });
      await page.getByLabel(`Select ${TYPE} #2`).check();
      await page.getByLabel(`Select ${TYPE} #0`).check();
      if (!isScriptless) await page.getByText('2 selected').waitFor();
      await page.getByRole('button', { name: 'Send selected again' }).click();
      await page.getByText('Sending 2 deliveries again.').waitFor();
      await page.waitForURL('**/deliveries?state=dead');
      const again = [await log.nextAttempt(dock.webhook.id), await log.nextAttempt(dock.webhook.id)];
      assert.deepEqual(again.map(({ firstOffset }) => firstOffset).sort(), [0, 2]);
      await page.reload();
      assert.deepEqual(await listed(page), [`${TYPE} Dock #1 dead`]);
      if (isScriptless) {
        assert.equal(await page.getByRole('button', { name: 'Send selected again' }).isVisible(), false);
      } else {
        await page.getByLabel('Select all on this page').check();
        await page.getByText('1 selected').waitFor();
      }
    });

    it('counts deliveries before it sends them again', async (t) => {
      const { openAs, dock, portal, admin } = await sent(t);
      dock.at.answer(() => ({ status: 204 }));
      const { page, open, isAccessible } = await openAs('operator', '/deliveries', { ...options, expecting: [400] });
      await page.getByRole('link', { name: 'Send many again' }).click();
      await page.getByLabel(/^Webhook/).fill('Dock');
      await page.getByRole('button', { name: 'Preview' }).click();
      await page.getByRole('heading', { name: '3 deliveries of Dock' }).waitFor();
      if (!isScriptless) await isAccessible();
      // Sending everything again that was ever delivered is refused.
      await page.getByText('Choose others').click();
      await page.getByLabel('State').selectOption('delivered');
      await page.getByRole('button', { name: 'Preview' }).click();
      await page.getByText('everything that was ever delivered would be sent again').first().waitFor();
      await open(`/deliveries/replay?webhook=${dock.webhook.id}&state=both&since=2020-01-01T00:00`);
      await page.getByRole('heading', { name: '3 deliveries of Dock' }).waitFor();
      await page.getByRole('button', { name: 'Send 3 deliveries again' }).click();
      await page.getByText('Sending 3 deliveries again.').waitFor();
      for (let n = 0; n < 3; n += 1) await portal.service.log.nextAttempt(dock.webhook.id);
      assert.deepEqual(
        (await deliveriesOf(admin, dock.webhook)).map(({ state }) => state),
        ['delivered', 'delivered', 'delivered'],
      );
      await open(`/deliveries/replay?webhook=${dock.webhook.id}&state=dead`);
      await page.getByText('There is nothing to send again.').waitFor();
    });

    it('groups failures by cause, and sends the dead ones of a cause again', async (t) => {
      const { openAs, dock, portal, admin } = await sent(t);
      dock.at.answer(() => ({ status: 404 }));
      await portal.service.services.publish({ type: TYPE, data: {} }, ACTOR);
      await portal.service.log.nextAttempt(dock.webhook.id);
      const { page, open, isAccessible } = await openAs('operator', '/deliveries', options);
      await page.getByRole('link', { name: 'Failures by cause' }).first().click();
      const row = (cause: string) => page.getByRole('row').filter({ hasText: cause });
      await row('422 Unprocessable Entity').getByText('Compare the payload').waitFor();
      assert.match(await row('422').innerText(), /Dock\s+failing\s+3\s+–/);
      assert.match(await row('404 Not Found').innerText(), /Dock\s+failing\s+1\s+–/);
      if (!isScriptless) await isAccessible();
      // *Send many again* suggests them, for the chosen span.
      const offered = () =>
        page
          .locator('#field-cause-list option')
          .evaluateAll((all) => all.map((one) => `${one.getAttribute('value')} ${one.textContent}`));
      await open(`/deliveries/replay?webhook=${dock.webhook.id}&state=dead`);
      assert.deepEqual(await offered(), ['422 Unprocessable Entity, 3 deliveries', '404 Not Found, 1 delivery']);
      await page
        .getByRole('listitem')
        .filter({ hasText: /^404 Not Found 1$/ })
        .waitFor();
      if (!isScriptless) {
        await page.getByText('Choose others').click();
        await page.getByLabel('Published from').fill('2999-01-01T00:00');
        await page.locator('#field-cause-list option').first().waitFor({ state: 'detached' });
        await page.getByLabel('Published from').fill('');
        await page.locator('#field-cause-list option').nth(1).waitFor({ state: 'attached' });
        await page.getByLabel('Cause').click();
        await page.getByRole('option', { name: '422 Unprocessable Entity, 3 deliveries' }).click();
        await page.getByRole('button', { name: 'Preview' }).click();
        await page.getByRole('heading', { name: '3 deliveries of Dock failed with 422' }).waitFor();
        await page.getByText('Choose others').click();
        await page.getByLabel('State').selectOption('delivered');
        assert.equal(await page.getByLabel('Cause').isVisible(), false);
        // The rest takes no script.
        return;
      }
      await open('/deliveries/failures');
      dock.at.answer(() => ({ status: 204 }));
      await row('404').getByRole('link', { name: 'Send 1 again: Dock, 404' }).click();
      await page.getByRole('heading', { name: '1 delivery of Dock failed with 404 Not Found' }).waitFor();
      await page.getByRole('button', { name: 'Send 1 delivery again' }).click();
      await page.getByText('Sending 1 delivery again.').waitFor();
      const { firstOffset } = await portal.service.log.nextAttempt(dock.webhook.id);
      assert.equal(firstOffset, 3);
      assert.deepEqual(
        (await deliveriesOf(admin, dock.webhook)).map(({ state }) => state),
        ['dead', 'dead', 'dead', 'delivered'],
      );
    });

    it('shows attempts with responses and advice, and the payload', async (t) => {
      const { openAs, dock, admin } = await sent(t, 1);
      const [delivery] = await deliveriesOf(admin, dock.webhook);
      const { page, isAccessible } = await openAs('operator', '/deliveries?state=dead', options);
      await page.getByRole('link', { name: TYPE }).click();
      if (!isScriptless) await page.getByRole('link', { name: 'Open full page' }).click();
      await page.waitForURL(`**/deliveries/${delivery?.id}`);
      await page.getByText('Given up after one attempt.').waitFor();
      await page.getByText('Compare the payload with what the receiver expects').first().waitFor();
      await page.locator('.attempt-headers > summary').click();
      const text = await page.locator('#story').innerText();
      for (const shown of [
        /x-api-key: \[secret\]/,
        /authorization: HMAC-SHA256/,
        /One event, answered in/,
        /Whole request/,
        /422/,
      ]) {
        assert.match(text, shown);
      }
      assert.ok(text.includes(MARKUP), 'headers and body are shown as the text that they are');
      assert.ok(
        (await page.locator('main').innerText()).includes(JSON.stringify(MARKUP).slice(1, -1)),
        'and so is the payload',
      );
      assert.equal(await page.title(), `${TYPE} #0 – Sallyport`);
      const received = isScriptless
        ? page.locator('summary', { hasText: 'As it is received' })
        : page.getByRole('tab', { name: 'As it is received' });
      await received.click();
      await page.getByText('"messageId"').waitFor();
      if (!isScriptless) await isAccessible();
      dock.at.answer(() => ({ status: 204 }));
      await page.getByRole('button', { name: 'Send again' }).click();
      await page.getByText('Sending again.').waitFor();
    });
  });
}

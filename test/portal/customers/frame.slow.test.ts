/** The customers' portal inside another origin's page, in a browser that blocks third-party cookies (contract §8.12). */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { readAsset } from '../../../src/kernel/assets.ts';
import { EMBED_PATH, embedIntegrity } from '../../../src/portal/customer-frame/embedding.ts';
import { succeeded } from '../../support/client.ts';
import { type Framed, type Surrounded, startSurrounded } from '../../support/customer-frame.ts';

async function customerOf({ service }: Surrounded, name = 'Acme'): Promise<string> {
  return (await succeeded<{ id: string }>(service.admin.post('customers', { name }))).id;
}

/** Waits until an event of this name has arrived after `after` others. */
async function happened({ page }: Framed, name: string, after = 0): Promise<void> {
  await page.waitForFunction(
    `window.events.slice(${after}).some((event) => event.startsWith(${JSON.stringify(name)}))`,
  );
}

describe('the script of the page around the frame', () => {
  it('has at most 2 KiB, and the hash that the documentation names', () => {
    assert(readAsset('portal/embed.js').length <= 2048, 'at most 2 KiB, as the contract says');
    const page = readFileSync(new URL('../../../docs/how-to/embed-the-portal.md', import.meta.url), 'utf8');
    assert.ok(page.includes(`https://edge.example${EMBED_PATH}`));
    assert.ok(page.includes(`integrity="${embedIntegrity()}"`), embedIntegrity());
  });
});

describe('a portal in a frame of the operator’s product', () => {
  it('opens by a link, keeps its session in a partitioned cookie, saves forms, and tells the page around it what happens', async (t) => {
    const around = await startSurrounded(t);
    const framed = await around.surround(await around.link(await customerOf(around)));
    const { page, frame, events } = framed;
    await frame.getByRole('heading', { name: 'Overview' }).waitFor();
    await happened(framed, 'ready');
    await happened(framed, 'height');
    const height = await page.evaluate("document.querySelector('iframe').getBoundingClientRect().height");
    assert(Number(height) > 320, String(height));
    assert.equal(
      await frame.evaluate('document.documentElement.scrollHeight <= innerHeight'),
      true,
      'the frame does not scroll',
    );
    const cookies = (await around.context.cookies()).filter(({ name }) => name.startsWith('__Host-sallyport'));
    assert.deepEqual(
      cookies.map(({ name, sameSite, secure, httpOnly, partitionKey }) => [
        name,
        sameSite,
        secure,
        httpOnly,
        partitionKey,
      ]),
      ['__Host-sallyport', '__Host-sallyport-frame'].map((name) => [name, 'None', true, true, 'https://127.0.0.1']),
    );

    const seen = (await events()).length;
    await frame.getByRole('link', { name: 'Endpoints', exact: true }).click();
    await frame.getByRole('heading', { name: 'Endpoints' }).waitFor();
    await happened(framed, 'navigated /endpoints', seen);
    await frame.getByRole('link', { name: 'New endpoint' }).click();
    await frame.getByLabel('Name').fill('Shop');
    await frame.getByLabel('Address').fill('https://127.0.0.1:1/hooks');
    await frame.getByLabel('Do not verify').check();
    await frame.getByRole('button', { name: 'Create the endpoint' }).click();
    await frame.getByRole('heading', { name: 'Shop is created' }).waitFor();
    await frame.getByRole('link', { name: 'Go to the endpoint' }).click();
    // A request of the script, with the message of a redirect.
    await frame.getByRole('button', { name: 'Disable the endpoint Shop' }).click();
    await frame.getByText('The endpoint is disabled: nothing is sent here.').waitFor();

    // All pages stand in one row.
    const tops = "new Set([...document.querySelectorAll('#navigation a')].map((link) => link.offsetTop)).size";
    const cut = "(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)(document.getElementById('navigation'))";
    // The widths at both ends of each range of the style sheet, and some between.
    for (const frameWidth of [1793, 1792, 1700, 1604, 1345, 1344, 1284, 1224, 1089, 1088, 1044, 1009]) {
      await page.setViewportSize({ width: frameWidth + 48, height: 844 });
      assert.deepEqual([await frame.evaluate(tops), await frame.evaluate(cut)], [1, 0], `${frameWidth}`);
    }
    // A frame of 760 px has tables, and cuts none.
    await page.setViewportSize({ width: 808, height: 844 });
    const menu = frame.getByRole('navigation', { name: 'Portal' });
    await frame.getByRole('button', { name: 'Menu: Endpoints' }).click();
    await menu.getByRole('link', { name: 'Endpoints' }).click();
    const table =
      "(({ scrollWidth, clientWidth }) => [clientWidth > 700, scrollWidth - clientWidth])(document.querySelector('.table-box'))";
    await frame.getByRole('columnheader', { name: 'Last success' }).waitFor();
    assert.deepEqual(await frame.evaluate(table), [true, 0]);
    for (const width of [808, 568, 390]) {
      await page.setViewportSize({ width, height: 844 });
      const beyond = 'document.documentElement.scrollWidth - innerWidth';
      assert.equal(await frame.evaluate(beyond), 0, `a frame of ${width - 48} px does not scroll sideways`);
    }

    // In a narrow frame its pages are a menu, which is whole inside the frame.
    await page.setViewportSize({ width: 390, height: 844 });
    await frame.getByRole('button', { name: 'Menu: Endpoints' }).click();
    const isWhole =
      "(({ scrollHeight, clientHeight }) => scrollHeight <= clientHeight)(document.getElementById('navigation'))";
    assert.equal(await frame.evaluate(isWhole), true);
    await menu.getByRole('link', { name: 'Usage' }).click();
    await frame.getByRole('button', { name: 'Menu: Usage' }).waitFor();
    await frame.getByRole('navigation', { name: 'Portal' }).waitFor({ state: 'hidden' });
    // The words on its buttons are hidden.
    await frame.getByRole('button', { name: 'Menu: Usage' }).click();
    await menu.getByRole('link', { name: 'Deliveries' }).click();
    await frame.getByRole('link', { name: 'Delivered' }).waitFor();
    assert.equal(await frame.evaluate('document.documentElement.scrollWidth - innerWidth'), 0);
  });

  it('shows no third-party cookie, and neither a sign-in form nor another page without its session', async (t) => {
    const around = await startSurrounded(t);
    const customerId = await customerOf(around);
    const link = await around.link(customerId);
    const framed = await around.surround(link);
    await framed.frame.getByRole('heading', { name: 'Overview' }).waitFor();
    assert.equal(
      await framed.frame.evaluate(
        "document.cookie = 'third=1; SameSite=None; Secure'; document.cookie.includes('third')",
      ),
      false,
      'this browser blocks third-party cookies',
    );
    // The same portal in a tab of its own has another cookie jar.
    const tab = await around.context.newPage();
    await tab.goto(`${around.portalUrl}/endpoints`);
    assert.equal(new URL(tab.url()).pathname, '/sign-in');

    // The link is used up: the page says so in the frame.
    const again = await around.surround(link);
    await again.frame.getByRole('heading', { name: 'This part could not be opened' }).waitFor();
    await happened(again, 'session-ended');

    // The session ends while the frame is open.
    const seen = (await framed.events()).length;
    await framed.frame.getByRole('button', { name: 'Acme' }).click();
    await framed.frame.getByRole('button', { name: 'Sign out' }).click();
    await framed.frame.getByRole('heading', { name: 'Your session has ended' }).waitFor();
    await happened(framed, 'session-ended', seen);
    const title = await framed.frame.evaluate("location.href = '/endpoints'; 0");
    assert.equal(title, 0);
    await framed.frame.waitForURL((url) => url.pathname === '/session-ended');
    assert.equal(await framed.frame.getByLabel('Password').count(), 0);
  });

  it('asks for one new link in a browser that keeps no cookies in frames, and then says what to do', async (t) => {
    const around = await startSurrounded(t);
    const customerId = await customerOf(around);
    const { context, portalUrl } = around;
    await context.route(`${portalUrl}/**`, async (route) => {
      const response = await route.fetch({ maxRedirects: 0 });
      const { 'set-cookie': _, ...headers } = response.headers();
      await route.fulfill({ response, headers });
    });
    const framed = await around.surround(await around.link(customerId));
    await framed.frame.getByRole('heading', { name: 'This browser cannot show the portal here' }).waitFor();
    await framed.frame.getByText('Open the portal in a window of its own').waitFor();
    await happened(framed, 'session-ended');

    const page = await context.newPage();
    await page.goto(around.serveSample(customerId));
    await page.getByRole('button', { name: 'Open the webhooks in this window' }).waitFor();
    assert.equal(around.linksMade(), 2);
    assert.equal(await page.locator('iframe').count(), 0);
    // In a window of its own the cookies are kept.
    await context.unroute(`${portalUrl}/**`);
    await page.getByRole('button', { name: 'Open the webhooks in this window' }).click();
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    assert.equal(around.linksMade(), 3);
  });

  it('gets one new link from the sample of the documentation each time that its session ends', async (t) => {
    const around = await startSurrounded(t);
    const page = await around.context.newPage();
    await page.goto(around.serveSample(await customerOf(around)));
    const portal = page.frameLocator('iframe');
    for (const links of [1, 2, 3]) {
      await portal.getByRole('heading', { name: 'Overview' }).waitFor();
      assert.equal(around.linksMade(), links);
      if (links === 3) break;
      await portal.getByRole('button', { name: 'Acme' }).click();
      // The frame with this session is removed.
      const frame = await page.locator('iframe').elementHandle();
      await portal.getByRole('button', { name: 'Sign out' }).click();
      await frame?.waitForElementState('hidden');
    }
  });

  it('holds a live list in place while the page around is scrolled past its head', async (t) => {
    const around = await startSurrounded(t);
    const { admin } = around.service;
    const customerId = await customerOf(around);
    await succeeded(admin.post('event-types', { name: 'order.created' }));
    const webhook = { customerId, name: 'Orders', mode: 'pull', eventTypes: ['order.created'] };
    const { id } = await succeeded<{ id: string }>(admin.post('webhooks', webhook));
    await succeeded(admin.post(`webhooks/${id}/start`));
    const publish = async (count: number): Promise<void> => {
      const events = Array.from({ length: count }, () => ({ type: 'order.created', customerId, data: {} }));
      await succeeded(admin.post('events', { events }));
    };
    await publish(30);
    const framed = await around.surround(await around.link(customerId));
    const { page, frame } = framed;
    await frame.getByRole('link', { name: 'Deliveries', exact: true }).click();
    const rows = frame.locator('.delivery-list tbody tr');
    await rows.nth(29).waitFor();
    await page.mouse.move(1, 1);
    await publish(1);
    await rows.nth(30).waitFor();
    await rows.nth(20).scrollIntoViewIfNeeded();
    assert.ok(((await page.evaluate('scrollY')) as number) > 100);
    const place = (await rows.nth(20).boundingBox())?.y;
    await publish(2);
    await frame.getByText('2 new deliveries').waitFor({ state: 'attached' });
    assert.deepEqual([await rows.count(), (await rows.nth(20).boundingBox())?.y], [31, place]);
    await page.evaluate('scrollTo(0, 0)');
    await rows.nth(32).waitFor();
  });

  it('is shown on no page of another origin, and ignores messages of others', async (t) => {
    const around = await startSurrounded(t, { env: { SALLYPORT_PORTAL_FRAME_ANCESTORS: 'https://other.example' } });
    const framed = await around.surround(await around.link(await customerOf(around)));
    await framed.page.waitForLoadState('networkidle');
    assert.equal(await framed.frame.getByRole('heading').count(), 0);
    assert.deepEqual(await framed.events(), []);
    // A message from another window than the frame counts as none.
    await framed.page.evaluate("window.postMessage({ sallyport: 'height', height: 5000 }, '*')");
    await framed.page.evaluate('new Promise((resolve) => setTimeout(resolve))');
    assert.deepEqual(await framed.events(), []);
  });
});

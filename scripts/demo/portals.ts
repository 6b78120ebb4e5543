/** The browser steps of `npm run demo:customers`: one portal opened by its link, and one framed in a page of the operator's product. */
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import type { Identity } from '../../src/cli/listen/self-signed.ts';
import { launchChromium } from '../../test/support/chromium.ts';
import { openTlsFront } from '../../test/support/tls-front.ts';
import { type Api, EDGE } from './api.ts';
import type { DemoCustomer } from './customers.ts';
import type { Story } from './story.ts';

type Run = {
  readonly story: Story;
  readonly admin: Api;
  readonly customers: readonly DemoCustomer[];
  readonly serviceUrl: string;
};

export type Portals = {
  /** The origin of the page that frames a portal. */
  readonly shopOrigin: string;
  run(run: Run): Promise<void>;
  close(): void;
};

/** Starts the operator's product: one page, by HTTPS. */
export async function startPortals({ certificate, privateKey }: Identity): Promise<Portals> {
  let shown = '';
  const shop: Server = createServer({ cert: certificate, key: privateKey }, (_, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end(shown);
  });
  await new Promise<void>((resolve) => shop.listen(0, '127.0.0.1', resolve));
  const shopOrigin = `https://127.0.0.1:${(shop.address() as AddressInfo).port}`;
  return {
    shopOrigin,
    close: () => void shop.close().closeAllConnections(),
    run: async ({ story, admin, customers, serviceUrl }) => {
      story.chapter('Each customer opens its portal');
      const front = await openTlsFront({ certificate, privateKey }, Number(new URL(serviceUrl).port));
      const portalOrigin = `https://localhost:${front.port}`;
      const link = async ({ id }: DemoCustomer): Promise<string> => {
        const path = `${EDGE}/customers/${id}/portal-links`;
        const { body } = await admin.call<{ url: string }>(201, 'POST', path, { role: 'administrator' });
        return portalOrigin + new URL(body.url).pathname;
      };
      const browser = await launchChromium().catch(() => null);
      try {
        if (browser === null) {
          await story.step('browser', 'No browser: install chromium-headless-shell for these steps', async () => {});
          return;
        }
        const [acme, bolt] = customers as readonly [DemoCustomer, DemoCustomer];
        await open(story, browser, acme, bolt, await link(acme));
        const framed = await link(bolt);
        shown = shopPage(portalOrigin, framed);
        await frame(story, browser, bolt, acme, shopOrigin);
      } finally {
        await browser?.close();
        front.close();
      }
    },
  };
}

async function open(
  story: Story,
  browser: Browser,
  own: DemoCustomer,
  other: DemoCustomer,
  link: string,
): Promise<void> {
  await story.step('opened', `${own.name} opens its link, which is then used up`, async (tell) => {
    const context = await browser.newContext({ ignoreHTTPSErrors: true });
    const page = await context.newPage();
    await page.goto(link);
    await page.goto(new URL('/webhooks', link).href);
    tell.fact('page', await page.title());
    await expectOwn(page, 'Large orders', other);
    const again = await (await browser.newContext({ ignoreHTTPSErrors: true })).newPage();
    const answer = await again.goto(link);
    tell.fact('opened again', answer?.status() ?? 0);
    if (answer?.status() !== 404) throw new Error('the link can be opened twice');
  });
}

async function frame(
  story: Story,
  browser: Browser,
  own: DemoCustomer,
  other: DemoCustomer,
  shop: string,
): Promise<void> {
  await story.step('framed', `${own.name} sees its portal inside the product of the operator`, async (tell) => {
    const page = await (await browser.newContext({ ignoreHTTPSErrors: true })).newPage();
    await page.goto(shop);
    const inside = await (await page.waitForSelector('iframe')).contentFrame();
    if (inside === null) throw new Error('the page has no frame');
    await inside.waitForSelector('nav');
    const text = await inside.innerText('body');
    if (text.includes(other.name)) throw new Error(`the portal of ${own.name} speaks of ${other.name}`);
    tell.fact('product', shop);
    tell.fact('frame', new URL(inside.url()).pathname);
  });
}

async function expectOwn(page: Page, own: string, other: DemoCustomer): Promise<void> {
  const text = await page.innerText('body');
  if (!text.includes(own)) throw new Error(`the page does not show ${own}`);
  if (text.includes(other.name)) throw new Error(`the page speaks of ${other.name}`);
}

function shopPage(portalOrigin: string, link: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Shop</title></head>
<body><h1>Shop, settings</h1><div id="portal"></div>
<script src="${portalOrigin}/embed/v1.js"></script>
<script>Sallyport.embed(document.getElementById('portal'), ${JSON.stringify(link)}, {});</script></body></html>`;
}

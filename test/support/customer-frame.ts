/**
 * A page of the operator's product on another origin, with the customers' portal in a frame, in a browser that blocks third-party cookies.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TestContext } from 'node:test';
import type { BrowserContext, Frame, Page } from 'playwright-core';
import { embedIntegrity } from '../../src/portal/customer-frame/embedding.ts';
import { openContext } from './browser-pages.ts';
import { cleanUp } from './cleanup.ts';
import { succeeded } from './client.ts';
import { type ServiceInProcess, type ServiceOptions, startService } from './service.ts';
import { sharedCertificates } from './tls.ts';
import { startTlsFront } from './tls-front.ts';

export type Shop = {
  readonly service: ServiceInProcess;
  /** The portal by HTTPS. Its site is another one than that of the product. */
  readonly portalUrl: string;
  readonly shopUrl: string;
  /** Makes a link for a customer, to be opened by HTTPS. */
  link(customerId: string, more?: object): Promise<string>;
  /** Serves a page of the product and returns its URL. */
  serve(page: string): string;
  /** Serves a page with the sample of docs/how-to/embed-the-portal.md for a customer, and returns its URL. */
  serveSample(customerId: string): string;
  /** The links that the sample has asked for. */
  linksMade(): number;
};

export type Surrounded = Shop & {
  readonly context: BrowserContext;
  /** Opens the product's page with the portal of the link in a frame. */
  surround(link: string): Promise<Framed>;
};

export type Framed = {
  readonly page: Page;
  readonly frame: Frame;
  /** The events of the script so far, as `ready`, `height 900`. */
  events(): Promise<readonly string[]>;
};

/** Starts the service, and the operator's product on another site. */
export async function startShop(t: TestContext, options: ServiceOptions = {}): Promise<Shop> {
  const { server } = sharedCertificates();
  const pages = new Map<string, string>();
  let customerOfSample = '';
  let linksMade = 0;
  const answer = async ({ method, url = '' }: IncomingMessage): Promise<string | undefined> => {
    if (method !== 'POST' || url !== '/webhooks-link') return pages.get(url);
    linksMade += 1;
    return link(customerOfSample);
  };
  const shop = createServer({ cert: server.certificate, key: server.privateKey }, async (request, response) => {
    const body = await answer(request);
    response.writeHead(body === undefined ? 404 : 200, { 'content-type': 'text/html' }).end(body);
  });
  await new Promise<void>((resolve) => shop.listen(0, '127.0.0.1', resolve));
  cleanUp(t, () => void shop.close().closeAllConnections());
  const shopUrl = `https://127.0.0.1:${(shop.address() as AddressInfo).port}`;
  const env = { SALLYPORT_PORTAL_FRAME_ANCESTORS: `https://other.example, ${shopUrl}`, ...options.env };
  const service = await startService(t, { ...options, env });
  const front = await startTlsFront(t, server, Number(new URL(service.url).port));
  const portalUrl = `https://localhost:${front}`;
  const link: Shop['link'] = async (customerId, more = {}) => {
    const body = { role: 'administrator', ...more };
    const made = succeeded<{ url: string }>(service.admin.post(`customers/${customerId}/portal-links`, body));
    return portalUrl + new URL((await made).url).pathname;
  };
  const serve: Shop['serve'] = (page) => {
    const path = `/page-${pages.size}`;
    pages.set(path, page);
    return shopUrl + path;
  };
  return {
    service,
    portalUrl,
    shopUrl,
    link,
    serve,
    serveSample: (customerId) => {
      customerOfSample = customerId;
      return serve(`<!doctype html><meta charset="utf-8"><title>Shop</title>${sample(portalUrl)}`);
    },
    linksMade: () => linksMade,
  };
}

/** The sample of the documentation, with the URL of this portal. */
function sample(portalUrl: string): string {
  const page = readFileSync(new URL('../../docs/how-to/embed-the-portal.md', import.meta.url), 'utf8');
  const [, code = ''] = /```html\n([\s\S]*?)```/.exec(page) ?? [];
  assert.ok(code.includes('https://edge.example'));
  return code.replaceAll('https://edge.example', portalUrl);
}

/** The same with Chromium, where it blocks third-party cookies. */
export async function startSurrounded(t: TestContext, options: ServiceOptions = {}): Promise<Surrounded> {
  const shop = await startShop(t, options);
  const { portalUrl, serve } = shop;
  const context = await openContext(t, { ignoreHTTPSErrors: true, viewport: { width: 1280, height: 900 } });
  return {
    ...shop,
    context,
    surround: async (link) => {
      const url = serve(shopPage(portalUrl, link));
      const page = await context.newPage();
      page.setDefaultTimeout(30_000);
      const devTools = await context.newCDPSession(page);
      await devTools.send('Network.enable');
      await devTools.send('Network.setCookieControls', {
        enableThirdPartyCookieRestriction: true,
      });
      await page.goto(url);
      const element = await page.waitForSelector('iframe');
      const frame = await element.contentFrame();
      assert.ok(frame !== null);
      return { page, frame, events: () => page.evaluate('window.events') };
    },
  };
}

function shopPage(portalUrl: string, link: string): string {
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Shop</title>
<style>body { font-family: sans-serif; margin: 1.5rem; background: light-dark(#ffffff, #101114); color-scheme: light dark; }</style></head>
<body><h1>Shop, settings</h1><div id="portal"></div>
<script src="${portalUrl}/embed/v1.js" integrity="${embedIntegrity()}" crossorigin="anonymous"></script>
<script>
window.events = [];
const note = (name) => (event) => window.events.push([name, event.path ?? event.height ?? ''].join(' ').trim());
window.portal = Sallyport.embed(document.getElementById('portal'), ${JSON.stringify(link)}, {
  onready: note('ready'), onheight: note('height'), onnavigated: note('navigated'), onsessionended: note('session-ended'),
});
</script></body></html>`;
}

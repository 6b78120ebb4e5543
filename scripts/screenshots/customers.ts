/** Takes the pictures of docs/tutorial-customers.md: a customer sets up its webhook in the portal of a shop, which also frames it. */
import { mkdirSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import type { TestContext } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { sessionCookie } from '../../test/support/browser-session.ts';
import { succeeded } from '../../test/support/client.ts';
import { type Receiver, startReceiver } from '../../test/support/receiver.ts';
import { type ServiceInProcess, startService } from '../../test/support/service.ts';
import { type Identity, sharedCertificates } from '../../test/support/tls.ts';
import { startTlsFront } from '../../test/support/tls-front.ts';

const root = resolve(import.meta.dirname, '..', '..');
const pictures = join(root, 'docs', 'images', 'customers');

export async function customersPictures(t: TestContext, browser: Browser): Promise<void> {
  mkdirSync(pictures, { recursive: true });
  const { ca, server } = sharedCertificates();
  const shop = await startShop(t, server);
  const service = await startService(t, { ca, env: { SALLYPORT_PORTAL_FRAME_ANCESTORS: shop.origin } });
  const baseURL = `https://localhost:${await startTlsFront(t, server, Number(new URL(service.url).port))}`;
  const receiver = await startReceiver(t, server, { clock: service.clock });
  const open = async (height: number): Promise<Page> => {
    const context = await browser.newContext({
      baseURL,
      viewport: { width: 1000, height },
      ignoreHTTPSErrors: true,
      colorScheme: 'light',
      reducedMotion: 'reduce',
      locale: 'en-GB',
      timezoneId: 'Europe/Berlin',
    });
    return context.newPage();
  };

  const operator = await open(640);
  await operator
    .context()
    .addCookies([await sessionCookie({ ...service, url: baseURL }, 'administrator', 'Ada Lovelace')]);
  await operator.goto('/settings/customers-portal');
  await operator.getByLabel('Your name').fill('Corner Shop');
  await operator.locator('#field-accent').fill('#0a6e4f');
  await operator.getByRole('button', { name: 'Save' }).click();
  await operator.getByText('The look is saved.').waitFor();
  const acme = await prepare(service);
  const link = async (): Promise<string> => {
    const body = { role: 'administrator' };
    const { url } = await succeeded<{ url: string }>(service.admin.post(`customers/${acme}/portal-links`, body));
    return baseURL + new URL(url).pathname;
  };

  const page = await open(640);
  await page.goto(await link());
  await shoot(page, 'first-steps');
  await setUp(page, service, receiver, acme);
  const frames = await open(720);
  shop.show(baseURL, await link());
  await frames.goto(shop.origin);
  await frames.frameLocator('iframe').locator('main table').first().waitFor();
  await shoot(frames, 'framed');
  await operator.goto(`/customers/${acme}`);
  await shoot(operator, 'customer');
  for (const each of [operator, page, frames]) await each.context().close();
}

/** Makes what the tutorial makes. Returns the id of the first customer. */
async function prepare({ admin }: ServiceInProcess): Promise<string> {
  const sample = { orderId: 42, total: 250 };
  const description = 'An order was placed.';
  await succeeded(admin.post('event-types', { name: 'order.created', description, sample, group: 'Orders' }));
  const body = { name: 'Acme', externalId: 'acct_1' };
  const { id } = await succeeded<{ id: string }>(admin.post('customers', body));
  await succeeded(admin.post('customers', { name: 'Bolt', externalId: 'acct_2' }));
  return id;
}

/** Registers an endpoint and a webhook, and gets five events. */
async function setUp(page: Page, service: ServiceInProcess, receiver: Receiver, customerId: string): Promise<void> {
  await page.getByRole('link', { name: 'Open the catalogue' }).click();
  await page.getByRole('link', { name: 'order.created' }).click();
  await page.getByText('"orderId": 42').first().waitFor();
  await shoot(page, 'catalogue');
  await page.getByRole('link', { name: 'Endpoints', exact: true }).click();
  await page.getByRole('link', { name: 'New endpoint' }).click();
  await page.getByLabel('Name').fill('Acme warehouse');
  await page.getByLabel('Address').fill(`${receiver.origin}/hooks`);
  await page.getByRole('button', { name: 'Create the endpoint' }).click();
  const secret = await page.getByRole('group', { name: 'Secret' }).locator('code').innerText();
  // Behind “Show”.
  const key = page.locator('dd', { hasText: 'x-api-key' }).first();
  await key.locator('summary').click();
  const apiKey = await key.locator('details code').innerText();
  const endpoint = receiver.endpoint('/hooks', { secret, apiKey });
  await page.getByRole('button', { name: /^Verify now/ }).click();
  await page.getByText('passed the challenge and is enabled.').waitFor();
  await page.getByRole('link', { name: 'New webhook' }).first().click();
  await page.getByLabel('Name', { exact: true }).first().fill('Orders');
  await page.getByLabel('order.*').click();
  await page.getByRole('button', { name: 'Create the webhook' }).click();
  await page.getByText('Orders was created and started.').waitFor();
  for (const orderId of [1, 2, 3, 4, 5]) {
    const data = { orderId, total: 50 * orderId };
    await succeeded(service.admin.post('events', { type: 'order.created', customerId, data }));
    await endpoint.next();
  }
}

type Shop = { readonly origin: string; show(portalOrigin: string, link: string): void };

/** The operator's product: a page that frames the portal. */
async function startShop(t: TestContext, { certificate, privateKey }: Identity): Promise<Shop> {
  let shown = '';
  const server = createServer({ cert: certificate, key: privateKey }, (_, response) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end(shown),
  );
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  t.after(() => void server.close().closeAllConnections());
  const show = (portalOrigin: string, link: string): void => {
    shown = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Corner Shop</title>
<style>body{margin:0;font:16px system-ui,sans-serif;background:#f4f1ea}header{background:#0a6e4f;color:#fff;padding:14px \
28px;font-weight:600}
main{margin:20px 28px}#portal{background:#fff;border-radius:8px;overflow:hidden}</style>
<header>Corner Shop — Settings</header><main><div id="portal"></div></main><script src="${portalOrigin}/embed/v1.js"></script>
<script>Sallyport.embed(document.getElementById('portal'), ${JSON.stringify(link)}, {});</script></html>`;
  };
  return { origin: `https://127.0.0.1:${(server.address() as AddressInfo).port}`, show };
}

async function shoot(page: Page, name: string): Promise<void> {
  await page.mouse.move(0, 0);
  await page.screenshot({ path: join(pictures, `${name}.png`) });
  process.stdout.write(`docs/images/customers/${name}.png\n`);
}

/**
 * `npm run screenshots [-- [--readme] [--tutorial] [--customers] [<part of a path>]]` takes pictures of every portal page, in light and
 * dark, wide and narrow, and writes them to `screenshots/`. It starts a service with some history, and a browser. `--readme` takes only the
 * three pictures of the README, in the portal of `npm run demo -- --keep`, `--tutorial` only those of docs/tutorial-portal.md, and
 * `--customers` those of docs/tutorial-customers.md.
 */
import { mkdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { TestContext } from 'node:test';
import { parseArgs } from 'node:util';
import type { Browser, Page } from 'playwright-core';
import { sessionCookie } from '../test/support/browser-session.ts';
import { launchChromium } from '../test/support/chromium.ts';
import { publish } from '../test/support/journey.ts';
import { shownPages } from '../test/support/portal-pages.ts';
import { type Seeded, seededPath, seedPortal, type Words } from '../test/support/portal-seed.ts';
import { startReceiver } from '../test/support/receiver.ts';
import { type ServiceInProcess, startService } from '../test/support/service.ts';
import { sharedCertificates } from '../test/support/tls.ts';
import { keepDemo } from './demo/kept.ts';
import { customersPictures } from './screenshots/customers.ts';
import { tutorialPictures } from './screenshots/tutorial.ts';

const WORDS: Words = {
  userName: 'grace',
  displayName: 'Grace Hopper',
  product: 'Orders API',
  description: 'Orders of the shop, from the basket to the parcel.',
  application: 'Warehouse sync',
  endpoints: ['Acme shop', 'Globex intake', 'Initech staging'],
  webhooks: ['Orders to Acme', 'Orders to Globex', 'Orders to Initech'],
  eventTypes: ['order.created', 'order.shipped', 'invoice.paid'],
  keys: ['acme-2026', 'globex-2026'],
  data: (number) => ({
    orderId: 4200 + number,
    customer: 'Acme Ltd',
    total: { amount: 129.5 + number, currency: 'EUR' },
  }),
  subject: 'customer-4711',
  failure: {
    status: 503,
    headers: { 'content-type': 'application/json' },
    body: '{"error":"maintenance","until":"06:00"}',
  },
};

type Theme = 'light' | 'dark';
type Look = { readonly theme: Theme; readonly width: number; readonly height?: number };

const THEMES: readonly Theme[] = ['light', 'dark'];
const WIDTHS = [1280, 390] as const;

/** Each page by the first link to one of its kind on another page. */
const README_PICTURES: readonly {
  readonly name: string;
  readonly from: string;
  readonly link?: string;
  readonly theme: Theme;
}[] = [
  { name: 'overview', from: '/', theme: 'light' },
  { name: 'webhook', from: '/', link: 'main table a[href^="/webhooks/"]', theme: 'dark' },
  { name: 'delivery', from: '/deliveries?state=dead', link: 'main a[href^="/deliveries/0"]', theme: 'light' },
];

const root = resolve(import.meta.dirname, '..');
const { values, positionals } = parseArgs({
  options: { readme: { type: 'boolean' }, tutorial: { type: 'boolean' }, customers: { type: 'boolean' } },
  allowPositionals: true,
});
const [wanted = ''] = positionals;
const works: (() => unknown)[] = [];
/** The part of a test context that the shared helpers need. */
const t = { after: (work: () => unknown) => works.push(work) } as unknown as TestContext;

const browser = await launchChromium();
try {
  if (values.readme === true) await readmePictures(browser);
  else if (values.tutorial === true) await tutorialPictures(t, browser);
  else if (values.customers === true) await customersPictures(t, browser);
  else await picturesOfHistory();
} finally {
  await browser.close();
  for (const work of works.toReversed()) await work();
}

async function picturesOfHistory(): Promise<void> {
  const { ca, server } = sharedCertificates();
  const service = await startService(t, { ca });
  const receiver = await startReceiver(t, server, { clock: service.clock });
  const seeded = await seedPortal({ service, admin: service.admin, receiver }, WORDS);
  await liveOn(service, seeded);
  for (const theme of THEMES) for (const width of WIDTHS) await allPages(browser, service, seeded, { theme, width });
}

/** Makes most of an hour pass, with varying load. */
async function liveOn({ admin, advance, log }: ServiceInProcess, { runningWebhook }: Seeded): Promise<void> {
  for (let round = 0; round < 18; round += 1) {
    advance(150_000);
    const count = 2 + Math.round(3 * Math.sin(round / 2) + 3);
    await publish(admin, 'order.shipped', ...Array.from({ length: count }, (_, at) => ({ ...WORDS.data(100 + at) })));
    for (let at = 0; at < count; at += 1) await log.nextAttempt(runningWebhook);
  }
}

async function allPages(from: Browser, service: ServiceInProcess, { ids }: Seeded, look: Look): Promise<void> {
  const folder = join(root, 'screenshots', look.theme, String(look.width));
  const page = await visit(from, look, service);
  const shoot = async (path: string): Promise<void> => {
    if (path.includes(wanted)) await picture(page, path, join(folder, `${nameOf(path)}.png`), true);
  };
  await shoot('/sign-in');
  await page.context().addCookies([await sessionCookie(service, 'administrator', 'Ada Lovelace')]);
  for (const { path } of shownPages()) {
    const target = path === '/sign-in' ? null : seededPath(path, ids);
    if (target !== null) await shoot(target);
  }
  await page.context().close();
}

async function readmePictures(from: Browser): Promise<void> {
  const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
  const { promise: door, resolve: open, reject } = Promise.withResolvers<string>();
  const write = (text: string): void => {
    const [found] = /http:\/\/localhost:\d+\/[0-9a-f]{32}/.exec(text) ?? [];
    if (found !== undefined) open(found);
  };
  const kept = keepDemo(write, stopped);
  kept.catch(reject);
  for (const { name, from: path, link, theme } of README_PICTURES) {
    const page = await visit(from, { theme, width: 1280, height: 880 });
    await page.goto(await door);
    await page.goto(new URL(path, page.url()).href);
    const target = link === undefined ? path : await page.locator(link).first().getAttribute('href');
    await picture(page, new URL(target ?? path, page.url()).href, join(root, 'docs', 'images', `${name}.png`), false);
    await page.context().close();
  }
  stop();
  await kept;
}

async function visit(from: Browser, look: Look, service?: ServiceInProcess): Promise<Page> {
  const { theme, width, height = 900 } = look;
  const context = await from.newContext({
    ...(service !== undefined && { baseURL: service.url }),
    viewport: { width, height },
    colorScheme: theme,
    reducedMotion: 'reduce',
    locale: 'en-GB',
    timezoneId: 'Europe/Berlin',
  });
  const page = await context.newPage();
  if (service !== undefined) await page.clock.setFixedTime(service.clock());
  return page;
}

async function picture(page: Page, path: string, file: string, fullPage: boolean): Promise<void> {
  mkdirSync(dirname(file), { recursive: true });
  await page.goto(path, { waitUntil: 'load' });
  await page.screenshot({ path: file, fullPage });
  process.stdout.write(`${file}\n`);
}

/** Turns `/webhooks/0193…/edit` into `webhooks-id-edit`. */
function nameOf(path: string): string {
  const name = path
    .replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'id')
    .replaceAll('/', '-')
    .replace(/^-/, '');
  return name === '' ? 'overview' : name;
}

/** Takes the pictures of docs/tutorial-portal.md, by doing what the tutorial says: the service and `sallyport listen` are processes. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { spawnService } from '../../test/support/service.ts';

const root = resolve(import.meta.dirname, '..', '..');
const pictures = join(root, 'docs', 'images', 'tutorial');
const SECRET = Buffer.alloc(32, 7).toString('base64');
const API_KEY = '36898c65f9c2684a5109791ee039d156';

export async function tutorialPictures(t: Pick<TestContext, 'after'>, browser: Browser): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'tutorial-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(pictures, { recursive: true });

  let receiver = await startListening(folder);
  t.after(() => receiver.end());
  const ca = readFileSync(receiver.certificateFile, 'utf8');
  const service = await spawnService(t as TestContext, { ca });
  const publish = (data: object): Promise<void> =>
    run(service.dataDir, ['event', 'publish', 'order.created', JSON.stringify(data)]);

  const context = await browser.newContext({
    baseURL: service.url.replace('127.0.0.1', 'localhost'),
    viewport: { width: 1000, height: 640 },
    colorScheme: 'light',
    reducedMotion: 'reduce',
    locale: 'en-GB',
    timezoneId: 'Europe/Berlin',
  });
  const page = await context.newPage();
  const shoot = async (name: string): Promise<void> => {
    await page.mouse.move(0, 0);
    await page.screenshot({ path: join(pictures, `${name}.png`) });
    process.stdout.write(`docs/images/tutorial/${name}.png\n`);
  };

  await page.goto('/sign-in');
  await page.getByLabel('User name').fill('admin');
  await page.getByLabel('Password').fill(service.credentials.adminPassword);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.getByRole('heading', { name: 'Set up' }).waitFor();
  await shoot('set-up');

  await page.getByRole('link', { name: 'Event types' }).click();
  await page.getByRole('link', { name: 'New event type' }).first().click();
  await page.getByLabel('Name').fill('order.created');
  await page.getByLabel('Description').fill('An order was placed.');
  await page.getByRole('button', { name: 'Create the event type' }).click();

  await page.getByRole('link', { name: 'Endpoints', exact: true }).click();
  await page.getByRole('link', { name: 'New endpoint' }).click();
  await page.getByLabel('Name').fill('Corner shop');
  await page.getByLabel('Address').fill('https://localhost:9443/');
  await page.getByLabel('Verify ownership before anything is sent').check();
  await page.getByText('Use an existing secret or API key').click();
  await page.getByLabel('Secret', { exact: false }).first().fill(SECRET);
  await page.getByRole('textbox', { name: 'API key' }).fill(API_KEY);
  await shoot('endpoint');
  await page.getByRole('button', { name: 'Create the endpoint' }).click();
  await page.getByRole('heading', { name: 'Corner shop is created' }).waitFor();

  await page.getByRole('link', { name: 'Create a webhook' }).click();
  await page.getByLabel('Name', { exact: true }).first().fill('Orders');
  await page.getByLabel('order.*').check();
  await page.getByRole('button', { name: 'Create the webhook' }).click();
  await page.getByRole('heading', { name: 'Orders' }).waitFor();
  await page.getByRole('button', { name: 'Send a test event through Orders' }).click();
  await page.getByText(/It arrived after/).waitFor();
  await shoot('test');
  await publish({ orderId: 42, total: '129.50' });
  await openDelivery(page, 0, 'delivered');

  await receiver.end();
  await publish({ orderId: 43, total: '20.00' });
  await openDelivery(page, 1);
  await page.getByText('no connection').first().waitFor();
  await shoot('failure');

  receiver = await startListening(folder);
  await page.reload();
  await openDelivery(page, 1, 'delivered');
  await shoot('delivery');
  await context.close();
}

/** Waits until the delivery with this offset has an attempt and this state, and opens its page. */
async function openDelivery(page: Page, offset: number, state = ''): Promise<void> {
  const row = page.getByRole('row').filter({ hasText: `#${offset}` });
  for (;;) {
    await page.goto('/deliveries');
    const text = (
      await row
        .first()
        .innerText()
        .catch(() => '')
    ).toLowerCase();
    if (text.includes(state) && !text.includes('no attempt')) break;
    await page.waitForTimeout(500);
  }
  await page.goto((await row.first().getByRole('link').first().getAttribute('href')) ?? '/');
  await page.getByRole('heading', { name: 'Timeline' }).waitFor();
}

type Listening = { readonly certificateFile: string; end(): Promise<void> };

async function startListening(folder: string): Promise<Listening> {
  const child = sallyport(folder, [
    'listen',
    '--json',
    '--secret',
    SECRET,
    '--api-key',
    API_KEY,
    '--certificate-folder',
    join(folder, 'listen'),
  ]);
  if (child.stdout === null) throw new Error('the receiver has no output');
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  child.stdout.resume();
  const { certificateFile } = JSON.parse(line) as { certificateFile: string };
  const exited = once(child, 'close');
  const end = async (): Promise<void> => {
    child.kill('SIGTERM');
    await exited;
  };
  return { certificateFile, end };
}

async function run(dataDir: string, args: readonly string[]): Promise<void> {
  const [status] = await once(
    sallyport(dataDir, args).on('error', () => {}),
    'close',
  );
  if (status !== 0) throw new Error(`sallyport ${args.join(' ')} ended with status ${status}`);
}

function sallyport(dataDir: string, args: readonly string[]): ChildProcess {
  const program = ['--disable-warning=ExperimentalWarning', join(root, 'src', 'main.ts'), ...args];
  const env = { ...process.env, SALLYPORT_DATA: dataDir };
  return spawn(process.execPath, program, { env, stdio: ['ignore', 'pipe', 'inherit'] });
}

/**
 * The pages of one Chromium per process. The next test uses a page again, because a new one costs a process of Chromium: 0.2 s of CPU time.
 * Each test gets it without cookies and without anything that earlier tests changed.
 */
import { after, type TestContext } from 'node:test';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { launchChromium } from './chromium.ts';
import { cleanUp } from './cleanup.ts';

export type OpenedPage = {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Leaves the page for another test. */
  giveBack(): Promise<void>;
};

/** Changes that a page or its context cannot take back. After one of them no other test gets the page. */
const LASTING = [
  'addInitScript',
  'exposeBinding',
  'exposeFunction',
  'newCDPSession',
  'route',
  'routeWebSocket',
  'setExtraHTTPHeaders',
  'setGeolocation',
  'setOffline',
];
/** A transition draws seven frames at each pointed button and each field with the focus. No test looks at one. */
const STILL = { reducedMotion: 'reduce' } as const;
const MEDIA_RESET = {
  ...STILL,
  media: null,
  colorScheme: null,
  forcedColors: null,
  contrast: null,
} as const;

let browser: Promise<Browser> | null = null;
after(async () => (await browser)?.close());

/** The browser of this process. */
function openBrowser(): Promise<Browser> {
  browser ??= launchChromium();
  return browser;
}

type FreePage = { readonly page: Page; readonly context: BrowserContext; readonly isSpoilt: () => boolean };

/** By whether they run scripts. */
const free: Readonly<Record<'scripted' | 'scriptless', FreePage[]>> = { scripted: [], scriptless: [] };

/** Opens an empty page in a context without cookies. Its size is in CSS pixels. */
export async function takePage(isScriptless: boolean, size: { width: number; height: number }): Promise<OpenedPage> {
  const ready = free[isScriptless ? 'scriptless' : 'scripted'];
  const taken = ready.pop() ?? (await newPage(isScriptless));
  const { page, context } = taken;
  await page.setViewportSize(size);
  const giveBack = async (): Promise<void> => {
    if (taken.isSpoilt() || page.isClosed()) {
      await context.close();
      return;
    }
    for (const other of context.pages()) if (other !== page) await other.close();
    await page.goto('about:blank');
    await page.emulateMedia(MEDIA_RESET);
    await context.clearCookies();
    ready.push(taken);
  };
  return { page, context, giveBack };
}

/** A context of the test's own, for options that the shared pages do not have. */
export async function openContext(t: TestContext, options: BrowserContextOptions): Promise<BrowserContext> {
  const context = await (await openBrowser()).newContext(options);
  cleanUp(t, () => context.close());
  return context;
}

async function newPage(isScriptless: boolean): Promise<FreePage> {
  const context = await (await openBrowser()).newContext({
    javaScriptEnabled: !isScriptless,
    locale: 'en-GB',
    timezoneId: 'Europe/Berlin',
    ...STILL,
  });
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const page = await context.newPage();
  // Long, because the machine may be busy.
  page.setDefaultTimeout(30_000);
  let isSpoilt = false;
  for (const changed of [page, context] as unknown as Record<string, unknown>[]) {
    for (const name of LASTING) {
      const change = changed[name];
      if (typeof change !== 'function') continue;
      changed[name] = (...args: unknown[]): unknown => {
        isSpoilt = true;
        return change.apply(changed, args);
      };
    }
  }
  return { page, context, isSpoilt: () => isSpoilt };
}

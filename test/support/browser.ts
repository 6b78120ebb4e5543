/** The portal in a real browser, and visitors with or without a session, or without a browser. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { TestContext } from 'node:test';
import type { BrowserContext, ConsoleMessage, Page, Request } from 'playwright-core';
import type { PortalRole } from '../../src/domain/user.ts';
import { takePage } from './browser-pages.ts';
import { sessionCookie } from './browser-session.ts';
import { plainVisitor } from './browserless/visitor.ts';
import { cleanUp } from './cleanup.ts';
import { type ServiceInProcess, type ServiceOptions, startService } from './service.ts';
import { onPostgres } from './store.ts';

export type Portal = {
  readonly service: ServiceInProcess;
  readonly url: string;
  /** A visitor who is signed in with a new account of this role. */
  signIn(role: PortalRole, options?: VisitorOptions): Promise<Visitor>;
  /** A visitor without a session. */
  visit(options?: VisitorOptions): Promise<Visitor>;
};

export type VisitorOptions = {
  /** Disables JavaScript. */
  readonly isScriptless?: boolean;
  /** Reads pages and sends forms by requests, for what the server renders: `page` has what tests need of Playwright's, and nothing else. */
  readonly isBrowserless?: boolean;
  /** In CSS pixels. The default is 1280. */
  readonly width?: number;
  /** The host name to use in place of the service's address. */
  readonly host?: string;
  /** Expected errors in the browser's console: statuses of failed responses, or parts of other messages. */
  readonly expecting?: readonly (number | string)[];
};

export type Visitor = {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Opens a path of the portal and returns the status. */
  open(path: string): Promise<number>;
  /** Script errors, policy violations and failed requests so far. The test fails if there are any when it ends. */
  readonly problems: readonly string[];
  /**
   * Asserts that axe-core finds no violation in the light and the dark theme. The second pass, on PostgreSQL, has the same markup: it
   * examines only pages that SQLite does not have.
   */
  isAccessible(): Promise<void>;
};

/** Of the last portal, as the setting has it. `0` is any free port. */
let lastPort = '0';

/**
 * Starts the service at the port of the portal before it, whose scripts and styles the browser then has: loading and compiling them takes a
 * tenth of a second. Nothing else stays in the browser, because the portal stores nothing there but cookies.
 */
async function startAtLastPort(t: TestContext, { env, ...options }: ServiceOptions): Promise<ServiceInProcess> {
  const startAt = (port: string) => startService(t, { ...options, env: { SALLYPORT_PORT: port, ...env } });
  // A portal that is still open has the port, or another program.
  const isInUse = (error: unknown): boolean => (error as { code?: unknown }).code === 'EADDRINUSE';
  const service = await startAt(lastPort).catch((error) => (isInUse(error) ? startAt('0') : Promise.reject(error)));
  lastPort = new URL(service.url).port;
  return service;
}

/** Starts the service with its portal, in this process. */
export async function startPortal(t: TestContext, options: ServiceOptions = {}): Promise<Portal> {
  const service = await startAtLastPort(t, options);
  const { url } = service;
  const visit: Portal['visit'] = (visitor = {}) => openVisitor(t, url, visitor);
  return {
    service,
    url,
    visit,
    signIn: async (role, visitorOptions) => {
      const visitor = await visit(visitorOptions);
      await visitor.context.addCookies([await sessionCookie(service, role)]);
      return visitor;
    },
  };
}

/** A visitor of the service at `url`, which may run in another process. */
export async function openVisitor(
  t: TestContext,
  url: string,
  { isScriptless = false, isBrowserless = false, width = 1280, host, expecting = [] }: VisitorOptions,
): Promise<Visitor> {
  const base = host === undefined ? url : url.replace('127.0.0.1', host);
  if (isBrowserless) return openBrowserless(t, base, expecting);
  const { page, context, giveBack } = await takePage(isScriptless, { width, height: 900 });
  const problems: string[] = [];
  const noteError = (error: Error): void => {
    problems.push(String(error));
  };
  const noteMessage = (message: ConsoleMessage): void => {
    const isExpected = expecting.some((what) =>
      message.text().includes(typeof what === 'number' ? `status of ${what}` : what),
    );
    // Violations of the Content-Security-Policy are logged as errors too.
    if (['error', 'warning'].includes(message.type()) && !isExpected) problems.push(message.text());
  };
  const noteFailure = (request: Request): void => {
    const reason = request.failure()?.errorText ?? '';
    if (reason !== 'net::ERR_ABORTED') problems.push(`${request.url()}: ${reason}`);
  };
  page.on('pageerror', noteError).on('console', noteMessage).on('requestfailed', noteFailure);
  cleanUp(t, async () => {
    await giveBack();
    page.off('pageerror', noteError).off('console', noteMessage).off('requestfailed', noteFailure);
    assert.deepEqual(problems, []);
  });
  return {
    page,
    context,
    problems,
    open: async (path) => (await page.goto(new URL(path, base).href))?.status() ?? 0,
    isAccessible: () => checkAccessibility(page),
  };
}

function openBrowserless(t: TestContext, base: string, expecting: readonly (number | string)[]): Visitor {
  const { page, context, problems, open } = plainVisitor(base, expecting);
  cleanUp(t, () => assert.deepEqual(problems, []));
  const seen = { page, context } as unknown as Pick<Visitor, 'page' | 'context'>;
  return { ...seen, problems, open, isAccessible: async () => assert.fail('axe needs a browser') };
}

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

type Violation = {
  readonly id: string;
  readonly help: string;
  readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
};

const ON_POSTGRES_ALONE = '/instances';

async function checkAccessibility(page: Page): Promise<void> {
  if (onPostgres && new URL(page.url()).pathname !== ON_POSTGRES_ALONE) return;
  await page.evaluate(AXE);
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    // The themes differ only in colours. axe leaves out the size of targets (WCAG 2.2, 2.5.8) unless it is asked for.
    // It preloads style sheets only for a rule that does not run.
    const rules =
      colorScheme === 'light' ? ", rules: { 'target-size': { enabled: true } }" : ", runOnly: ['cat.color']";
    // A report shows the markup of a node, not its selector, which takes a quarter of the time.
    const options = `{ preload: false, selectors: false, resultTypes: ['violations']${rules} }`;
    const run = `axe.run(${options}).then(({ violations }) => violations)`;
    const violations = (await page.evaluate(run)) as Violation[];
    const found = violations.map(({ id, help, nodes }) => ({
      theme: colorScheme,
      id,
      help,
      nodes: nodes.map(({ html, failureSummary }) => `${html}: ${failureSummary}`),
    }));
    assert.deepEqual(found, []);
  }
}

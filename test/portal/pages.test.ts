/** Rules for all pages: their headers, the files that they load and their size, and unknown pages. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { startPortal } from '../support/browser.ts';
import { shownPages } from '../support/portal-pages.ts';
import { newSession, request } from '../support/portal-requests.ts';
import { seededPath } from '../support/portal-seed.ts';
import { startService } from '../support/service.ts';

const KIB = 1024;

describe('a page of the portal', () => {
  it('may run and load what this service has at its own addresses, and nothing else', async (t) => {
    const service = await startService(t);
    let pages = 0;
    for (const { path } of shownPages()) {
      if (seededPath(path, {}) === null) continue;
      // Who is signed in has nothing to do there.
      const who = path === '/sign-in' ? {} : { token: (await newSession(service, 'administrator')).token };
      const { status, headers, text } = await request(service.url + path, who);
      assert.deepEqual([status, headers.get('content-type')], [200, 'text/html;charset=UTF-8'], path);
      pages += 1;
      const policy = headers.get('content-security-policy') ?? '';
      assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self'; /, path);
      for (const part of ["form-action 'self'", "base-uri 'none'", "frame-ancestors 'none'"])
        assert.ok(policy.includes(part));
      assert.doesNotMatch(policy, /unsafe|\*/, path);
      assert.equal(headers.get('x-content-type-options'), 'nosniff', path);
      assert.equal(headers.get('x-frame-options'), 'DENY', path);
      assert.equal(headers.get('referrer-policy'), 'same-origin', path);
      assert.equal(headers.get('cross-origin-opener-policy'), 'same-origin', path);
      assert.equal(headers.get('cache-control'), 'no-store', path);
      assert.doesNotMatch(text, /<script(?![^>]* src="\/assets\/)|<style|\sstyle="|\son[a-z]+="|<iframe/, path);
      const loaded = [...text.matchAll(/<(?:link|script|img)\b[^>]* (?:href|src)="([^"]*)"/g)];
      for (const [, address = ''] of loaded) {
        assert.match(address, /^(\/assets\/[0-9a-f]{16}\/[a-z]+\.(css|js)$|data:image)/, path);
      }
      for (const ending of ['.css"', '.js"'])
        assert.ok(
          loaded.some(([tag]) => tag.endsWith(ending)),
          path,
        );
    }
    assert.ok(pages >= 24, `${pages} pages`);
  });

  it('is less than 100 KiB with everything that it loads, the first time', async (t) => {
    const service = await startService(t);
    const { token } = await newSession(service, 'administrator');
    for (const path of ['/sign-in', '/', '/audit']) {
      const who = path === '/sign-in' ? {} : { token };
      const page = await request(service.url + path, who);
      assert.equal(page.status, 200);
      assert.equal(page.headers.get('content-encoding'), null);
      const packed = await request(service.url + path, { ...who, headers: { 'accept-encoding': 'gzip' } });
      assert.equal(packed.headers.get('content-encoding'), 'gzip');
      let bytes = Number(packed.headers.get('content-length'));
      assert.ok(bytes > 0 && bytes < Buffer.byteLength(page.text), path);
      const assets = [...page.text.matchAll(/(?:href|src)="(\/assets\/[^"]*)"/g)];
      assert.ok(assets.length >= 2, `${path}: ${assets.length}`);
      for (const [, address = ''] of assets) {
        const reply = await request(service.url + address, { headers: { 'accept-encoding': 'gzip' } });
        assert.equal(reply.headers.get('content-encoding'), 'gzip');
        bytes += Number(reply.headers.get('content-length'));
      }
      assert.ok(bytes < 100 * KIB, `${path}: ${bytes}`);
    }
  });
});

describe('scripts and styles', () => {
  it('are cached forever at addresses with their hash, compressed as the browser accepts, with their licences', async (t) => {
    const service = await startService(t);
    const { token } = await newSession(service, 'viewer');
    const { text } = await request(`${service.url}/`, { token });
    const script = /src="(\/assets\/[^"]*portal\.js)"/.exec(text)?.[1] ?? '';
    const sizes: Record<string, number> = {};
    let plain = '';
    for (const [accepted, coding] of [
      ['', null],
      ['identity', null],
      ['gzip', 'gzip'],
      ['gzip, deflate, br, zstd', 'br'],
      ['br;q=0, gzip;q=0.5', 'gzip'],
    ] as const) {
      const reply = await request(service.url + script, { headers: { 'accept-encoding': accepted } });
      assert.equal(reply.status, 200);
      assert.equal(reply.headers.get('content-encoding'), coding, accepted);
      assert.equal(reply.headers.get('cache-control'), 'public, max-age=31536000, immutable');
      assert.equal(reply.headers.get('content-type'), 'text/javascript;charset=UTF-8');
      assert.match(reply.headers.get('vary') ?? '', /Accept-Encoding/);
      sizes[coding ?? 'plain'] = Number(reply.headers.get('content-length'));
      if (coding === null) {
        assert.match(reply.text, /Zero-Clause BSD/);
        assert.equal(Buffer.byteLength(reply.text), sizes.plain);
        plain = reply.text;
      }
    }
    const packedBytes = gzipSync(plain, { level: 9 }).length;
    assert.ok(
      Math.abs(packedBytes - (sizes.gzip ?? 0)) < 10,
      `${sizes.gzip} bytes, and ${packedBytes} when packed here`,
    );
    assert.ok((sizes.br ?? 0) < (sizes.gzip ?? 0) && (sizes.gzip ?? 0) < (sizes.plain ?? 0) / 2);
    const wrong = script.replace(/[0-9a-f]{16}/, '0123456789abcdef');
    assert.equal((await request(service.url + wrong)).status, 404);
  });
});

describe('an address that there is not', () => {
  it('is a page for people, inside the portal with a session, and an error body for programs', async (t) => {
    const portal = await startPortal(t);
    const visitor = await portal.signIn('viewer', { expecting: [404] });
    assert.equal(await visitor.open('/nothing/here'), 404);
    await visitor.isAccessible();
    const { page, open } = await portal.signIn('viewer', { isBrowserless: true, expecting: [404] });
    assert.equal(await open('/nothing/here'), 404);
    await page.getByRole('heading', { name: 'There is nothing here' }).waitFor();
    await page.getByRole('navigation', { name: 'Portal' }).getByRole('link', { name: 'Deliveries' }).waitFor();
    // A delivery is deleted after its retention, and its link may live longer.
    assert.equal(await open('/deliveries/01933f2a-0000-7000-8000-000000000000'), 404);
    await page.getByText('Delivered ones are kept for 30 days, dead ones for 90 days.').waitFor();
    assert.equal(await open('/endpoints/'), 404);
    const json = { accept: 'application/json' };
    for (const [path, headers] of [
      ['/nothing/here', json],
      ['/services/api/nothing', { accept: 'text/html' }],
    ] as const) {
      const reply = await request(portal.url + path, { headers });
      assert.equal(reply.status, 404);
      assert.equal((JSON.parse(reply.text) as { error: { code: string } }).error.code, 'not_found');
    }
  });

  it('shows no page of its own if it only takes the form of a button', async (t) => {
    const service = await startService(t);
    const { token } = await newSession(service, 'administrator');
    const reply = await request(`${service.url}/sign-out`, { token });
    assert.equal(reply.status, 405);
  });
});

describe('the theme', () => {
  for (const isScriptless of [false, true]) {
    it(`is switched and stays${isScriptless ? ', without JavaScript' : ''}`, async (t) => {
      const portal = await startPortal(t);
      const { page, open } = await portal.signIn('viewer', { isScriptless });
      await open('/audit?action=user.create');
      const ground = (): Promise<unknown> => page.evaluate('getComputedStyle(document.body).backgroundColor');
      const theme = (): Promise<string | null> => page.locator('html').getAttribute('data-theme');
      assert.equal(await theme(), null);
      await page.getByRole('button', { name: 'viewer' }).click();
      await page.getByRole('button', { name: 'Dark' }).click();
      await page.locator('html[data-theme="dark"]').waitFor();
      // The browser has it before it is asked for the next page.
      if (!isScriptless) await page.waitForFunction("document.cookie.includes('theme=dark')");
      assert.equal(new URL(page.url()).search, '?action=user.create');
      // A cookie that a script sets is on its way when the page has changed.
      if (!isScriptless) await page.waitForFunction("document.cookie.includes('theme=dark')");
      await open('/');
      assert.equal(await theme(), 'dark');
      if (!isScriptless) assert.match(String(await ground()), /^rgb\(1\d, 1\d, 2\d\)$/);
      await page.getByRole('button', { name: 'viewer' }).click();
      await page.getByRole('button', { name: 'System' }).click();
      await page.locator('html:not([data-theme])').waitFor();
    });
  }
});

describe('the navigation', () => {
  for (const isScriptless of [false, true]) {
    it(`folds on a narrow screen${isScriptless ? ', without JavaScript' : ''}`, async (t) => {
      const portal = await startPortal(t);
      const { page, open } = await portal.signIn('viewer', { isScriptless, width: 390 });
      await open('/');
      const link = page.getByRole('navigation', { name: 'Portal' }).getByRole('link', { name: 'Audit log' });
      assert.equal(await link.isVisible(), false);
      await page.getByRole('button', { name: 'Menu' }).click();
      await link.click();
      await page.getByRole('heading', { name: 'Audit log' }).waitFor();
      assert.equal(await page.locator('nav[aria-label="Portal"] [aria-current="page"]').count(), 1);
    });
  }

  it('can be passed over by keyboard', async (t) => {
    const portal = await startPortal(t);
    const { page, open } = await portal.signIn('viewer');
    await open('/audit');
    await page.keyboard.press('Tab');
    assert.equal(await page.evaluate('document.activeElement.textContent'), 'Skip to the content');
    await page.keyboard.press('Enter');
    assert.equal(await page.evaluate('document.activeElement.id'), 'main');
  });
});

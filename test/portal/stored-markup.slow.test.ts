/** Markup in every field that takes text runs on no page in a browser, whose scripts change pages. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Page } from 'playwright-core';
import { isMarkup, RAW, startHostilePortal, walkLinks } from '../support/hostile-portal.ts';

it('markup in every field runs on no page, nor on a page that links lead to', async (t) => {
  const { portal, paths } = await startHostilePortal(t);
  const { page, context } = await portal.signIn('administrator', { expecting: [400, 404, 409] });
  const hacked: string[] = [];
  await context.exposeFunction('hacked', () => hacked.push(page.url()));
  const visited = await walkLinks(paths, 1, (path) => linksInBrowser(page, portal.url, path));
  assert.ok(visited > paths.length, 'links lead on');
  assert.deepEqual(hacked, []);
});

async function linksInBrowser(page: Page, url: string, path: string): Promise<string[]> {
  const response = await page.goto(url + path, { waitUntil: 'domcontentloaded' });
  assert.ok((response?.status() ?? 500) < 500, path);
  if (isMarkup(response?.headers()['content-type'])) assert.doesNotMatch((await response?.text()) ?? '', RAW, path);
  return (await page.evaluate('[...document.links].map((link) => link.getAttribute("href"))')) as string[];
}

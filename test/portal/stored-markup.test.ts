/** Markup in every field that takes text: it is shown as text on every page, wherever it comes from. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Page } from 'playwright-core';
import { startPortal } from '../support/browser.ts';
import { sharedCertificates } from '../support/journey.ts';
import { portalPages, shownPages } from '../support/portal-pages.ts';
import { newSession, request } from '../support/portal-requests.ts';
import { seededPath, seedPortal, type Words } from '../support/portal-seed.ts';
import { startReceiver } from '../support/receiver.ts';
import { startService } from '../support/service.ts';

/** Breaks out of text, of either kind of quote, of a comment, and of a style or script. */
const HOSTILE = `"'--></style></script><script>hacked()</script><img src=x onerror=hacked()><a href=javascript:hacked()>`;
const WORD = `"'><script>hacked()</script><img/src=x/onerror=hacked()>`;

const WORDS: Words = {
  userName: WORD,
  displayName: HOSTILE,
  product: HOSTILE,
  description: HOSTILE,
  application: HOSTILE,
  endpoints: [HOSTILE, `${HOSTILE} 2`, `${HOSTILE} 3`],
  webhooks: [HOSTILE, `${HOSTILE} 2`, `${HOSTILE} 3`],
  eventTypes: ['order.created'],
  // Names in headers take no such characters.
  keys: ['acme-2026'],
  data: (number) => ({ number, [HOSTILE]: HOSTILE }),
  subject: HOSTILE,
  failure: {
    status: 500,
    headers: { 'content-type': 'text/html', 'x-hostile': HOSTILE, 'x-challenge-sha256': HOSTILE },
    body: HOSTILE,
  },
};

/** The markup as it is, which is in no page. */
const RAW = /<script>hacked|<img[ /]src=x/;
const pages = portalPages();

describe('markup in every field', () => {
  it('is text on every page, and on every page that links lead to', async (t) => {
    const { ca, server } = sharedCertificates();
    const portal = await startPortal(t, { ca });
    const receiver = await startReceiver(t, server, { clock: portal.service.clock });
    const { ids } = await seedPortal({ service: portal.service, admin: portal.service.admin, receiver }, WORDS);
    const { page, context } = await portal.signIn('administrator', { expecting: [400, 404, 409] });
    const { token } = await newSession(portal.service, 'administrator');
    const hacked: string[] = [];
    await context.exposeFunction('hacked', () => hacked.push(page.url()));

    const waiting = shownPages().flatMap(({ path }) => seededPath(path, ids) ?? []);
    const known = waiting.length;
    const seen = new Set<string>();
    const shapes = new Map<string, number>();
    for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
      const shape = path
        .replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '{id}')
        .replace(/=[^&]*/g, '')
        .replace(/^\/docs\/.*/, '/docs/{page}');
      const times = shapes.get(shape) ?? 0;
      // A few of each kind of page will do, and one in the browser.
      if (seen.has(path) || times >= 3) continue;
      seen.add(path);
      shapes.set(shape, times + 1);
      const links = times === 0 ? await linksInBrowser(page, portal.url, path) : await linksIn(portal.url, path, token);
      for (const link of links)
        if (/^\/(?!assets|downloads\/)/.test(link) && !/\.csv\b/.test(link)) waiting.push(link.replace(/#.*/, ''));
    }
    assert.ok(seen.size > known, 'links lead on');
    assert.deepEqual(hacked, []);
  });

  it('comes back as text from every query and every form', async (t) => {
    const service = await startService(t);
    for (const { method, path, role } of pages) {
      const { token } = await newSession(service, role ?? 'administrator');
      const target =
        service.url + (seededPath(path, {}) ?? path.replace(/\{\w+\}/g, encodeURIComponent('<script>hacked')));
      if (method === 'GET') {
        const query = new URLSearchParams(QUERY.map((name): [string, string] => [name, HOSTILE]));
        const reply = await request(`${target}?${query}`, { token });
        assert.ok(reply.status < 500, path);
        assert.doesNotMatch(reply.text, RAW, path);
      } else {
        const form = await request(target, { token });
        const names = [...form.text.matchAll(/ name="(?!formToken)([^"]+)"/g)].map(([, name]) => name ?? '');
        const fields = Object.fromEntries(
          [...names, 'name', 'response', 'userName', 'back', 'next'].map((name) => [name, HOSTILE]),
        );
        const reply = await request(target, { token, form: fields });
        assert.ok(reply.status < 500, `${path}: ${reply.status}`);
        assert.doesNotMatch(reply.text, RAW, path);
        assert.doesNotMatch(reply.headers.get('location') ?? '', /[<>"\\]|^\/\/|^[^/]/, path);
      }
    }
  });
});

async function linksInBrowser(page: Page, url: string, path: string): Promise<string[]> {
  const response = await page.goto(url + path, { waitUntil: 'domcontentloaded' });
  assert.ok((response?.status() ?? 500) < 500, path);
  if (isMarkup(response?.headers()['content-type'])) assert.doesNotMatch((await response?.text()) ?? '', RAW, path);
  return (await page.evaluate('[...document.links].map((link) => link.getAttribute("href"))')) as string[];
}

async function linksIn(url: string, path: string, token: string): Promise<string[]> {
  const { status, headers, text } = await request(url + path, { token });
  assert.ok(status < 500, path);
  if (!isMarkup(headers.get('content-type') ?? undefined)) return [];
  assert.doesNotMatch(text, RAW, path);
  return [...text.matchAll(/<a [^>]*\bhref="([^"]*)"/g)].map(([, link = '']) => link.replaceAll('&amp;', '&'));
}

/** Browsers do not read the documents of the event catalogue as markup. */
function isMarkup(contentType: string | undefined): boolean {
  return contentType?.startsWith('text/html') ?? true;
}

const QUERY = [
  'cursor',
  'limit',
  'actor',
  'action',
  'target',
  'since',
  'until',
  'next',
  'state',
  'states',
  'webhookId',
  'webhook',
  'eventType',
  'period',
  'method',
  'path',
  'endpointId',
  'endpoint',
  'q',
  'name',
  'type',
  'role',
  'tab',
];

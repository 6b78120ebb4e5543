/**
 * Follows every link of both portals from their overviews: none is dead, and no text of the customers' portal has a word that is only the
 * operator's.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { succeeded } from '../support/client.ts';
import { created } from '../support/customers.ts';
import { OPERATORS_WORDS } from '../support/operators-words.ts';
import { type History, startHistory } from '../support/portal-history.ts';
import { type PortalReply, request } from '../support/portal-requests.ts';

type Visit = { readonly path: string; readonly from: string; readonly reply: PortalReply };

/** Every page that links lead to, once for the same path and the same parameters: lists have a link for each value of a filter. */
async function crawl(url: string, token: string): Promise<Visit[]> {
  const found = new Map<string, string>([['/', '']]);
  const seen = new Set<string>([...found.keys()].map(shapeOf));
  const visits: Visit[] = [];
  for (const [path, from] of found) {
    const reply = await request(`${url}${path}`, { token });
    visits.push({ path, from, reply });
    if (!reply.headers.get('content-type')?.startsWith('text/html')) continue;
    for (const link of linksOf(reply.text, new URL(path, url))) {
      if (seen.has(shapeOf(link))) continue;
      seen.add(shapeOf(link));
      found.set(link, path);
    }
  }
  return visits;
}

function shapeOf(path: string): string {
  const { pathname, searchParams } = new URL(path, 'http://portal.invalid');
  return `${pathname}?${[...new Set(searchParams.keys())].sort().join('&')}`;
}

function linksOf(text: string, page: URL): string[] {
  return [...text.matchAll(/<a\b[^>]*?\shref="([^"]*)"/g)]
    .map(([, href = '']) => new URL(href.replaceAll('&amp;', '&'), page))
    .filter(({ origin }) => origin === page.origin)
    .map(({ pathname, search }) => `${pathname}${search}`);
}

/** The customer's application has a scope that is offered, and its portal a deliveries filter that finds nothing. */
async function startPortals(t: Parameters<typeof startHistory>[0]): Promise<History> {
  const history = await startHistory(t);
  const { service, ids } = history;
  const scopes = [{ name: 'shop:view', description: 'Read the shop.', offered: true }];
  const rules = [{ methods: ['GET'], path: '/shop/stock', scope: 'shop:view' }];
  await created(service.admin, 'products', { name: 'Shop', scopes, rules });
  await succeeded(service.admin.patch(`applications/${ids.customer.applications}`, { scopes: ['shop:view'] }));
  return history;
}

function textOf({ reply }: Visit): string {
  return reply.text.replaceAll(/<(script|style)[\s\S]*?<\/\1>/g, '').replaceAll(/<[^>]*>/g, ' ');
}

function hasNavigation({ reply }: Visit): boolean {
  return reply.text.includes('id="navigation"');
}

/** A file to save: the page with the link stays. */
function isFileOf(visits: readonly Visit[], { path, from, reply }: Visit): boolean {
  if (reply.headers.get('content-disposition')?.startsWith('attachment') === true) return true;
  const page = visits.find((visit) => visit.path === from)?.reply.text ?? '';
  const tags = page.match(/<a\b[^>]*>/g) ?? [];
  return tags.some((tag) => tag.includes(`href="${path.replaceAll('&', '&amp;')}"`) && /\sdownload\b/.test(tag));
}

describe('the links of a portal', () => {
  it('lead somewhere, for the operator, a customer, and a viewer with a link', async (t) => {
    const { service, sessions } = await startPortals(t);
    for (const [who, token] of Object.entries(sessions)) {
      const visits = await crawl(service.url, token);
      assert.ok(visits.length > 40, `${who}: ${visits.length}`);
      const dead = visits.filter(({ reply }) => reply.status >= 400);
      assert.deepEqual(
        dead.map(({ path, from, reply }) => `${reply.status} ${path} from ${from}`),
        [],
        who,
      );
      if (token === sessions.operator) continue;
      const pages = visits.filter(({ reply }) => reply.headers.get('content-type')?.startsWith('text/html'));
      const spoken = pages.flatMap((visit) => {
        const text = textOf(visit);
        const at = text.search(OPERATORS_WORDS);
        return at < 0 ? [] : [`${visit.path}: ${text.slice(Math.max(0, at - 40), at + 40)}`];
      });
      assert.deepEqual(spoken, [], who);
      const stranded = visits.filter(
        (visit) => visit.reply.status === 200 && !hasNavigation(visit) && !isFileOf(visits, visit),
      );
      assert.deepEqual(
        stranded.map(({ path, from }) => `${path} from ${from}`),
        [],
        `${who}: pages without a way back`,
      );
    }
  });
});

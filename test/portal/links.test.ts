/**
 * Follows every link of both portals from their overviews: none is dead, and no text of the customers' portal has a word that is only the
 * operator's.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { startHistory } from '../support/portal-history.ts';
import { type PortalReply, request } from '../support/portal-requests.ts';

type Visit = { readonly path: string; readonly from: string; readonly reply: PortalReply };

/** Every page that links lead to, by its path without the query: lists have as many queries as filters. */
async function crawl(url: string, token: string, start: string): Promise<Visit[]> {
  const found = new Map<string, string>([[start, '']]);
  const seen = new Set<string>([shapeOf(start)]);
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

/** Two pages with the same parameters are alike, whatever the values are. */
function shapeOf(path: string): string {
  const { pathname, searchParams } = new URL(path, 'http://portal.invalid');
  return `${pathname}?${[...new Set(searchParams.keys())].sort().join('&')}`;
}

function linksOf(text: string, page: URL): string[] {
  const hrefs = [...text.matchAll(/<a\b[^>]*?\shref="([^"]*)"/g)].map(([, href = '']) => href.replaceAll('&amp;', '&'));
  return hrefs
    .map((href) => new URL(href, page))
    .filter(({ origin }) => origin === page.origin)
    .map(({ pathname, search }) => `${pathname}${search}`);
}

function isDead({ reply }: Visit): boolean {
  return reply.status >= 400;
}

describe('the links of the portals', () => {
  it('lead somewhere', async (t) => {
    const { service, sessions } = await startHistory(t);
    const began = performance.now();
    for (const token of [sessions.operator, sessions.customer, sessions.link]) {
      const visits = await crawl(service.url, token, '/');
      const dead = visits.filter(isDead).map(({ path, from, reply }) => `${reply.status} ${path} from ${from}`);
      console.log(visits.length, performance.now() - began);
      for (const one of dead) console.log(one);
      if (token !== sessions.operator)
        for (const { path, reply } of visits) {
          const text = reply.text.replaceAll(/<script[\s\S]*?<\/script>/g, '').replaceAll(/<[^>]*>/g, ' ');
          for (const m of text.matchAll(/.{0,60}(sallyport \w|SALLYPORT|docs\/|employee\.|Sallyport).{0,60}/g)) console.log(path, m[0]);
        }
    }
  });
});

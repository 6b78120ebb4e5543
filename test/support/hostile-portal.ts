/** A portal whose every name and text is markup that would run, and a walk over its pages. */
import type { TestContext } from 'node:test';
import { type Portal, startPortal } from './browser.ts';
import { shownPages } from './portal-pages.ts';
import { seededPath, seedPortal, type Words } from './portal-seed.ts';
import { startReceiver } from './receiver.ts';
import { sharedCertificates } from './tls.ts';

/** Breaks out of text, of either kind of quote, of a comment, and of a style or script. */
export const HOSTILE = `"'--></style></script><script>hacked()</script><img src=x onerror=hacked()><a href=javascript:hacked()>`;
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
export const RAW = /<script>hacked|<img[ /]src=x/;

/** The portal, and the paths of its pages. */
export async function startHostilePortal(t: TestContext): Promise<{ portal: Portal; paths: string[] }> {
  const { ca, server } = sharedCertificates();
  const portal = await startPortal(t, { ca });
  const receiver = await startReceiver(t, server, { clock: portal.service.clock });
  const { ids } = await seedPortal({ service: portal.service, admin: portal.service.admin, receiver }, WORDS);
  return { portal, paths: shownPages().flatMap(({ path }) => seededPath(path, ids) ?? []) };
}

/**
 * Visits the pages, and those that their links lead to: at most `each` of a kind. `visit` returns the links of a page. Returns how many
 * pages it visited.
 */
export async function walkLinks(
  paths: readonly string[],
  each: number,
  visit: (path: string) => Promise<readonly string[]>,
): Promise<number> {
  const waiting = [...paths];
  const seen = new Set<string>();
  const shapes = new Map<string, number>();
  for (let path = waiting.shift(); path !== undefined; path = waiting.shift()) {
    const shape = path
      .replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '{id}')
      .replace(/=[^&]*/g, '')
      .replace(/^\/docs\/.*/, '/docs/{page}');
    const times = shapes.get(shape) ?? 0;
    if (seen.has(path) || times >= each) continue;
    seen.add(path);
    shapes.set(shape, times + 1);
    for (const link of await visit(path))
      if (/^\/(?!assets|downloads\/)/.test(link) && !/\.csv\b/.test(link)) waiting.push(link.replace(/#.*/, ''));
  }
  return seen.size;
}

/** Browsers do not read the documents of the event catalogue as markup. */
export function isMarkup(contentType: string | null | undefined): boolean {
  return contentType?.startsWith('text/html') ?? true;
}

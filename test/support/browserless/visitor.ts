/**
 * A visitor of the portal without a browser: reads pages, follows links and sends forms by requests, as a browser without JavaScript does.
 * It has no styles, scripts, focus or policy of a page, which only a browser has. A page takes a small part of the
 * processor time that it takes in a browser.
 */
import assert from 'node:assert/strict';
import { type PortalReply, request } from '../portal-requests.ts';
import { type Element, elementsOf, normal, runningMarkup, textOf, within } from './elements.ts';
import { sentFields } from './fields.ts';
import { type Finders, finders, type Shown } from './locator.ts';

type Place = string | RegExp | ((url: URL) => boolean);

type PlainPage = Finders & {
  url(): string;
  title(): Promise<string>;
  content(): Promise<string>;
  goto(url: string): Promise<{ status(): number }>;
  reload(): Promise<void>;
  goBack(): Promise<void>;
  waitForEvent(event: 'load'): Promise<void>;
  waitForURL(wanted: Place): Promise<void>;
  context(): PlainContext;
};

type Cookie = { readonly name: string; readonly value: string };

type PlainContext = {
  addCookies(cookies: readonly Cookie[]): Promise<void>;
  cookies(): Promise<Cookie[]>;
};

type PlainVisitor = {
  readonly page: PlainPage;
  readonly context: PlainContext;
  open(path: string): Promise<number>;
  /** Statuses of failed pages that were not expected, and markup that a browser would run. */
  readonly problems: readonly string[];
};

type Sent = { readonly url: string; readonly form?: URLSearchParams };

type Tab = {
  /** The only one to which cookies are sent. */
  readonly origin: string;
  readonly expecting: readonly (number | string)[];
  readonly cookies: Map<string, string>;
  readonly visited: Sent[];
  readonly problems: string[];
  url: string;
  markup: string;
  document: Element;
};

const REDIRECTS_MAX = 10;

export function plainVisitor(base: string, expecting: readonly (number | string)[]): PlainVisitor {
  const tab: Tab = {
    origin: new URL(base).origin,
    expecting,
    cookies: new Map(),
    visited: [],
    problems: [],
    url: 'about:blank',
    markup: '',
    document: elementsOf(''),
  };
  const context: PlainContext = {
    addCookies: async (cookies) => {
      for (const { name, value } of cookies) tab.cookies.set(name, value);
    },
    cookies: async () => Array.from(tab.cookies, ([name, value]) => ({ name, value })),
  };
  const { problems } = tab;
  return {
    page: pageOf(tab, context),
    context,
    problems,
    open: (path) => load(tab, { url: new URL(path, base).href }),
  };
}

function pageOf(tab: Tab, context: PlainContext): PlainPage {
  return {
    ...finders(shownIn(tab), (scope) => [scope]),
    url: () => tab.url,
    title: async () => normal(textOf(within(tab.document).find(({ tag }) => tag === 'title') ?? tab.document)),
    content: async () => tab.markup,
    goto: async (url) => {
      const status = await load(tab, { url });
      return { status: () => status };
    },
    reload: async () => {
      await load(tab, tab.visited.pop() ?? assert.fail('there is no page yet'));
    },
    goBack: async () => {
      tab.visited.pop();
      await load(tab, tab.visited.pop() ?? assert.fail('there is no page before'));
    },
    // Whatever was asked for is there.
    waitForEvent: async () => undefined,
    waitForURL: async (wanted) => assert.ok(isAt(tab.url, wanted), `${tab.url} is not ${String(wanted)}`),
    context: () => context,
  };
}

function shownIn(tab: Tab): Shown {
  return {
    document: () => tab.document,
    follow: async (href) => {
      const target = new URL(href, tab.url).href;
      const isSamePage = target.includes('#') && withoutHash(target) === withoutHash(tab.url);
      if (isSamePage) tab.url = target;
      else await load(tab, { url: target });
    },
    submit: async (form, button) => {
      const of = (name: string): string | undefined =>
        button?.attributes.get(`form${name}`) ?? form.attributes.get(name);
      const target = new URL(of('action') ?? tab.url, tab.url);
      const fields = sentFields(form, button);
      const isPost = of('method')?.toLowerCase() === 'post';
      if (!isPost) target.search = fields.toString();
      await load(tab, { url: target.href, ...(isPost && { form: fields }) });
    },
  };
}

/** Loads a page, through redirects, and returns its status. */
async function load(tab: Tab, first: Sent): Promise<number> {
  let sent = first;
  for (let count = 0; count < REDIRECTS_MAX; count += 1) {
    const { status, headers, text } = await send(tab, sent);
    const location = headers.get('location');
    if (location === null || status < 300 || status >= 400) {
      tab.url = sent.url;
      tab.visited.push(sent);
      tab.markup = headers.get('content-type')?.startsWith('text/html') === true ? text : '';
      tab.document = elementsOf(tab.markup);
      if (status >= 400 && !tab.expecting.includes(status)) tab.problems.push(`${status}: ${tab.url}`);
      tab.problems.push(...runningMarkup(tab.document));
      return status;
    }
    const next = new URL(location, sent.url);
    // The part of the page that was asked for, unless the redirect names another.
    if (next.hash === '') next.hash = new URL(sent.url).hash;
    sent = { url: next.href };
  }
  return assert.fail(`${first.url} leads to no page`);
}

async function send({ url, origin, cookies }: Tab, { url: target, form }: Sent): Promise<PortalReply> {
  const isOwn = new URL(target).origin === origin;
  const isFromHere = isOwn && url.startsWith(origin);
  const headers: Record<string, string> = {
    'sec-fetch-site': url === 'about:blank' ? 'none' : isFromHere ? 'same-origin' : 'cross-site',
    'sec-fetch-mode': 'navigate',
    'sec-fetch-dest': 'document',
  };
  if (isOwn && cookies.size > 0) headers.cookie = Array.from(cookies, ([name, value]) => `${name}=${value}`).join('; ');
  if (isFromHere) headers.referer = withoutHash(url);
  if (form !== undefined) headers.origin = origin;
  const reply = await request(target, { headers, isWhole: true, ...(form !== undefined && { form }) });
  if (!isOwn) return reply;
  for (const cookie of reply.headers.getSetCookie()) {
    const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
    if (/; *max-age=0(?:;|$)/i.test(cookie)) cookies.delete(name);
    else cookies.set(name, value);
  }
  return reply;
}

function withoutHash(url: string): string {
  return url.replace(/#.*/, '');
}

/** `**` in a text stands for any characters, and `*` for those without a slash. */
function isAt(url: string, wanted: Place): boolean {
  if (typeof wanted === 'function') return wanted(new URL(url));
  if (typeof wanted !== 'string') return wanted.test(url);
  const pattern = wanted
    .replaceAll(/[.+?^${}()|[\]\\]/g, '\\$&')
    .replaceAll(/\*+/g, (stars) => (stars.length > 1 ? '.*' : '[^/]*'));
  return new RegExp(`^${pattern}$`).test(url);
}

/** `/docs`: the documentation of this version with a search, and the package of the receiver. A user of the binary has nothing else. */
import { type Html, html } from '../../http/html.ts';
import { RECEIVER_PACKAGE, receiverPackage } from '../../kernel/assets.ts';
import { Refusal } from '../../kernel/refusal.ts';
import type { View } from '../frame/call.ts';
import type { PageDependencies, PageRoute } from '../frame/page.ts';
import { pageHeader } from '../parts/header.ts';
import { emptyState } from '../parts/list.ts';
import { icon } from '../parts/mark.ts';
import { type DocumentSection, markdown, type Resolve, sectionsOf } from '../parts/markdown.ts';
import { createLibrary, type FoundSection, type Library, titleOf } from './library.ts';

const ROOT = '/docs';
const INDEX = 'README.md';
/** A page has a column with its headings from so many parts on, and with the headings below them up to so many in total. */
const CONTENTS_FROM = 3;
const CONTENTS_MAX = 40;

const TYPES: Readonly<Record<string, string>> = { png: 'image/png', svg: 'image/svg+xml', tgz: 'application/gzip' };

export function documentationPages({ pages }: PageDependencies): PageRoute<'operator'>[] {
  const library = createLibrary();
  return [
    pages.view(ROOT, 'operator', () => documentView(library, INDEX)),
    pages.view(`${ROOT}/search`, 'operator', async ({ query }) => {
      const words = (query.get('q') ?? '').trim();
      return searchView(words, words === '' ? [] : await library.search(words));
    }),
    pages.view(`${ROOT}/{page*}`, 'operator', async ({ params }) => {
      const file = params.page ?? '';
      if (!library.has(file)) throw new Refusal('not_found', `the documentation has no page ${file}`);
      if (file.endsWith('.md')) return documentView(library, file);
      const type = TYPES[file.slice(file.lastIndexOf('.') + 1)] ?? 'text/plain;charset=UTF-8';
      return { reply: { status: 200, headers: { 'Content-Type': type }, body: library.read(file) } };
    }),
  ];
}

async function documentView({ read, has }: Library, file: string): Promise<View> {
  const { lexer } = await import('marked');
  const tokens = lexer(read(file).toString('utf8'));
  const download = file === INDEX ? receiverNotice() : null;
  const sections = sectionsOf(tokens);
  const content = html`
    ${searchForm('')}
    <div class="doc-page">
      ${contentsOf(sections)}
      <article class="doc">${markdown(tokens, resolverOf(file, has))}${download}</article>
    </div>
  `;
  return { title: titleOf(sections, file), content };
}

/** The headings of a page, for a column beside it. Short pages have none, nor do narrow screens. */
function contentsOf(sections: readonly DocumentSection[]): Html | null {
  const shown = sections.filter(({ depth, anchor }) => (depth === 2 || depth === 3) && anchor !== null);
  if (shown.filter(({ depth }) => depth === 2).length < CONTENTS_FROM) return null;
  // Of a long page, only its parts.
  const listed = shown.length > CONTENTS_MAX ? shown.filter(({ depth }) => depth === 2) : shown;
  const items = listed.map(
    ({ heading, anchor, depth }) =>
      html`<li class="${depth === 3 ? 'doc-contents-below' : ''}"><a href="#${anchor}">${heading}</a></li>`,
  );
  return html`
    <nav class="doc-contents" aria-label="On this page">
      <p class="doc-contents-title">On this page</p>
      <ul>${items}</ul>
    </nav>
  `;
}

/** Links between pages lead to their paths in the portal. Files outside of the documentation are not here. */
function resolverOf(file: string, has: (file: string) => boolean): Resolve {
  return (href) => {
    if (/^(https?:|#)/.test(href)) return href;
    const { pathname, hash, protocol } = new URL(href, `http://own.invalid${ROOT}/${file}`);
    const target = decodeURIComponent(pathname.slice(ROOT.length + 1));
    return protocol === 'http:' && pathname.startsWith(`${ROOT}/`) && has(target) ? pathname + hash : null;
  };
}

function receiverNotice(): Html {
  if (receiverPackage() === null)
    return html`
      <p>
        In a checkout, <code>npm run build:receiver</code> makes the npm package of the receiver. It can then be
        downloaded here.
      </p>
    `;
  return html`
    <p>
      For your customers, the receiver as an npm package, with its test vectors:
      <a href="${`${ROOT}/${RECEIVER_PACKAGE}`}" download>${RECEIVER_PACKAGE}</a>
    </p>
  `;
}

function searchForm(words: string): Html {
  return html`
    <form action="${ROOT}/search" class="doc-search" role="search">
      <input
        type="search"
        name="q"
        value="${words}"
        maxlength="200"
        placeholder="Search the documentation"
        aria-label="Search the documentation"
      >
      <button class="button button-plain">${icon('search')}<span>Search</span></button>
    </form>
  `;
}

function searchView(words: string, results: readonly FoundSection[]): View {
  const lines = results.map(({ file, title, section, excerpt }) => {
    const anchor = section.anchor === null ? '' : `#${section.anchor}`;
    const path = title === section.heading ? title : html`${title} › ${section.heading}`;
    return html`<li><a href="${`${ROOT}/${file}${anchor}`}">${path}</a><p>${excerpt}</p></li>`;
  });
  const nothing = emptyState({ title: 'Nothing found', text: 'Use other words, or fewer.' });
  const list = words === '' ? null : lines.length === 0 ? nothing : html`<ol class="doc-results">${lines}</ol>`;
  const crumbs = [{ href: ROOT, label: 'Documentation' }];
  return {
    title: 'Search the documentation',
    content: html`${pageHeader({ title: 'Search the documentation', crumbs })}${searchForm(words)}${list}`,
  };
}

/** `/docs`: the documentation of this version with a search, and the package of the receiver. A user of the binary has nothing else. */
import { type Html, html } from '../../http/html.ts';
import { RECEIVER_PACKAGE, receiverPackage } from '../../kernel/assets.ts';
import { Refusal } from '../../kernel/refusal.ts';
import type { View } from '../frame/call.ts';
import type { PageDependencies, PageRoute } from '../frame/page.ts';
import { codeBlock } from '../parts/details.ts';
import { pageHeader } from '../parts/header.ts';
import { emptyState } from '../parts/list.ts';
import { icon } from '../parts/mark.ts';
import { markdown, type Resolve, sectionsOf } from '../parts/markdown.ts';
import { countOf } from '../parts/text.ts';
import { contentsOf } from './contents.ts';
import { createLibrary, FOUND_MAX, type FoundSection, INDEX, type Library, titleOf } from './library.ts';
import { type ListedPage, placeOf, type ReadingPlace } from './reading-order.ts';

const ROOT = '/docs';
/** In the query: the file itself, not a page with it. */
const PLAIN = 'plain';

const TYPES: Readonly<Record<string, string>> = {
  png: 'image/png',
  svg: 'image/svg+xml',
  tgz: 'application/gzip',
  json: 'application/json',
};

export function documentationPages({ pages }: PageDependencies): PageRoute<'operator'>[] {
  const library = createLibrary();
  return [
    pages.view(ROOT, 'operator', () => documentView(library, INDEX)),
    pages.view(`${ROOT}/search`, 'operator', async ({ query }) => {
      const words = (query.get('q') ?? '').trim();
      return searchView(words, words === '' ? [] : await library.search(words), await library.listed());
    }),
    pages.view(`${ROOT}/{page*}`, 'operator', async ({ params, query }) => {
      const file = params.page ?? '';
      if (!library.has(file)) throw new Refusal('not_found', `the documentation has no page ${file}`);
      if (file.endsWith('.md')) return documentView(library, file);
      const type = TYPES[file.slice(file.lastIndexOf('.') + 1)];
      if (type === undefined && !query.has(PLAIN)) return programView(library, file);
      const headers = { 'Content-Type': type ?? 'text/plain;charset=UTF-8' };
      return { reply: { status: 200, headers, body: library.read(file) } };
    }),
  ];
}

/** The latest view of each page with its source. The longest page takes a second to draw. */
const drawn = new Map<string, { readonly source: Buffer; readonly view: View }>();

async function documentView(library: Library, file: string): Promise<View> {
  const source = library.read(file);
  const known = drawn.get(file);
  // In a checkout, a page may change while the service runs. The first page says whether the package is there.
  if (known?.source.equals(source) === true && file !== INDEX) return known.view;
  const view = await drawView(library, file, source);
  drawn.set(file, { source, view });
  return view;
}

async function drawView({ has, listed }: Library, file: string, source: Buffer): Promise<View> {
  const { lexer } = await import('marked');
  const tokens = lexer(source.toString('utf8'));
  const download = file === INDEX ? receiverNotice() : null;
  const sections = sectionsOf(tokens);
  const place = placeOf(await listed(), file);
  const content = html`
    <div class="doc-page">
      <div class="doc-head">${file === INDEX ? null : pathAbove(place)}${searchForm('')}</div>
      ${contentsOf(sections)}
      <div class="doc-main">
        <article class="doc">${markdown(tokens, resolverOf(file, has))}${download}</article>
        ${place === null ? null : nextPages(place)}
      </div>
    </div>
  `;
  return { title: titleOf(sections, file), content };
}

/** A program or a configuration, as it is. */
function programView({ has, read }: Library, file: string): View {
  const name = file.slice(file.lastIndexOf('/') + 1);
  const folder = file.slice(0, -name.length - 1);
  const above = `${folder}/${INDEX}`;
  const crumbs = [
    { href: ROOT, label: 'Documentation' },
    ...(has(above) ? [{ href: `${ROOT}/${above}`, label: FOLDERS[folder] ?? folder }] : []),
  ];
  const download = html`
    <a class="button button-plain" href="${ROOT}/${file}?${PLAIN}" download="${name}">
      ${icon('download')}<span>Download</span>
    </a>
  `;
  return {
    title: name,
    content: html`
      ${pageHeader({ title: name, crumbs, actions: [download] })}
      <div class="doc-program">${codeBlock({ code: read(file).toString('utf8'), label: file })}</div>
    `,
  };
}

/** The folders of programs, by the title of their first page. */
const FOLDERS: Readonly<Record<string, string>> = { examples: 'Examples', receivers: 'Receivers' };

/** Where the page belongs. Above it, with the search. */
function pathAbove(place: ReadingPlace | null): Html {
  const group =
    place === null ? null : html`<li><a href="${ROOT}#${place.group.anchor}">${place.group.heading}</a></li>`;
  return html`
    <nav aria-label="Breadcrumb" class="crumbs"><ol><li><a href="${ROOT}">Documentation</a></li>${group}</ol></nav>
  `;
}

function nextPages({ before, after }: ReadingPlace): Html | null {
  if (before === null && after === null) return null;
  const link = (page: ListedPage | null, label: string, mark: 'previous' | 'next'): Html | null =>
    page === null
      ? null
      : html`
        <a class="doc-turn doc-turn-${mark}" href="${`${ROOT}/${page.file}`}" rel="${mark === 'next' ? 'next' : 'prev'}">
          <span class="hint">${label}</span>
          <span>${page.title}</span>
        </a>
      `;
  return html`
    <nav class="doc-turns" aria-label="Pages before and after">
      ${link(before, 'Previous', 'previous')}${link(after, 'Next', 'next')}
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

function searchView(words: string, results: readonly FoundSection[], listed: readonly ListedPage[]): View {
  const pages = [...Map.groupBy(results, ({ file }) => file)];
  const hits = pages.map(([file, sections]) => foundPage(file, sections, listed));
  const places = countOf(results.length, 'place');
  const count = html`
    <p class="quiet" role="status">
      ${results.length < FOUND_MAX ? places : `The best ${places}`} in ${countOf(pages.length, 'page')}
    </p>
  `;
  const nothing = emptyState({ title: 'Nothing found', text: 'Use other words, or fewer.' });
  const list = html`${count}<ol class="doc-results">${hits}</ol>`;
  const crumbs = [{ href: ROOT, label: 'Documentation' }];
  return {
    title: 'Search the documentation',
    content: html`
      ${pageHeader({ title: 'Search the documentation', crumbs })}${searchForm(words)}
      ${words === '' ? null : results.length === 0 ? nothing : list}
    `,
  };
}

/** A page with the places in it that have the words, the best first. */
function foundPage(file: string, sections: readonly FoundSection[], listed: readonly ListedPage[]): Html {
  const group = listed.find((page) => page.file === file)?.group.heading ?? null;
  const places = sections.map(({ title, section: { heading, anchor }, excerpt }) => {
    const href = `${ROOT}/${file}${anchor === null ? '' : `#${anchor}`}`;
    const name = heading === '' || heading === title ? null : html`<a href="${href}">${heading}</a>`;
    return html`<li>${name}<p>${excerpt}</p></li>`;
  });
  return html`
    <li>
      <a class="doc-result" href="${`${ROOT}/${file}`}">${sections[0]?.title ?? file}</a>
      ${group === null ? null : html`<span class="hint">${group}</span>`}
      <ul>${places}</ul>
    </li>
  `;
}

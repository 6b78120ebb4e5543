/** List pages: filters, tables, which become cards on a narrow screen, their empty states, and the pager. */
import { attributes, type Html, type HtmlValue, html } from '../../http/html.ts';
import { readPageQuery } from '../../http/paging.ts';
import { readPage } from '../../resources/list-rules.ts';
import { linkButton, type PageHeader, pageHeader, submitButton } from './header.ts';
import { icon } from './mark.ts';

/** `cursor` is null on the first page, `nextCursor` on the last. */
export type Listed<Item> = {
  readonly items: readonly Item[];
  readonly cursor: string | null;
  readonly nextCursor: string | null;
};

/**
 * The page that the query requests. `read` returns up to `limit` items after the cursor. One more than shown is read, to know whether a
 * page follows. Throws 400, which names the parameter.
 */
export async function readListed<Item>(
  query: URLSearchParams,
  read: (cursor: string | null, limit: number) => Promise<readonly Item[]>,
  idOf: (item: Item) => string,
): Promise<Listed<Item>> {
  const { limit, cursor } = readPageQuery(query);
  return { cursor, ...(await readPage({ limit }, (count) => read(cursor, count), idOf)) };
}

type ListView = Pick<PageHeader, 'lead' | 'actions' | 'crumbs' | 'badges'> & {
  readonly title: string;
  readonly path: string;
  readonly query: URLSearchParams;
  /** The filters; none for a list without entries. */
  readonly filters?: readonly Html[] | undefined;
  /** The label of the filter button, which the script makes unnecessary. */
  readonly submit?: string | undefined;
  /** Content above the filters. */
  readonly above?: Html | null | undefined;
  /** The layout of results other than a plain table. */
  readonly layout?: 'audit-list' | 'user-lists' | 'stack' | 'live-tail' | 'under-tabs' | undefined;
  readonly results: Html;
  /** The stream that sends the results again when they changed (`listResults`). */
  readonly stream?: string | undefined;
  /** Absent for a list on a single page. */
  readonly nextCursor?: string | null | undefined;
};

/** The parts of a page with a list. The page's script replaces `partial`. */
export function listView(list: ListView): { readonly title: string; readonly content: Html; readonly partial: Html } {
  const { path, query, filters = [], submit, above = null, layout, stream, title } = list;
  const live =
    stream === undefined ? null : attributes({ 'data-hx-sse:connect': stream, 'data-hx-swap': 'innerMorph' });
  const partial = html`
    <div id="results" class="${layout === undefined ? 'results' : `results ${layout}`}"${live}>
      ${listResults(list)}
    </div>
  `;
  const form = filters.length === 0 ? null : filterForm({ path, target: RESULTS, query, fields: filters, submit });
  return { title, content: html`${pageHeader(list)}${above}${form}${partial}`, partial };
}

const RESULTS = '#results';

type ListResults = Omit<ListView, 'title'> & {
  /** The element that a link to another page replaces. */
  readonly target?: string | undefined;
};

/** The content of the results: of the page, and of each update by its stream. */
export function listResults({ path, query, results, nextCursor, target = RESULTS }: ListResults): Html {
  return html`${results}${nextCursor === undefined ? null : pager({ path, query, nextCursor, target })}`;
}

/** A list that fits on one page begins with what needs a person: ordered by place, then by name. Longer lists keep their order. */
export function mostUrgentFirst<T>(
  { items, cursor, nextCursor }: Listed<T>,
  placeOf: (item: T) => number,
  nameOf: (item: T) => string,
): readonly T[] {
  if (cursor !== null || nextCursor !== null) return items;
  return items.toSorted((a, b) => placeOf(a) - placeOf(b) || nameOf(a).localeCompare(nameOf(b), 'en'));
}

type Column = {
  readonly label: string;
  /** `main` names the row and leads a card; `number` is right-aligned; `actions` holds buttons and needs no visible heading. */
  readonly kind?: 'main' | 'text' | 'number' | 'actions' | undefined;
  /** In the head, in place of the label. */
  readonly head?: Html | undefined;
  readonly phone?: PhonePlace | undefined;
};

/**
 * Where a phone shows the cell. A table with such columns has two or three lines a row there: the name with its `state` at the right, and
 * below it the others one after another: `named` ones with their label, `plain` ones that need none. `none` leaves a cell out. Tables
 * without them have a line for each cell.
 */
type PhonePlace = 'state' | 'plain' | 'named' | 'none';

type LiveNoun = readonly [one: string, many: string];

/** A list in a live part of a page. While someone reads it, its rows stay, and the button that the script shows tells how many are new. */
export function liveList([one, many]: LiveNoun, list: Html): Html {
  return html`
    <div class="live-list" data-live-list="${one}|${many}">
      <div class="live-pill" data-live-pill hidden>
        <button type="button" class="button button-primary" aria-keyshortcuts="."></button>
      </div>
      ${list}
    </div>
  `;
}

export type Table = {
  /** The accessible name. */
  readonly caption: string;
  readonly columns: readonly Column[];
  /** One cell for each column. */
  readonly rows: readonly (readonly HtmlValue[])[];
  /** The ids of the rows' elements, by which a live page finds them again. */
  readonly rowIds?: readonly string[] | undefined;
  /** The noun for a row of a live list, in the singular and the plural. With it, rows do not move under a reader (`liveList`). */
  readonly live?: LiveNoun | undefined;
  /** Shown instead of an empty table: `emptyState` or `nothingFound`. Default: nothing. */
  readonly empty?: Html;
};

export function table({ caption, columns, rows, rowIds = [], live, empty = html`` }: Table): Html {
  if (rows.length === 0) return empty;
  const heads = columns.map(({ label, kind = 'text', head }) => {
    const name = head ?? (kind === 'actions' ? html`<span class="visually-hidden">${label}</span>` : label);
    return html`<th scope="col" class="cell-${kind}">${name}</th>`;
  });
  const isCompact = columns.some(({ phone }) => phone !== undefined);
  const lines = rows.map((cells, index) => {
    const made = columns.map(({ label, kind = 'text', phone }, at) => {
      const element = cells[at] ?? null;
      if (kind === 'main') return html`<th scope="row" class="cell-main"><div class="cell">${element}</div></th>`;
      const place = attributes({ 'data-phone': element === 0 ? 'none' : phone });
      return html`<td class="cell-${kind}" data-label="${label}"${place}><div class="cell">${element}</div></td>`;
    });
    return html`<tr${attributes({ id: rowIds[index] })}>${made}</tr>`;
  });
  const shown = html`
    <div class="${isCompact ? 'table-box compact' : 'table-box'}" tabindex="0" role="region" aria-label="${caption}">
      <table>
        <caption class="visually-hidden">${caption}</caption>
        <thead><tr>${heads}</tr></thead>
        <tbody>${lines}</tbody>
      </table>
    </div>
  `;
  return live === undefined ? shown : liveList(live, shown);
}

/** A part of a list that few people need. */
export function folded({
  title,
  note,
  content,
  isOpen = false,
}: {
  readonly title: string;
  readonly note: string;
  readonly content: Html;
  readonly isOpen?: boolean;
}): Html {
  return html`
    <details class="folded"${attributes({ open: isOpen })}>
      <summary>${title} <span class="optional">${note}</span></summary>
      ${content}
    </details>
  `;
}

/** For a list without entries: its purpose and the first step. */
export function emptyState({
  title,
  text,
  action = null,
}: {
  readonly title: string;
  readonly text: string | Html;
  readonly action?: Html | null;
}): Html {
  return html`<div class="empty"><h2>${title}</h2><div class="empty-text">${text}</div>${action}</div>`;
}

/** The first step of an empty list, which only administrators can take. `verb` is what they do: `create`. */
export function firstStep(call: { may(role: 'administrator'): boolean }, verb: string, button: () => Html): Html {
  return call.may('administrator') ? button() : html`<p class="quiet">An administrator can ${verb} one.</p>`;
}

/** Above a list: leads to the rows with problems, and if these are chosen back to all. */
export function problemsLink(href: string, label: string, isChosen: boolean): Html {
  return html`<p class="quick-filter"><a href="${href}">${icon(isChosen ? 'cross' : 'warning')}${label}</a></p>`;
}

/** For filters without results. */
export function nothingFound(path: string, what: string): Html {
  return html`
    <div class="empty">
      <h2>Nothing found</h2>
      <p class="empty-text">No ${what} fit these filters.</p>
      <p><a href="${path}">Show all</a></p>
    </div>
  `;
}

/**
 * Links to the first and the next page, because cursors only lead forward. `query` is that of the page; its filters stay. With `target`
 * the script replaces only that element.
 */
export function pager({
  path,
  query,
  nextCursor,
  target,
}: {
  readonly path: string;
  readonly query: URLSearchParams;
  readonly nextCursor: string | null;
  readonly target?: string | undefined;
}): Html | null {
  const isFirst = !query.has('cursor');
  if (isFirst && nextCursor === null) return null;
  const swap = (href: string): Html | null =>
    target === undefined
      ? null
      : attributes({
          'data-hx-get': href,
          'data-hx-target': target,
          'data-hx-swap': 'outerHTML',
          'data-hx-push-url': 'true',
        });
  const first = withQuery(path, query, { cursor: null });
  const next = withQuery(path, query, { cursor: nextCursor });
  return html`
    <nav class="pager" aria-label="Pages">
      ${
        isFirst
          ? html`<span></span>`
          : html`
            <a class="button button-plain" href="${first}"${swap(first)}>
              ${icon('previous')}
              <span>First page</span>
            </a>
          `
      }
      ${
        nextCursor === null
          ? html`<span class="quiet">End of the list</span>`
          : html`
            <a class="button button-plain" href="${next}"${swap(next)} rel="next">
              <span>Next page</span>
              ${icon('next')}
            </a>
          `
      }
    </nav>
  `;
}

/** The URL with changes to its query; null removes a parameter. Empty values are omitted. */
export function withQuery(
  path: string,
  query: URLSearchParams,
  changes: Readonly<Record<string, string | null>>,
): string {
  const kept = new URLSearchParams([...query].filter(([name, value]) => !Object.hasOwn(changes, name) && value !== ''));
  for (const [name, value] of Object.entries(changes)) if (value !== null && value !== '') kept.set(name, value);
  const text = kept.toString();
  return text === '' ? path : `${path}?${text}`;
}

/**
 * Filters above a list: a form that requests the same path with its fields in the query. With the script, every change replaces only the
 * element `target` and updates the URL.
 */
function filterForm({
  path,
  target,
  fields,
  query,
  submit = 'Filter',
}: {
  readonly path: string;
  /** A selector, such as `#results`. */
  readonly target: string;
  readonly fields: readonly Html[];
  readonly query: URLSearchParams;
  readonly submit?: string | undefined;
}): Html {
  const isFiltered = [...query].some(([name, value]) => name !== 'cursor' && value !== '');
  const swap = attributes({
    'data-hx-get': path,
    'data-hx-target': target,
    'data-hx-swap': 'outerHTML',
    'data-hx-push-url': 'true',
    'data-hx-trigger': 'submit, change, input delay:300ms changed',
    'data-hx-sync': 'this:replace',
  });
  return html`
    <form method="get" action="${path}" class="filters" role="search" data-leave-out-empty${swap}>
      <div class="filter-fields">${fields}</div>
      <div class="buttons">
        ${submitButton({ label: submit, kind: 'plain', icon: 'search' })}
        ${isFiltered ? linkButton({ href: path, label: 'Clear', kind: 'quiet' }) : null}
      </div>
    </form>
  `;
}

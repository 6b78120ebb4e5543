/** A list as a page of its own: filters, one page of what there is, and the part that the page's script puts in its place. */
import { type Html, html } from '../../http/html.ts';
import { readPage, readPageQuery } from '../../http/paging.ts';
import type { View } from '../call.ts';
import { filterForm } from './form.ts';
import { type PageHeader, pageHeader } from './header.ts';
import { pager } from './table.ts';

/** `cursor` is null on the first page, `nextCursor` on the last. */
export type Listed<Item> = {
  readonly items: readonly Item[];
  readonly cursor: string | null;
  readonly nextCursor: string | null;
};

/**
 * The page that the query asks for. `read` answers up to `limit` items after the cursor, and is asked for one more than is shown,
 * to know whether another page follows. Throws 400 naming the parameter.
 */
export async function readListed<Item>(
  query: URLSearchParams,
  read: (cursor: string | null, limit: number) => Promise<readonly Item[]>,
  idOf: (item: Item) => string,
): Promise<Listed<Item>> {
  const { limit, cursor } = readPageQuery(query);
  return { cursor, ...(await readPage({ limit }, (count) => read(cursor, count), idOf)) };
}

type ListView = Pick<PageHeader, 'lead' | 'actions'> & {
  readonly title: string;
  readonly path: string;
  readonly query: URLSearchParams;
  /** Fields to filter by; none where there is nothing yet to be filtered. */
  readonly filters?: readonly Html[] | undefined;
  /** On the button that filters, for those without a script. */
  readonly submit?: string | undefined;
  /** What stands above the filters. */
  readonly above?: Html | null | undefined;
  /** How the results are laid out where they are not a plain table. */
  readonly layout?: 'delivery-list' | 'stack' | undefined;
  readonly results: Html;
  /** Absent where everything stands on one page. */
  readonly nextCursor?: string | null | undefined;
};

export function listView(list: ListView): View {
  const { title, lead, actions, path, query, filters = [], submit, above = null, layout, results, nextCursor } = list;
  const target = '#results';
  const pages = nextCursor === undefined ? null : pager({ path, query, nextCursor, target });
  const partial = html`<div id="results" class="${layout === undefined ? 'results' : `results ${layout}`}">${results}${pages}</div>`;
  const form = filters.length === 0 ? null : filterForm({ path, target, query, fields: filters, submit });
  return { title, content: html`${pageHeader({ title, lead, actions })}${above}${form}${partial}`, partial };
}

/** A list page: filters, one page of results, and the part that the script replaces. */
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

type ListView = Pick<PageHeader, 'lead' | 'actions'> & {
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
  readonly layout?: 'delivery-list' | 'stack' | undefined;
  readonly results: Html;
  /** Absent for a list on a single page. */
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

/**
 * Lists (contract §1.10): `?limit=`, `?cursor=` and the reply. A cursor is the id of the last item of a page, or its place in another
 * order.
 */

import { z } from 'zod';
import { CURSOR_MAX_LENGTH, PAGE_DEFAULT, PAGE_MAX } from '../domain/limits.ts';
import { isUuidV7 } from '../kernel/ids.ts';
import { refuseField } from '../kernel/refusal.ts';
import { idInput } from '../kernel/schemas.ts';
import { type Filters, type ListRules, parseFilter, parseList, readPage, sortsOf } from '../resources/list-rules.ts';
import type { After, Filter } from '../store/port/resource.ts';
import type { Reply, Route } from './route.ts';

type PageQuery = { readonly limit: number; readonly cursor: string | null };

export const PAGE_QUERY: NonNullable<Route['query']> = {
  limit: { schema: z.int().min(1).max(PAGE_MAX).default(PAGE_DEFAULT), description: 'How many items at most.' },
  cursor: { schema: idInput, description: '`nextCursor` of the page before.' },
};

/** Throws 400 with the name of the parameter. */
export function readPageQuery(query: URLSearchParams): PageQuery {
  const limit = readLimit(query);
  const cursor = query.get('cursor');
  if (cursor !== null && !isUuidV7(cursor)) throw refuseField('cursor', 'is not a cursor of this service');
  return { limit, cursor };
}

/** Throws 400. */
export function readLimit(query: URLSearchParams): number {
  const limit = query.get('limit') ?? String(PAGE_DEFAULT);
  if (!/^\d{1,3}$/.test(limit) || Number(limit) < 1 || Number(limit) > PAGE_MAX) {
    throw refuseField('limit', `must be an integer from 1 to ${PAGE_MAX}`);
  }
  return Number(limit);
}

export async function pageReply<Item>(
  asked: Pick<PageQuery, 'limit'>,
  read: (limit: number) => Promise<readonly Item[]>,
  view: (item: Item) => unknown,
  idOf: (item: Item) => string,
): Promise<Reply> {
  const { items, nextCursor } = await readPage(asked, read, idOf);
  return { status: 200, body: { items: items.map(view), nextCursor } };
}

/** Throws 400 with the name of the parameter. */
export function readFilter(query: URLSearchParams, filters: Filters): Filter {
  return parseFilter(filters, (name) => query.get(name) ?? undefined, refuseField);
}

/** The query of a list with several orders. */
export function listQuery(rules: ListRules): NonNullable<Route['query']> {
  const { limit } = PAGE_QUERY;
  const sort = {
    schema: z.enum(sortsOf(rules)).default('createdAt'),
    description: 'The order; with a hyphen, descending. ASCII case is ignored in names.',
  };
  const cursor = {
    schema: z.string().max(CURSOR_MAX_LENGTH),
    description: '`nextCursor` of the page before, in the same order.',
  };
  return { ...(limit && { limit }), cursor, sort, ...rules.filters };
}

/** The limit, position and filter of a query. Throws 400 with the name of the parameter. */
export function readListQuery(
  query: URLSearchParams,
  rules: ListRules,
): { readonly limit: number; readonly after: After; readonly filter: Filter } {
  return { limit: readLimit(query), ...parseList(rules, (name) => query.get(name) ?? undefined, refuseField) };
}

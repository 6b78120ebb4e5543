/** Lists (contract §1): `?limit=` and `?cursor=`, and the reply around a page. A cursor is the id of the page's last item. */
import { z } from 'zod';
import { isUuidV7 } from '../kernel/ids.ts';
import { PAGE_DEFAULT, PAGE_MAX } from '../kernel/limits/limits.ts';
import { refuseField } from '../kernel/refusal.ts';
import { idInput } from '../kernel/schemas.ts';
import type { Filter } from '../store/conditions.ts';
import type { Reply, Route } from './route.ts';

export type PageQuery = { readonly limit: number; readonly cursor: string | null };

export const PAGE_QUERY: NonNullable<Route['query']> = {
  limit: { schema: z.int().min(1).max(PAGE_MAX).default(PAGE_DEFAULT), description: 'How many items at most.' },
  cursor: { schema: idInput, description: '`nextCursor` of the page before.' },
};

/** Throws 400 naming the parameter. */
export function readPageQuery(query: URLSearchParams): PageQuery {
  const limit = query.get('limit') ?? String(PAGE_DEFAULT);
  if (!/^\d{1,3}$/.test(limit) || Number(limit) < 1 || Number(limit) > PAGE_MAX) {
    throw refuseField('limit', `must be an integer from 1 to ${PAGE_MAX}`);
  }
  const cursor = query.get('cursor');
  if (cursor !== null && !isUuidV7(cursor)) throw refuseField('cursor', 'is not a cursor of this service');
  return { limit: Number(limit), cursor };
}

/** Reads one item more than asked for, to know whether another page follows. */
export async function readPage<Item>(
  { limit }: Pick<PageQuery, 'limit'>,
  read: (limit: number) => Promise<readonly Item[]>,
  idOf: (item: Item) => string,
): Promise<{ readonly items: readonly Item[]; readonly nextCursor: string | null }> {
  const found = await read(limit + 1);
  const items = found.slice(0, limit);
  const last = items.at(-1);
  return { items, nextCursor: found.length > limit && last !== undefined ? idOf(last) : null };
}

export async function pageReply<Item>(
  asked: PageQuery,
  read: (limit: number) => Promise<readonly Item[]>,
  view: (item: Item) => unknown,
  idOf: (item: Item) => string,
): Promise<Reply> {
  const { items, nextCursor } = await readPage(asked, read, idOf);
  return { status: 200, body: { items: items.map(view), nextCursor } };
}

/** What a list may be filtered by; texts have to be equal. */
export type Filters = Readonly<Record<string, { readonly schema: z.ZodType<string>; readonly description: string }>>;

/** Throws 400 naming the parameter. */
export function readFilter(query: URLSearchParams, filters: Filters): Filter {
  const given = Object.entries(filters).filter(([name]) => query.has(name));
  return Object.fromEntries(
    given.map(([name, { schema }]) => {
      const parsed = schema.safeParse(query.get(name));
      if (parsed.success) return [name, parsed.data];
      const choices = schema instanceof z.ZodEnum ? `must be one of ${schema.options.join(', ')}` : 'is not valid';
      throw refuseField(name, choices);
    }),
  );
}

export function textFilter(description: string): Filters[string] {
  return { schema: z.string(), description };
}

export function choiceFilter(choices: readonly string[], description: string): Filters[string] {
  return { schema: z.enum(choices), description };
}

export const TRUE_OR_FALSE = ['true', 'false'] as const;

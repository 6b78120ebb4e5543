/** The WHERE of a list that people filter. */
import type { After, Filter } from '../../resource.ts';
import type { SqlValue } from '../driver/database.ts';

/**
 * All that is given has to fit. `known` has the condition of each name of a filter, and of `before`: the id at which the page before
 * ended, or null.
 */
export function conditions(
  known: Readonly<Record<string, string>>,
  filter: Readonly<Record<string, string>>,
  before: string | null,
): { readonly where: string; readonly params: Readonly<Record<string, SqlValue>> } {
  const params = { ...filter, ...(before !== null && { before }) };
  const terms = Object.keys(params).map((name) => known[name] as string);
  return { where: terms.length === 0 ? '' : `WHERE ${terms.join(' AND ')}`, params };
}

/** The conditions of a filter, to be added to a WHERE; `known` has that of each name. */
export function filtered(known: Readonly<Record<string, string>>, filter: Filter): string {
  return Object.keys(filter)
    .map((name) => ` AND ${known[name] as string}`)
    .join('');
}

/**
 * A page of a list: its conditions, order and bound, to be put behind a FROM. `sorts` has the expression of each field that the list may
 * be sorted by, `id` the column of ids, which `createdAt` stands for.
 */
export function pageOf(
  { filters = {}, sorts = {}, id = 'id' }: ListColumns,
  { after, limit, filter }: { readonly after: After; readonly limit: number; readonly filter: Filter },
): { readonly sql: string; readonly params: Readonly<Record<string, SqlValue>> } {
  const rest = filtered(filters, filter);
  if (typeof after === 'string')
    return { sql: `WHERE ${id} > @after${rest} ORDER BY ${id} LIMIT @limit`, params: { ...filter, after, limit } };
  const { sort, place } = after;
  const value = sort.by === 'createdAt' ? id : (sorts[sort.by] as string);
  const [sign, direction] = sort.descending ? ['<', 'DESC'] : ['>', 'ASC'];
  const from = place === null ? 'true' : `(${value}, ${id}) ${sign} (@afterValue, @afterId)`;
  return {
    sql: `WHERE ${from}${rest} ORDER BY ${value} ${direction}, ${id} ${direction} LIMIT @limit`,
    params: { ...filter, ...(place !== null && { afterValue: place.value, afterId: place.id }), limit },
  };
}

export type ListColumns = {
  /** The condition of each name that the list may be filtered by. */
  readonly filters?: Readonly<Record<string, string>>;
  readonly sorts?: Readonly<Record<string, string>>;
  readonly id?: string;
};

/** The WHERE of a list that people filter. */
import type { Filter } from '../../conditions.ts';
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

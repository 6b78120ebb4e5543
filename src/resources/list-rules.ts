/** The filters and the order of a list (contract §4.6), for the API and the command line. */
import { z } from 'zod';
import { isUuidV7 } from '../kernel/ids.ts';
import { textProblem } from '../kernel/validation.ts';
import type { After, Filter, Place, Sort } from '../store/port/resource.ts';

/** The filters of a list. A text must be equal to match. */
export type Filters = Readonly<Record<string, { readonly schema: z.ZodType<string>; readonly description: string }>>;

export type ListRules = {
  /** The list, as its cursors name it: `applications`. */
  readonly name: string;
  readonly filters: Filters;
  /** The fields to sort by besides `createdAt`, which is the order of ids, with the type of their columns. */
  readonly sorts: Readonly<Record<string, 'text' | 'instant'>>;
};

export function textFilter(description: string): Filters[string] {
  return { schema: z.string(), description };
}

export function choiceFilter(choices: readonly string[], description: string): Filters[string] {
  return { schema: z.enum(choices), description };
}

/** A filter of lists whose resources belong to customers. */
export const CUSTOMER_FILTER: Filters[string] = textFilter('Of this customer.');

export const TRUE_OR_FALSE = ['true', 'false'] as const;

/** The filter that `given` holds. `refuse` makes the error for an invalid value. */
export function parseFilter(
  filters: Filters,
  given: (name: string) => string | undefined,
  refuse: (name: string, problem: string) => Error,
): Filter {
  const pairs = Object.entries(filters).flatMap(([name, { schema }]) => {
    const text = given(name);
    if (text === undefined) return [];
    const parsed = schema.safeParse(text);
    if (parsed.success) return [[name, parsed.data]];
    throw refuse(name, schema instanceof z.ZodEnum ? `must be one of ${schema.options.join(', ')}` : 'is not valid');
  });
  return Object.fromEntries(pairs);
}

/** Every value of `sort`: each field, and with a hyphen in descending order. */
export function sortsOf({ sorts }: Pick<ListRules, 'sorts'>): readonly string[] {
  return ['createdAt', ...Object.keys(sorts)].flatMap((field) => [field, `-${field}`]);
}

/** Where a page begins, and the filter of its list. `given` has the parameters by name; `refuse` makes the error for an invalid one. */
export function parseList(
  rules: ListRules,
  given: (name: string) => string | undefined,
  refuse: (name: string, problem: string) => Error,
): { readonly after: After; readonly filter: Filter } {
  const sorts = sortsOf(rules);
  const sort = given('sort') ?? 'createdAt';
  if (!sorts.includes(sort)) throw refuse('sort', `must be one of ${sorts.join(', ')}`);
  const after = parseCursor(rules, parseSort(sort), given('cursor') ?? null);
  if (after === null) throw refuse('cursor', 'is not a cursor of this list in this order');
  return { after, filter: parseFilter(rules.filters, given, refuse) };
}

/** Parses a value of `sortsOf`. */
function parseSort(text: string): Sort {
  return text.startsWith('-') ? { by: text.slice(1), descending: true } : { by: text, descending: false };
}

/** Where a page begins; null if the cursor is not of this list in this order. */
function parseCursor({ name, sorts }: ListRules, sort: Sort, cursor: string | null): After | null {
  if (isById(sort)) return cursor === null ? '' : isUuidV7(cursor) ? cursor : null;
  if (cursor === null) return { sort, place: null };
  const place = readPlace(cursor);
  if (place === null || cursor !== cursorText(name, sort, place)) return null;
  return isOfColumn(place, sort.by === 'createdAt' ? 'id' : sorts[sort.by]) ? { sort, place } : null;
}

/** Whether the column can have the value. The databases compare values of other types differently, or not at all. */
function isOfColumn({ value, id }: Place, type: 'id' | ListRules['sorts'][string] | undefined): boolean {
  if (type === 'id') return value === id;
  if (type === 'instant') return typeof value === 'number' && value >= 0;
  return typeof value === 'string' && value.isWellFormed() && !value.includes('\0');
}

/** The cursor after an item, in the list and order of `after`. In order of creation it is the item's id. */
export function cursorBehind({ name }: Pick<ListRules, 'name'>, after: After, item: { readonly id: string }): string {
  if (typeof after === 'string') return item.id;
  const { sort } = after;
  const value = sort.by === 'createdAt' ? item.id : (item as Readonly<Record<string, unknown>>)[sort.by];
  // A null value sorts like the beginning of time.
  return cursorText(name, sort, { value: (value ?? 0) as Place['value'], id: item.id });
}

/** A page, and the cursor of the next. Reads one item more than the limit, to know whether there is one. */
export async function readPage<Item>(
  { limit }: { readonly limit: number },
  read: (limit: number) => Promise<readonly Item[]>,
  cursorAfter: (last: Item) => string,
): Promise<{ readonly items: readonly Item[]; readonly nextCursor: string | null }> {
  const rows = await read(limit + 1);
  const items = rows.slice(0, limit);
  const last = items.at(-1);
  return { items, nextCursor: rows.length > limit && last !== undefined ? cursorAfter(last) : null };
}

function isById({ by, descending }: Sort): boolean {
  return by === 'createdAt' && !descending;
}

function cursorText(name: string, { by, descending }: Sort, { value, id }: Place): string {
  return cursorOfParts([name, descending ? `-${by}` : by, value, id]);
}

function readPlace(cursor: string): Place | null {
  const [, , value, id] = partsOfCursor(cursor);
  const isValue = typeof value === 'string' ? textProblem(value) === null : Number.isSafeInteger(value);
  return isValue && typeof id === 'string' && isUuidV7(id) ? { value: value as Place['value'], id } : null;
}

/** A cursor that is not an id: the name of its list, and a place in it. */
export function cursorOfParts(parts: readonly unknown[]): string {
  return Buffer.from(JSON.stringify(parts)).toString('base64url');
}

/** The parts of such a cursor, which the caller checks; none of another text. */
export function partsOfCursor(cursor: string): readonly unknown[] {
  try {
    const parts: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    return Array.isArray(parts) ? parts : [];
  } catch {
    return [];
  }
}

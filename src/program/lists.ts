/** Reads the queries of lists that an embedding program passes, with the rules of the API (contract §1.10, §4.6). */

import { z } from 'zod';
import { PAGE_DEFAULT, PAGE_MAX } from '../domain/limits.ts';
import { isUuidV7 } from '../kernel/ids.ts';
import { refuseBackwards, refuseField } from '../kernel/refusal.ts';
import { moment } from '../kernel/schemas.ts';
import { isObject, textProblem, validate } from '../kernel/validation.ts';
import { cursorBehind, type ListRules, parseList, readPage } from '../resources/list-rules.ts';
import type { After, Filter } from '../store/port/resource.ts';
import type { DeliverySearch } from '../webhooks/deliveries.ts';
import type { Page } from './records.ts';

const limit = z.int().min(1).max(PAGE_MAX).default(PAGE_DEFAULT);
const cursor = z.string().nullish();

type List<Item> = (after: After, limit: number, filter?: Filter) => Promise<Item[]>;

/** A page of a resource. Throws a refusal that names the field of the query. */
export async function readListPage<Item extends { readonly id: string }>(
  query: unknown,
  rules: ListRules,
  list: List<Item>,
): Promise<Page<Item>> {
  if (query !== undefined && !isObject(query)) throw refuseField('query', 'must be an object, such as {limit: 10}');
  const { limit: askedLimit, cursor: askedCursor, sort: askedSort, ...filters } = query ?? {};
  const place = z.object({ limit, cursor, sort: z.string().optional() });
  const page = validate(place, { limit: askedLimit, cursor: askedCursor, sort: askedSort });
  const unknown = Object.keys(filters).find((name) => rules.filters[name] === undefined);
  if (unknown !== undefined) throw refuseField(unknown, `is not a field of this query`);
  const given: Readonly<Record<string, unknown>> = { ...filters, cursor: page.cursor ?? undefined, sort: page.sort };
  const { after, filter } = parseList(rules, (name) => filterText(name, given[name]), refuseField);
  const read = (count: number) => list(after, count, filter);
  return readPage(page, read, (last) => cursorBehind(rules, after, last));
}

/** The text that the API has in the query. Null is the operator, whose resources have no customer. */
function filterText(name: string, value: unknown): string | undefined {
  if (value === undefined) return undefined;
  if (value === null && name === 'customerId') return '';
  if (typeof value !== 'string' && typeof value !== 'boolean') throw refuseField(name, 'must be text, true or false');
  const text = String(value);
  const problem = textProblem(text);
  if (problem !== null) throw refuseField(name, problem);
  return text;
}

const pageQuery = z.strictObject({ limit, cursor });

/** The page of a list whose use case reads the cursor. */
export function readPageQuery(query: unknown): { readonly limit: number; readonly cursor: string | null } {
  const { limit, cursor = null } = validate(pageQuery, query ?? {});
  return { limit, cursor };
}

const deliveryQuery = z.strictObject({
  limit,
  cursor: cursor.refine(
    (text) => text === null || text === undefined || isUuidV7(text),
    'is not a cursor of this list',
  ),
  customerId: z.string().optional(),
  webhookId: z.string().optional(),
  state: z.enum(['pending', 'delivered', 'dead', 'discarded']).optional(),
  eventType: z.string().optional(),
  orderingKey: z.string().optional(),
  since: moment.optional(),
  until: moment.optional(),
});

type AskedDeliveries = {
  readonly search: DeliverySearch;
  readonly cursor: string | null;
  readonly limit: number;
};

export function readDeliveryQuery(query: unknown): AskedDeliveries {
  const { limit, cursor = null, since, until, ...equal } = validate(deliveryQuery, query ?? {});
  const [from, to] = [since, until].map((text) => (text === undefined ? null : Date.parse(text)));
  refuseBackwards(from ?? null, to ?? null);
  const given = Object.entries({ ...equal, since: from, until: to }).filter(([, value]) => value != null);
  return { search: Object.fromEntries(given) as DeliverySearch, cursor, limit };
}

/** An id that a program passes. The use case answers 404 if there is none. */
export function readId(id: unknown): string {
  if (typeof id !== 'string') throw refuseField('id', `must be text, not ${isObject(id) ? 'an object' : String(id)}`);
  const problem = textProblem(id);
  if (problem !== null) throw refuseField('id', problem);
  return id;
}

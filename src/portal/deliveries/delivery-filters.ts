/** The filters of the list of deliveries, from the search line or from the parameters of a link. */

import type { OffsetRange } from '../../domain/batch.ts';
import type { DeliverySearch } from '../../webhooks/deliveries.ts';
import { readText } from '../frame/query.ts';
import {
  momentOf,
  offsetsOf,
  parseSearch,
  responseOf,
  SEARCH_FIELDS,
  type SearchField,
  type SearchProblem,
  type SearchTerm,
} from './search-text.ts';

export type Asked = {
  readonly terms: readonly SearchTerm[];
  /** Nothing is listed while there is one. */
  readonly problems: readonly SearchProblem[];
  /** Without the webhook and the customer, which are looked up. */
  readonly filter: DeliverySearch;
  /** By id or name. */
  readonly webhook: string | null;
  /** By id, name or external id. */
  readonly customer: string | null;
  /** The id of a delivery, an event, an attempt or a batch. */
  readonly id: string | null;
  readonly offsets: OffsetRange | null;
};

/** Parameters of links that have a field of their own. `period` is that of `since`. */
const PARAMETERS: Readonly<Record<string, SearchField>> = {
  state: 'state',
  webhook: 'webhook',
  customer: 'customer',
  type: 'type',
  response: 'response',
  orderingKey: 'key',
  period: 'since',
  since: 'since',
  until: 'until',
};

/** The parameters that a search replaces. */
export const SEARCH_PARAMETERS: readonly string[] = ['q', ...Object.keys(PARAMETERS), 'cursor', 'open'];

/** `isOfOperator`: customers cannot name other customers. */
export function readAsked(query: URLSearchParams, now: number, isOfOperator = true): Asked {
  const fields = SEARCH_FIELDS.filter((field) => isOfOperator || field !== 'customer');
  const hasLog = readText(query, 'webhook') !== null;
  const typed = parseSearch(query.get('q') ?? '', { fields, hasLog });
  const problems = [...typed.problems];
  const terms = [...typed.terms];
  for (const [name, field] of Object.entries(PARAMETERS)) {
    const value = readText(query, name);
    if (value === null || !fields.includes(field) || terms.some((term) => term.field === field)) continue;
    const read = parseSearch(`${field}:"${value.replaceAll(/["\\]/g, String.raw`\$&`)}"`, { fields });
    terms.push(...read.terms);
    problems.push(...read.problems);
  }
  const of = (field: SearchField): string | null => terms.find((term) => term.field === field)?.value ?? null;
  return {
    terms,
    problems,
    filter: filterOf(of, now),
    webhook: of('webhook'),
    customer: of('customer'),
    id: of('id'),
    offsets: offsetsOf(of('offset') ?? ''),
  };
}

function filterOf(of: (field: SearchField) => string | null, now: number): DeliverySearch {
  const [state, eventType, subject, eventId, orderingKey] = [
    of('state'),
    of('type'),
    of('subject'),
    of('id'),
    of('key'),
  ];
  const since = momentOf(of('since') ?? '', now);
  const until = momentOf(of('until') ?? '', now);
  const response = responseOf(of('response') ?? '');
  return {
    ...(state !== null && { state: state as NonNullable<DeliverySearch['state']> }),
    ...(eventType !== null && { eventType }),
    ...(since !== null && { since }),
    ...(until !== null && { until }),
    ...(response !== null && { response }),
    ...(eventId !== null && { eventId }),
    ...(orderingKey !== null && { orderingKey }),
    // A subject, or a value at a search path.
    ...(subject !== null && { text: subject }),
  };
}

/** The filters of the list of deliveries, from the query of the page. */

import { ERROR_CLASSES, type ErrorClass } from '../../domain/outcome.ts';
import type { DeliveryState } from '../../domain/webhook.ts';
import type { Html } from '../../http/html.ts';
import { isUuidV7 } from '../../kernel/ids.ts';
import type { ResponseFilter } from '../../store/port/deliveries.ts';
import type { Store } from '../../store/port/store.ts';
import type { DeliverySearch } from '../../webhooks/deliveries.ts';
import { readChoice, readInstant, readText } from '../frame/query.ts';
import { newForm, selectField, textField } from '../parts/fields.ts';
import type { ScopeFields } from './delivery-scope.ts';

const DELIVERY_STATES: readonly DeliveryState[] = ['pending', 'delivered', 'dead', 'discarded'];

const NAMES = ['q', 'customer', 'webhook', 'state', 'type', 'response', 'period', 'since', 'until'] as const;

/** The typed search, by its form. */
type Searched =
  | { readonly kind: 'nothing' }
  /** The id of a delivery, an event, an attempt or a batch. */
  | { readonly kind: 'id'; readonly id: string }
  | { readonly kind: 'offsets'; readonly first: number; readonly last: number }
  /** A subject, or a value of the data. */
  | { readonly kind: 'text'; readonly text: string };

export type Asked = { readonly filter: DeliverySearch; readonly searched: Searched; readonly isFiltered: boolean };

/** Throws 400 for invalid times. */
export function readAsked(query: URLSearchParams, now: number): Asked {
  const webhookId = readText(query, 'webhook');
  const state = readChoice(query, 'state', DELIVERY_STATES);
  const eventType = readText(query, 'type');
  const period = readChoice(query, 'period', PERIOD_NAMES);
  const since = period === null ? readInstant(query, 'since') : now - PERIODS[period].ms;
  const until = period === null ? readInstant(query, 'until') : null;
  const response = readResponse(readText(query, 'response'));
  const searched = readSearched(readText(query, 'q'), webhookId !== null);
  return {
    searched,
    isFiltered: NAMES.some((name) => readText(query, name) !== null),
    filter: {
      ...(webhookId !== null && { webhookId }),
      ...(state !== null && { state }),
      ...(eventType !== null && { eventType }),
      ...(since !== null && { since }),
      ...(until !== null && { until }),
      ...(response !== null && { response }),
      ...(searched.kind === 'id' && { eventId: searched.id }),
      ...(searched.kind === 'offsets' &&
        webhookId !== null && { offsets: { first: searched.first, last: searched.last } }),
      ...(searched.kind === 'text' && { text: searched.text }),
    },
  };
}

/** Digits are an offset if a webhook is chosen or # is before them, else a value such as an order number. */
function readSearched(text: string | null, hasLog: boolean): Searched {
  if (text === null) return { kind: 'nothing' };
  // The message id of Standard Webhooks: msg_ and the id of the batch.
  const id = text.toLowerCase().replace(/^msg_/, '');
  if (isUuidV7(id)) return { kind: 'id', id };
  const [, first, last = first] = /^#?(\d{1,15})(?:\s*[-–]\s*#?(\d{1,15}))?$/.exec(text) ?? [];
  if (first !== undefined && (hasLog || /[#–-]/.test(text)))
    return { kind: 'offsets', first: Number(first), last: Number(last) };
  return { kind: 'text', text };
}

const HOUR_MS = 3_600_000;
const PERIODS = {
  '1h': { label: 'Last hour', ms: HOUR_MS },
  '24h': { label: 'Last 24 hours', ms: 24 * HOUR_MS },
  '7d': { label: 'Last 7 days', ms: 7 * 24 * HOUR_MS },
} as const;
const PERIOD_NAMES = Object.keys(PERIODS) as readonly (keyof typeof PERIODS)[];

/** Words of the filter for groups of error classes. Every class is a word too. */
const GROUPS: Readonly<Record<string, readonly ErrorClass[]>> = {
  connection: ['connect', 'reset', 'proxy'],
  tls: ['tls', 'tls_expired', 'tls_untrusted', 'tls_wrong_host'],
};

/** `500`, `4xx`, `timeout`, `tls`, or the beginning of one. Other text finds nothing: the page asks while somebody types. */
function readResponse(text: string | null): ResponseFilter | null {
  if (text === null) return null;
  const asked = text.toLowerCase().replaceAll(' ', '_');
  const [, digits] = /^([1-5]\d{0,2})x*$/.exec(asked) ?? [];
  if (digits !== undefined) return { first: Number(digits.padEnd(3, '0')), last: Number(digits.padEnd(3, '9')) };
  const groups = Object.entries(GROUPS).flatMap(([word, classes]) => (word.startsWith(asked) ? classes : []));
  return { errorClasses: [...new Set([...groups, ...ERROR_CLASSES.filter((one) => one.startsWith(asked))])] };
}

const RESPONSES = [
  '2xx',
  '3xx',
  '4xx',
  '5xx',
  '401',
  '404',
  '429',
  '500',
  '503',
  'timeout',
  'connection',
  'tls',
  'dns',
];

/** The fields of all filters. `webhook` and `customer` are those of `scopeFields`. */
export async function deliveryFilters(
  store: Store,
  query: URLSearchParams,
  [webhook, ...customer]: ScopeFields['fields'],
): Promise<Html[]> {
  const state = newForm(Object.fromEntries(NAMES.map((name) => [name, query.get(name)])));
  const types = await store.eventTypes.all();
  const any = { value: '', label: 'Any time' };
  return [
    textField(state, {
      name: 'q',
      label: 'Search',
      type: 'search',
      placeholder: 'Id, subject, value, #offset',
    }),
    webhook,
    selectField(state, {
      name: 'state',
      label: 'State',
      choices: [{ value: '', label: 'Any state' }, ...DELIVERY_STATES.map((value) => ({ value, label: value }))],
    }),
    textField(state, {
      name: 'response',
      label: 'Response',
      placeholder: '500, 4xx, timeout',
      suggestions: RESPONSES,
    }),
    selectField(state, {
      name: 'type',
      label: 'Event type',
      choices: [{ value: '', label: 'Any type' }, ...types.map(({ name }) => ({ value: name, label: name }))],
    }),
    selectField(state, {
      name: 'period',
      label: 'Published',
      choices: [any, ...PERIOD_NAMES.map((value) => ({ value, label: PERIODS[value].label }))],
    }),
    textField(state, { name: 'since', label: 'From (UTC)', type: 'datetime-local' }),
    textField(state, { name: 'until', label: 'Until (UTC)', type: 'datetime-local' }),
    ...customer,
  ];
}

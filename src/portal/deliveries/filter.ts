/** The filters of the list of deliveries: reading them from the URL, and their fields. */
import type { Html } from '../../http/html.ts';
import { isUuidV7 } from '../../kernel/ids.ts';
import { CHOICES_MAX } from '../../kernel/limits/portal.ts';
import type { Store } from '../../store/store.ts';
import type { DeliverySearch } from '../../webhooks/deliveries.ts';
import type { DeliveryState } from '../../webhooks/webhook.ts';
import { selectField, textField } from '../parts/fields.ts';
import { newForm } from '../parts/form-state.ts';
import { readChoice, readInstant, readText } from '../query.ts';

export const DELIVERIES_PATH = '/deliveries';
const DELIVERY_STATES: readonly DeliveryState[] = ['pending', 'delivered', 'dead', 'discarded'];

const NAMES = ['q', 'webhook', 'state', 'type', 'since', 'until'] as const;

/** The typed search, by its form. */
export type Searched =
  | { readonly kind: 'nothing' }
  /** The id of a delivery, an event, an attempt or a batch. */
  | { readonly kind: 'id'; readonly id: string }
  | { readonly kind: 'offsets'; readonly first: number; readonly last: number }
  | { readonly kind: 'subject'; readonly subject: string };

export type Asked = { readonly filter: DeliverySearch; readonly searched: Searched; readonly isFiltered: boolean };

/** Throws 400 for invalid times. */
export function readAsked(query: URLSearchParams): Asked {
  const webhookId = readText(query, 'webhook');
  const state = readChoice(query, 'state', DELIVERY_STATES);
  const eventType = readText(query, 'type');
  const since = readInstant(query, 'since');
  const until = readInstant(query, 'until');
  const searched = readSearched(readText(query, 'q'));
  return {
    searched,
    isFiltered: NAMES.some((name) => readText(query, name) !== null),
    filter: {
      ...(webhookId !== null && { webhookId }),
      ...(state !== null && { state }),
      ...(eventType !== null && { eventType }),
      ...(since !== null && { since }),
      ...(until !== null && { until }),
      ...(searched.kind === 'id' && { eventId: searched.id }),
      ...(searched.kind === 'offsets' &&
        webhookId !== null && { offsets: { first: searched.first, last: searched.last } }),
      ...(searched.kind === 'subject' && { subject: searched.subject }),
    },
  };
}

function readSearched(text: string | null): Searched {
  if (text === null) return { kind: 'nothing' };
  // The message id of Standard Webhooks: msg_ and the id of the batch.
  const id = text.toLowerCase().replace(/^msg_/, '');
  if (isUuidV7(id)) return { kind: 'id', id };
  const [, first, last = first] = /^#?(\d{1,15})(?:\s*[-–]\s*#?(\d{1,15}))?$/.exec(text) ?? [];
  if (first !== undefined) return { kind: 'offsets', first: Number(first), last: Number(last) };
  return { kind: 'subject', subject: text };
}

export async function deliveryFilters(store: Store, query: URLSearchParams): Promise<Html[]> {
  const state = newForm(Object.fromEntries(NAMES.map((name) => [name, query.get(name)])));
  const types = await store.eventTypes.all();
  return [
    textField(state, {
      name: 'q',
      label: 'Search',
      type: 'search',
      placeholder: 'Event or delivery id, subject, #offset',
    }),
    selectField(state, { name: 'webhook', label: 'Webhook', choices: await webhookChoices(store, 'Any webhook') }),
    selectField(state, {
      name: 'state',
      label: 'State',
      choices: [{ value: '', label: 'Any state' }, ...DELIVERY_STATES.map((value) => ({ value, label: value }))],
    }),
    selectField(state, {
      name: 'type',
      label: 'Event type',
      choices: [{ value: '', label: 'Any type' }, ...types.map(({ name }) => ({ value: name, label: name }))],
    }),
    textField(state, { name: 'since', label: 'From (UTC)', type: 'datetime-local' }),
    textField(state, { name: 'until', label: 'Until (UTC)', type: 'datetime-local' }),
  ];
}

/** By name; the first choice is none. */
export async function webhookChoices(store: Store, none: string): Promise<{ value: string; label: string }[]> {
  const webhooks = await store.webhooks.list('', CHOICES_MAX);
  const named = webhooks.map(({ id, name }) => ({ value: id, label: name }));
  return [{ value: '', label: none }, ...named.sort((a, b) => a.label.localeCompare(b.label, 'en'))];
}

/** `/deliveries`: the list of deliveries with its filters. Selected deliveries can be replayed. */
import { type Html, html } from '../../http/html.ts';
import { readPageQuery } from '../../http/paging.ts';
import { deliveryAddress, isUuidV7 } from '../../kernel/ids.ts';
import { DELIVERIES_EXAMINED_MAX } from '../../kernel/limits/log.ts';
import { CHOICES_MAX } from '../../kernel/limits/portal.ts';
import type { DeliveryPage } from '../../store/deliveries.ts';
import type { Store } from '../../store/store.ts';
import { type DeliverySearch, isReplayable } from '../../webhooks/deliveries.ts';
import { isRunnable } from '../../webhooks/lifecycle.ts';
import type { Delivery, DeliveryState } from '../../webhooks/webhook.ts';
import { ownPath, type PageCall, type PageResult, redirectTo, refusedTo, type View } from '../call.ts';
import type { PageDependencies, PageRoute } from '../page.ts';
import { newForm, selectField, textField } from '../parts/fields.ts';
import { linkButton, submitButton } from '../parts/header.ts';
import { emptyState, listView, nothingFound, table, withQuery } from '../parts/list.ts';
import { notice, stateBadge } from '../parts/mark.ts';
import { countOf, countText, relativeTime, spanText, time } from '../parts/text.ts';
import { readChoice, readInstant, readText } from '../query.ts';

export function deliveryListPages(dependencies: PageDependencies): PageRoute[] {
  const { pages, services, store } = dependencies;
  return [
    pages.view(DELIVERIES_PATH, async (call) => {
      const asked = readAsked(call.query);
      const place = asked.searched.kind === 'id' ? await placeOf(dependencies, asked.searched.id) : null;
      if (place !== null) return redirectTo(place);
      const { cursor, limit } = readPageQuery(call.query);
      const page = await services.deliveries.list(asked.filter, cursor, limit);
      return deliveriesView(call, asked, page, await deliveryFilters(store, call.query));
    }),
    pages.page({
      method: 'POST',
      path: `${DELIVERIES_PATH}/replay-selected`,
      role: 'operator',
      respond: async ({ form, acting }): Promise<PageResult> => {
        const back = ownPath(form.get('back'));
        const ids = form.getAll('id').slice(0, SELECTED_MAX);
        if (ids.length === 0) return refusedTo(back, 'Choose some of the deliveries first.');
        const { replayed } = await services.deliveries.replaySelected(ids, acting);
        if (replayed === 0) return refusedTo(back, 'None of these can be sent again any more.');
        return redirectTo(back, `${countOf(replayed, 'delivery', undefined, 'deliveries')} will be sent again.`);
      },
    }),
  ];
}

/** At most a page of deliveries. */
const SELECTED_MAX = 200;

/** The page for an id of a delivery, an attempt or a batch; null for other ids, such as an event's. */
async function placeOf({ store }: PageDependencies, id: string): Promise<string | null> {
  const address = deliveryAddress(id);
  if (address !== null && (await store.deliveries.get(address)) !== null) return `${DELIVERIES_PATH}/${id}`;
  const attempt = await store.attempts.get(id);
  const records =
    attempt?.firstOffset == null || attempt.lastOffset === null
      ? await store.attempts.batch(id)
      : { webhookNumber: attempt.webhookNumber, first: attempt.firstOffset, last: attempt.lastOffset };
  if (records === null) return null;
  const first = await store.deliveries.at(records.webhookNumber, records.first);
  if (first === null) return null;
  if (records.first === records.last) return `${DELIVERIES_PATH}/${first.id}`;
  return `${DELIVERIES_PATH}?${new URLSearchParams({ webhook: first.webhookId, q: `#${records.first}-${records.last}` })}`;
}

function deliveriesView(call: PageCall, asked: Asked, page: DeliveryPage, filters: readonly Html[]): View {
  const { query } = call;
  const webhook = asked.filter.webhookId ?? null;
  const replay = withQuery(`${DELIVERIES_PATH}/replay`, new URLSearchParams(), { webhook, state: query.get('state') });
  const actions = [
    linkButton({
      href: withQuery(`${DELIVERIES_PATH}/watch`, new URLSearchParams(), { webhook }),
      label: 'Watch live',
      icon: 'play',
    }),
    call.may('operator') ? linkButton({ href: replay, label: 'Send many again', icon: 'replay' }) : null,
  ];
  return listView({
    ...{ title: 'Deliveries', lead: LEAD, actions, path: DELIVERIES_PATH, query, filters },
    layout: 'delivery-list',
    results: html`${hint(asked)}${deliveryTable(call, asked, page)}`,
    nextCursor: page.next,
  });
}

const LEAD = 'One for each event and each webhook that wanted it, the newest event first.';

/** A notice about the search, if it needs one. */
function hint({ searched, filter }: Asked): Html | null {
  if (searched.kind !== 'offsets' || filter.webhookId !== undefined) return null;
  const text = `Offsets count from 0 at each webhook. Choose the one that #${searched.first} is of.`;
  return notice({ tone: 'info', text });
}

function deliveryTable(call: PageCall, asked: Asked, { items, next }: DeliveryPage): Html {
  const mayReplay = call.may('operator');
  const shown = table({
    caption: 'Deliveries',
    columns: [
      ...(mayReplay ? [{ label: 'Choose', kind: 'actions' as const }] : []),
      { label: 'Event', kind: 'main' },
      { label: 'Webhook' },
      { label: 'State' },
      { label: 'Attempts', kind: 'number' },
      { label: 'Happened' },
    ],
    rows: items.map((delivery) => [...(mayReplay ? [choice(delivery)] : []), ...row(delivery, call)]),
    empty: next === null ? (asked.isFiltered ? nothing(asked) : NOTHING_YET) : GO_ON,
  });
  if (!mayReplay || !items.some(isReplayable)) return shown;
  return html`<form method="post" action="${DELIVERIES_PATH}/replay-selected" class="results selection" data-selection data-once>${call.csrf}<input type="hidden" name="back" value="${call.url}">${shown}<div class="selection-bar"><label class="selection-all" hidden><input type="checkbox" data-select-all-boxes> All on this page</label>${submitButton({ label: 'Send the chosen again', kind: 'plain', icon: 'replay' })}<span class="quiet" data-selected role="status"></span></div></form>`;
}

function choice(delivery: Delivery): Html | null {
  if (!isReplayable(delivery)) return null;
  const { id, eventType, offset } = delivery;
  return html`<input type="checkbox" name="id" value="${id}" aria-label="Choose ${eventType} #${offset}">`;
}

function row(delivery: Delivery, { now, query }: PageCall): Html[] {
  const { id, eventType, subject, webhookId, webhookName, offset, state, attemptCount, createdAt } = delivery;
  const ofWebhook = withQuery(DELIVERIES_PATH, query, { webhook: webhookId, cursor: null });
  const ofSubject = withQuery(DELIVERIES_PATH, new URLSearchParams(), { q: subject });
  return [
    html`<a href="${DELIVERIES_PATH}/${id}">${eventType}</a>${subject === null ? null : html`<span class="cell-hint">about <a class="plain-link" href="${ofSubject}">${subject}</a></span>`}`,
    html`<a class="plain-link" href="${ofWebhook}">${webhookName}</a><span class="cell-hint">#${offset}</span>`,
    html`${stateBadge(state)}<span class="cell-hint">${since(delivery, now)}</span>`,
    html`${countText(attemptCount)}`,
    time(createdAt),
  ];
}

/** When it was settled, or the next attempt. */
function since({ state, createdAt, settledAt, nextAttemptAt, webhookState }: Delivery, now: number): Html | null {
  if (state === 'delivered' && settledAt !== null) return html`after ${spanText(settledAt - createdAt)}`;
  if (state === 'dead') return html`given up ${relativeTime(settledAt, now)}`;
  if (state !== 'pending') return null;
  if (!isRunnable(webhookState)) return html`its webhook ${webhookState === 'failed' ? 'has failed' : 'is stopped'}`;
  if (nextAttemptAt === null) return html`not tried yet`;
  return nextAttemptAt <= now ? html`due now` : html`next ${relativeTime(nextAttemptAt, now)}`;
}

function nothing({ searched }: Asked): Html {
  if (searched.kind !== 'id') return nothingFound(DELIVERIES_PATH, 'deliveries');
  return emptyState({
    title: 'Nothing found',
    text: 'No delivery, event, attempt or batch has this id. An event that no webhook was subscribed to has no deliveries, and what is over is kept for some weeks only.',
    action: linkButton({ href: DELIVERIES_PATH, label: 'Show all' }),
  });
}

const NOTHING_YET = emptyState({
  title: 'Nothing has happened yet',
  text: html`An event that is published becomes a delivery at every webhook that is subscribed to its type. Publish one with <code>sallyport event publish</code> or <code>POST /services/api/x/edge/v1/events</code>, or send a test event from the page of a webhook.`,
});
const GO_ON = emptyState({
  title: 'None so far',
  text: `Among ${countText(DELIVERIES_EXAMINED_MAX)} deliveries that were looked at, none fits. The next page goes on from there.`,
});

export const DELIVERIES_PATH = '/deliveries';
const DELIVERY_STATES: readonly DeliveryState[] = ['pending', 'delivered', 'dead', 'discarded'];

const NAMES = ['q', 'webhook', 'state', 'type', 'since', 'until'] as const;

/** The typed search, by its form. */
type Searched =
  | { readonly kind: 'nothing' }
  /** The id of a delivery, an event, an attempt or a batch. */
  | { readonly kind: 'id'; readonly id: string }
  | { readonly kind: 'offsets'; readonly first: number; readonly last: number }
  | { readonly kind: 'subject'; readonly subject: string };

type Asked = { readonly filter: DeliverySearch; readonly searched: Searched; readonly isFiltered: boolean };

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

async function deliveryFilters(store: Store, query: URLSearchParams): Promise<Html[]> {
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

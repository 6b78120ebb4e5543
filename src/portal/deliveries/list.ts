/** `/deliveries`: the list of deliveries with its filters. Selected deliveries can be replayed. */
import { type Html, html } from '../../http/html.ts';
import { readPageQuery } from '../../http/paging.ts';
import { deliveryAddress } from '../../kernel/ids.ts';
import { DELIVERIES_EXAMINED_MAX } from '../../kernel/limits/log.ts';
import type { DeliveryPage } from '../../store/deliveries.ts';
import { isReplayable } from '../../webhooks/deliveries.ts';
import { isRunnable } from '../../webhooks/lifecycle.ts';
import type { Delivery } from '../../webhooks/webhook.ts';
import { ownPath, type PageCall, type PageResult, redirectTo, type View } from '../call.ts';
import type { PageDependencies } from '../dependencies.ts';
import type { PageRoute } from '../page.ts';
import { refusedTo } from '../parts/attempted.ts';
import { stateBadge } from '../parts/badge.ts';
import { linkButton, submitButton } from '../parts/button.ts';
import { listView } from '../parts/list.ts';
import { notice } from '../parts/notice.ts';
import { countOf, countText } from '../parts/number.ts';
import { emptyState, nothingFound, table, withQuery } from '../parts/table.ts';
import { relativeTime, spanText, time } from '../parts/time.ts';
import { type Asked, deliveryFilters, DELIVERIES_PATH as PATH, readAsked } from './filter.ts';

export function deliveryListPages(dependencies: PageDependencies): PageRoute[] {
  const { pages, services, store } = dependencies;
  return [
    pages.view(PATH, async (call) => {
      const asked = readAsked(call.query);
      const place = asked.searched.kind === 'id' ? await placeOf(dependencies, asked.searched.id) : null;
      if (place !== null) return redirectTo(place);
      const { cursor, limit } = readPageQuery(call.query);
      const page = await services.deliveries.list(asked.filter, cursor, limit);
      return deliveriesView(call, asked, page, await deliveryFilters(store, call.query));
    }),
    pages.page({
      method: 'POST',
      path: `${PATH}/replay-selected`,
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
  if (address !== null && (await store.deliveries.get(address)) !== null) return `${PATH}/${id}`;
  const attempt = await store.attempts.get(id);
  const records =
    attempt?.firstOffset == null || attempt.lastOffset === null
      ? await store.attempts.batch(id)
      : { webhookNumber: attempt.webhookNumber, first: attempt.firstOffset, last: attempt.lastOffset };
  if (records === null) return null;
  const first = await store.deliveries.at(records.webhookNumber, records.first);
  if (first === null) return null;
  if (records.first === records.last) return `${PATH}/${first.id}`;
  return `${PATH}?${new URLSearchParams({ webhook: first.webhookId, q: `#${records.first}-${records.last}` })}`;
}

function deliveriesView(call: PageCall, asked: Asked, page: DeliveryPage, filters: readonly Html[]): View {
  const { query } = call;
  const webhook = asked.filter.webhookId ?? null;
  const replay = withQuery(`${PATH}/replay`, new URLSearchParams(), { webhook, state: query.get('state') });
  const actions = [
    linkButton({
      href: withQuery(`${PATH}/watch`, new URLSearchParams(), { webhook }),
      label: 'Watch live',
      icon: 'play',
    }),
    call.may('operator') ? linkButton({ href: replay, label: 'Send many again', icon: 'replay' }) : null,
  ];
  return listView({
    ...{ title: 'Deliveries', lead: LEAD, actions, path: PATH, query, filters },
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
  return html`<form method="post" action="${PATH}/replay-selected" class="results selection" data-selection data-once>${call.csrf}<input type="hidden" name="back" value="${call.url}">${shown}<div class="selection-bar"><label class="selection-all" hidden><input type="checkbox" data-select-all-boxes> All on this page</label>${submitButton({ label: 'Send the chosen again', kind: 'plain', icon: 'replay' })}<span class="quiet" data-selected role="status"></span></div></form>`;
}

function choice(delivery: Delivery): Html | null {
  if (!isReplayable(delivery)) return null;
  const { id, eventType, offset } = delivery;
  return html`<input type="checkbox" name="id" value="${id}" aria-label="Choose ${eventType} #${offset}">`;
}

function row(delivery: Delivery, { now, query }: PageCall): Html[] {
  const { id, eventType, subject, webhookId, webhookName, offset, state, attemptCount, createdAt } = delivery;
  const ofWebhook = withQuery(PATH, query, { webhook: webhookId, cursor: null });
  const ofSubject = withQuery(PATH, new URLSearchParams(), { q: subject });
  return [
    html`<a href="${PATH}/${id}">${eventType}</a>${subject === null ? null : html`<span class="cell-hint">about <a class="plain-link" href="${ofSubject}">${subject}</a></span>`}`,
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
  if (searched.kind !== 'id') return nothingFound(PATH, 'deliveries');
  return emptyState({
    title: 'Nothing found',
    text: 'No delivery, event, attempt or batch has this id. An event that no webhook was subscribed to has no deliveries, and what is over is kept for some weeks only.',
    action: linkButton({ href: PATH, label: 'Show all' }),
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

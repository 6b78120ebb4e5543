/** `/deliveries`: the list of deliveries with its filters. It is live, and selected deliveries can be sent again. */

import { STATUS_CODES } from 'node:http';
import type { Delivery } from '../../domain/webhook.ts';
import { isRunnable } from '../../domain/webhook-states.ts';
import { type Html, html } from '../../http/html.ts';
import { readPageQuery } from '../../http/paging.ts';
import { deliveryAddress } from '../../kernel/ids.ts';
import type { DeliveryPage, LastAttempt } from '../../store/port/deliveries.ts';
import { DELIVERIES_EXAMINED_MAX } from '../../store/port/limits.ts';
import { isReplayable } from '../../webhooks/deliveries.ts';
import { ownPath, type PageCall, type PageResult, redirectTo, refusedTo } from '../frame/call.ts';
import { liveContent } from '../frame/live-content.ts';
import type { PageRoute, SharedPageDependencies } from '../frame/page.ts';
import { linkButton, submitButton, tabs } from '../parts/header.ts';
import { emptyState, listResults, listView, nothingFound, table, withQuery } from '../parts/list.ts';
import { notice, stateBadge } from '../parts/mark.ts';
import { countOf, countText, relativeTime, spanText, time } from '../parts/text.ts';
import { ownerNames } from '../record/owner.ts';
import { outcomeBadge } from './attempt-details.ts';
import { type Asked, deliveryFilters, readAsked } from './delivery-filters.ts';
import { type DeliveryScope, readScope, scopeFields } from './delivery-scope.ts';

/** A page of deliveries, each with its last attempt. */
type Listed = DeliveryPage & {
  readonly attempts: readonly (LastAttempt | null)[];
  readonly ownerIn: Awaited<ReturnType<typeof ownerNames>>;
};

export function deliveryListPages(dependencies: SharedPageDependencies): PageRoute<'both'>[] {
  const { pages, services, store, feed, clock } = dependencies;
  const read = async ({ filter }: Asked, query: URLSearchParams, { ofCustomer }: DeliveryScope): Promise<Listed> => {
    const { cursor, limit } = readPageQuery(query);
    const scoped = ofCustomer === null ? filter : { ...filter, webhookNumbers: [...ofCustomer.keys()] };
    const page =
      ofCustomer?.size === 0 ? { items: [], next: null } : await services.deliveries.list(scoped, cursor, limit);
    const [attempts, ownerIn] = await Promise.all([store.attempts.lastOf(page.items), ownerNames(store, page.items)]);
    return { ...page, attempts, ownerIn };
  };
  return [
    pages.view(DELIVERIES_PATH, 'both', async (call) => {
      const asked = readAsked(call.query, call.now);
      const place = asked.searched.kind === 'id' ? await placeOf(dependencies, asked.searched.id) : null;
      if (place !== null) return redirectTo(place);
      const scope = await readScope(dependencies, call.query);
      return listView({
        title: 'Deliveries',
        lead: LEAD,
        actions: actionsOf(call),
        above: deliveryTabs('list'),
        filters: await deliveryFilters(store, call.query, (await scopeFields(store, scope)).fields),
        layout: 'delivery-list',
        stream: withQuery(STREAM, call.query, {}),
        ...resultsOf(call, asked, await read(asked, call.query, scope)),
      });
    }),
    pages.stream(STREAM, 'both', async (call) => {
      const { query } = call;
      const webhookId = readAsked(query, call.now).filter.webhookId ?? null;
      // A refusal comes before the stream.
      await readScope(dependencies, query);
      return liveContent(feed, webhookId, call.signal, async () => {
        const now = clock();
        const asked = readAsked(query, now);
        const listed = await read(asked, query, await readScope(dependencies, query));
        const version = JSON.stringify([listed, listed.items.map((delivery) => isDue(delivery, now))]);
        return { version, content: () => listResults(resultsOf({ ...call, now }, asked, listed)) };
      });
    }),
    pages.page({
      for: 'both',
      method: 'POST',
      path: `${DELIVERIES_PATH}/replay-selected`,
      role: 'operator',
      respond: async ({ form, acting }): Promise<PageResult> => {
        const back = ownPath(form.get('back'));
        const ids = form.getAll('chosen').slice(0, SELECTED_MAX);
        if (ids.length === 0) return refusedTo(back, 'Select at least one delivery.');
        const { replayed } = await services.deliveries.replaySelected(ids, acting);
        if (replayed === 0) return refusedTo(back, 'None of the selected deliveries can be sent again.');
        return redirectTo(back, `Sending ${countOf(replayed, 'delivery', undefined, 'deliveries')} again.`);
      },
    }),
  ];
}

export const DELIVERIES_PATH = '/deliveries';
const STREAM = `${DELIVERIES_PATH}/changes`;

/** At most a page of deliveries. */
const SELECTED_MAX = 200;

const LEAD = 'One delivery for each event and each webhook that is subscribed to it. Newest event first.';

/** The pages about deliveries. */
export function deliveryTabs(current: 'list' | 'failures' | 'live'): Html {
  return tabs('Deliveries', [
    { href: DELIVERIES_PATH, label: 'All deliveries', isCurrent: current === 'list' },
    { href: `${DELIVERIES_PATH}/failures`, label: 'Failures by cause', isCurrent: current === 'failures' },
    { href: `${DELIVERIES_PATH}/watch`, label: 'Live', isCurrent: current === 'live' },
  ]);
}

/** The page for an id of a delivery, an attempt or a batch; null for other ids, such as an event's. */
async function placeOf({ store }: SharedPageDependencies, id: string): Promise<string | null> {
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

function actionsOf({ query, may }: PageCall): (Html | null)[] {
  const replay = withQuery(`${DELIVERIES_PATH}/replay`, new URLSearchParams(), {
    webhook: query.get('webhook'),
    state: query.get('state'),
  });
  return [may('operator') ? linkButton({ href: replay, label: 'Send many again', icon: 'replay' }) : null];
}

function resultsOf(call: PageCall, asked: Asked, listed: Listed) {
  const { query } = call;
  const results = html`${hint(asked)}${deliveryTable(call, asked, listed)}`;
  return { path: DELIVERIES_PATH, query, results, nextCursor: listed.next };
}

/** A notice about the search, if it needs one. */
function hint({ searched, filter }: Asked): Html | null {
  if (searched.kind !== 'offsets' || filter.webhookId !== undefined) return null;
  const text = `Each webhook has its own offsets. Choose the webhook of #${searched.first}.`;
  return notice({ tone: 'info', text });
}

function deliveryTable(call: PageCall, asked: Asked, { items, attempts, next, ownerIn }: Listed): Html {
  const mayReplay = call.may('operator');
  const shown = table({
    caption: 'Deliveries',
    columns: [
      ...(mayReplay ? [{ label: 'Select', kind: 'actions' as const }] : []),
      { label: 'Event', kind: 'main' },
      { label: 'Webhook' },
      { label: 'State' },
      { label: 'Last response' },
      { label: 'Published' },
    ],
    rows: items.map((delivery, at) => [
      ...(mayReplay ? [selection(delivery)] : []),
      ...row(delivery, attempts[at] ?? null, call, ownerIn(delivery.customerId)),
    ]),
    rowIds: items.map(({ id }) => `delivery-${id}`),
    live: ['delivery', 'deliveries'],
    empty: next === null ? (asked.isFiltered ? nothing(asked) : NOTHING_YET) : GO_ON,
  });
  if (!mayReplay || !items.some(isReplayable)) return shown;
  const back = withQuery(DELIVERIES_PATH, call.query, {});
  return html`
    <form
      method="post"
      action="${DELIVERIES_PATH}/replay-selected"
      class="results selection"
      data-selection
      data-once
    >
      ${call.csrf}
      <input type="hidden" name="back" value="${back}">
      ${shown}
      <div class="selection-bar">
        <label class="selection-all" hidden><input type="checkbox" data-select-all-boxes> All on this page</label>
        ${submitButton({ label: 'Send selected again', kind: 'plain', icon: 'replay' })}
        <span class="quiet" data-selected role="status"></span>
      </div>
    </form>
  `;
}

function selection(delivery: Delivery): Html | null {
  if (!isReplayable(delivery)) return null;
  const { id, eventType, offset } = delivery;
  return html`
    <input type="checkbox" id="select-${id}" name="chosen" value="${id}" aria-label="Select ${eventType} #${offset}">
  `;
}

function row(delivery: Delivery, attempt: LastAttempt | null, { now, query }: PageCall, owner: Html | null): Html[] {
  const { id, eventType, subject, webhookId, webhookName, offset, state, createdAt } = delivery;
  const ofWebhook = withQuery(DELIVERIES_PATH, query, { webhook: webhookId, cursor: null });
  const ofSubject = withQuery(DELIVERIES_PATH, new URLSearchParams(), { q: subject });
  return [
    html`
      <a href="${DELIVERIES_PATH}/${id}">${eventType}</a>
      ${
        subject === null
          ? null
          : html`<span class="cell-hint">about <a class="plain-link" href="${ofSubject}">${subject}</a></span>`
      }
    `,
    html`
      <a class="plain-link" href="${ofWebhook}">${webhookName}</a>
      ${' '}
      <span class="cell-hint">#${offset}</span>
      ${owner}
    `,
    html`${stateBadge(state)}<span class="cell-hint">${progressOf(delivery, now)}</span>`,
    attempt === null ? html`<span class="quiet">–</span>` : responseCell(attempt),
    time(createdAt),
  ];
}

/** The status or the error, and the reason of a failure in a few words. */
function responseCell(attempt: LastAttempt): Html {
  const { errorClass, errorMessage, responseStatus } = attempt;
  const isStatus = errorClass === 'http_status' && responseStatus !== null;
  const reason = errorClass === null ? null : isStatus ? STATUS_CODES[responseStatus] : errorMessage;
  return html`
    ${outcomeBadge(attempt)}
    ${reason === null || reason === undefined ? null : html`<span class="cell-hint">${reason}</span>`}
  `;
}

function isDue({ nextAttemptAt }: Delivery, now: number): boolean {
  return nextAttemptAt !== null && nextAttemptAt <= now;
}

/** How it ended and when, or what it waits for. */
function progressOf(delivery: Delivery, now: number): Html | null {
  const { state, attemptCount, createdAt, settledAt, nextAttemptAt, isLeased, webhookState, webhookMode } = delivery;
  const attempts = attemptCount > 1 ? html`, ${countText(attemptCount)} attempts` : null;
  if (state === 'delivered' && settledAt !== null) return html`after ${spanText(settledAt - createdAt)}${attempts}`;
  if (state === 'dead') return html`${relativeTime(settledAt, now)}${attempts}`;
  if (state !== 'pending') return null;
  if (isLeased && !isDue(delivery, now)) return html`attempt ${Math.max(attemptCount, 1)} in progress`;
  if (!isRunnable(webhookState)) return html`webhook ${webhookState === 'failed' ? 'failed' : 'stopped'}${attempts}`;
  if (webhookMode === 'pull') return html`not acknowledged yet`;
  if (nextAttemptAt === null) return html`not tried yet`;
  return isDue(delivery, now) ? html`due now${attempts}` : html`next ${relativeTime(nextAttemptAt, now)}${attempts}`;
}

function nothing({ searched }: Asked): Html {
  if (searched.kind !== 'id') return nothingFound(DELIVERIES_PATH, 'deliveries');
  return emptyState({
    title: 'Nothing found',
    text:
      'No delivery, event, attempt or batch has this id. An event without a subscribed webhook has no deliveries, ' +
      'and finished deliveries are deleted after some weeks.',
    action: linkButton({ href: DELIVERIES_PATH, label: 'Show all' }),
  });
}

const NOTHING_YET = emptyState({
  title: 'No deliveries yet',
  text: html`
    A published event becomes one delivery for each webhook that is subscribed to its type. Publish an event with
    <code>sallyport event publish</code> or <code>POST /services/api/x/edge/v1/events</code>, or send a test event
    from the page of a webhook.
  `,
});
const GO_ON = emptyState({
  title: 'Nothing found so far',
  text: `None of the ${countText(DELIVERIES_EXAMINED_MAX)} deliveries searched so far fits. The next page continues the search.`,
});

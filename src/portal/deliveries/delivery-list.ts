/** `/deliveries`: the list of deliveries with its search line. It is live, and shows the chosen delivery beside it. */

import { isRunnable } from '../../domain/webhook-states.ts';
import { attributes, type Html, html } from '../../http/html.ts';
import { deliveryAddress } from '../../kernel/ids.ts';
import { DELIVERIES_EXAMINED_MAX } from '../../store/port/limits.ts';
import { isReplayable } from '../../webhooks/deliveries.ts';
import { ifFound, ownPath, type PageCall, type PageResult, redirectTo, refusedTo, type View } from '../frame/call.ts';
import { type LiveReading, liveContent } from '../frame/live-content.ts';
import type { PageRoute, SharedPageDependencies } from '../frame/page.ts';
import { readText } from '../frame/query.ts';
import { linkButton, pageHeader } from '../parts/header.ts';
import { FAILURES_EVERY_MS } from '../parts/limits.ts';
import { emptyState, listResults, nothingFound, withQuery } from '../parts/list.ts';
import { type IconName, icon, notice } from '../parts/mark.ts';
import { countOf, countText, listText } from '../parts/text.ts';
import { causeAdvice, causeText } from '../record/causes.ts';
import { EVENTS_PATH } from '../record/events-path.ts';
import { webhookNamed } from '../record/webhook-choice.ts';
import { keptStateCounts, readStateCounts } from './delivery-counts.ts';
import { readAsked } from './delivery-filters.ts';
import { readStory, type Story } from './delivery-reading.ts';
import { type DeliveryRows, deliveryTable, isDue } from './delivery-rows.ts';
import {
  type FoundDeliveries,
  failuresOnce,
  isOfDead,
  lookedUp,
  readDeliveries,
  type Searched,
} from './delivery-search.ts';
import { DELIVERIES_PATH, deliveryTabs } from './delivery-tabs.ts';
import { liveStory } from './delivery-view.ts';
import { quickFilters, type SearchSuggestions, searchHref, searchLine, searchSuggestions } from './search-line.ts';
import { type SearchTerm, withTerms } from './search-text.ts';
import { notRunning, replayGroupLabel, replayHref, type SentAgain, toldSentAgain } from './sending-again.ts';

export function deliveryListPages(dependencies: SharedPageDependencies): PageRoute<'both'>[] {
  const { pages, services, store, feed, clock } = dependencies;
  const isOfOperator = store.customerId === null;
  return [
    pages.view(DELIVERIES_PATH, 'both', async (call) => {
      const added = await addedTo(dependencies, call);
      if (added !== null) return redirectTo(added);
      const query = without(call.query, ['open']);
      const given = readAsked(query, call.now, isOfOperator);
      const place = given.id === null ? null : await placeOf(dependencies, given.id);
      if (place !== null) return redirectTo(place);
      const asked = await lookedUp(dependencies, given);
      const failures = failuresOnce(store, asked);
      const [listed, counts, story, suggestions] = await Promise.all([
        readDeliveries(dependencies, asked, query, failures),
        readStateCounts(store, asked, failures),
        openStory(dependencies, call),
        searchSuggestions(store),
      ]);
      return listPage(call, { asked, listed, counts, query }, story, suggestions);
    }),
    pages.stream(STREAM, 'both', async (call) => {
      const { query } = call;
      // A refusal comes before the stream.
      const first = await lookedUp(dependencies, readAsked(query, call.now, isOfOperator));
      const countsOf = keptStateCounts(store, clock);
      const readLive = async (): Promise<LiveReading> => {
        const now = clock();
        const asked = await lookedUp(dependencies, readAsked(query, now, isOfOperator));
        const failures = failuresOnce(store, asked);
        const [listed, counts] = await Promise.all([
          readDeliveries(dependencies, asked, query, failures),
          countsOf(asked, failures),
        ]);
        const version = JSON.stringify([listed, counts, listed.items.map((delivery) => isDue(delivery, now))]);
        return { version, content: () => listResults(resultsOf({ ...call, now }, { asked, listed, counts, query })) };
      };
      const pace = isOfDead(first) ? { everyMs: FAILURES_EVERY_MS } : {};
      return liveContent(feed, first.one?.id ?? null, call.signal, readLive, pace);
    }),
    pages.act(
      `${DELIVERIES_PATH}/replay-selected`,
      'both',
      'operator',
      async ({ form, acting }): Promise<PageResult> => {
        const back = ownPath(form.get('back'));
        const ids = form.getAll('chosen').slice(0, SELECTED_MAX);
        if (ids.length === 0) return refusedTo(back, 'Select at least one delivery.');
        const sent = await replayableOf(dependencies, ids);
        const { replayed } = await services.deliveries.replaySelected(ids, acting);
        if (replayed === 0) return refusedTo(back, 'None of the selected deliveries can be sent again.');
        return { redirect: back, flash: await toldSentAgain(store, sent) };
      },
    ),
  ];
}

/** The chosen deliveries that can be sent again, by webhook. */
async function replayableOf({ store }: SharedPageDependencies, ids: readonly string[]): Promise<SentAgain[]> {
  const addresses = [...new Set(ids)].flatMap((id) => deliveryAddress(id) ?? []);
  const found = await Promise.all(addresses.map((address) => store.deliveries.get(address)));
  const again = found.flatMap((delivery) => (delivery !== null && isReplayable(delivery) ? [delivery] : []));
  return [...Map.groupBy(again, ({ webhookId }) => webhookId).values()].flatMap(([first, ...more]) =>
    first === undefined ? [] : [{ ...first, count: more.length + 1 }],
  );
}

const STREAM = `${DELIVERIES_PATH}/changes`;

/** At most a page of deliveries. */
const SELECTED_MAX = 200;

/**
 * The search line sends the filters that it shows as `kept`, the typed ones as `q`, and what its pickers name: the URL with all of them.
 * Typed ones replace others.
 */
async function addedTo({ store }: SharedPageDependencies, { query, now }: PageCall): Promise<string | null> {
  const kept = query.get('kept');
  if (kept === null) return null;
  const isOfOperator = store.customerId === null;
  const shown = readAsked(new URLSearchParams({ q: kept }), now, isOfOperator);
  const before = withTerms(shown.terms, await pickedTerms(store, query));
  const webhook = before.find(({ field }) => field === 'webhook')?.value;
  const added = new URLSearchParams({ q: query.get('q') ?? '', ...(webhook !== undefined && { webhook }) });
  const typed = readAsked(added, now, isOfOperator);
  const others = without(query, ['kept', ...PICKERS]);
  const path = searchHref(DELIVERIES_PATH, others, withTerms(before, typed.terms));
  const wrong = typed.problems.map(({ word }) => word).join(' ');
  if (wrong === '') return path;
  const q = new URL(path, 'http://own.invalid').searchParams.get('q') ?? '';
  return withQuery(DELIVERIES_PATH, others, { q: `${q} ${wrong}`.trim() });
}

const PICKERS = ['customer', 'webhook'] as const;

/** A webhook by its id: its name with that of its customer, as the picker offers it, is no filter. Unknown names stay, to be refused. */
async function pickedTerms(store: SharedPageDependencies['store'], query: URLSearchParams): Promise<SearchTerm[]> {
  const webhook = readText(query, 'webhook');
  const found = webhook === null ? null : await webhookNamed(store, webhook);
  const picked = {
    customer: store.customerId === null ? readText(query, 'customer') : null,
    webhook: found?.id ?? webhook,
  };
  return PICKERS.flatMap((field) => {
    const value = picked[field];
    return value === null ? [] : [{ field, value }];
  });
}

function without(query: URLSearchParams, names: readonly string[]): URLSearchParams {
  return new URLSearchParams([...query].filter(([name]) => !names.includes(name)));
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

/** The delivery beside the list, as a link names it; null without one. */
async function openStory(dependencies: SharedPageDependencies, call: PageCall): Promise<Story | null> {
  const id = call.query.get('open');
  if (id === null) return null;
  return ifFound(readStory(dependencies, call, id));
}

function listPage(call: PageCall, rows: DeliveryRows, story: Story | null, suggestions: SearchSuggestions): View {
  const { asked, query } = rows;
  const { terms, problems, names } = asked;
  const line = searchLine({ path: DELIVERIES_PATH, query, terms, problems, names, suggestions });
  const live = attributes({ 'data-hx-sse:connect': withQuery(STREAM, query, {}), 'data-hx-swap': 'innerMorph' });
  const partial = html`
    <div id="deliveries" class="${story === null ? 'beside' : 'beside has-panel'}">
      <div class="beside-list">
        ${line}
        <div id="results" class="results delivery-list"${problems.length > 0 ? null : live}>
          ${problems.length > 0 ? notSearched(rows) : listResults(resultsOf(call, rows))}
        </div>
      </div>
      ${panel(call, withQuery(DELIVERIES_PATH, query, {}), story)}
    </div>
  `;
  const title = 'Deliveries';
  const content = html`${pageHeader({ title, actions: isNew(rows) ? [] : actionsOf(call, asked) })}${deliveryTabs('list')}${partial}`;
  return { title, content, partial, ...(problems.length > 0 && !call.isPartial && { status: 400 }) };
}

/** The place of the chosen delivery. The script fills it; without it, the links of the rows lead to the pages of the deliveries. */
function panel(call: PageCall, close: string, story: Story | null): Html {
  const page = story === null ? DELIVERIES_PATH : `${DELIVERIES_PATH}/${story.delivery.id}`;
  return html`
    <aside id="panel" class="panel" aria-label="The chosen delivery"${attributes({ hidden: story === null })}>
      <div class="panel-bar">
        <a class="button button-quiet" href="${page}" data-panel-page><span>Open full page</span>${icon('next')}</a>
        <div class="panel-steps">
          ${panelStep(-1, 'up', 'Previous delivery', 'k')}
          ${panelStep(1, 'down', 'Next delivery', 'j')}
          <a class="icon-button" href="${close}" data-panel-close aria-label="Close" title="Close (Esc)">${icon('cross')}</a>
        </div>
      </div>
      <div id="panel-content">${story === null ? null : liveStory(call, story, { isBeside: true })}</div>
    </aside>
  `;
}

/** The script shows it, and opens the row above or below. */
function panelStep(step: -1 | 1, shape: IconName, label: string, key: string): Html {
  return html`
    <button${attributes({
      type: 'button',
      class: 'icon-button',
      'data-panel-step': step,
      'aria-label': label,
      'aria-keyshortcuts': key,
      title: `${label} (${key})`,
      hidden: true,
    })}>${icon(shape)}</button>
  `;
}

/** Whether there is no delivery at all, so none can be sent again. */
function isNew({ asked: { terms, problems }, listed: { items, next }, query }: DeliveryRows): boolean {
  return terms.length + problems.length + items.length === 0 && next === null && !query.has('cursor');
}

function actionsOf({ may }: PageCall, { one, filter }: Searched): (Html | null)[] {
  const replay = withQuery(`${DELIVERIES_PATH}/replay`, new URLSearchParams(), {
    webhook: one?.id ?? null,
    state: filter.state ?? null,
    orderingKey: filter.orderingKey ?? null,
  });
  return [may('operator') ? linkButton({ href: replay, label: 'Send many again', icon: 'replay' }) : null];
}

function resultsOf(call: PageCall, rows: DeliveryRows) {
  const { asked, listed, query } = rows;
  const back = withQuery(DELIVERIES_PATH, query, {});
  const list = deliveryTable(call, rows, back, emptyOf(call, rows));
  const states = quickFilters({ path: DELIVERIES_PATH, query, terms: asked.terms, counts: rows.counts });
  const bar = html`<div class="list-bar">${states}${countLine(rows)}</div>`;
  const results = html`${bar}${hint(asked)}${troubleNotice(listed.states)}${deadNotice(call, listed.dead)}${list}`;
  return { path: DELIVERIES_PATH, query, results, nextCursor: listed.next, target: '#deliveries' };
}

/** Nothing is listed while a filter is wrong: without it, the list would have deliveries that nobody asked for. */
function notSearched({ asked: { terms }, query }: DeliveryRows): Html {
  const states = quickFilters({ path: DELIVERIES_PATH, query, terms, counts: {} });
  const title = 'Nothing was searched';
  const text = 'Correct the marked filter, or remove it.';
  const action = linkButton({ href: searchHref(DELIVERIES_PATH, query, terms), label: 'Search without it' });
  return html`<div class="list-bar">${states}</div>${emptyState({ title, text, action })}`;
}

/** How many there are, if the page has all of them. Counting more would cost more with every delivery. */
function countLine({ listed: { items, next }, query }: DeliveryRows): Html | null {
  if (items.length === 0) return null;
  const isFirst = !query.has('cursor');
  const which = next === null ? (isFirst ? '' : 'The last ') : isFirst ? 'The newest ' : 'The next ';
  return html`
    <p class="list-count">
      ${which}${countOf(items.length, 'delivery', undefined, 'deliveries')}
      <span class="list-live">Live</span>
    </p>
  `;
}

/** A notice about the search, if it needs one. */
function hint({ offsets, one }: Searched): Html | null {
  if (offsets === null || one !== null) return null;
  const text = `Each webhook has its own offsets. Choose the webhook of #${offsets.first}.`;
  return notice({ tone: 'info', text });
}

/** Where to see why the newest deliveries only wait. */
function troubleNotice({ failing = 0, failed = 0 }: FoundDeliveries['states']): Html | null {
  if (failing + failed === 0) return null;
  const counts = [
    ...(failing === 0 ? [] : [`${countOf(failing, 'webhook')} ${failing === 1 ? 'is' : 'are'} failing`]),
    ...(failed === 0 ? [] : [`${countOf(failed, 'webhook')} ${failed === 1 ? 'has' : 'have'} failed`]),
  ];
  const failures = html`<a href="${DELIVERIES_PATH}/failures">Failures by cause</a>`;
  return notice({ tone: 'caution', text: html`<p>${listText(counts)}. ${failures}</p>` });
}

/** The action that helps all of the listed deliveries, if they died of one cause. */
function deadNotice({ may, session }: PageCall, dead: FoundDeliveries['dead']): Html | null {
  if (dead === null) return null;
  const { group, name } = dead;
  const all = group.dead === 1 ? '1 dead' : `${countText(group.dead)} dead, all`;
  const standing = isRunnable(group.webhookState) ? '' : ` ${name} ${notRunning(group.webhookState)}.`;
  const replay = html`<a href="${replayHref(group.webhookId, group.cause)}">${replayGroupLabel(group)}</a>`;
  return notice({
    tone: 'negative',
    title: `${all} with ${causeText(group.cause)} at ${name}.`,
    text: html`
      <p>
        ${causeAdvice(group.cause, session.customerId)}${standing}
        ${' '}
        ${may('operator') ? replay : null}
      </p>
    `,
  });
}

function emptyOf(
  { brand, may }: PageCall,
  { asked: { id, terms, filter }, listed: { next, unsent, hasWebhooks } }: DeliveryRows,
): Html {
  if (next !== null) return GO_ON;
  if (unsent !== null) {
    return emptyState({
      title: 'Nothing found',
      text: html`No delivery fits, but an event <code>${unsent.type}</code> does. Its page tells who got it, and why others did not.`,
      action: linkButton({ href: `${EVENTS_PATH}/${unsent.id}`, label: 'See why' }),
    });
  }
  if (terms.length === 0 && brand !== null) return hasWebhooks ? NOTHING_YET_FOR_CUSTOMERS : NO_WEBHOOK_YET;
  if (terms.length === 0) return nothingYet(may('operator'));
  if (id === null && filter.text !== undefined) return noText(filter.text, brand === null);
  if (id === null) return nothingFound(DELIVERIES_PATH, 'deliveries');
  return emptyState({
    title: 'Nothing found',
    text:
      'No delivery, event, attempt or batch has this id. An event without a subscribed webhook has no deliveries, ' +
      'and finished deliveries are deleted after some weeks.',
    action: linkButton({ href: DELIVERIES_PATH, label: 'Show all' }),
  });
}

/** A bare word is compared with whole values, so a part of an id finds nothing. */
function noText(text: string, isOfOperator: boolean): Html {
  const type = isOfOperator ? html`<a href="/event-types">its type</a>` : html`its type`;
  return emptyState({
    title: 'Nothing found',
    text: html`
      No delivery fits. “${text}” is compared with whole values: the subject of an event, and the fields by which ${type}
      is found. A part of a value finds nothing, and a new event is found some seconds after it is published.
    `,
    action: linkButton({ href: DELIVERIES_PATH, label: 'Show all' }),
  });
}

function nothingYet(mayPublish: boolean): Html {
  return emptyState({
    title: 'No deliveries yet',
    text: html`
      A published event becomes one delivery for each webhook that is subscribed to its type. Your programs publish
      events with <code>POST /services/api/x/edge/v1/events</code>, and here you can publish one by hand.
    `,
    action: mayPublish ? linkButton({ href: '/publish', label: 'Publish an event', icon: 'send' }) : null,
  });
}
const NOTHING_YET_FOR_CUSTOMERS = emptyState({
  title: 'No deliveries yet',
  text: html`
    Nothing has happened yet that your webhooks subscribe to. You can send a test event from the page of a webhook. It
    is no delivery: its result is shown there and in <a href="/deliveries/watch">Live</a>.
  `,
  action: linkButton({ href: '/webhooks', label: 'Choose a webhook', icon: 'webhook' }),
});
const NO_WEBHOOK_YET = emptyState({
  title: 'No webhook yet',
  text: 'Deliveries are listed here once a webhook sends events to your endpoint.',
  action: linkButton({ href: '/endpoints/new', label: 'New endpoint', icon: 'plus' }),
});
const GO_ON = emptyState({
  title: 'Nothing found so far',
  text: `None of the ${countText(DELIVERIES_EXAMINED_MAX)} deliveries searched so far fits. The next page continues the search.`,
});

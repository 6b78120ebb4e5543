/** `/webhooks`: the list of webhooks with their states. */
import { isUnverified } from '../../domain/endpoint.ts';
import type { WebhookState } from '../../domain/webhook.ts';
import { DEAD_STREAK_LIMIT, FAILING_LIMIT_MS, isUnhealthy } from '../../domain/webhook-states.ts';
import { attributes, type Html, html } from '../../http/html.ts';
import type { Day } from '../../observe/figures.ts';
import type { LastOutcomes } from '../../store/port/deliveries.ts';
import type { WebhookListing } from '../../store/port/directory.ts';
import { viewWebhook } from '../../webhooks/webhook-schema.ts';
import type { PageCall } from '../frame/call.ts';
import type { PageRoute, SharedPageDependencies } from '../frame/page.ts';
import { readChoice, readText } from '../frame/query.ts';
import { errorWords } from '../parts/error-words.ts';
import { newForm, selectField, textField } from '../parts/fields.ts';
import { linkButton } from '../parts/header.ts';
import { healthCell } from '../parts/health.ts';
import {
  emptyState,
  firstStep,
  listView,
  mostUrgentFirst,
  nothingFound,
  problemsLink,
  readListed,
  table,
  withQuery,
} from '../parts/list.ts';
import { filterChip, stateBadge, tags } from '../parts/mark.ts';
import { countText, relativeTime } from '../parts/text.ts';
import { byFrequency, type Cause, causeText, readCausesOf } from '../record/causes.ts';
import { ownerFilter, ownerNames } from '../record/owner.ts';
import { failsBriefly, lastAttemptAt, stoppedHint } from '../record/webhook-state.ts';
import { readSetUp } from '../set-up/set-up-checklist.ts';
import { shownTypes } from './filter-editor.ts';

const PATH = '/webhooks';
const STATES = ['running', 'started', 'failing', 'failed', 'stopped'] as const satisfies readonly WebhookState[];
const TYPES_SHOWN = 3;
const PROBLEMS_COUNTED = 100;

/** In place of a state. */
const PROBLEMS = 'problems';

type Filter = {
  readonly state: WebhookState | null;
  readonly troubled: 'yes' | null;
  readonly eventType: string | null;
  readonly endpointId: string | null;
  readonly keyName: string | null;
  readonly text: string | null;
};

export function webhookListPage(dependencies: SharedPageDependencies): PageRoute<'both'> {
  const { pages, store, figures } = dependencies;
  return pages.view(PATH, 'both', async (call) => {
    const { query } = call;
    const asked: Filter = {
      state: readChoice(query, 'state', STATES),
      troubled: query.get('state') === PROBLEMS ? 'yes' : null,
      eventType: readText(query, 'event'),
      endpointId: readText(query, 'endpoint'),
      keyName: readText(query, 'key'),
      text: readText(query, 'q'),
    };
    const owner = await ownerFilter(store, query);
    const given = Object.fromEntries(Object.entries(asked).filter(([, value]) => value !== null));
    const filter = { ...given, ...owner.filter };
    const { items, cursor, nextCursor } = await readListed(
      query,
      (after, limit) => store.directory.webhooks(filter, after, limit),
      ({ webhook }) => webhook.id,
    );
    const progresses = items.map(({ webhook }) => webhook.progress);
    const unhealthy = progresses.filter(({ state }) => isUnhealthy(state));
    const restarted = progresses.filter(({ sentAt }) => sentAt === null);
    const [days, ownerIn, ailing, causesOf, outcomes, unverified] = await Promise.all([
      figures.days(items.map(({ webhook }) => webhook.progress.webhookNumber)),
      ownerNames(
        store,
        items.map(({ webhook }) => webhook),
      ),
      store.overview.ailing(store.customerId, PROBLEMS_COUNTED + 1),
      readCausesOf(
        store,
        unhealthy.map(({ webhookNumber }) => webhookNumber),
      ),
      store.attempts.lastOutcomes(restarted.map(({ webhookNumber }) => webhookNumber)),
      readUnverified(store, items),
    ]);
    const isEmpty = items.length === 0 && Object.keys(filter).length === 0 && cursor === null;
    const problems = ailing.length;
    const inOrder = mostUrgentFirst(
      { items, cursor, nextCursor },
      ({ webhook }) => URGENCY.indexOf(webhook.progress.state),
      ({ webhook }) => webhook.name,
    );
    const empty = isEmpty ? await firstWebhook(dependencies, call) : nothingFound(PATH, 'webhooks');
    return listView({
      title: 'Webhooks',
      lead: 'Which events go to which endpoint, and how deliveries are going.',
      actions: [call.may('administrator') && !isEmpty ? newButton(owner.newQuery) : null],
      path: PATH,
      query,
      nextCursor,
      above: problems === 0 ? null : problemsChip(problems, query, asked.troubled !== null),
      filters: isEmpty ? [] : [...(await filterFields(dependencies, asked, problems)), ...owner.fields],
      results: webhookTable(call, inOrder, { days, ownerIn, causesOf, outcomes, unverified, empty }),
    });
  });
}

const URGENCY: readonly WebhookState[] = ['failed', 'failing', 'stopped', 'started', 'running'];

function problemsText(problems: number): string {
  return problems > PROBLEMS_COUNTED ? `${PROBLEMS_COUNTED}+` : String(problems);
}

/** The link to the webhooks with problems, and back to all. The other filters stay. */
function problemsChip(problems: number, query: URLSearchParams, isChosen: boolean): Html {
  const label = isChosen ? 'Show all webhooks' : `${problemsText(problems)} with problems`;
  return problemsLink(withQuery(PATH, query, { state: isChosen ? null : PROBLEMS, cursor: null }), label, isChosen);
}

async function filterFields({ store }: SharedPageDependencies, asked: Filter, problems: number): Promise<Html[]> {
  const [counts, types] = await Promise.all([store.directory.states(store.customerId), shownTypes(store)]);
  const state = newForm({
    q: asked.text,
    state: asked.troubled === null ? asked.state : PROBLEMS,
    event: asked.eventType,
  });
  const states = STATES.map((name) => {
    const label = name === 'started' ? 'started, nothing sent yet' : name;
    return { value: name, label: `${label} (${countText(counts[name] ?? 0)})` };
  });
  return [
    textField(state, { name: 'q', label: 'Name', type: 'search' }),
    selectField(state, {
      name: 'state',
      label: 'State',
      choices: [
        { value: '', label: 'Any' },
        { value: PROBLEMS, label: `with problems (${problemsText(problems)})` },
        ...states,
      ],
    }),
    textField(state, {
      name: 'event',
      label: 'Event type',
      autocomplete: 'off',
      placeholder: 'Any type',
      suggestions: types.map(({ name }) => name),
    }),
    ...(asked.endpointId === null ? [] : [html`<input type="hidden" name="endpoint" value="${asked.endpointId}">`]),
    ...(asked.keyName === null ? [] : [html`<input type="hidden" name="key" value="${asked.keyName}">`]),
  ];
}

/** The next step to the first delivery. */
async function firstWebhook({ store, hasPage }: SharedPageDependencies, call: PageCall): Promise<Html> {
  const steps = await readSetUp(store);
  // The overview has all steps; here is the next one.
  const next = steps.find(({ isDone, isOptional }) => !isDone && isOptional !== true)?.link ?? null;
  const isGuided = next !== null && hasPage(next.page ?? next.href) && call.may('administrator');
  return html`
    ${emptyState({
      title: 'Nothing is sent yet',
      text: html`
        <p>
          A webhook subscribes an endpoint to events: to event types, to a whole category, or to all. A
          delivery that fails is retried until its attempts are used up.
        </p>
      `,
      action: isGuided
        ? linkButton({ href: next.href, label: next.label, kind: 'primary' })
        : firstStep(call, 'create', newButton),
    })}
  `;
}

type Beside = {
  readonly days: ReadonlyMap<number, Day>;
  readonly ownerIn: Awaited<ReturnType<typeof ownerNames>>;
  readonly causesOf: Awaited<ReturnType<typeof readCausesOf>>;
  /** By their numbers: of webhooks that sent nothing since their start. */
  readonly outcomes: ReadonlyMap<number, LastOutcomes>;
  /** The ids of their endpoints that are not verified. */
  readonly unverified: ReadonlySet<string>;
  readonly empty: Html;
};

function webhookTable(
  call: PageCall,
  listings: readonly WebhookListing[],
  { days, ownerIn, causesOf, outcomes, unverified, empty }: Beside,
): Html {
  return table({
    caption: 'Webhooks',
    columns: [
      { label: 'Name and endpoint', kind: 'main' },
      { label: 'State', phone: 'state' },
      { label: 'Succeeded, 24 h', phone: 'named' },
      { label: 'Events', phone: 'plain' },
      { label: 'Pending', kind: 'number', phone: 'named' },
      { label: 'Last attempt', phone: 'named' },
    ],
    rows: listings.map((listing) => {
      const { webhook, endpointName, pendingRecords } = listing;
      const { id, name, endpointId, progress } = webhook;
      const day = days.get(progress.webhookNumber);
      const isBrief = failsBriefly(progress, day, call.now);
      return [
        html`
          <a href="${PATH}/${id}">${name}</a>
          ${ownerIn(webhook.customerId)}
          <span class="cell-hint">
            ${
              endpointId === null
                ? 'read by its reader (pull)'
                : html`to <a href="/endpoints/${endpointId}" class="plain-link">${endpointName}</a>`
            }
          </span>
        `,
        html`
          ${stateBadge(isBrief ? 'running' : progress.state)}
          ${isBrief ? html`<span class="cell-hint">some attempts fail</span>` : reasonHint(listing, causesOf(id), unverified)}
        `,
        healthCell(day),
        tags(
          webhook.eventTypes.slice(0, TYPES_SHOWN),
          webhook.eventTypes.length - TYPES_SHOWN,
          filterChip(webhook.filter),
        ),
        pendingRecords === 0
          ? html`<span class="quiet">0</span>`
          : html`<a href="/deliveries?webhook=${id}&state=pending">${countText(pendingRecords)}</a>`,
        relativeTime(lastAttemptAt(progress, outcomes.get(progress.webhookNumber) ?? NO_OUTCOMES), call.now),
      ];
    }),
    empty,
  });
}

async function readUnverified(
  { endpoints }: SharedPageDependencies['store'],
  listings: readonly WebhookListing[],
): Promise<Set<string>> {
  const off = listings
    .filter(({ endpointEnabled }) => !endpointEnabled)
    .flatMap(({ webhook }) => webhook.endpointId ?? []);
  const found = await Promise.all([...new Set(off)].map((id) => endpoints.get(id)));
  return new Set(found.flatMap((endpoint) => (endpoint !== null && isUnverified(endpoint) ? [endpoint.id] : [])));
}

/** Why it is not running, in a few words. Its page has the whole reason. */
function reasonHint(
  { webhook, endpointEnabled }: WebhookListing,
  causes: readonly Cause[],
  unverified: Beside['unverified'],
): Html | null {
  const { progress } = webhook;
  const { stateReason } = viewWebhook(webhook);
  const stopped = stoppedHint(progress);
  // Starting it would not suffice.
  if (!endpointEnabled && (stopped !== null || stateReason === null)) {
    const isUnverified = webhook.endpointId !== null && unverified.has(webhook.endpointId);
    return html`<span class="cell-hint">${isUnverified ? 'endpoint not verified' : 'endpoint disabled'}</span>`;
  }
  if (stopped !== null) return html`<span class="cell-hint">${stopped}</span>`;
  if (stateReason !== null) {
    const [code = ''] = stateReason.split(':', 1);
    const why = REASONS[code] ?? errorWords(code);
    const [main] = [...byFrequency(causes, 'retrying'), ...byFrequency(causes, 'dead')];
    const isKnown = main !== undefined && isUnhealthy(progress.state);
    return html`<span class="cell-hint"${attributes({ title: isKnown ? why : null })}>${isKnown ? causeText(main.cause) : why}</span>`;
  }
  return null;
}

const NO_OUTCOMES: LastOutcomes = { deliveredAt: null, failure: null };

const REASONS: Readonly<Record<string, string>> = {
  customer_inactive: 'customer suspended',
  endpoint_disabled: 'endpoint disabled',
  http_status: 'error responses',
  failing_too_long: `no success for ${FAILING_LIMIT_MS / 3_600_000} h`,
  too_many_dead: `${DEAD_STREAK_LIMIT} deliveries dead`,
};

function newButton(query = ''): Html {
  return linkButton({ href: `${PATH}/new${query}`, label: 'New webhook', kind: 'primary', icon: 'plus' });
}

/** The pages of endpoints: the list, one endpoint with its actions, and its forms. */
import { type Endpoint, isUnverified, mustBeVerified } from '../../domain/endpoint.ts';
import { encryptionNeed, STATUS_CATEGORY, typesFor } from '../../domain/event.ts';
import { type Html, html } from '../../http/html.ts';
import { checkAll, Refusal, refuseField } from '../../kernel/refusal.ts';
import { NO_USES, type Uses } from '../../store/port/directory.ts';
import { endpointReader, viewEndpoint } from '../../webhooks/endpoint-schema.ts';
import { refuseMalformedUrl } from '../../webhooks/url.ts';
import { webhookReader } from '../../webhooks/webhook-schema.ts';
import { type PageCall, reasonIn } from '../frame/call.ts';
import type { PageRoute, SharedPageDependencies } from '../frame/page.ts';
import { readChoice, readText } from '../frame/query.ts';
import { type Choice, newForm, selectField, textField } from '../parts/fields.ts';
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
import { breakable } from '../parts/text.ts';
import { OPERATOR, ownerFilter, ownerNames, readOwner } from '../record/owner.ts';
import { recordPages, removalPages, usesList } from '../record/record-pages.ts';
import { shownTypes } from '../webhooks/filter-editor.ts';
import { patternsOf } from '../webhooks/webhook-events.ts';
import { authenticationPages } from './authentication-pages.ts';
import { type EndpointActivity, lastDelivery, lastError, readEndpointActivity } from './endpoint-activity.ts';
import { endpointBadges, endpointWarnings, troubleHints, type Warning } from './endpoint-detail.ts';
import { endpointFields, endpointLayout, endpointSettings, shownEndpoint, usedSettings } from './endpoint-form.ts';
import { endpointActions, endpointPage, usesOf } from './endpoint-page.ts';
import { endpointSummaryPage } from './endpoint-summary.ts';
import { createdResult, ENDPOINTS, type MadeWebhook, receiverPage } from './receiver-pages.ts';
import { nextSecretPages, rotationPages } from './rotation-pages.ts';

export function endpointPages(dependencies: SharedPageDependencies): PageRoute<'both'>[] {
  return [
    endpointListPage(dependencies),
    ...endpointForms(dependencies),
    endpointSummaryPage(dependencies),
    receiverPage(dependencies),
    ...rotationPages(dependencies),
    ...nextSecretPages(dependencies),
    ...authenticationPages(dependencies),
    ...endpointPage(dependencies),
    ...endpointActions(dependencies),
    ...endpointRemoval(dependencies),
  ];
}

function entityOf({ services, store, clock }: SharedPageDependencies) {
  return {
    for: 'both' as const,
    list: ENDPOINTS,
    noun: 'endpoint',
    nameOf: ({ name }: Endpoint) => name,
    administration: services.endpoints,
    owners: store,
    settings: (endpoint: Endpoint) => endpointSettings(endpoint, clock()),
  };
}

function endpointForms(dependencies: SharedPageDependencies): PageRoute<'both'>[] {
  const { pages, results, services, store, clock, egressAddresses } = dependencies;
  return recordPages(pages, {
    ...entityOf(dependencies),
    reader: endpointReader,
    choices: async (owner) =>
      typesFor(owner === OPERATOR ? null : owner, await shownTypes(store)).filter(
        ({ name, encryptionRequired }) => !encryptionRequired && !name.startsWith(STATUS_CATEGORY),
      ),
    fields: endpointFields,
    layout: endpointLayout,
    adjust: async (body, before) => {
      const used = usedSettings(body, before === null);
      const url = String(used.url ?? '');
      // Its problem is told together with those of other fields.
      if (before === null && url !== '')
        await checkAll([() => void endpointReader.create(used), () => void refuseMalformedUrl('url', url)]);
      return used;
    },
    shown: (endpoint) => shownEndpoint(viewEndpoint(endpoint, clock())),
    creation: {
      title: 'New endpoint',
      lead: 'The next page shows the secret, the API key and code for the receiver. Then you verify ownership.',
      submit: 'Create the endpoint',
      // The form recommends it.
      start: () => ({ tokenChallenge: true }),
      respond: async (call, input) => {
        const patterns = patternsOf(call.form);
        const eventTypes = await store.eventTypes.all();
        const need = encryptionNeed(patterns, eventTypes, store.customerId === null);
        if (need !== null)
          throw refuseField('eventTypes', `must be chosen in a webhook with a key: ${need} must be encrypted`);
        return results.once(call, async () => {
          const endpoint = await services.endpoints.create(input, call.acting);
          const webhook = patterns.length === 0 ? null : await webhookOf(dependencies, call, endpoint, patterns);
          const owner = await readOwner(store, endpoint);
          const isMade = input.secret === undefined;
          return createdResult(call, endpoint, { isMade, webhook, owner, eventTypes, egressAddresses });
        });
      },
    },
    change: {
      // Some changes need a new verification.
      tab: (after) => (isUnverified(after) ? 'activity' : 'settings'),
      lead: 'Pending deliveries use the new settings.',
      done: (after, before) =>
        isUnverified(after) && (after.url !== before.url || !mustBeVerified(before))
          ? `${after.name} is saved. It failed the challenge and stays disabled until ownership is verified.`
          : `${after.name} is saved.`,
    },
  });
}

/** Creates the webhook with the events of the form, and starts it if the endpoint is enabled. The endpoint stays if that is refused. */
async function webhookOf(
  { services: { webhooks } }: SharedPageDependencies,
  call: PageCall,
  { id, name, customerId, enabled }: Endpoint,
  eventTypes: readonly string[],
): Promise<MadeWebhook> {
  const { acting } = call;
  let made: MadeWebhook = { problem: '' };
  try {
    const owner = customerId === null ? {} : { customerId };
    const webhook = await webhooks.create(webhookReader.create({ name, endpointId: id, eventTypes, ...owner }), acting);
    made = { id: webhook.id, name: webhook.name, eventTypes, isStarted: false };
    if (!enabled) return made;
    await webhooks.start(webhook.id, acting);
    return { ...made, isStarted: true };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return 'id' in made ? made : { problem: reasonIn(call, error) };
  }
}

function endpointRemoval(dependencies: SharedPageDependencies): PageRoute<'both'>[] {
  return removalPages(dependencies.pages, entityOf(dependencies), {
    text: () =>
      'Its address, API key, secret and settings are deleted. This cannot be undone. The audit log keeps its entries.',
    uses: ({ id }) => usesOf(dependencies, id),
    used: {
      all: ({ id }) => `/webhooks?endpoint=${id}`,
      remedy: (count) =>
        count === 1
          ? 'Delete the webhook first, or give it another endpoint.'
          : 'Delete these webhooks first, or give them another endpoint.',
    },
  });
}

const PATH = '/endpoints';
const STATES = ['problems', 'enabled', 'disabled'] as const;
/** Endpoints of a state that are counted at most. */
const COUNTED = 100;

type Counts = ReadonlyMap<(typeof STATES)[number], number>;

async function readCounts({ directory }: SharedPageDependencies['store']): Promise<Counts> {
  const counted = STATES.map(async (state) => [state, await directory.countEndpoints({ state }, COUNTED + 1)] as const);
  return new Map(await Promise.all(counted));
}

function countLabel(count = 0): string {
  return count > COUNTED ? `${COUNTED}+` : String(count);
}

function stateChoices(counts: Counts): readonly Choice[] {
  const named = STATES.map((value) => {
    const label = value === 'problems' ? 'with problems' : value;
    return { value, label: `${label} (${countLabel(counts.get(value))})` };
  });
  return [{ value: '', label: 'Any' }, ...named];
}

/** The link to the endpoints with problems, and back to all. Null without problems. */
function problemsChip(counts: Counts, query: URLSearchParams, isChosen: boolean): Html | null {
  const count = counts.get('problems') ?? 0;
  if (count === 0) return null;
  const label = isChosen ? 'Show all endpoints' : `${countLabel(count)} with problems`;
  return problemsLink(withQuery(PATH, query, { state: isChosen ? null : 'problems', cursor: null }), label, isChosen);
}

function endpointListPage(dependencies: SharedPageDependencies): PageRoute<'both'> {
  const { pages, store } = dependencies;
  return pages.view(PATH, 'both', async (call) => {
    const { query } = call;
    const text = readText(query, 'q');
    const owner = await ownerFilter(store, query);
    const state = readChoice(query, 'state', STATES);
    const filter = { ...(text !== null && { text }), ...(state !== null && { state }), ...owner.filter };
    const { items, cursor, nextCursor } = await readListed(
      query,
      (after, limit) => store.directory.endpoints(filter, after, limit),
      ({ id }) => id,
    );
    const ids = items.map(({ id }) => id);
    const [uses, activityOf, ownerIn, counts] = await Promise.all([
      store.uses.ofEndpoints(ids),
      readEndpointActivity(dependencies, ids),
      ownerNames(store, items),
      readCounts(store),
    ]);
    const inOrder = mostUrgentFirst(
      { items, cursor, nextCursor },
      (endpoint) => urgency(endpoint, activityOf(endpoint.id)),
      ({ name }) => name,
    );
    const isFiltered = text !== null || state !== null || cursor !== null || owner.isFiltered;
    const isEmpty = items.length === 0 && !isFiltered;
    return listView({
      title: 'Endpoints',
      lead: 'The HTTPS addresses that receive events, and how deliveries to them are going.',
      actions: [call.may('administrator') && !isEmpty ? newButton(owner.newQuery) : null],
      path: PATH,
      query,
      nextCursor,
      above: problemsChip(counts, query, state === 'problems'),
      filters: isEmpty
        ? []
        : [
            textField(newForm({ q: text }), { name: 'q', label: 'Name or address', type: 'search' }),
            selectField(newForm({ state }), { name: 'state', label: 'State', choices: stateChoices(counts) }),
            ...owner.fields,
          ],
      results: endpointTable(call, inOrder, { uses, activityOf, ownerIn, isFiltered }),
    });
  });
}

/** Failed, failing, disabled, others. */
function urgency({ enabled }: Endpoint, { webhooks }: EndpointActivity): number {
  if (!enabled) return 2;
  const states = new Set(webhooks.map(({ state }) => state));
  return states.has('failed') ? 0 : states.has('failing') ? 1 : 3;
}

type Beside = {
  readonly uses: ReadonlyMap<string, Uses>;
  readonly activityOf: (endpointId: string) => EndpointActivity;
  readonly ownerIn: Awaited<ReturnType<typeof ownerNames>>;
  readonly isFiltered: boolean;
};

function endpointTable(
  call: PageCall,
  endpoints: readonly Endpoint[],
  { uses, activityOf, ownerIn, isFiltered }: Beside,
): Html {
  return table({
    caption: 'Endpoints',
    columns: [
      { label: 'Name and address', kind: 'main' },
      { label: 'State', phone: 'state' },
      { label: 'Succeeded, 24 h', phone: 'named' },
      { label: 'Last success', phone: 'named' },
      { label: 'Last error', phone: 'named' },
      { label: 'Webhooks', phone: 'named' },
    ],
    rows: endpoints.map((endpoint) => {
      const { id, name, url } = endpoint;
      const activity = activityOf(id);
      const warnings = endpointWarnings(endpoint, activity.webhooks, call.now);
      return [
        html`
          <a href="${PATH}/${id}">${name}</a>
          ${ownerIn(endpoint.customerId)}
          <span class="cell-hint cell-address" title="${url}">${breakable(url.replace('https://', ''))}</span>
          ${warningLines(warnings)}
        `,
        html`<span class="badges">${endpointBadges(endpoint, activity.webhooks)}</span>${troubleHints(endpoint, activity.webhooks)}`,
        healthCell(activity.day),
        lastDelivery(activity, call.now),
        lastError(activity, call.now),
        usesList(uses.get(id) ?? NO_USES, `/webhooks?endpoint=${id}`),
      ];
    }),
    empty: isFiltered ? nothingFound(PATH, 'endpoints') : firstEndpoint(call),
  });
}

function warningLines(warnings: readonly Warning[]): Html[] {
  return warnings.map(({ tone, text }) => html`<span class="cell-warning tone-${tone}">${text}</span>`);
}

function firstEndpoint(call: PageCall): Html {
  return emptyState({
    title: 'Create your first endpoint',
    text: html`
      <p>
        An endpoint is an HTTPS address that receives events. It has a secret, which signs every request, and an API
        key, so that the receiver knows who sent it.
      </p>
      <ol class="steps">
        <li><strong>Create the endpoint</strong>, and give its secret to the receiver.</li>
        <li><strong>Verify ownership</strong> with one button.</li>
        <li><strong>Create a webhook</strong>: choose the events to send.</li>
      </ol>
    `,
    action: firstStep(call, 'create', newButton),
  });
}

function newButton(query = ''): Html {
  return linkButton({ href: `${PATH}/new${query}`, label: 'New endpoint', kind: 'primary', icon: 'plus' });
}

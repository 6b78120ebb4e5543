/** `/search`: everything, for the dialog that Ctrl K opens. Without the script it is a page. */
import type { Delivery } from '../../domain/webhook.ts';
import { isRunnable } from '../../domain/webhook-states.ts';
import { type Html, html } from '../../http/html.ts';
import { isUuidV7 } from '../../kernel/ids.ts';
import type { OwnedTable } from '../../store/port/customers.ts';
import type { DeliveryFilter } from '../../store/port/deliveries.ts';
import type { Ailing } from '../../store/port/overview.ts';
import type { Found, FoundKind } from '../../store/port/search.ts';
import type { FoundEvent } from '../../store/port/terms.ts';
import { valueText } from '../deliveries/search-text.ts';
import { createLibrary, type FoundSection, type Library } from '../documentation/library.ts';
import { switchOf } from '../endpoints/endpoint-detail.ts';
import type { PageCall } from '../frame/call.ts';
import type { PageRoute, SharedPageDependencies } from '../frame/page.ts';
import { readText } from '../frame/query.ts';
import { readAiling } from '../overview/attention.ts';
import { newForm, textField } from '../parts/fields.ts';
import { listView } from '../parts/list.ts';
import { type IconName, icon, stateBadge } from '../parts/mark.ts';
import { hasWords, lengthText, marked, relativeText } from '../parts/text.ts';
import { type Cause, causeText, givenUpFor, readCausesOf } from '../record/causes.ts';
import { EVENTS_PATH } from '../record/events-path.ts';
import { type RecordOwners, readOwners } from '../record/owner.ts';
import { type Action, actionsIn, creationsIn, STARTS } from './search-actions.ts';
import { otherWords, pathOf } from './search-words.ts';

/** Results of a search by kind, and the longest text that is searched. */
export const SEARCH_PER_KIND = 5;
const SEARCH_TEXT_MAX_LENGTH = 200;
const PATH = '/search';
const DIALOG = 'dialog';

/**
 * Every role finds everything, but only pages that it may open. Results in this order: pages and actions, resources, events by the values
 * of their data, and the documentation.
 */
export function searchPages(dependencies: SharedPageDependencies): PageRoute<'both'>[] {
  const { pages, store } = dependencies;
  const documents = createLibrary();
  return [
    pages.view(PATH, 'both', async ({ query, may, now, isPartial }) => {
      const text = readText(query, 'q')?.slice(0, SEARCH_TEXT_MAX_LENGTH) ?? null;
      const hits =
        text === null
          ? await startHits(dependencies, { may, now })
          : await hitsOf(dependencies, { text, may, now, documents });
      const results = resultList(text, hits);
      const view = listView({
        title: 'Search',
        lead: isPartial || !may('operator') ? LEAD : await leadWithAction(store),
        path: PATH,
        query,
        submit: 'Search',
        filters: [textField(newForm({ q: text }), { name: 'q', label: 'Name, id or value', type: 'search' })],
        results,
      });
      // The dialog shows only the results.
      return query.has(DIALOG) ? { ...view, partial: results } : view;
    }),
  ];
}

/** Webhooks among which one that runs is sought. */
const EXAMPLES_READ = 20;

const LEAD = 'Finds pages, names, ids and values of events.';

/** For people who may stop and start webhooks. */
async function leadWithAction({ directory }: SharedPageDependencies['store']): Promise<string> {
  const webhooks = (await directory.webhooks({}, null, EXAMPLES_READ)).map(({ webhook }) => webhook);
  const running = webhooks.find(({ progress }) => isRunnable(progress.state));
  const [example = null] = running === undefined ? webhooks : [running];
  if (example === null) return LEAD;
  return `${LEAD} Actions work too: “${running === undefined ? 'start' : 'stop'} ${example.name}”.`;
}

/** Problems shown before anything is typed, and actions. */
const PROBLEMS_SHOWN = 3;
const STARTS_SHOWN = 8;

/** The hits before anything is typed: problems, and frequent actions. */
async function startHits(
  { store, hasPage }: SharedPageDependencies,
  { may, now }: Pick<PageCall, 'may' | 'now'>,
): Promise<Hit[]> {
  const shown = (await readAiling(store)).slice(0, PROBLEMS_SHOWN);
  const ids = shown.map(({ id }) => id);
  // A failing webhook has its newest error in its state.
  const others = shown.filter(({ state }) => state !== 'failing').map(({ webhookNumber }) => webhookNumber);
  const [owners, causesOf] = await Promise.all([readOwners(store, 'webhook', ids), readCausesOf(store, others)]);
  const problems = shown.map(
    (webhook): Hit => ({
      href: `/webhooks/${webhook.id}`,
      icon: 'warning',
      label: owners.named(webhook),
      group: 'Problems',
      aside: stateBadge(webhook.state),
      detail: `${
        webhook.state === 'failing' ? `for ${lengthText(now - webhook.since)}` : relativeText(webhook.since - now)
      }${causeOf(webhook, causesOf(webhook.id))}`,
    }),
  );
  const starts = STARTS.filter(({ page, role }) => may(role) && hasPage(page)).slice(0, STARTS_SHOWN);
  return [
    ...problems,
    ...starts.map(
      ({ label, page, icon: shape }): Hit => ({
        href: page,
        icon: shape,
        label,
        group: 'Actions',
        detail: null,
      }),
    ),
  ];
}

/** `: 401 Unauthorized`; empty if it is not known. */
function causeOf({ state, reason, detail }: Ailing, causes: readonly Cause[]): string {
  if (state === 'failing') return detail === null ? '' : `: ${detail}`;
  const givenUp = givenUpFor(reason, causes, null);
  return givenUp === null ? '' : `: ${causeText(givenUp.cause)}`;
}

type Asked = Pick<PageCall, 'may' | 'now'> & { readonly text: string; readonly documents: Library };

async function hitsOf(dependencies: SharedPageDependencies, asked: Asked): Promise<Hit[]> {
  const { store, hasPage } = dependencies;
  const { text, may, now, documents } = asked;
  const [actions, named, events, ofSubject, ofKey, pages] = await Promise.all([
    actionHits(dependencies, asked),
    findNamed(dependencies, text),
    store.terms.find(text, store.customerId, SEARCH_PER_KIND),
    // A customer's search has no index for subjects, so it offers that of the list in their place.
    store.customerId === null ? newestOf(dependencies, { subject: text }) : null,
    keyHit(dependencies, asked),
    text.length < WORD_MIN_LENGTH || !hasPage('/docs') ? [] : documents.search(text),
  ]);
  const hasList = hasPage('/deliveries');
  const deliveries = hasList ? deliveriesHit(text, events[0] ?? null, ofSubject, now) : [];
  return [
    ...placesOf(dependencies, text, may('administrator')),
    ...actions,
    ...named.map(hitOf),
    ...deliveries,
    ...ofKey,
    ...(hasPage(`${EVENTS_PATH}/{id}`) ? events.slice(0, EVENTS_SHOWN).map((event) => eventHit(event, now)) : []),
    // Not every part that has the words somewhere.
    ...pages
      .filter(({ title, section }) => hasWords(`${title} ${section.heading}`, text))
      .slice(0, DOCUMENTS_SHOWN)
      .map(documentHit),
    ...(store.customerId !== null && deliveries.length === 0 && hasList ? [searchHit(text)] : []),
  ];
}

/** The way on for a part of a subject, such as an order number. Its list says whether there are any. */
function searchHit(text: string): Hit {
  const href = `/deliveries?${new URLSearchParams({ q: valueText(text) })}`;
  const label = `Search deliveries for “${text}”`;
  return { href, icon: 'delivery', label, group: 'Deliveries', detail: 'by subject' };
}

/** `shown`: the name with that of the owner. */
type Named = Found & { readonly shown: string };

/** Finds resources that have the text in their name or id. */
async function findNamed({ store, hasPage }: SharedPageDependencies, text: string): Promise<Named[]> {
  const all = await store.search.find(text, store.customerId, SEARCH_PER_KIND);
  const found = all.filter(({ kind }) => hasPage(`${KINDS[kind].path}/{id}`));
  const owners = await Promise.all(
    OWNED.map(async ({ kind, table }) => {
      const ids = found.filter((one) => one.kind === kind).map(({ id }) => id);
      return [kind, await readOwners(store, table, ids)] as const;
    }),
  );
  const ownersOf = new Map<FoundKind, RecordOwners>(owners);
  return found.map((one) => ({ ...one, shown: ownersOf.get(one.kind)?.named(one) ?? one.name }));
}

/** Shorter words are in almost every page of the documentation. */
const WORD_MIN_LENGTH = 3;
const DOCUMENTS_SHOWN = 3;
const ACTIONS_SHOWN = 6;
const EVENTS_SHOWN = 3;

async function actionHits(dependencies: SharedPageDependencies, { text, may }: Asked): Promise<Hit[]> {
  const { hasPage } = dependencies;
  const creations = creationsIn(text)
    .filter(({ page, role }) => may(role) && hasPage(page))
    .map(({ label, page }): Hit => ({ href: page, icon: 'plus', label, group: 'Actions', detail: null }));
  const named = actionsIn(text).filter(({ action }) => may(action.role) && hasPage(action.page));
  const names = [...new Set(named.map(({ name }) => name))];
  const found = await Promise.all(names.map((name) => findNamed(dependencies, name)));
  const hits = await Promise.all(
    named.flatMap(({ action, name }) =>
      (found[names.indexOf(name)] ?? [])
        .filter(({ kind }) => kind === action.kind)
        .map(async (one) =>
          (await isPossible(dependencies, action, one)) ? [{ isNamed: hasWords(one.name, name), action, one }] : [],
        ),
    ),
  );
  // What has the words in its own name comes before what only belongs to the customer with this name.
  const ordered = hits.flat().toSorted((a, b) => Number(b.isNamed) - Number(a.isNamed));
  return [...creations, ...ordered.map(({ action, one }) => actionHit(action, one))].slice(0, ACTIONS_SHOWN);
}

/** Whether the page of the resource has the button of the action now. */
async function isPossible(
  { services, store }: SharedPageDependencies,
  { button }: Action,
  { id, state }: Named,
): Promise<boolean> {
  switch (button) {
    case 'start':
    case 'stop':
      return state !== null && isRunnable(state) === (button === 'stop');
    case 'test':
      return (await services.webhooks.get(id)).mode === 'push';
    case 'enable':
    case 'disable':
      return switchOf(await services.endpoints.get(id)) === button;
    case 'open':
      return (await store.customers.get(id))?.active === true;
    default:
      return true;
  }
}

function actionHit({ label, page, query = '' }: Action, { kind, id, name, shown }: Named): Hit {
  const href = `${page}${query}`.replace('{id}', id).replace('{name}', encodeURIComponent(name));
  return {
    href,
    icon: KINDS[kind].icon,
    label: label(shown),
    group: 'Actions',
    aside: KINDS[kind].label,
    detail: null,
  };
}

/** One hit for the deliveries of all events with the value or the subject. */
function deliveriesHit(text: string, event: FoundEvent | null, delivery: Delivery | null, now: number): Hit[] {
  if (event === null && delivery === null) return [];
  const detail =
    event === null
      ? `by subject, newest: ${relativeText((delivery?.createdAt ?? now) - now)}`
      : `${event.path} of ${event.type}, ${relativeText(event.createdAt - now)}`;
  const href = `/deliveries?${new URLSearchParams({ q: valueText(text) })}`;
  return [{ href, icon: 'delivery', label: `Deliveries with ${text}`, group: 'Deliveries', detail }];
}

/** The deliveries with the ordering key. */
async function keyHit(dependencies: SharedPageDependencies, { text, now }: Asked): Promise<Hit[]> {
  const newest = await newestOf(dependencies, { orderingKey: text });
  if (newest === null) return [];
  const href = `/deliveries?${new URLSearchParams({ orderingKey: text })}`;
  const detail = `newest: ${relativeText(newest.createdAt - now)}`;
  const label = `Deliveries with the ordering key ${text}`;
  return [{ href, icon: 'delivery', label, group: 'Deliveries', detail }];
}

/** The newest delivery with a subject or an ordering key. */
async function newestOf(
  { store, hasPage }: SharedPageDependencies,
  filter: Pick<DeliveryFilter, 'subject' | 'orderingKey'>,
): Promise<Delivery | null> {
  if (!hasPage('/deliveries')) return null;
  return (await store.deliveries.list(filter, null, 1)).items[0] ?? null;
}

/** The page of an event also tells why webhooks did not get it. It has no deliveries if none did. */
function eventHit({ id, type, path, createdAt }: FoundEvent, now: number): Hit {
  const detail = `who got it, and why others did not: ${path}, ${relativeText(createdAt - now)}`;
  return { href: `${EVENTS_PATH}/${id}`, icon: 'event', label: type, group: 'Events', detail };
}

function documentHit({ file, title, section }: FoundSection): Hit {
  const { anchor, heading } = section;
  const href = `/docs/${file}${anchor === null ? '' : `#${anchor}`}`;
  const isWhole = heading === '' || heading === title;
  return {
    href,
    icon: 'book',
    label: isWhole ? title : heading,
    group: 'Documentation',
    detail: isWhole ? null : title,
  };
}

type Hit = {
  readonly href: string;
  readonly icon: IconName;
  readonly label: string;
  /** The heading that it stands below. */
  readonly group: string;
  /** At the right: what it belongs to, in a word or two. */
  readonly aside?: string | Html;
  readonly detail: string | null;
};

type Kind = { readonly path: string; readonly label: string; readonly group: string; readonly icon: IconName };

const KINDS: Readonly<Record<FoundKind, Kind>> = {
  customer: { path: '/customers', label: 'Customer', group: 'Customers', icon: 'customer' },
  webhook: { path: '/webhooks', label: 'Webhook', group: 'Webhooks', icon: 'webhook' },
  endpoint: { path: '/endpoints', label: 'Endpoint', group: 'Endpoints', icon: 'endpoint' },
  'event-type': { path: '/event-types', label: 'Event type', group: 'Event types', icon: 'event' },
  application: { path: '/applications', label: 'Application', group: 'Applications', icon: 'application' },
  user: { path: '/users', label: 'User', group: 'Users', icon: 'user' },
  product: { path: '/products', label: 'API product', group: 'API products', icon: 'product' },
  key: { path: '/keys', label: 'Key', group: 'Keys', icon: 'key' },
};

/** The kinds that belong to customers, by their tables. */
const OWNED: readonly { readonly kind: FoundKind; readonly table: OwnedTable }[] = [
  { kind: 'webhook', table: 'webhook' },
  { kind: 'endpoint', table: 'endpoint' },
  { kind: 'application', table: 'application' },
  { kind: 'user', table: 'user_account' },
  { kind: 'key', table: 'pgp_key' },
];

function hitOf({ kind, id, shown: name, detail, state }: Named): Hit {
  const { path, group, icon: shape } = KINDS[kind];
  const about = kind === 'webhook' ? (JSON.parse(detail ?? '[]') as string[]).join(', ') : detail;
  return {
    href: `${path}/${id}`,
    icon: shape,
    label: name,
    group,
    detail: about,
    ...(state !== null && { aside: stateBadge(state) }),
  };
}

/** Pages by their names and other words, which customers do not read, and deliveries by an id: of one, an event, an attempt or a batch. */
function placesOf({ navigation, hasPage, store }: SharedPageDependencies, text: string, mayCreate: boolean): Hit[] {
  const needle = text.toLowerCase();
  const items: Hit[] = navigation()
    .flatMap((group) => group.items)
    .flatMap(({ path, label, icon: shape }) => {
      const page = { href: path, icon: shape, label, group: 'Pages', detail: null };
      const isNamed = label.toLowerCase().includes(needle);
      const others = otherWords(text)
        .filter((one) => one.page === path && !(isNamed && one.field === undefined))
        .map((one) => ({
          ...page,
          href: pathOf(one, mayCreate),
          ...(one.field !== undefined && { label: one.field.label, aside: `Field of ${label}` }),
          detail: store.customerId === null ? one.word : null,
        }));
      return isNamed ? [page, ...others] : others;
    });
  if (!isUuidV7(needle) || !hasPage('/deliveries')) return items;
  const href = `/deliveries?${new URLSearchParams({ q: needle })}`;
  return [...items, { href, icon: 'delivery', label: 'Deliveries with this id', group: 'Deliveries', detail: needle }];
}

function resultList(text: string | null, hits: readonly Hit[]): Html {
  if (hits.length === 0 && text === null)
    return html`<p class="search-note">Enter a name, an id, a value of an event, or an action.</p>`;
  if (hits.length === 0)
    return html`<p class="search-note" role="status" data-searched="${text}">Nothing found for “${text}”.</p>`;
  const words = (text ?? '').split(/\s+/);
  const groups = [...Map.groupBy(hits, ({ group }) => group)].map(
    ([name, members]) => html`
      <section class="search-group" aria-label="${name}">
        <h2 class="search-group-name">${name}</h2>
        <ul>${members.map((hit) => hitItem(hit, words))}</ul>
      </section>
    `,
  );
  return html`<div class="search-hits" data-searched="${text ?? ''}">${groups}</div>`;
}

/** An action is found by what it does, not only by these words. */
function hitItem({ href, icon: shape, label, group, aside, detail }: Hit, asked: readonly string[]): Html {
  const words = group === 'Actions' ? [] : asked;
  return html`
    <li>
      <a href="${href}">
        ${icon(shape)}
        <span class="search-name">${marked(label, words)}</span>
        ${aside === undefined ? null : html`<span class="search-aside">${aside}</span>`}
        ${detail === null || detail === '' ? null : html`<span class="search-detail">${marked(detail, words)}</span>`}
      </a>
    </li>
  `;
}

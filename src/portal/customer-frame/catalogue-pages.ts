/** The event catalogue in a customer's portal: the public event types by group, each with its sample, its schema and what arrives. */
import type { EventType } from '../../domain/event.ts';
import { eventCatalogue } from '../../events/catalogue.ts';
import { type Html, html } from '../../http/html.ts';
import { Refusal } from '../../kernel/refusal.ts';
import { NO_USES, type Uses } from '../../store/port/directory.ts';
import { GUIDE_PATH } from '../endpoints/guide-text.ts';
import { CATALOGUE_PATH, catalogueDownloads } from '../event-types/event-catalogue-pages.ts';
import { eventTypeBadges, listBadges, SUBSCRIBING } from '../event-types/event-type-pages.ts';
import { groupsOf } from '../event-types/type-groups.ts';
import { eventTypeSections } from '../event-types/type-sections.ts';
import { addressFor } from '../frame/browser.ts';
import { type PageCall, pathId, redirectTo, type View } from '../frame/call.ts';
import type { PageRoute, SharedPageDependencies } from '../frame/page.ts';
import { fits, readText } from '../frame/query.ts';
import { newForm, textField } from '../parts/fields.ts';
import { linkButton, pageHeader, section } from '../parts/header.ts';
import { emptyState, folded, listView, nothingFound, table, withQuery } from '../parts/list.ts';
import { usesList } from '../record/record-pages.ts';
import { sendSampleSection } from '../webhooks/sample-events.ts';

const PATH = '/event-types';
const TITLE = 'Event catalogue';

export function customerCataloguePages(dependencies: SharedPageDependencies<'customers'>): PageRoute<'customers'>[] {
  const { pages, services, store } = dependencies;
  const usesOf = (names: readonly string[]) => store.uses.ofEventTypes(names, store.customerId);
  return [
    pages.view(PATH, 'customers', async (call) => {
      const { query } = call;
      const text = readText(query, 'q');
      const all = eventCatalogue(await store.eventTypes.offered(), 'public');
      const shown = all.filter(({ name, description }) => fits(text, name, description));
      const uses = await usesOf(shown.map(({ name }) => name));
      const results = html`
        ${groupsOf(shown, all, text !== null).map(({ title, types, fold }) => {
          const content = html`<div class="catalogue-group">${groupTable(title, types, uses)}</div>`;
          return fold === null ? section({ title, isPlain: true, content }) : folded({ title, ...fold, content });
        })}
        ${shown.length > 0 ? null : all.length === 0 ? NOTHING_YET : nothingFound(PATH, 'event types')}
        ${all.length === 0 ? null : catalogueDownloads(`${GUIDE_PATH}#programs`)}
      `;
      return listView({
        title: TITLE,
        lead: html`The events you can subscribe to. ${SUBSCRIBING}`,
        path: PATH,
        query,
        filters: all.length === 0 ? [] : [textField(newForm({ q: text }), FILTER)],
        results,
      });
    }),
    // Links to the public catalogue stay in the portal, with its menu.
    pages.view(CATALOGUE_PATH, 'customers', async ({ query }) => redirectTo(withQuery(PATH, query, {}))),
    pages.view(`${CATALOGUE_PATH}/{name}`, 'customers', async ({ params }) => {
      const offered = eventCatalogue(await store.eventTypes.offered(), 'public');
      const eventType = offered.find(({ name }) => name === params.name);
      if (eventType === undefined) throw new Refusal('not_found', 'there is no such event type');
      return redirectTo(`${PATH}/${eventType.id}`);
    }),
    pages.view(`${PATH}/{id}`, 'customers', async (call) => {
      const eventType = await services.eventTypes.get(pathId(call));
      const uses = (await usesOf([eventType.name])).get(eventType.name) ?? NO_USES;
      return eventTypeView(call, eventType, uses, dependencies.publicUrl());
    }),
  ];
}

const FILTER = { name: 'q', label: 'Name or description', type: 'search' } as const;

const NOTHING_YET = emptyState({
  title: 'Nothing is published yet',
  text: 'The types of events will be listed here.',
});

function groupTable(caption: string, types: readonly EventType[], uses: ReadonlyMap<string, Uses>): Html {
  return table({
    caption,
    columns: [
      { label: 'Event', kind: 'main' },
      { label: 'Your webhooks that get it', phone: 'named' },
    ],
    rows: types.map((eventType) => [
      html`
        <a href="${PATH}/${eventType.id}"><code>${eventType.name}</code></a>
        <span class="badges">${listBadges(eventType)}</span>
        ${eventType.description === '' ? null : html`<span class="cell-hint">${eventType.description}</span>`}
      `,
      usesList(uses.get(eventType.name) ?? NO_USES, '/webhooks', { isFiltered: true }),
    ]),
  });
}

function eventTypeView(call: PageCall, eventType: EventType, uses: Uses, publicUrl: string | null): View {
  const { name, description } = eventType;
  const address = addressFor(call.request, publicUrl);
  const subscribe = linkButton({
    href: `/webhooks/new?${new URLSearchParams({ event: name })}`,
    label: uses.count === 0 ? 'Subscribe to it' : 'New webhook with this event',
    kind: uses.count === 0 ? 'primary' : 'plain',
    icon: 'plus',
  });
  const warnings = [
    ...(eventType.deprecated ? ['It is deprecated: it is still sent, but do not build on it any more.'] : []),
    ...(eventType.encryptionRequired ? ['A webhook that receives it needs one of your PGP keys.'] : []),
  ];
  const trial =
    eventType.sample !== null && uses.first.length > 0 && call.may('operator')
      ? sendSampleSection(call.csrf, eventType, uses.first)
      : null;
  const content = html`
    ${pageHeader({
      title: name,
      crumbs: [{ href: PATH, label: TITLE }],
      badges: eventTypeBadges({ ...eventType, builtIn: false }),
      lead: html`
        ${[description, ...warnings].filter((text) => text !== '').map((text) => html`<p>${text}</p>`)}
        ${
          uses.count === 0
            ? html`<p>None of your webhooks gets it.</p>`
            : html`<div class="uses">Your webhooks that get it: ${usesList(uses, '/webhooks', { isFiltered: true })}</div>`
        }
      `,
      actions: call.may('administrator') ? [subscribe] : [],
    })}
    ${eventTypeSections(eventType, address, { verification: html`<a href="${GUIDE_PATH}#programs">The guide</a>`, trial })}
  `;
  return { title: name, content };
}

/** The pages of event types: the list, one type with code that publishes it, and its forms. */

import { type EventType, STATUS_CATEGORY } from '../../domain/event.ts';
import { DAY_MS } from '../../domain/usage.ts';
import { eventTypeReader } from '../../events/event-types.ts';
import { type Html, html } from '../../http/html.ts';
import { indentedJson } from '../../kernel/json-text.ts';
import { Refusal } from '../../kernel/refusal.ts';
import { NO_USES, type Uses } from '../../store/port/directory.ts';
import type { EventSample } from '../../store/port/events.ts';
import { eventTypeKey } from '../../wire/envelope.ts';
import { readHistorySection } from '../audit/record-changes.ts';
import { type PageCall, pathId, redirectTo, type View } from '../frame/call.ts';
import type { PageDependencies, PageRoute } from '../frame/page.ts';
import { fits, readText } from '../frame/query.ts';
import { codeBlock, definitionList, programPanels } from '../parts/details.ts';
import { newForm, textField } from '../parts/fields.ts';
import { linkButton, pageHeader, section } from '../parts/header.ts';
import { EVENTS_COUNTED, SAMPLE_BYTES } from '../parts/limits.ts';
import { emptyState, folded, listView, nothingFound, table } from '../parts/list.ts';
import { badge, tags } from '../parts/mark.ts';
import { countOf, countText, relativeTime, time } from '../parts/text.ts';
import { objectPatches } from '../record/json-field.ts';
import { type RecordOwners, readOwners } from '../record/owner.ts';
import { recordPages, removalPages, usesList } from '../record/record-pages.ts';
import { sendSampleSection } from '../webhooks/sample-events.ts';
import { CATALOGUE_PATH } from './event-catalogue-pages.ts';
import { eventTypeFields, eventTypeLayout } from './event-type-fields.ts';
import { PUBLISH_PATH } from './publish-pages.ts';
import { groupedTables } from './type-groups.ts';
import { lossText, removal, volumeText, webhooksOf } from './type-removal.ts';
import { fieldsSection, sampleSection, sectionLinks, typesSection } from './type-sections.ts';
import { visibilityOf, visibilityPages } from './type-visibility.ts';

export function eventTypePages(dependencies: PageDependencies): PageRoute<'operator'>[] {
  const { pages, services, store } = dependencies;
  const { eventTypes } = services;
  const found = (call: PageCall): Promise<EventType> => eventTypes.get(pathId(call));
  const namingOf = async (name: string): Promise<Uses | null> => {
    const naming = (await store.uses.ofPatterns([name])).get(name);
    if (naming === undefined) return null;
    const { named } = await readOwners(store, 'webhook', idsOf(naming.first));
    return { ...naming, first: naming.first.map((webhook) => ({ ...webhook, name: named(webhook) })) };
  };
  const entity = {
    for: 'operator' as const,
    list: { href: '/event-types', label: 'Event types' },
    noun: 'event type',
    nameOf: ({ name }: EventType) => name,
    administration: eventTypes,
  };
  return [
    eventTypeListPage(dependencies),
    ...visibilityPages(dependencies),
    ...recordPages(pages, {
      ...entity,
      reader: eventTypeReader,
      choices: async () => null,
      fields: eventTypeFields,
      layout: eventTypeLayout,
      adjust: (body, before) => (before === null ? body : objectPatches(body, before, ['dataSchema', 'sample'])),
      shown: (eventType) => {
        if (eventType.builtIn)
          throw new Refusal('read_only', `the event type ${eventType.name} is built in and stays as it is`);
        return eventType;
      },
      creation: {
        title: 'New event type',
        submit: 'Create the event type',
        respond: async ({ acting }, input) => {
          const { id, name } = await eventTypes.create(input, acting);
          return redirectTo(
            `/event-types/${id}`,
            `${name} is created. You can publish it, and webhooks can subscribe to it.`,
          );
        },
      },
      change: {},
    }),
    pages.view('/event-types/{id}', 'operator', async (call) => {
      const eventType = await found(call);
      const uses = (await store.uses.ofEventTypes([eventType.name], store.customerId)).get(eventType.name) ?? NO_USES;
      const { name } = eventType;
      const [sample, volumes] = await Promise.all([
        store.eventTypes.latestSample(name, SAMPLE_BYTES),
        store.eventTypes.volumes([name], call.now - DAY_MS, EVENTS_COUNTED + 1),
      ]);
      const owners = await readOwners(store, 'webhook', idsOf(uses.first));
      const isOffered = (await store.eventTypes.offered()).some(({ id }) => id === eventType.id);
      const naming = manages(call, eventType) ? await namingOf(name) : null;
      const history = await readHistorySection(dependencies, call, {
        target: `event-type:${eventType.id}`,
        createdAt: eventType.createdAt,
        lead: 'Changes of its description, schema, sample and settings, newest first.',
      });
      return eventTypeView(call, {
        eventType,
        isOffered,
        uses,
        naming,
        owners,
        sample,
        history,
        volume: volumes.get(name) ?? 0,
      });
    }),
    ...removalPages(pages, entity, {
      text: async (call, { name }) => {
        const [volumes, uses] = await Promise.all([
          store.eventTypes.volumes([name], call.now - DAY_MS, EVENTS_COUNTED + 1),
          store.uses.ofEventTypes([name], store.customerId),
        ]);
        return lossText(volumes.get(name) ?? 0, uses.get(name)?.count ?? 0);
      },
      // Only webhooks that name the type prevent its deletion. A category works without it.
      uses: ({ name }) => namingOf(name),
      used: {
        all: ({ name }) => webhooksOf(name),
        remedy: (count) => `Remove it from the events of ${count === 1 ? 'the webhook' : 'these webhooks'} first.`,
      },
    }),
  ];
}

function idsOf(records: readonly { readonly id: string }[]): string[] {
  return records.map(({ id }) => id);
}

type Shown = {
  readonly eventType: EventType;
  readonly uses: Uses;
  /** The webhooks that name it, which keep it from being deleted; null for none, and for users who cannot delete it. */
  readonly naming: Uses | null;
  /** Whether the event catalogue has it. */
  readonly isOffered: boolean;
  /** Of the webhooks that `uses` names. */
  readonly owners: RecordOwners;
  readonly sample: EventSample | null;
  readonly history: Html;
  /** Events of the last 24 hours, counted up to `EVENTS_COUNTED`. */
  readonly volume: number;
};

function eventTypeView(call: PageCall, shown: Shown): View {
  const { eventType, uses, naming, owners, sample, history } = shown;
  const { id, name, description, builtIn } = eventType;
  const isManaged = manages(call, eventType);
  const isTested = call.may('operator') && eventType.sample !== null && uses.count > 0;
  const content = html`
    ${pageHeader({
      title: name,
      crumbs: [{ href: '/event-types', label: 'Event types' }],
      badges: eventTypeBadges(eventType),
      lead: description === '' ? undefined : description,
      actions: [
        isManaged ? linkButton({ href: `/event-types/${id}/edit`, label: 'Change', icon: 'edit' }) : null,
        call.may('operator') && !name.startsWith(STATUS_CATEGORY)
          ? linkButton({ href: `${PUBLISH_PATH}?type=${name}`, label: 'Publish an event', icon: 'send' })
          : null,
      ],
    })}
    ${sectionLinks(eventType, { isTested, isManaged })}
    ${useSection(call, shown)}
    <div class="columns columns-even">
      ${sampleSection(eventType, null, isManaged ? sampleRemedy(id) : null)}
      ${latestSection(call, eventType, sample)}
    </div>
    ${fieldsSection(eventType)}
    ${isTested ? sendSampleSection(call.csrf, eventType, uses.first, owners) : null}
    ${builtIn ? null : publishing(eventType)}
    ${typesSection(eventType)}
    ${builtIn ? null : history}
    ${isManaged ? removal(eventType, naming) : null}
  `;
  return { title: name, content };
}

function useSection(call: PageCall, { eventType, isOffered, uses, owners, volume }: Shown): Html {
  const { name, builtIn, searchPaths, createdAt, updatedAt } = eventType;
  return section({
    title: 'Use',
    id: 'use',
    content: definitionList([
      ['Last 24 hours', html`${volumeText(volume)} · ${deliveryLinks(name, uses)}`],
      [
        'Webhooks',
        usesList(uses, webhooksOf(name), {
          owners,
          none: 'None yet: published events are not sent.',
          isFiltered: true,
        }),
        'Including webhooks that get every event, or all that begin the same.',
      ],
      ['Event catalogue', visibilityOf(call, eventType, isOffered)],
      ...(searchPaths.length === 0
        ? []
        : [['Found by', tags(searchPaths), 'In Deliveries and by Ctrl K, some seconds after publishing.'] as const]),
      ...(builtIn ? [] : [['Created', time(createdAt)] as const, ['Changed', time(updatedAt)] as const]),
    ]),
  });
}

/** Whether the user may change and delete it. */
function manages(call: PageCall, { builtIn }: EventType): boolean {
  return call.may('administrator') && !builtIn;
}

/** Where its deliveries are. The live list is of a webhook, not of a type. */
function deliveryLinks(name: string, { count, first: [only] }: Uses): Html {
  const deliveries = `/deliveries?${new URLSearchParams({ q: `type:${name}` })}`;
  const watch =
    count === 1 && only !== undefined
      ? html`<a href="/deliveries/watch?webhook=${only.id}">Watch ${only.name} live</a>`
      : html`<a href="/deliveries/watch">Live, with all types</a>`;
  return html`<a href="${deliveries}">Deliveries</a> · ${watch}`;
}

function sampleRemedy(id: string): Html {
  return html`<a href="${PATH}/${id}/edit#field-sample">Add one</a>, so that receivers see it, and you can send it as a test.`;
}

function latestSection({ now }: PageCall, { encryptionRequired }: EventType, latest: EventSample | null): Html {
  const content = encryptionRequired
    ? html`<p class="quiet">Its events must be encrypted, so no data is shown here.</p>`
    : latest === null
      ? html`<p class="quiet">No event with data yet.</p>`
      : codeBlock({ code: indentedJson(latest.dataJson), label: 'Data of the latest event' });
  const lead = latest === null ? undefined : html`Published ${relativeTime(latest.createdAt, now)}.`;
  return section({ title: 'Latest event', id: 'latest', lead, content });
}

function publishing({ name, sample }: EventType): Html {
  // In single quotes a shell changes nothing but a single quote.
  const data = sample === null ? '{…}' : JSON.stringify(sample).replaceAll("'", String.raw`'\''`);
  const ways = programPanels(`Publish ${name}`, [
    { label: 'Command line', code: `sallyport event publish ${name} '${data}'` },
    {
      label: 'HTTP',
      code:
        `curl https://…/services/api/x/edge/v1/events \\\n  -H 'Authorization: Bearer spt_…' -H 'Content-Type: ` +
        `application/json' \\\n  -d '{"type": "${name}", "data": ${data}, "idempotencyKey": "…"}'`,
    },
  ]);
  return section({
    title: 'Publish it',
    id: 'publish',
    content: html`<div class="stack">${ways}${sample === null ? arrives(name) : null}</div>`,
  });
}

/** A record without its data, for a type without a sample. */
function arrives(name: string): Html {
  const code = `"headers": {"messageId": "…", "eventType": "${name}", …},\n"${eventTypeKey(name)}": { … }`;
  return codeBlock({ code, label: 'In each record at the receiver' });
}

const PATH = '/event-types';

/** All on one page, because there are few. The company's own types come first. */
function eventTypeListPage({ pages, store }: PageDependencies): PageRoute<'operator'> {
  return pages.view(PATH, 'operator', async (call) => {
    const { query, now } = call;
    const text = readText(query, 'q');
    const all = await store.eventTypes.all();
    const shown = all.filter(({ name, description }) => fits(text, name, description)).sort(byName);
    const names = shown.map(({ name }) => name);
    const [uses, volumes] = await Promise.all([
      store.uses.ofEventTypes(names, store.customerId),
      store.eventTypes.volumes(names, now - DAY_MS, EVENTS_COUNTED + 1),
    ]);
    const named = [...uses.values()].flatMap(({ first }) => idsOf(first));
    const owners = await readOwners(store, 'webhook', named);
    const own = shown.filter(({ builtIn }) => !builtIn);
    const builtIn = shown.filter((eventType) => eventType.builtIn);
    const hasOwn = all.some((eventType) => !eventType.builtIn);
    const tableOf = (caption: string, types: readonly EventType[]): Html =>
      listTable(caption, types, uses, volumes, owners);
    const results = html`
      ${groupedTables(own, tableOf)}
      ${
        builtIn.length === 0
          ? null
          : folded({
              title: 'Built-in event types',
              note: 'employees, and the webhooks themselves',
              content: tableOf('Built-in event types', builtIn),
              isOpen: !hasOwn || (text !== null && own.length === 0),
            })
      }
      ${shown.length === 0 ? nothingFound(PATH, 'event types') : null}
    `;
    return listView({
      title: 'Event types',
      lead: html`The kinds of events that you publish. ${SUBSCRIBING}`,
      actions: [
        linkButton({ href: CATALOGUE_PATH, label: 'Event catalogue', icon: 'book' }),
        call.may('operator') && hasOwn
          ? linkButton({ href: PUBLISH_PATH, label: 'Publish an event', icon: 'send' })
          : null,
        call.may('administrator') && hasOwn ? newButton() : null,
      ],
      path: PATH,
      query,
      above: hasOwn ? null : firstEventType(call),
      filters: [textField(newForm({ q: text }), { name: 'q', label: 'Name or description', type: 'search' })],
      results,
    });
  });
}

/** The company's own types first. */
function byName(a: EventType, b: EventType): number {
  return Number(a.builtIn) - Number(b.builtIn) || (a.name < b.name ? -1 : 1);
}

function listTable(
  caption: string,
  eventTypes: readonly EventType[],
  uses: ReadonlyMap<string, Uses>,
  volumes: ReadonlyMap<string, number>,
  owners: RecordOwners,
): Html {
  const shown = table({
    caption,
    columns: [
      { label: 'Name', kind: 'main' },
      { label: 'Events, 24 h', kind: 'number', phone: 'named' },
      { label: 'Webhooks that get it', phone: 'plain' },
    ],
    rows: eventTypes.map((eventType) => {
      const { id, name, description } = eventType;
      const volume = volumes.get(name) ?? 0;
      return [
        html`
          <a href="${PATH}/${id}"><code>${name}</code></a>
          <span class="badges">${listBadges(eventType)}</span>
          ${description === '' ? null : html`<span class="cell-hint">${description}</span>`}
        `,
        volume === 0
          ? html`<span class="quiet">0</span>`
          : `${countText(Math.min(volume, EVENTS_COUNTED))}${volume > EVENTS_COUNTED ? '+' : ''}`,
        receivers(uses.get(name) ?? NO_USES, webhooksOf(name), owners),
      ];
    }),
  });
  return html`<div class="type-tables">${shown}</div>`;
}

/** Webhooks that a row names; more are a number. */
const RECEIVERS_NAMED = 2;

/** The event types that a webhook subscribes to. */
export const SUBSCRIBING: Html = html`
  A webhook gets the types you choose, all that begin the same (<code>order.*</code>), or every event.
`;

function receivers(uses: Uses, all: string, owners: RecordOwners): Html {
  if (uses.count <= RECEIVERS_NAMED) return usesList(uses, all, { owners, isFiltered: true });
  return html`<a href="${all}">${countOf(uses.count, 'webhook')}</a>`;
}

/** The badges of a type in lists. Properties that most types have are only on their pages. */
export function listBadges(eventType: EventType): Html[] {
  return eventTypeBadges({ ...eventType, builtIn: false, dataSchema: null });
}

export function eventTypeBadges(eventType: EventType): Html[] {
  const { builtIn, encryptionRequired, dataSchema, deprecated, public: isPublic } = eventType;
  return [
    ...(builtIn ? [badge('neutral', 'built in')] : []),
    ...(deprecated ? [badge('caution', 'deprecated')] : []),
    ...(isPublic ? [] : [badge('neutral', 'internal')]),
    ...(encryptionRequired ? [badge('info', 'encrypted only', 'key')] : []),
    ...(dataSchema === null ? [] : [badge('info', 'checked against its schema', 'check')]),
  ];
}

function firstEventType(call: PageCall): Html {
  return emptyState({
    title: 'Create your first event type',
    text: html`
      <p>
        Name it in two words with a dot, for example <code>order.created</code>. A webhook can subscribe to it, or
        to all of <code>order.*</code>. Its page has the commands that publish it.
      </p>
    `,
    action: call.may('administrator') ? newButton() : null,
  });
}

function newButton(): Html {
  return linkButton({ href: `${PATH}/new`, label: 'New event type', kind: 'primary', icon: 'plus' });
}

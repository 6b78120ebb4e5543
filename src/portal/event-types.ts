/** The pages of event types: the list, one type with code that publishes it, and its forms. */
import type { EventType } from '../events/event.ts';
import { eventTypeReader } from '../events/event-types.ts';
import { type Html, html } from '../http/html.ts';
import { JSON_DEPTH_MAX } from '../kernel/limits/limits.ts';
import { Refusal, refuseField } from '../kernel/refusal.ts';
import { isDeeperThan, isObject } from '../kernel/validation.ts';
import { NO_USES, type Uses } from '../store/directory.ts';
import { eventTypeKey } from '../wire/envelope.ts';
import { type PageCall, pathId, redirectTo, type View } from './call.ts';
import { type Body, type FieldTable, lines, linesOf, text, tick } from './field-table.ts';
import type { PageDependencies, PageRoute } from './page.ts';
import { codeBlock, codePanels, definitionList } from './parts/details.ts';
import { newForm, textField } from './parts/fields.ts';
import { linkButton, pageHeader, section } from './parts/header.ts';
import { listView, nothingFound, table } from './parts/list.ts';
import { badge, notice } from './parts/mark.ts';
import { time } from './parts/text.ts';
import { readText } from './query.ts';
import { recordPages, removalPages, usesList } from './record-pages.ts';

const LIST = { href: '/event-types', label: 'Event types' };

export function eventTypePages(dependencies: PageDependencies): PageRoute[] {
  const { pages, services, store } = dependencies;
  const { eventTypes } = services;
  const found = (call: PageCall): Promise<EventType> => eventTypes.get(pathId(call));
  const entity = {
    list: LIST,
    noun: 'event type',
    nameOf: ({ name }: EventType) => name,
    administration: eventTypes,
  };
  return [
    eventTypeListPage(dependencies),
    ...recordPages(pages, {
      ...entity,
      reader: eventTypeReader,
      choices: async () => null,
      fields: eventTypeFields,
      layout: ({ group }) =>
        html`${group('What happens', null, 'name', 'description')}${group('Rules', null, 'encryptionRequired', 'dataSchema')}`,
      adjust: (body, before) => (before === null ? body : { ...body, dataSchema: schemaPatch(before, body) }),
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
          return redirectTo(`/event-types/${id}`, `${name} can be published and subscribed to now.`);
        },
      },
      change: {},
    }),
    pages.view('/event-types/{id}', async (call) => {
      const eventType = await found(call);
      const uses = (await store.uses.ofEventTypes([eventType.name])).get(eventType.name) ?? NO_USES;
      return eventTypeView(call, eventType, uses);
    }),
    ...removalPages(pages, entity, {
      text: () =>
        'Nothing can be published under this name any more. What was published stays, and is still delivered.',
      // Only webhooks that name the type prevent its deletion. A category works without it.
      uses: async ({ name }) => {
        const naming = (await store.webhooks.ofPattern(name)).map((webhook) => ({ ...webhook, ...webhook.progress }));
        return naming.length === 0 ? null : { count: naming.length, first: naming };
      },
      used: { all: () => '/webhooks', remedy: 'Take it out of their events first.' },
    }),
  ];
}

function eventTypeView(call: PageCall, eventType: EventType, uses: Uses): View {
  const { id, name, description, builtIn, dataSchema, createdAt, updatedAt } = eventType;
  const manages = call.may('administrator') && !builtIn;
  const content = html`${pageHeader({
    title: name,
    crumbs: [LIST],
    badges: eventTypeBadges(eventType),
    lead: description === '' ? undefined : description,
    actions: manages
      ? [
          linkButton({ href: `/event-types/${id}/delete`, label: 'Delete', icon: 'trash' }),
          linkButton({ href: `/event-types/${id}/edit`, label: 'Change', icon: 'edit' }),
        ]
      : [],
  })}${section({
    title: 'Who gets it',
    content: definitionList([
      [
        'Webhooks',
        usesList(uses, '/webhooks', 'None yet: what is published goes nowhere.'),
        'Those with its category or with all events are among them.',
      ],
      ...(builtIn ? [] : [['Created', time(createdAt)] as const, ['Changed', time(updatedAt)] as const]),
    ]),
  })}${name.startsWith('webhook.') ? null : publishing(eventType)}${
    dataSchema === null
      ? null
      : section({
          title: 'What its data must be',
          content: codeBlock({ code: JSON.stringify(dataSchema, null, 2), label: 'JSON Schema' }),
        })
  }`;
  return { title: name, content };
}

function publishing({ name, builtIn }: EventType): Html {
  const arrives = `"headers": {"messageId": "…", "eventType": "${name}", …},\n"${eventTypeKey(name)}": { … }`;
  const ways = codePanels(`Publish ${name}`, [
    { label: 'Command line', code: `sallyport event publish ${name} '{…}'` },
    {
      label: 'HTTP',
      code: `curl https://…/services/api/x/edge/v1/events \\\n  -H 'Authorization: Bearer spt_…' -H 'Content-Type: application/json' \\\n  -d '{"type": "${name}", "data": {…}, "idempotencyKey": "…"}'`,
    },
  ]);
  return section({
    title: builtIn ? 'How it arrives' : 'How it is published, and arrives',
    content: html`<div class="stack">${builtIn ? null : ways}${codeBlock({ code: arrives, label: 'In each record at the receiver' })}</div>`,
  });
}

const PATH = '/event-types';

/** All on one page, because there are few. */
function eventTypeListPage({ pages, store }: PageDependencies): PageRoute {
  return pages.view(PATH, async (call) => {
    const { query } = call;
    const text = readText(query, 'q');
    const all = await store.eventTypes.all();
    const shown = all.filter(({ name, description }) => fits(text, name, description)).sort(byName);
    const uses = await store.uses.ofEventTypes(shown.map(({ name }) => name));
    return listView({
      title: 'Event types',
      lead: 'The kinds of things that happen. A webhook subscribes to them by name, by category, or to all.',
      actions: [call.may('administrator') ? newButton() : null],
      ...{ path: PATH, query },
      above: all.every(({ builtIn }) => builtIn) ? firstEventType() : null,
      filters: [textField(newForm({ q: text }), { name: 'q', label: 'Name or description', type: 'search' })],
      results: listTable(shown, uses),
    });
  });
}

function fits(text: string | null, ...fields: readonly string[]): boolean {
  return text === null || fields.some((field) => field.toLowerCase().includes(text.toLowerCase()));
}

/** Custom types first, then the built-in ones. */
function byName(a: EventType, b: EventType): number {
  return Number(a.builtIn) - Number(b.builtIn) || (a.name < b.name ? -1 : 1);
}

function listTable(eventTypes: readonly EventType[], uses: ReadonlyMap<string, Uses>): Html {
  return table({
    caption: 'Event types',
    columns: [{ label: 'Name', kind: 'main' }, { label: 'Rules' }, { label: 'Webhooks that get it' }],
    rows: eventTypes.map((eventType) => [
      html`<a href="${PATH}/${eventType.id}"><code>${eventType.name}</code></a>${eventType.description === '' ? null : html`<span class="cell-hint">${eventType.description}</span>`}`,
      html`<span class="badges">${eventTypeBadges(eventType)}</span>`,
      usesList(uses.get(eventType.name) ?? NO_USES, '/webhooks'),
    ]),
    empty: nothingFound(PATH, 'event types'),
  });
}

function eventTypeBadges({ builtIn, encryptionRequired, dataSchema }: EventType): Html[] {
  return [
    ...(builtIn ? [badge('neutral', 'built in')] : []),
    ...(encryptionRequired ? [badge('info', 'encrypted only', 'key')] : []),
    ...(dataSchema === null ? [] : [badge('info', 'checked by a schema', 'check')]),
  ];
}

function firstEventType(): Html {
  return notice({
    tone: 'info',
    title: 'These are built in. What happens in your product?',
    text: html`<p>Name it as <code>category.name</code>, such as <code>order.created</code>: a webhook can then take <code>order.*</code> as a whole. Publish with <code>POST /services/api/x/edge/v1/events</code>, or with <code>sallyport event publish</code>.</p>`,
  });
}

function newButton(): Html {
  return linkButton({ href: `${PATH}/new`, label: 'New event type', kind: 'primary', icon: 'plus' });
}

type Schema = Readonly<Body> | null;

export function eventTypeFields(before: EventType | null): FieldTable {
  return {
    ...(before === null && {
      name: text({
        label: 'Name',
        isRequired: true,
        isCode: true,
        placeholder: 'order.created',
        hint: 'category.name, in lower case. It stays: webhooks subscribe by it, and receivers tell events apart by it.',
      }),
    }),
    description: text({ label: 'Description', hint: 'One sentence: what has happened.' }),
    encryptionRequired: tick({
      label: 'Goes out encrypted or not at all',
      title: 'Encryption',
      hint: 'For what only the customer may read. Webhooks that get it need a key; every employee type is so by itself.',
    }),
    dataSchema: lines(
      {
        label: 'JSON Schema of its data',
        title: 'JSON Schema',
        isCode: true,
        rows: 12,
        placeholder: '{"type": "object", "required": ["orderId"], "properties": {"orderId": {"type": "integer"}}}',
        takesFile: '.json',
        hint: 'Version 2020-12, or draft-07 where $schema says so. An event whose data does not satisfy it is refused when it is published, with the field named.',
      },
      {
        read: (sent, name) => readSchema(linesOf(sent, name)),
        fill: (value, name) => ({ [name]: isObject(value) ? JSON.stringify(value, null, 2) : '' }),
        compare: linesOf,
      },
    ),
  };
}

/** The patch (RFC 7396) that changes the schema of `before` to the entered one. */
export function schemaPatch(before: { readonly dataSchema: Schema }, { dataSchema: entered }: Body): unknown {
  if (!isObject(entered) || before.dataSchema === null) return entered;
  if (holdsNull(entered)) {
    throw refuseField(
      'dataSchema',
      'cannot be changed to one with a member that is null: make a new event type for it',
    );
  }
  return patchBetween(before.dataSchema, entered);
}

/** The merge patch from `from` to `to`. A merge patch cannot set a member to null, so `to` must not hold one. */
export function patchBetween(from: Readonly<Body>, to: Readonly<Body>): Body {
  const removed = Object.keys(from).filter((name) => !Object.hasOwn(to, name));
  const patch = new Map<string, unknown>(removed.map((name) => [name, null]));
  for (const [name, value] of Object.entries(to)) {
    const before = Object.hasOwn(from, name) ? from[name] : undefined;
    patch.set(name, isObject(value) && isObject(before) ? patchBetween(before, value) : value);
  }
  return Object.fromEntries(patch);
}

/** Whether a member at any depth is null. Items of lists may be null, because a patch replaces whole lists. */
function holdsNull(value: unknown): boolean {
  return isObject(value) && Object.values(value).some((member) => member === null || holdsNull(member));
}

/** The body is one more level. */
const DEPTH_MAX: number = JSON_DEPTH_MAX - 1;

function readSchema(text: string | undefined): Schema | undefined {
  if (text === undefined) return undefined;
  let schema: unknown;
  try {
    schema = JSON.parse(text);
  } catch (error) {
    // The message of the parser tells the place.
    throw refuseField('dataSchema', `is not JSON: ${(error as Error).message.slice(0, 200)}`);
  }
  if (!isObject(schema)) throw refuseField('dataSchema', 'must be a JSON object');
  if (isDeeperThan(DEPTH_MAX, schema)) throw refuseField('dataSchema', `must not be nested deeper than ${DEPTH_MAX}`);
  return schema;
}

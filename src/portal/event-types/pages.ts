/** The pages of event types: the list, one type with code that publishes it, and its forms. */

import type { EventType } from '../../events/event.ts';
import { eventTypeReader } from '../../events/event-types.ts';
import { type Html, html } from '../../http/html.ts';
import { Refusal } from '../../kernel/refusal.ts';
import { NO_USES, type Uses } from '../../store/directory.ts';
import { eventTypeKey } from '../../wire/envelope.ts';
import { type PageCall, pathId, redirectTo, type View } from '../call.ts';
import type { PageDependencies } from '../dependencies.ts';
import type { PageRoute } from '../page.ts';
import { linkButton } from '../parts/button.ts';
import { codeBlock, codePanels } from '../parts/code.ts';
import { definitionList } from '../parts/details.ts';
import { pageHeader, section } from '../parts/header.ts';
import { time } from '../parts/time.ts';
import { recordPages, removalPages } from '../record-pages.ts';
import { usesList } from '../webhooks/uses.ts';
import { eventTypeFields, schemaPatch } from './form.ts';
import { eventTypeBadges, eventTypeListPage } from './list.ts';

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
    { label: 'Command line', code: `echo '{…}' | sallyport event publish --type ${name} --data -` },
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

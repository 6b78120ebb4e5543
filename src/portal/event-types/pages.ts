/** The pages of event types: the list, one of them with how it is published and arrives, and its forms. */

import type { EventType } from '../../events/event-type.ts';
import { eventTypeReader } from '../../events/event-types.ts';
import { type Html, html } from '../../http/html.ts';
import { Refusal } from '../../kernel/refusal.ts';
import { NO_USES, type Uses } from '../../store/uses.ts';
import { eventTypeKey } from '../../wire/envelope.ts';
import { type PageCall, pathId, redirectTo, type View } from '../call.ts';
import type { PageDependencies } from '../dependencies.ts';
import type { PageRoute } from '../page.ts';
import { attempted } from '../parts/attempted.ts';
import { linkButton } from '../parts/button.ts';
import { checkbox } from '../parts/choices.ts';
import { codeBlock, codePanels } from '../parts/code.ts';
import { confirmPage } from '../parts/confirm.ts';
import { definitionList } from '../parts/details.ts';
import { textArea, textField } from '../parts/fields.ts';
import { fieldGroup, form } from '../parts/form.ts';
import { type FormState, newForm, refusedForm } from '../parts/form-state.ts';
import { pageHeader, section } from '../parts/header.ts';
import { time } from '../parts/time.ts';
import { recordForm } from '../record-form.ts';
import { stillUsedView, usesList } from '../webhooks/uses.ts';
import { comparedEventType, eventTypeBody, eventTypePatchOf } from './input.ts';
import { eventTypeBadges, eventTypeListPage } from './list.ts';

const LIST = { href: '/event-types', label: 'Event types' };

export function eventTypePages(dependencies: PageDependencies): PageRoute[] {
  const { pages, services, store } = dependencies;
  const { eventTypes } = services;
  const found = (call: PageCall): Promise<EventType> => eventTypes.get(pathId(call));
  return [
    eventTypeListPage(dependencies),
    ...pages.form('/event-types/new', {
      show: async (call) => formView(call, newForm(), null),
      respond: async (call) => {
        const body = { name: call.form.get('name')?.trim() ?? '', ...eventTypeBody(call.form) };
        const { id, name } = await eventTypes.create(eventTypeReader.create(body), call.acting);
        return redirectTo(`/event-types/${id}`, `${name} can be published and subscribed to now.`);
      },
      invalid: async (call, refusal) => formView(call, refusedForm(call.form, refusal), null),
    }),
    pages.view('/event-types/{id}', async (call) => {
      const eventType = await found(call);
      const uses = (await store.uses.ofEventTypes([eventType.name])).get(eventType.name) ?? NO_USES;
      return eventTypeView(call, eventType, uses);
    }),
    ...pages.form(
      '/event-types/{id}/edit',
      recordForm({
        administration: eventTypes,
        fill: ({ name, description, encryptionRequired, dataSchema, builtIn }) => {
          if (builtIn) throw new Refusal('read_only', `the event type ${name} is built in and stays as it is`);
          const schema = dataSchema === null ? '' : JSON.stringify(dataSchema, null, 2);
          return newForm({ description, encryptionRequired, dataSchema: schema });
        },
        view: (call, eventType, state) => formView(call, state, eventType),
        compared: comparedEventType,
        respond: async (call, before) => {
          const { id, name } = await eventTypes.patch(
            before.id,
            eventTypeReader.patch(eventTypePatchOf(call.form, before)),
            call.acting,
          );
          return redirectTo(`/event-types/${id}`, `${name} is saved.`);
        },
      }),
    ),
    ...pages.form(
      '/event-types/{id}/delete',
      recordForm({
        administration: eventTypes,
        view: async ({ csrf }, { id, name }, form) => {
          const path = `/event-types/${id}`;
          const title = `Delete the event type ${name}?`;
          const crumbs = [LIST, { href: path, label: name }];
          // Only those that name it keep it: a category goes on without it.
          const naming = (await store.webhooks.ofPattern(name)).map((webhook) => ({ ...webhook, ...webhook.progress }));
          if (naming.length > 0) {
            const uses = { count: naming.length, first: naming };
            const remedy = 'Take it out of their events first.';
            return stillUsedView({ title, crumbs, uses, all: '/webhooks', back: path, remedy });
          }
          return confirmPage({
            ...{
              ...{ title, crumbs, form, csrf },
              action: `${path}/delete`,
              submit: 'Delete the event type',
              cancel: path,
            },
            text: 'Nothing can be published under this name any more. What was published stays, and is still delivered.',
          });
        },
        respond: async ({ acting }, { id, name }) =>
          attempted(
            '/event-types',
            `The event type ${name} is deleted.`,
            () => eventTypes.remove(id, acting),
            `/event-types/${id}`,
          ),
      }),
    ),
  ];
}

function formView({ csrf }: PageCall, state: FormState, before: EventType | null): View {
  const title = before === null ? 'New event type' : `Change ${before.name}`;
  const path = before === null ? '/event-types' : `/event-types/${before.id}`;
  const about = [
    before !== null
      ? null
      : textField(state, {
          name: 'name',
          label: 'Name',
          isRequired: true,
          isCode: true,
          placeholder: 'order.created',
          hint: 'category.name, in lower case. It stays: webhooks subscribe by it, and receivers tell events apart by it.',
        }),
    textField(state, { name: 'description', label: 'Description', hint: 'One sentence: what has happened.' }),
  ];
  const rules = [
    checkbox(state, {
      name: 'encryptionRequired',
      label: 'Goes out encrypted or not at all',
      hint: 'For what only the customer may read. Webhooks that get it need a key; every employee type is so by itself.',
    }),
    textArea(state, {
      name: 'dataSchema',
      label: 'JSON Schema of its data',
      isCode: true,
      rows: 12,
      placeholder: '{"type": "object", "required": ["orderId"], "properties": {"orderId": {"type": "integer"}}}',
      takesFile: '.json',
      hint: 'Version 2020-12, or draft-07 where $schema says so. An event whose data does not satisfy it is refused when it is published, with the field named.',
    }),
  ];
  const fields = html`${fieldGroup('What happens', null, about)}${fieldGroup('Rules', null, rules)}`;
  const content = html`${pageHeader({ title, crumbs: before === null ? [LIST] : [LIST, { href: path, label: before.name }] })}${form(
    {
      action: before === null ? '/event-types/new' : `${path}/edit`,
      csrf,
      form: state,
      content: fields,
      submit: before === null ? 'Create the event type' : 'Save',
      cancel: path,
      labels: { name: 'Name', description: 'Description', encryptionRequired: 'Encryption', dataSchema: 'JSON Schema' },
    },
  )}`;
  return { title, content };
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

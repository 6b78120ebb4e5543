/** `/publish`: publishes an event by hand. Like publishing by the API it is not audited: the event has the user as its actor. */

import { type EventType, STATUS_CATEGORY } from '../../domain/event.ts';
import { readEvents } from '../../events/event-input.ts';
import { eventText } from '../../events/publish.ts';
import { type Html, html } from '../../http/html.ts';
import { indentedJson } from '../../kernel/json-text.ts';
import { refuseField } from '../../kernel/refusal.ts';
import type { OwnerName } from '../../store/port/customers.ts';
import type { Store } from '../../store/port/store.ts';
import { type PageCall, redirectTo, type View } from '../frame/call.ts';
import type { PageDependencies, PageRoute } from '../frame/page.ts';
import { readText } from '../frame/query.ts';
import { besideFields, type FormState, newForm, radioGroup, refusedForm, selectField } from '../parts/fields.ts';
import { fieldGroup, form, moreFields } from '../parts/form.ts';
import { pageHeader, submitButton } from '../parts/header.ts';
import { SAMPLE_BYTES } from '../parts/limits.ts';
import { notice } from '../parts/mark.ts';
import { sentence } from '../parts/text.ts';
import { EVENTS_PATH } from '../record/events-path.ts';
import { type Body, type FieldTable, readForm, text, titlesOf } from '../record/field-table.ts';
import { jsonObject } from '../record/json-field.ts';
import {
  CUSTOMER,
  CUSTOMER_SUGGESTIONS,
  customerField,
  customerNamed,
  customerText,
  OPERATOR,
  ownerNamed,
  readHasCustomers,
} from '../record/owner.ts';
import { preview, previewPage, previewRegion } from './publish-preview.ts';
import { publishedEventPages } from './published-event-page.ts';

export const PUBLISH_PATH = '/publish';

export function publishPages(dependencies: PageDependencies): PageRoute<'operator'>[] {
  const { pages, store, services, ids } = dependencies;
  const view = async (call: PageCall, type: string, state: FormState): Promise<View> => {
    const publishable = (await store.eventTypes.all()).filter(({ name }) => !name.startsWith(STATUS_CATEGORY));
    const chosen = publishable.find(({ name }) => name === type) ?? null;
    const hasCustomers = await readHasCustomers(store);
    const foreseen = await preview(
      store,
      new URLSearchParams({
        type,
        for: state.value('for'),
        customer: state.value('customer'),
        subject: state.value('subject'),
        data: state.value('data'),
      }),
    );
    return publishView(call, { all: publishable, chosen, hasCustomers, foreseen }, state);
  };
  return [
    pages.page(PUBLISH_PATH, 'operator', 'operator', async (call) => {
      // The form is shown without a choice first, with a type of the operator.
      const type = call.query.get('type') ?? (await store.eventTypes.all()).find(({ builtIn }) => !builtIn)?.name ?? '';
      const eventType = type === '' ? null : await store.eventTypes.getByName(type);
      const data = eventType === null ? '{}' : await exampleOf(eventType);
      const customer = await customerIn(store, readText(call.query, 'customer'));
      const audience = customer === null ? 'own' : 'customer';
      const named = customer === null ? undefined : await customerText(store, customer);
      // Sent twice, the form publishes once.
      const idempotencyKey = `portal-${ids.uuid()}`;
      return view(call, type, newForm({ data, idempotencyKey, for: audience, customer: named }));
    }),
    pages.act(PUBLISH_PATH, 'operator', 'operator', {
      respond: async (call) => {
        const { form: sent, acting, user } = call;
        const type = sent.get('type') ?? '';
        const idempotencyKey = sent.get('idempotencyKey') || undefined;
        const audience = await readAudience(store, sent);
        const { data, ...fields }: Body = {
          ...readForm(FIELDS, sent),
          ...audience,
          type,
          // Customers that get the event do not learn who of the operator published it.
          actorId: isOwn(audience) ? user.id : null,
          idempotencyKey,
        };
        // The text of the field, not what it parses to: numbers keep their digits.
        const text = data === undefined ? JSON.stringify(fields) : eventText(fields, sent.get('data') ?? '');
        const { events } = await services.publish(readEvents(text), acting);
        return redirectTo(`${EVENTS_PATH}/${events[0]?.id}`, `${type} is published.`);
      },
      invalid: async (call, refusal) => {
        const type = call.form.get('type') ?? '';
        const state = refusedForm(call.form, refusal);
        // Whom the event is for is not yet chosen.
        const isChoosing = state.problems.length === 1 && state.problem(CUSTOMER) !== null;
        return isChoosing ? { ...(await view(call, type, besideFields(state))), status: 200 } : view(call, type, state);
      },
    }),
    previewPage(dependencies),
    ...publishedEventPages(dependencies),
  ];

  /** The sample, or the data of the latest event. */
  async function exampleOf({ name, sample }: EventType): Promise<string> {
    if (sample !== null) return JSON.stringify(sample, null, 2);
    const latest = await store.eventTypes.latestSample(name, SAMPLE_BYTES);
    return latest === null ? '{}' : indentedJson(latest.dataJson);
  }
}

/** The customer in the address of the form. Null for none. */
async function customerIn(store: Store, text: string | null): Promise<OwnerName | null> {
  const owner = text === null ? null : await ownerNamed(store, text);
  return owner?.id === OPERATOR ? null : owner;
}

/** Who gets the event, as the API takes it. */
async function readAudience(store: Store, sent: URLSearchParams): Promise<Body> {
  const wanted = sent.get('for');
  if (wanted === 'everyone') return { audience: EVERYONE_WANTED };
  if (wanted !== 'customer') return {};
  const text = readText(sent, 'customer');
  if (text === null) throw refuseField('customer', 'is required');
  return { customerId: (await customerNamed(store, text)).id };
}

const EVERYONE_WANTED = 'everyone';

/** Whether no customer gets the event. */
function isOwn({ audience, customerId }: Body): boolean {
  return audience === undefined && customerId === undefined;
}

const DATA_ROWS = { least: 8, most: 24 };

/** Says which data the type takes. As high as the text in it. */
function dataField(type: EventType | null, shown = '') {
  return jsonObject({
    label: 'Data',
    isRequired: true,
    rows: Math.min(Math.max(shown.split('\n').length + 1, DATA_ROWS.least), DATA_ROWS.most),
    hint:
      type === null
        ? 'A JSON object.'
        : type.dataSchema === null
          ? `Any JSON object: ${type.name} has no schema.`
          : html`It must satisfy <a href="/event-types/${type.id}">the schema of ${type.name}</a>.`,
  });
}

const FIELDS: FieldTable = {
  data: dataField(null),
  subject: text({
    label: 'Subject',
    hint: 'Whom the event is about. An erasure finds events by it.',
  }),
  orderingKey: text({
    label: 'Ordering key',
    hint: 'Webhooks with the order by key send events with the same key one after another.',
  }),
  correlationId: text({ label: 'Correlation id', hint: 'Passed on to receivers. Random if empty.' }),
};

/** Few events by hand need them. */
const SELDOM = ['subject', 'orderingKey', 'correlationId'];

type Choice = {
  readonly all: readonly EventType[];
  readonly chosen: EventType | null;
  readonly hasCustomers: boolean;
  /** Who would get it, as the form is. */
  readonly foreseen: Html;
};

function publishView(
  { csrf, query }: PageCall,
  { all, chosen, hasCustomers, foreseen }: Choice,
  state: FormState,
): View {
  const title = 'Publish an event';
  const header = pageHeader({
    title,
    crumbs: [{ href: '/event-types', label: 'Event types' }],
    lead:
      'This is a real event, not a test: the receivers of the subscribed webhooks act on it. To try a receiver, send a ' +
      'test event from the page of its webhook.',
  });
  const choice = typeChoice(all, chosen, state.value('customer') || query.get('customer'));
  if (chosen === null) return { title, content: html`${header}${unknownType(state)}${choice}` };
  const hidden = html`
    <input type="hidden" name="type" value="${chosen.name}">
    <input type="hidden" name="idempotencyKey" value="${state.value('idempotencyKey')}">
  `;
  const encryption = chosen.encryptionRequired
    ? notice({ tone: 'info', text: 'Events of this type are delivered encrypted. What you enter is not shown again.' })
    : null;
  const field = (name: string): Html | null => FIELDS[name]?.draw(state, name) ?? null;
  const data = dataField(chosen, state.value('data')).draw(state, 'data');
  const content = html`
    ${hidden}
    ${encryption}
    ${hasCustomers ? audienceFields(state, chosen, foreseen) : previewRegion(foreseen)}
    ${fieldGroup(chosen.name, chosen.description === '' ? null : chosen.description, [data])}
    ${moreFields('Subject, ordering key and correlation id', state, SELDOM, SELDOM.map(field), (name) => state.value(name) !== '')}
  `;
  return {
    title,
    content: html`
      ${header}
      ${choice}
      ${form({
        action: PUBLISH_PATH,
        csrf,
        form: state,
        content,
        submit: 'Publish the event',
        cancel: `/event-types/${chosen.id}`,
        labels: { ...titlesOf(FIELDS), customer: 'Customer' },
        title: 'The event was not published',
      })}
    `,
  };
}

/** The script loads the sample as soon as a type is chosen, and hides the button. */
function typeChoice(all: readonly EventType[], chosen: EventType | null, customer: string | null): Html {
  const choices = [
    { value: '', label: all.length === 0 ? 'No event type yet' : 'Choose an event type' },
    ...all.map(({ name }) => ({ value: name, label: name })),
  ];
  return html`
    <form method="get" action="${PUBLISH_PATH}" class="form" data-submits-choice>
      <div class="field-group">
        <div class="fields">
          ${selectField(newForm({ type: chosen?.name ?? '' }), {
            name: 'type',
            label: 'Event type',
            isRequired: true,
            choices,
            hint: all.every(({ builtIn }) => builtIn) ? NO_OWN_TYPE : undefined,
          })}
          ${customer === null || customer === '' ? null : html`<input type="hidden" name="customer" value="${customer}">`}
          <div class="buttons">
            ${submitButton({
              label: chosen === null ? 'Choose' : 'Load its sample',
              kind: chosen === null ? 'primary' : 'plain',
            })}
          </div>
        </div>
      </div>
    </form>
  `;
}

const NO_OWN_TYPE = html`These are the built-in types. For an event of your product, <a href="/event-types/new">create its type</a> first.`;

/** Ends with the webhooks that the choice reaches. */
function audienceFields(state: FormState, { public: isPublic }: EventType, foreseen: Html): Html {
  const internal = isPublic ? null : 'The type is internal: customers do not get its events.';
  const chosen = state.value('for') === '' ? newForm({ for: 'own' }) : state;
  return html`
    <div class="audience">
      ${fieldGroup('Whom is it for?', internal, [
        radioGroup(chosen, { name: 'for', label: 'Whom is it for?', isLabelHidden: true, choices: AUDIENCES }),
        customerField(state, {
          isRequired: true,
          placeholder: 'Acme, acct_1',
          suggestFrom: CUSTOMER_SUGGESTIONS,
          takesFocus: state.problem(CUSTOMER) !== null && state.problems.length === 0,
        }),
        previewRegion(foreseen),
      ])}
    </div>
  `;
}

const AUDIENCES = [
  { value: 'own', label: 'Only your company', hint: 'Its webhooks that subscribe to the type.' },
  { value: 'customer', label: 'A customer', hint: 'Its webhooks, and those of your company.' },
  { value: EVERYONE_WANTED, label: 'Everyone', hint: 'The webhooks of every customer and of your company.' },
];

/** A type that was deleted in between, or that only the service publishes. */
function unknownType({ problems }: FormState): Html | null {
  const [problem] = problems;
  return problem === undefined ? null : notice({ tone: 'negative', text: sentence(`event type ${problem.problem}`) });
}

/**
 * `/publish`: publishes an event by hand. Like publishing by the API it is not audited: the event has the user as its actor. `/events/{id}`
 * shows the deliveries that an event caused.
 */

import { type EventType, STATUS_CATEGORY } from '../../domain/event.ts';
import type { Delivery } from '../../domain/webhook.ts';
import { readEvents } from '../../events/event-input.ts';
import { eventText } from '../../events/publish.ts';
import { type Html, html } from '../../http/html.ts';
import { indentedJson } from '../../kernel/json-text.ts';
import { type PageCall, pathId, redirectTo, type View } from '../frame/call.ts';
import type { PageDependencies, PageRoute } from '../frame/page.ts';
import { copyable, definitionList } from '../parts/details.ts';
import { type FormState, newForm, refusedForm, selectField } from '../parts/fields.ts';
import { fieldGroup, form } from '../parts/form.ts';
import { linkButton, pageHeader, section, submitButton } from '../parts/header.ts';
import { SAMPLE_BYTES } from '../parts/limits.ts';
import { emptyState, table } from '../parts/list.ts';
import { notice, stateBadge } from '../parts/mark.ts';
import { countOf, sentence, time } from '../parts/text.ts';
import { type Body, type FieldTable, readForm, text, titlesOf } from '../record/field-table.ts';
import { jsonObject } from '../record/json-field.ts';

export const PUBLISH_PATH = '/publish';

export function publishPages({ pages, store, services, ids }: PageDependencies): PageRoute<'operator'>[] {
  const view = async (call: PageCall, type: string, state: FormState): Promise<View> => {
    const publishable = (await store.eventTypes.all()).filter(({ name }) => !name.startsWith(STATUS_CATEGORY));
    const chosen = publishable.find(({ name }) => name === type) ?? null;
    return publishView(call, publishable, chosen, state);
  };
  return [
    pages.page({
      for: 'operator',
      method: 'GET',
      path: PUBLISH_PATH,
      role: 'operator',
      respond: async (call) => {
        const type = call.query.get('type') ?? '';
        const eventType = type === '' ? null : await store.eventTypes.getByName(type);
        const data = eventType === null ? '{}' : await exampleOf(eventType);
        // Sent twice, the form publishes once.
        const state = { data, idempotencyKey: `portal-${ids.uuid()}` };
        return view(call, type, newForm(state));
      },
    }),
    pages.page({
      for: 'operator',
      method: 'POST',
      path: PUBLISH_PATH,
      role: 'operator',
      respond: async (call) => {
        const { form: sent, acting, user } = call;
        const type = sent.get('type') ?? '';
        const idempotencyKey = sent.get('idempotencyKey') || undefined;
        const { data, ...fields }: Body = { ...readForm(FIELDS, sent), type, actorId: user.id, idempotencyKey };
        // The text of the field, not what it parses to: numbers keep their digits.
        const text = data === undefined ? JSON.stringify(fields) : eventText(fields, sent.get('data') ?? '');
        const { events } = await services.publish(readEvents(text), acting);
        return redirectTo(`/events/${events[0]?.id}`, `${type} is published.`);
      },
      invalid: async (call, refusal) => view(call, call.form.get('type') ?? '', refusedForm(call.form, refusal)),
    }),
    pages.view('/events/{id}', 'operator', async (call) => {
      const { items } = await services.deliveries.list({ eventId: pathId(call) }, null, DELIVERIES_SHOWN + 1);
      return eventView(call, pathId(call), items);
    }),
  ];

  /** The sample, or the data of the latest event. */
  async function exampleOf({ name, sample }: EventType): Promise<string> {
    if (sample !== null) return JSON.stringify(sample, null, 2);
    const latest = await store.eventTypes.latestSample(name, SAMPLE_BYTES);
    return latest === null ? '{}' : indentedJson(latest.dataJson);
  }
}

const DELIVERIES_SHOWN = 100;

const FIELDS: FieldTable = {
  data: jsonObject({
    label: 'Data',
    isRequired: true,
    rows: 14,
    hint: 'A JSON object. It must satisfy the schema of the event type.',
  }),
  subject: text({
    label: 'Subject',
    hint: 'Whom the event is about. An erasure finds events by it.',
  }),
  correlationId: text({ label: 'Correlation id', hint: 'Passed on to receivers. Random if empty.' }),
};

function publishView({ csrf }: PageCall, all: readonly EventType[], chosen: EventType | null, state: FormState): View {
  const title = 'Publish an event';
  const header = pageHeader({
    title,
    crumbs: [{ href: '/event-types', label: 'Event types' }],
    lead: 'Goes to the webhooks that subscribe to its type, as an event that your product publishes.',
  });
  const choices = [
    { value: '', label: all.length === 0 ? 'No event type yet' : 'Choose an event type' },
    ...all.map(({ name, description }) => ({
      value: name,
      label: description === '' ? name : `${name}: ${description}`,
    })),
  ];
  const choice = html`
    <form method="get" action="${PUBLISH_PATH}" class="form">
      <div class="field-group">
        <div class="fields">
          ${selectField(newForm({ type: chosen?.name ?? '' }), {
            name: 'type',
            label: 'Event type',
            isRequired: true,
            choices,
          })}
          <div class="buttons">
            ${submitButton({
              label: chosen === null ? 'Choose' : 'Choose another',
              kind: chosen === null ? 'primary' : 'plain',
            })}
          </div>
        </div>
      </div>
    </form>
  `;
  if (chosen === null) return { title, content: html`${header}${unknownType(state)}${choice}` };
  const hidden = html`
    <input type="hidden" name="type" value="${chosen.name}">
    <input type="hidden" name="idempotencyKey" value="${state.value('idempotencyKey')}">
  `;
  const encryption = chosen.encryptionRequired
    ? notice({ tone: 'info', text: 'Events of this type are delivered encrypted. What you enter is not shown again.' })
    : null;
  const fields = Object.entries(FIELDS).map(([name, field]) => field.draw(state, name));
  const content = html`
    ${hidden}
    ${encryption}
    ${fieldGroup(chosen.name, chosen.description === '' ? null : chosen.description, fields)}
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
        labels: titlesOf(FIELDS),
        title: 'That could not be published',
      })}
    `,
  };
}

/** A type that was deleted in between, or that only the service publishes. */
function unknownType({ problems }: FormState): Html | null {
  const [problem] = problems;
  return problem === undefined ? null : notice({ tone: 'negative', text: sentence(`event type ${problem.problem}`) });
}

function eventView({ may }: PageCall, id: string, items: readonly Delivery[]): View {
  const [first] = items;
  const title = first === undefined ? 'Event' : `Event ${first.eventType}`;
  const shown = items.slice(0, DELIVERIES_SHOWN);
  const deliveries = table({
    caption: 'The deliveries of the event',
    columns: [{ label: 'Webhook', kind: 'main' }, { label: 'State' }, { label: 'Attempts', kind: 'number' }],
    rows: shown.map(({ id: delivery, webhookName, state, attemptCount }) => [
      html`<a href="/deliveries/${delivery}">${webhookName}</a>`,
      stateBadge(state),
      attemptCount,
    ]),
    empty: emptyState({
      title: 'No webhook got it',
      text: html`
        <p>
          No webhook subscribed to its type when it was published, or their filters stopped it. The form of a webhook
          tells which of the latest events its filter lets pass, and why.
        </p>
      `,
    }),
  });
  return {
    title,
    content: html`
      ${pageHeader({
        title,
        crumbs: [{ href: '/deliveries', label: 'Deliveries' }],
        actions: [
          may('operator')
            ? linkButton({
                href: first === undefined ? PUBLISH_PATH : `${PUBLISH_PATH}?type=${first.eventType}`,
                label: 'Publish another',
                icon: 'send',
              })
            : null,
        ],
      })}
      ${section({
        title: 'Event',
        content: definitionList([
          ['Event id', copyable(id), 'messageId in every record of it.'],
          ['Type', first === undefined ? null : html`<code>${first.eventType}</code>`],
          ['Published', time(first?.createdAt ?? null)],
        ]),
      })}
      ${section({
        title:
          items.length > DELIVERIES_SHOWN
            ? `The first ${countOf(DELIVERIES_SHOWN, 'delivery', undefined, 'deliveries')}`
            : 'Deliveries',
        actions:
          first === undefined
            ? []
            : [linkButton({ href: `/deliveries?q=${id}`, label: 'Follow them live', icon: 'play', kind: 'quiet' })],
        content: deliveries,
      })}
    `,
  };
}

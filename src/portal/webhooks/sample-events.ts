/** Sends the sample of an event type through one webhook, as a test: forms for the page of a webhook and of an event type. */

import { attemptMs } from '../../delivery/claim.ts';
import { type EventType, matchingTypes } from '../../domain/event.ts';
import type { Webhook } from '../../domain/webhook.ts';
import { attributes, type Html, html } from '../../http/html.ts';
import { Refusal } from '../../kernel/refusal.ts';
import type { Use } from '../../store/port/directory.ts';
import { pathId, redirectTo, refusedBack } from '../frame/call.ts';
import type { PageRoute, SharedPageDependencies } from '../frame/page.ts';
import { newForm, selectField } from '../parts/fields.ts';
import { section, submitButton } from '../parts/header.ts';
import { TEST_MARGIN_MS } from '../parts/limits.ts';
import { NO_OWNERS } from '../record/owner.ts';
import { webhookField, webhookNamed } from '../record/webhook-choice.ts';

const LEAD =
  'The receiver gets it immediately; a sample has "test": true in the body. It appears in Live, not in Deliveries; filters do not apply.';

/** The data that is sent without a sample. */
const TEST_EVENT = 'webhook.test';

/** The event type whose sample a form asks for; undefined for the test event without one. */
export function sampleAsked(sent: URLSearchParams): string | undefined {
  const asked = sent.get('eventType') ?? TEST_EVENT;
  return asked === TEST_EVENT ? undefined : asked;
}

/** For the page of a webhook: an empty test event, or the sample of one of its event types. */
export function samplesSection(csrf: Html, webhook: Webhook, all: readonly EventType[]): Html {
  const subscribed = new Set(webhook.eventTypes.flatMap((pattern) => matchingTypes(pattern, all)));
  const choices = all.filter(
    (type) =>
      type.name !== TEST_EVENT &&
      subscribed.has(type) &&
      type.sample !== null &&
      (webhook.customerId === null || type.public),
  );
  const action = `/webhooks/${webhook.id}/test`;
  const swap = attributes({
    'data-hx-post': action,
    'data-hx-target': '#test',
    'data-hx-swap': 'outerHTML show:top',
    // The receiver may take as long as for any delivery, at most two minutes and 20 seconds.
    'data-hx-config': `timeout:${attemptMs({ webhook }) + TEST_MARGIN_MS}`,
  });
  const select = selectField(newForm(), {
    name: 'eventType',
    label: 'Event type',
    isRequired: true,
    choices: [
      { value: TEST_EVENT, label: TEST_EVENT },
      ...choices.map(({ name }) => ({ value: name, label: `${name}, its sample` })),
    ],
  });
  // A live update leaves the choice as it is.
  return html`
    <div id="samples" data-hx-morph-skip>
      ${section({
        title: 'Send a test event',
        lead: LEAD,
        content: html`
          <form method="post" action="${action}" class="filters"${swap}>
            ${csrf}
            <div class="filter-fields">${select}</div>
            <div class="buttons">
              ${submitButton({
                id: 'test-button',
                label: 'Send',
                longLabel: `Send a test event through ${webhook.name}`,
                kind: 'plain',
                icon: 'send',
              })}
            </div>
          </form>
        `,
      })}
    </div>
  `;
}

/** For the page of an event type: the webhooks that get it. */
export function sendSampleSection(
  csrf: Html,
  { id }: Pick<EventType, 'id'>,
  [first]: readonly Use[],
  owners = NO_OWNERS,
): Html {
  const choice = webhookField(newForm({ webhook: first === undefined ? '' : owners.named(first) }), {
    isRequired: true,
  });
  return section({
    title: 'Send it as a test event',
    id: 'test-event',
    lead: LEAD,
    content: html`
      <form method="post" action="/event-types/${id}/send-sample" class="filters">
        ${csrf}
        <div class="filter-fields">${choice}</div>
        <div class="buttons">${SEND}</div>
      </form>
    `,
  });
}

/** Sends the sample through a webhook: the store finds only webhooks of the owner that the portal serves. */
export function sendSamplePage(dependencies: SharedPageDependencies): PageRoute<'both'> {
  const { pages, services, store, testDelivery } = dependencies;
  return pages.act('/event-types/{id}/send-sample', 'both', 'operator', {
    respond: async (call) => {
      const { name } = await services.eventTypes.get(pathId(call));
      const webhook = await webhookNamed(store, call.form.get('webhook') ?? '');
      if (webhook === null) throw new Refusal('invalid_request', 'no webhook has this name, or several have');
      const attempt = await testDelivery(webhook.id, call.user.id, name);
      return redirectTo(`/webhooks/${webhook.id}?test=${attempt.id}#test`);
    },
    invalid: async (call, refusal) => refusedBack(`/event-types/${pathId(call)}`, refusal),
  });
}

const SEND = submitButton({ label: 'Send the test event', kind: 'plain', icon: 'send' });

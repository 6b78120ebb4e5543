/** `/deliveries/{id}`: one delivery with its history and its payload. */

import type { AttemptRecord } from '../../delivery/batch.ts';
import { type Html, html } from '../../http/html.ts';
import { ATTEMPTS_SHOWN } from '../../kernel/limits/limits.ts';
import type { DeliveryContent } from '../../store/deliveries.ts';
import { isReplayable } from '../../webhooks/deliveries.ts';
import type { Endpoint } from '../../webhooks/endpoint.ts';
import type { Delivery, Webhook } from '../../webhooks/webhook.ts';
import type { PageCall } from '../call.ts';
import type { PageDependencies } from '../dependencies.ts';
import type { PageRoute } from '../page.ts';
import { attempted } from '../parts/attempted.ts';
import { stateBadge } from '../parts/badge.ts';
import { actionButton, linkButton } from '../parts/button.ts';
import { copyable } from '../parts/code.ts';
import { definitionList, type Moment, timeline } from '../parts/details.ts';
import { pageHeader, section } from '../parts/header.ts';
import { countText } from '../parts/number.ts';
import { relativeTime, time } from '../parts/time.ts';
import { attemptMoment } from './attempt.ts';
import { DELIVERIES_PATH as PATH } from './filter.ts';
import { payloadSection } from './payload.ts';
import { standing } from './standing.ts';

type Story = {
  readonly delivery: Delivery;
  readonly attempts: readonly AttemptRecord[];
  readonly content: DeliveryContent;
  readonly webhook: Webhook;
  readonly endpoint: Endpoint;
};

export function deliveryDetailPages({ pages, services }: PageDependencies): PageRoute[] {
  const { deliveries, webhooks, endpoints } = services;
  return [
    pages.view(`${PATH}/{id}`, async (call) => {
      const id = call.params.id ?? '';
      const { delivery, attempts } = await deliveries.get(id);
      const content = await deliveries.content(id);
      const webhook = await webhooks.get(delivery.webhookId);
      const endpoint = await endpoints.get(webhook.endpointId);
      const story = { delivery, attempts, content, webhook, endpoint };
      return { title: `${delivery.eventType} #${delivery.offset}`, content: storyView(call, story) };
    }),
    pages.page({
      method: 'POST',
      path: `${PATH}/{id}/replay`,
      role: 'operator',
      respond: (call) => {
        const id = call.params.id ?? '';
        return attempted(`${PATH}/${id}`, 'It is due again, and is sent under the same rules as any other.', () =>
          deliveries.replay(id, call.acting),
        );
      },
    }),
  ];
}

function storyView(call: PageCall, story: Story): Html {
  const { delivery, attempts, content, webhook, endpoint } = story;
  const { id, eventType, webhookName, webhookId, state } = delivery;
  const moments = momentsOf(story, call.now);
  return html`${pageHeader({
    title: eventType,
    crumbs: [{ href: PATH, label: 'Deliveries' }],
    badges: [stateBadge(state)],
    lead: html`<p>#${delivery.offset} for <a href="/webhooks/${webhookId}">${webhookName}</a>, happened ${relativeTime(delivery.createdAt, call.now)}.</p>`,
    actions: [
      call.may('operator') && isReplayable(delivery)
        ? actionButton({
            action: `${PATH}/${id}/replay`,
            csrf: call.csrf,
            label: 'Send again',
            icon: 'replay',
            kind: 'primary',
          })
        : null,
    ],
  })}${standing(story, call.now)}<div class="columns columns-wide-first story">${section({
    title: 'Timeline',
    id: 'story',
    content: html`${attempts.length === ATTEMPTS_SHOWN ? html`<p class="quiet">The last ${ATTEMPTS_SHOWN} attempts are shown.</p>` : null}${timeline(moments)}`,
  })}<div class="stack story-side">${payloadSection(delivery, content, webhook)}${facts(delivery, content, attempts, endpoint)}</div></div>`;
}

function momentsOf({ delivery, attempts, endpoint, content }: Story, now: number): Moment[] {
  const { state, createdAt, settledAt, nextAttemptAt } = delivery;
  const moments: Moment[] = [
    {
      at: createdAt,
      title: 'Published',
      tone: 'neutral',
      text: html`<p>Event ${copyable(delivery.eventId, 'event id')}</p>`,
    },
    ...attempts.map((attempt, at) => attemptMoment(attempt, endpoint.url, at === attempts.length - 1)),
  ];
  if (content.erasedAt !== null) moments.push({ at: content.erasedAt, title: 'Its data was erased', tone: 'neutral' });
  if (state === 'delivered') moments.push({ at: settledAt, title: 'Delivered', tone: 'positive' });
  if (state === 'dead') moments.push({ at: settledAt, title: 'Given up', tone: 'negative' });
  if (state === 'pending' && nextAttemptAt !== null && nextAttemptAt > now) {
    moments.push({ at: nextAttemptAt, title: 'The next attempt', tone: 'info' });
  }
  return moments.toSorted((a, b) => (a.at ?? 0) - (b.at ?? 0));
}

function facts(
  { id, eventId, eventType, offset, subject, attemptCount, createdAt, settledAt }: Delivery,
  { correlationId, actorId }: DeliveryContent,
  attempts: readonly AttemptRecord[],
  endpoint: Endpoint,
): Html {
  const batches = [...new Set(attempts.flatMap(({ batchId }) => (batchId === null ? [] : [batchId])))];
  const search = (text: string): string => `${PATH}?${new URLSearchParams({ q: text })}`;
  return section({
    title: 'Details',
    actions: [linkButton({ href: search(eventId), label: 'At other webhooks', kind: 'quiet' })],
    content: definitionList([
      ['Event id', copyable(eventId, 'event id'), 'messageId in the body: what a receiver drops repeats by.'],
      ['Event type', html`<code>${eventType}</code>`],
      ['Subject', subject === null ? null : html`<a href="${search(subject)}">${subject}</a>`],
      ['Correlation id', copyable(correlationId, 'correlation id')],
      ['Caused by', actorId === null ? null : copyable(actorId, 'actor id')],
      ['Endpoint', html`<a href="/endpoints/${endpoint.id}">${endpoint.name}</a>`],
      ['Offset', `#${offset}`],
      ['Attempts', countText(attemptCount), 'since it was last due anew'],
      [
        'Batch',
        batches.length === 0
          ? null
          : html`<span class="stack-tight">${batches.map((batch) => copyable(batch, 'batch id'))}</span>`,
        batches.length === 0 ? undefined : 'webhook-id is msg_ and this, where Standard Webhooks are on.',
      ],
      ['Happened', time(createdAt)],
      ['Over', time(settledAt)],
      ['Delivery id', copyable(id, 'delivery id')],
    ]),
  });
}

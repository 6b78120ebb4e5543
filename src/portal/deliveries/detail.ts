/** `/deliveries/{id}`: one delivery with its state, its history and its payload. */
import type { AttemptRecord } from '../../delivery/batch.ts';
import { type Html, html } from '../../http/html.ts';
import { ATTEMPTS_SHOWN } from '../../kernel/limits/limits.ts';
import { adviceFor, type ErrorClass } from '../../outbound/outcome.ts';
import type { DeliveryContent } from '../../store/deliveries.ts';
import { isReplayable } from '../../webhooks/deliveries.ts';
import type { Endpoint } from '../../webhooks/endpoint.ts';
import { isRunnable } from '../../webhooks/lifecycle.ts';
import type { Delivery, Webhook } from '../../webhooks/webhook.ts';
import { encodeEnvelope } from '../../wire/payload.ts';
import { attempted, type PageCall } from '../call.ts';
import type { PageDependencies, PageRoute } from '../page.ts';
import { codePanels, copyable, definitionList, type Moment, timeline } from '../parts/details.ts';
import { actionButton, linkButton, pageHeader, section } from '../parts/header.ts';
import { notice, stateBadge } from '../parts/mark.ts';
import { countText, relativeTime, sentence, spanText, time } from '../parts/text.ts';
import { attemptMoment } from './attempt.ts';
import { DELIVERIES_PATH as PATH } from './list.ts';

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

type Standing = {
  readonly delivery: Delivery;
  readonly attempts: readonly AttemptRecord[];
  readonly webhook: Pick<Webhook, 'maxAttempts' | 'progress'>;
};

export function standing({ delivery, attempts, webhook }: Standing, now: number): Html {
  const { state, createdAt, settledAt, attemptCount } = delivery;
  const problem = problemOf(attempts.at(-1));
  switch (state) {
    case 'delivered': {
      const tries = attemptCount === 1 ? 'at the first attempt' : `at attempt ${attemptCount}`;
      const text = `Arrived ${tries}, ${spanText((settledAt ?? createdAt) - createdAt)} after it happened.`;
      return notice({ tone: 'positive', text });
    }
    case 'dead':
      return notice({
        tone: 'negative',
        title: `Given up after ${attemptCount === 1 ? 'one attempt' : `${attemptCount} attempts`}.`,
        text: html`${problem === null ? null : html`<p>${problem}</p>`}<p>It is kept, and can be sent again.</p>`,
      });
    case 'discarded':
      return notice({ tone: 'neutral', title: 'Not sent.', text: 'Its data was erased before it could be.' });
    default: {
      const when = waitsFor(delivery.nextAttemptAt, webhook, now);
      // After a replay, the earlier attempts tell nothing about the present state.
      if (problem === null || attemptCount === 0) return notice({ tone: 'info', text: `It waits: ${when}.` });
      const title = `Attempt ${attemptCount} of ${webhook.maxAttempts} failed. It waits: ${when}.`;
      return notice({ tone: 'caution', title, text: problem });
    }
  }
}

/** The error and the advice. */
function problemOf(attempt: AttemptRecord | undefined): string | null {
  if (attempt === undefined || attempt.errorClass === null) return null;
  const { errorClass, errorMessage } = attempt;
  return `${sentence(errorMessage ?? errorClass)} ${adviceFor(errorClass as ErrorClass)}`;
}

function waitsFor(at: number | null, { progress: { state } }: Standing['webhook'], now: number): string {
  if (!isRunnable(state)) return state === 'failed' ? 'its webhook has failed' : 'its webhook is stopped';
  if (at === null) return 'others are before it';
  return at <= now ? 'it is due now' : `the next one is in ${spanText(at - now)}`;
}

function payloadSection(delivery: Delivery, content: DeliveryContent, webhook: Webhook): Html {
  const { dataJson, erasedAt } = content;
  return section({
    title: 'Payload',
    lead:
      webhook.encryptionKeyName === null
        ? undefined
        : html`It goes out encrypted for <strong>${webhook.encryptionKeyName}</strong>; this is what is inside.`,
    content:
      dataJson === null
        ? notice({
            tone: 'neutral',
            title: 'The data was erased.',
            text: html`<p>Somebody asked on ${time(erasedAt)} that what is known of this person be forgotten. What had not been sent by then is not sent any more.</p>`,
          })
        : codePanels('Payload', [
            { label: 'Event data', code: pretty(dataJson) },
            { label: 'As it is received', code: recordText(delivery, { ...content, dataJson }, webhook) },
          ]),
  });
}

/** The body of a request with this record alone, as the next attempt would write it. */
function recordText(
  { offset, createdAt, eventId, eventType, attemptCount, settledAt }: Delivery,
  { dataJson, correlationId, actorId }: DeliveryContent & { readonly dataJson: string },
  { id, progress }: Webhook,
): string {
  const body = encodeEnvelope({
    subscriptionId: id,
    sessionId: progress.sessionId ?? '',
    attemptNumber: Math.max(attemptCount, 1),
    records: [{ offset, createdAt, correlationId, messageId: eventId, eventType, actorId, dataJson }],
    now: settledAt ?? createdAt,
  });
  return pretty(Buffer.from(body).toString('utf8'));
}

function pretty(json: string): string {
  return JSON.stringify(JSON.parse(json), null, 2);
}

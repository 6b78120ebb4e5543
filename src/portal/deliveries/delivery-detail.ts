/** `/deliveries/{id}`: one delivery with its state, its attempts and its payload. It follows the delivery live. */
import type { AttemptRecord } from '../../domain/batch.ts';
import type { Endpoint } from '../../domain/endpoint.ts';
import { adviceFor, type ErrorClass } from '../../domain/outcome.ts';
import type { Delivery, Webhook } from '../../domain/webhook.ts';
import { isRunnable } from '../../domain/webhook-states.ts';
import { attributes, type Html, html } from '../../http/html.ts';
import { indentedJson } from '../../kernel/json-text.ts';
import type { DeliveryContent } from '../../store/port/deliveries.ts';
import { ATTEMPTS_SHOWN, isReplayable } from '../../webhooks/deliveries.ts';
import { encodeEnvelope } from '../../wire/payload.ts';
import { attempted, type PageCall, pathId } from '../frame/call.ts';
import { liveContent } from '../frame/live-content.ts';
import type { PageRoute, SharedPageDependencies } from '../frame/page.ts';
import { codePanels, copyable, definitionList, type Moment, timeline } from '../parts/details.ts';
import { actionButton, linkButton, pageHeader, section } from '../parts/header.ts';
import { notice, stateBadge } from '../parts/mark.ts';
import { countText, relativeTime, sentence, spanText, time } from '../parts/text.ts';
import { attemptMoment } from './attempt-details.ts';
import { DELIVERIES_PATH as PATH } from './delivery-list.ts';

type Story = {
  readonly delivery: Delivery;
  readonly attempts: readonly AttemptRecord[];
  readonly content: DeliveryContent;
  readonly webhook: Webhook;
  /** Null in mode `pull`. */
  readonly endpoint: Endpoint | null;
};

export function deliveryDetailPages({ pages, services, feed, clock }: SharedPageDependencies): PageRoute<'both'>[] {
  const { deliveries, webhooks, endpoints } = services;
  const read = async (id: string): Promise<Story> => {
    const { delivery, attempts } = await deliveries.get(id);
    const content = await deliveries.content(id);
    const webhook = await webhooks.get(delivery.webhookId);
    const { endpointId } = webhook;
    return {
      delivery,
      attempts,
      content,
      webhook,
      endpoint: endpointId === null ? null : await endpoints.get(endpointId),
    };
  };
  return [
    pages.view(`${PATH}/{id}`, 'both', async (call) => {
      const story = await read(pathId(call));
      const { id, eventType, offset } = story.delivery;
      const live = attributes({ 'data-hx-sse:connect': `${PATH}/${id}/live`, 'data-hx-swap': 'innerMorph' });
      const content = html`<div id="delivery" class="page-part"${live}>${storyView(call, story)}</div>`;
      return { title: `${eventType} #${offset}`, content };
    }),
    pages.stream(`${PATH}/{id}/live`, 'both', async (call) => {
      const id = pathId(call);
      const { delivery } = await read(id);
      return liveContent(feed, delivery.webhookId, call.signal, async () => {
        const story = await read(id);
        const now = clock();
        return { version: versionOf(story, now), content: () => storyView({ ...call, now }, story) };
      });
    }),
    pages.page({
      for: 'both',
      method: 'POST',
      path: `${PATH}/{id}/replay`,
      role: 'operator',
      respond: (call) => {
        const id = pathId(call);
        return attempted(`${PATH}/${id}`, 'Sending again. This page shows the result.', () =>
          deliveries.replay(id, call.acting),
        );
      },
    }),
  ];
}

/** Differs whenever the page would show something else. */
function versionOf({ delivery, attempts, content, webhook, endpoint }: Story, now: number): string {
  const { maxAttempts, progress } = webhook;
  const isDue = delivery.nextAttemptAt !== null && delivery.nextAttemptAt <= now;
  const ids = attempts.map(({ id }) => id);
  return JSON.stringify([
    delivery,
    isDue,
    ids,
    content.erasedAt,
    maxAttempts,
    progress.state,
    endpoint?.name,
    endpoint?.url,
  ]);
}

function storyView(call: PageCall, story: Story): Html {
  const { delivery, attempts, content, webhook, endpoint } = story;
  const { id, eventType, webhookName, webhookId, state } = delivery;
  const moments = momentsOf(story, call.now);
  return html`
    ${pageHeader({
      title: eventType,
      crumbs: [{ href: PATH, label: 'Deliveries' }],
      badges: [stateBadge(state)],
      lead: html`
        <p>
          Event #${delivery.offset} of <a href="/webhooks/${webhookId}">${webhookName}</a>, published
          ${relativeTime(delivery.createdAt, call.now)}.
        </p>
      `,
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
    })}
    ${standing(story, call.now)}
    <div class="columns columns-wide-first story">
      ${section({
        title: 'Timeline',
        id: 'story',
        content: html`
          ${
            attempts.length === ATTEMPTS_SHOWN
              ? html`<p class="quiet">These are the last ${ATTEMPTS_SHOWN} attempts.</p>`
              : null
          }
          ${timeline(moments)}
        `,
      })}
      <div class="stack story-side">
        ${payloadSection(delivery, content, webhook)}
        ${facts(delivery, content, attempts, endpoint)}
      </div>
    </div>
  `;
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
    ...attempts.map((attempt, at) => attemptMoment(attempt, endpoint?.url ?? null, at === attempts.length - 1)),
  ];
  if (content.erasedAt !== null) moments.push({ at: content.erasedAt, title: 'Data erased', tone: 'neutral' });
  if (state === 'delivered')
    moments.push({
      at: settledAt,
      title: delivery.webhookMode === 'pull' ? 'Acknowledged' : 'Delivered',
      tone: 'positive',
    });
  if (state === 'dead') moments.push({ at: settledAt, title: 'Given up', tone: 'negative' });
  if (state === 'pending' && nextAttemptAt !== null && nextAttemptAt > now && !isUnderWay(delivery, now)) {
    moments.push({ id: 'next-attempt', at: nextAttemptAt, title: 'Next attempt', tone: 'info' });
  }
  return moments.toSorted((a, b) => (a.at ?? 0) - (b.at ?? 0));
}

function facts(
  { id, eventId, eventType, offset, subject, attemptCount, createdAt, settledAt }: Delivery,
  { correlationId, actorId }: DeliveryContent,
  attempts: readonly AttemptRecord[],
  endpoint: Endpoint | null,
): Html {
  const batches = [...new Set(attempts.flatMap(({ batchId }) => (batchId === null ? [] : [batchId])))];
  const search = (text: string): string => `${PATH}?${new URLSearchParams({ q: text })}`;
  return section({
    title: 'Details',
    actions: [linkButton({ href: search(eventId), label: 'This event at all webhooks', kind: 'quiet' })],
    content: definitionList([
      ['Event id', copyable(eventId, 'event id'), 'messageId in the body. Receivers use it to drop duplicates.'],
      ['Event type', html`<code>${eventType}</code>`],
      ['Subject', subject === null ? null : html`<a href="${search(subject)}">${subject}</a>`],
      ['Correlation id', copyable(correlationId, 'correlation id')],
      ['Caused by', actorId === null ? null : copyable(actorId, 'actor id')],
      ['Endpoint', endpoint === null ? null : html`<a href="/endpoints/${endpoint.id}">${endpoint.name}</a>`],
      ['Offset', `#${offset}`],
      ['Attempts', endpoint === null ? null : countText(attemptCount), 'Since the last replay.'],
      [
        'Batch',
        batches.length === 0
          ? null
          : html`<span class="stack-tight">${batches.map((batch) => copyable(batch, 'batch id'))}</span>`,
        batches.length === 0 ? undefined : 'With Standard Webhooks, webhook-id is msg_ followed by this id.',
      ],
      ['Published', time(createdAt)],
      ['Finished', time(settledAt)],
      ['Delivery id', copyable(id, 'delivery id')],
    ]),
  });
}

type Standing = {
  readonly delivery: Delivery;
  readonly attempts: readonly AttemptRecord[];
  readonly webhook: Pick<Webhook, 'maxAttempts' | 'progress'>;
};

/** The state of the delivery, the reason, and what happens next. */
export function standing({ delivery, attempts, webhook }: Standing, now: number): Html {
  const { state, createdAt, settledAt, attemptCount, webhookMode } = delivery;
  const problem = problemOf(attempts.at(-1));
  if (webhookMode === 'pull' && (state === 'pending' || state === 'delivered')) return readerStanding(delivery);
  switch (state) {
    case 'delivered': {
      const tries = attemptCount === 1 ? 'at the first attempt' : `at attempt ${attemptCount}`;
      const text = `Delivered ${tries}, ${spanText((settledAt ?? createdAt) - createdAt)} after it was published.`;
      return notice({ tone: 'positive', text });
    }
    case 'dead':
      return notice({
        tone: 'negative',
        title: `Given up after ${attemptCount === 1 ? 'one attempt' : `${attemptCount} attempts`}.`,
        text: html`
          ${problem === null ? null : html`<p>${problem}</p>`}
          <p>It is kept. Fix the cause, then send it again.</p>
        `,
      });
    case 'discarded':
      return notice({ tone: 'neutral', title: 'Not sent.', text: 'Its data was erased before it was delivered.' });
    default: {
      const next = nextStep(delivery, webhook, now);
      // After a replay, the earlier attempts tell nothing about the present state.
      const failed = isUnderWay(delivery, now) ? attemptCount - 1 : attemptCount;
      if (problem === null || failed <= 0) return notice({ tone: 'info', text: next });
      const title = `Attempt ${failed} of ${webhook.maxAttempts} failed.`;
      return notice({ tone: 'caution', title, text: html`<p>${problem}</p><p>${next}</p>` });
    }
  }
}

/** In mode `pull`, a reader decides. */
function readerStanding({ state, createdAt, settledAt }: Delivery): Html {
  if (state === 'pending')
    return notice({ tone: 'info', text: 'The reader of the webhook has not acknowledged it yet.' });
  const text = `Acknowledged by the reader ${spanText((settledAt ?? createdAt) - createdAt)} after it was published.`;
  return notice({ tone: 'positive', text });
}

/** The error and the advice. */
function problemOf(attempt: AttemptRecord | undefined): string | null {
  if (attempt === undefined || attempt.errorClass === null) return null;
  const { errorClass, errorMessage, responseStatus } = attempt;
  return `${sentence(errorMessage ?? errorClass)} ${adviceFor(errorClass as ErrorClass, responseStatus, errorMessage)}`;
}

/** A lease that has ended is one of a process that was killed. */
function isUnderWay({ isLeased, nextAttemptAt }: Delivery, now: number): boolean {
  return isLeased && nextAttemptAt !== null && nextAttemptAt > now;
}

/** What a pending delivery waits for. */
function nextStep(delivery: Delivery, { progress: { state } }: Standing['webhook'], now: number): Html {
  const { nextAttemptAt, attemptCount } = delivery;
  if (isUnderWay(delivery, now)) return html`Attempt ${Math.max(attemptCount, 1)} is in progress.`;
  if (!isRunnable(state))
    return html`It waits because its webhook ${state === 'failed' ? 'has failed' : 'is stopped'}.`;
  if (nextAttemptAt === null) return html`It waits for the records before it.`;
  if (nextAttemptAt <= now) return html`It is due and is sent next.`;
  return html`The next attempt is ${relativeTime(nextAttemptAt, now)}.`;
}

/** A live update leaves the payload as it is, so the chosen tab stays. The section has another id once the data is erased. */
function payloadSection(delivery: Delivery, content: DeliveryContent, webhook: Webhook): Html {
  const { dataJson, erasedAt } = content;
  if (dataJson === null) {
    const text = html`
      <p>The data about this person was erased on ${time(erasedAt)}. Attempts that were still due are not made.</p>
    `;
    return section({
      title: 'Payload',
      id: 'payload-erased',
      content: notice({ tone: 'neutral', title: 'The data was erased.', text }),
    });
  }
  const made = section({
    title: 'Payload',
    lead:
      webhook.encryptionKeyName === null
        ? undefined
        : html`The body is encrypted for <strong>${webhook.encryptionKeyName}</strong>. This is the content.`,
    content: codePanels('Payload', [
      { label: 'Event data', code: indentedJson(dataJson) },
      { label: 'As it is received', code: recordText(delivery, { ...content, dataJson }, webhook) },
    ]),
  });
  return html`<div id="payload" data-hx-morph-skip>${made}</div>`;
}

/** The body of a request with only this record, as the next attempt would write it. */
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
  return indentedJson(Buffer.from(body).toString('utf8'));
}

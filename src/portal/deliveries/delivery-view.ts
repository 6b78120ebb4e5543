/** One delivery as its page and the panel beside the list show it. */
import type { AttemptRecord } from '../../domain/batch.ts';
import type { Delivery, Webhook } from '../../domain/webhook.ts';
import { isRunnable } from '../../domain/webhook-states.ts';
import { attributes, type Html, html } from '../../http/html.ts';
import { indentedJson } from '../../kernel/json-text.ts';
import type { DeliveryContent } from '../../store/port/deliveries.ts';
import { ATTEMPTS_SHOWN, isReplayable, isWaiting } from '../../webhooks/deliveries.ts';
import { encodeEnvelope } from '../../wire/payload.ts';
import type { PageCall } from '../frame/call.ts';
import { codePanels, copyable, definitionList, timeline } from '../parts/details.ts';
import { actionButton, buttonRow, linkButton, pageHeader, section } from '../parts/header.ts';
import { notice } from '../parts/mark.ts';
import { countText, relativeTime, time } from '../parts/text.ts';
import { curlCommand } from './curl.ts';
import type { Story } from './delivery-reading.ts';
import { deliveryBadge } from './delivery-rows.ts';
import { momentsOf, standing } from './delivery-story.ts';
import { DELIVERIES_PATH as PATH } from './delivery-tabs.ts';
import { turnMoments } from './delivery-turn.ts';
import { searchHref } from './search-line.ts';

/** Beside the list, or on a page of its own. */
type ViewPlace = { readonly isBeside: boolean };

/** A delivery that follows what happens to it. */
export function liveStory(call: PageCall, story: Story, place: ViewPlace): Html {
  const stream = `${PATH}/${story.delivery.id}/live${place.isBeside ? '?panel=1' : ''}`;
  const live = attributes({ 'data-hx-sse:connect': stream, 'data-hx-swap': 'innerMorph' });
  return html`<div id="delivery" class="page-part"${live}>${storyView(call, story, place)}</div>`;
}

/** The whole of a delivery. */
export function storyView(call: PageCall, story: Story, { isBeside }: ViewPlace): Html {
  const { delivery, attempts, content, webhook, endpoint } = story;
  const url = endpoint?.url ?? null;
  const reader = call.session.customerId;
  const moments = momentsOf({ ...story, erasedAt: content.erasedAt, url, curlOf: curls(story), reader }, call.now);
  const isCut = attempts.length === ATTEMPTS_SHOWN;
  const told = section({
    title: 'Timeline',
    id: 'story',
    content: html`
      ${isCut ? html`<p class="quiet">These are the last ${ATTEMPTS_SHOWN} attempts.</p>` : null}
      ${timeline([...moments, ...turnMoments({ ...story, reader }, call.now)], call.now)}
    `,
  });
  const payload = payloadSection(delivery, content, webhook);
  // Beside the list the payload comes first. Without attempts the story is short, and leaves room for the payload below it.
  const isAside = !isBeside && attempts.length > 0;
  const main = html`<div class="stack">${isBeside ? [payload, told] : [told, payload]}</div>`;
  return html`
    ${isBeside ? panelHead(call, story) : pageHead(call, story)}
    ${standing({ ...story, reader, mayAct: call.may('operator') }, call.now)}
    <div class="columns columns-wide-first story">
      ${isAside ? told : main}
      <div class="stack story-side">${isAside ? payload : null}${facts(story)}</div>
    </div>
  `;
}

function pageHead(call: PageCall, story: Story): Html {
  const { delivery } = story;
  return pageHeader({
    title: delivery.eventType,
    crumbs: [{ href: PATH, label: 'Deliveries' }],
    badges: [deliveryBadge(delivery)],
    lead: leadOf(call, story),
    actions: actionsOf(call, story),
  });
}

/** The page around it has a heading of its own. */
function panelHead(call: PageCall, story: Story): Html {
  const { delivery } = story;
  return html`
    <header class="page-header">
      <div class="page-header-row">
        <div class="page-title"><h2>${delivery.eventType}</h2>${deliveryBadge(delivery)}</div>
        ${buttonRow(actionsOf(call, story))}
      </div>
      <div class="lead">${leadOf(call, story)}</div>
    </header>
  `;
}

function leadOf({ now }: PageCall, { delivery, owner }: Story): Html {
  const { offset, webhookId, webhookName, createdAt } = delivery;
  return html`
    <p class="delivery-facts">
      Delivery #${offset} of <a href="/webhooks/${webhookId}">${webhookName}</a>${
        owner === null ? null : html` ${owner}`
      }, published ${relativeTime(createdAt, now)}.
    </p>
  `;
}

function actionsOf(call: PageCall, story: Story): (Html | null)[] {
  return [testLink(call, story), startAndSendButton(call, story), sendButton(call, story)];
}

/** Whether a dead one is sent after a start of its webhook: sent again only, it would wait for it. */
function needsStart({ delivery, webhook, endpoint }: Story): boolean {
  const isStopped = webhook.mode === 'push' && !isRunnable(webhook.progress.state);
  return delivery.state === 'dead' && isReplayable(delivery) && isStopped && endpoint?.enabled === true;
}

function startAndSendButton(call: PageCall, story: Story): Html | null {
  const { delivery, webhook } = story;
  if (!call.may('operator') || !needsStart(story)) return null;
  return actionButton({
    action: `${PATH}/${delivery.id}/replay`,
    csrf: call.csrf,
    kind: 'primary',
    label: 'Start, and send again',
    longLabel: `Start, and send again: #${delivery.offset} of ${webhook.name}`,
    icon: 'play',
    fields: { start: 'yes' },
  });
}

/** *Send again* if settled, *Try now* of one that waits or the one before it, *Start* for its webhook; null if nothing would help. */
function sendButton(call: PageCall, story: Story): Html | null {
  const { delivery, webhook } = story;
  if (!call.may('operator')) return null;
  const { ahead } = story;
  const form = { action: `${PATH}/${delivery.id}/replay`, csrf: call.csrf, kind: 'primary' } as const;
  if (isReplayable(delivery)) {
    const kind = delivery.state === 'dead' && !needsStart(story) ? 'primary' : 'plain';
    return actionButton({ ...form, kind, label: 'Send again', icon: 'replay' });
  }
  const { state } = webhook.progress;
  if (delivery.state === 'pending' && delivery.webhookMode === 'push' && !isRunnable(state))
    return startButton(call, story);
  if (!isWaiting(delivery, call.now) || !isRunnable(state)) return null;
  // An untried delivery of a webhook that runs and keeps no order only waits for its turn.
  if (delivery.nextAttemptAt === null && !webhook.ordered && state !== 'failing') return null;
  if (ahead === null) return actionButton({ ...form, label: 'Try now', icon: 'send' });
  if (ahead.isLeased) return null;
  return actionButton({
    ...form,
    action: `${PATH}/${ahead.id}/replay`,
    label: `Try #${ahead.offset} now`,
    longLabel: `Try #${ahead.offset} now: it is tried first`,
    icon: 'send',
  });
}

/** Before a webhook that failed is started: whether its receiver accepts events again. */
function testLink(call: PageCall, { delivery, webhook }: Story): Html | null {
  if (!call.may('operator') || delivery.state !== 'pending' || webhook.progress.state !== 'failed') return null;
  const href = `/webhooks/${webhook.id}#test-button`;
  return linkButton({ href, label: 'Send a test event', icon: 'send', kind: 'primary' });
}

/** The receiver's endpoint may be off: then nothing can start. */
function startButton({ csrf }: PageCall, { delivery, webhook, endpoint }: Story): Html | null {
  if (endpoint?.enabled !== true) return null;
  const { id, name } = webhook;
  return actionButton({
    action: `/webhooks/${id}/start`,
    csrf,
    kind: webhook.progress.state === 'failed' ? 'plain' : 'primary',
    label: `Start ${name}`,
    longLabel: `Start the webhook ${name}`,
    icon: 'play',
    fields: { back: `${PATH}/${delivery.id}` },
  });
}

/** The requests of the attempts as commands. */
function curls({ delivery, content, webhook, endpoint }: Story): (attempt: AttemptRecord) => string | null {
  return ({ attemptNumber, startedAt, requestHeaders: headers }) => {
    if (endpoint === null) return null;
    const { dataJson } = content;
    const sent = { attemptNumber, now: startedAt };
    const body = dataJson === null ? null : recordBody(delivery, { ...content, dataJson }, webhook, sent);
    return curlCommand({ url: endpoint.url, headers, body });
  };
}

function facts(story: Story): Html {
  const { delivery, base, endpoint, owner, eventPage } = story;
  const { eventId, subject, orderingKey, attemptCount, settledAt } = delivery;
  const search = (field: 'id' | 'subject' | 'key', value: string): string =>
    searchHref(PATH, new URLSearchParams(), [{ field, value }]);
  return section({
    title: 'Details',
    actions: [
      eventPage === null
        ? linkButton({ href: search('id', eventId), label: 'All of this event', kind: 'quiet' })
        : linkButton({ href: eventPage, label: 'Who got this event', kind: 'quiet' }),
    ],
    content: html`
      ${definitionList(
        present([
          ['Belongs to', owner],
          ['Event id', copyable(eventId, 'event id'), 'messageId in the body. Receivers use it to drop duplicates.'],
          ['Subject', subject === null ? null : html`<a href="${search('subject', subject)}">${subject}</a>`],
          [
            'Ordering key',
            orderingKey === null ? null : html`<a href="${search('key', orderingKey)}">${orderingKey}</a>`,
          ],
          ['Endpoint', endpoint === null ? null : html`<a href="/endpoints/${endpoint.id}">${endpoint.name}</a>`],
          [
            'Attempts',
            endpoint === null ? null : countText(base + attemptCount),
            base === 0 ? undefined : `${countText(attemptCount)} since it was sent again.`,
          ],
          ['Finished', settledAt === null ? null : time(settledAt)],
        ]),
      )}
      ${moreIds(story)}
    `,
  });
}

/** The ids and the time that are needed less often, folded. */
function moreIds({ delivery, content, attempts, webhook }: Story): Html {
  const { correlationId, actorId } = content;
  const { offset, webhookName, createdAt } = delivery;
  const batches = [...new Set(attempts.flatMap(({ batchId }) => (batchId === null ? [] : [batchId])))];
  return html`
    <details class="more-ids">
      <summary>More ids</summary>
      ${definitionList(
        present([
          ['Number', `#${offset}`, `Its offset in the log of ${webhookName}.`],
          ['Published', time(createdAt)],
          ['Delivery id', copyable(delivery.id, 'delivery id'), 'Of this event at this webhook.'],
          [
            'Correlation id',
            copyable(correlationId, 'correlation id'),
            'It follows the event through several systems.',
          ],
          [
            'Caused by',
            actorId === null ? null : copyable(actorId, 'actor id'),
            'The user or program that caused the event.',
          ],
          [
            batches.length > 1 ? 'Batches' : 'Batch',
            batches.length === 0
              ? null
              : html`<span class="stack-tight">${batches.map((batch) => copyable(batch, 'batch id'))}</span>`,
            batches.length > 0 && webhook.standardWebhooks && webhook.format !== 'standard'
              ? 'The request that carried it. webhook-id is msg_ followed by this id.'
              : 'The request that carried it, perhaps with others.',
          ],
        ]),
      )}
    </details>
  `;
}

type Fact = Parameters<typeof definitionList>[0][number];

/** Without the facts that are not known yet, or never will be. */
function present(all: readonly Fact[]): Fact[] {
  return all.filter(([, value]) => value !== null);
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
  delivery: Delivery,
  content: DeliveryContent & { readonly dataJson: string },
  webhook: Webhook,
): string {
  const { attemptCount, settledAt, createdAt } = delivery;
  const next = { attemptNumber: Math.max(attemptCount, 1), now: settledAt ?? createdAt };
  return indentedJson(recordBody(delivery, content, webhook, next));
}

function recordBody(
  { offset, createdAt, eventId, eventType }: Delivery,
  { dataJson, correlationId, actorId }: DeliveryContent & { readonly dataJson: string },
  { id, progress }: Webhook,
  { attemptNumber, now }: { readonly attemptNumber: number; readonly now: number },
): string {
  const body = encodeEnvelope({
    subscriptionId: id,
    sessionId: progress.sessionId ?? '',
    attemptNumber,
    records: [{ offset, createdAt, correlationId, messageId: eventId, eventType, actorId, dataJson }],
    now,
  });
  return Buffer.from(body).toString('utf8');
}

/** `/webhooks/{id}`: the state of a webhook, its figures, its history and its actions. */
import { attemptMs } from '../../delivery/claim.ts';
import { attributes, type Html, html } from '../../http/html.ts';
import { STATUS_EVERY_SECONDS, TEST_MARGIN_MS } from '../../kernel/limits/portal.ts';
import { adviceFor, type ErrorClass } from '../../outbound/outcome.ts';
import type { WebhookListing } from '../../store/directory.ts';
import { FAILING_LIMIT_MS, isRunnable, STATE_REASONS, type StopReason } from '../../webhooks/lifecycle.ts';
import type { PastState, PgpKey, Webhook, WebhookState } from '../../webhooks/webhook.ts';
import { viewWebhook } from '../../webhooks/webhook-schema.ts';
import type { PageCall } from '../call.ts';
import { copyable, definitionList, figures, timeline } from '../parts/details.ts';
import { actionButton, buttonRow, linkButton, pageHeader, section, submitButton } from '../parts/header.ts';
import { notice, stateBadge, type Tone, tags } from '../parts/mark.ts';
import { countOf, countText, relativeTime, sentence, spanText, time } from '../parts/text.ts';

export function webhookHeader(call: PageCall, { webhook }: WebhookListing): Html {
  const { id, name } = webhook;
  return pageHeader({
    title: name,
    crumbs: [{ href: '/webhooks', label: 'Webhooks' }],
    badges: [liveBadge(webhook, false)],
    lead: liveSentence(webhook, false),
    actions: [
      call.may('administrator') ? linkButton({ href: `/webhooks/${id}/edit`, label: 'Change', icon: 'edit' }) : null,
      call.may('operator') ? testButton(call, webhook) : null,
      call.may('operator') ? startOrStop(call, webhook) : null,
    ],
  });
}

/** An update of the page replaces it. */
function liveBadge({ progress }: Webhook, isUpdate: boolean): Html {
  return html`<span id="state"${attributes({ 'hx-swap-oob': isUpdate ? 'true' : null })}>${stateBadge(progress.state)}</span>`;
}

function liveSentence(webhook: Webhook, isUpdate: boolean): Html {
  return html`<p id="state-sentence"${attributes({ 'hx-swap-oob': isUpdate ? 'true' : null })}>${stateSentence(webhook)} In this state since ${time(webhook.progress.stateAt)}.</p>`;
}

/** Counted up to a bound. `isWhole` tells that there are no more. */
export type DeadRecords = { readonly records: number; readonly isWhole: boolean };
export type WebhookFigures = { readonly dead: DeadRecords; readonly oldestAt: number | null };

type Status = {
  readonly listing: WebhookListing;
  readonly figures: WebhookFigures;
  readonly hasPage: (path: string) => boolean;
};

/** The state and the figures. The script reloads them every few seconds. */
export function statusRegion(call: PageCall, { listing, figures: counted, hasPage }: Status): Html {
  const { webhook, endpointEnabled, endpointName } = listing;
  const { id, endpointId, progress } = webhook;
  const cannotStart =
    endpointEnabled || isRunnable(progress.state)
      ? null
      : notice({
          tone: 'caution',
          title: 'Its endpoint is not enabled.',
          text: html`<p>It cannot start, and no test can be sent, before <a href="/endpoints/${endpointId}">${endpointName}</a> is verified or enabled.</p>`,
        });
  const refresh = attributes({
    'hx-get': `/webhooks/${id}/status`,
    'hx-trigger': `every ${STATUS_EVERY_SECONDS}s`,
    'hx-swap': 'outerHTML',
  });
  return html`<div id="status" class="status"${refresh}>${stateNotice(webhook, call.now)}${cannotStart}${webhookFigures(call, listing, counted, hasPage('/deliveries'))}${deadSection(call, webhook, counted.dead, hasPage)}</div>`;
}

/** The status with the header above it. */
export function statusUpdate(call: PageCall, status: Status): Html {
  const { webhook } = status.listing;
  return html`${statusRegion(call, status)}${liveBadge(webhook, true)}${liveSentence(webhook, true)}`;
}

/** The script inserts the result into the page. Without it, the page reloads with the result. */
function testButton({ csrf }: PageCall, webhook: Webhook): Html {
  const { id, name } = webhook;
  const action = `/webhooks/${id}/test`;
  const swap = attributes({
    'hx-post': action,
    'hx-target': '#test',
    'hx-swap': 'outerHTML',
    // The receiver may take as long as for any delivery, at most two minutes and 20 seconds.
    'hx-config': `timeout:${attemptMs({ webhook }) + TEST_MARGIN_MS}`,
  });
  return html`<form method="post" action="${action}" class="inline-form"${swap}>${csrf}${submitButton({ label: 'Send a test event', longLabel: `Send a test event through ${name}`, kind: 'plain', icon: 'send' })}</form>`;
}

function startOrStop({ csrf }: PageCall, { id, name, progress }: Webhook): Html {
  const verb = isRunnable(progress.state) ? 'stop' : 'start';
  const label = verb === 'stop' ? 'Stop' : 'Start';
  return actionButton({
    action: `/webhooks/${id}/${verb}`,
    csrf,
    label,
    longLabel: `${label} the webhook ${name}`,
    icon: verb === 'stop' ? 'stop' : 'play',
    kind: verb === 'stop' ? 'plain' : 'primary',
  });
}

/** `hasDeliveries`: the portal has a page that lists these records. */
function webhookFigures(
  { now }: PageCall,
  { webhook, pendingRecords }: WebhookListing,
  { dead, oldestAt }: WebhookFigures,
  hasDeliveries: boolean,
): Html {
  const { id, progress } = webhook;
  const link = (state: string): { href?: string } =>
    hasDeliveries ? { href: `/deliveries?webhook=${id}&state=${state}` } : {};
  return figures([
    {
      label: 'Waiting',
      value: countText(pendingRecords),
      hint: oldestAt === null ? 'Nothing waits' : html`the oldest from ${relativeTime(oldestAt, now)}`,
      ...link('pending'),
    },
    {
      label: 'Dead',
      value: `${countText(dead.records)}${dead.isWhole ? '' : '+'}`,
      tone: dead.records > 0 ? 'negative' : 'neutral',
      hint: dead.records > 0 ? 'kept until they are sent again' : 'Nothing was given up',
      ...link('dead'),
    },
    { label: 'Records in all', value: countText(progress.nextOffset), hint: 'since it was created' },
    { label: 'Last attempt', value: relativeTime(progress.sentAt, now), hint: 'heartbeats among them' },
  ]);
}

/** `12 records`, or `more than 10,000 records` if not all were counted. */
export function deadCount({ records, isWhole }: DeadRecords): string {
  return isWhole ? countOf(records, 'record') : `more than ${countOf(records - 1, 'record')}`;
}

/** Dead records, with a link to the page that counts and replays them. */
function deadSection(
  call: PageCall,
  { id }: Webhook,
  dead: DeadRecords,
  hasPage: (path: string) => boolean,
): Html | null {
  if (dead.records === 0) return null;
  const filtered = `/deliveries?webhook=${id}&state=dead`;
  const count = deadCount(dead);
  return section({
    title: `${count.slice(0, 1).toUpperCase()}${count.slice(1)} ${dead.records === 1 ? 'is' : 'are'} dead`,
    actions: [
      hasPage('/deliveries') ? linkButton({ href: filtered, label: 'See them' }) : null,
      call.may('operator') && hasPage('/deliveries/replay')
        ? linkButton({ href: `/deliveries/replay?webhook=${id}&state=dead`, label: 'Send them again', icon: 'replay' })
        : null,
    ],
    content: html`<p class="quiet">What is dead used up its attempts. It is kept, and can be sent again once the receiver is well. Every record keeps its message id, so that the receiver can drop what it has had.</p>`,
  });
}

export function settingsSection({ webhook, endpointName }: WebhookListing, key: PgpKey | null): Html {
  const { id, endpointId, eventTypes, customHeaders, progress } = webhook;
  const headers = customHeaders.map(({ name, value }) => html`<li><code>${name}: ${value}</code></li>`);
  return section({
    title: 'Settings',
    content: definitionList([
      ['Endpoint', html`<a href="/endpoints/${endpointId}">${endpointName}</a>`],
      ['Events', tags(eventTypes)],
      [
        'Encrypted for',
        key === null ? 'nobody: bodies go out in clear, over TLS' : html`<a href="/keys/${key.id}">${key.name}</a>`,
      ],
      ['Order', webhook.ordered ? 'one batch at a time, as things happened' : 'as it comes, up to 8 requests at once'],
      ['Batches', `up to ${webhook.maxBatchRecords} ${webhook.maxBatchRecords === 1 ? 'record' : 'records'}`],
      [
        'Rate',
        webhook.maxRecordsPerSecond === null
          ? 'as fast as the receiver answers'
          : `up to ${webhook.maxRecordsPerSecond} records a second`,
      ],
      [
        'Retries',
        `${webhook.maxAttempts} ${webhook.maxAttempts === 1 ? 'attempt' : 'attempts'}, with ${webhook.retryPolicy === 'exponential' ? 'growing' : 'steady'} pauses`,
      ],
      ['Time for an answer', spanText(webhook.timeoutSeconds * 1000)],
      [
        'Heartbeat',
        webhook.heartbeatSeconds === 0
          ? 'none'
          : `after ${spanText(webhook.heartbeatSeconds * 1000)} without anything else`,
      ],
      ['Standard Webhooks', webhook.standardWebhooks ? 'signed so, too' : 'no'],
      ['Custom headers', headers.length === 0 ? null : html`<ul>${headers}</ul>`],
      ['Webhook id', copyable(id), 'subscriptionId in every body.'],
      [
        'Session',
        progress.sessionId === null ? null : copyable(progress.sessionId, 'session id'),
        'New at each start, and every 24 hours.',
      ],
      ['Created', time(webhook.createdAt)],
      ['Changed', time(webhook.updatedAt)],
    ]),
  });
}

export function removalSection({ id }: Webhook): Html {
  return section({
    title: 'Delete',
    lead: 'With its log: what waits is not sent, and what is dead cannot be sent again.',
    content: buttonRow([linkButton({ href: `/webhooks/${id}/delete`, label: 'Delete the webhook', icon: 'trash' })]),
  });
}

/** The state, with advice if something has to be done. */
export function stateNotice(webhook: Webhook, now: number): Html | null {
  const { state, stateReason, stateDescription } = viewWebhook(webhook);
  const { failingSinceAt } = webhook.progress;
  if (state === 'failing') {
    const givenUpAt = failingSinceAt === null ? null : failingSinceAt + FAILING_LIMIT_MS;
    return notice({
      tone: 'caution',
      title: reasonSentence(stateReason),
      text: html`<p>${stateDescription ?? ''}</p>${givenUpAt === null ? null : html`<p>Every attempt has failed since ${time(failingSinceAt)}. What waits is tried again. If none succeeds, it is given up ${relativeTime(givenUpAt, now)}.</p>`}`,
    });
  }
  if (state === 'failed') {
    return notice({ tone: 'negative', title: 'The service gave it up.', text: stateDescription ?? '' });
  }
  if (state === 'stopped' && stateReason !== null && stateReason !== 'stopped_by_administrator') {
    return notice({ tone: 'caution', title: 'The service stopped it.', text: stateDescription ?? '' });
  }
  return null;
}

export function stateSentence({ progress }: Webhook): string {
  if (progress.state === 'stopped' && progress.stateReason === null) {
    return 'It has not been started yet. What happens meanwhile waits.';
  }
  return SENTENCES[progress.state];
}

const SENTENCES: Readonly<Record<WebhookState, string>> = {
  started: 'It sends: its first delivery or heartbeat is under way.',
  running: 'It sends, and the last attempt succeeded.',
  failing: 'It sends, and the last attempt failed.',
  failed: 'It sends no more. What waits is kept, and new records join it.',
  stopped: 'It does not send. What waits is kept, and new records join it.',
};

/** `http_status: the receiver answered 503` as a sentence without its code. */
function reasonSentence(reason: string | null): string {
  if (reason === null) return 'The last attempt failed.';
  const at = reason.indexOf(': ');
  return at === -1 ? `The last attempt failed (${reason}).` : sentence(reason.slice(at + 2));
}

/** `at` is when the webhook was created. */
export function historySection(
  history: readonly PastState[],
  isWhole: boolean,
  createdAt: number,
  auditLink: Html,
): Html {
  const moments = history.map(({ state, at, reason }) => ({
    at,
    title: stateBadge(state),
    tone: TONES[state],
    text: reason === null ? null : reasonText(reason),
  }));
  const begin = { at: createdAt, title: 'Created', tone: 'neutral' as const };
  return section({
    title: 'What it went through',
    actions: [auditLink],
    content: timeline(isWhole ? [...moments, begin] : moments),
  });
}

const TONES: Readonly<Record<WebhookState, Tone>> = {
  started: 'info',
  running: 'positive',
  failing: 'caution',
  failed: 'negative',
  stopped: 'neutral',
};

function reasonText(reason: string): string {
  const [code = ''] = reason.split(':', 1);
  const known = STATE_REASONS[code as StopReason] as string | undefined;
  if (known !== undefined) return known;
  const detail = reason.slice(code.length + 2);
  return detail === '' ? adviceFor(code as ErrorClass) : sentence(detail);
}

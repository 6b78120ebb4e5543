/** `/webhooks/{id}`: the state of a webhook, its figures, its history and its actions. */
import { attemptMs } from '../../delivery/claim.ts';
import { filterText } from '../../domain/filter-text.ts';
import type { PgpKey, Webhook, WebhookOrder, WebhookState } from '../../domain/webhook.ts';
import { FAILING_LIMIT_MS, isRunnable, NO_DEAD_LEFT } from '../../domain/webhook-states.ts';
import { attributes, type Html, html } from '../../http/html.ts';
import { type Day, successRate } from '../../observe/figures.ts';
import type { WebhookListing } from '../../store/port/directory.ts';
import { viewWebhook } from '../../webhooks/webhook-schema.ts';
import type { PageCall } from '../frame/call.ts';
import { copyable, definitionList, figures } from '../parts/details.ts';
import { actionButton, buttonRow, linkButton, pageHeader, section, submitButton } from '../parts/header.ts';
import { attemptsText, failingFacts, figureTone } from '../parts/health.ts';
import { TEST_MARGIN_MS } from '../parts/limits.ts';
import { notice, stateBadge, tags } from '../parts/mark.ts';
import {
  capital,
  countOf,
  countText,
  reasonSentence,
  relativeTime,
  shareText,
  shortTime,
  spanText,
  time,
} from '../parts/text.ts';
import { formatText, retriesText } from './format-fields.ts';
import { signatureName } from './signature-fields.ts';
import { failsBriefly } from './webhook-history.ts';

export function webhookHeader(call: PageCall, { listing: { webhook }, figures }: Status): Html {
  const { id, name } = webhook;
  return pageHeader({
    title: name,
    crumbs: [{ href: '/webhooks', label: 'Webhooks' }],
    badges: [shownState(call, webhook, figures)],
    lead: stateLead(call, webhook, figures),
    actions: [
      call.may('administrator') ? linkButton({ href: `/webhooks/${id}/edit`, label: 'Change', icon: 'edit' }) : null,
      call.may('operator') && webhook.mode === 'push' ? testButton(call, webhook) : null,
      call.may('operator') ? startOrStop(call, webhook) : null,
    ],
  });
}

function shownState({ now }: PageCall, { progress }: Webhook, { day }: WebhookFigures): Html {
  const shown = failsBriefly(progress, day, now) ? 'running' : progress.state;
  return html`<span id="state">${stateBadge(shown)}</span>`;
}

function stateLead({ now }: PageCall, webhook: Webhook, { day }: WebhookFigures): Html {
  const { progress } = webhook;
  const text = failsBriefly(progress, day, now)
    ? 'The last attempt failed and will be retried. Most recent attempts succeeded.'
    : // The notice below says since when it fails.
      progress.state === 'failing'
      ? stateSentence(webhook)
      : html`${stateSentence(webhook)} In this state since ${time(progress.stateAt)}.`;
  return html`<p>${text}</p>`;
}

/** Counted up to a bound. `isWhole` tells that there are no more. */
export type DeadRecords = { readonly records: number; readonly isWhole: boolean };
export type WebhookFigures = {
  readonly dead: DeadRecords;
  readonly oldestAt: number | null;
  readonly day: Day | undefined;
  /** When its failures began, as its history says. */
  readonly failsSince: number | null;
  /** Its last successful attempt, if it is among the recent ones. */
  readonly deliveredAt: number | null;
};

export type Status = {
  readonly listing: WebhookListing;
  readonly figures: WebhookFigures;
  readonly hasPage: (path: string) => boolean;
};

/** The state and the figures. */
export function statusRegion(call: PageCall, { listing, figures: counted, hasPage }: Status): Html {
  const { webhook, endpointEnabled, endpointName } = listing;
  const { endpointId, progress } = webhook;
  const cannotStart =
    endpointEnabled || isRunnable(progress.state)
      ? null
      : notice({
          tone: 'caution',
          title: 'Its endpoint is not enabled.',
          text: html`
            <p>
              The webhook cannot start or send a test event until you verify or enable
              <a href="/endpoints/${endpointId}">${endpointName}</a>.
            </p>
          `,
        });
  return html`
    <div id="status" class="status">
      ${failsBriefly(progress, counted.day, call.now) ? null : stateNotice(webhook, counted, call.now)}
      ${cannotStart}
      ${webhookFigures(call, listing, counted, hasPage('/deliveries'))}
      ${deadSection(call, webhook, counted.dead, hasPage)}
    </div>
  `;
}

/** The script inserts the result into the page. Without it, the page reloads with the result. */
function testButton({ csrf }: PageCall, webhook: Webhook): Html {
  const { id, name } = webhook;
  const action = `/webhooks/${id}/test`;
  const swap = attributes({
    'data-hx-post': action,
    'data-hx-target': '#test',
    'data-hx-swap': 'outerHTML',
    // The receiver may take as long as for any delivery, at most two minutes and 20 seconds.
    'data-hx-config': `timeout:${attemptMs({ webhook }) + TEST_MARGIN_MS}`,
  });
  return html`
    <form method="post" action="${action}" class="inline-form"${swap}>
      ${csrf}
      ${submitButton({
        id: 'test-button',
        label: 'Send a test event',
        longLabel: `Send a test event through ${name}`,
        kind: 'plain',
        icon: 'send',
      })}
    </form>
  `;
}

function startOrStop({ csrf }: PageCall, { id, name, progress }: Webhook): Html {
  const verb = isRunnable(progress.state) ? 'stop' : 'start';
  const label = verb === 'stop' ? 'Stop' : 'Start';
  return actionButton({
    action: `/webhooks/${id}/${verb}`,
    csrf,
    id: `${verb}-button`,
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
  { dead, oldestAt, day }: WebhookFigures,
  hasDeliveries: boolean,
): Html {
  const { id, progress } = webhook;
  const link = (state: string): { href?: string } =>
    hasDeliveries ? { href: `/deliveries?webhook=${id}&state=${state}` } : {};
  if (webhook.mode === 'pull') return readerFigures(webhook, { now, pendingRecords, oldestAt }, link('pending'));
  const rate = day === undefined ? null : successRate(day);
  return figures([
    {
      label: 'Succeeded, 24 h',
      value: rate === null ? '–' : shareText(rate),
      tone: figureTone(rate),
      hint: rate === null || day === undefined ? 'No event was sent' : attemptsText(day),
    },
    {
      label: 'Waiting',
      value: countText(pendingRecords),
      hint: oldestAt === null ? 'Nothing waits' : html`oldest ${relativeTime(oldestAt, now)}`,
      ...link('pending'),
    },
    {
      label: 'Dead',
      value: `${countText(dead.records)}${dead.isWhole ? '' : '+'}`,
      tone: dead.records > 0 ? 'negative' : 'neutral',
      hint: dead.records > 0 ? 'kept until you send them again' : 'No delivery is dead',
      ...link('dead'),
    },
    { label: 'Events in total', value: countText(progress.nextOffset), hint: 'since it was created' },
    { label: 'Last attempt', value: relativeTime(progress.sentAt, now), hint: 'heartbeats included' },
  ]);
}

/** How far the reader of a webhook in mode `pull` is. */
function readerFigures(
  { progress }: Webhook,
  { now, pendingRecords, oldestAt }: { now: number; pendingRecords: number; oldestAt: number | null },
  unreadLink: { href?: string },
): Html {
  return figures([
    {
      label: 'Unread',
      value: countText(pendingRecords),
      hint: oldestAt === null ? 'Everything is acknowledged' : html`oldest ${relativeTime(oldestAt, now)}`,
      ...unreadLink,
    },
    {
      label: 'Acknowledged through',
      value: progress.cursorOffset === 0 ? '–' : `#${countText(progress.cursorOffset - 1)}`,
      hint: 'the offset at which the next read begins',
    },
    {
      label: 'Lag',
      value: oldestAt === null ? '–' : spanText(now - oldestAt),
      hint: 'age of the oldest unread record',
    },
    { label: 'Events in total', value: countText(progress.nextOffset), hint: 'since it was created' },
    { label: 'Last acknowledgement', value: relativeTime(progress.sentAt, now), hint: 'by its reader' },
  ]);
}

/** `12 deliveries`, or `more than 10,000 deliveries` if not all were counted. */
export function deadCount({ records, isWhole }: DeadRecords, kind: '' | 'dead ' = ''): string {
  const counted = countOf(isWhole ? records : records - 1, `${kind}delivery`, undefined, `${kind}deliveries`);
  return isWhole ? counted : `more than ${counted}`;
}

/** Dead deliveries, with a link to the page that counts them and sends them again. */
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
    title: `${capital(count)} ${dead.records === 1 ? 'is' : 'are'} dead`,
    actions: [
      hasPage('/deliveries') ? linkButton({ href: filtered, label: 'See them' }) : null,
      call.may('operator') && hasPage('/deliveries/replay')
        ? linkButton({ href: `/deliveries/replay?webhook=${id}&state=dead`, label: 'Send them again', icon: 'replay' })
        : null,
    ],
    content: html`
      <p class="quiet">
        Dead deliveries used up their attempts. They are kept, and you can send them again once the receiver works.
        Each keeps its message id, so the receiver can drop duplicates.
      </p>
    `,
  });
}

export function settingsSection({ webhook, endpointName }: WebhookListing, key: PgpKey | null): Html {
  const { id, endpointId, eventTypes, progress } = webhook;
  return section({
    title: 'Settings',
    content: definitionList([
      endpointId === null
        ? ['Mode', 'pull: a reader fetches the events']
        : ['Endpoint', html`<a href="/endpoints/${endpointId}">${endpointName}</a>`],
      ['Events', tags(eventTypes)],
      ['Filter', webhook.filter === null ? 'none: all of these events' : `only if ${filterText(webhook.filter)}`],
      ['Format', formatText(webhook)],
      [
        'Encrypted for',
        key === null ? 'not encrypted, sent over TLS' : html`<a href="/keys/${key.id}">${key.name}</a>`,
      ],
      ...(endpointId === null ? [] : sendingSettings(webhook)),
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

/** The settings that only mode `push` has. */
function sendingSettings(webhook: Webhook): Parameters<typeof definitionList>[0] {
  const { customHeaders } = webhook;
  const headers = customHeaders.map(({ name, value }) => html`<li><code>${name}: ${value}</code></li>`);
  return [
    ['Order', orderText(webhook.ordered)],
    ['Batches', `up to ${webhook.maxBatchRecords} ${webhook.maxBatchRecords === 1 ? 'event' : 'events'}`],
    [
      'Rate',
      webhook.maxRecordsPerSecond === null ? 'not limited' : `up to ${webhook.maxRecordsPerSecond} events a second`,
    ],
    ['Retries', retriesText(webhook)],
    ['Time-out', spanText(webhook.timeoutSeconds * 1000)],
    [
      'Heartbeat',
      webhook.heartbeatSeconds === 0
        ? 'none'
        : `after ${spanText(webhook.heartbeatSeconds * 1000)} without another request`,
    ],
    ['Standard Webhooks', webhook.standardWebhooks ? 'signed as well' : 'no'],
    [
      'Signature of another product',
      webhook.signature === null
        ? 'none'
        : html`${signatureName(webhook)}, <a href="/webhooks/${webhook.id}/signature">preview</a>`,
    ],
    ['Custom headers', headers.length === 0 ? 'none' : html`<ul>${headers}</ul>`],
  ];
}

function orderText(ordered: WebhookOrder): string {
  if (ordered === 'key') return 'events of one ordering key one after another';
  return ordered ? 'one batch at a time, in the order of the events' : 'not ordered, up to 8 concurrent requests';
}

export function removalSection({ id, mode }: Webhook): Html {
  return section({
    title: 'Delete',
    lead:
      mode === 'pull'
        ? 'Deletes its log too: unread records cannot be read any more.'
        : 'Deletes its log too: waiting deliveries are not sent, and dead ones cannot be sent again.',
    content: buttonRow([linkButton({ href: `/webhooks/${id}/delete`, label: 'Delete the webhook', icon: 'trash' })]),
  });
}

/** The problem of a webhook, with advice; null if there is none. */
export function stateNotice(
  webhook: Webhook,
  { failsSince, deliveredAt, dead }: Pick<WebhookFigures, 'failsSince' | 'deliveredAt' | 'dead'>,
  now: number,
): Html | null {
  const { state, stateReason, stateDescription } = viewWebhook(webhook);
  const { failingSinceAt } = webhook.progress;
  if (state === 'failing') {
    const givenUpAt = failingSinceAt === null ? null : failingSinceAt + FAILING_LIMIT_MS;
    return notice({
      tone: 'caution',
      title: reasonSentence(stateReason),
      text: html`
        <p>${stateDescription ?? ''}</p>
        ${
          givenUpAt === null
            ? null
            : html`
              <p>
                ${failingFacts(failsSince ?? failingSinceAt ?? now, deliveredAt, now)} Waiting deliveries are retried. Without
                a success, the webhook stops ${relativeTime(givenUpAt, now)} (${shortTime(givenUpAt)}).
              </p>
            `
        }
      `,
    });
  }
  if (state === 'failed') {
    return notice({
      tone: 'negative',
      title: 'It was stopped because deliveries failed.',
      text: html`
        <p>${stateReason === 'too_many_dead' && dead.records === 0 ? NO_DEAD_LEFT : (stateDescription ?? '')}</p>
        <p><a href="/deliveries/failures?webhook=${webhook.id}">See the failures</a></p>
      `,
    });
  }
  if (state === 'stopped' && stateReason !== null && stateReason !== 'stopped_by_administrator') {
    return notice({ tone: 'caution', title: 'It was stopped automatically.', text: stateDescription ?? '' });
  }
  return null;
}

export function stateSentence({ mode, progress }: Webhook): string {
  if (mode === 'pull') return READER_SENTENCES[progress.state];
  if (progress.state === 'stopped' && progress.stateReason === null) {
    return 'It has not been started yet. New deliveries wait.';
  }
  return SENTENCES[progress.state];
}

const SENTENCES: Readonly<Record<WebhookState, string>> = {
  started: 'It is started, and nothing was sent yet. It shows “running” after the first delivery or heartbeat.',
  running: 'The last attempt succeeded.',
  failing: 'The last attempt failed and will be retried.',
  failed: 'Nothing is sent. Waiting and new deliveries are kept.',
  stopped: 'Nothing is sent. Waiting and new deliveries are kept.',
};

const READER_SENTENCES: Readonly<Record<WebhookState, string>> = {
  started: 'Its reader has acknowledged nothing since the start.',
  running: 'Its reader acknowledges what it has processed.',
  failing: 'Its reader acknowledges what it has processed.',
  failed: 'Nothing can be read. Waiting and new records are kept.',
  stopped: 'Nothing can be read. Waiting and new records are kept.',
};

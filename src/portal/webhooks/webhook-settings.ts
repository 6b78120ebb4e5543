/** The tab “Settings” of a webhook: its settings in groups, its id, and its removal. */
import { DELIVERIES_IN_FLIGHT_PER_ENDPOINT } from '../../delivery/limits.ts';
import { filterText } from '../../domain/filter-text.ts';
import type { PgpKey, Webhook, WebhookOrder } from '../../domain/webhook.ts';
import { DEAD_STREAK_LIMIT, FAILING_LIMIT_MS } from '../../domain/webhook-states.ts';
import { type Html, html } from '../../http/html.ts';
import type { WebhookListing } from '../../store/port/directory.ts';
import type { PageCall } from '../frame/call.ts';
import { copyable, type Definition, definitionList } from '../parts/details.ts';
import { section } from '../parts/header.ts';
import { tags } from '../parts/mark.ts';
import { removalSection } from '../parts/removal.ts';
import { spanText, time } from '../parts/text.ts';
import { formatText, HELD_BACK, retriesText } from './format-fields.ts';
import { signatureName } from './signature-fields.ts';

/** `key`: its PGP key; null if it has none. */
export function settingsSections(call: PageCall, { webhook, endpointName }: WebhookListing, key: PgpKey | null): Html {
  const isPushed = webhook.endpointId !== null;
  const events = section({
    title: 'Events',
    id: 'events',
    content: definitionList([
      isPushed
        ? ['Endpoint', html`<a href="/endpoints/${webhook.endpointId}">${endpointName}</a>`]
        : ['Mode', 'pull: a reader fetches the events'],
      ['Event types', tags(webhook.eventTypes)],
      ['Filter', webhook.filter === null ? 'none: all of these events' : `only if ${filterText(webhook.filter)}`],
    ]),
  });
  const request = section({
    title: isPushed ? 'Requests' : 'Records',
    id: 'requests',
    content: definitionList([
      ['Format', formatText(webhook)],
      [
        'PGP key',
        key === null ? 'none: not encrypted, sent over TLS' : html`<a href="/keys/${key.id}">${key.name}</a>`,
        key === null ? undefined : 'The events are encrypted for it.',
      ],
      ...(isPushed ? requestRows(webhook) : []),
    ]),
  });
  const delivery = isPushed
    ? section({ title: 'Delivery', id: 'delivery', content: definitionList(deliveryRows(webhook)) })
    : null;
  return html`
    <div class="columns columns-even" id="settings">
      <div class="column">${events}${delivery}</div>
      <div class="column">${request}${identification(webhook)}</div>
    </div>
    ${call.may('administrator') ? removal(webhook) : null}
  `;
}

function requestRows(webhook: Webhook): readonly Definition[] {
  const { id, customHeaders, standardWebhooks, signature } = webhook;
  const headers = customHeaders.map(({ name, value }) => html`<li><code>${name}: ${value}</code></li>`);
  return [
    ['Custom headers', headers.length === 0 ? 'none' : html`<ul>${headers}</ul>`],
    ...(standardWebhooks ? [['Standard Webhooks', 'signed as well'] as const] : []),
    ...(signature === null
      ? []
      : [
          [
            'Signature of another product',
            html`${signatureName(webhook)}, <a href="/webhooks/${id}/signature">preview</a>`,
          ] as const,
        ]),
  ];
}

const STOPS =
  `If nothing succeeds for ${FAILING_LIMIT_MS / 3_600_000} hours, or ${DEAD_STREAK_LIMIT} requests in a row use up their ` +
  'attempts, the webhook stops and keeps its deliveries.';

function deliveryRows(webhook: Webhook): readonly Definition[] {
  const { maxBatchRecords, maxRecordsPerSecond, timeoutSeconds, heartbeatSeconds } = webhook;
  return [
    ['Retries', retriesText(webhook), STOPS],
    ['Time-out', `${spanText(timeoutSeconds * 1000)} for an attempt`],
    ['Order', orderText(webhook.ordered), webhook.ordered === true ? undefined : HELD_BACK],
    ['Batches', maxBatchRecords === 1 ? 'one event a request' : `up to ${maxBatchRecords} events a request`],
    ['Rate', maxRecordsPerSecond === null ? 'not limited' : `up to ${maxRecordsPerSecond} events a second`],
    [
      'Heartbeat',
      heartbeatSeconds === 0
        ? 'none: without events nothing is sent'
        : `an empty request after ${spanText(heartbeatSeconds * 1000)} without another request`,
    ],
  ];
}

function identification({ id, progress, createdAt, updatedAt }: Webhook): Html {
  return section({
    title: 'Identification',
    id: 'identification',
    content: definitionList([
      ['Webhook id', copyable(id), 'subscriptionId in every body.'],
      [
        'Session',
        progress.sessionId === null ? null : copyable(progress.sessionId, 'session id'),
        'sessionId in every body. New at each start, and every 24 hours.',
      ],
      ['Created', time(createdAt)],
      ['Changed', time(updatedAt)],
    ]),
  });
}

function orderText(ordered: WebhookOrder): string {
  if (ordered === 'key') return 'events of one ordering key one after another';
  return ordered
    ? 'one batch at a time, in the order of the events'
    : `not ordered, up to ${DELIVERIES_IN_FLIGHT_PER_ENDPOINT} concurrent requests`;
}

function removal({ id, mode }: Webhook): Html {
  const text =
    mode === 'pull'
      ? 'Deletes its log too: pending records cannot be read any more.'
      : 'Deletes its log too: pending deliveries are not sent, and dead ones cannot be sent again.';
  return removalSection({ path: `/webhooks/${id}`, noun: 'webhook', text });
}

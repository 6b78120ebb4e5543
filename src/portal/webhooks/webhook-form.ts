/** The fields of a webhook, its events, and the rule that some events must be encrypted. */
import { DELIVERIES_IN_FLIGHT_PER_ENDPOINT } from '../../delivery/limits.ts';
import { EMPLOYEE_CATEGORY, type EventType, encryptionNeed } from '../../domain/event.ts';
import {
  ATTEMPT_TIMEOUT_MAX_SECONDS,
  ATTEMPTS_MAX,
  BATCH_BYTES,
  BATCH_RECORDS_MAX,
  CUSTOM_HEADERS_MAX,
} from '../../domain/limits.ts';
import type { PgpKey, Webhook } from '../../domain/webhook.ts';
import { attributes, type Html, html } from '../../http/html.ts';
import type { EndpointName } from '../../store/port/directory.ts';
import { viewWebhook } from '../../webhooks/webhook-schema.ts';
import type { SharedPageDependencies } from '../frame/page.ts';
import type { Choice } from '../parts/fields.ts';
import { fieldGroup } from '../parts/form.ts';
import { notice } from '../parts/mark.ts';
import { capital, sizeText } from '../parts/text.ts';
import { type Body, type FieldTable, number, oneOf, rows, select, text, tick } from '../record/field-table.ts';
import type { FormLayout } from '../record/record-pages.ts';
import { filterField } from './filter-editor.ts';
import { defaultText, formatFields, HELD_BACK, RETRY_DELAYS } from './format-fields.ts';
import { REQUEST_PREVIEW } from './request-preview.ts';
import { signatureFields, signatureLayout } from './signature-fields.ts';
import { eventsField, MORE, NAME, patternsOf } from './webhook-events.ts';
import { summaryRegion } from './webhook-summary.ts';

/** The choices of the form. */
type WebhookChoices = {
  readonly endpoints: readonly EndpointName[];
  readonly eventTypes: readonly EventType[];
  readonly keys: readonly PgpKey[];
  readonly now: number;
};

export function webhookFields(before: Webhook | null, choices: WebhookChoices): FieldTable {
  const { endpointId, ...always } = destination(before, choices);
  if (before?.mode === 'pull') return always;
  return {
    ...always,
    ...(endpointId === undefined ? {} : { endpointId }),
    ...order(),
    ...batches(before),
    ...retries(),
    ...requests(before),
    ...(before === null && { mode: MODE, start: START }),
  };
}

/** A form offers only so many choices. The present one stays, even if it is not among them. */
function unlisted(present: string | null | undefined, listed: readonly string[], label = present ?? ''): Choice[] {
  return present == null || listed.includes(present) ? [] : [{ value: present, label }];
}

function destination(before: Webhook | null, { endpoints, eventTypes, keys, now }: WebhookChoices): FieldTable {
  return {
    name: text({
      label: 'Name',
      isRequired: true,
      placeholder: 'Orders to the shop',
      hint: 'Shown in lists and in messages about failures.',
    }),
    endpointId: select(
      {
        label: 'Endpoint',
        isRequired: true,
        isSearched: true,
        choices: [
          { value: '', label: endpoints.length === 0 ? 'No endpoint yet' : 'Choose an endpoint' },
          ...endpoints.map(({ id, name, enabled, tokenChallenge, verified }) => ({
            value: id,
            label: enabled ? name : `${name} (${tokenChallenge && !verified ? 'not verified' : 'disabled'})`,
          })),
          ...unlisted(
            before?.endpointId,
            endpoints.map(({ id }) => id),
            'The endpoint that it has now',
          ),
        ],
        hint:
          endpoints.length === 0
            ? html`<a href="/endpoints/new">Create an endpoint</a> first: the address that the events go to.`
            : html`Or <a href="/endpoints/new">create an endpoint</a>.`,
      },
      {
        compare: (sent, name) => {
          const chosen = sent.get(name) ?? '';
          return endpoints.find(({ id }) => id === chosen)?.name ?? chosen;
        },
      },
    ),
    ...formatFields(),
    eventTypes: eventsField(eventTypes),
    filter: filterField(eventTypes, patternsOf),
    encryptionKeyName: select({
      label: 'Key',
      isSearched: true,
      choices: [
        { value: '', label: 'None: not encrypted, sent over TLS' },
        ...keys.map(({ name, expiresAt }) => {
          const isExpired = expiresAt !== null && expiresAt <= now;
          return { value: name, label: isExpired ? `${name} (expired)` : name, isDisabled: isExpired };
        }),
        ...unlisted(
          before?.encryptionKeyName,
          keys.map(({ name }) => name),
        ),
      ],
      hint:
        keys.length === 0
          ? html`There is no key yet. <a href="/keys/new">Import the receiver’s key</a> first.`
          : 'Every body is encrypted with this key. If the key expires or encryption fails, nothing is sent.',
    }),
  };
}

function order(): FieldTable {
  return {
    ordered: oneOf(
      {
        label: 'Order',
        choices: [
          {
            value: 'none',
            label: 'None',
            hint: `Up to ${DELIVERIES_IN_FLIGHT_PER_ENDPOINT} requests run concurrently. ${HELD_BACK}`,
          },
          {
            value: 'key',
            label: 'By key',
            hint:
              'Events with the same ordering key one after another. A failing event blocks only the events of its key, ' +
              'until it is delivered or dead.',
          },
          {
            value: 'all',
            label: 'All events',
            hint:
              'One batch at a time. A failing batch blocks the ones behind it until it is delivered or dead, which may ' +
              'take days.',
          },
        ],
      },
      {
        read: (sent, name) => (sent.get(name) === 'key' ? 'key' : sent.get(name) === 'all'),
        fill: (value, name) => ({ [name]: value === 'key' ? 'key' : value === true ? 'all' : 'none' }),
      },
    ),
  };
}

function batches(before: Webhook | null): FieldTable {
  return {
    batch: tick({
      label: 'Several CloudEvents in one body',
      title: 'Batches',
      hint: 'Only with CloudEvents. The body is a list of up to as many events as a batch has records.',
    }),
    maxBatchRecords: number({
      label: 'Events per batch',
      isPreset: true,
      min: 1,
      max: BATCH_RECORDS_MAX,
      hint:
        `1 to ${BATCH_RECORDS_MAX}. ${defaultText(before, 'maxBatchRecords')} A batch has at most ${sizeText(BATCH_BYTES)}. ` +
        'With 1, every event is a request of its own.',
    }),
    maxRecordsPerSecond: number({
      label: 'Events per second',
      step: 0.01,
      hint: 'Leave empty for no limit. Events above the rate wait.',
    }),
  };
}

function retries(): FieldTable {
  return {
    'retry.policy': oneOf({
      label: 'Backoff',
      choices: [
        {
          value: 'exponential',
          label: 'Exponential',
          hint:
            '5 s, 10 s, 20 s and so on up to 12 h, with jitter. 20 attempts span about two and a half days. If no ' +
            'attempt succeeds for 24 hours, the webhook stops and keeps its deliveries until you start it again.',
        },
        { value: 'linear', label: 'Linear', hint: '30 s, 60 s, 90 s and so on. 20 attempts span 95 minutes.' },
        {
          value: 'schedule',
          label: 'Schedule',
          hint: 'The delays that you list. There is one attempt more than delays.',
        },
      ],
    }),
    'retry.maxAttempts': number({
      label: 'Attempts',
      isPreset: true,
      min: 1,
      max: ATTEMPTS_MAX,
      hint: `1 to ${ATTEMPTS_MAX}, unless there is a schedule. After the last attempt a batch is dead: it is kept, to be sent again.`,
    }),
    'retry.delaysSeconds': RETRY_DELAYS,
  };
}

function requests(before: Webhook | null): FieldTable {
  return {
    timeoutSeconds: number({
      label: 'Time-out (seconds)',
      isPreset: true,
      title: 'Time-out',
      min: 1,
      max: ATTEMPT_TIMEOUT_MAX_SECONDS,
      hint: `1 to ${ATTEMPT_TIMEOUT_MAX_SECONDS}, for a whole attempt. Receivers should respond first and process afterwards.`,
    }),
    heartbeatSeconds: number({
      label: 'Heartbeat (seconds)',
      isPreset: true,
      title: 'Heartbeat',
      min: 0,
      hint:
        'An empty request after this time without another one, so that a receiver notices an outage. 0 turns it off. ' +
        defaultText(before, 'heartbeatSeconds'),
    }),
    customHeaders: rows({
      label: 'Custom headers',
      hint:
        'Sent and signed with every request. A name is x- and up to 25 letters, digits and dashes. A value has ' +
        `letters, digits and - _ , . only. At most ${CUSTOM_HEADERS_MAX}.`,
      fields: [
        { name: 'name', label: 'Name', placeholder: 'x-tenant' },
        { name: 'value', label: 'Value', placeholder: 'acme' },
      ],
      spare: 2,
      max: CUSTOM_HEADERS_MAX,
    }),
    standardWebhooks: tick({
      label: 'Also sign with Standard Webhooks',
      hint:
        'Adds webhook-id, webhook-timestamp and webhook-signature. Its libraries verify them with whsec_ and the ' +
        'secret. Not possible with compression or encryption.',
    }),
    ...signatureFields(),
  };
}

/** It cannot be changed later. */
const MODE = oneOf({
  label: 'Mode',
  choices: [
    { value: 'push', label: 'Push', hint: 'The events are sent to an endpoint.' },
    {
      value: 'pull',
      label: 'Pull',
      hint:
        'A reader fetches the events and acknowledges them, for example from a network that cannot be reached. It ' +
        'needs no endpoint, and starts immediately.',
    },
  ],
});

/** In mode `pull`, no endpoint is chosen. */
export function withoutEndpoint(body: Body): Body {
  if (body.mode !== 'pull' || body.endpointId !== '') return body;
  const { endpointId: _, ...others } = body;
  return others;
}

/** Whether to start the webhook after its creation. Not a field of the API. */
const START = {
  ...tick({ label: 'Start it immediately', hint: 'Otherwise events wait until you start it.' }),
  read: () => undefined,
};

export function webhookLayout(layout: FormLayout<Webhook, WebhookChoices>): Html {
  const { state, before, choices, field, more } = layout;
  const { eventTypes } = choices;
  const hasKey = state.value('encryptionKeyName') !== '';
  const isPulled = before?.mode === 'pull';
  const rule = ruleBox(encryptionRule(patternsOf(state.fields), hasKey, eventTypes));
  const startTick = before === null ? html`<div class="push-only">${field('start')}</div>` : null;
  return html`
    ${fieldGroup('Webhook', null, [
      field('name'),
      isPulled ? null : html`<div class="push-only">${field('endpointId')}</div>`,
    ])}
    ${field('eventTypes')}
    ${more('Filter: only events that meet conditions', 'filter')}
    ${fieldGroup('What does your receiver expect?', null, [
      field('format'),
      isPulled ? null : html`<div class="push-only">${REQUEST_PREVIEW}</div>`,
    ])}
    ${fieldGroup('Encryption', null, [rule, field('encryptionKeyName')])}
    ${advancedLayout(layout)}
    ${startTick}
    ${summaryRegion(state.fields, choices.endpoints.find(({ id }) => id === state.value('endpointId')) ?? null, before === null)}
  `;
}

type Parts = readonly (readonly [part: string, names: readonly string[]])[];

/** The fields of mode `push` by their folds, each with its parts as the line *Changed* names them. */
const SENDING: Readonly<Record<string, Parts>> = {
  'Order, batches and rate': [
    ['order', ['ordered']],
    ['batches', ['batch', 'maxBatchRecords']],
    ['rate', ['maxRecordsPerSecond']],
  ],
  'Retries, time-out and heartbeat': [
    ['retries', ['retry.policy', 'retry.maxAttempts', 'retry.delaysSeconds']],
    ['time-out', ['timeoutSeconds']],
    ['heartbeat', ['heartbeatSeconds']],
  ],
  'Custom headers and Standard Webhooks': [
    ['headers', ['customHeaders']],
    ['signatures', ['standardWebhooks']],
  ],
};
/** Their fold has a layout of its own. The other fields have values that count only beside a template. */
const SIGNATURES: Parts = [['signatures', ['signature.preset']]];

/** The fields that few need, in one fold: open if one of its own is. */
function advancedLayout({ state, before, field, more, isSet }: FormLayout<Webhook, WebhookChoices>): Html {
  const isPulled = before?.mode === 'pull';
  const parts: Parts = [
    ['the data', ['thin']],
    ...(before === null ? [['push or pull', ['mode']] as const] : []),
    ...(isPulled ? [] : [...Object.values(SENDING).flat(), ...SIGNATURES]),
  ];
  const changed = [...new Set(parts.filter(([, names]) => isSet(...names)).map(([part]) => part))];
  // The style hides what only mode `push` has once *Pull* is chosen.
  const sending = html`
    <div class="push-only">
      ${Object.entries(SENDING).map(([title, parts]) => more(title, ...parts.flatMap(([, names]) => names)))}
      ${signatureLayout(state, field)}
    </div>
  `;
  return html`
    <details class="advanced"${attributes({ open: changed.length > 0 })}>
      <summary>
        Advanced
        <span class="hint">${changed.length === 0 ? 'The defaults suit most webhooks.' : `Changed: ${changed.join(', ')}`}</span>
      </summary>
      ${more('Leave out the data', 'thin')}
      ${before === null ? more('Push or pull', 'mode') : null}
      ${isPulled ? null : sending}
    </details>
  `;
}

/** The pages of every record ask for this. */
export function webhookEntity({ services, store }: Pick<SharedPageDependencies, 'services' | 'store'>) {
  return {
    for: 'both' as const,
    list: { href: '/webhooks', label: 'Webhooks' },
    noun: 'webhook',
    nameOf: ({ name }: Webhook) => name,
    administration: services.webhooks,
    owners: store,
    settings: webhookSettings,
  };
}

/** The settings without the state, which may change while a person fills in the form. */
function webhookSettings(webhook: Webhook): unknown {
  const { state, stateReason, stateDescription, stateChangedAt, sessionId, ...settings } = viewWebhook(webhook);
  return settings;
}

/** The script reloads the rule after each change. The server checks it anyway. */
function ruleBox(rule: Html): Html {
  const refresh = attributes({
    'data-hx-get': '/webhooks/new/rule',
    'data-hx-trigger': "change from:'closest form'",
    'data-hx-include': `[name="${NAME}"], [name="${MORE}"], [name="encryptionKeyName"]`,
    'data-hx-sync': 'this:replace',
  });
  return html`<div id="encryption-rule" aria-live="polite"${refresh}>${rule}</div>`;
}

/** Whether the chosen events need a key. `shown`: the types that the people of the portal may choose. */
export function encryptionRule(
  patterns: readonly string[],
  hasKey: boolean,
  eventTypes: readonly EventType[],
  shown: readonly EventType[] = eventTypes,
): Html {
  const hasEmployees = shown.some(({ name }) => name.startsWith(EMPLOYEE_CATEGORY));
  const need = encryptionNeed(patterns, eventTypes, hasEmployees);
  if (need === null) {
    if (!hasEmployees && !shown.some(({ encryptionRequired }) => encryptionRequired)) return html``;
    const which = hasEmployees ? 'Employee events, event types' : 'Event types';
    return html`<p class="hint">${which} marked “encrypted only” and <code>*</code> need a key.</p>`;
  }
  return hasKey
    ? notice({ tone: 'positive', text: `${capital(need)} must be encrypted. They will be.` })
    : notice({ tone: 'caution', text: `${capital(need)} must be encrypted: choose a key.` });
}

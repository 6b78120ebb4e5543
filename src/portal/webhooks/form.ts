/** The fields of a webhook, in the order in which one thinks of them; each rule is said where it bites. */

import type { EventType } from '../../events/event-type.ts';
import { type Html, html } from '../../http/html.ts';
import {
  ATTEMPT_TIMEOUT_MAX_SECONDS,
  ATTEMPTS_MAX,
  BATCH_RECORDS_MAX,
  CUSTOM_HEADERS_MAX,
} from '../../kernel/limits/limits.ts';
import type { EndpointName } from '../../store/directory.ts';
import type { PgpKey } from '../../webhooks/key.ts';
import { viewWebhook } from '../../webhooks/view.ts';
import type { Webhook } from '../../webhooks/webhook.ts';
import { checkbox, radioGroup, repeatableRows } from '../parts/choices.ts';
import { numberField, selectField, textField } from '../parts/fields.ts';
import { fieldGroup, moreFields } from '../parts/form.ts';
import { type FormState, newForm } from '../parts/form-state.ts';
import { encryptionStep, eventsStep } from './events.ts';
import { HEADER_FIELDS } from './input.ts';

/** What there is to choose from. */
export type WebhookChoices = {
  readonly endpoints: readonly EndpointName[];
  readonly eventTypes: readonly EventType[];
  readonly keys: readonly PgpKey[];
};

/** Names of fields in the summary of what was wrong. */
export const WEBHOOK_LABELS: Readonly<Record<string, string>> = {
  name: 'Name',
  endpointId: 'Endpoint',
  eventTypes: 'Events',
  encryptionKeyName: 'Key',
  customHeaders: 'Custom headers',
  maxBatchRecords: 'Records in a batch',
  maxRecordsPerSecond: 'Records a second',
  'retry.policy': 'Pauses',
  'retry.maxAttempts': 'Attempts',
  heartbeatSeconds: 'Heartbeat',
  timeoutSeconds: 'Time for an answer',
};

/** `endpointId` is the one that the link named. */
export function newWebhookForm(endpointId: string): FormState {
  const defaults = { 'retry.policy': 'exponential', 'retry.maxAttempts': 20, maxBatchRecords: 100 };
  return newForm({ ...defaults, endpointId, heartbeatSeconds: 300, timeoutSeconds: 15, start: true });
}

export function webhookForm(webhook: Webhook, eventTypes: readonly EventType[]): FormState {
  const { eventTypes: patterns, customHeaders, retryPolicy, maxAttempts, ordered, standardWebhooks } = webhook;
  const offered = new Set(eventTypes.flatMap(({ name }) => [name, `${name.slice(0, name.indexOf('.'))}.*`]));
  const isOffered = (pattern: string): boolean => pattern === '*' || offered.has(pattern);
  return newForm({
    name: webhook.name,
    endpointId: webhook.endpointId,
    eventTypes: patterns.filter(isOffered),
    morePatterns: patterns.filter((pattern) => !isOffered(pattern)).join(' '),
    encryptionKeyName: webhook.encryptionKeyName,
    [HEADER_FIELDS[0]]: customHeaders.map(({ name }) => name),
    [HEADER_FIELDS[1]]: customHeaders.map(({ value }) => value),
    ...{ ordered, standardWebhooks, 'retry.policy': retryPolicy, 'retry.maxAttempts': maxAttempts },
    maxBatchRecords: webhook.maxBatchRecords,
    maxRecordsPerSecond: webhook.maxRecordsPerSecond,
    heartbeatSeconds: webhook.heartbeatSeconds,
    timeoutSeconds: webhook.timeoutSeconds,
  });
}

/** Without its state, which moves by itself while a person fills in the form. */
export function webhookSettings(webhook: Webhook): unknown {
  const { state, stateReason, stateDescription, stateChangedAt, sessionId, ...settings } = viewWebhook(webhook);
  return settings;
}

export function webhookFields(
  form: FormState,
  choices: WebhookChoices,
  patterns: readonly string[],
  now: number,
): Html {
  return html`${whereStep(form, choices.endpoints)}${eventsStep(form, choices.eventTypes)}${encryptionStep(form, patterns, choices.eventTypes, choices.keys, now)}<div class="more"><h2 class="more-title">4. How</h2><p class="hint">What stands here is right for most: open what you want to have otherwise.</p></div>${orderFields(form)}${retryFields(form)}${headerFields(form)}`;
}

function whereStep(form: FormState, endpoints: readonly EndpointName[]): Html {
  return fieldGroup('1. Where to', null, [
    textField(form, { name: 'name', label: 'Name', isRequired: true, placeholder: 'Orders to the shop' }),
    selectField(form, {
      name: 'endpointId',
      label: 'Endpoint',
      isRequired: true,
      choices: [
        { value: '', label: endpoints.length === 0 ? 'There is none yet' : 'Choose one' },
        ...endpoints.map(({ id, name, enabled, tokenChallenge, verified }) => ({
          value: id,
          label: enabled ? name : `${name} (${tokenChallenge && !verified ? 'not verified' : 'disabled'})`,
        })),
      ],
      hint:
        endpoints.length === 0
          ? html`<a href="/endpoints/new">Create an endpoint</a> first: the address that the events go to.`
          : 'A webhook starts only on an enabled endpoint. One that has to answer a challenge is enabled by that.',
    }),
  ]);
}

function orderFields(form: FormState): Html {
  const names = ['maxBatchRecords', 'maxRecordsPerSecond'];
  return moreFields('Order, batches and rate', form, names, [
    checkbox(form, {
      name: 'ordered',
      label: 'In order',
      hint: 'One batch at a time, as things happened. A batch that fails holds up all behind it until it is delivered or dead: with the retries below that may be days. Without this, up to 8 requests are under way at once.',
    }),
    numberField(form, {
      name: 'maxBatchRecords',
      label: 'Records in a batch',
      ...{ min: 1, max: BATCH_RECORDS_MAX },
      hint: `1 to ${BATCH_RECORDS_MAX}. A batch also ends at 1 MiB. 1 sends every event by itself.`,
    }),
    numberField(form, {
      name: 'maxRecordsPerSecond',
      label: 'Records a second',
      step: 0.01,
      hint: 'Left empty: as fast as the receiver answers. What is over the rate waits.',
    }),
  ]);
}

function retryFields(form: FormState): Html {
  return moreFields(
    'Retries, time-out and heartbeat',
    form,
    ['retry', 'heartbeatSeconds', 'timeoutSeconds'],
    [
      radioGroup(form, {
        name: 'retry.policy',
        label: 'Pauses',
        choices: [
          {
            value: 'exponential',
            label: 'Growing',
            hint: '5 s, 10 s, 20 s and so on up to 12 h, drawn from the upper half of each. 20 attempts span about two and a half days. If nothing succeeds for 24 hours, the webhook is given up before that: what waits is kept until you start it again.',
          },
          { value: 'linear', label: 'Steady', hint: '30 s, 60 s, 90 s and so on. 20 attempts span 95 minutes.' },
        ],
      }),
      numberField(form, {
        name: 'retry.maxAttempts',
        label: 'Attempts',
        ...{ min: 1, max: ATTEMPTS_MAX },
        hint: `1 to ${ATTEMPTS_MAX}. After the last one a batch is dead: kept, listed, and sent again when you say so.`,
      }),
      numberField(form, {
        name: 'timeoutSeconds',
        label: 'Time for an answer, in seconds',
        ...{ min: 1, max: ATTEMPT_TIMEOUT_MAX_SECONDS },
        hint: `1 to ${ATTEMPT_TIMEOUT_MAX_SECONDS}, for a whole attempt. Receivers should answer first and work afterwards.`,
      }),
      numberField(form, {
        name: 'heartbeatSeconds',
        label: 'Heartbeat, in seconds',
        min: 0,
        hint: 'A request without records when nothing else was sent for so long, so that a receiver notices silence. 0: none.',
      }),
    ],
  );
}

function headerFields(form: FormState): Html {
  return moreFields(
    'Custom headers and Standard Webhooks',
    form,
    ['customHeaders'],
    [
      repeatableRows(form, {
        name: 'customHeaders',
        label: 'Custom headers',
        hint: `Sent and signed with every request. Names begin with x- and have up to 25 more letters, digits and dashes; values are letters, digits and - _ , . without spaces. ${CUSTOM_HEADERS_MAX} at most.`,
        fields: [
          { name: HEADER_FIELDS[0], label: 'Name', placeholder: 'x-tenant' },
          { name: HEADER_FIELDS[1], label: 'Value', placeholder: 'acme' },
        ],
        spare: 2,
        max: CUSTOM_HEADERS_MAX,
      }),
      checkbox(form, {
        name: 'standardWebhooks',
        label: 'Sign as Standard Webhooks has it, too',
        hint: 'Adds webhook-id, webhook-timestamp and webhook-signature, which any of its libraries verifies with whsec_ and the secret. Not with compression or encryption.',
      }),
    ],
  );
}

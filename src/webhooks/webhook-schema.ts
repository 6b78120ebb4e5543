/** The schemas of a webhook: input, view and replay (contract §4.2). */
import { z } from 'zod';
import { filterProblem } from '../domain/filter.ts';
import {
  ATTEMPT_TIMEOUT_DEFAULT_SECONDS,
  ATTEMPT_TIMEOUT_MAX_SECONDS,
  BATCH_RECORDS_DEFAULT,
  BATCH_RECORDS_MAX,
  CUSTOM_HEADERS_MAX,
  HEARTBEAT_DEFAULT_SECONDS,
  HEARTBEAT_MAX_SECONDS,
} from '../domain/limits.ts';
import { adviceForMessage } from '../domain/outcome.ts';
import type { Progress, Webhook } from '../domain/webhook.ts';
import { WEBHOOK_FORMATS } from '../domain/webhook-format.ts';
import { STATE_REASONS, type StopReason, stateReasonText } from '../domain/webhook-states.ts';
import {
  customerIdInput,
  customerIdView,
  displayName,
  distinct,
  id,
  idInput,
  instant,
  isoInstant,
  moment,
  textSchema,
} from '../kernel/schemas.ts';
import { mergePatch, validate } from '../kernel/validation.ts';
import { type BodyOf, inputReader } from '../resources/input.ts';
import { CUSTOMER_FILTER, choiceFilter, type ListRules, textFilter } from '../resources/list-rules.ts';
import type { ReplayableState } from '../store/port/deliveries.ts';
import { EVENT_PATTERNS_MAX, FILTER_PREVIEW_EVENTS, RECORDS_PER_SECOND_MAX } from './limits.ts';
import { signatureInput, signatureView, viewSignature } from './signature-schema.ts';
import { followingTarget, withFormatDefaults } from './webhook-format-rule.ts';
import { retryInput, retryView, viewRetry } from './webhook-retry.ts';

/** The service sets these headers on every request, so no custom header may have their names. */
const SERVICE_HEADERS: ReadonlySet<string> = new Set([
  'x-api-key',
  'x-content-sha256',
  'x-challenge-sha256',
  'x-content-encrypted',
  'x-pgp-key-name',
  'x-original-encoding',
]);

const customHeader = z.strictObject({
  name: z
    .string()
    .regex(/^[xX]-[a-zA-Z0-9-]{0,25}$/, 'must be x- and up to 25 letters, digits or dashes')
    .refine((name) => !SERVICE_HEADERS.has(name.toLowerCase()), {
      error: ({ input }) => `${String(input).toLowerCase()} is reserved: the service sends it itself`,
    }),
  value: z.string().regex(/^[a-zA-Z0-9\-_,.]{0,1000}$/, 'must be up to 1000 letters, digits or - _ , .'),
});

const customHeaders = z
  .array(customHeader)
  .max(CUSTOM_HEADERS_MAX)
  .superRefine((headers, context) => {
    const names = headers.map(({ name }) => name.toLowerCase());
    for (const [at, name] of names.entries()) {
      if (names.indexOf(name) < at)
        context.addIssue({ code: 'custom', path: [at, 'name'], message: 'repeats an earlier header' });
    }
  });

const EVENT_PATTERN = /^(\*|[a-z][a-z0-9_-]{0,63}\.(\*|[a-z][a-z0-9_-]{0,63}))$/;

/** Checks where an empty problem path means the whole field: the message names the place within it. */
const filterInput = z
  .record(z.string(), z.unknown())
  .superRefine((filter, context) => {
    const issue = filterProblem(filter);
    if (issue === null) return;
    const path = issue.field.split('.').slice(1);
    context.addIssue({ code: 'custom', path, message: issue.problem });
  })
  .nullable()
  .default(null)
  .meta({
    description:
      'Which events of these types it gets: conditions on `type`, `subject` and `data`, such as `{"data.total": ' +
      '{"$gte": 100}}`. Judged when an event is published; others take no offset.',
  });

// An enumeration of one: openapi-python-client refuses everything else where a constant is a member of a union.
const order = z.union([z.boolean(), z.enum(['key'])], { error: 'must be true, false or "key"' });

export const webhookInput = z
  .strictObject({
    customerId: customerIdInput,
    name: displayName,
    mode: z
      .enum(['push', 'pull'])
      .default('push')
      .meta({
        description:
          'Whether records are sent to an endpoint, or a reader fetches and acknowledges them. Cannot be changed. ' +
          'In mode `pull`, `endpointId` is null, and the fields that say how records are sent keep their defaults.',
      }),
    endpointId: idInput
      .nullable()
      .default(null)
      .meta({ description: 'Where the records are sent. Required in mode `push`, null in mode `pull`.' }),
    eventTypes: distinct(
      z.string().regex(EVENT_PATTERN, 'must be the name of an event type, <category>.* or *'),
      EVENT_PATTERNS_MAX,
    )
      .refine((patterns) => patterns.length > 0, 'must have at least 1 item')
      .meta({ minItems: 1, description: 'Names of event types, `<category>.*` or `*`.' }),
    filter: filterInput,
    format: z
      .enum(WEBHOOK_FORMATS)
      .default('records')
      .meta({
        description:
          'What a body looks like: `records`; `standard`, the payload of Standard Webhooks, with its headers; ' +
          '`cloudevents`, CloudEvents 1.0 as JSON; or `cloudevents-binary`, the same with `ce-*` headers. All but ' +
          '`records` carry one event a request and have no heartbeat.',
      }),
    batch: z
      .boolean()
      .default(false)
      .meta({ description: 'Several CloudEvents in one body. Only with the format `cloudevents`.' }),
    thin: z.boolean().default(false).meta({
      description: 'Bodies have a `url` in place of the data, for `GET /events/{id}`. Not with the format `records`.',
    }),
    customHeaders: customHeaders
      .default([])
      .meta({ description: 'Sent with every request; no header of the service itself, each name once.' }),
    encryptionKeyName: z
      .string()
      .max(100)
      .nullable()
      .default(null)
      .meta({ description: 'The name of a PGP key; needed where an event type requires encryption.' }),
    ordered: order.default(false).meta({
      description:
        'True: one batch at a time, a failing one delays the following ones. `key`: events of one `orderingKey` in order, a failing ' +
        'one delays only its key.',
    }),
    maxBatchRecords: z
      .int()
      .min(1)
      .max(BATCH_RECORDS_MAX)
      .default(BATCH_RECORDS_DEFAULT)
      .meta({ description: 'Always 1 with a format that carries one event a request.' }),
    maxRecordsPerSecond: z.number().min(0.01).max(RECORDS_PER_SECOND_MAX).nullable().default(null),
    retry: retryInput,
    standardWebhooks: z.boolean().default(false).meta({
      description: 'Adds the headers of Standard Webhooks (`webhook-id`, `webhook-timestamp`, `webhook-signature`).',
    }),
    signature: signatureInput
      .nullable()
      .default(null)
      .meta({ description: 'Beside the others, a signature as another product makes it: a preset or a template.' }),
    heartbeatSeconds: z.int().min(0).max(HEARTBEAT_MAX_SECONDS).default(HEARTBEAT_DEFAULT_SECONDS).meta({
      description: 'An empty batch after this long without events; 0 for none. Only with the format `records`.',
    }),
    timeoutSeconds: z.int().min(1).max(ATTEMPT_TIMEOUT_MAX_SECONDS).default(ATTEMPT_TIMEOUT_DEFAULT_SECONDS),
  })
  .meta({ id: 'WebhookInput', description: 'Which events go to which endpoint, and how.' });
export type WebhookBody = BodyOf<typeof webhookInput>;
export type WebhookInput = z.output<typeof webhookInput>;

/** Pending records are still to be sent; discarded ones have no data. */
export const REPLAYABLE = ['delivered', 'dead'] as const satisfies readonly ReplayableState[];

export const replayInput = z
  .strictObject({
    since: moment.optional(),
    until: moment.optional(),
    states: distinct(z.enum(REPLAYABLE), 2).optional().meta({
      description:
        'If absent: delivered and dead ones of the range that since or until gives; without a range the dead ones.',
    }),
    orderingKey: textSchema(1, 200).optional().meta({ description: 'Only events with this ordering key.' }),
  })
  .meta({
    id: 'ReplayInput',
    description: 'Which records to send again: of events from `since` on and before `until`.',
  });
export type ReplayInput = z.output<typeof replayInput>;

export const replayedView = z
  .object({ replayed: z.int() })
  .meta({ id: 'Replayed', description: 'How many records are due again.' });

export const testInput = z
  .strictObject({
    eventType: z.string().max(130).optional().meta({
      description:
        'Sends the sample of this event type, in a body with `"test": true`. The webhook must get events of this type.',
    }),
  })
  .meta({ id: 'TestInput', description: 'What to send: a `webhook.test` record, or the sample of an event type.' });

export const filterPreviewInput = z
  .strictObject({ filter: filterInput, limit: z.int().min(1).max(FILTER_PREVIEW_EVENTS).default(100) })
  .meta({ id: 'FilterPreviewInput', description: 'A filter, and how many of the latest events it is to judge.' });
export type FilterPreviewInput = z.output<typeof filterPreviewInput>;

export const filterPreviewView = z
  .object({
    judged: z.int(),
    passed: z.int(),
    items: z.array(
      z.object({
        eventId: z.string(),
        eventType: z.string(),
        createdAt: instant,
        passes: z.boolean(),
        reasons: z.array(z.string()).meta({
          description:
            'Why it does not pass: the first ten conditions that do not hold. Data that must be encrypted is left out.',
        }),
      }),
    ),
  })
  .meta({ id: 'FilterPreview', description: 'Which of the latest events of its types would pass, newest first.' });
export type FilterPreview = z.infer<typeof filterPreviewView>;

export const webhookView = z
  .object({
    id,
    customerId: customerIdView,
    name: z.string(),
    mode: z.enum(['push', 'pull']),
    endpointId: z.string().nullable().meta({ description: 'Null in mode `pull`.' }),
    eventTypes: z.array(z.string()),
    filter: z.record(z.string(), z.unknown()).nullable(),
    format: z.enum(WEBHOOK_FORMATS),
    batch: z.boolean(),
    thin: z.boolean(),
    customHeaders: z.array(z.object({ name: z.string(), value: z.string() })),
    encryptionKeyName: z.string().nullable(),
    ordered: order,
    maxBatchRecords: z.int(),
    maxRecordsPerSecond: z.number().nullable(),
    retry: retryView,
    standardWebhooks: z.boolean(),
    signature: signatureView.nullable(),
    heartbeatSeconds: z.int(),
    timeoutSeconds: z.int(),
    state: z.enum(['stopped', 'started', 'running', 'failing', 'failed']),
    stateReason: z
      .string()
      .nullable()
      .meta({ description: 'A code; for a failing webhook followed by the result of the last attempt.' }),
    stateDescription: z.string().nullable().meta({ description: 'What the reason means and what to do about it.' }),
    stateChangedAt: instant,
    sessionId: z.string().nullable(),
    createdAt: instant,
    updatedAt: instant,
  })
  .meta({ id: 'Webhook', description: 'Which events go to which endpoint, and the state of delivery.' });
export type WebhookView = z.infer<typeof webhookView>;
const plainReader = inputReader(webhookInput, webhookView);
/** Fills in the defaults that depend on the format, which the schema cannot. */
export const webhookReader: typeof plainReader = {
  ...plainReader,
  create: (body) => plainReader.create(withFormatDefaults(body)),
  apply: (target, patch) =>
    validate(webhookInput, withFormatDefaults(mergePatch(followingTarget(target, patch), patch))),
};

export const WEBHOOK_LIST: ListRules = {
  name: 'webhooks',
  filters: {
    customerId: CUSTOMER_FILTER,
    endpointId: textFilter('At this endpoint.'),
    mode: choiceFilter(webhookView.shape.mode.options, 'In this mode.'),
    state: choiceFilter(webhookView.shape.state.options, 'In this state.'),
    eventType: textFilter('With exactly this among their `eventTypes`: a name, `category.*` or `*`.'),
  },
  sorts: { name: 'text' },
};

export function viewWebhook({
  progress,
  retryPolicy,
  maxAttempts,
  retryDelaysSeconds,
  ...webhook
}: Webhook): WebhookView {
  return {
    ...webhook,
    eventTypes: [...webhook.eventTypes],
    customHeaders: webhook.customHeaders.map(({ name, value }) => ({ name, value })),
    retry: viewRetry({ retryPolicy, maxAttempts, retryDelaysSeconds }),
    signature: viewSignature(webhook.signature),
    state: progress.state,
    stateReason: stateReasonText(progress),
    stateDescription: stateDescription(webhook.customerId, progress),
    stateChangedAt: isoInstant(progress.stateAt),
    sessionId: progress.sessionId,
    createdAt: isoInstant(webhook.createdAt),
    updatedAt: isoInstant(webhook.updatedAt),
  };
}

function stateDescription(customerId: string | null, { stateReason, stateDetail }: Progress): string | null {
  if (stateReason === null) return null;
  return STATE_REASONS[stateReason as StopReason] ?? adviceForMessage(customerId, stateReason, stateDetail);
}

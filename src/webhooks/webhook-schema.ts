/** The schemas of a webhook and of its replay (contract §4). */
import { z } from 'zod';
import {
  ATTEMPT_TIMEOUT_DEFAULT_SECONDS,
  ATTEMPT_TIMEOUT_MAX_SECONDS,
  ATTEMPTS_DEFAULT,
  ATTEMPTS_MAX,
  BATCH_RECORDS_DEFAULT,
  BATCH_RECORDS_MAX,
  CUSTOM_HEADERS_MAX,
  EVENT_PATTERNS_MAX,
  HEARTBEAT_DEFAULT_SECONDS,
  HEARTBEAT_MAX_SECONDS,
  RECORDS_PER_SECOND_MAX,
} from '../kernel/limits/limits.ts';
import { displayName, distinct, idInput, moment } from '../kernel/schemas.ts';
import { type BodyOf, inputReader } from '../resources/input.ts';
import type { ReplayableState } from '../store/deliveries.ts';
import { webhookView } from './view.ts';

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

export const webhookInput = z
  .strictObject({
    name: displayName,
    endpointId: idInput,
    eventTypes: distinct(
      z.string().regex(EVENT_PATTERN, 'must be the name of an event type, <category>.* or *'),
      EVENT_PATTERNS_MAX,
    )
      .refine((patterns) => patterns.length > 0, 'must have at least 1 item')
      .meta({ minItems: 1, description: 'Names of event types, `<category>.*` or `*`.' }),
    customHeaders: customHeaders
      .default([])
      .meta({ description: 'Sent with every request; no header of the service itself, each name once.' }),
    encryptionKeyName: z
      .string()
      .max(100)
      .nullable()
      .default(null)
      .meta({ description: 'The name of a PGP key; needed where an event type requires encryption.' }),
    ordered: z
      .boolean()
      .default(false)
      .meta({ description: 'One batch at a time: a failing one holds up what follows.' }),
    maxBatchRecords: z.int().min(1).max(BATCH_RECORDS_MAX).default(BATCH_RECORDS_DEFAULT),
    maxRecordsPerSecond: z.number().min(0.01).max(RECORDS_PER_SECOND_MAX).nullable().default(null),
    retry: z
      .strictObject({
        policy: z.enum(['exponential', 'linear']).default('exponential'),
        maxAttempts: z.int().min(1).max(ATTEMPTS_MAX).default(ATTEMPTS_DEFAULT),
      })
      .default({ policy: 'exponential', maxAttempts: ATTEMPTS_DEFAULT }),
    standardWebhooks: z.boolean().default(false).meta({
      description: 'Adds the headers of Standard Webhooks (`webhook-id`, `webhook-timestamp`, `webhook-signature`).',
    }),
    heartbeatSeconds: z
      .int()
      .min(0)
      .max(HEARTBEAT_MAX_SECONDS)
      .default(HEARTBEAT_DEFAULT_SECONDS)
      .meta({ description: 'An empty batch after this long without events; 0 for none.' }),
    timeoutSeconds: z.int().min(1).max(ATTEMPT_TIMEOUT_MAX_SECONDS).default(ATTEMPT_TIMEOUT_DEFAULT_SECONDS),
  })
  .meta({ id: 'WebhookInput', description: 'Which events go to which endpoint, and how.' });
export type WebhookBody = BodyOf<typeof webhookInput>;
export type WebhookInput = z.output<typeof webhookInput>;
export const webhookReader = inputReader(webhookInput, webhookView);

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
  })
  .meta({
    id: 'ReplayInput',
    description: 'Which records to send again: of events from `since` on and before `until`.',
  });
export type ReplayInput = z.output<typeof replayInput>;

export const replayedView = z
  .object({ replayed: z.int() })
  .meta({ id: 'Replayed', description: 'How many records are due again.' });

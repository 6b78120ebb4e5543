/** The view of a webhook (contract §4). */
import { z } from 'zod';
import { id, instant, isoInstant } from '../kernel/schemas.ts';
import { adviceFor, type ErrorClass } from '../outbound/outcome.ts';
import { choiceFilter, type ListRules, textFilter } from '../resources/list-rules.ts';
import { STATE_REASONS, type StopReason } from './lifecycle.ts';
import type { Progress, Webhook } from './webhook.ts';

export const webhookView = z
  .object({
    id,
    name: z.string(),
    endpointId: z.string(),
    eventTypes: z.array(z.string()),
    customHeaders: z.array(z.object({ name: z.string(), value: z.string() })),
    encryptionKeyName: z.string().nullable(),
    ordered: z.boolean(),
    maxBatchRecords: z.int(),
    maxRecordsPerSecond: z.number().nullable(),
    retry: z.object({ policy: z.enum(['exponential', 'linear']), maxAttempts: z.int() }),
    standardWebhooks: z.boolean(),
    heartbeatSeconds: z.int(),
    timeoutSeconds: z.int(),
    state: z.enum(['stopped', 'started', 'running', 'failing', 'failed']),
    stateReason: z
      .string()
      .nullable()
      .meta({ description: 'A code; for a failing webhook followed by what the last attempt met.' }),
    stateDescription: z.string().nullable().meta({ description: 'What the reason means and what to do about it.' }),
    stateChangedAt: instant,
    sessionId: z.string().nullable(),
    createdAt: instant,
    updatedAt: instant,
  })
  .meta({ id: 'Webhook', description: 'Which events go to which endpoint, and how that is going.' });
export type WebhookView = z.infer<typeof webhookView>;

export const WEBHOOK_LIST: ListRules = {
  name: 'webhooks',
  filters: {
    endpointId: textFilter('At this endpoint.'),
    state: choiceFilter(webhookView.shape.state.options, 'In this state.'),
    eventType: textFilter('With exactly this among their `eventTypes`: a name, `category.*` or `*`.'),
  },
  sorts: ['name'],
};

export function viewWebhook({ progress, retryPolicy, maxAttempts, ...webhook }: Webhook): WebhookView {
  return {
    id: webhook.id,
    name: webhook.name,
    endpointId: webhook.endpointId,
    eventTypes: [...webhook.eventTypes],
    customHeaders: webhook.customHeaders.map(({ name, value }) => ({ name, value })),
    encryptionKeyName: webhook.encryptionKeyName,
    ordered: webhook.ordered,
    maxBatchRecords: webhook.maxBatchRecords,
    maxRecordsPerSecond: webhook.maxRecordsPerSecond,
    retry: { policy: retryPolicy, maxAttempts },
    standardWebhooks: webhook.standardWebhooks,
    heartbeatSeconds: webhook.heartbeatSeconds,
    timeoutSeconds: webhook.timeoutSeconds,
    state: progress.state,
    stateReason: stateReasonText(progress),
    stateDescription: stateDescription(progress),
    stateChangedAt: isoInstant(progress.stateAt),
    sessionId: progress.sessionId,
    createdAt: isoInstant(webhook.createdAt),
    updatedAt: isoInstant(webhook.updatedAt),
  };
}

/** The code, followed by the answer of the other side if there is one: `oauth_token: the token endpoint answered 401 …`. */
function stateReasonText({ stateReason, stateDetail }: Pick<Progress, 'stateReason' | 'stateDetail'>): string | null {
  return stateReason === null || stateDetail === null ? stateReason : `${stateReason}: ${stateDetail}`;
}

/**
 * The reason for subscribers of `webhook.*`, who may be other customers: the code, and the status that the endpoint answered. Only those
 * who may read the webhook see the rest of the answer.
 */
export function toldReason(progress: Pick<Progress, 'stateReason' | 'stateDetail'>): string | null {
  // The only detail that the service words itself. It has nothing but the status.
  return progress.stateReason === ('http_status' satisfies ErrorClass)
    ? stateReasonText(progress)
    : progress.stateReason;
}

function stateDescription({ stateReason }: Progress): string | null {
  if (stateReason === null) return null;
  return STATE_REASONS[stateReason as StopReason] ?? adviceFor(stateReason as ErrorClass);
}

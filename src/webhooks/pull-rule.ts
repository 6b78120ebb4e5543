/**
 * A webhook in mode `pull` has no endpoint, and nothing is sent for it (contract §10.1, §10.2). So settings of sending are refused instead
 * of ignored. Pure.
 */
import { isDeepStrictEqual } from 'node:util';
import type { WebhookMode } from '../domain/webhook.ts';
import { formatDefaults } from '../domain/webhook-format.ts';
import type { FieldProblem } from '../kernel/refusal.ts';
import { defaultsOf } from '../resources/input.ts';
import { type WebhookInput, webhookInput } from './webhook-schema.ts';

/** The fields that say how records are sent. In mode `pull` they keep their defaults. */
const SENDING_FIELDS = [
  ...(['customHeaders', 'ordered', 'maxBatchRecords', 'maxRecordsPerSecond'] as const),
  ...(['batch', 'retry', 'standardWebhooks', 'signature', 'heartbeatSeconds', 'timeoutSeconds'] as const),
] as const satisfies readonly (keyof WebhookInput)[];

const DEFAULTS: Partial<WebhookInput> = { ...(defaultsOf(webhookInput) as Partial<WebhookInput>), signature: null };

/** Returns the problems of a webhook's mode and of the fields that depend on it. `before`: its mode so far; null: it is new. */
export function modeProblems(input: WebhookInput, before: WebhookMode | null): FieldProblem[] {
  const { mode, endpointId } = input;
  if (before !== null && mode !== before)
    return [{ field: 'mode', problem: `cannot change: it is ${before}. Create another webhook in mode ${mode}` }];
  if (mode === 'push') return endpointId === null ? [{ field: 'endpointId', problem: 'is required in mode push' }] : [];
  const endpoint: FieldProblem = { field: 'endpointId', problem: 'must be null in mode pull: nothing is sent' };
  const defaults = { ...DEFAULTS, ...formatDefaults(input) };
  const sending = SENDING_FIELDS.filter((field) => !isDeepStrictEqual(input[field] ?? null, defaults[field] ?? null));
  return [
    ...(endpointId === null ? [] : [endpoint]),
    ...sending.map((field) => ({ field, problem: 'has no effect in mode pull, where nothing is sent: leave it out' })),
  ];
}

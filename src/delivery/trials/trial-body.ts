/** The body of a delivery with one record that is not in the log of the webhook. */

import type { DeliveryTarget } from '../../domain/batch.ts';
import { type FormattedRecord, makeEvent, OPERATOR_ONLY } from '../../domain/event.ts';
import type { Ids } from '../../kernel/ids.ts';
import { isoInstant } from '../../kernel/schemas.ts';
import { type BodyOrFailure, bodyRequest, makeBody } from '../body.ts';
import type { FormatOf } from '../format.ts';

export type Sample = {
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
  readonly subject?: string;
  readonly actorId?: string | null;
};

type Making = { readonly ids: Ids; readonly now: number };

/** The record takes no offset, but receivers expect an integer from 0 (contract §1.3). */
export function trialRecord(sample: Sample, making: Making): FormattedRecord {
  const event = makeEvent({ ...sample, audience: OPERATOR_ONLY }, making);
  return { ...event, offset: 0, messageId: event.id, eventType: event.type };
}

/** In the format of the webhook. `sample` null: a `webhook.test` event. The body of a sample is marked as a test: it would look real. */
export async function trialBody(
  target: DeliveryTarget,
  sample: Sample | null,
  { formatOf, actorId, ...making }: Making & { readonly formatOf: FormatOf; readonly actorId: string | null },
): Promise<BodyOrFailure> {
  const { ids, now } = making;
  const { id: webhookId, name: webhookName, progress } = target.webhook;
  const own = { type: 'webhook.test', data: { webhookId, webhookName, at: isoInstant(now) } };
  const record = trialRecord({ ...(sample ?? own), actorId }, making);
  const attempt = { sessionId: progress.sessionId ?? ids.uuid(), attemptNumber: 1, now };
  const request = { ...bodyRequest(target, attempt), format: await formatOf(target.webhook) };
  return makeBody(sample === null ? request : { ...request, more: { test: true } }, [record]);
}

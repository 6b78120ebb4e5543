/** `POST /webhooks/{id}/signature-preview` (contract §12.6): signs a sample by a template. Sends nothing. */

import type { z } from 'zod';
import type { Webhook } from '../../domain/webhook.ts';
import type { Clock, Ids } from '../../kernel/ids.ts';
import { Refusal } from '../../kernel/refusal.ts';
import type { Administration } from '../../resources/administration.ts';
import type { DispatchVerbs } from '../../store/port/dispatch.ts';
import type { EventVerbs } from '../../store/port/events.ts';
import { signatureOf, type signaturePreviewInput, type signaturePreviewView } from '../../webhooks/signature-schema.ts';
import { templateWarnings } from '../../wire/signature-template.ts';
import type { FormatOf } from '../format.ts';
import { signByTemplate, templateId, urlOf } from '../send.ts';
import { sampleFor } from './test-delivery.ts';
import { trialBody } from './trial-body.ts';

export type SignaturePreview = z.infer<typeof signaturePreviewView>;

/**
 * `signature`: another template than that of the webhook. Throws `Refusal` for an invalid template, and for a sample that does not exist.
 */
export type PreviewSignature = (
  webhookId: string,
  input: z.output<typeof signaturePreviewInput>,
) => Promise<SignaturePreview>;

type Dependencies = {
  readonly store: DispatchVerbs & EventVerbs;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly formatOf: FormatOf;
  readonly webhooks: Pick<Administration<Webhook>, 'get'>;
};

export function createPreviewSignature({ store, clock, ids, formatOf, webhooks }: Dependencies): PreviewSignature {
  return async (webhookId, input) => {
    const { progress, mode } = await webhooks.get(webhookId);
    if (mode === 'pull') throw new Refusal('invalid_state', 'nothing is signed: the webhook is in mode pull');
    const target = await store.dispatch.target(progress.webhookNumber);
    if (target === null) throw new Refusal('not_found', `there is no webhook ${webhookId}`);
    const template = input.signature == null ? target.webhook.signature : signatureOf(input.signature);
    if (template === null) throw new Refusal('invalid_state', 'the webhook has no signature: give one to preview');
    const sample = input.eventType == null ? null : sampleFor(target, input.eventType, await store.eventTypes.all());
    const now = clock();
    // A sample is marked as a test, so that nobody can pass the signed body off as an event.
    const body = await trialBody(target, sample, { formatOf, actorId: null, ids, now });
    if (!body.ok) throw new Refusal('invalid_state', `the sample has no body: ${body.message}`);
    const message = { body: body.bytes, at: now, id: templateId(ids.uuid(), body), url: urlOf(target.endpoint) };
    const { headers, signed } = signByTemplate(template, target.endpoint, message);
    const bytes = Buffer.concat(signed.map((part) => Buffer.from(part)));
    return {
      header: template.header,
      value: headers[template.header] ?? '',
      headers: { ...headers },
      signedBase64: bytes.toString('base64'),
      signedText: textOf(bytes),
      bodyBase64: Buffer.from(body.bytes).toString('base64'),
      timestamp: Math.floor(now / 1000),
      id: message.id,
      warnings: templateWarnings(template),
    };
  };
}

/** Null for bytes that are not UTF-8, such as a compressed body. */
function textOf(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}

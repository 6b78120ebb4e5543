/** The payload of a delivery: the event's data, and the record as the receiver reads it after decryption and decompression. */
import { type Html, html } from '../../http/html.ts';
import type { DeliveryContent } from '../../store/deliveries.ts';
import type { Delivery, Webhook } from '../../webhooks/webhook.ts';
import { encodeEnvelope } from '../../wire/payload.ts';
import { codePanels } from '../parts/code.ts';
import { section } from '../parts/header.ts';
import { notice } from '../parts/notice.ts';
import { time } from '../parts/time.ts';

export function payloadSection(delivery: Delivery, content: DeliveryContent, webhook: Webhook): Html {
  const { dataJson, erasedAt } = content;
  return section({
    title: 'Payload',
    lead:
      webhook.encryptionKeyName === null
        ? undefined
        : html`It goes out encrypted for <strong>${webhook.encryptionKeyName}</strong>; this is what is inside.`,
    content:
      dataJson === null
        ? notice({
            tone: 'neutral',
            title: 'The data was erased.',
            text: html`<p>Somebody asked on ${time(erasedAt)} that what is known of this person be forgotten. What had not been sent by then is not sent any more.</p>`,
          })
        : codePanels('Payload', [
            { label: 'Event data', code: pretty(dataJson) },
            { label: 'As it is received', code: recordText(delivery, { ...content, dataJson }, webhook) },
          ]),
  });
}

/** The body of a request with this record alone, as the next attempt would write it. */
function recordText(
  { offset, createdAt, eventId, eventType, attemptCount, settledAt }: Delivery,
  { dataJson, correlationId, actorId }: DeliveryContent & { readonly dataJson: string },
  { id, progress }: Webhook,
): string {
  const body = encodeEnvelope({
    subscriptionId: id,
    sessionId: progress.sessionId ?? '',
    attemptNumber: Math.max(attemptCount, 1),
    records: [{ offset, createdAt, correlationId, messageId: eventId, eventType, actorId, dataJson }],
    now: settledAt ?? createdAt,
  });
  return pretty(Buffer.from(body).toString('utf8'));
}

function pretty(json: string): string {
  return JSON.stringify(JSON.parse(json), null, 2);
}

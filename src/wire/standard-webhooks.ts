/**
 * Signs as Standard Webhooks does (its specification, "Signature scheme"), in addition to the service's own signature (contract §5). The
 * inverse is `standard-webhooks-verification.ts`.
 */
import { hmacSha256Base64 } from './hash.ts';
import { secretKey } from './signature.ts';

export type StandardWebhookHeaders = {
  'webhook-id': string;
  'webhook-timestamp': string;
  'webhook-signature': string;
};

/** `id` is that of the batch, without `msg_`; `at` is the instant of this attempt in epoch milliseconds; `body` is the bytes as sent. */
export type MessageToSign = {
  readonly id: string;
  readonly at: number;
  readonly body: Uint8Array;
  /** The active secret first, then during a rotation the other one. */
  readonly secrets: readonly string[];
};

/** The three headers. The keys are those of the service's own signature, so `whsec_<secret>` verifies. Signatures are separated by a space. */
export function standardWebhookHeaders({ id, at, body, secrets }: MessageToSign): StandardWebhookHeaders {
  const name = `msg_${id}`;
  const timestamp = String(Math.floor(at / 1000));
  const signed = `${name}.${timestamp}.`;
  return {
    'webhook-id': name,
    'webhook-timestamp': timestamp,
    'webhook-signature': secrets.map((secret) => `v1,${hmacSha256Base64(secretKey(secret), signed, body)}`).join(' '),
  };
}

/**
 * Signs as Standard Webhooks has it (its specification, "Signature scheme"), beside the service's own (wire.md §5). The inverse
 * is `standard-webhooks-verification.ts`.
 */
import { hmacSha256Base64 } from './hash.ts';
import { secretKey } from './signature.ts';

export type StandardWebhookHeaders = {
  'webhook-id': string;
  'webhook-timestamp': string;
  'webhook-signature': string;
};

/** `id` of the batch, without `msg_`; `at` of this attempt in epoch milliseconds; `body` the bytes as sent. */
export type MessageToSign = {
  readonly id: string;
  readonly at: number;
  readonly body: Uint8Array;
  readonly secret: string;
};

/** The three headers. The key is that of the service's own signature, so `whsec_<secret>` verifies where it is Base64. */
export function standardWebhookHeaders({ id, at, body, secret }: MessageToSign): StandardWebhookHeaders {
  const name = `msg_${id}`;
  const timestamp = String(Math.floor(at / 1000));
  return {
    'webhook-id': name,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${hmacSha256Base64(secretKey(secret), `${name}.${timestamp}.`, body)}`,
  };
}

/** The request that carries a batch (wire.md §5): envelope, encodings, signature or bearer, and every header. */
import type { Endpoint } from '../store/endpoints.ts';
import { currentApiKey, signingSecret } from '../store/endpoints.ts';
import type { PgpKey } from '../store/keys.ts';
import type { WebhookConfiguration } from '../store/webhooks.ts';
import { USER_AGENT } from '../version.ts';
import { contentHeaders, signDelivery } from '../wire/delivery-signature.ts';
import { type EnvelopeRecord, encodeEnvelope } from '../wire/envelope.ts';
import { encodePayload } from '../wire/payload.ts';
import { standardWebhookHeaders } from '../wire/standard-webhooks.ts';

export type Message = {
  readonly url: URL;
  /** In the order in which they are sent; without `authorization` where the bearer token is still to come. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
};

export type MessageParts = {
  readonly webhook: WebhookConfiguration;
  readonly endpoint: Endpoint;
  readonly key: PgpKey | null;
  readonly sessionId: string;
  readonly batchId: string;
  readonly attemptNumber: number;
  readonly records: readonly EnvelopeRecord[];
  /** The moment of this attempt: each one is signed afresh. */
  readonly now: number;
};

/** Throws a `KeyError` (wire/pgp.ts) when the payload must be encrypted and cannot be: nothing goes out in clear instead. */
export async function buildMessage({ webhook, endpoint, key, now, ...parts }: MessageParts): Promise<Message> {
  const envelope = encodeEnvelope({ subscriptionId: webhook.id, now, ...parts });
  const encryption = key === null ? null : { keyName: key.name, publicKey: key.publicKey };
  const payload = await encodePayload(envelope, { gzip: endpoint.contentEncoding === 'gzip', encryption, now });
  const url = new URL(endpoint.url);
  const body = payload.bytes;
  const secret = signingSecret(endpoint, now).reveal();
  const { customHeaders } = webhook;
  const security =
    endpoint.oauthClientId === null
      ? signDelivery({ url, secret, body, at: now, customHeaders })
      : contentHeaders(body, now);
  const standard = webhook.standardWebhooks ? standardWebhookHeaders({ id: parts.batchId, at: now, body, secret }) : {};
  return {
    url,
    body,
    headers: {
      'user-agent': USER_AGENT,
      'x-api-key': currentApiKey(endpoint, now).reveal(),
      ...payload.headers,
      ...security,
      ...Object.fromEntries(customHeaders.map(({ name, value }) => [name, value])),
      ...standard,
    },
  };
}

/** Headers as they may be kept and shown: the API key and bearer tokens are secrets, a signature of one moment is not. */
export function maskedHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const masked: Record<string, string> = { ...headers, 'x-api-key': '[secret]' };
  if (headers.authorization?.startsWith('Bearer ')) masked.authorization = 'Bearer [secret]';
  return masked;
}

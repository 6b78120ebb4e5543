/** The request that carries a batch (wire.md §5): envelope, encodings, signature or bearer, and every header. */
import type { KeyObject } from 'node:crypto';
import type { Secret } from '../secret.ts';
import type { Endpoint } from '../store/endpoints.ts';
import { currentApiKey, signingSecret } from '../store/endpoints.ts';
import type { PgpKey } from '../store/keys.ts';
import type { WebhookConfiguration } from '../store/webhooks.ts';
import { USER_AGENT } from '../version.ts';
import { contentHeaders, signDelivery, signingKey } from '../wire/delivery-signature.ts';
import type { EnvelopeRecord } from '../wire/envelope.ts';
import { encodeEnvelope } from '../wire/envelope-encoding.ts';
import { encodePayload } from '../wire/payload.ts';
import type { Encrypt } from '../wire/pgp.ts';
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
  readonly encrypt: Encrypt;
};

/**
 * At once, unless the payload is compressed or encrypted. Throws, or rejects with, a `KeyError` (wire/pgp.ts) when it must be encrypted
 * and cannot be: nothing goes out in clear instead.
 */
export function buildMessage({ key, now, encrypt, ...parts }: MessageParts): Message | Promise<Message> {
  const { webhook, endpoint } = parts;
  const envelope = encodeEnvelope({ subscriptionId: webhook.id, now, ...parts });
  const isCompressed = endpoint.contentEncoding === 'gzip';
  if (key === null && !isCompressed) return signed({ ...parts, now }, { bytes: envelope, headers: PLAIN });
  const encryption = key === null ? null : { keyName: key.name, publicKey: key.publicKey };
  return encodePayload(envelope, { gzip: isCompressed, encryption, now, encrypt }).then((payload) =>
    signed({ ...parts, now }, payload),
  );
}

const PLAIN = { 'content-type': 'application/json' };

type Payload = { readonly bytes: Uint8Array; readonly headers: Readonly<Record<string, string>> };

function signed({ webhook, endpoint, batchId, now }: Omit<MessageParts, 'key' | 'encrypt'>, payload: Payload): Message {
  const url = urlOf(endpoint);
  const body = payload.bytes;
  const secret = signingSecret(endpoint, now);
  const { customHeaders } = webhook;
  const headers: Record<string, string> = {
    'user-agent': USER_AGENT,
    'x-api-key': currentApiKey(endpoint, now).reveal(),
    ...payload.headers,
    ...(endpoint.oauthClientId === null
      ? signDelivery({ url, secret: keyOf(secret), body, at: now, customHeaders })
      : contentHeaders(body, now)),
  };
  for (const { name, value } of customHeaders) headers[name] = value;
  if (webhook.standardWebhooks) {
    Object.assign(headers, standardWebhookHeaders({ id: batchId, at: now, body, secret: secret.reveal() }));
  }
  return { url, body, headers };
}

/** Made once for as long as the route is kept with its secrets unsealed. */
const KEYS = new WeakMap<Secret, KeyObject>();

function keyOf(secret: Secret): KeyObject {
  const known = KEYS.get(secret);
  if (known !== undefined) return known;
  const key = signingKey(secret.reveal());
  KEYS.set(secret, key);
  return key;
}

/** Parsed once for as long as the endpoint is the same. */
const URLS = new WeakMap<Endpoint, URL>();

function urlOf(endpoint: Endpoint): URL {
  const known = URLS.get(endpoint);
  if (known !== undefined) return known;
  const url = new URL(endpoint.url);
  URLS.set(endpoint, url);
  return url;
}

/** Headers as they may be kept and shown: the API key and bearer tokens are secrets, a signature of one moment is not. */
export function maskedHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const masked: Record<string, string> = { ...headers, 'x-api-key': '[secret]' };
  if (headers.authorization?.startsWith('Bearer ')) masked.authorization = 'Bearer [secret]';
  return masked;
}

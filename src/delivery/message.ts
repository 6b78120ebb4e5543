/** The request that carries a body (contract §5): its signature or bearer token, and its headers. */
import type { KeyObject } from 'node:crypto';
import type { Secret } from '../kernel/secret.ts';
import { USER_AGENT } from '../kernel/version.ts';
import type { Endpoint } from '../webhooks/endpoint.ts';
import { currentApiKey, signingSecret, standardWebhookSecrets } from '../webhooks/endpoint.ts';
import type { WebhookConfiguration } from '../webhooks/webhook.ts';
import { signDelivery, signingKey } from '../wire/delivery-signature.ts';
import { standardWebhookHeaders } from '../wire/standard-webhooks.ts';
import type { Body } from './body.ts';

export type Message = {
  readonly url: URL;
  /** In the order in which they are sent. Without `authorization` until the bearer token is added. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
};

export type MessageParts = {
  readonly webhook: Pick<WebhookConfiguration, 'customHeaders' | 'standardWebhooks'>;
  readonly endpoint: Endpoint;
  readonly batchId: string;
  readonly body: Body;
  /** The time of this attempt: every attempt is signed anew. */
  readonly now: number;
};

export function buildMessage({
  webhook,
  endpoint,
  batchId,
  body: { bytes, headers: content },
  now,
}: MessageParts): Message {
  const url = urlOf(endpoint);
  const secret = signingSecret(endpoint, now);
  const { customHeaders } = webhook;
  const headers: Record<string, string> = {
    'user-agent': USER_AGENT,
    'x-api-key': currentApiKey(endpoint, now).reveal(),
    ...content,
    ...(endpoint.oauthClientId === null && signDelivery({ url, secret: keyOf(secret), content, customHeaders })),
  };
  for (const { name, value } of customHeaders) headers[name] = value;
  if (webhook.standardWebhooks) {
    const secrets = standardWebhookSecrets(endpoint, now).map((one) => one.reveal());
    Object.assign(headers, standardWebhookHeaders({ id: batchId, at: now, body: bytes, secrets }));
  }
  return { url, body: bytes, headers };
}

/** One key for each cached secret. */
const KEYS = new WeakMap<Secret, KeyObject>();

function keyOf(secret: Secret): KeyObject {
  const known = KEYS.get(secret);
  if (known !== undefined) return known;
  const key = signingKey(secret.reveal());
  KEYS.set(secret, key);
  return key;
}

/** One parsed URL for each cached endpoint. */
const URLS = new WeakMap<Endpoint, URL>();

function urlOf(endpoint: Endpoint): URL {
  const known = URLS.get(endpoint);
  if (known !== undefined) return known;
  const url = new URL(endpoint.url);
  URLS.set(endpoint, url);
  return url;
}

/** Headers as they are stored and shown. The API key and bearer tokens are secrets; a signature of one request is not. */
export function maskedHeaders(headers: Readonly<Record<string, string>>): Record<string, string> {
  const masked: Record<string, string> = { ...headers, 'x-api-key': '[secret]' };
  if (headers.authorization?.startsWith('Bearer ')) masked.authorization = 'Bearer [secret]';
  return masked;
}

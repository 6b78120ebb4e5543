/**
 * Signs deliveries with `node:crypto`: the service's own signature (contract §5 "HMAC"), and the headers of Standard Webhooks beside it.
 * The inverses are `delivery-verification.ts` and `standard-webhooks-verification.ts`, which use `web-hash.ts`; `signature.ts` has the
 * layout of both.
 */
import { createHash, createHmac, createSecretKey, hash, type KeyObject, timingSafeEqual } from 'node:crypto';
import {
  type CustomHeader,
  formatAuthorization,
  formatImfFixdate,
  pathAndQuery,
  REQUIRED_SIGNED_HEADERS,
  secretKey,
  stringToSign,
} from './signature.ts';

/** The headers that every delivery carries, signed or with OAuth. */
export type ContentHeaders = { 'x-content-sha256': string; date: string };

/** `secret` is the text, or the key that `signingKey` made from it. */
type DeliveryToSign = {
  readonly url: URL;
  readonly secret: string | KeyObject;
  readonly content: Readonly<ContentHeaders>;
  readonly customHeaders: readonly CustomHeader[];
};

/**
 * The hash and the date of a delivery, which it carries with a signature or with an OAuth token. `body` is the bytes as sent; `at` is the
 * instant of this attempt in epoch milliseconds.
 */
export function contentHeaders(body: Uint8Array, at: number): ContentHeaders {
  return { 'x-content-sha256': sha256Base64(body), date: dateOf(at) };
}

let latestSecond = Number.NaN;
let latestDate = '';

/** Formatted once a second, because many deliveries share a date. */
function dateOf(at: number): string {
  const second = Math.floor(at / 1000);
  if (second !== latestSecond) {
    latestDate = formatImfFixdate(at);
    latestSecond = second;
  }
  return latestDate;
}

/** A key that can sign many times. On Node 24 an HMAC takes 13 µs with a key of bytes, 3 µs with a new key object, and 2 µs with a cached one. */
export function signingKey(secret: string): KeyObject {
  return createSecretKey(secretKey(secret));
}

/** The three headers of a signed delivery. The custom headers are signed here; the caller sends them. */
export function signDelivery(delivery: DeliveryToSign): ContentHeaders & { authorization: string } {
  const { url, secret, content, customHeaders } = delivery;
  const values = [content['x-content-sha256'], content.date, ...customHeaders.map(({ value }) => value)];
  const signature = hmacSha256Base64(
    typeof secret === 'string' ? signingKey(secret) : secret,
    stringToSign('POST', pathAndQuery(url), values),
  );
  const names = [...REQUIRED_SIGNED_HEADERS, ...customHeaders.map(({ name }) => name)];
  return { ...content, authorization: formatAuthorization(names, signature) };
}

type StandardWebhookHeaders = {
  'webhook-id': string;
  'webhook-timestamp': string;
  'webhook-signature': string;
};

/** `id` is that of the batch, without `msg_`; `at` is the instant of this attempt in epoch milliseconds; `body` is the bytes as sent. */
type MessageToSign = {
  readonly id: string;
  readonly at: number;
  readonly body: Uint8Array;
  /** The active secret first, then during a rotation the other one. */
  readonly secrets: readonly string[];
};

/** The headers of Standard Webhooks (its specification, "Signature scheme"). The keys are those of the service's own signature, so `whsec_<secret>` verifies. Signatures are separated by a space. */
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

/** SHA-256 of the bytes, in Base64: 44 characters. */
export function sha256Base64(bytes: Uint8Array): string {
  return hash('sha256', bytes, 'base64');
}

/** HMAC-SHA256 (RFC 2104), in Base64. Several parts are signed as if concatenated, without a copy; text is UTF-8. */
export function hmacSha256Base64(key: Uint8Array | KeyObject, ...message: readonly (string | Uint8Array)[]): string {
  const hmac = createHmac('sha256', key instanceof Uint8Array ? createSecretKey(key) : key);
  for (const part of message) hmac.update(part);
  return hmac.digest('base64');
}

/**
 * Whether two texts are equal. The time does not reveal where they differ. Compares digests, so that different lengths are no special
 * case; of UTF-16, because UTF-8 would make all lone surrogates equal.
 */
export function equalText(a: string, b: string): boolean {
  return timingSafeEqual(digestOf(a), digestOf(b));
}

function digestOf(text: string): Uint8Array {
  return createHash('sha256').update(Buffer.from(text, 'utf16le')).digest();
}

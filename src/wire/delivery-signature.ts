/** Signs a delivery (contract §5 "HMAC"). The inverse is `delivery-verification.ts`; `signature.ts` has the layout of both. */
import type { KeyObject } from 'node:crypto';
import { formatImfFixdate } from './date.ts';
import { hmacKey, hmacSha256Base64, sha256Base64 } from './hash.ts';
import {
  type CustomHeader,
  formatAuthorization,
  pathAndQuery,
  REQUIRED_SIGNED_HEADERS,
  secretKey,
  stringToSign,
} from './signature.ts';

/** The headers that every delivery carries, signed or with OAuth. */
export type ContentHeaders = { 'x-content-sha256': string; date: string };

/** `secret` is the text, or the key that `signingKey` made from it. */
export type DeliveryToSign = {
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

/** Makes a key that can sign many times: making it takes longer than signing. */
export function signingKey(secret: string): KeyObject {
  return hmacKey(secretKey(secret));
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

/**
 * The layout of the HMAC signature (contract §5 "HMAC"): what is signed, with which bytes as the key, and how the
 * `Authorization` header is written and read. No hashing here and nothing of Node's, so any JavaScript runtime has it.
 */
import { AUTHORIZATION_BYTES, SIGNED_HEADERS_MAX } from '../kernel/limits/limits.ts';
import { decodeStrictBase64 } from './base64.ts';

/** One header that a customer configured for a webhook, its name in the case it was configured in. */
export type CustomHeader = { readonly name: string; readonly value: string };

/** What an `Authorization` header of this scheme says; names in lower case, the signature in Base64. */
export type SignedAuthorization = { signedHeaders: string[]; signature: string };

/** The scheme's name in the `Authorization` header. */
export const SIGNATURE_SCHEME = 'HMAC-SHA256';

/** The headers that are always signed, in this order, before the custom ones. */
export const REQUIRED_SIGNED_HEADERS: readonly string[] = ['x-content-sha256', 'date'];

/** The last of 43 letters carries four bits, so that 32 bytes have one spelling (RFC 4648 §3.5). */
const AUTHORIZATION =
  /^HMAC-SHA256 SignedHeaders=([a-z0-9-]+(?:;[a-z0-9-]+)*)&Signature=([A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=)$/;

/**
 * The key of every HMAC of an endpoint: the secret decoded where it is strict Base64, else its UTF-8 bytes. Throws a
 * RangeError for the empty secret: with it anybody could sign.
 */
export function secretKey(secret: string): Uint8Array {
  if (secret === '') throw new RangeError('a secret is never empty');
  return decodeStrictBase64(secret) ?? new TextEncoder().encode(secret);
}

/** The request target as it is sent: path and query, case kept, without the fragment. */
export function pathAndQuery(url: URL): string {
  return url.pathname + url.search;
}

/** Three lines: the method in upper case, path and query in lower case, the values of the signed headers joined by `;`. */
export function stringToSign(method: string, target: string, signedValues: readonly string[]): string {
  return `${method.toUpperCase()}\n${target.toLowerCase()}\n${signedValues.join(';')}`;
}

/** The `Authorization` header's value. Names are lowered; their order is that of the values in the string to sign. */
export function formatAuthorization(signedHeaders: readonly string[], signature: string): string {
  return `${SIGNATURE_SCHEME} SignedHeaders=${signedHeaders.join(';').toLowerCase()}&Signature=${signature}`;
}

/** Reads exactly what `formatAuthorization` writes, or answers null: for other schemes, repeated names, over-long text. */
export function parseAuthorization(text: string): SignedAuthorization | null {
  if (text.length > AUTHORIZATION_BYTES) return null;
  const [match, names = '', signature = ''] = AUTHORIZATION.exec(text) ?? [];
  if (match === undefined) return null;
  const signedHeaders = names.split(';');
  const distinct = new Set(signedHeaders).size === signedHeaders.length;
  return distinct && signedHeaders.length <= SIGNED_HEADERS_MAX ? { signedHeaders, signature } : null;
}

/**
 * The layout of the HMAC signature (contract §5 "HMAC"): the text to sign, the bytes of the key, and the `Authorization` header. It hashes
 * nothing and uses nothing of Node's, so it runs on any JavaScript runtime.
 */
import { AUTHORIZATION_BYTES, SIGNED_HEADERS_MAX } from '../kernel/limits/limits.ts';
import { decodeStrictBase64 } from './base64.ts';

/** A custom header of a webhook, with its name in the configured case. */
export type CustomHeader = { readonly name: string; readonly value: string };

/** An `Authorization` header of this scheme: names in lower case, the signature in Base64. */
export type SignedAuthorization = { signedHeaders: string[]; signature: string };

/** The scheme's name in the `Authorization` header. */
export const SIGNATURE_SCHEME = 'HMAC-SHA256';

/** The headers that are always signed, in this order, before the custom ones. */
export const REQUIRED_SIGNED_HEADERS: readonly string[] = ['x-content-sha256', 'date'];

/** The last of the 43 letters carries four bits: its unused bits must be 0, so that 32 bytes have one spelling (RFC 4648 §3.5). */
const AUTHORIZATION =
  /^HMAC-SHA256 SignedHeaders=([a-z0-9-]+(?:;[a-z0-9-]+)*)&Signature=([A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=)$/;

/**
 * The key of every HMAC of an endpoint: the decoded secret if it is strict Base64, otherwise its UTF-8 bytes. Throws a RangeError for an
 * empty secret, with which anybody could sign.
 */
export function secretKey(secret: string): Uint8Array {
  if (secret === '') throw new RangeError('a secret must not be empty');
  return decodeStrictBase64(secret) ?? new TextEncoder().encode(secret);
}

/** The request target as sent: path and query in their original case, without the fragment. */
export function pathAndQuery(url: URL): string {
  return url.pathname + url.search;
}

/** Three lines: the method in upper case, path and query in lower case, the values of the signed headers joined by `;`. */
export function stringToSign(method: string, target: string, signedValues: readonly string[]): string {
  return `${method.toUpperCase()}\n${target.toLowerCase()}\n${signedValues.join(';')}`;
}

/** The value of the `Authorization` header. Names become lower case and keep the order of the values in the string to sign. */
export function formatAuthorization(signedHeaders: readonly string[], signature: string): string {
  return `${SIGNATURE_SCHEME} SignedHeaders=${signedHeaders.join(';').toLowerCase()}&Signature=${signature}`;
}

/** Parses what `formatAuthorization` writes. Returns null for anything else, including other schemes, repeated names and text over the bound. */
export function parseAuthorization(text: string): SignedAuthorization | null {
  if (text.length > AUTHORIZATION_BYTES) return null;
  const [match, names = '', signature = ''] = AUTHORIZATION.exec(text) ?? [];
  if (match === undefined) return null;
  const signedHeaders = names.split(';');
  const distinct = new Set(signedHeaders).size === signedHeaders.length;
  return distinct && signedHeaders.length <= SIGNED_HEADERS_MAX ? { signedHeaders, signature } : null;
}

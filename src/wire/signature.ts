/**
 * The layout of the HMAC signature (contract §5.3): the text to sign, the bytes of the key, the `Authorization` header, and the date.
 * It hashes nothing and uses nothing of Node's, so it runs on any JavaScript runtime.
 */
import { decodeStrictBase64 } from './bytes.ts';

/** A receiver refuses a longer header unread. */
const AUTHORIZATION_HEADER_BYTES: number = 8 * 1024;

/** Names in `SignedHeaders` that a receiver accepts; the service signs at most six. */
const SIGNED_HEADERS_MAX = 16;

/** An `Authorization` header of this scheme: names in lower case, the signature in Base64. */
type SignedAuthorization = { signedHeaders: string[]; signature: string };

/** The scheme's name in the `Authorization` header. */
export const SIGNATURE_SCHEME = 'HMAC-SHA256';

/** The headers that are always signed, in this order, before the custom ones. */
export const REQUIRED_SIGNED_HEADERS: readonly string[] = ['x-content-sha256', 'date'];

/** The last of the 43 letters carries four bits: its unused bits must be 0, so that 32 bytes have one spelling (RFC 4648 §3.5). */
const AUTHORIZATION =
  /^HMAC-SHA256 SignedHeaders=([a-z0-9-]+(?:;[a-z0-9-]+)*)&Signature=([A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=)$/;

/**
 * The key of every HMAC of an endpoint: the decoded secret if it is strict Base64, otherwise its UTF-8 bytes. Throws a RangeError for an
 * empty secret, with which anyone could sign.
 */
export function secretKey(secret: string): Uint8Array {
  if (secret === '') throw new RangeError('a secret must not be empty');
  return decodeStrictBase64(secret) ?? new TextEncoder().encode(secret);
}

/** The prefix of secrets in Standard Webhooks. */
export const STANDARD_SECRET_PREFIX = 'whsec_';

/**
 * Removes the prefix of `whsec_<Base64>` (contract §4.8) and returns any other text unchanged. Returns null if the prefix is not followed
 * by strict Base64: the secret was cut or mistyped, and no signature made with it would verify.
 */
export function givenSecret(text: string): string | null {
  if (!text.startsWith(STANDARD_SECRET_PREFIX)) return text;
  const secret = text.slice(STANDARD_SECRET_PREFIX.length);
  return decodeStrictBase64(secret) === null ? null : secret;
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

/**
 * Parses what `formatAuthorization` writes. Returns null for anything else, including other schemes, repeated names and text over the
 * bound.
 */
export function parseAuthorization(text: string): SignedAuthorization | null {
  if (text.length > AUTHORIZATION_HEADER_BYTES) return null;
  const [match, names = '', signature = ''] = AUTHORIZATION.exec(text) ?? [];
  if (match === undefined) return null;
  const signedHeaders = names.split(';');
  const distinct = new Set(signedHeaders).size === signedHeaders.length;
  return distinct && signedHeaders.length <= SIGNED_HEADERS_MAX ? { signedHeaders, signature } : null;
}

/**
 * The date format of HTTP, IMF-fixdate (RFC 9110 §5.6.7): `Sat, 21 Nov 2026 05:00:00 GMT`, from epoch milliseconds, rounded down to the
 * second. For the years 0 to 9999.
 */
export function formatImfFixdate(at: number): string {
  return new Date(at).toUTCString();
}

/**
 * Parses exactly an IMF-fixdate into epoch milliseconds. Returns null for any other text: a wrong weekday, a day that does not exist, the
 * obsolete formats of RFC 9110, the leap second `:60`, and years before 100.
 */
export function parseImfFixdate(text: string): number | null {
  // The engine parses many more formats, but writes only this one.
  const at = Date.parse(text);
  return !Number.isNaN(at) && formatImfFixdate(at) === text ? at : null;
}

/**
 * Bounds how long a captured request can be replayed. Null if `at` is within the tolerance of `now` (both in epoch milliseconds), otherwise
 * a message such as `date is 412 s old, 300 s allowed`. Compares whole seconds, because that is the precision on the wire.
 */
export function ageProblem(what: string, at: number, now: number, toleranceSeconds: number): string | null {
  const ageSeconds = Math.floor(now / 1000) - Math.floor(at / 1000);
  // Written so that a clock or a tolerance of NaN accepts nothing.
  if (Math.abs(ageSeconds) <= toleranceSeconds) return null;
  const relation = ageSeconds > 0 ? `${ageSeconds} s old` : `${-ageSeconds} s ahead of this clock`;
  return `${what} is ${relation}, ${toleranceSeconds} s allowed`;
}

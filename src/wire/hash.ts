/** Digests, HMAC and comparison in constant time, with `node:crypto`. Receivers use `web-hash.ts`. */
import { createHash, createHmac, createSecretKey, hash, type KeyObject, timingSafeEqual } from 'node:crypto';

/** SHA-256 of the bytes, in Base64: 44 characters. */
export function sha256Base64(bytes: Uint8Array): string {
  return hash('sha256', bytes, 'base64');
}

/** HMAC-SHA256 (RFC 2104), in Base64. Several parts are signed as if concatenated, without a copy; text is UTF-8. */
export function hmacSha256Base64(key: Uint8Array | KeyObject, ...message: readonly (string | Uint8Array)[]): string {
  const hmac = createHmac('sha256', key instanceof Uint8Array ? hmacKey(key) : key);
  for (const part of message) hmac.update(part);
  return hmac.digest('base64');
}

/** A key for many HMACs. On Node 24 an HMAC takes 13 µs with a key of bytes, 3 µs with a new key object, and 2 µs with a cached one. */
export function hmacKey(key: Uint8Array): KeyObject {
  return createSecretKey(key);
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

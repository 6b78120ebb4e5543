/** The digests of the wire and comparison in constant time: all that needs `node:crypto`, and nothing else. */
import { createHash, createHmac, createSecretKey, hash, type KeyObject, timingSafeEqual } from 'node:crypto';

/** SHA-256 of the bytes, in Base64: 44 characters. */
export function sha256Base64(bytes: Uint8Array): string {
  return hash('sha256', bytes, 'base64');
}

/** HMAC-SHA256 (RFC 2104), in Base64. Several parts are signed as if joined, without being copied; text as UTF-8. */
export function hmacSha256Base64(key: Uint8Array | KeyObject, ...message: readonly (string | Uint8Array)[]): string {
  const hmac = createHmac('sha256', key instanceof Uint8Array ? hmacKey(key) : key);
  for (const part of message) hmac.update(part);
  return hmac.digest('base64');
}

/** A key for many HMACs. Node 24 takes 13 µs for one whose key comes as bytes, 3 µs with this made anew, 2 µs with this kept. */
export function hmacKey(key: Uint8Array): KeyObject {
  return createSecretKey(key);
}

/**
 * Whether two texts are the same, in a time that says nothing about where they differ. Digests are compared, so texts
 * of different lengths are no special case; UTF-16 and not UTF-8, which would make all lone surrogates equal.
 */
export function equalText(a: string, b: string): boolean {
  return timingSafeEqual(digestOf(a), digestOf(b));
}

function digestOf(text: string): Uint8Array {
  return createHash('sha256').update(Buffer.from(text, 'utf16le')).digest();
}

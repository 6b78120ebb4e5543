/**
 * Digests and HMAC with WebCrypto, which every JavaScript runtime has, and comparison in constant time. For receivers; the sender uses
 * payload.ts, which does the same synchronously, because it signs thousands of deliveries a second.
 */
import { encodeBase64 } from './bytes.ts';

/** WebCrypto does not accept memory that is shared between threads. Received bytes are not shared. */
type Unshared = Uint8Array<ArrayBuffer>;

/** SHA-256 of the bytes, in Base64: 44 characters. */
export async function sha256Base64(bytes: Uint8Array): Promise<string> {
  return encodeBase64(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes as Unshared)));
}

/** HMAC-SHA256 (RFC 2104), in Base64. Several parts are signed as if concatenated; text is UTF-8. The key must not be empty. */
export async function hmacSha256Base64(key: Uint8Array, ...message: readonly (string | Uint8Array)[]): Promise<string> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const imported = await crypto.subtle.importKey('raw', key as Unshared, algorithm, false, ['sign']);
  const joined = await new Blob(message as (string | Unshared)[]).arrayBuffer();
  return encodeBase64(new Uint8Array(await crypto.subtle.sign('HMAC', imported, joined)));
}

/** Whether two texts are equal. The time reveals nothing but their lengths. */
export function equalText(a: string, b: string): boolean {
  let difference = a.length ^ b.length;
  // Past the end of `b`, charCodeAt returns NaN, which counts as 0.
  for (let at = 0; at < a.length; at++) difference |= a.charCodeAt(at) ^ b.charCodeAt(at);
  return difference === 0;
}

/**
 * The digests of the wire on WebCrypto, which every JavaScript runtime has, and comparison in constant time: the receiver's
 * side. The sender's is hash.ts: the same at once instead of by promise, for a service that signs thousands a second.
 */
import { encodeBase64 } from './base64.ts';

/** WebCrypto takes no memory that is shared between threads: what came over the wire is none. */
type Unshared = Uint8Array<ArrayBuffer>;

/** SHA-256 of the bytes, in Base64: 44 characters. */
export async function sha256Base64(bytes: Uint8Array): Promise<string> {
  return encodeBase64(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes as Unshared)));
}

/** HMAC-SHA256 (RFC 2104), in Base64. Several parts are signed as if joined; text as UTF-8. The key is not empty. */
export async function hmacSha256Base64(key: Uint8Array, ...message: readonly (string | Uint8Array)[]): Promise<string> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const imported = await crypto.subtle.importKey('raw', key as Unshared, algorithm, false, ['sign']);
  const joined = await new Blob(message as (string | Unshared)[]).arrayBuffer();
  return encodeBase64(new Uint8Array(await crypto.subtle.sign('HMAC', imported, joined)));
}

/** Whether two texts are the same, in a time that says nothing but how long they are. */
export function equalText(a: string, b: string): boolean {
  let difference = a.length ^ b.length;
  // Beyond the end there is NaN, which counts as 0.
  for (let at = 0; at < a.length; at++) difference |= a.charCodeAt(at) ^ b.charCodeAt(at);
  return difference === 0;
}

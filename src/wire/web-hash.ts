/**
 * The digests of the wire and comparison in constant time on WebCrypto, which every JavaScript runtime has: the receiver's
 * side. The sender's side is hash.ts: the same at once instead of by promise, for a service that signs thousands a second.
 */
import { encodeBase64 } from './base64.ts';
import { concatenate } from './bytes.ts';

/** SHA-256 of the bytes, in Base64: 44 characters. */
export async function sha256Base64(bytes: Uint8Array): Promise<string> {
  return encodeBase64(await sha256(bytes));
}

/** HMAC-SHA256 (RFC 2104), in Base64. Several parts are signed as if joined; text as UTF-8. The key is not empty. */
export async function hmacSha256Base64(key: Uint8Array, ...message: readonly (string | Uint8Array)[]): Promise<string> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const imported = await crypto.subtle.importKey('raw', plain(key), algorithm, false, ['sign']);
  return encodeBase64(new Uint8Array(await crypto.subtle.sign('HMAC', imported, concatenate(message.map(bytesOf)))));
}

/**
 * Whether two texts are the same, in a time that says nothing about where they differ. Digests are compared, so texts
 * of different lengths are no special case; UTF-16 and not UTF-8, which would make all lone surrogates equal.
 */
export async function equalText(a: string, b: string): Promise<boolean> {
  const [one, other] = await Promise.all([sha256(utf16(a)), sha256(utf16(b))]);
  return one.reduce((difference, byte, at) => difference | (byte ^ (other[at] ?? 0)), 0) === 0;
}

async function sha256(bytes: Uint8Array): Promise<Uint8Array> {
  return new Uint8Array(await crypto.subtle.digest('SHA-256', plain(bytes)));
}

function bytesOf(part: string | Uint8Array): Uint8Array {
  return typeof part === 'string' ? new TextEncoder().encode(part) : part;
}

function utf16(text: string): Uint8Array {
  const bytes = new Uint8Array(text.length * 2);
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    bytes[2 * at] = unit & 0xff;
    bytes[2 * at + 1] = unit >> 8;
  }
  return bytes;
}

/** WebCrypto takes no memory that is shared between threads, and its types say so. */
function plain(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  return bytes.buffer instanceof ArrayBuffer ? (bytes as Uint8Array<ArrayBuffer>) : new Uint8Array(bytes);
}

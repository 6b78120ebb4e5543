/** Base64 and Base64url (RFC 4648 §4, §5), and streams of bytes, without `Buffer`: for runtimes that have only the web's APIs. */

/**
 * The standard alphabet, padded (RFC 4648 §4). For digests and tokens: each byte becomes an argument, so tens of thousands are too many.
 */
export function encodeBase64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}

/** The URL-safe alphabet, without padding (RFC 4648 §5). */
export function encodeBase64Url(bytes: Uint8Array): string {
  return encodeBase64(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

/**
 * Decodes strict Base64 (contract §5.3): standard alphabet, padded, a length that is a multiple of 4. Returns null for any other text, and
 * for the empty text. The decoder ignores unused bits of the last letter (RFC 4648 §3.5 allows that), so several texts decode to the same
 * bytes: compare encoded texts, never decoded ones.
 */
export function decodeStrictBase64(text: string): Uint8Array<ArrayBuffer> | null {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return null;
  const binary = atob(text);
  // Every signature decodes a key. Measured: 1.5 µs, against 8 µs with Uint8Array.from.
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
  return bytes;
}

/** Reads a stream to its end, or says why it cannot. Reads no more of a stream than `maxBytes`. Never rejects. */
export async function readChunks(
  stream: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  maxBytes: number,
): Promise<Uint8Array | 'broken' | 'too large'> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let left = maxBytes;
  try {
    for await (const chunk of stream) {
      left -= chunk.length;
      // Written so that a bound of NaN accepts nothing.
      if (!(left >= 0)) return 'too large';
      chunks.push(chunk as Uint8Array<ArrayBuffer>);
    }
  } catch {
    return 'broken';
  }
  return new Uint8Array(await new Blob(chunks).arrayBuffer());
}

/** Streams of bytes without `Buffer`, so that it also runs where there is only what the web has. */

/** A stream to its end, or why there is none. Of one that is too large no more than the bound is kept or waited for. Never rejects. */
export async function readChunks(
  stream: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  maxBytes: number,
): Promise<Uint8Array | 'broken' | 'too large'> {
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let left = maxBytes;
  try {
    for await (const chunk of stream) {
      left -= chunk.length;
      // So that a bound that is not a number lets nothing in.
      if (!(left >= 0)) return 'too large';
      chunks.push(chunk as Uint8Array<ArrayBuffer>);
    }
  } catch {
    return 'broken';
  }
  return new Uint8Array(await new Blob(chunks).arrayBuffer());
}

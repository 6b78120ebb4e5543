/** Reads streams of bytes without `Buffer`, for runtimes that have only the web's APIs. */

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

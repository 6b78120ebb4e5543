/** Bytes and streams of them without `Buffer`, so that it also runs where there is only what the web has. */

/** Bytes of whatever realm: test runners and sandboxes have constructors of their own, so `instanceof` would not do. */
export function isBytes(value: unknown): value is Uint8Array {
  return ArrayBuffer.isView(value);
}

/** One piece of all of them, in their order. */
export function concatenate(pieces: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(pieces.reduce((size, piece) => size + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}

/** Gives the next chunk of a stream: what its reader's `read` and its iterator's `next` have in common. */
export type Next = () => Promise<{ readonly done?: boolean | undefined; readonly value?: unknown }>;

/** A stream to its end, or why there is none. Of one that is too large no more than the bound is kept or waited for. Never rejects. */
export async function readChunks(next: Next, maxBytes: number): Promise<Uint8Array | 'broken' | 'too large'> {
  const chunks: Uint8Array[] = [];
  let left = maxBytes;
  try {
    for (let read = await next(); read.done !== true; read = await next()) {
      const chunk = read.value as Uint8Array;
      left -= chunk.length;
      // So that a bound that is not a number lets nothing in.
      if (!(left >= 0)) return 'too large';
      chunks.push(chunk);
    }
  } catch {
    return 'broken';
  }
  return concatenate(chunks);
}

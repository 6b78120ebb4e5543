/** Unzips with a bound on what comes out, on any runtime that has `DecompressionStream`. */
import { GUNZIP_SLICE_BYTES } from '../kernel/limits/limits.ts';
import { readChunks } from './bytes.ts';

/** The bytes of one gzip member (RFC 1952), or why there are none. Of a bomb no more than the bound and one slice's content is made. */
export function gunzip(bytes: Uint8Array, maxBytes: number): Promise<Uint8Array | 'broken' | 'too large'> {
  let at = 0;
  // In slices, since some runtimes unpack all that they are given before the first byte can be read.
  const slices = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(bytes.subarray(at, at + GUNZIP_SLICE_BYTES));
      at += GUNZIP_SLICE_BYTES;
    },
  });
  return readChunks(slices.pipeThrough(new DecompressionStream('gzip')), maxBytes);
}

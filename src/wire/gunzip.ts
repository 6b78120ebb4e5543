/** Decompresses gzip with a bound on the output, on any runtime with `DecompressionStream`. */
import { GUNZIP_SLICE_BYTES } from '../kernel/limits/limits.ts';
import { readChunks } from './bytes.ts';

/** Decompresses one gzip member (RFC 1952). Of a zip bomb, it produces at most `maxBytes` and the content of one slice. */
export function gunzip(bytes: Uint8Array, maxBytes: number): Promise<Uint8Array | 'broken' | 'too large'> {
  let at = 0;
  // In slices, because some runtimes decompress a whole chunk before the first byte can be read.
  const slices = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(bytes.subarray(at, at + GUNZIP_SLICE_BYTES));
      at += GUNZIP_SLICE_BYTES;
    },
  });
  return readChunks(slices.pipeThrough(new DecompressionStream('gzip')), maxBytes);
}

/** Unzips with a bound on what comes out, on any runtime that has `DecompressionStream`. */
import { GUNZIP_SLICE_BYTES } from '../limits.ts';
import { concatenate } from './bytes.ts';

/** The bytes of one gzip member (RFC 1952), or why there are none. Of a bomb no more than the bound and one slice's content is made. */
export async function gunzip(bytes: Uint8Array, maxBytes: number): Promise<Uint8Array | 'malformed' | 'too large'> {
  const reader = slices(bytes).pipeThrough(new DecompressionStream('gzip')).getReader();
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      size += read.value.length;
      if (size > maxBytes) {
        await reader.cancel();
        return 'too large';
      }
      chunks.push(read.value);
    }
  } catch {
    return 'malformed';
  }
  return concatenate(chunks);
}

/** In pieces, since some runtimes unpack all that they are given before the first byte can be read. */
function slices(bytes: Uint8Array): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(bytes.subarray(at, at + GUNZIP_SLICE_BYTES));
      at += GUNZIP_SLICE_BYTES;
    },
  });
}

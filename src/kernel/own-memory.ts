/**
 * Frees the memory of bytes before the garbage collector does. V8 counts memory outside of its heap too, and after every few dozen
 * megabytes collects everything: 10 to 20 ms in which the event loop answers no request. Memory that is freed immediately does not count.
 */

/** The memory of bytes that do not share it; null if they may. */
export function ownMemory({ buffer, byteLength }: Uint8Array): ArrayBuffer | null {
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? buffer : null;
}

/** Frees the memory of bytes that nothing reads after this, unless they may share it. */
export function freeMemory(bytes: Uint8Array): void {
  ownMemory(bytes)?.transfer(0);
}

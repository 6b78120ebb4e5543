/** What goes between the event loop and the thread that encrypts. */
import type { KeyFailureCode } from '../wire/pgp.ts';

export type ToEncrypt = { readonly publicKey: string; readonly bytes: Uint8Array; readonly now: number };

/** `code` is that of a `KeyError`, whose class does not survive the way between threads. */
export type Encrypted =
  | { readonly ok: true; readonly bytes: Uint8Array }
  | { readonly ok: false; readonly message: string; readonly code: KeyFailureCode | null };

/** What can be given to another thread without being copied: a body in memory of its own, of no use here afterwards. */
export function handedOver({ buffer, byteLength }: Uint8Array): ArrayBuffer[] {
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength ? [buffer] : [];
}

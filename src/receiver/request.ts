/** A request as the receiver takes it from whatever server got it, and its body as bytes, bounded. */
import { type Next, readChunks } from '../wire/bytes.ts';
import type { HeaderPairs, HeaderRecord } from '../wire/headers.ts';
import { type Failure, failure, type Verdict } from '../wire/verdict.ts';
import type { BodyFailureCode } from './refusals.ts';

export type ReceivedRequest = {
  readonly method: string;
  /** As in the request line, case kept: `/hooks/sallyport?tenant=17`. */
  readonly pathAndQuery: string;
  /** Names in any case; a header that came several times as a list or as several pairs, where the server still knows. */
  readonly headers: HeaderRecord | HeaderPairs;
  /** The bytes as received, or what reads them: it is called only once the headers hold. */
  readonly body: Uint8Array | ReadBody;
};

export type ReadBody = (maxBytes: number) => Promise<BodyVerdict>;
export type BodyVerdict = Verdict<BodyFailureCode, { readonly bytes: Uint8Array }>;

export async function readBody(next: Next, maxBytes: number): Promise<BodyVerdict> {
  const bytes = await readChunks(next, maxBytes);
  if (bytes === 'too large') return tooLarge(`over ${maxBytes}`, maxBytes);
  return bytes === 'broken'
    ? failure('body_incomplete', 'the connection ended before the body did')
    : { ok: true, bytes };
}

/** `size` as far as it is known. */
export function tooLarge(size: string | number, maxBytes: number): Failure<BodyFailureCode> {
  return failure('too_large', `the body has ${size} bytes, ${maxBytes} are allowed`);
}

export function wasParsed(): Failure<BodyFailureCode> {
  return failure('body_was_parsed', 'body was parsed before verification: pass the raw bytes');
}

/** Bytes of whatever realm: test runners and sandboxes have constructors of their own, so `instanceof` would not do. */
export function isBytes(value: unknown): value is Uint8Array {
  return ArrayBuffer.isView(value);
}

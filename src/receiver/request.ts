/** A request as the receiver takes it from whatever server got it, and its body as bytes, bounded. */
import { concatenate } from '../wire/bytes.ts';
import type { HeaderRecord } from '../wire/headers.ts';
import { type Failure, failure, type Verdict } from '../wire/verdict.ts';
import type { BodyFailureCode } from './refusals.ts';

export type ReceivedRequest = {
  readonly method: string;
  /** As in the request line, case kept: `/hooks/sallyport?tenant=17`. */
  readonly pathAndQuery: string;
  /** Names in any case; a header that came several times as a list, where the server still knows. */
  readonly headers: HeaderRecord;
  /** The bytes as received, or what reads them: it is called only once the headers hold. */
  readonly body: Uint8Array | ReadBody;
};

export type ReadBody = (maxBytes: number) => Promise<BodyVerdict>;
export type BodyVerdict = Verdict<BodyFailureCode, { readonly bytes: Uint8Array }>;

/** Collects a body of known bound. `add` answers false as soon as it has more bytes than allowed; what it had is let go. */
export function collectBody(maxBytes: number): { add(chunk: Uint8Array): boolean; end(): BodyVerdict } {
  let chunks: Uint8Array[] = [];
  let size = 0;
  return {
    add(chunk) {
      size += chunk.length;
      if (size <= maxBytes) chunks.push(chunk);
      else chunks = [];
      return size <= maxBytes;
    },
    end: () =>
      size <= maxBytes ? { ok: true, bytes: concatenate(chunks) } : bodyTooLarge(`over ${maxBytes}`, maxBytes),
  };
}

/** `size` as it is known: the announced number, or `over` the bound. */
export function bodyTooLarge(size: string, maxBytes: number): Failure<BodyFailureCode> {
  return failure('body_too_large', `the body has ${size} bytes, ${maxBytes} are allowed`);
}

export function bodyIncomplete(): Failure<BodyFailureCode> {
  return failure('body_incomplete', 'the connection ended before the body did');
}

export function bodyWasParsed(how: string): Failure<BodyFailureCode> {
  return failure('body_was_parsed', `body was parsed before verification: pass the raw bytes${how}`);
}

/** Bytes of whatever realm: test runners and sandboxes have constructors of their own, so `instanceof` would not do. */
export function isBytes(value: unknown): value is Uint8Array {
  return Object.prototype.toString.call(value) === '[object Uint8Array]';
}

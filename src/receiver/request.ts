/** A request as the receiver takes it from whatever server got it. */
import type { HeaderPairs, HeaderRecord } from '../wire/headers.ts';

export type ReceivedRequest = {
  readonly method: string;
  /** As in the request line, case kept: `/hooks/sallyport?tenant=17`. */
  readonly pathAndQuery: string;
  /** Names in any case; a header that came several times as a list or as several pairs, where the server still knows. */
  readonly headers: HeaderRecord | HeaderPairs;
  /** The bytes as received, or what reads them: it is called only once the headers hold. */
  readonly body: Uint8Array | ReadBody;
};

/** Gives the body, or why it cannot be had: it was cut, it has more bytes than this, somebody has read it before. */
export type ReadBody = (maxBytes: number) => Promise<Uint8Array | 'broken' | 'too large' | 'parsed'>;

/** A request in the form that a receiver accepts from any server. */
import type { HeaderPairs, HeaderRecord } from '../wire/headers.ts';

export type ReceivedRequest = {
  readonly method: string;
  /** As in the request line, in its original case: `/hooks/sallyport?tenant=17`. */
  readonly pathAndQuery: string;
  /** Names in upper or lower case. A repeated header is a list or several pairs. */
  readonly headers: HeaderRecord | HeaderPairs;
  /** The bytes as received, or a function that reads them. It is called only after the headers were verified. */
  readonly body: Uint8Array | ReadBody;
};

/** Reads the body. Or says why it cannot: it is incomplete, it has more than `maxBytes`, or something has parsed it before. */
export type ReadBody = (maxBytes: number) => Promise<Uint8Array | 'broken' | 'too large' | 'parsed'>;

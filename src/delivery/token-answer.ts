/** The answers of token servers, decoded. */

import { brotliDecompressSync, gunzipSync, inflateSync, type ZlibOptions } from 'node:zlib';
import { RESPONSE_READ_BYTES, type ReceiverAnswer } from '../domain/outcome.ts';

export type DecodedAnswer = {
  /** The body as text is, without content coding and byte order mark; empty if it could not be decoded. */
  readonly answer: ReceiverAnswer;
  /** Why the body could not be decoded, as the end of a sentence, or null. */
  readonly problem: string | null;
};

const DECODERS: Readonly<Record<string, (bytes: Uint8Array, options: ZlibOptions) => Uint8Array>> = {
  gzip: gunzipSync,
  'x-gzip': gunzipSync,
  deflate: inflateSync,
  br: brotliDecompressSync,
};

/**
 * Removes the content coding, which some servers apply although the request accepts none, and a byte order mark. The body has at most
 * `RESPONSE_READ_BYTES` afterwards too. A body that cannot be decoded is left out, because nobody could find the secrets in it.
 */
export function decoded(answer: ReceiverAnswer): DecodedAnswer {
  const coding = (answer.headers['content-encoding'] ?? '').trim().toLowerCase();
  if (coding === '' || coding === 'identity' || answer.body.length === 0) {
    return { answer: { ...answer, body: withoutMark(answer.body) }, problem: null };
  }
  const undecoded = { ...answer, body: new Uint8Array(0) };
  const decode = Object.hasOwn(DECODERS, coding) ? DECODERS[coding] : undefined;
  if (decode === undefined) {
    return { answer: undecoded, problem: 'in a Content-Encoding that was not asked for and is not supported' };
  }
  try {
    const body = decode(answer.body, { maxOutputLength: RESPONSE_READ_BYTES });
    return { answer: { ...answer, body: withoutMark(body) }, problem: null };
  } catch {
    const problem = `with a body that cannot be decoded as ${coding}, or has more than ${RESPONSE_READ_BYTES} bytes`;
    return { answer: undecoded, problem };
  }
}

/** JSON text must not begin with a byte order mark, and parsers may ignore one (RFC 8259 §8.1). */
function withoutMark(body: Uint8Array): Uint8Array {
  return body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf ? body.subarray(3) : body;
}

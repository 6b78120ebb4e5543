/** The answers of token servers: decoded, and masked for people who read them. */

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

/** Tokens in JSON and in forms: before the value, and the value. */
const TOKENS = [
  /("(?:access|refresh|id)_token"\s*:\s*")((?:[^"\\]|\\.)*)/g,
  /((?:access|refresh|id)_token=)([^&\s]+)/g,
] as const;

const MASK = '[secret]';

/**
 * Masks tokens, in JSON and in forms, and the texts of `secrets`, because people see the response. All are looked for in the text as it
 * came, so that a mask is never part of another, and no secret hides a token that it overlaps.
 */
export function masked(text: string, secrets: readonly string[]): string {
  const spans: [from: number, to: number][] = [];
  for (const pattern of TOKENS) {
    for (const { index, 1: before = '', 2: value = '' } of text.matchAll(pattern)) {
      const from = index + before.length;
      spans.push([from, from + value.length]);
    }
  }
  for (const secret of new Set(secrets)) {
    for (let at = text.indexOf(secret); at >= 0; at = text.indexOf(secret, at + 1))
      spans.push([at, at + secret.length]);
  }
  let out = '';
  let end = 0;
  for (const [from, to] of joined(spans)) {
    out += text.slice(end, from) + MASK;
    end = to;
  }
  return out + text.slice(end);
}

/** The spans in order; overlapping ones become one. Adjacent ones stay apart. */
function joined(spans: readonly (readonly [from: number, to: number])[]): (readonly [from: number, to: number])[] {
  const result: (readonly [from: number, to: number])[] = [];
  for (const [from, to] of spans.toSorted((a, b) => a[0] - b[0] || b[1] - a[1])) {
    const last = result.at(-1);
    if (last !== undefined && from < last[1]) result[result.length - 1] = [last[0], Math.max(last[1], to)];
    else result.push([from, to]);
  }
  return result;
}

/** The response with tokens and secrets masked in its headers and body. */
export function maskSecrets(answer: ReceiverAnswer, secrets: readonly string[]): ReceiverAnswer {
  const headers = Object.entries(answer.headers).map(([name, value]) => [name, masked(value, secrets)]);
  const body = Buffer.from(masked(Buffer.from(answer.body).toString('utf8'), secrets));
  return { ...answer, headers: Object.fromEntries(headers), body };
}

/**
 * Undoes the encodings of a body as its headers announce them (wire.md §5 "Encodings"): decrypt, then decompress. The inverse
 * of `payload.ts`, on any runtime that has `DecompressionStream`.
 */
import { gunzip } from './gunzip.ts';
import { type HeaderRecord, lowerCaseHeaders } from './headers.ts';
import { type Failure, failure, type Verdict } from './verdict.ts';

export type PayloadDecoding = {
  /** Called for encrypted bodies, with the name of the key; `decryptBinary` of `pgp-decryption.ts` is the body of one. */
  readonly decrypt?: (bytes: Uint8Array, keyName: string) => Promise<Verdict<string, { readonly bytes: Uint8Array }>>;
  /** The decoded body may have this many bytes and no more, whatever it was compressed from. */
  readonly maxBytes: number;
};

export type PayloadFailureCode =
  | 'unsupported_content_type'
  | 'contradicting_headers'
  | 'unsupported_encoding'
  | 'no_decryption'
  | 'decryption_failed'
  | 'malformed_gzip'
  | 'too_large';

export type EncodingVerdict = Verdict<PayloadFailureCode, { readonly gzip: boolean; readonly keyName: string | null }>;

export type PayloadVerdict = Verdict<PayloadFailureCode, { readonly body: Uint8Array }>;

/**
 * The body that was encoded, from the bytes as received and the headers, or why it cannot be had. Throws only what
 * `decrypt` throws.
 */
export async function decodePayload(
  bytes: Uint8Array,
  headers: HeaderRecord,
  { decrypt, maxBytes }: PayloadDecoding,
): Promise<PayloadVerdict> {
  const announced = readEncoding(headers);
  if (!announced.ok) return announced;
  let content = bytes;
  if (announced.keyName !== null) {
    if (decrypt === undefined) return failure('no_decryption', 'the body is encrypted and no key was given');
    const decrypted = await decrypt(bytes, announced.keyName);
    if (!decrypted.ok) return failure('decryption_failed', decrypted.description);
    content = decrypted.bytes;
  }
  return announced.gzip ? unzip(content, maxBytes) : bounded(content, maxBytes);
}

/** What the headers announce, or why they cannot be followed. `keyName` is null for a body that is not encrypted. */
export function readEncoding(record: HeaderRecord): EncodingVerdict {
  const headers = lowerCaseHeaders(record);
  const type = headers.get('content-type') ?? '';
  const mediaType = type.split(';')[0]?.trim().toLowerCase();
  const encrypted = headers.get('x-content-encrypted');
  const inside = headers.get('x-original-encoding');
  const outside = headers.get('content-encoding');
  for (const encoding of [inside, outside]) {
    if (encoding !== undefined && encoding.toLowerCase() !== 'gzip') {
      return failure('unsupported_encoding', `the encoding ${JSON.stringify(encoding)} is not gzip`);
    }
  }
  if (encrypted === undefined) {
    if (inside !== undefined)
      return failure('contradicting_headers', 'x-original-encoding without x-content-encrypted');
    if (mediaType !== 'application/json') {
      return failure('unsupported_content_type', `content-type is ${JSON.stringify(type)}, not application/json`);
    }
    return { ok: true, gzip: outside !== undefined, keyName: null };
  }
  if (encrypted !== 'true') return failure('contradicting_headers', 'x-content-encrypted is there and not true');
  if (outside !== undefined) return failure('contradicting_headers', 'content-encoding with x-content-encrypted');
  if (mediaType !== 'application/octet-stream') {
    return failure('unsupported_content_type', `content-type is ${JSON.stringify(type)}, not application/octet-stream`);
  }
  const keyName = headers.get('x-pgp-key-name');
  if (keyName === undefined) return failure('contradicting_headers', 'x-content-encrypted without x-pgp-key-name');
  return { ok: true, gzip: inside !== undefined, keyName };
}

async function unzip(content: Uint8Array, maxBytes: number): Promise<PayloadVerdict> {
  const unzipped = await gunzip(content, maxBytes);
  if (unzipped === 'malformed') {
    return failure('malformed_gzip', 'the body is announced as gzip and is not, or is cut');
  }
  return unzipped === 'too large' ? tooLarge(maxBytes) : { ok: true, body: unzipped };
}

function bounded(body: Uint8Array, maxBytes: number): PayloadVerdict {
  return body.length > maxBytes ? tooLarge(maxBytes) : { ok: true, body };
}

function tooLarge(maxBytes: number): Failure<'too_large'> {
  return failure('too_large', `the decoded body has more than the ${maxBytes} bytes allowed`);
}

/**
 * Decodes a body as its headers say (contract §5.4): decrypt, then decompress. The inverse of `payload.ts`, on any runtime with
 * `DecompressionStream`.
 */

import { readChunks } from './bytes.ts';
import { type HeaderPairs, type HeaderRecord, lowerCaseHeaders } from './headers.ts';
import { type Rejection, reject, type Verdict } from './verdict.ts';

/** Decompressed at a time. With gzip's worst ratio of 1:1032 this yields 16 MiB. */
const GUNZIP_SLICE_BYTES: number = 16 * 1024;

/** Decrypts a PGP message, or says why it cannot. */
export type Decrypt = (bytes: Uint8Array, keyName: string) => Promise<Verdict<string, { readonly bytes: Uint8Array }>>;

export type PayloadDecoding = {
  /** Called for encrypted bodies, with the name of the key. `decryptBinary` of `pgp-decryption.ts` can implement it. */
  readonly decrypt?: Decrypt | undefined;
  /** The largest size of the decoded body. */
  readonly maxBytes: number;
  /** The content type of a body that is not encrypted (default: `application/json`). */
  readonly contentType?: RegExp | undefined;
};

export type PayloadFailureCode =
  | 'unsupported_content_type'
  | 'contradicting_headers'
  | 'unsupported_encoding'
  | 'no_decryption'
  | 'decryption_failed'
  | 'malformed_gzip'
  | 'too_large';

export type PayloadVerdict = Verdict<PayloadFailureCode, { readonly body: Uint8Array }>;

/** `decode` returns the decoded body. It rejects only with what `decrypt` throws. */
type EncodingVerdict = Verdict<PayloadFailureCode, { decode(bytes: Uint8Array): Promise<PayloadVerdict> }>;

/** Reads from the headers how to decode the body, or why it cannot be decoded. Does not need the body. */
export function readEncoding(
  record: HeaderRecord | HeaderPairs,
  { decrypt, maxBytes, contentType = JSON_TYPE }: PayloadDecoding,
): EncodingVerdict {
  const headers = lowerCaseHeaders(record);
  const encrypted = headers.get(ENCRYPTED);
  const isEncrypted = encrypted !== undefined;
  const keyName = headers.get('x-pgp-key-name');
  if (isEncrypted && (encrypted !== 'true' || keyName === undefined)) {
    return reject('contradicting_headers', `${ENCRYPTED} is not true, or x-pgp-key-name is missing`);
  }
  const type = headers.get('content-type') ?? '';
  if (!(isEncrypted ? BYTES_TYPE : contentType).test(type)) {
    const mediaType = isEncrypted ? 'application/octet-stream' : 'application/json';
    return reject('unsupported_content_type', `content-type is "${type}", not ${mediaType}`);
  }
  const [where, elsewhere] = isEncrypted
    ? ['x-original-encoding', 'content-encoding']
    : ['content-encoding', 'x-original-encoding'];
  if (headers.has(elsewhere)) {
    return reject('contradicting_headers', `${elsewhere} with${isEncrypted ? '' : 'out'} ${ENCRYPTED}`);
  }
  const encoding = headers.get(where);
  if (encoding !== undefined && encoding.toLowerCase() !== 'gzip') {
    return reject('unsupported_encoding', `${where} is "${encoding}", not gzip`);
  }
  const undo = isEncrypted ? decrypt : null;
  if (undo === undefined) return reject('no_decryption', 'the body is encrypted, and the receiver has no decryption');
  const decode = async (bytes: Uint8Array): Promise<PayloadVerdict> => {
    let content = bytes;
    if (undo !== null) {
      const decrypted = await undo(bytes, keyName ?? '');
      if (!decrypted.ok) return reject('decryption_failed', decrypted.description);
      content = decrypted.bytes;
    }
    const body = encoding === undefined ? content : await gunzip(content, maxBytes);
    if (body === 'broken') return reject('malformed_gzip', 'the body is not gzip, or is incomplete');
    if (body !== 'too large' && body.length <= maxBytes) return { ok: true, body };
    return tooLarge('the decoded body', maxBytes);
  };
  return { ok: true, decode };
}

export function tooLarge(what: string, maxBytes: number): Rejection<'too_large'> {
  return reject('too_large', `${what} has more than the ${maxBytes} bytes allowed`);
}

/** The header that marks an encrypted body. */
export const ENCRYPTED = 'x-content-encrypted';
const JSON_TYPE = /^application\/json\s*(;|$)/i;
const BYTES_TYPE = /^application\/octet-stream\s*(;|$)/i;

/** Decompresses one gzip member (RFC 1952). Of a zip bomb, it produces at most `maxBytes` and the content of one slice. */
function gunzip(bytes: Uint8Array, maxBytes: number): Promise<Uint8Array | 'broken' | 'too large'> {
  let at = 0;
  // In slices, because some runtimes decompress a whole chunk before the first byte can be read.
  const slices = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(bytes.subarray(at, at + GUNZIP_SLICE_BYTES));
      at += GUNZIP_SLICE_BYTES;
    },
  });
  return readChunks(slices.pipeThrough(new DecompressionStream('gzip')), maxBytes);
}

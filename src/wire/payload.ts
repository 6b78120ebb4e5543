/** Encodes a body and sets the headers that say so (contract §5 "Encodings"): compress, then encrypt. The inverse is `payload-decoding.ts`. */
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { GZIPS_AT_ONCE } from '../kernel/limits/limits.ts';
import { createPlaces } from '../kernel/turns.ts';
import { encryptBinary } from './pgp.ts';

const compress = promisify(gzip);
const compressing = createPlaces(GZIPS_AT_ONCE);

export type PayloadEncoding = {
  readonly gzip: boolean;
  /** `publicKey` is armored; the receiver finds its private key by `keyName`. */
  readonly encryption: { readonly keyName: string; readonly publicKey: string } | null;
  /** Epoch milliseconds. The key must be valid then. */
  readonly now: number;
};

/** Encodes a body. Header names are in lower case. Rejects with a `KeyError` of `pgp.ts` for a key that cannot be used. */
export async function encodePayload(
  body: Uint8Array,
  { gzip: compressed, encryption, now }: PayloadEncoding,
): Promise<{ bytes: Uint8Array; headers: Record<string, string> }> {
  const content = compressed ? await compressing(() => compress(body)) : body;
  if (encryption === null) {
    const headers = { 'content-type': 'application/json', ...(compressed && { 'content-encoding': 'gzip' }) };
    return { bytes: content, headers };
  }
  return {
    bytes: await encryptBinary(encryption.publicKey, content, now),
    headers: {
      'content-type': 'application/octet-stream',
      'x-content-encrypted': 'true',
      'x-pgp-key-name': encryption.keyName,
      ...(compressed && { 'x-original-encoding': 'gzip' }),
    },
  };
}

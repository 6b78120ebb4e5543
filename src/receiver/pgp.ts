/** Decryption with OpenPGP.js, an optional peer: a file of its own, so that receivers without PGP have nothing of it. */

import type { Decrypt } from '../wire/payload-decoding.ts';
import { decryptBinary } from '../wire/pgp-decryption.ts';
import { failure } from '../wire/verdict.ts';

/** Armored. */
export type PrivateKey = { readonly privateKey: string; readonly passphrase?: string };

/**
 * The `decrypt` of a receiver that holds these keys, each under the name that the sender knows its public half by
 * (`x-pgp-key-name`). Signed messages and those without integrity protection are refused. Needs the package `openpgp`.
 */
export function pgpDecryption(keys: Readonly<Record<string, PrivateKey>>): Decrypt {
  return async (bytes, keyName) => {
    const key = Object.hasOwn(keys, keyName) ? keys[keyName] : undefined;
    if (key === undefined) {
      const known = Object.keys(keys).join(', ') || 'none';
      return failure('unknown_key', `there is no private key named ${JSON.stringify(keyName)} here, known: ${known}`);
    }
    return decryptBinary(bytes, key.privateKey, key.passphrase);
  };
}

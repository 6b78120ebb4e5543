/** Decryption with OpenPGP.js, an optional peer dependency. In its own file, so that receivers without PGP do not load it. */

import type { Decrypt } from '../wire/payload-decoding.ts';
import { type DecryptOptions, decryptBinary } from '../wire/pgp-decryption.ts';
import { reject } from '../wire/verdict.ts';

/** `privateKey` is armored. */
export type PrivateKey = { readonly privateKey: string; readonly passphrase?: string };

export type PgpOptions = DecryptOptions & {
  /** Called for each accepted message without integrity protection (default: a warning on the console). */
  readonly onUnprotected?: (keyName: string) => void;
};

/**
 * Makes the `decrypt` function of a receiver from its private keys, each under the name that the sender uses for the public key
 * (`x-pgp-key-name`). Refuses signed messages and, unless `allowUnprotected`, messages without integrity protection. Needs the package
 * `openpgp`.
 */
export function pgpDecryption(
  keys: Readonly<Record<string, PrivateKey>>,
  { allowUnprotected, onUnprotected = warn }: PgpOptions = {},
): Decrypt {
  return async (bytes, keyName) => {
    const key = Object.hasOwn(keys, keyName) ? keys[keyName] : undefined;
    if (key === undefined) {
      const known = Object.keys(keys).join(', ') || 'none';
      return reject('unknown_key', `no private key has the name ${JSON.stringify(keyName)}; the names are: ${known}`);
    }
    const decrypted = await decryptBinary(bytes, key.privateKey, key.passphrase, { allowUnprotected });
    if (decrypted.ok && !decrypted.isProtected) onUnprotected(keyName);
    return decrypted;
  };
}

function warn(keyName: string): void {
  console.warn(`A PGP message for the key ${keyName} has no integrity protection: it may have been changed unnoticed.`);
}

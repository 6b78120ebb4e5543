/** Decryption with OpenPGP.js, an optional peer: a file of its own, so that receivers without PGP have nothing of it. */

import type { Decrypt } from '../wire/payload-decoding.ts';
import { type DecryptOptions, decryptBinary } from '../wire/pgp-decryption.ts';
import { failure } from '../wire/verdict.ts';

/** Armored. */
export type PrivateKey = { readonly privateKey: string; readonly passphrase?: string };

export type PgpOptions = DecryptOptions & {
  /** Told of each message without integrity protection that was taken; the console is where absent. */
  readonly onUnprotected?: (keyName: string) => void;
};

/**
 * The `decrypt` of a receiver that holds these keys, each under the name that the sender knows its public half by
 * (`x-pgp-key-name`). Signed messages are refused, and those without integrity protection unless `allowUnprotected`. Needs the package `openpgp`.
 */
export function pgpDecryption(
  keys: Readonly<Record<string, PrivateKey>>,
  { allowUnprotected, onUnprotected = warn }: PgpOptions = {},
): Decrypt {
  return async (bytes, keyName) => {
    const key = Object.hasOwn(keys, keyName) ? keys[keyName] : undefined;
    if (key === undefined) {
      const known = Object.keys(keys).join(', ') || 'none';
      return failure('unknown_key', `there is no private key named ${JSON.stringify(keyName)} here, known: ${known}`);
    }
    const decrypted = await decryptBinary(bytes, key.privateKey, key.passphrase, { allowUnprotected });
    if (decrypted.ok && !decrypted.isProtected) onUnprotected(keyName);
    return decrypted;
  };
}

function warn(keyName: string): void {
  console.warn(
    `A PGP message for the key ${keyName} has no integrity protection: nobody can tell whether it was changed.`,
  );
}

/**
 * The receiver's side of PGP (contract §5.4): decrypts what `encryptBinary` of pgp.ts encrypted, on any JavaScript runtime with
 * WebCrypto. The OpenPGP library is loaded at the first call.
 */

import type { PrivateKey } from 'openpgp';
import { createLru } from '../kernel/lru.ts';
import { PGP_KEYS_CACHED } from './limits.ts';
import { type Rejection, reject, type Verdict } from './verdict.ts';
import { sha256Base64 } from './web-hash.ts';

/** PGP messages that decompress to more are refused. The service itself never compresses inside PGP. */
const PGP_UNPACKED_BYTES: number = 64 * 1024 * 1024;

export type DecryptFailureCode =
  | 'malformed_private_key'
  | 'wrong_passphrase'
  | 'malformed_message'
  | 'wrong_key'
  | 'not_integrity_protected'
  | 'failed_integrity'
  | 'signed_message';

/** `isProtected`: the message had integrity protection, which was checked. */
type DecryptVerdict = Verdict<DecryptFailureCode, { readonly bytes: Uint8Array; readonly isProtected: boolean }>;

export type DecryptOptions = {
  /** Also accepts messages without integrity protection, as old programs write them. Anyone can change such a message unnoticed. */
  readonly allowUnprotected?: boolean | undefined;
};

const unlockedKeys = createLru<string, PrivateKey>({ max: PGP_KEYS_CACHED });

/**
 * Decrypts a binary message with an armored private key. Refuses messages that are signed, that fail the integrity check, or, unless
 * `allowUnprotected`, that have no integrity protection. All failures of decryption have one code: to distinguish them would give
 * senders a decryption oracle. Keeps the unlocked key in memory, because unlocking takes up to a second. Never throws.
 */
export async function decryptBinary(
  bytes: Uint8Array,
  armoredPrivateKey: string,
  passphrase?: string,
  { allowUnprotected = false }: DecryptOptions = {},
): Promise<DecryptVerdict> {
  const openpgp = await import('openpgp');
  const unlocked = await unlock(armoredPrivateKey, passphrase);
  if (!unlocked.ok) return unlocked;
  const { key } = unlocked;
  const { packet } = openpgp.enums;
  // A copy, because in a test runner the bytes may come from another realm, where the library does not recognize them.
  const message = await openpgp.readMessage({ binaryMessage: new Uint8Array(bytes) }).catch(() => null);
  if (message === null) return reject('malformed_message', 'the body is not a binary PGP message');
  const unprotected = message.packets.filterByTag(packet.symmetricallyEncryptedData).length;
  if (unprotected > 0 && !allowUnprotected) {
    return reject('not_integrity_protected', 'the PGP message has no integrity protection');
  }
  if (message.packets.filterByTag(packet.symEncryptedIntegrityProtectedData).length + unprotected !== 1) {
    return reject('malformed_message', 'the PGP message has no encrypted data of a supported kind');
  }
  const recipients = message.getEncryptionKeyIDs();
  if (!recipients.some((id) => key.getKeyIDs().some((own) => id.equals(own, true)))) {
    const named = recipients.map((id) => id.toHex().toUpperCase()).join(', ') || 'no key';
    return reject('wrong_key', `the PGP message is for ${named}, not for ${key.getKeyID().toHex().toUpperCase()}`);
  }
  const config = {
    ...openpgp.config,
    constantTimePKCS1Decryption: true,
    allowUnauthenticatedMessages: unprotected > 0,
    maxDecompressedMessageSize: PGP_UNPACKED_BYTES,
  };
  const opened = await message.decrypt([key], undefined, undefined, undefined, config).catch(() => null);
  if (opened === null) {
    return reject('failed_integrity', 'the PGP message does not decrypt: it was changed or truncated on the way');
  }
  const content = opened.unwrapCompressed();
  if (content.packets.filterByTag(packet.onePassSignature, packet.signature).length > 0) {
    return reject('signed_message', 'the PGP message is signed, which is not supported');
  }
  const literal = content.getLiteralData();
  if (!(literal instanceof Uint8Array)) return reject('malformed_message', 'the PGP message has no literal data');
  return { ok: true, bytes: literal, isProtected: unprotected === 0 };
}

type Unlocked =
  | { readonly ok: true; readonly key: PrivateKey }
  | Rejection<'malformed_private_key' | 'wrong_passphrase'>;

async function unlock(armored: string, passphrase: string | undefined): Promise<Unlocked> {
  const name = await sha256Base64(new TextEncoder().encode(JSON.stringify([armored, passphrase])));
  const cached = unlockedKeys.get(name);
  if (cached !== undefined) return { ok: true, key: cached };
  const openpgp = await import('openpgp');
  const read = await openpgp.readPrivateKey({ armoredKey: armored }).catch(() => null);
  if (read === null) return reject('malformed_private_key', 'the private key cannot be read');
  if (!read.isDecrypted() && passphrase === undefined) {
    return reject('wrong_passphrase', 'the private key has a passphrase and none was given');
  }
  const key =
    read.isDecrypted() || passphrase === undefined
      ? read
      : await openpgp.decryptKey({ privateKey: read, passphrase }).catch(() => null);
  if (key === null) return reject('wrong_passphrase', 'the passphrase does not open the private key');
  unlockedKeys.set(name, key);
  return { ok: true, key };
}

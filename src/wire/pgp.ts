/**
 * PGP on the wire (wire.md §5 "Encodings"): judging a public key, encrypting for it, and decrypting at the receiver.
 * The OpenPGP library takes 40 ms and 20 MB to load, so it is loaded when the first of these is called.
 */
import type { Key, PrivateKey } from 'openpgp';
import { PGP_KEYS_CACHED, PGP_UNPACKED_BYTES } from '../limits.ts';
import { sha256Base64 } from './hash.ts';
import { firstLine, judgeKey, refuseArmor, refusePrivate } from './pgp-key.ts';
import { createTurns } from './turns.ts';
import { type Failure, failure, type Verdict } from './verdict.ts';

export type KeyFailureCode =
  | 'private_key'
  | 'expired_key'
  | 'revoked_key'
  | 'cannot_encrypt'
  | 'weak_key'
  | 'malformed_key';

/**
 * `fingerprint` in upper-case hex; `algorithm` of the part that encrypts, such as `rsa4096` or `curve25519`;
 * `expiresAt` in epoch milliseconds, the earlier of the key's and its encryption subkey's, null for never.
 */
export type KeyVerdict = Verdict<
  KeyFailureCode,
  { readonly fingerprint: string; readonly algorithm: string; readonly expiresAt: number | null }
>;

export type DecryptFailureCode =
  | 'malformed_private_key'
  | 'wrong_passphrase'
  | 'malformed_message'
  | 'wrong_key'
  | 'not_integrity_protected'
  | 'failed_integrity'
  | 'signed_message';

export type DecryptVerdict = Verdict<DecryptFailureCode, { readonly bytes: Uint8Array }>;

/** What `encryptBinary` throws for a key that must not be used: an Error whose `code` says why. */
export type KeyError = Error & { readonly code: KeyFailureCode };

const publicKeys = new Map<string, Key>();
// 1 MiB takes the library about 4 ms, all of it in microtasks: without turns, eight at once would hold the thread 30 ms and more,
// and a steady stream of them for ever. In turns the loop's delay at full load was 4 ms in the median and under 9 ms at p99 (RSA-4096).
const encryptionTurns = createTurns();
const unlockedKeys = new Map<string, PrivateKey>();

/** Says whether one armored public key can be used to encrypt at `now` (epoch milliseconds), or why not. Never throws. */
export async function inspectPublicKey(armored: string, now: number): Promise<KeyVerdict> {
  const parsed = await parsePublicKey(armored);
  return parsed.ok ? judgeKey(parsed.key, now) : parsed;
}

/**
 * Encrypts for the key: a binary message of one literal data packet in a packet of version 1 with integrity protection
 * (which GnuPG 2.2 reads), not signed, not compressed. Throws a `KeyError` for every key that `inspectPublicKey`
 * refuses at `now`, so that nothing goes out with an expired one.
 */
export function encryptBinary(armoredPublicKey: string, bytes: Uint8Array, now: number): Promise<Uint8Array> {
  return encryptionTurns(() => encryptNow(armoredPublicKey, bytes, now));
}

async function encryptNow(armoredPublicKey: string, bytes: Uint8Array, now: number): Promise<Uint8Array> {
  const parsed = await parsePublicKey(armoredPublicKey);
  if (!parsed.ok) throw keyError(parsed);
  const verdict = await judgeKey(parsed.key, now);
  if (!verdict.ok) throw keyError(verdict);
  const openpgp = await import('openpgp');
  const date = new Date(now);
  const { data, algorithm } = await openpgp.generateSessionKey({ encryptionKeys: parsed.key, date });
  return openpgp.encrypt({
    message: await openpgp.createMessage({ binary: bytes, date }),
    encryptionKeys: parsed.key,
    // Without the AEAD algorithm that newer keys ask for: with it the packet would be of version 2, unknown to GnuPG 2.2.
    sessionKey: { data, algorithm },
    format: 'binary',
    date,
    config: { preferredCompressionAlgorithm: openpgp.enums.compression.uncompressed },
  });
}

/** The code of a `KeyError`, or null for anything else that was thrown. */
export function keyErrorCode(error: unknown): KeyFailureCode | null {
  return error instanceof Error && error.name === 'KeyError' ? (error as KeyError).code : null;
}

/**
 * Decrypts what `encryptBinary` made, with an armored private key. Refuses messages that are signed, or whose integrity
 * is not protected or does not hold. All failures after the key was found are one code: telling them apart would be an
 * oracle for whoever sends messages. Keeps the unlocked key in memory, since unlocking takes up to a second. Never throws.
 */
export async function decryptBinary(
  bytes: Uint8Array,
  armoredPrivateKey: string,
  passphrase?: string,
): Promise<DecryptVerdict> {
  const openpgp = await import('openpgp');
  const unlocked = await unlock(armoredPrivateKey, passphrase);
  if (!unlocked.ok) return unlocked;
  const { key } = unlocked;
  const { packet } = openpgp.enums;
  const message = await openpgp.readMessage({ binaryMessage: bytes }).catch(() => null);
  if (message === null) return failure('malformed_message', 'the body is not a binary PGP message');
  if (message.packets.filterByTag(packet.symmetricallyEncryptedData).length > 0) {
    return failure('not_integrity_protected', 'the PGP message has no integrity protection');
  }
  if (message.packets.filterByTag(packet.symEncryptedIntegrityProtectedData).length !== 1) {
    return failure('malformed_message', 'the PGP message holds no encrypted data of a kind that is read here');
  }
  const recipients = message.getEncryptionKeyIDs();
  if (!recipients.some((id) => key.getKeyIDs().some((own) => id.equals(own, true)))) {
    const named = recipients.map((id) => id.toHex().toUpperCase()).join(', ') || 'no key';
    return failure('wrong_key', `the PGP message is for ${named}, not for ${key.getKeyID().toHex().toUpperCase()}`);
  }
  const config = {
    ...openpgp.config,
    constantTimePKCS1Decryption: true,
    maxDecompressedMessageSize: PGP_UNPACKED_BYTES,
  };
  const opened = await message.decrypt([key], undefined, undefined, undefined, config).catch(() => null);
  if (opened === null) {
    return failure('failed_integrity', 'the PGP message does not decrypt: it was changed or cut on its way');
  }
  const content = opened.unwrapCompressed();
  if (content.packets.filterByTag(packet.onePassSignature, packet.signature).length > 0) {
    return failure('signed_message', 'the PGP message is signed, which is not supported');
  }
  const literal = content.getLiteralData();
  if (!(literal instanceof Uint8Array)) return failure('malformed_message', 'the PGP message holds no literal data');
  return { ok: true, bytes: literal };
}

type Parsed = { readonly ok: true; readonly key: Key } | Failure<KeyFailureCode>;

async function parsePublicKey(armored: string): Promise<Parsed> {
  const cached = recall(publicKeys, armored);
  if (cached !== undefined) return { ok: true, key: cached };
  const refused = refuseArmor(armored);
  if (refused !== null) return refused;
  const { readKeys } = await import('openpgp');
  const keys = await readKeys({ armoredKeys: armored }).catch((error: Error) => error);
  if (keys instanceof Error) return failure('malformed_key', `the key cannot be read (${firstLine(keys)})`);
  const [key] = keys;
  // Private packets under the headline of a public key: not remembered either.
  if (keys.some((one) => one.isPrivate())) return refusePrivate();
  if (key === undefined || keys.length > 1) {
    return failure('malformed_key', `one public key is wanted, the text holds ${keys.length}`);
  }
  remember(publicKeys, armored, key);
  return { ok: true, key };
}

type Unlocked = { readonly ok: true; readonly key: PrivateKey } | Failure<'malformed_private_key' | 'wrong_passphrase'>;

async function unlock(armored: string, passphrase: string | undefined): Promise<Unlocked> {
  const name = sha256Base64(new TextEncoder().encode(JSON.stringify([armored, passphrase])));
  const cached = recall(unlockedKeys, name);
  if (cached !== undefined) return { ok: true, key: cached };
  const openpgp = await import('openpgp');
  const read = await openpgp.readPrivateKey({ armoredKey: armored }).catch(() => null);
  if (read === null) return failure('malformed_private_key', 'the private key cannot be read');
  if (!read.isDecrypted() && passphrase === undefined) {
    return failure('wrong_passphrase', 'the private key has a passphrase and none was given');
  }
  const key =
    read.isDecrypted() || passphrase === undefined
      ? read
      : await openpgp.decryptKey({ privateKey: read, passphrase }).catch(() => null);
  if (key === null) return failure('wrong_passphrase', 'the passphrase does not open the private key');
  remember(unlockedKeys, name, key);
  return { ok: true, key };
}

function keyError({ code, description }: Failure<KeyFailureCode>): KeyError {
  return Object.assign(new Error(description), { name: 'KeyError', code });
}

/** Reading puts an entry last, so the first one is the least recently used. */
function recall<Value>(cache: Map<string, Value>, name: string): Value | undefined {
  const value = cache.get(name);
  if (value !== undefined) remember(cache, name, value);
  return value;
}

function remember<Value>(cache: Map<string, Value>, name: string, value: Value): void {
  cache.delete(name);
  cache.set(name, value);
  const [oldest] = cache.keys();
  if (cache.size > PGP_KEYS_CACHED && oldest !== undefined) cache.delete(oldest);
}

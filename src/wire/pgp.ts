/**
 * The sender's side of PGP (contract §5.4): checks a public key and encrypts for it. The receiver's side is pgp-decryption.ts. The
 * OpenPGP library takes 40 ms and 20 MB to load, so it is loaded at the first call.
 */

import type { AlgorithmInfo, Key, SignaturePacket, Subkey } from 'openpgp';
import { createFairQueue, type Owner } from '../kernel/fair-queue.ts';
import { createLru } from '../kernel/lru.ts';
import { heavyTurns, nextTurn } from '../kernel/turns.ts';
import { PGP_KEY_BYTES, PGP_KEYS_CACHED } from './limits.ts';
import { keyExcess } from './pgp-bounds.ts';
import { type Rejection, reject, type Verdict } from './verdict.ts';

/** RSA keys with fewer bits than this are refused. */
const PGP_RSA_MIN_BITS = 2048;

/** Keys of one customer that may wait to be checked. One is checked at a time. */
const PGP_KEYS_WAITING = 8;

/** The error of `encryptBinary` for a key that must not be used. `code` says why. */
type KeyError = Error & { readonly code: KeyFailureCode };

/** Parsing a key takes up to 10 ms. */
const publicKeys = createLru<string, Key>({ max: PGP_KEYS_CACHED });

const inspections = createFairQueue({
  what: 'PGP keys wait to be checked',
  places: 1,
  waitingPerOwner: PGP_KEYS_WAITING,
});

/**
 * Checks whether an armored public key can be used to encrypt at `now` (epoch milliseconds). One key is checked at a time, and owners take
 * turns. Throws 429 if too many keys of the owner wait, and nothing else.
 */
export function inspectPublicKey(armored: string, now: number, owner: Owner = null): Promise<KeyVerdict> {
  return inspections.run(owner, async () => {
    await nextTurn();
    const parsed = await parsePublicKey(armored);
    return parsed.ok ? inspect(parsed.key, now) : parsed;
  });
}

async function inspect(key: Key, now: number): Promise<KeyVerdict> {
  const judged = await judgeKey(key, now);
  if (!judged.ok) return judged;
  const expiresAt = await usableUntil(key, now);
  return {
    ok: true,
    fingerprint: key.getFingerprint().toUpperCase(),
    algorithm: algorithmName(judged.encrypting.getAlgorithmInfo()),
    expiresAt: expiresAt === Number.POSITIVE_INFINITY ? null : expiresAt,
  };
}

/**
 * Encrypts for the key. The result is a binary message of one literal data packet, not signed and not compressed, in an
 * integrity-protected packet of version 1, which GnuPG 2.2 reads. Rejects with a `KeyError` for every key that `inspectPublicKey` refuses
 * at `now`, so that nothing is sent with an expired key. `owner`: the work counts towards its share.
 */
export function encryptBinary(
  armoredPublicKey: string,
  bytes: Uint8Array,
  now: number,
  owner: Owner = null,
): Promise<Uint8Array> {
  // The library takes about 4 ms for 1 MiB, all in microtasks. Eight together would block the event loop for 30 ms or more, and a steady
  // stream of them without end. One at a time, the loop's delay at full load was 4 ms in the median and under 9 ms at p99 (RSA-4096).
  return heavyTurns(owner, () => encryptNow(armoredPublicKey, bytes, now));
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
    // Without the AEAD algorithm that newer keys prefer: it needs a packet of version 2, which GnuPG 2.2 does not read.
    sessionKey: { data, algorithm },
    format: 'binary',
    date,
    config: { preferredCompressionAlgorithm: openpgp.enums.compression.uncompressed },
  });
}

/** The code of a `KeyError`, or null for any other error. */
export function keyErrorCode(error: unknown): KeyFailureCode | null {
  return error instanceof Error && error.name === 'KeyError' ? (error as KeyError).code : null;
}

type Parsed = { readonly ok: true; readonly key: Key } | Rejection<KeyFailureCode>;

async function parsePublicKey(armored: string): Promise<Parsed> {
  const cached = publicKeys.get(armored);
  if (cached !== undefined) return { ok: true, key: cached };
  const refused = refuseArmor(armored);
  if (refused !== null) return refused;
  const { readKeys, unarmor } = await import('openpgp');
  const binary = await unarmor(armored).then(
    ({ data }) => data as Uint8Array,
    (error: Error) => error,
  );
  if (binary instanceof Error) return unreadable(firstLine(binary));
  const excess = keyExcess(binary);
  if (excess !== null) return excess.isMalformed ? unreadable(excess.problem) : oversized(excess.problem);
  const keys = await readKeys({ binaryKeys: binary }).catch((error: Error) => error);
  if (keys instanceof Error) return unreadable(firstLine(keys));
  const [key] = keys;
  // Private packets under the header line of a public key. They are not cached either.
  if (keys.some((one) => one.isPrivate())) return refusePrivate();
  if (key === undefined || keys.length > 1) {
    return reject('malformed_key', `expected one public key, but the text has ${keys.length}`);
  }
  await dropInvalidSignatures(key);
  publicKeys.set(armored, key);
  return { ok: true, key };
}

/**
 * Removes the self-signatures that do not verify. The library ignores them, but would verify them again about ten times for each message,
 * while it remembers valid ones.
 */
async function dropInvalidSignatures(key: Key): Promise<void> {
  const { enums } = await import('openpgp');
  const { keyPacket } = key;
  const keepValid = async (signatures: SignaturePacket[], type: number, data: object): Promise<void> => {
    const verified: SignaturePacket[] = [];
    for (const signature of signatures) {
      // Without a date: whether it is valid at a time is judged at each use.
      const isValid = await (signature as VerifiedSignature).verify(keyPacket, type, data, null).then(
        () => true,
        () => false,
      );
      if (isValid) verified.push(signature);
    }
    signatures.splice(0, signatures.length, ...verified);
  };
  for (const { userID, userAttribute, selfCertifications } of key.users)
    await keepValid(selfCertifications, enums.signature.certGeneric, { userID, userAttribute, key: keyPacket });
  for (const subkey of key.subkeys)
    await keepValid(subkey.bindingSignatures, enums.signature.subkeyBinding, {
      key: keyPacket,
      bind: subkey.keyPacket,
    });
}

/** The library's types lack that the date may be null. */
type VerifiedSignature = {
  verify(key: Key['keyPacket'], type: number, data: object, date: Date | null): Promise<unknown>;
};

function unreadable(problem: string): Rejection<KeyFailureCode> {
  return reject('malformed_key', `the key cannot be read (${problem})`);
}

function oversized(problem: string): Rejection<KeyFailureCode> {
  const advice = 'gpg --export-options export-minimal leaves out what encryption does not need';
  return reject('oversized_key', `the key is too large to be checked: ${problem}. ${advice}`);
}

function keyError({ code, description }: Rejection<KeyFailureCode>): KeyError {
  return Object.assign(new Error(description), { name: 'KeyError', code });
}

/** Key flags 0x04 and 0x08: encrypt communications, encrypt storage (RFC 9580 §5.2.3.29). */
const ENCRYPTION_FLAGS = 0x0c;

/** Checks the armored text before it is parsed. Returns null, or why the text is refused. */
function refuseArmor(armored: string): Rejection<KeyFailureCode> | null {
  if (armored.length > PGP_KEY_BYTES) {
    return reject('malformed_key', `the key has ${armored.length} characters; at most ${PGP_KEY_BYTES} are allowed`);
  }
  if (armored.includes('-----BEGIN PGP PRIVATE KEY BLOCK-----')) return refusePrivate();
  const blocks = armored.split('-----BEGIN PGP ').length - 1;
  if (blocks === 1 && armored.includes('-----BEGIN PGP PUBLIC KEY BLOCK-----')) return null;
  if (blocks > 1) return reject('malformed_key', `expected one armored public key, but the text has ${blocks} blocks`);
  return reject('malformed_key', 'the text is not an armored PGP public key (-----BEGIN PGP PUBLIC KEY BLOCK-----)');
}

function refusePrivate(): Rejection<KeyFailureCode> {
  return reject('private_key', 'this is a private key. Keep it secret, and give its public key instead');
}

/** The key that encrypts at a moment: a subkey, or the key itself. `keyExpiresAt` is the key's own expiry; infinite for never. */
type Judged =
  | { readonly ok: true; readonly encrypting: Key | Subkey; readonly keyExpiresAt: number }
  | Rejection<KeyFailureCode>;

/**
 * Checks one parsed public key at `now` (epoch milliseconds) and chooses its newest subkey that can be used then, as GnuPG does. The first
 * check of a key verifies its self-signatures, which takes about 1 ms.
 */
async function judgeKey(key: Key, now: number): Promise<Judged> {
  const date = new Date(now);
  const kind = unsupportedKind(key);
  if (kind !== null) return reject('cannot_encrypt', `the key cannot be used: ${kind} is not supported. ${SUPPORTED}`);
  if (await key.isRevoked(undefined, undefined, date)) return reject('revoked_key', 'the key is revoked');
  const keyExpiresAt = Number((await key.getExpirationTime()) ?? Number.NaN);
  if (Number.isNaN(keyExpiresAt)) {
    const { algorithm, curve, bits } = key.getAlgorithmInfo();
    const info = `${algorithm}, ${curve ?? bits ?? 'no size'}`;
    return reject('cannot_encrypt', `the key has no self-signature that can be verified here (${info})`);
  }
  if (keyExpiresAt <= now) return expired('the key', keyExpiresAt);
  const created = key.getCreationTime().getTime();
  if (created > now) return reject('cannot_encrypt', `the key is not valid before ${new Date(created).toISOString()}`);
  const encrypting = await key.getEncryptionKey(undefined, date).catch((error: Error) => error);
  const weak = weakness(key) ?? (encrypting instanceof Error ? null : weakness(encrypting));
  if (weak !== null) return weak;
  return encrypting instanceof Error ? whyNoneEncrypts(key, date, encrypting) : { ok: true, encrypting, keyExpiresAt };
}

/**
 * Until when the key can encrypt without a gap, in epoch milliseconds; infinite for a key without an end. When the subkey that encrypts
 * expires, an older one may still be usable.
 */
async function usableUntil(key: Key, now: number): Promise<number> {
  let until = now;
  // Each round begins after the expiry of another subkey.
  for (let round = 0; round <= key.subkeys.length; round += 1) {
    const judged = await judgeKey(key, until);
    if (!judged.ok) return until;
    const { encrypting, keyExpiresAt } = judged;
    const subkey = key.subkeys.find((candidate) => candidate === encrypting);
    const expiresAt = Number((await subkey?.getExpirationTime(new Date(until))) ?? Number.POSITIVE_INFINITY);
    if (expiresAt >= keyExpiresAt) return keyExpiresAt;
    until = expiresAt;
  }
  return until;
}

const SUPPORTED = 'Make a key with Curve25519, a NIST curve or RSA.';

/** The kind of a key or subkey that the library cannot verify, or refuses to encrypt for; null for all others. */
function unsupportedKind(key: Key | Subkey): string | null {
  const { algorithm, curve } = key.getAlgorithmInfo();
  if (algorithm === 'elgamal') return 'ElGamal';
  if (algorithm === 'dsa') return 'DSA';
  // The library encrypts for subkeys on Brainpool curves, but cannot verify signatures of them.
  const isUnsupported = curve === 'secp256k1' || (algorithm === 'ecdsa' && curve?.startsWith('brainpool') === true);
  return isUnsupported ? `the curve ${curve}` : null;
}

/** The newest subkey for encryption says why the key can no longer encrypt. A key without such a subkey never could. */
async function whyNoneEncrypts(key: Key, date: Date, error: Error): Promise<Rejection<KeyFailureCode>> {
  const newestFirst = key.subkeys.toSorted((a, b) => b.getCreationTime().getTime() - a.getCreationTime().getTime());
  for (const subkey of newestFirst) {
    const bindings = subkey.bindingSignatures.filter(
      (binding) => ((binding.keyFlags?.[0] ?? 0) & ENCRYPTION_FLAGS) > 0,
    );
    for (const binding of bindings) {
      const kind = unsupportedKind(subkey);
      if (kind !== null) {
        const what = `the key's encryption subkey ${nameOf(subkey)} cannot be used`;
        return reject('cannot_encrypt', `${what}: ${kind} is not supported. ${SUPPORTED}`);
      }
      if (await subkey.isRevoked(binding, key.keyPacket, date)) {
        return reject('revoked_key', `the key's encryption subkey ${nameOf(subkey)} is revoked`);
      }
      const expiresAt = Number((await subkey.getExpirationTime(date)) ?? Number.POSITIVE_INFINITY);
      if (expiresAt <= date.getTime()) return expired(`the key's encryption subkey ${nameOf(subkey)}`, expiresAt);
      const weak = weakness(subkey);
      if (weak !== null) return weak;
    }
  }
  return reject('cannot_encrypt', `the key has no subkey that can encrypt (${firstLine(error)})`);
}

function weakness(key: Key | Subkey): Rejection<KeyFailureCode> | null {
  const { algorithm, bits } = key.getAlgorithmInfo();
  if (!algorithm.startsWith('rsa') || bits === undefined || bits >= PGP_RSA_MIN_BITS) return null;
  return reject('weak_key', `RSA with ${bits} bits is too weak; at least ${PGP_RSA_MIN_BITS} are required`);
}

/** The library's reason, without further lines, which may be a module path. */
function firstLine(error: Error): string {
  return error.message.split('\n', 1).join();
}

function expired(what: string, at: number): Rejection<KeyFailureCode> {
  return reject('expired_key', `${what} expired on ${new Date(at).toISOString()}`);
}

function nameOf(subkey: Subkey): string {
  return subkey.getKeyID().toHex().toUpperCase();
}

/** `rsa4096`, `curve25519`, `nistp256`, `x448`. */
function algorithmName({ algorithm, bits, curve }: AlgorithmInfo): string {
  if (curve !== undefined) return curve.replace(/Legacy$/, '').toLowerCase();
  return algorithm.startsWith('rsa') ? `rsa${bits}` : algorithm.toLowerCase();
}

export type KeyFailureCode =
  | 'private_key'
  | 'expired_key'
  | 'revoked_key'
  | 'cannot_encrypt'
  | 'weak_key'
  | 'malformed_key'
  | 'oversized_key';

/**
 * `fingerprint` is in upper-case hex. `algorithm` is that of the subkey that encrypts, such as `rsa4096` or `curve25519`. `expiresAt` is in
 * epoch milliseconds: when the key or the last of its subkeys that can encrypt expires; null for never.
 */
type KeyVerdict = Verdict<
  KeyFailureCode,
  { readonly fingerprint: string; readonly algorithm: string; readonly expiresAt: number | null }
>;

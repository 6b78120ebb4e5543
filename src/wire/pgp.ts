/**
 * The sender's side of PGP (contract §5 "Encodings"): checks a public key and encrypts for it. The receiver's side is pgp-decryption.ts. The
 * OpenPGP library takes 40 ms and 20 MB to load, so it is loaded at the first call.
 */

import type { Key } from 'openpgp';
import { PGP_KEYS_CACHED } from '../kernel/limits/limits.ts';
import { createLru } from '../kernel/lru.ts';
import { heavyTurns } from '../kernel/turns.ts';
import { firstLine, judgeKey, type KeyFailureCode, type KeyVerdict, refuseArmor, refusePrivate } from './pgp-key.ts';
import { type Failure, failure } from './verdict.ts';

/** The error of `encryptBinary` for a key that must not be used. `code` says why. */
export type KeyError = Error & { readonly code: KeyFailureCode };

/** Parsing a key takes up to a second. */
const publicKeys = createLru<string, Key>({ max: PGP_KEYS_CACHED });

/** Checks whether an armored public key can be used to encrypt at `now` (epoch milliseconds). Never throws. */
export async function inspectPublicKey(armored: string, now: number): Promise<KeyVerdict> {
  const parsed = await parsePublicKey(armored);
  return parsed.ok ? judgeKey(parsed.key, now) : parsed;
}

/**
 * Encrypts for the key. The result is a binary message of one literal data packet, not signed and not compressed, in an
 * integrity-protected packet of version 1, which GnuPG 2.2 reads. Rejects with a `KeyError` for every key that `inspectPublicKey` refuses
 * at `now`, so that nothing is sent with an expired key.
 */
export function encryptBinary(armoredPublicKey: string, bytes: Uint8Array, now: number): Promise<Uint8Array> {
  // The library takes about 4 ms for 1 MiB, all in microtasks. Eight at once would block the event loop for 30 ms or more, and a steady
  // stream of them for ever. One at a time, the loop's delay at full load was 4 ms in the median and under 9 ms at p99 (RSA-4096).
  return heavyTurns(() => encryptNow(armoredPublicKey, bytes, now));
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

type Parsed = { readonly ok: true; readonly key: Key } | Failure<KeyFailureCode>;

async function parsePublicKey(armored: string): Promise<Parsed> {
  const cached = publicKeys.get(armored);
  if (cached !== undefined) return { ok: true, key: cached };
  const refused = refuseArmor(armored);
  if (refused !== null) return refused;
  const { readKeys } = await import('openpgp');
  const keys = await readKeys({ armoredKeys: armored }).catch((error: Error) => error);
  if (keys instanceof Error) return failure('malformed_key', `the key cannot be read (${firstLine(keys)})`);
  const [key] = keys;
  // Private packets under the header line of a public key. They are not cached either.
  if (keys.some((one) => one.isPrivate())) return refusePrivate();
  if (key === undefined || keys.length > 1) {
    return failure('malformed_key', `expected one public key, but the text has ${keys.length}`);
  }
  publicKeys.set(armored, key);
  return { ok: true, key };
}

function keyError({ code, description }: Failure<KeyFailureCode>): KeyError {
  return Object.assign(new Error(description), { name: 'KeyError', code });
}

/**
 * PGP on the wire (contract §5 "Encodings"), the sender's side: judging a public key and encrypting for it. The receiver's is
 * pgp-decryption.ts. The OpenPGP library takes 40 ms and 20 MB to load, so it is loaded when the first of these is called.
 */

import type { Key } from 'openpgp';
import { PGP_KEYS_CACHED } from '../kernel/limits/limits.ts';
import { createLru } from '../kernel/lru.ts';
import { heavyTurns } from '../kernel/turns.ts';
import { firstLine, judgeKey, type KeyFailureCode, type KeyVerdict, refuseArmor, refusePrivate } from './pgp-key.ts';
import { type Failure, failure } from './verdict.ts';

/** What `encryptBinary` throws for a key that must not be used: an Error whose `code` says why. */
export type KeyError = Error & { readonly code: KeyFailureCode };

/** Parsing a key takes up to a second. */
const publicKeys = createLru<string, Key>({ max: PGP_KEYS_CACHED });

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
  // 1 MiB takes the library about 4 ms, all of it in microtasks: without turns, eight at once would hold the thread 30 ms and more,
  // and a steady stream of them for ever. In turns the loop's delay at full load was 4 ms in the median and under 9 ms at p99 (RSA-4096).
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
  // Private packets under the headline of a public key: not remembered either.
  if (keys.some((one) => one.isPrivate())) return refusePrivate();
  if (key === undefined || keys.length > 1) {
    return failure('malformed_key', `one public key is wanted, the text holds ${keys.length}`);
  }
  publicKeys.set(armored, key);
  return { ok: true, key };
}

function keyError({ code, description }: Failure<KeyFailureCode>): KeyError {
  return Object.assign(new Error(description), { name: 'KeyError', code });
}

/**
 * Client ids, client secrets and access tokens (contract §2 "Formats"): `<prefix>_<base62 of the bytes><checksum>`.
 * Secret scanners find them by the prefix. The checksum is the CRC-32 of everything before it, in six base62 digits: mistyped and
 * truncated credentials are refused without a look-up. CRC-32 detects every error within 32 adjacent bits, so a change of up to four
 * adjacent characters never passes.
 */
import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { base62Width, decodeBase62, encodeBase62, readUint32, writeUint32 } from './base62.ts';

/** `spc` client id (16 bytes), `sps` client secret and `spi` invitation (32 bytes), `spt` access token (8-byte row key, then 32 random bytes). */
export type CredentialPrefix = 'spc' | 'sps' | 'spi' | 'spt';

/** A new client id (32 characters), client secret or invitation (53 characters). `random(size)` returns unpredictable bytes. */
export function mintCredential(prefix: 'spc' | 'sps' | 'spi', random: (size: number) => Uint8Array): string {
  return format(prefix, randomOfSize(random, SIZE_BYTES[prefix]));
}

/**
 * A new access token (64 characters) for the row with this key.
 *
 * @throws RangeError unless `rowKey` is an integer from 1 to 2⁵³ − 1.
 */
export function mintToken(rowKey: number, random: (size: number) => Uint8Array): string {
  if (!Number.isSafeInteger(rowKey) || rowKey < 1) throw new RangeError(`not a row key: ${rowKey}`);
  const bytes = new Uint8Array(SIZE_BYTES.spt);
  writeUint32(bytes, 0, Math.floor(rowKey / WORD));
  writeUint32(bytes, 4, rowKey % WORD);
  bytes.set(randomOfSize(random, SIZE_BYTES.spt - ROW_KEY_BYTES), ROW_KEY_BYTES);
  return format('spt', bytes);
}

/**
 * The bytes of a credential, or null if the value is not a credential with this prefix: another type, length, prefix or alphabet, or a
 * wrong checksum. Never throws. The length is compared first, so long texts cost nothing.
 */
export function credentialBytes(prefix: CredentialPrefix, text: unknown): Uint8Array | null {
  if (typeof text !== 'string' || text.length !== LENGTH[prefix]) return null;
  if (!text.startsWith(prefix) || text[prefix.length] !== '_') return null;
  const signed = text.slice(0, -CHECKSUM_WIDTH);
  const bytes = decodeBase62(signed.slice(prefix.length + 1), SIZE_BYTES[prefix]);
  return bytes !== null && text.endsWith(checksum(signed)) ? bytes : null;
}

/**
 * The row key in an access token, or null if the value is not a token. The key only says where to look: the hash of the row must equal
 * `hashCredential(text)`.
 */
export function tokenRowKey(text: unknown): number | null {
  const bytes = credentialBytes('spt', text);
  if (bytes === null) return null;
  const rowKey = readUint32(bytes, 0) * WORD + readUint32(bytes, 4);
  return Number.isSafeInteger(rowKey) && rowKey > 0 ? rowKey : null;
}

/** The hash that is stored and compared: SHA-256 of the text in UTF-8. 256 random bits need no slow hash (contract §2). */
export function hashCredential(text: string): Buffer {
  // Via a string, because allocating a buffer costs as much as the hash: 0.8 µs instead of 1.7.
  return Buffer.from(hash('sha256', text, 'binary'), 'binary');
}

const SIZE_BYTES: Readonly<Record<CredentialPrefix, number>> = { spc: 16, sps: 32, spi: 32, spt: 40 };
const ROW_KEY_BYTES = 8;
const WORD = 2 ** 32;
const CHECKSUM_WIDTH = base62Width(4);
const LENGTH: Readonly<Record<CredentialPrefix, number>> = {
  spc: lengthOf('spc'),
  sps: lengthOf('sps'),
  spi: lengthOf('spi'),
  spt: lengthOf('spt'),
};

function lengthOf(prefix: CredentialPrefix): number {
  return prefix.length + 1 + base62Width(SIZE_BYTES[prefix]) + CHECKSUM_WIDTH;
}

function format(prefix: CredentialPrefix, bytes: Uint8Array): string {
  const signed = `${prefix}_${encodeBase62(bytes)}`;
  return signed + checksum(signed);
}

function checksum(signed: string): string {
  const bytes = new Uint8Array(4);
  writeUint32(bytes, 0, crc32(signed));
  return encodeBase62(bytes);
}

/** Throws if the source returns too few bytes, which would make guessable credentials. */
function randomOfSize(random: (size: number) => Uint8Array, size: number): Uint8Array {
  const bytes = random(size);
  if (bytes.length !== size) throw new RangeError(`random gave ${bytes.length} bytes of ${size}`);
  return bytes;
}

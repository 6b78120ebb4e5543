/**
 * The formats of credentials and scopes (contract §2.5).
 *
 * Client ids, client secrets, invitations and access tokens are `<prefix>_<base62 of the bytes><checksum>`. Secret scanners find them by
 * the prefix. The checksum is the CRC-32 of everything before it, in six base62 digits: mistyped and truncated credentials are refused
 * without a look-up. CRC-32 detects every error within 32 adjacent bits, so a change of up to four adjacent characters never passes.
 */
import { hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { z } from 'zod';

/** Scopes that a refusal names, and the longest name of a scope (contract §2.1). */
const NAMED_SCOPES_MAX = 20;
const SCOPE_NAME_LENGTH_MAX = 128;

/** Three times the space for 20 names of full length. */
const SCOPE_TEXT_LENGTH_MAX: number = 8 * 1024;

// Base62 of fixed width: the bytes are one big-endian number in the digits 0-9A-Za-z with leading zeros. Bytes and texts correspond one to
// one, and texts sort like bytes. Every issued or checked token is encoded or decoded, so the number is held in 32-bit limbs and converted
// three digits at a time: limb × 62³ stays below 2⁵⁰, where doubles are exact. 40 bytes take 0.6 to 0.8 µs each way; BigInt takes seven
// times as long.

/**
 * The number of digits for `sizeBytes` bytes: 4 → 6, 16 → 22, 32 → 43, 40 → 54.
 *
 * @throws RangeError unless `sizeBytes` is a positive multiple of four; sizes are constants of the code, never input.
 */
export function base62Width(sizeBytes: number): number {
  if (sizeBytes <= 0 || sizeBytes % 4 !== 0)
    throw new RangeError(`base62 takes whole 32-bit words, not ${sizeBytes} bytes`);
  return Math.ceil((sizeBytes * 8) / BITS_PER_DIGIT);
}

/** Bytes (a positive multiple of four) → exactly `base62Width(bytes.length)` digits. */
export function encodeBase62(bytes: Uint8Array): string {
  const width = base62Width(bytes.length);
  const count = bytes.length / 4;
  // Allocating takes a third of the time. The function is synchronous, so calls can share the memory.
  const limbs = count <= LIMBS.length ? LIMBS : new Float64Array(count);
  const text = width <= TEXT.length ? TEXT : Buffer.alloc(width);
  for (let i = 0; i < count; i += 1) limbs[i] = readUint32(bytes, i * 4);
  let leading = 0;
  for (let at = width; at > 0; ) {
    // Long division by 62³. The quotient is below 2³², so the double's error cannot carry it over an integer.
    let remainder = 0;
    for (let i = leading; i < count; i += 1) {
      const value = remainder * LIMB + (limbs[i] ?? 0);
      const quotient = Math.floor(value / GROUP);
      limbs[i] = quotient;
      remainder = value - quotient * GROUP;
    }
    while (leading < count && limbs[leading] === 0) leading += 1;
    for (let digit = 0; digit < GROUP_DIGITS && at > 0; digit += 1) {
      const quotient = (remainder / 62) | 0;
      at -= 1;
      text[at] = CODES[remainder - quotient * 62] ?? 0;
      remainder = quotient;
    }
  }
  return text.toString('latin1', 0, width);
}

/**
 * The inverse: text → `sizeBytes` bytes, or null for another width, a foreign character, or a number that does not fit, so that no two
 * texts give the same bytes. The width is compared first, so long texts cost nothing.
 */
export function decodeBase62(text: string, sizeBytes: number): Uint8Array | null {
  const width = base62Width(sizeBytes);
  if (text.length !== width) return null;
  const limbs = new Float64Array(sizeBytes / 4);
  let leading = limbs.length - 1;
  let at = 0;
  while (at < width) {
    // Groups are counted from the right, so the first one is the short one.
    const end = at + ((width - at) % GROUP_DIGITS || GROUP_DIGITS);
    let carry = 0;
    for (; at < end; at += 1) {
      const digit = DIGITS[text.charCodeAt(at)] ?? FOREIGN;
      if (digit === FOREIGN) return null;
      carry = carry * 62 + digit;
    }
    for (let i = limbs.length - 1; i >= leading; i -= 1) {
      const value = (limbs[i] ?? 0) * GROUP + carry;
      carry = Math.floor(value / LIMB);
      limbs[i] = value - carry * LIMB;
    }
    if (carry > 0) {
      if (leading === 0) return null;
      leading -= 1;
      limbs[leading] = carry;
    }
  }
  const bytes = new Uint8Array(sizeBytes);
  for (let i = 0; i < limbs.length; i += 1) writeUint32(bytes, i * 4, limbs[i] ?? 0);
  return bytes;
}

/** The unsigned 32-bit integer at `offset`, most significant byte first. */
export function readUint32(bytes: Uint8Array, offset: number): number {
  const high = ((bytes[offset] ?? 0) << 8) | (bytes[offset + 1] ?? 0);
  return high * 0x1_0000 + (((bytes[offset + 2] ?? 0) << 8) | (bytes[offset + 3] ?? 0));
}

/** The inverse of `readUint32`. */
export function writeUint32(bytes: Uint8Array, offset: number, value: number): void {
  bytes[offset] = value >>> 24;
  bytes[offset + 1] = value >>> 16;
  bytes[offset + 2] = value >>> 8;
  bytes[offset + 3] = value;
}

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const BITS_PER_DIGIT = Math.log2(62);
const LIMB = 2 ** 32;
const GROUP_DIGITS = 3;
const GROUP = 62 ** GROUP_DIGITS;

/** Enough for the sizes in use: 40 bytes are 10 limbs and 54 digits. */
const LIMBS = new Float64Array(16);
const TEXT: Buffer = Buffer.alloc(64);

/** Digit value → character code, and back. */
const CODES = Uint8Array.from(ALPHABET, (character) => character.charCodeAt(0));
const FOREIGN = -1;
const DIGITS = new Int8Array(128).fill(FOREIGN);
for (const [digit, code] of CODES.entries()) DIGITS[code] = digit;

/**
 * `spc` client id (16 bytes), `sps` client secret, `spi` invitation and `spp` portal token (32 bytes), `spt` access token (8-byte row
 * key, then 32 random bytes).
 */
export type CredentialPrefix = 'spc' | 'sps' | 'spi' | 'spp' | 'spt';

/** A new client id (32 characters), client secret or invitation (53 characters). `random(size)` returns unpredictable bytes. */
export function mintCredential(prefix: 'spc' | 'sps' | 'spi' | 'spp', random: (size: number) => Uint8Array): string {
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

/** The hash that is stored and compared: SHA-256 of the text in UTF-8. 256 random bits need no slow hash (contract §2.5). */
export function hashCredential(text: string): Buffer {
  // Via a string, because allocating a buffer costs as much as the hash: 0.8 µs instead of 1.7.
  return Buffer.from(hash('sha256', text, 'binary'), 'binary');
}

const SIZE_BYTES: Readonly<Record<CredentialPrefix, number>> = { spc: 16, sps: 32, spi: 32, spp: 32, spt: 40 };
const ROW_KEY_BYTES = 8;
const WORD = 2 ** 32;
const CHECKSUM_WIDTH = base62Width(4);
const LENGTH: Readonly<Record<CredentialPrefix, number>> = {
  spc: lengthOf('spc'),
  sps: lengthOf('sps'),
  spi: lengthOf('spi'),
  spp: lengthOf('spp'),
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

/** `<resource>:<action>`, at most 128 characters. No part of it can match in two ways, so testing takes linear time. */
export const SCOPE_NAME: RegExp = new RegExp(`^(?=.{3,${SCOPE_NAME_LENGTH_MAX}}$)[A-Za-z0-9._/-]+:[A-Za-z0-9._/-]+$`);

type ScopeRefusal = { readonly ok: false; readonly code: 'invalid_scope'; readonly description: string };
/** `names` are sorted and distinct, and empty if `all` registered scopes are requested. */
type RequestedScopes = { readonly ok: true; readonly names: readonly string[]; readonly all: boolean };
type GrantedScopes = { readonly ok: true; readonly granted: readonly string[] };

/**
 * Parses the `scope` parameter: names separated by spaces, in any order. Absent, empty, only spaces, or `all` requests every registered
 * scope. Refuses invalid names, `all` together with names, more than 20 distinct names, and text over 8 KiB (without parsing it).
 */
export function parseScope(text: string | undefined): RequestedScopes | ScopeRefusal {
  const written = text ?? '';
  if (written.length > SCOPE_TEXT_LENGTH_MAX) return refuse(`scope is longer than ${SCOPE_TEXT_LENGTH_MAX} characters`);
  const names = new Set<string>();
  let all = false;
  for (const name of written.split(' ')) {
    if (name === '') continue;
    if (name === ALL) all = true;
    else if (!SCOPE_NAME.test(name)) return refuse(`${quote(name)} is not a scope name`);
    else if (names.add(name).size > NAMED_SCOPES_MAX) {
      return refuse(`more than ${NAMED_SCOPES_MAX} scopes are named; the first one over the limit is ${quote(name)}`);
    }
  }
  if (names.size === 0) return { ok: true, names: [], all: true };
  if (all) return refuse(`${quote(ALL)} must not be combined with scope names`);
  return { ok: true, names: [...names].sort(), all: false };
}

/**
 * The sorted scopes of the token: all that were named, or with `all` everything in `registered`. Refuses if nothing is registered, and
 * if a named scope is not registered for the application; the message names the first one in sorted order.
 */
export function grantScope(requested: RequestedScopes, registered: readonly string[]): GrantedScopes | ScopeRefusal {
  if (registered.length === 0) return refuse('no scope is registered for this application');
  if (requested.all) return { ok: true, granted: [...new Set(registered)].sort() };
  const missing = requested.names.find((name) => !registered.includes(name));
  if (missing !== undefined) return refuse(`scope ${quote(missing)} is not registered for this application`);
  return { ok: true, granted: requested.names };
}

const ALL = 'all';
const QUOTED_LENGTH_MAX = 64;

function refuse(description: string): ScopeRefusal {
  return { ok: false, code: 'invalid_scope', description };
}

/** Makes a caller's text safe for descriptions, headers and log lines: truncated, with `?` for quotes and for characters outside §5.2. */
function quote(text: string): string {
  return `'${text.slice(0, QUOTED_LENGTH_MAX).replace(/[^\x20-\x7e]|["'\\]/g, '?')}'`;
}

/** The schema of a scope name: `SCOPE_NAME` without its look-ahead, which RE2 lacks. */
export const scopeName: z.ZodString = z.string().max(SCOPE_NAME_LENGTH_MAX).meta({
  pattern: '^[A-Za-z0-9._/-]+:[A-Za-z0-9._/-]+$',
  minLength: 3,
  maxLength: SCOPE_NAME_LENGTH_MAX,
});

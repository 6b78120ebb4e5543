/**
 * Base62 of fixed width: the bytes are one big-endian number in the digits 0-9A-Za-z with leading zeros. Bytes and texts correspond one
 * to one, and texts sort like bytes. Used by credentials (contract §2 "Formats").
 *
 * Every issued or checked token is encoded or decoded, so the number is held in 32-bit limbs and converted three digits at a time:
 * limb × 62³ stays below 2⁵⁰, where doubles are exact. 40 bytes take 0.6 to 0.8 µs each way; BigInt takes seven times as long.
 */

/**
 * The number of digits for so many bytes: 4 → 6, 16 → 22, 32 → 43, 40 → 54.
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

/**
 * Bounds the work that a PGP public key can cause (RFC 9580). The OpenPGP library verifies every self-signature, again at each use if one
 * is damaged, and does arithmetic with numbers of any size. So the packets of a key are counted and its numbers measured before the library
 * reads them: then no key takes it longer than some tens of milliseconds.
 */

/**
 * Bounds of a key; GnuPG makes RSA keys of at most 4096 bits, with the exponent 65537. Certifications by others are only read. The
 * key's own signatures are verified: each takes up to 1 ms, and with a slow algorithm, such as DSA, up to 11 ms.
 */
export const PGP_USER_IDS_MAX = 32;
export const PGP_SUBKEYS_MAX = 16;
const PGP_CERTIFICATIONS_MAX = 400;
export const PGP_SIGNATURES_MAX = 40;
export const PGP_SLOW_SIGNATURES_MAX = 3;
const PGP_RSA_MAX_BITS = 8192;
const PGP_RSA_EXPONENT_MAX_BITS = 32;

/** FIPS 186-4 §4.2. */
const PGP_DSA_PRIME_MAX_BITS = 3072;
const PGP_DSA_ORDER_MAX_BITS = 256;

/** The problem of a key's bytes: they are no packets, or exceed a bound. */
type KeyExcess = { readonly isMalformed: boolean; readonly problem: string };

/** Checks the packets of a binary key. Returns null if they are within the bounds. */
export function keyExcess(bytes: Uint8Array): KeyExcess | null {
  const counts = { userIds: 0, subkeys: 0, certifications: 0 };
  /**
   * By issuer, because the library verifies those of the key itself, and not those of others. Signatures of every other type are verified.
   */
  const verified = new Map<string, number>();
  let isSlow = false;
  for (let at = 0; at < bytes.length; ) {
    const packet = packetAt(bytes, at);
    if (packet === null) return { isMalformed: true, problem: 'a packet has no valid length' };
    const { tag, body, end } = packet;
    if (tag === USER_ID || tag === USER_ATTRIBUTE) counts.userIds += 1;
    else if (tag === SIGNATURE) {
      const issuers = CERTIFICATIONS.includes(body[1] ?? 0) ? issuersOf(body) : [OWN];
      if (!issuers.includes(OWN)) counts.certifications += 1;
      for (const issuer of issuers) verified.set(issuer, (verified.get(issuer) ?? 0) + 1);
    } else if (tag === PUBLIC_KEY || tag === PUBLIC_SUBKEY) {
      if (tag === PUBLIC_SUBKEY) counts.subkeys += 1;
      const problem = numbersProblem(body);
      if (problem !== null) return { isMalformed: false, problem };
      isSlow ||= isVerifiedSlowly(body);
    }
    at = end;
  }
  const { userIds, subkeys, certifications } = counts;
  const signatures = Math.max(0, ...verified.values());
  const signaturesMax = isSlow ? PGP_SLOW_SIGNATURES_MAX : PGP_SIGNATURES_MAX;
  const problem =
    tooMany(userIds, PGP_USER_IDS_MAX, 'user ids') ??
    tooMany(subkeys, PGP_SUBKEYS_MAX, 'subkeys') ??
    tooMany(certifications, PGP_CERTIFICATIONS_MAX, 'certifications') ??
    tooMany(
      signatures,
      signaturesMax,
      `signatures of one issuer${isSlow ? ', by an algorithm that is slow to verify' : ''}`,
    );
  return problem === null ? null : { isMalformed: false, problem };
}

function tooMany(count: number, most: number, what: string): string | null {
  return count <= most ? null : `it has ${count} ${what}; at most ${most} are allowed`;
}

// Types of packets (RFC 9580 §5).
const SIGNATURE = 2;
const PUBLIC_KEY = 6;
const USER_ID = 13;
const PUBLIC_SUBKEY = 14;
const USER_ATTRIBUTE = 17;

/** Of user ids, by the key itself and by others (RFC 9580 §5.2.1). */
const CERTIFICATIONS: readonly number[] = [0x10, 0x11, 0x12, 0x13];
/** Means the key itself: signatures that only it makes, and signatures that name no issuer. */
const OWN = '';

// Subpackets of signatures (RFC 9580 §5.2.3.7).
const ISSUER = 16;
const ISSUER_FINGERPRINT = 33;

/** The key ids of all issuers that a signature names, hashed or not (RFC 9580 §5.2.3). */
function issuersOf(body: Uint8Array): readonly string[] {
  const found = new Set<string>();
  const octets = body[0] === 6 ? 4 : 2;
  let at = 4;
  for (const _area of ['hashed', 'unhashed']) {
    const end = at + octets + integer(body, at, octets);
    for (at += octets; at < end; ) {
      const length = subpacketLength(body, at);
      const from = length.from + 1;
      const to = length.from + length.bytes;
      const type = (body[length.from] ?? 0) & 0x7f;
      if (type === ISSUER) found.add(hexOf(body.subarray(from, from + 8)));
      // The id is at the end of a fingerprint of version 4, and at the beginning of later ones.
      if (type === ISSUER_FINGERPRINT)
        found.add(hexOf(body[from] === 4 ? body.subarray(to - 8, to) : body.subarray(from + 1, from + 9)));
      at = Math.max(to, from);
    }
  }
  return found.size === 0 ? [OWN] : [...found];
}

function subpacketLength(bytes: Uint8Array, at: number): Length {
  const first = bytes[at] ?? 0;
  if (first < 192) return { bytes: first, from: at + 1 };
  if (first < 255) return { bytes: ((first - 192) << 8) + (bytes[at + 1] ?? 0) + 192, from: at + 2 };
  return { bytes: integer(bytes, at + 1, 4), from: at + 5 };
}

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex');
}

type Packet = { readonly tag: number; readonly body: Uint8Array; readonly end: number };

/** The packet at this place (RFC 9580 §4.2). Null without a length of its own: partial and indeterminate lengths are only for data. */
function packetAt(bytes: Uint8Array, at: number): Packet | null {
  const first = bytes[at] ?? 0;
  if (first < 0x80) return null;
  const isNew = (first & 0x40) !== 0;
  const length = isNew ? newLength(bytes, at + 1) : oldLength(bytes, at + 1, first & 3);
  if (length === null) return null;
  const end = length.from + length.bytes;
  if (end > bytes.length) return null;
  return { tag: isNew ? first & 0x3f : (first >> 2) & 0x0f, body: bytes.subarray(length.from, end), end };
}

type Length = { readonly bytes: number; readonly from: number };

function newLength(bytes: Uint8Array, at: number): Length | null {
  const first = bytes[at] ?? 0;
  if (first < 192) return { bytes: first, from: at + 1 };
  if (first < 224) return { bytes: ((first - 192) << 8) + (bytes[at + 1] ?? 0) + 192, from: at + 2 };
  return first === 255 ? { bytes: integer(bytes, at + 1, 4), from: at + 5 } : null;
}

function oldLength(bytes: Uint8Array, at: number, kind: number): Length | null {
  if (kind === 3) return null;
  const octets = 2 ** kind;
  return { bytes: integer(bytes, at, octets), from: at + octets };
}

function integer(bytes: Uint8Array, at: number, octets: number): number {
  let value = 0;
  for (let index = at; index < at + octets; index += 1) value = value * 256 + (bytes[index] ?? 0);
  return value;
}

// Algorithms of public keys (RFC 9580 §9.1).
const RSA: readonly number[] = [1, 2, 3];
const DSA = 17;
const ECDSA = 19;
/** Algorithms that only encrypt verify nothing: RSA, ElGamal, ECDH, X25519, X448. */
const ONLY_ENCRYPT: readonly number[] = [2, 16, 18, 25, 26];
/** RSA and Ed25519 are verified by the system's library in a fraction of a millisecond. */
const QUICK: readonly number[] = [1, 3, 22, 27];
/** P-256, P-384 and P-521 (RFC 9580 §9.2), which are quick too. */
const QUICK_CURVES: readonly string[] = ['2a8648ce3d030107', '2b81040022', '2b81040023'];

/** The algorithm of a key packet and the place of its numbers, by version (RFC 9580 §5.5.2). */
function algorithmOf(body: Uint8Array): { readonly algorithm: number; readonly from: number } {
  const version = body[0] ?? 0;
  if (version < 4) return { algorithm: body[7] ?? 0, from: 8 };
  return { algorithm: body[5] ?? 0, from: version === 4 ? 6 : 10 };
}

function isVerifiedSlowly(body: Uint8Array): boolean {
  const { algorithm, from } = algorithmOf(body);
  if (QUICK.includes(algorithm) || ONLY_ENCRYPT.includes(algorithm)) return false;
  const curve = hexOf(body.subarray(from + 1, from + 1 + (body[from] ?? 0)));
  return algorithm !== ECDSA || !QUICK_CURVES.includes(curve);
}

/** RSA has a modulus and an exponent, DSA a prime and the order of its group, each preceded by its bits (RFC 9580 §3.2). */
function numbersProblem(body: Uint8Array): string | null {
  const { algorithm, from } = algorithmOf(body);
  if (!RSA.includes(algorithm) && algorithm !== DSA) return null;
  const first = integer(body, from, 2);
  const second = integer(body, from + 2 + Math.ceil(first / 8), 2);
  if (algorithm === DSA) {
    const [prime, order] = [PGP_DSA_PRIME_MAX_BITS, PGP_DSA_ORDER_MAX_BITS];
    return tooLong(first, prime, 'a DSA prime') ?? tooLong(second, order, 'the order of a DSA group');
  }
  return (
    tooLong(first, PGP_RSA_MAX_BITS, 'an RSA key') ?? tooLong(second, PGP_RSA_EXPONENT_MAX_BITS, 'an RSA exponent')
  );
}

function tooLong(bits: number, most: number, what: string): string | null {
  return bits <= most ? null : `${what} has ${bits} bits; at most ${most} are allowed`;
}

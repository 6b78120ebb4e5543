/**
 * IP addresses and CIDR blocks as bytes. Pure and strict: one spelling rule for the address that is checked and the
 * address that is connected to, so that no text means one address here and another to the system.
 */

/** A block of addresses: its first address (4 or 16 bytes) and how many leading bits are fixed. */
export type Cidr = { readonly bytes: Uint8Array; readonly prefixLength: number };

type CidrVerdict = { readonly ok: true; readonly cidr: Cidr } | { readonly ok: false; readonly description: string };

/**
 * The bytes of an address, 4 or 16 of them in network order, or null where `text` is not one. IPv4 is four decimal
 * parts without leading zeros (`010.0.0.1` is octal to some and decimal to others: refused); IPv6 is RFC 4291 §2.2,
 * a dotted IPv4 at its end included. Zone ids (`fe80::1%eth0`) are refused.
 */
export function parseAddress(text: string): Uint8Array | null {
  return text.includes(':') ? parseIpv6(text) : parseIpv4(text);
}

/** The canonical text of an address: dotted decimal, or RFC 5952 (lower case, longest run of zeros shortened). */
export function formatAddress(bytes: Uint8Array): string {
  if (bytes.length === 4) return bytes.join('.');
  const groups = Array.from({ length: 8 }, (_, i) =>
    (((bytes[2 * i] ?? 0) << 8) | (bytes[2 * i + 1] ?? 0)).toString(16),
  );
  const runs = groups.map((_, start) => {
    const end = groups.findIndex((group, i) => i >= start && group !== '0');
    return (end === -1 ? 8 : end) - start;
  });
  const longest = Math.max(...runs);
  if (longest < 2) return groups.join(':');
  const start = runs.indexOf(longest);
  return `${groups.slice(0, start).join(':')}::${groups.slice(start + longest).join(':')}`;
}

/** An IPv4-mapped IPv6 address (RFC 4291 §2.5.5.2) as the IPv4 address that it is; any other as it came. */
export function unmapped(bytes: Uint8Array): Uint8Array {
  return bytes.length === 16 && MAPPED_PREFIX.every((byte, i) => bytes[i] === byte) ? bytes.subarray(12) : bytes;
}

/**
 * Reads `10.0.0.0/8`, `fd00::/8` or a bare address, which is a block of one. Bits beyond the prefix must be zero: what
 * looks like one host must not quietly be a whole network.
 */
export function parseCidr(text: string): CidrVerdict {
  const [address = '', prefix, ...rest] = text.split('/');
  const bytes = parseAddress(address);
  if (bytes === null || rest.length > 0) {
    return { ok: false, description: `"${text}" is not an IP address or a CIDR block such as 10.0.0.0/8 or fd00::/8` };
  }
  const bits = bytes.length * 8;
  if (prefix !== undefined && (!/^(?:0|[1-9]\d{0,2})$/.test(prefix) || Number(prefix) > bits)) {
    return { ok: false, description: `"${text}" has a prefix length that is not a whole number from 0 to ${bits}` };
  }
  const prefixLength = prefix === undefined ? bits : Number(prefix);
  const first = masked(bytes, prefixLength);
  if (!first.every((byte, i) => byte === bytes[i])) {
    const meant = formatCidr({ bytes: first, prefixLength });
    return { ok: false, description: `"${text}" has bits set beyond its prefix; the block is written ${meant}` };
  }
  return { ok: true, cidr: { bytes, prefixLength } };
}

export function formatCidr({ bytes, prefixLength }: Cidr): string {
  return `${formatAddress(bytes)}/${prefixLength}`;
}

/**
 * Whether the block has the address (bytes of `parseAddress`). `::ffff:10.0.0.1` and `10.0.0.1` are the same address
 * here, in blocks too: `10.0.0.0/8` and `::ffff:10.0.0.0/104` have both, and `::/0` has neither.
 */
export function cidrContains(cidr: Cidr, address: Uint8Array): boolean {
  const plain = unmapped(address);
  const mapped = cidr.prefixLength >= 96 ? unmapped(cidr.bytes) : cidr.bytes;
  const prefixLength = cidr.prefixLength - (cidr.bytes.length - mapped.length) * 8;
  return plain.length === mapped.length && masked(plain, prefixLength).every((byte, i) => byte === mapped[i]);
}

const MAPPED_PREFIX = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];

function masked(bytes: Uint8Array, prefixLength: number): Uint8Array {
  return bytes.map((byte, i) => byte & (0xff << (8 - Math.min(Math.max(prefixLength - 8 * i, 0), 8))));
}

function parseIpv4(text: string): Uint8Array | null {
  const parts = text.split('.');
  if (parts.length !== 4 || !parts.every((part) => /^(?:0|[1-9]\d{0,2})$/.test(part) && Number(part) < 256))
    return null;
  return Uint8Array.from(parts, Number);
}

function parseIpv6(text: string): Uint8Array | null {
  const halves = text.split('::');
  if (halves.length > 2) return null;
  const left = parseGroups(halves[0] ?? '', halves.length === 1);
  const right = parseGroups(halves[1] ?? '', true);
  if (left === null || right === null) return null;
  const gap = 16 - left.length - right.length;
  // "::" replaces at least one group (RFC 4291 §2.2); without it nothing may be missing.
  if (halves.length === 1 ? gap !== 0 : gap < 2) return null;
  return Uint8Array.from([...left, ...new Array<number>(gap).fill(0), ...right]);
}

/** The bytes of groups separated by single colons; a dotted IPv4 may stand at the very end of the address only. */
function parseGroups(text: string, atEnd: boolean): number[] | null {
  if (text === '') return [];
  const bytes: number[] = [];
  const groups = text.split(':');
  for (const [i, group] of groups.entries()) {
    const dotted = atEnd && i === groups.length - 1 ? parseIpv4(group) : null;
    if (dotted !== null) bytes.push(...dotted);
    else if (/^[0-9a-fA-F]{1,4}$/.test(group))
      bytes.push(Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 0xff);
    else return null;
  }
  return bytes;
}

/**
 * Which addresses are not public, and where IPv6 forms carry an IPv4 address (contract §5.12). Pure. Taken
 * from the IANA special-purpose registries (RFC 6890) and from what clouds document of their metadata services.
 */

import { type Cidr, cidrContains, parseCidr } from './ip-address.ts';

type AddressRange = {
  readonly cidr: Cidr;
  /** The block as text, e.g. `10.0.0.0/8`. */
  readonly text: string;
  /** The kind of addresses: completes "which is …". */
  readonly kind: string;
};

/** The first range that has the address, or null for a public one. IPv6 is public only within 2000::/3. */
export function rangeOf(address: Uint8Array): AddressRange | null {
  const range = (address.length === 4 ? IPV4_RANGES : IPV6_RANGES).find(({ cidr }) => cidrContains(cidr, address));
  return range ?? null;
}

/** `wholly`: the prefix says that the address means the IPv4 address inside, so that only this is judged. */
type Carried = { readonly wholly: boolean; readonly addresses: readonly Uint8Array[] };

/**
 * The IPv4 addresses that an IPv6 address carries. Some forms carry several, of which each must be fit: Teredo its
 * server and its client, and `64:ff9b:1::/48` (RFC 8215) one at each of the four places where RFC 6052 §2.2 may have
 * put it, since the length of the prefix in use there cannot be known from the address.
 */
export function carriedIpv4(address: Uint8Array): Carried {
  // `::` and `::1` are addresses of their own and not compatible ones (RFC 4291 §2.5.5.1).
  const special = rangeOf(address)?.cidr.prefixLength === 128;
  const form = special ? undefined : CARRIERS.find(({ cidr }) => cidrContains(cidr, address));
  const addresses = form === undefined ? [] : form.read(address);
  // ISATAP (RFC 5214 §6.1) marks the interface half, below any prefix.
  const isatap = ((address[8] ?? 0) & 0xfd) === 0 && address[9] === 0 && address[10] === 0x5e && address[11] === 0xfe;
  return { wholly: form !== undefined, addresses: isatap ? [...addresses, address.subarray(12)] : addresses };
}

const IPV4_RANGES = ranges({
  '169.254.169.254/32': 'a cloud metadata service',
  '169.254.170.2/32': 'a cloud metadata service',
  '100.100.100.200/32': 'a cloud metadata service',
  '168.63.129.16/32': 'a cloud metadata service',
  '192.0.0.192/32': 'a cloud metadata service',
  '0.0.0.0/8': 'unspecified',
  '10.0.0.0/8': 'private',
  '100.64.0.0/10': 'shared by carriers (CGNAT)',
  '127.0.0.0/8': 'loopback',
  '169.254.0.0/16': 'link-local',
  '172.16.0.0/12': 'private',
  '192.0.0.0/24': 'reserved',
  '192.0.2.0/24': 'for documentation',
  '192.88.99.0/24': 'reserved',
  '192.168.0.0/16': 'private',
  '198.18.0.0/15': 'for benchmarks',
  '198.51.100.0/24': 'for documentation',
  '203.0.113.0/24': 'for documentation',
  '224.0.0.0/4': 'multicast',
  '255.255.255.255/32': 'broadcast',
  '240.0.0.0/4': 'reserved',
});

const IPV6_RANGES = ranges({
  'fd00:ec2::254/128': 'a cloud metadata service',
  'fd20:ce::254/128': 'a cloud metadata service',
  '::/128': 'unspecified',
  '::1/128': 'loopback',
  '100::/64': 'discarded',
  '2001:2::/48': 'for benchmarks',
  '2001:db8::/32': 'for documentation',
  '2001::/23': 'reserved',
  '3fff::/20': 'for documentation',
  '5f00::/16': 'reserved',
  'fc00::/7': 'private',
  'fe80::/10': 'link-local',
  'fec0::/10': 'private',
  'ff00::/8': 'multicast',
  // Global unicast is 2000::/3 and nothing else (RFC 4291 §2.4 and the IANA registry): the rest is refused by default.
  '::/3': 'reserved',
  '4000::/2': 'reserved',
  '8000::/1': 'reserved',
});

/** Where the IPv4 stands, by prefix. Mapped addresses (`::ffff:0:0/96`) are IPv4 addresses and never come here. */
const CARRIERS: readonly { readonly cidr: Cidr; readonly read: (address: Uint8Array) => readonly Uint8Array[] }[] = [
  { cidr: block('::/96'), read: last }, // compatible, RFC 4291 §2.5.5.1
  { cidr: block('::ffff:0:0:0/96'), read: last }, // translated, RFC 2765 §2.1
  { cidr: block('64:ff9b::/96'), read: last }, // NAT64, RFC 6052
  { cidr: block('64:ff9b:1::/48'), read: localNat64 },
  { cidr: block('2002::/16'), read: (address) => [address.subarray(2, 6)] }, // 6to4, RFC 3056
  { cidr: block('2001::/32'), read: (address) => [address.subarray(4, 8), obfuscated(address)] }, // Teredo, RFC 4380 §4
];

function last(address: Uint8Array): readonly Uint8Array[] {
  return [address.subarray(12)];
}

function obfuscated(address: Uint8Array): Uint8Array {
  return address.subarray(12).map((byte) => byte ^ 0xff);
}

/**
 * Places with 0.0.0.0/8 in them are passed over while another place has something: in `64:ff9b:1::8.8.8.8` the zeros
 * before are prefix. A prefix with other bits in it can make a public address look unfit: that fails closed.
 */
function localNat64(address: Uint8Array): readonly Uint8Array[] {
  const places = [
    [6, 7, 9, 10],
    [7, 9, 10, 11],
    [9, 10, 11, 12],
    [12, 13, 14, 15],
  ];
  const all = places.map((place) => Uint8Array.from(place, (i) => address[i] ?? 0));
  const specific = all.filter((ipv4) => ipv4[0] !== 0);
  return specific.length > 0 ? specific : all;
}

function ranges(kinds: Readonly<Record<string, string>>): readonly AddressRange[] {
  return Object.entries(kinds).map(([text, kind]) => ({ cidr: block(text), text, kind }));
}

function block(text: string): Cidr {
  const verdict = parseCidr(text);
  if (!verdict.ok) throw new Error(verdict.description);
  return verdict.cidr;
}

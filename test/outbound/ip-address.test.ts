import assert from 'node:assert/strict';
import { isIP } from 'node:net';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  type Cidr,
  cidrContains,
  formatAddress,
  formatCidr,
  parseAddress,
  parseCidr,
  unmapped,
} from '../../src/outbound/ip-address.ts';

const addressBytes = fc.oneof(
  fc.uint8Array({ minLength: 4, maxLength: 4 }),
  fc.uint8Array({ minLength: 16, maxLength: 16 }),
  // Runs of zeros, where the shortening happens.
  fc.array(fc.constantFrom(0, 0, 0, 1, 255), { minLength: 16, maxLength: 16 }).map((bytes) => Uint8Array.from(bytes)),
);

function cidr(text: string): Cidr {
  const verdict = parseCidr(text);
  if (!verdict.ok) assert.fail(verdict.description);
  return verdict.cidr;
}

function address(text: string): Uint8Array {
  return parseAddress(text) ?? assert.fail(text);
}

test('format and parse are inverse, and Node reads a formatted address as one of the same family', () => {
  fc.assert(
    fc.property(addressBytes, (bytes) => {
      const text = formatAddress(bytes);
      assert.deepEqual(parseAddress(text), bytes);
      assert.equal(isIP(text), bytes.length === 4 ? 4 : 6);
    }),
  );
});

test('an IPv6 address has one canonical text, the one that URL gives it', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 16, maxLength: 16 }), (bytes) => {
      const long = Array.from({ length: 8 }, (_, i) =>
        Buffer.from(bytes)
          .readUInt16BE(2 * i)
          .toString(16),
      ).join(':');
      assert.equal(new URL(`https://[${long}]`).hostname, `[${formatAddress(bytes)}]`);
    }),
  );
});

test('Node parses every text that is parsed here', () => {
  const nearly = fc.string({ unit: fc.constantFrom(...'0123456789abcdefAF:::...%/x'), maxLength: 24 });
  fc.assert(
    fc.property(nearly, (text) => {
      const bytes = parseAddress(text);
      if (bytes !== null) assert.equal(isIP(text), bytes.length === 4 ? 4 : 6);
      else assert.ok(isIP(text) === 0 || text.includes('%'), text);
    }),
    { numRuns: 2000 },
  );
});

test('each spelling of an address is read, and an ambiguous one is refused', () => {
  const table: readonly (readonly [string, string | null])[] = [
    ['127.0.0.1', '127.0.0.1'],
    ['255.255.255.255', '255.255.255.255'],
    ['::', '::'],
    ['0:0:0:0:0:0:0:1', '::1'],
    ['::FFFF:127.0.0.1', '::ffff:7f00:1'],
    ['2001:DB8::192.0.2.1', '2001:db8::c000:201'],
    ['1:2:3:4:5:6:7::', '1:2:3:4:5:6:7:0'],
    ['::2:3:4:5:6:7:8', '0:2:3:4:5:6:7:8'],
    ['1:0:0:2:0:0:0:3', '1:0:0:2::3'],
    ['', null],
    ['127.1', null],
    ['127.0.0.01', null],
    ['0177.0.0.1', null],
    ['0x7f.0.0.1', null],
    ['2130706433', null],
    ['256.0.0.1', null],
    ['127.0.0.1.', null],
    [' 127.0.0.1', null],
    ['1.2.3.4.5', null],
    ['[::1]', null],
    [':', null],
    [':::', null],
    ['1::2::3', null],
    ['1:2:3:4:5:6:7', null],
    ['1:2:3:4:5:6:7:8:9', null],
    ['1:2:3:4::5:6:7:8', null],
    ['::12345', null],
    ['::1.2.3', null],
    ['1.2.3.4::', null],
    ['::1.2.3.4:5', null],
    ['fe80::1%eth0', null],
    ['fe80::1%25eth0', null],
  ];
  for (const [text, expected] of table) {
    const bytes = parseAddress(text);
    assert.equal(bytes === null ? null : formatAddress(bytes), expected, text);
  }
});

test('only IPv4-mapped addresses are unmapped', () => {
  assert.deepEqual(unmapped(address('::ffff:10.1.2.3')), address('10.1.2.3'));
  for (const text of ['10.1.2.3', '::10.1.2.3', '::ffff:0:10.1.2.3', '64:ff9b::10.1.2.3', '2001::ffff:10.1.2.3']) {
    assert.deepEqual(unmapped(address(text)), address(text), text);
  }
});

test('a block round-trips and has its first and last address and nothing beside them', () => {
  fc.assert(
    fc.property(addressBytes, fc.nat(), (bytes, length) => {
      const bits = bytes.length * 8;
      const prefixLength = length % (bits + 1);
      const value = BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
      const hostBits = BigInt(bits - prefixLength);
      const toBytes = (number: bigint): Uint8Array =>
        Uint8Array.from(Buffer.from(number.toString(16).padStart(bits / 4, '0'), 'hex'));
      const first = (value >> hostBits) << hostBits;
      const last = first + (1n << hostBits) - 1n;
      const block = cidr(formatCidr({ bytes: toBytes(first), prefixLength }));
      assert.deepEqual(block, { bytes: toBytes(first), prefixLength });
      // Mapped addresses are IPv4 and have a test of their own.
      const contains = (number: bigint): boolean => cidrContains(block, toBytes(number));
      const isMapped = (number: bigint): boolean => bits === 128 && number >> 32n === 0xffffn;
      for (const inside of [first, value, last]) if (!isMapped(inside)) assert.ok(contains(inside));
      if (first > 0n) assert.ok(!contains(first - 1n));
      if (last + 1n < 1n << BigInt(bits)) assert.ok(!contains(last + 1n));
    }),
  );
});

test('a block is refused with the reason', () => {
  const table: readonly (readonly [string, RegExp])[] = [
    ['', /is not an IP address or a CIDR block/],
    ['10.0.0.0/8/8', /is not an IP address or a CIDR block/],
    ['example.com/8', /is not an IP address or a CIDR block/],
    ['10/8', /is not an IP address or a CIDR block/],
    ['10.0.0.0/33', /from 0 to 32/],
    ['10.0.0.0/', /from 0 to 32/],
    ['10.0.0.0/08', /from 0 to 32/],
    ['10.0.0.0/-1', /from 0 to 32/],
    ['fd00::/129', /from 0 to 128/],
    ['10.1.2.3/8', /is written 10\.0\.0\.0\/8$/],
    ['fd00::1/8', /is written fd00::\/8$/],
  ];
  for (const [text, expected] of table) {
    const verdict = parseCidr(text);
    assert.ok(!verdict.ok && expected.test(verdict.description), text);
  }
});

test('a bare address is a block of one', () => {
  assert.deepEqual(cidr('10.1.2.3'), { bytes: address('10.1.2.3'), prefixLength: 32 });
  assert.deepEqual(cidr('fd00::1'), { bytes: address('fd00::1'), prefixLength: 128 });
});

test('mapped and plain IPv4 are the same address, and IPv6 blocks over them have neither', () => {
  const table: readonly (readonly [string, string, boolean])[] = [
    ['10.0.0.0/8', '::ffff:10.1.2.3', true],
    ['::ffff:10.0.0.0/104', '10.1.2.3', true],
    ['::ffff:10.0.0.0/104', '::ffff:10.1.2.3', true],
    ['::ffff:10.0.0.0/104', '11.1.2.3', false],
    ['::ffff:0:0/96', '11.1.2.3', true],
    ['0.0.0.0/0', '::ffff:10.1.2.3', true],
    ['::/0', '::ffff:10.1.2.3', false],
    ['::/0', '10.1.2.3', false],
    ['::/0', 'fd00::1', true],
    ['0.0.0.0/0', '::1', false],
  ];
  for (const [block, text, expected] of table)
    assert.equal(cidrContains(cidr(block), address(text)), expected, `${block} ${text}`);
});

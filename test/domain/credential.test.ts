import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  type CredentialPrefix,
  credentialBytes,
  hashCredential,
  mintCredential,
  mintToken,
  tokenRowKey,
} from '../../src/domain/credential.ts';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const PREFIXES: readonly CredentialPrefix[] = ['spc', 'sps', 'spi', 'spp', 'spt'];

/** Bytes 0, 1, 2, …, from which other code computed the known answers. */
const counting = (size: number): Uint8Array => Uint8Array.from({ length: size }, (_, i) => i);
const CLIENT_ID = 'spc_000SYW7RiJxkEgOGusQGwp43VGYI';
const CLIENT_SECRET = 'sps_003aUlTJC7tjlCTQj2uNU3MFagCXG9LRKRcwGkBIDlf46DcYW';
const INVITATION = 'spi_003aUlTJC7tjlCTQj2uNU3MFagCXG9LRKRcwGkBIDlf1sSE3A';
const TOKENS = [
  [1, 'spt_00000000000yhnTFi6TIWSkvXUzVKQx0pUavwJozxFdUUM2897Qlah1CUC1X'],
  [3_644_000_000_000_000, 'spt_00GL99wS17p83cEmKx8hAM3xXePnvdsApYG6jcdDOkuy12yCCOrL1r3IwnZw'],
  [2 ** 53 - 1, 'spt_00eOHp8bsS9HpBrWK41sKaDbTqVnDqu1yoxG9KE7gPTtCsDYOW1rot1Qc7Ri'],
] as const;

const rowKeys = fc.maxSafeInteger().map((key) => Math.abs(key) || 1);
const randoms = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => (size: number) => bytes.slice(0, size));
const minted = fc.tuple(fc.constantFrom(...PREFIXES), rowKeys, randoms).map(([prefix, rowKey, random]) => ({
  prefix,
  rowKey,
  random,
  text: prefix === 'spt' ? mintToken(rowKey, random) : mintCredential(prefix, random),
}));

test('known bytes give known credentials', () => {
  assert.equal(mintCredential('spc', counting), CLIENT_ID);
  assert.equal(mintCredential('sps', counting), CLIENT_SECRET);
  assert.equal(mintCredential('spi', counting), INVITATION);
  for (const [rowKey, token] of TOKENS) assert.equal(mintToken(rowKey, counting), token);
});

test('a minted credential parses to its bytes, only with its own prefix', () => {
  fc.assert(
    fc.property(minted, ({ prefix, rowKey, random, text }) => {
      assert.match(text, /^sp[cipst]_[0-9A-Za-z]+$/);
      const bytes = credentialBytes(prefix, text);
      assert.ok(bytes);
      const expected = { spc: random(16), sps: random(32), spi: random(32), spp: random(32), spt: random(32) }[prefix];
      assert.deepEqual(prefix === 'spt' ? bytes.slice(8) : bytes, expected);
      assert.equal(tokenRowKey(text), prefix === 'spt' ? rowKey : null);
      for (const other of PREFIXES) if (other !== prefix) assert.equal(credentialBytes(other, text), null);
    }),
  );
});

test('no credential survives the change of any one character', () => {
  for (const text of [CLIENT_ID, CLIENT_SECRET, TOKENS[1][1]]) {
    const prefix = text.slice(0, 3) as CredentialPrefix;
    for (let at = 0; at < text.length; at += 1) {
      for (const character of `${ALPHABET}_-. \n\0é`) {
        if (character === text[at]) continue;
        const changed = text.slice(0, at) + character + text.slice(at + 1);
        assert.equal(credentialBytes(prefix, changed), null, changed);
      }
    }
  }
});

test('no credential survives two neighbours changing places, a cut, or an addition', () => {
  fc.assert(
    fc.property(minted, fc.nat(), fc.string({ minLength: 1 }), ({ prefix, text }, where, added) => {
      const at = where % (text.length - 1);
      const swapped = text.slice(0, at) + text[at + 1] + text[at] + text.slice(at + 2);
      if (swapped !== text) assert.equal(credentialBytes(prefix, swapped), null);
      assert.equal(credentialBytes(prefix, text.slice(0, at)), null);
      assert.equal(credentialBytes(prefix, text.slice(at + 1)), null);
      assert.equal(credentialBytes(prefix, text + added), null);
      assert.equal(credentialBytes(prefix, added + text), null);
    }),
  );
});

test('a number over its bytes is refused although its checksum is right', () => {
  // 2¹²⁸ in 22 digits, checksum by other code.
  assert.equal(credentialBytes('spc', withChecksum('spc_7n42DGM5Tflk9n8mt7Fhc8')), null);
  assert.ok(credentialBytes('spc', withChecksum('spc_7n42DGM5Tflk9n8mt7Fhc7')));
});

test('another prefix or separator is refused although the checksum is right', () => {
  const digits = '000SYW7RiJxkEgOGusQGwp';
  assert.equal(withChecksum(`spc_${digits}`), CLIENT_ID);
  for (const start of ['spx_', 'SPC_', 'spc-', 'spc0', 'xspc', 'sps_', 'spt_']) {
    const text = withChecksum(start + digits);
    for (const prefix of PREFIXES) assert.equal(credentialBytes(prefix, text), null, text);
  }
});

test('parsing never throws, for any value', () => {
  const hostile = [
    undefined,
    null,
    0,
    1n,
    {},
    [],
    ['a'],
    Symbol('a'),
    new String(CLIENT_ID),
    '',
    'spt_',
    'x'.repeat(8_000_000),
  ];
  for (const text of hostile) for (const prefix of PREFIXES) assert.equal(credentialBytes(prefix, text), null);
  for (const text of hostile) assert.equal(tokenRowKey(text), null);
  fc.assert(fc.property(fc.anything(), (text) => assert.equal(tokenRowKey(text), null)));
  const long = fc.string({ unit: 'binary', minLength: 60, maxLength: 60 }).map((tail) => `spt_${tail}`);
  fc.assert(fc.property(long, (text) => assert.equal(credentialBytes('spt', text), null)));
});

test('a token whose first eight bytes are not a row key has no row', () => {
  for (const token of [
    'spt_00000000000003aUlTJC7tjlCTQj2uNU3MFagCXG9LRKRcwGkBIDlf4PICS2', // 0
    'spt_00eOHp8bsSAGWvkHGhByj9Elos4ZVNTYkxIbPRVrUJg3FbJPnSAPdv4Ki6eV', // 2⁵³
    'spt_LWEGnERCkN73BGpvDRmUBL33DS4nAYVJP1OLqp4t5DZD9APRQdDwD91EfKUp', // 2⁶⁴ − 1
  ]) {
    assert.ok(credentialBytes('spt', token));
    assert.equal(tokenRowKey(token), null);
  }
});

test('tokens sort as their row keys do', () => {
  fc.assert(
    fc.property(rowKeys, rowKeys, (a, b) => {
      fc.pre(a < b);
      assert.ok(mintToken(a, () => new Uint8Array(32).fill(255)) < mintToken(b, counting));
    }),
  );
});

test('minting throws for an invalid row key, and for a random source that returns too few bytes', () => {
  for (const rowKey of [0, -1, 1.5, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY]) {
    assert.throws(() => mintToken(rowKey, counting), RangeError);
  }
  assert.throws(() => mintToken(1, () => new Uint8Array(31)), RangeError);
  assert.throws(() => mintCredential('sps', () => new Uint8Array(0)), RangeError);
});

test('the stored hash is SHA-256 of the text in UTF-8', () => {
  assert.equal(
    hashCredential(CLIENT_SECRET).toString('hex'),
    '24d1d826227c49be4dc0bfde132f9a250b4a6437f72715aa4e503fe718a2019d',
  );
  const expected = createHash('sha256').update('é', 'utf8').digest();
  assert.deepEqual(hashCredential('é'), expected);
});

/** A checksum made bit by bit, as in RFC 1952 §8, not by the library under test. */
function withChecksum(text: string): string {
  let crc = 0xffff_ffff;
  for (const byte of Buffer.from(text)) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc & 1) === 1 ? (crc >>> 1) ^ 0xedb8_8320 : crc >>> 1;
  }
  let rest = (crc ^ 0xffff_ffff) >>> 0;
  let digits = '';
  for (let i = 0; i < 6; i += 1) {
    digits = (ALPHABET[rest % 62] ?? '') + digits;
    rest = Math.floor(rest / 62);
  }
  return text + digits;
}

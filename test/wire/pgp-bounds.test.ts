import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import * as openpgp from 'openpgp';
import { encryptBinary, inspectPublicKey, keyErrorCode } from '../../src/wire/pgp.ts';
import {
  keyExcess,
  PGP_SIGNATURES_MAX,
  PGP_SLOW_SIGNATURES_MAX,
  PGP_SUBKEYS_MAX,
  PGP_USER_IDS_MAX,
} from '../../src/wire/pgp-bounds.ts';
import { pgpVector } from '../support/vectors.ts';

const AT = Date.parse('2026-11-21T05:00:00Z');

type Packets = {
  key: Uint8Array;
  userId: Uint8Array;
  certification: Uint8Array;
  subkey: Uint8Array;
  binding: Uint8Array;
};

/** A packet in the format of RFC 9580 §4.2.1, with a length of four octets. */
function packet(tag: number, body: Uint8Array): Uint8Array {
  const head = Buffer.alloc(6);
  head.writeUInt8(0xc0 | tag, 0);
  head.writeUInt8(0xff, 1);
  head.writeUInt32BE(body.length, 2);
  return Buffer.concat([head, body]);
}

/** A multiprecision integer with so many bits. */
function mpi(bits: number): Uint8Array {
  const head = Buffer.alloc(2);
  head.writeUInt16BE(bits, 0);
  return Buffer.concat([head, Buffer.alloc(Math.ceil(bits / 8), 0xff)]);
}

function keyPacket(algorithm: number, ...numbers: readonly Uint8Array[]): Uint8Array {
  return packet(6, Buffer.concat([Buffer.from([4, 0x65, 0, 0, 0, algorithm]), ...numbers]));
}

/** The packets of a usable key. */
async function packetsOf(armored: string): Promise<Packets> {
  const key = await openpgp.readKey({ armoredKey: armored });
  const list = key.toPacketList().map((one) => packet(tagOf(one), one.write()));
  const [first, userId, certification, subkey, binding] = list;
  assert.ok(first !== undefined && userId !== undefined && certification !== undefined);
  assert.ok(subkey !== undefined && binding !== undefined);
  return { key: first, userId, certification, subkey, binding };
}

function tagOf(one: { constructor: unknown }): number {
  return (one.constructor as { readonly tag: number }).tag;
}

function times<T>(count: number, one: T): T[] {
  return Array.from({ length: count }, () => one);
}

async function refusalOf(packets: readonly Uint8Array[]): Promise<string> {
  const armored = openpgp.armor(openpgp.enums.armor.publicKey, Buffer.concat(packets));
  const verdict = await inspectPublicKey(armored, AT);
  if (verdict.ok) return 'accepted';
  // A key that was stored earlier is refused for the same reason when it is used.
  await assert.rejects(
    encryptBinary(armored, Buffer.from('text'), AT),
    (error) => keyErrorCode(error) === verdict.code,
  );
  return `${verdict.code}: ${verdict.description}`;
}

describe('the bounds of a PGP key', () => {
  it('takes a key with as much as is allowed, and refuses one more, before it verifies anything', async () => {
    const { key, userId, certification, subkey, binding } = await packetsOf(pgpVector('rsa4096'));
    const whole = [key, userId, certification, subkey, binding];
    assert.equal(await refusalOf([...whole, ...times(PGP_SIGNATURES_MAX - 1, binding)]), 'accepted');
    const many = await refusalOf([...whole, ...times(PGP_SIGNATURES_MAX, binding)]);
    assert.match(
      many,
      new RegExp(`^oversized_key: .* it has ${PGP_SIGNATURES_MAX + 1} signatures of one issuer; at most`),
    );
    assert.match(many, /export-minimal/);
    assert.equal(
      await refusalOf([key, ...times(PGP_USER_IDS_MAX, userId), certification, subkey, binding]),
      'accepted',
    );
    const users = await refusalOf([key, ...times(PGP_USER_IDS_MAX + 1, userId), certification, subkey, binding]);
    assert.match(users, /^oversized_key: .* 33 user ids/);
    const subkeys = times(PGP_SUBKEYS_MAX, [subkey, binding]).flat();
    assert.match(await refusalOf([...whole, ...subkeys]), /^oversized_key: .* 17 subkeys/);
  });

  it('refuses damaged self-signatures beyond the bound', async () => {
    const { key, userId, certification, subkey, binding } = await packetsOf(pgpVector('rsa4096'));
    const damaged = Uint8Array.from(certification);
    damaged[damaged.length - 1] = (damaged.at(-1) ?? 0) ^ 0x55;
    assert.match(await refusalOf([key, userId, ...times(70, damaged), subkey, binding]), /^oversized_key: .* 70 sig/);
  });

  it('verifies damaged self-signatures once, not at each use', async (t) => {
    const { key, userId, certification, subkey, binding } = await packetsOf(pgpVector('rsa4096'));
    const damaged = Uint8Array.from(certification);
    damaged[damaged.length - 1] = (damaged.at(-1) ?? 0) ^ 0x55;
    const packets = [key, userId, ...times(20, damaged), certification, subkey, binding];
    const armored = openpgp.armor(openpgp.enums.armor.publicKey, Buffer.concat(packets));
    assert.ok((await inspectPublicKey(armored, AT)).ok);
    const verify = t.mock.method(crypto.subtle, 'verify');
    await encryptBinary(armored, Buffer.from('text'), AT);
    assert.equal(verify.mock.callCount(), 0);
  });

  it('takes a key that many others have certified', async () => {
    const { key, userId, certification, subkey, binding } = await packetsOf(pgpVector('curve25519'));
    const own = (await openpgp.readKey({ armoredKey: pgpVector('curve25519') })).getFingerprint();
    const others = Array.from({ length: 100 }, (_, number) => {
      const hex = Buffer.from(certification).toString('hex');
      const fingerprint = number.toString(16).padStart(40, '0');
      return Buffer.from(hex.replaceAll(own, fingerprint).replaceAll(own.slice(-16), fingerprint.slice(-16)), 'hex');
    });
    assert.equal(await refusalOf([key, userId, certification, ...others, subkey, binding]), 'accepted');
    const claimed = times(PGP_SIGNATURES_MAX + 1, certification);
    assert.match(await refusalOf([key, userId, ...claimed, ...others, subkey, binding]), /^oversized_key: .* 41 sig/);
  });

  const numbers: [string, Uint8Array, RegExp][] = [
    ['an RSA modulus', keyPacket(1, mpi(8193), mpi(17)), /an RSA key has 8193 bits; at most 8192/],
    ['an RSA exponent', keyPacket(1, mpi(4096), mpi(4096)), /an RSA exponent has 4096 bits; at most 32/],
    ['a DSA prime', keyPacket(17, mpi(3073), mpi(256), mpi(2048), mpi(2048)), /a DSA prime has 3073 bits/],
    [
      'the order of a DSA group',
      keyPacket(17, mpi(2048), mpi(2048), mpi(2048), mpi(2048)),
      /has 2048 bits; at most 256/,
    ],
  ];
  for (const [what, key, reason] of numbers) {
    it(`refuses ${what} that is too long`, async () => {
      const { userId, certification } = await packetsOf(pgpVector('rsa4096'));
      const refusal = await refusalOf([key, userId, certification]);
      assert.match(refusal, /^oversized_key/);
      assert.match(refusal, reason);
    });
  }

  it('allows few signatures of an algorithm that is slow to verify', async () => {
    const { userId, certification } = await packetsOf(pgpVector('rsa4096'));
    const dsa = keyPacket(17, mpi(2048), mpi(256), mpi(2048), mpi(2048));
    const refusal = await refusalOf([dsa, userId, ...times(PGP_SLOW_SIGNATURES_MAX + 1, certification)]);
    assert.match(refusal, /^oversized_key: .* has 4 signatures of one issuer, by an algorithm that is slow/);
  });

  it('refuses packets whose length it does not know', () => {
    const partial = Buffer.from([0xc0 | 13, 0xe1, 1, 2]);
    const indeterminate = Buffer.from([0x80 | (13 << 2) | 3, 1, 2]);
    const cut = Buffer.from([0xc0 | 13, 9, 1, 2]);
    for (const bytes of [partial, indeterminate, cut, Buffer.from([0x0d, 1])])
      assert.deepEqual(keyExcess(bytes), { isMalformed: true, problem: 'a packet has no valid length' });
  });

  it('never throws, for any bytes', () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => void keyExcess(bytes)));
  });
});

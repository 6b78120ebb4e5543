import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import * as openpgp from 'openpgp';
import { encryptBinary, inspectPublicKey, keyErrorCode } from '../../src/wire/pgp.ts';
import { type DecryptFailureCode, decryptBinary } from '../../src/wire/pgp-decryption.ts';
import { type PgpVectorName, pgpVector } from '../support/vectors.ts';
import { type Gnupg, keyIdOf, startGnupg } from './gnupg.ts';

/**
 * The position of the low byte of the bit length of the message's point, 263: after the packet's header, its version, the key id, the
 * algorithm and the high byte. Lengths of 257 to 264 bits mean the same 33 bytes, so they give the same message.
 */
const LENGTH_AT = 13;
/** Packet type 1 with a length of one octet. */
const OLD_SESSION_KEY_HEADER = 0x84;
const BODY = new TextEncoder().encode('{"records":[],"name":"Zoë"}\r\n');
const ALGORITHMS = ['rsa2048', 'curve25519'] as const;
const tags = openpgp.enums.packet;

describe('PGP', () => {
  let gnupg: Gnupg;
  let now: number;
  const keys = new Map<string, { publicKey: string; privateKey: string }>();

  before(() => {
    gnupg = startGnupg();
    for (const algorithm of ALGORITHMS) keys.set(algorithm, gnupg.makeKey(algorithm, algorithm));
    now = Date.now() + 60_000;
  });
  after(() => gnupg.close());

  function keyPair(algorithm: (typeof ALGORITHMS)[number] = 'curve25519'): { publicKey: string; privateKey: string } {
    const pair = keys.get(algorithm);
    assert.ok(pair !== undefined);
    return pair;
  }

  async function refusal(
    message: Uint8Array,
    key = keyPair().privateKey,
    passphrase?: string,
  ): Promise<DecryptFailureCode> {
    const verdict = await decryptBinary(message, key, passphrase);
    assert.ok(!verdict.ok, 'the message was decrypted');
    assert.ok(verdict.description.length > 20);
    return verdict.code;
  }

  for (const algorithm of ALGORITHMS) {
    it(`encrypts messages that gpg decrypts (${algorithm})`, async () => {
      for (const body of [BODY, new Uint8Array(0), randomBytes(1024 * 1024)]) {
        const message = await encryptBinary(keyPair(algorithm).publicKey, body, now);
        assert.ok(gnupg.decrypt(message).equals(body));
      }
    });

    it(`writes one literal packet, integrity-protected, not signed and not compressed (${algorithm})`, async () => {
      const listing = gnupg.listPackets(await encryptBinary(keyPair(algorithm).publicKey, BODY, now));
      const packets = [...listing.matchAll(/^:(.+) packet/gm)].map(([, name]) => name);
      assert.deepEqual(packets, ['pubkey enc', 'encrypted data', 'literal data']);
      assert.match(listing, /mdc_method: 2/);
      assert.match(
        listing,
        new RegExp(`mode b .*created ${Math.floor(now / 1000)}, name="",\\s*raw data: ${BODY.length}`),
      );
    });

    it(`decrypts what it encrypted (${algorithm})`, async () => {
      const { publicKey, privateKey } = keyPair(algorithm);
      await fc.assert(
        fc.asyncProperty(fc.uint8Array({ maxLength: 3000 }), async (bytes) => {
          const verdict = await decryptBinary(await encryptBinary(publicKey, bytes, now), privateKey);
          assert.ok(verdict.ok);
          assert.deepEqual(Buffer.from(verdict.bytes), Buffer.from(bytes));
        }),
        { numRuns: 15 },
      );
    });

    it(`decrypts messages of gpg, also compressed (${algorithm})`, async () => {
      for (const options of [
        ['--compress-algo', 'none'],
        ['--compress-algo', 'zlib'],
      ]) {
        const verdict = await decryptBinary(gnupg.encrypt(algorithm, BODY, options), keyPair(algorithm).privateKey);
        assert.ok(verdict.ok);
        assert.deepEqual(Buffer.from(verdict.bytes), Buffer.from(BODY));
      }
    });
  }

  it('writes packets of version 1, also for keys that prefer newer ones', async () => {
    for (const config of [{ aeadProtect: true }, { aeadProtect: true, v6Keys: true }]) {
      const pair = await openpgp.generateKey({ type: 'curve25519', userIDs: { email: 'aead@example.com' }, config });
      const message = await encryptBinary(pair.publicKey, BODY, now);
      const { packets } = await openpgp.readMessage({ binaryMessage: message });
      const data = packets.findPacket(tags.symEncryptedIntegrityProtectedData);
      assert.ok(data !== undefined && 'version' in data);
      assert.equal(data.version, 1);
      const verdict = await decryptBinary(message, pair.privateKey);
      assert.ok(verdict.ok && Buffer.from(verdict.bytes).equals(BODY));
    }
  });

  const unusable: [PgpVectorName, string][] = [
    ['expired', 'expired_key'],
    ['revoked', 'revoked_key'],
    ['sign-only', 'cannot_encrypt'],
    ['weak-rsa1024', 'weak_key'],
  ];
  for (const [name, code] of unusable) {
    it(`does not encrypt for the ${name} key`, async () => {
      await assert.rejects(encryptBinary(pgpVector(name), BODY, now), (error) => keyErrorCode(error) === code);
    });
  }

  it('does not encrypt for a key that has expired since its first use', async () => {
    const { publicKey } = await openpgp.generateKey({
      userIDs: { email: 'short@example.com' },
      date: new Date(now),
      keyExpirationTime: 60,
    });
    assert.ok((await encryptBinary(publicKey, BODY, now + 59_000)).length > 0);
    await assert.rejects(
      encryptBinary(publicKey, BODY, now + 60_000),
      (error) => keyErrorCode(error) === 'expired_key',
    );
  });

  it('works for a subkey on a Brainpool curve, and names any curve or algorithm that does not work', async () => {
    const usable = gnupg.makeKeyOf('brainpool-subkey', 'ed25519', 'brainpoolP384r1');
    const verdict = await inspectPublicKey(usable, now);
    assert.ok(verdict.ok && verdict.algorithm === 'brainpoolp384r1');
    assert.ok(gnupg.decrypt(await encryptBinary(usable, BODY, now)).equals(BODY));
    for (const [primary, subkey, why] of [
      [
        'brainpoolP256r1',
        'brainpoolP256r1',
        /^the key cannot be used: the curve brainpoolP256r1 is not supported\. Make/,
      ],
      ['secp256k1', 'cv25519', /^the key cannot be used: the curve secp256k1 is not supported\. Make/],
      ['ed25519', 'secp256k1', /encryption subkey [0-9A-F]{16} cannot be used: the curve secp256k1 is not/],
      ['ed25519', 'elg2048', /encryption subkey [0-9A-F]{16} cannot be used: ElGamal is not supported/],
    ] as const) {
      const refused = await inspectPublicKey(gnupg.makeKeyOf(`${primary}-${subkey}`, primary, subkey), now);
      assert.ok(!refused.ok && refused.code === 'cannot_encrypt');
      assert.match(refused.description, why);
    }
  });

  it('uses the newest subkey that has not expired, as GnuPG does, until none is left', async () => {
    const publicKey = gnupg.makeKeyOf('two-subkeys', 'ed25519', 'cv25519', '1y');
    const verdict = await inspectPublicKey(publicKey, now);
    assert.ok(verdict.ok && verdict.expiresAt === null, JSON.stringify(verdict));
    const chosen: string[] = [];
    for (const years of [0, 2]) {
      const at = now + years * 366 * 86_400_000;
      const message = await encryptBinary(publicKey, BODY, at);
      const keyId = keyIdOf(gnupg.listPackets(message));
      assert.equal(keyId, gnupg.encryptingKeyId('two-subkeys', at));
      assert.ok(gnupg.decrypt(message).equals(BODY));
      chosen.push(keyId);
    }
    assert.equal(new Set(chosen).size, 2);
  });

  it('encrypts for a primary key without a subkey', async () => {
    const { publicKey } = gnupg.makeKey('single', 'rsa2048Single');
    const verdict = await inspectPublicKey(publicKey, now);
    assert.ok(verdict.ok && verdict.algorithm === 'rsa2048' && verdict.expiresAt === null);
    assert.ok(gnupg.decrypt(await encryptBinary(publicKey, BODY, now)).equals(BODY));
  });

  it('encrypts for a key on a NIST curve', async () => {
    const { publicKey } = gnupg.makeKey('nist', 'nistp256');
    assert.ok(gnupg.decrypt(await encryptBinary(publicKey, BODY, now)).equals(BODY));
  });

  it('distinguishes its own errors from others', () => {
    assert.equal(keyErrorCode(new Error('other')), null);
    assert.equal(keyErrorCode('expired_key'), null);
  });

  it('works with more keys than it caches', async () => {
    const { publicKey } = keyPair();
    for (let count = 0; count < 70; count++) {
      // Text outside of the armor makes another cache key for the same PGP key.
      assert.ok((await encryptBinary(`${count}\n${publicKey}`, BODY, now)).length > 0);
    }
    assert.ok((await encryptBinary(`0\n${publicKey}`, BODY, now)).length > 0);
  });

  describe('decrypting', () => {
    let message: Uint8Array;
    before(async () => {
      message = await encryptBinary(keyPair().publicKey, BODY, now);
    });

    it('unlocks a private key only with its passphrase, also after the first time', async () => {
      const options = { userIDs: { email: 'locked@example.com' }, passphrase: 'correct horse', date: new Date(now) };
      const locked = await openpgp.generateKey(options);
      const sent = await encryptBinary(locked.publicKey, BODY, now);
      assert.equal(await refusal(sent, locked.privateKey), 'wrong_passphrase');
      assert.equal(await refusal(sent, locked.privateKey, 'wrong horse'), 'wrong_passphrase');
      for (const _ of ['first', 'remembered'])
        assert.ok((await decryptBinary(sent, locked.privateKey, 'correct horse')).ok);
      assert.equal(await refusal(sent, locked.privateKey, 'wrong horse'), 'wrong_passphrase');
    });

    it('ignores a passphrase for a key without one', async () => {
      assert.ok((await decryptBinary(message, keyPair().privateKey, 'needless')).ok);
    });

    it('refuses a message for another key, naming both', async () => {
      const verdict = await decryptBinary(message, keyPair('rsa2048').privateKey);
      assert.ok(!verdict.ok && verdict.code === 'wrong_key');
      assert.match(verdict.description, /^the PGP message is for [0-9A-F]{16}, not for [0-9A-F]{16}$/);
    });

    it('refuses a message that is encrypted with a password', async () => {
      const text = await openpgp.createMessage({ binary: BODY });
      const verdict = await decryptBinary(
        await openpgp.encrypt({ message: text, passwords: 'secret', format: 'binary' }),
        keyPair().privateKey,
      );
      assert.ok(!verdict.ok && verdict.code === 'wrong_key');
      assert.match(verdict.description, /^the PGP message is for no key, not for/);
    });

    it('refuses a public key or another text instead of a private key', async () => {
      assert.equal(await refusal(message, keyPair().publicKey), 'malformed_private_key');
      assert.equal(await refusal(message, 'nonsense'), 'malformed_private_key');
    });

    it('refuses a signed message', async () => {
      const { publicKey, privateKey } = keyPair();
      for (const preferredCompressionAlgorithm of [
        openpgp.enums.compression.uncompressed,
        openpgp.enums.compression.zlib,
      ]) {
        const signed = await openpgp.encrypt({
          message: await openpgp.createMessage({ binary: BODY }),
          encryptionKeys: await openpgp.readKey({ armoredKey: publicKey }),
          signingKeys: await openpgp.readPrivateKey({ armoredKey: privateKey }),
          format: 'binary',
          date: new Date(now),
          config: { preferredCompressionAlgorithm },
        });
        assert.equal(await refusal(signed), 'signed_message');
      }
    });

    it('refuses a message whose integrity protection was removed', async () => {
      // Two packets with one-octet lengths: the encrypted session key, then type 18: version 1 and the ciphertext.
      const sessionKey = message.subarray(0, 2 + (message[1] ?? 0));
      const [type, length, version, ...ciphertext] = message.subarray(sessionKey.length);
      assert.deepEqual([type, length, version], [0xd2, ciphertext.length + 1, 1]);
      // The same ciphertext as a packet of the old type 9 (RFC 9580 §5.7), which has neither version nor protection.
      const stripped = Buffer.concat([sessionKey, Buffer.from([0xc9, ciphertext.length, ...ciphertext])]);
      assert.equal(await refusal(stripped), 'not_integrity_protected');
    });

    it('refuses a message with any changed byte', async () => {
      await fc.assert(
        fc.asyncProperty(fc.nat(message.length - 1), fc.integer({ min: 1, max: 255 }), async (position, difference) => {
          const changed = message.map((byte, index) => (index === position ? byte ^ difference : byte));
          const [length = 0] = changed.subarray(LENGTH_AT);
          // This is the header of the same packet in the old format (RFC 9580 §4.2.2), so the content is unchanged.
          const isOldHeader = position === 0 && changed[0] === OLD_SESSION_KEY_HEADER;
          if (isOldHeader || (position === LENGTH_AT && length >= 1 && length <= 8)) {
            const read = await decryptBinary(changed, keyPair().privateKey);
            assert.ok(read.ok);
            assert.deepEqual(Buffer.from(read.bytes), Buffer.from(BODY));
          } else await refusal(changed);
        }),
        {
          numRuns: 100,
          examples: [[0, 0x45], ...[1, 15, 7, 14].map((difference): [number, number] => [LENGTH_AT, difference])],
        },
      );
    });

    it('gives the same error for every change of the encrypted data, so that it is not an oracle', async () => {
      const rsa = await encryptBinary(keyPair('rsa2048').publicKey, BODY, now);
      // The session key begins 14 bytes after the packet's header; the content ends with the integrity code.
      for (const position of [40, 150, rsa.length - 40, rsa.length - 1]) {
        const changed = rsa.map((byte, index) => (index === position ? byte ^ 1 : byte));
        assert.equal(await refusal(changed, keyPair('rsa2048').privateKey), 'failed_integrity');
      }
    });

    it('refuses a truncated message', async () => {
      for (const length of [0, 1, 50, message.length - 1]) await refusal(message.subarray(0, length));
    });

    it('refuses a message that decompresses to more than 64 MiB', async () => {
      const bomb = gnupg.encrypt('curve25519', new Uint8Array(64 * 1024 * 1024), ['--compress-algo', 'zlib']);
      assert.ok(bomb.length < 200_000);
      assert.equal(await refusal(bomb), 'failed_integrity');
    });

    it('never throws, for any bytes', async () => {
      await fc.assert(
        fc.asyncProperty(fc.uint8Array({ maxLength: 200 }), async (bytes) => void (await refusal(bytes))),
      );
    });
  });
});

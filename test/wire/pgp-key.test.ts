import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import * as openpgp from 'openpgp';
import { inspectPublicKey, type KeyFailureCode } from '../../src/wire/pgp.ts';
import { type PgpVectorName, pgpVector } from '../support/vectors.ts';

const AT = Date.parse('2026-11-21T05:00:00Z');
const DAY = 86_400;
const USER = { email: 'key@example.com' };

/** A key pair made a day before `AT`, with Curve25519 by default. */
async function makeKey(options: Partial<Omit<openpgp.KeyOptions, 'format'>>): Promise<openpgp.PrivateKey> {
  const date = new Date(AT - DAY * 1000);
  const { privateKey } = await openpgp.generateKey({ type: 'ecc', userIDs: USER, date, ...options, format: 'object' });
  return privateKey;
}

async function refusal(armored: string, now = AT): Promise<{ code: KeyFailureCode; description: string }> {
  const verdict = await inspectPublicKey(armored, now);
  assert.ok(!verdict.ok, 'the key was accepted');
  return verdict;
}

describe('the keys of the vectors', () => {
  const usable: [PgpVectorName, string, string][] = [
    ['rsa2048', 'rsa2048', 'C6D8D88BA85750D0539D8B3BD8378E06862C2AA3'],
    ['rsa4096', 'rsa4096', 'E48034777DEA29B55B753984FE6200C3E57D5024'],
    ['curve25519', 'curve25519', 'B9E11310B4D2DF83D26A00CE87A2D3D5220A32E3'],
  ];
  for (const [name, algorithm, fingerprint] of usable) {
    it(`accepts ${name}`, async () => {
      const verdict = await inspectPublicKey(pgpVector(name), AT);
      assert.deepEqual(verdict, { ok: true, fingerprint, algorithm, expiresAt: null });
    });
  }

  const refused: [PgpVectorName, KeyFailureCode, RegExp][] = [
    ['expired', 'expired_key', /^the key expired on 2020-01-02T00:00:00\.000Z$/],
    ['revoked', 'revoked_key', /revoked/],
    ['sign-only', 'cannot_encrypt', /no subkey that can encrypt/],
    ['weak-rsa1024', 'weak_key', /^RSA with 1024 bits is too weak; at least 2048 are required$/],
  ];
  for (const [name, code, description] of refused) {
    it(`refuses ${name} and says why`, async () => {
      const verdict = await refusal(pgpVector(name));
      assert.equal(verdict.code, code);
      assert.match(verdict.description, description);
    });
  }

  it('accepts the expired key a second before it expired', async () => {
    const expiresAt = Date.parse('2020-01-02T00:00:00Z');
    const before = await inspectPublicKey(pgpVector('expired'), expiresAt - 1000);
    assert.ok(before.ok && before.expiresAt === expiresAt);
    assert.equal((await refusal(pgpVector('expired'), expiresAt)).code, 'expired_key');
  });

  it('refuses a key before its creation time', async () => {
    const verdict = await refusal(pgpVector('rsa2048'), Date.parse('2026-10-31T23:59:59Z'));
    assert.equal(verdict.code, 'cannot_encrypt');
    assert.match(verdict.description, /not valid before 2026-11-01T/);
  });
});

describe('inspecting a public key', () => {
  it('returns the earlier expiry of the key and its encryption subkey', async () => {
    const made = AT - DAY * 1000;
    const cases: [number, number, number][] = [
      [10 * DAY, 20 * DAY, 10],
      [20 * DAY, 10 * DAY, 10],
      [0, 10 * DAY, 10],
      [10 * DAY, 0, 10],
    ];
    for (const [keyExpirationTime, subkeyExpirationTime, days] of cases) {
      const subkeys = [{ keyExpirationTime: subkeyExpirationTime }];
      const key = await makeKey({ keyExpirationTime, subkeys });
      const verdict = await inspectPublicKey(key.toPublic().armor(), AT);
      assert.ok(verdict.ok && verdict.expiresAt === made + days * DAY * 1000, JSON.stringify(verdict));
    }
  });

  it('returns the expiry of the last subkey that can encrypt, without a gap before it', async () => {
    const made = AT - DAY * 1000;
    const cases: [key: number, subkeys: number[], days: number | null][] = [
      [0, [10, 20], 20],
      [0, [20, 10], 20],
      [0, [0, 10], null],
      [15, [10, 20], 15],
      [0, [10, 20, 15], 20],
    ];
    for (const [days, lives, wanted] of cases) {
      const subkeys = lives.map((life) => ({ keyExpirationTime: life * DAY }));
      const key = await makeKey({ keyExpirationTime: days * DAY, subkeys });
      const verdict = await inspectPublicKey(key.toPublic().armor(), AT);
      assert.ok(verdict.ok);
      assert.equal(
        verdict.expiresAt,
        wanted === null ? null : made + wanted * DAY * 1000,
        JSON.stringify([days, lives]),
      );
    }
  });

  it('refuses a key whose encryption subkey has expired, naming it', async () => {
    const key = await makeKey({ subkeys: [{ keyExpirationTime: 3600 }] });
    const [subkey] = key.subkeys;
    const verdict = await refusal(key.toPublic().armor());
    assert.equal(verdict.code, 'expired_key');
    const name = subkey?.getKeyID().toHex().toUpperCase();
    assert.equal(verdict.description, `the key's encryption subkey ${name} expired on 2026-11-20T06:00:00.000Z`);
  });

  it('refuses a key whose encryption subkey is revoked', async () => {
    const key = await makeKey({});
    const [subkey] = key.subkeys;
    assert.ok(subkey !== undefined && key.keyPacket instanceof openpgp.SecretKeyPacket);
    key.subkeys = [await subkey.revoke(key.keyPacket, {}, new Date(AT - 1000))];
    const verdict = await refusal(key.toPublic().armor());
    assert.equal(verdict.code, 'revoked_key');
    assert.match(verdict.description, /encryption subkey [0-9A-F]{16} is revoked/);
  });

  it('does not name an expired signing subkey as the reason', async () => {
    const key = await makeKey({ subkeys: [{ sign: true, keyExpirationTime: 3600 }] });
    assert.equal((await refusal(key.toPublic().armor())).code, 'cannot_encrypt');
  });

  it('refuses an encryption subkey of RSA under 2048 bits', async () => {
    const weak = { minRSABits: 1024 };
    const subkeys = [{ type: 'rsa' as const, rsaBits: 1024 }];
    const key = await makeKey({ subkeys, config: weak });
    const verdict = await refusal(key.toPublic().armor());
    assert.equal(verdict.code, 'weak_key');
    assert.match(verdict.description, /1024 bits/);
  });

  it('names the algorithms of other curves', async () => {
    for (const curve of ['nistP256', 'nistP521'] as const) {
      const key = await makeKey({ curve });
      const verdict = await inspectPublicKey(key.toPublic().armor(), AT);
      assert.ok(verdict.ok && verdict.algorithm === curve.toLowerCase(), JSON.stringify(verdict));
    }
    const key = await makeKey({ type: 'curve25519', config: { v6Keys: true } });
    const verdict = await inspectPublicKey(key.toPublic().armor(), AT);
    assert.ok(verdict.ok && verdict.algorithm === 'x25519');
    assert.match(verdict.fingerprint, /^[0-9A-F]{64}$/);
  });

  it('refuses a private key, also under the header line of a public key, and does not repeat it', async () => {
    const key = await makeKey({});
    const armored = key.armor();
    const disguised = armored.replaceAll('PRIVATE KEY', 'PUBLIC KEY');
    for (const text of [armored, disguised, pgpVector('rsa2048') + armored]) {
      const verdict = await refusal(text);
      assert.equal(verdict.code, 'private_key');
      assert.ok(!verdict.description.includes(armored.split('\n')[3] ?? ''));
    }
  });

  it('refuses several keys, in one armored block or in two', async () => {
    const rsa = pgpVector('rsa2048');
    const one = await openpgp.readKey({ armoredKey: rsa });
    const other = await openpgp.readKey({ armoredKey: pgpVector('curve25519') });
    const joined = Buffer.concat([one.write(), other.write()]);
    const together = openpgp.armor(openpgp.enums.armor.publicKey, joined);
    for (const [text, count] of [
      [together, 'has 2'],
      [rsa + pgpVector('curve25519'), 'has 2 blocks'],
    ]) {
      assert.ok(text !== undefined && count !== undefined);
      const verdict = await refusal(text);
      assert.equal(verdict.code, 'malformed_key');
      assert.ok(verdict.description.endsWith(count), verdict.description);
    }
  });

  const rsa = pgpVector('rsa2048');
  const malformed: [string, string, RegExp][] = [
    ['the empty text', '', /not an armored PGP public key/],
    ['binary', '\x99\x01\r\x04', /not an armored PGP public key/],
    ['an SSH key', 'ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQ== me', /not an armored PGP public key/],
    ['a PGP message', rsa.replaceAll('PUBLIC KEY BLOCK', 'MESSAGE'), /not an armored PGP public key/],
    ['a key that is cut', `${rsa.slice(0, 400)}\n-----END PGP PUBLIC KEY BLOCK-----\n`, /cannot be read/],
    ['a key without its end', rsa.slice(0, 400), /cannot be read/],
    ['a text over 64 KiB', rsa + ' '.repeat(65_536), /has 67277 characters; at most 65536 are allowed/],
  ];
  for (const [what, text, description] of malformed) {
    it(`refuses ${what}`, async () => {
      const verdict = await refusal(text);
      assert.equal(verdict.code, 'malformed_key');
      assert.match(verdict.description, description);
    });
  }

  it('refuses a key with a changed byte, unless the change has no meaning', async () => {
    const curve = await openpgp.readKey({ armoredKey: pgpVector('curve25519') });
    const original = await inspectPublicKey(curve.armor(), AT);
    const bytes = curve.write();
    let refused = 0;
    for (const position of bytes.keys()) {
      const changed = bytes.map((byte, index) => (index === position ? byte ^ 0x55 : byte));
      const verdict = await inspectPublicKey(openpgp.armor(openpgp.enums.armor.publicKey, changed), AT);
      if (verdict.ok) assert.deepEqual(verdict, original);
      else refused++;
    }
    // No signature covers the issuer's subpacket type in each of the two signatures.
    assert.equal(refused, bytes.length - 2);
  });

  it('never throws, for any text', async () => {
    const block = fc
      .string()
      .map((text) => `-----BEGIN PGP PUBLIC KEY BLOCK-----\n\n${text}\n-----END PGP PUBLIC KEY BLOCK-----`);
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.string(), block), async (text) => {
        assert.equal((await refusal(text)).code, 'malformed_key');
      }),
    );
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { randomBytes } from '../../src/kernel/ids.ts';
import { createVault } from '../../src/kernel/vault.ts';

const PLACE = 'endpoint.secret:0193a1f0-0000-7000-8000-000000000001';
const key = randomBytes(32);
const vault = createVault(key, randomBytes);
const texts = fc.string({ unit: 'binary', maxLength: 200 });

describe('the vault', () => {
  it('returns any text that it sealed, also the empty one', () => {
    fc.assert(
      fc.property(texts, texts, (text, place) => assert.equal(vault.unseal(vault.seal(text, place), place), text)),
    );
    assert.equal(vault.unseal(vault.seal('', PLACE), PLACE), '');
  });

  it('refuses a value with one changed bit', () => {
    fc.assert(
      fc.property(texts, fc.nat(), fc.nat(7), (text, at, bit) => {
        const sealed = Buffer.from(vault.seal(text, PLACE));
        const byte = at % sealed.length;
        sealed[byte] = (sealed[byte] ?? 0) ^ (1 << bit);
        assert.throws(() => vault.unseal(sealed, PLACE), {
          message: byte === 0 ? /is not a sealed value/ : /was altered/,
        });
      }),
    );
  });

  it('refuses a truncated value of any length', () => {
    const sealed = vault.seal('a secret', PLACE);
    for (let length = 0; length < sealed.length; length++) {
      assert.throws(() => vault.unseal(sealed.subarray(0, length), PLACE), Error, `${length} bytes`);
    }
  });

  const elsewhere = [
    'endpoint.secret:0193a1f0-0000-7000-8000-000000000002',
    'endpoint.next_secret:0193a1f0-0000-7000-8000-000000000001',
    'setting.secret:0193a1f0-0000-7000-8000-000000000001',
    '',
  ];
  for (const place of elsewhere) {
    it(`refuses a value that was moved to ${place === '' ? 'no place' : place}`, () => {
      const sealed = vault.seal('a secret', PLACE);
      assert.throws(() => vault.unseal(sealed, place), { message: /was altered, or sealed with another master key/ });
    });
  }

  it('refuses a value of another master key', () => {
    const other = createVault(randomBytes(32), randomBytes);
    assert.throws(() => other.unseal(vault.seal('a secret', PLACE), PLACE), { message: /another master key/ });
    assert.equal(createVault(key, randomBytes).unseal(vault.seal('a secret', PLACE), PLACE), 'a secret');
  });

  it('seals the same text differently each time, never using a nonce twice', () => {
    const sealed = Array.from({ length: 2000 }, () => Buffer.from(vault.seal('a secret', PLACE)));
    assert.equal(new Set(sealed.map((value) => value.subarray(1, 13).toString('hex'))).size, 2000);
    assert.equal(new Set(sealed.map((value) => value.toString('hex'))).size, 2000);
  });

  it('throws errors without text or key', () => {
    assert.throws(
      () => vault.unseal(vault.seal('hunter2', PLACE), `${PLACE}x`),
      (error: Error) => !`${error.message}${error.stack}${String(error.cause)}`.includes('hunter2'),
    );
  });

  for (const size of [0, 16, 31, 33, 64]) {
    it(`refuses a master key of ${size} bytes`, () => {
      assert.throws(() => createVault(new Uint8Array(size), randomBytes), {
        message: 'the master key must have 32 bytes',
      });
    });
  }
});

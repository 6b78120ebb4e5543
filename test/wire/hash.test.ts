import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { equalText, hmacSha256Base64, sha256Base64 } from '../../src/wire/hash.ts';

describe('hashes', () => {
  it('gives the SHA-256 of FIPS 180-4 for "abc"', () => {
    assert.equal(sha256Base64(Buffer.from('abc')), 'ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=');
  });

  it('gives the HMAC-SHA256 of RFC 4231 §4.3', () => {
    const wanted = Buffer.from('5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843', 'hex');
    const answer = hmacSha256Base64(Buffer.from('Jefe'), 'what do ya want for nothing?');
    assert.equal(answer, wanted.toString('base64'));
  });

  it('signs parts as it signs them joined', () => {
    fc.assert(
      fc.property(fc.uint8Array(), fc.string(), fc.uint8Array(), (key, text, bytes) => {
        const joined = Buffer.concat([Buffer.from(text), bytes]);
        assert.equal(hmacSha256Base64(key, text, bytes), hmacSha256Base64(key, joined));
      }),
    );
  });

  it('finds two texts equal exactly when they are, lone surrogates and lengths included', () => {
    const texts = fc.string({ unit: fc.constantFrom('a', 'b', 'é', '\ud800', '\udc00', '\ufffd'), maxLength: 3 });
    fc.assert(
      fc.property(texts, texts, (a, b) => {
        assert.equal(equalText(a, b), a === b);
        assert.equal(equalText(a, a), true);
      }),
      { numRuns: 500 },
    );
  });
});

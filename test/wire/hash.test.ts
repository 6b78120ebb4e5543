import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import * as node from '../../src/wire/payload.ts';
import * as web from '../../src/wire/web-hash.ts';

for (const [kind, { sha256Base64, hmacSha256Base64, equalText }] of Object.entries({ node, web })) {
  describe(`hashes (${kind})`, () => {
    it('computes the SHA-256 of FIPS 180-4 for "abc"', async () => {
      assert.equal(await sha256Base64(Buffer.from('abc')), 'ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=');
    });

    it('computes the HMAC-SHA256 of RFC 4231 §4.3', async () => {
      const wanted = Buffer.from('5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843', 'hex');
      const answer = await hmacSha256Base64(Buffer.from('Jefe'), 'what do ya want for nothing?');
      assert.equal(answer, wanted.toString('base64'));
    });

    it('signs parts as if they were concatenated', async () => {
      await fc.assert(
        fc.asyncProperty(fc.uint8Array({ minLength: 1 }), fc.string(), fc.uint8Array(), async (key, text, bytes) => {
          const joined = Buffer.concat([Buffer.from(text), bytes]);
          assert.equal(await hmacSha256Base64(key, text, bytes), await hmacSha256Base64(key, joined));
        }),
      );
    });

    it('compares texts, also with lone surrogates and different lengths', async () => {
      const texts = fc.string({ unit: fc.constantFrom('a', 'b', 'é', '\ud800', '\udc00', '\ufffd'), maxLength: 3 });
      await fc.assert(
        fc.asyncProperty(texts, texts, async (a, b) => {
          assert.equal(await equalText(a, b), a === b);
          assert.equal(await equalText(a, a), true);
        }),
        { numRuns: 500 },
      );
    });
  });
}

describe('the hashes of sender and receiver', () => {
  it('are the same', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1 }), fc.uint8Array(), async (key, bytes) => {
        assert.equal(await web.sha256Base64(bytes), node.sha256Base64(bytes));
        assert.equal(await web.hmacSha256Base64(key, 'é', bytes), node.hmacSha256Base64(key, 'é', bytes));
      }),
    );
  });
});

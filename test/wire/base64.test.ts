import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { decodeStrictBase64, encodeBase64, encodeBase64Url } from '../../src/wire/base64.ts';

describe('Base64', () => {
  it('encodes any bytes as the platform does, in both alphabets', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => {
        assert.equal(encodeBase64(bytes), Buffer.from(bytes).toString('base64'));
        assert.equal(encodeBase64Url(bytes), Buffer.from(bytes).toString('base64url'));
      }),
    );
  });

  it('gives back any bytes but none', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 80 }), (bytes) => {
        assert.deepEqual(decodeStrictBase64(encodeBase64(bytes)), bytes);
      }),
    );
  });

  it('decodes no other text than the one that it would encode', () => {
    const letters = fc.constantFrom(...'AQgwz019+/-_= \n');
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.string({ unit: letters, maxLength: 12 })), (text) => {
        const bytes = decodeStrictBase64(text);
        if (bytes !== null) assert.equal(encodeBase64(bytes), text);
      }),
      { numRuns: 2000 },
    );
  });

  const refused = {
    'the empty text': '',
    'padding alone': '====',
    'a missing padding': 'QUJDRA',
    'one padding sign too few': 'QUJDRA=',
    'padding in the middle': 'QQ==QUJD',
    'a single letter': 'A',
    'the URL-safe alphabet': '_-8A',
    'white space': 'QUJD\n',
    'unused bits that are not zero (two letters)': 'QR==',
    'unused bits that are not zero (three letters)': 'QUJ=',
    'a letter beyond ASCII': 'QUJÄ',
  };
  for (const [what, text] of Object.entries(refused)) {
    it(`refuses ${what}`, () => assert.equal(decodeStrictBase64(text), null));
  }
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { decodeStrictBase64, encodeBase64, encodeBase64Url } from '../../src/wire/bytes.ts';

describe('Base64', () => {
  it('encodes any bytes like Buffer, in both alphabets', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => {
        assert.equal(encodeBase64(bytes), Buffer.from(bytes).toString('base64'));
        assert.equal(encodeBase64Url(bytes), Buffer.from(bytes).toString('base64url'));
      }),
    );
  });

  it('decodes what it encoded, except the empty text', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 1, maxLength: 80 }), (bytes) => {
        assert.deepEqual(decodeStrictBase64(encodeBase64(bytes)), bytes);
      }),
    );
  });

  const letters = fc.constantFrom(...'AQgwz019+/-_= \n');
  const texts = fc.oneof(fc.string(), fc.string({ unit: letters, maxLength: 12 }));

  it('decodes only the standard alphabet with padding and a length that is a multiple of 4', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const letterCount = text.length - (/={0,2}$/.exec(text)?.[0].length ?? 0);
        const base64 = text.length % 4 === 0 && letterCount > 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text);
        assert.equal(decodeStrictBase64(text) !== null, base64);
      }),
      { numRuns: 2000 },
    );
  });

  it('decodes like Buffer, so that receivers in other languages get the same key', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const bytes = decodeStrictBase64(text);
        if (bytes !== null) assert.deepEqual(Buffer.from(bytes), Buffer.from(text, 'base64'));
      }),
      { numRuns: 2000 },
    );
  });

  const spareBits = { 'QR==': 'A', 'QUJ=': 'AB', 'Qf==': 'A', 'QUL=': 'AB' };
  for (const [text, decoded] of Object.entries(spareBits)) {
    it(`ignores the unused bits of ${text}`, () => {
      assert.equal(Buffer.from(decodeStrictBase64(text) ?? []).toString(), decoded);
    });
  }

  const refused = {
    'the empty text': '',
    'padding alone': '====',
    'a missing padding': 'QUJDRA',
    'one padding sign too few': 'QUJDRA=',
    'padding in the middle': 'QQ==QUJD',
    'a single letter': 'A',
    'the URL-safe alphabet': '_-8A',
    'white space': 'QUJD\n',
    'a letter beyond ASCII': 'QUJÄ',
  };
  for (const [what, text] of Object.entries(refused)) {
    it(`refuses ${what}`, () => assert.equal(decodeStrictBase64(text), null));
  }
});

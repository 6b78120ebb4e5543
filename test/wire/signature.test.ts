import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { encodeBase64 } from '../../src/wire/bytes.ts';
import {
  formatAuthorization,
  parseAuthorization,
  pathAndQuery,
  secretKey,
  stringToSign,
} from '../../src/wire/signature.ts';
import { signingVectors } from '../support/vectors.ts';

const SIGNATURE = encodeBase64(new Uint8Array(32));
const headerName = fc.string({ unit: fc.constantFrom(...'abcxyz019-'), minLength: 1, maxLength: 27 });

describe('the layout of the signature', () => {
  for (const vector of signingVectors.delivery) {
    it(`computes the key and the string to sign of the vector "${vector.name}"`, () => {
      assert.equal(Buffer.from(secretKey(vector.secret)).toString('hex'), vector.keyHex);
      const values = [vector.contentSha256, vector.date, ...vector.customHeaders.map(({ value }) => value)];
      assert.equal(stringToSign('post', pathAndQuery(new URL(vector.url)), values), vector.stringToSign);
    });

    it(`signs the vector "${vector.name}" with only WebCrypto`, async () => {
      const key = Uint8Array.from(secretKey(vector.secret));
      const hmac = { name: 'HMAC', hash: 'SHA-256' };
      const imported = await crypto.subtle.importKey('raw', key, hmac, false, ['sign']);
      const signature = await crypto.subtle.sign('HMAC', imported, new TextEncoder().encode(vector.stringToSign));
      const names = ['x-content-sha256', 'date', ...vector.customHeaders.map(({ name }) => name)];
      assert.equal(formatAuthorization(names, encodeBase64(new Uint8Array(signature))), vector.authorization);
    });
  }

  it('refuses an empty secret', () => {
    assert.throws(() => secretKey(''), RangeError);
  });

  it('keeps the query, and drops the fragment and the credentials', () => {
    assert.equal(pathAndQuery(new URL('https://a:b@hooks.example.com/In?A=1#part')), '/In?A=1');
  });

  it('parses what it formats', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(headerName, { minLength: 1, maxLength: 16 }),
        fc.uint8Array({ minLength: 32, maxLength: 32 }),
        (signedHeaders, bytes) => {
          const signature = encodeBase64(bytes);
          assert.deepEqual(parseAuthorization(formatAuthorization(signedHeaders, signature)), {
            signedHeaders,
            signature,
          });
        },
      ),
    );
  });

  it('never throws, and parses only what it would format', () => {
    const pieces = fc.constantFrom(
      'HMAC-SHA256',
      ' ',
      'SignedHeaders=',
      'date',
      ';',
      '&',
      'Signature=',
      SIGNATURE,
      ',',
    );
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.string({ unit: pieces, maxLength: 9 })), (text) => {
        const parsed = parseAuthorization(text);
        if (parsed !== null) assert.equal(formatAuthorization(parsed.signedHeaders, parsed.signature), text);
      }),
      { numRuns: 1000 },
    );
  });

  const refused = {
    'the empty text': '',
    'another scheme': 'Bearer abc',
    'no names': `HMAC-SHA256 SignedHeaders=&Signature=${SIGNATURE}`,
    'an empty name': `HMAC-SHA256 SignedHeaders=date;&Signature=${SIGNATURE}`,
    'a name in upper case': `HMAC-SHA256 SignedHeaders=Date&Signature=${SIGNATURE}`,
    'a repeated name': `HMAC-SHA256 SignedHeaders=date;x-a;date&Signature=${SIGNATURE}`,
    'names parted by commas': `HMAC-SHA256 SignedHeaders=date,x-a&Signature=${SIGNATURE}`,
    'the parts in the other order': `HMAC-SHA256 Signature=${SIGNATURE}&SignedHeaders=date`,
    'a second signature': `HMAC-SHA256 SignedHeaders=date&Signature=${SIGNATURE}&Signature=${SIGNATURE}`,
    'a signature without padding': `HMAC-SHA256 SignedHeaders=date&Signature=${SIGNATURE.slice(0, -1)}`,
    'a signature of another spelling': `HMAC-SHA256 SignedHeaders=date&Signature=${SIGNATURE.slice(0, -2)}B=`,
    'a signature of 31 bytes': `HMAC-SHA256 SignedHeaders=date&Signature=${encodeBase64(new Uint8Array(31))}`,
    'two spaces after the scheme': `HMAC-SHA256  SignedHeaders=date&Signature=${SIGNATURE}`,
    'a line feed at the end': `HMAC-SHA256 SignedHeaders=date&Signature=${SIGNATURE}\n`,
    'a 17th name': formatAuthorization(
      Array.from({ length: 17 }, (_, index) => `x-${index}`),
      SIGNATURE,
    ),
    'an over-long name': formatAuthorization(['x'.repeat(9000)], SIGNATURE),
  };
  for (const [what, text] of Object.entries(refused)) {
    it(`refuses ${what}`, () => assert.equal(parseAuthorization(text), null));
  }
});

import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { before, describe, it } from 'node:test';
import { createGzip, gunzipSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import * as openpgp from 'openpgp';
import { encodePayload } from '../../src/wire/payload.ts';
import type { PayloadDecoding, PayloadFailureCode } from '../../src/wire/payload-decoding.ts';
import { keyErrorCode } from '../../src/wire/pgp.ts';
import { decryptBinary } from '../../src/wire/pgp-decryption.ts';
import { pgpVector } from '../support/vectors.ts';
import { decodePayload } from '../support/verification.ts';

const NOW = Date.now() + 1000;
const BODY = new TextEncoder().encode('{"records":[]}');
const JSON_TYPE = { 'content-type': 'application/json' };
const PGP_TYPE = {
  'content-type': 'application/octet-stream',
  'x-content-encrypted': 'true',
  'x-pgp-key-name': 'payroll-2026',
};

const MIB = 1024 * 1024;

/** A gzip of so many MiB of zeros, made without holding them in memory. */
async function gzipOfZeros(mebibytes: number): Promise<Buffer> {
  const chunk = Buffer.alloc(MIB);
  const zeros = Readable.from(Array.from({ length: mebibytes }, () => chunk));
  return Buffer.concat(await zeros.pipe(createGzip()).toArray());
}

describe('payloads', () => {
  let encryption: { keyName: string; publicKey: string };
  let decrypt: NonNullable<PayloadDecoding['decrypt']>;

  before(async () => {
    const pair = await openpgp.generateKey({ type: 'ecc', userIDs: { email: 'payload@example.com' } });
    encryption = { keyName: 'payroll-2026', publicKey: pair.publicKey };
    decrypt = (bytes) => decryptBinary(bytes, pair.privateKey);
  });

  describe('encoding', () => {
    it('sends a plain body unchanged', async () => {
      const payload = await encodePayload(BODY, { gzip: false, encryption: null, now: NOW, owner: null });
      assert.deepEqual(payload, { bytes: BODY, headers: JSON_TYPE });
    });

    it('sets Content-Encoding for a compressed body', async () => {
      const { bytes, headers } = await encodePayload(BODY, { gzip: true, encryption: null, now: NOW, owner: null });
      assert.deepEqual(headers, { ...JSON_TYPE, 'content-encoding': 'gzip' });
      assert.ok(gunzipSync(bytes).equals(BODY));
    });

    it('names the key of an encrypted body, and sets no encoding', async () => {
      const { bytes, headers } = await encodePayload(BODY, { gzip: false, encryption, now: NOW, owner: null });
      assert.deepEqual(headers, PGP_TYPE);
      const decrypted = await decrypt(bytes, '');
      assert.ok(decrypted.ok && Buffer.from(decrypted.bytes).equals(BODY));
    });

    it('compresses, then encrypts, and sets only x-original-encoding', async () => {
      const { bytes, headers } = await encodePayload(BODY, { gzip: true, encryption, now: NOW, owner: null });
      assert.deepEqual(headers, { ...PGP_TYPE, 'x-original-encoding': 'gzip' });
      const decrypted = await decrypt(bytes, '');
      assert.ok(decrypted.ok && gunzipSync(decrypted.bytes).equals(BODY));
    });

    it('encrypts bodies of owners in turn: one does not wait for the many of another', async () => {
      const done: string[] = [];
      const encode = async (owner: string): Promise<void> => {
        await encodePayload(BODY, { gzip: false, encryption, now: NOW, owner });
        done.push(owner);
      };
      await Promise.all([...Array.from({ length: 9 }, () => encode('many')), encode('one')]);
      // One is encrypted at a time. The first two of the many have come earlier.
      assert.equal(done.indexOf('one'), 2, done.join());
    });

    it('sends nothing unencrypted if the key cannot be used', async () => {
      const expired = { keyName: 'old', publicKey: pgpVector('expired') };
      await assert.rejects(
        encodePayload(BODY, { gzip: false, encryption: expired, now: NOW, owner: null }),
        (error) => keyErrorCode(error) === 'expired_key',
      );
    });
  });

  describe('decoding', () => {
    it('decodes any body in every encoding', async () => {
      const one = fc.record({ body: fc.uint8Array({ maxLength: 5000 }), gzip: fc.boolean(), encrypted: fc.boolean() });
      await fc.assert(
        fc.asyncProperty(one, async ({ body, gzip, encrypted }) => {
          const encoding = { gzip, encryption: encrypted ? encryption : null, now: NOW, owner: null };
          const { bytes, headers } = await encodePayload(body, encoding);
          const verdict = await decodePayload(bytes, headers, { decrypt, maxBytes: 5000 });
          assert.ok(verdict.ok, JSON.stringify(verdict));
          assert.ok(Buffer.from(verdict.body).equals(body));
        }),
        { numRuns: 60 },
      );
    });

    it('passes the key’s name to the decryption', async () => {
      const names: string[] = [];
      await decodePayload(BODY, PGP_TYPE, {
        maxBytes: 100,
        decrypt: async (bytes, keyName) => {
          names.push(keyName);
          return { ok: true, bytes };
        },
      });
      assert.deepEqual(names, ['payroll-2026']);
    });

    it('accepts a charset, and media types and header names in upper or lower case', async () => {
      const headers = { 'Content-Type': 'Application/JSON; charset=utf-8', 'Content-Encoding': 'GZIP' };
      const verdict = await decodePayload(gzipSync(BODY), headers, { maxBytes: 100 });
      assert.ok(verdict.ok && Buffer.from(verdict.body).equals(BODY));
    });

    it('stops decompressing a zip bomb at the bound', async (t) => {
      const bomb = await gzipOfZeros(50);
      const headers = { ...JSON_TYPE, 'content-encoding': 'gzip' };
      const before = process.memoryUsage().arrayBuffers;
      let most = before;
      const watch = setInterval(() => {
        most = Math.max(most, process.memoryUsage().arrayBuffers);
      }, 1);
      t.after(() => clearInterval(watch));
      const verdict = await decodePayload(bomb, headers, { maxBytes: MIB });
      most = Math.max(most, process.memoryUsage().arrayBuffers);
      assert.ok(!verdict.ok && verdict.code === 'too_large');
      assert.equal(verdict.description, 'the decoded body has more than the 1048576 bytes allowed');
      assert.ok(most - before < 10 * MIB, `${most - before} bytes of memory`);
    });

    it('refuses several gzip members or decodes all of them, but never only some', async () => {
      const headers = { ...JSON_TYPE, 'content-encoding': 'gzip' };
      const bytes = Buffer.concat([gzipSync(BODY), gzipSync(BODY)]);
      const verdict = await decodePayload(bytes, headers, { maxBytes: 2 * BODY.length });
      assert.equal(verdict.ok ? verdict.body.length : verdict.code, verdict.ok ? 2 * BODY.length : 'malformed_gzip');
      assert.ok(!(await decodePayload(bytes, headers, { maxBytes: 2 * BODY.length - 1 })).ok);
    });

    it('accepts a body of the largest size, and refuses a larger one', async () => {
      for (const gzip of [false, true]) {
        for (const encrypted of [false, true]) {
          const encoding = { gzip, encryption: encrypted ? encryption : null, now: NOW, owner: null };
          const { bytes, headers } = await encodePayload(BODY, encoding);
          assert.ok((await decodePayload(bytes, headers, { decrypt, maxBytes: BODY.length })).ok);
          const verdict = await decodePayload(bytes, headers, { decrypt, maxBytes: BODY.length - 1 });
          assert.ok(!verdict.ok && verdict.code === 'too_large');
        }
      }
    });

    const gzipped = { ...JSON_TYPE, 'content-encoding': 'gzip' };
    const cases: [string, Uint8Array, Record<string, string>, PayloadFailureCode][] = [
      ['no content type', BODY, {}, 'unsupported_content_type'],
      ['another content type', BODY, { 'content-type': 'text/plain' }, 'unsupported_content_type'],
      ['JSON as the type of an encrypted body', BODY, { ...PGP_TYPE, ...JSON_TYPE }, 'unsupported_content_type'],
      ['another encoding', BODY, { ...JSON_TYPE, 'content-encoding': 'br' }, 'unsupported_encoding'],
      ['another encoding inside', BODY, { ...PGP_TYPE, 'x-original-encoding': 'br' }, 'unsupported_encoding'],
      ['both encodings', BODY, { ...PGP_TYPE, 'content-encoding': 'gzip' }, 'contradicting_headers'],
      ['an inner encoding in clear', BODY, { ...JSON_TYPE, 'x-original-encoding': 'gzip' }, 'contradicting_headers'],
      ['x-content-encrypted: false', BODY, { ...JSON_TYPE, 'x-content-encrypted': 'false' }, 'contradicting_headers'],
      [
        'an encrypted body without the key’s name',
        BODY,
        { 'content-type': 'application/octet-stream', 'x-content-encrypted': 'true' },
        'contradicting_headers',
      ],
      ['what does not decrypt', BODY, PGP_TYPE, 'decryption_failed'],
      ['what is no gzip', BODY, gzipped, 'malformed_gzip'],
      ['an empty gzip', new Uint8Array(0), gzipped, 'malformed_gzip'],
      ['a gzip that is cut', gzipSync(BODY).subarray(0, -1), gzipped, 'malformed_gzip'],
    ];
    for (const [what, bytes, headers, code] of cases) {
      it(`refuses ${what}`, async () => {
        const verdict = await decodePayload(bytes, headers, { decrypt, maxBytes: 100 });
        assert.ok(!verdict.ok);
        assert.equal(verdict.code, code);
      });
    }

    it('refuses an encrypted body without a decryption', async () => {
      const verdict = await decodePayload(BODY, PGP_TYPE, { maxBytes: 100 });
      assert.ok(!verdict.ok && verdict.code === 'no_decryption');
    });

    it('rejects if the decryption rejects', async () => {
      const fault = new Error('no such file');
      const failing = { maxBytes: 100, decrypt: () => Promise.reject(fault) };
      await assert.rejects(decodePayload(BODY, PGP_TYPE, failing), fault);
    });

    it('never throws, for any bytes and headers', async () => {
      const names = [
        'content-type',
        'content-encoding',
        'x-content-encrypted',
        'x-original-encoding',
        'x-pgp-key-name',
      ];
      const values = ['application/json', 'application/octet-stream', 'gzip', 'true', 'key', ''];
      const headers = fc.dictionary(fc.constantFrom(...names), fc.constantFrom(...values));
      await fc.assert(
        fc.asyncProperty(fc.uint8Array(), headers, async (bytes, given) => {
          const verdict = await decodePayload(bytes, given, { decrypt, maxBytes: 1000 });
          if (verdict.ok) assert.ok(Buffer.from(verdict.body).equals(bytes));
        }),
        { numRuns: 300 },
      );
    });
  });
});

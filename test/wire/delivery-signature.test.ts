import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { encodeBase64 } from '../../src/wire/bytes.ts';
import { contentHeaders, signDelivery } from '../../src/wire/payload.ts';
import { parseImfFixdate, pathAndQuery } from '../../src/wire/signature.ts';
import { type DeliveryVector, signingVectors } from '../support/vectors.ts';
import { type DeliveryFailureCode, type DeliveryToVerify, verifyDelivery } from '../support/verification.ts';

const AT = Date.parse('2026-11-21T05:00:00Z');
const SECRET = 'AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=';
const BODY = new TextEncoder().encode('{"records":[]}');
const CONTENT = contentHeaders(BODY, AT);

/** A vector as sent by the service and as received. */
function signVector(vector: DeliveryVector): ReturnType<typeof signDelivery> {
  const at = parseImfFixdate(vector.date);
  assert.ok(at !== null);
  const body = Buffer.from(vector.bodyBase64, 'base64');
  return signDelivery({
    url: new URL(vector.url),
    secret: vector.secret,
    content: contentHeaders(body, at),
    customHeaders: vector.customHeaders,
  });
}

/** A signed delivery with one custom header, as received. */
function received(changes: Partial<DeliveryToVerify> = {}): DeliveryToVerify {
  const customHeaders = [{ name: 'X-Tenant', value: 'acme' }];
  const url = new URL('https://hooks.example.com/in?a=1');
  return {
    method: 'POST',
    pathAndQuery: '/in?a=1',
    headers: { ...signDelivery({ url, secret: SECRET, content: CONTENT, customHeaders }), 'x-tenant': 'acme' },
    body: BODY,
    secrets: [SECRET],
    now: AT,
    ...changes,
  };
}

async function refused(
  changes: Partial<DeliveryToVerify>,
): Promise<{ code: DeliveryFailureCode; description: string }> {
  const verdict = await verifyDelivery(received(changes));
  assert.ok(!verdict.ok, 'the delivery was accepted');
  return verdict;
}

function withHeader(name: string, value: string | undefined): Partial<DeliveryToVerify> {
  return { headers: { ...received().headers, [name]: value } };
}

describe('signing a delivery', () => {
  for (const vector of signingVectors.delivery) {
    it(`signs the vector "${vector.name}"`, () => {
      assert.deepEqual(signVector(vector), {
        'x-content-sha256': vector.contentSha256,
        date: vector.date,
        authorization: vector.authorization,
      });
    });

    it(`verifies the vector "${vector.name}"`, async () => {
      const custom = Object.fromEntries(vector.customHeaders.map(({ name, value }) => [name, value]));
      const verdict = await verifyDelivery({
        method: 'POST',
        pathAndQuery: pathAndQuery(new URL(vector.url)),
        headers: {
          ...custom,
          'x-content-sha256': vector.contentSha256,
          date: vector.date,
          authorization: vector.authorization,
        },
        body: Buffer.from(vector.bodyBase64, 'base64'),
        secrets: [vector.secret],
        now: AT,
      });
      assert.ok(verdict.ok, JSON.stringify(verdict));
    });
  }

  it('makes the same signature as openssl', () => {
    const [vector] = signingVectors.delivery;
    assert.ok(vector !== undefined);
    const signature = execFileSync(
      'openssl',
      ['dgst', '-sha256', '-mac', 'HMAC', '-macopt', `hexkey:${vector.keyHex}`, '-binary'],
      { input: vector.stringToSign },
    );
    assert.ok(signVector(vector).authorization.endsWith(`&Signature=${signature.toString('base64')}`));
  });

  it('sends hash and date without a signature for OAuth', () => {
    const { authorization: _, ...content } = signDelivery({
      url: new URL('https://hooks.example.com/'),
      secret: SECRET,
      content: CONTENT,
      customHeaders: [],
    });
    assert.deepEqual(CONTENT, content);
  });

  it('does not sign with an empty secret', () => {
    const url = new URL('https://hooks.example.com/');
    assert.throws(() => signDelivery({ url, secret: '', content: CONTENT, customHeaders: [] }), RangeError);
  });
});

describe('verifying a delivery', () => {
  it('accepts a signed delivery, and returns when, over which headers and with which secret it was signed', async () => {
    assert.deepEqual(await verifyDelivery(received({ secrets: ['another', SECRET] })), {
      ok: true,
      secretIndex: 1,
      sentAt: AT,
      signedHeaders: ['x-content-sha256', 'date', 'x-tenant'],
    });
  });

  it('accepts header names in upper or lower case, and another case of the path', async () => {
    const headers = Object.fromEntries(
      Object.entries(received().headers).map(([name, value]) => [name.toUpperCase(), value]),
    );
    assert.ok((await verifyDelivery(received({ headers, pathAndQuery: '/IN?A=1' }))).ok);
  });

  it('accepts a required custom header only if it is signed', async () => {
    assert.ok((await verifyDelivery(received({ requiredHeaders: ['X-Tenant'] }))).ok);
    const changes = { ...withHeader('x-role', 'admin'), requiredHeaders: ['X-Role'] };
    assert.deepEqual(await refused(changes), {
      ok: false,
      code: 'unsigned_header',
      description: 'SignedHeaders lacks X-Role',
    });
  });

  const shortList = `HMAC-SHA256 SignedHeaders=x-content-sha256&Signature=${encodeBase64(new Uint8Array(32))}`;
  const inherited = `HMAC-SHA256 SignedHeaders=x-content-sha256;date;constructor&Signature=${encodeBase64(new Uint8Array(32))}`;
  const cases: [string, Partial<DeliveryToVerify>, DeliveryFailureCode, RegExp][] = [
    ['everything where there is no secret', { secrets: [] }, 'wrong_signature', /^none of the 0 secrets/],
    ['another method', { method: 'PUT' }, 'wrong_signature', /PUT/],
    ['no Authorization header', withHeader('authorization', undefined), 'missing_authorization', /is missing/],
    ['another scheme', withHeader('authorization', 'Bearer abc'), 'wrong_scheme', /HMAC-SHA256/],
    ['a malformed one', withHeader('authorization', 'HMAC-SHA256 x'), 'malformed_authorization', /SignedHeaders=/],
    ['a date that is not signed', withHeader('authorization', shortList), 'unsigned_header', /lacks date$/],
    ['a signed header that is missing', withHeader('x-tenant', undefined), 'missing_header', /x-tenant/],
    ['a signed name that every object has', withHeader('authorization', inherited), 'missing_header', /constructor/],
    ['a date of another format', withHeader('date', '2026-11-21'), 'malformed_date', /"2026-11-21"/],
    ['another date', withHeader('date', 'Sat, 21 Nov 2026 05:00:01 GMT'), 'wrong_signature', /values of/],
    ['an old date', { now: AT + 412_000 }, 'stale_date', /^date is 412 s old, 300 s allowed$/],
    ['a date ahead', { now: AT - 301_000 }, 'future_date', /^date is 301 s ahead of this clock, 300 s allowed$/],
    ['a date older than asked', { now: AT + 11_000, toleranceSeconds: 10 }, 'stale_date', /11 s old, 10 s allowed/],
    ['a clock that is not a number', { now: Number.NaN }, 'future_date', /NaN/],
    ['a tolerance that is not a number', { toleranceSeconds: Number.NaN }, 'future_date', /NaN/],
    [
      'another secret',
      { secrets: ['another'] },
      'wrong_signature',
      /^none of the 1 secrets signed POST \/in\?a=1 with these values of x-content-sha256, date, x-tenant$/,
    ],
    ['two other secrets', { secrets: ['another', 'third'] }, 'wrong_signature', /^none of the 2 secrets/],
    ['another path', { pathAndQuery: '/out?a=1' }, 'wrong_signature', /\/out\?a=1/],
    ['another value of a signed header', withHeader('x-tenant', 'evil'), 'wrong_signature', /x-tenant/],
    [
      'a signed header that came twice',
      { headers: { ...received().headers, 'x-tenant': ['acme', 'acme'] } },
      'wrong_signature',
      /x-tenant/,
    ],
    ['a header that came in two cases', withHeader('X-TENANT', 'acme'), 'wrong_signature', /x-tenant/],
    ['a hash of another length', withHeader('x-content-sha256', 'AAAA'), 'malformed_content_hash', /32 bytes: "AAAA"/],
    [
      'a hash that came twice',
      { headers: [...Object.entries(received().headers), ['x-content-sha256', 'AAAA']] as [string, string][] },
      'malformed_content_hash',
      /=, AAAA"$/,
    ],
    ['another hash', withHeader('x-content-sha256', encodeBase64(new Uint8Array(32))), 'wrong_signature', /content/],
    [
      'another body',
      { body: new Uint8Array(3) },
      'wrong_content_hash',
      /match the 3 bytes of the body: was it decompressed/,
    ],
  ];
  for (const [what, changes, code, description] of cases) {
    it(`refuses ${what}`, async () => {
      const verdict = await refused(changes);
      assert.equal(verdict.code, code);
      assert.match(verdict.description, description);
      assert.ok(!verdict.description.includes(SECRET));
    });
  }

  it('rejects for an empty secret, even next to a valid one', async () => {
    await assert.rejects(verifyDelivery(received({ secrets: [SECRET, ''] })), RangeError);
  });

  it('uses the system clock by default', async () => {
    const { now: _, ...delivery } = received();
    const url = new URL('https://hooks.example.com/in?a=1');
    const sign = (at: number) =>
      signDelivery({ url, secret: SECRET, content: contentHeaders(BODY, at), customHeaders: [] });
    assert.ok((await verifyDelivery({ ...delivery, headers: sign(Date.now()) })).ok);
    assert.ok(!(await verifyDelivery({ ...delivery, headers: sign(Date.now() - 3_600_000) })).ok);
  });

  it('does not read the body of a request whose signature is wrong', async () => {
    const unreadable = new Proxy(BODY, {
      get: (): never => assert.fail('the body was read'),
    });
    assert.equal((await refused({ body: unreadable, secrets: ['another'] })).code, 'wrong_signature');
    await assert.rejects(verifyDelivery(received({ body: unreadable })));
  });
});

describe('signing and verifying arbitrary deliveries', () => {
  const value = fc.string({ unit: fc.constantFrom(...'abcXYZ019-_,.'), maxLength: 20 });
  const suffix = fc.string({ unit: fc.constantFrom(...'abcxyz019-'), maxLength: 20 });
  const delivery = fc.record({
    path: fc.webPath(),
    query: fc.webQueryParameters(),
    secret: fc.string({ minLength: 1, maxLength: 50 }),
    body: fc.uint8Array({ minLength: 1, maxLength: 200 }),
    customHeaders: fc.uniqueArray(fc.record({ name: suffix.map((rest) => `X-${rest}`), value }), {
      maxLength: 4,
      selector: ({ name }) => name,
    }),
  });
  type Delivery = typeof delivery extends fc.Arbitrary<infer Value> ? Value : never;

  function sent({ path, query, secret, body, customHeaders }: Delivery): DeliveryToVerify {
    const url = new URL(`https://hooks.example.com${path}?${query}`);
    const custom = Object.fromEntries(customHeaders.map((header) => [header.name, header.value]));
    const headers = { ...custom, ...signDelivery({ url, secret, content: contentHeaders(body, AT), customHeaders }) };
    return { method: 'POST', pathAndQuery: pathAndQuery(url), headers, body, secrets: [secret], now: AT };
  }

  it('verifies every signed delivery', async () => {
    await fc.assert(fc.asyncProperty(delivery, async (one) => assert.ok((await verifyDelivery(sent(one))).ok)));
  });

  it('refuses any changed byte of a signed part or of the body', async () => {
    await fc.assert(
      fc.asyncProperty(delivery, fc.nat(), fc.integer({ min: 1, max: 255 }), async (one, position, difference) => {
        const good = sent(one);
        const flip = (bytes: Uint8Array): Uint8Array =>
          bytes.map((byte, index) => (index === position % bytes.length ? byte ^ difference : byte));
        const flipText = (text: string): string => Buffer.from(flip(Buffer.from(text, 'latin1'))).toString('latin1');
        assert.ok(!(await verifyDelivery({ ...good, body: flip(good.body) })).ok);
        const target = flipText(good.pathAndQuery);
        // The path is signed in lower case, so changing only the case of a letter is no change.
        if (target.toLowerCase() !== good.pathAndQuery.toLowerCase()) {
          assert.ok(!(await verifyDelivery({ ...good, pathAndQuery: target })).ok);
        }
        for (const [name, header] of Object.entries(good.headers)) {
          if (typeof header !== 'string' || header === '') continue;
          const headers = { ...good.headers, [name]: flipText(header) };
          assert.ok(!(await verifyDelivery({ ...good, headers })).ok, name);
        }
      }),
    );
  });

  it('never rejects, for any request', async () => {
    const text = fc.oneof(fc.string(), fc.constantFrom(...Object.values(received().headers).map(String)));
    const names = fc.constantFrom('authorization', 'date', 'x-content-sha256', '__proto__', 'X-Tenant');
    const headers = fc.dictionary(names, fc.option(text, { nil: undefined }));
    await fc.assert(
      fc.asyncProperty(
        fc.string(),
        fc.string(),
        headers,
        fc.array(fc.string({ minLength: 1 })),
        async (method, target, given, secrets) => {
          const request = { method, pathAndQuery: target, headers: given, body: BODY };
          const verdict = await verifyDelivery({ ...request, secrets, now: AT });
          assert.ok(!verdict.ok);
        },
      ),
    );
  });
});

/** Responses of token servers: content codings and byte order marks that nobody asked for, and what people see of them. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it, type TestContext } from 'node:test';
import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { type BearerToken, createOauthTokens } from '../../src/delivery/oauth.ts';
import { masked } from '../../src/domain/masking.ts';
import { RESPONSE_READ_BYTES } from '../../src/domain/outcome.ts';
import { createAuthorizationServer } from '../support/authorization-server.ts';
import { type PlannedAnswer, startRawTlsServer } from '../support/https-server.ts';
import { startReceiver } from '../support/receiver.ts';
import { makeEndpoint, openTestServices } from '../support/services.ts';
import { sharedCertificates } from '../support/tls.ts';
import { loopbackTransport } from '../support/transport.ts';

const ANSWER = '{"access_token":"ein-token","token_type":"Bearer"}';
const MARK = '\ufeff';

type Asked = { readonly bearer: BearerToken; readonly sent: Readonly<Record<string, unknown>> };

/** Requests one token from a server that answers so. */
async function ask(
  t: TestContext,
  answer: PlannedAnswer,
  oauth: Readonly<Record<string, unknown>> = {},
): Promise<Asked> {
  const { ca: caPem, server: identity } = sharedCertificates();
  const services = await openTestServices(t, { caPem });
  const receiver = await startReceiver(t, identity);
  const server = createAuthorizationServer(receiver, '/token');
  server.answer(() => answer);
  const endpoint = await makeEndpoint(services, { oauth: { ...server.oauth, ...oauth } });
  const tokens = createOauthTokens({ transport: loopbackTransport(t, { caPem }), clock: services.clock });
  const bearer = await tokens.token(endpoint);
  return { bearer, sent: server.requests[0]?.headers ?? {} };
}

describe('a token', () => {
  const bodies: Readonly<Record<string, PlannedAnswer>> = {
    'after a byte order mark': { body: MARK + ANSWER },
    'in gzip': { headers: { 'content-encoding': 'gzip' }, body: gzipSync(MARK + ANSWER) },
    'in x-gzip, in upper or lower case': { headers: { 'Content-Encoding': ' X-GZip ' }, body: gzipSync(ANSWER) },
    'in deflate': { headers: { 'content-encoding': 'deflate' }, body: deflateSync(ANSWER) },
    'in br': { headers: { 'content-encoding': 'br' }, body: brotliCompressSync(ANSWER) },
    'in identity': { headers: { 'content-encoding': 'identity' }, body: ANSWER },
  };
  for (const [name, answer] of Object.entries(bodies)) {
    it(`${name} is read, although the request accepts no content coding`, async (t) => {
      const { bearer, sent } = await ask(t, answer);
      assert.deepEqual(bearer, { ok: true, token: 'ein-token' });
      assert.equal(sent['accept-encoding'], 'identity');
    });
  }

  it('is read from a response that violates HTTP', async (t) => {
    const { ca: caPem, server: identity } = sharedCertificates();
    const services = await openTestServices(t, { caPem });
    const port = await startRawTlsServer(t, identity, async (socket) => {
      await once(socket, 'data');
      const head = `HTTP/1.1 200 OK\r\nX-A: a\r\n b\r\nno colon\r\nContent-Length : ${ANSWER.length}\r\n`;
      socket.write(`${head}Content-Length: ${ANSWER.length}\r\n\r\n`, () => setImmediate(() => socket.write(ANSWER)));
    });
    const oauth = { clientId: 'a', clientSecret: 'b', tokenUrl: `https://127.0.0.1:${port}/` };
    const endpoint = await makeEndpoint(services, { oauth });
    const tokens = createOauthTokens({ transport: loopbackTransport(t, { caPem }), clock: services.clock });
    assert.deepEqual(await tokens.token(endpoint), { ok: true, token: 'ein-token' });
  });
});

describe('a response of a token server', () => {
  const refused: Readonly<Record<string, readonly [PlannedAnswer, RegExp]>> = {
    'that is larger than the bound once it is decoded': [
      { headers: { 'content-encoding': 'gzip' }, body: gzipSync(ANSWER + ' '.repeat(RESPONSE_READ_BYTES)) },
      /answered 200 with a body that cannot be decoded as gzip, or has more than 65536 bytes: \(empty body\)/,
    ],
    'that is not in the coding that it names': [
      { headers: { 'content-encoding': 'gzip' }, body: ANSWER },
      /cannot be decoded as gzip/,
    ],
    'in a coding that is not supported': [
      { headers: { 'content-encoding': 'constructor' }, body: ANSWER },
      /answered 200 in a Content-Encoding that was not asked for and is not supported/,
    ],
  };
  for (const [name, [answer, message]] of Object.entries(refused)) {
    it(`${name} is refused, and nothing of it is shown`, async (t) => {
      const { bearer } = await ask(t, answer);
      assert.ok(!bearer.ok);
      assert.match(bearer.message, message);
      assert.equal(bearer.answer?.body.length, 0);
    });
  }

  it('in gzip is shown decoded and masked', async (t) => {
    const body = gzipSync('{"error":"invalid_client","id_token":"a.b.c","secret":"hunter2"}');
    const answer = { status: 401, headers: { 'content-encoding': 'gzip' }, body };
    const { bearer } = await ask(t, answer, { clientSecret: 'hunter2' });
    assert.ok(!bearer.ok);
    assert.match(
      bearer.message,
      /answered 401: \{"error":"invalid_client","id_token":"\[secret\]","secret":"\[secret\]"\}$/,
    );
  });
});

describe('a mask', () => {
  it('is never masked itself', () => {
    for (const secret of ['s', 'e', '[', 'secret', 'ecret', '[secret]', ']'])
      assert.equal(masked(`<${secret}>`, [secret, secret]), '<[secret]>');
    assert.equal(masked('sesam', ['s', 'es', 'sa']), '[secret][secret]m');
    assert.equal(masked('"access_token":"ab" x', ['"access', 'b" x']), '[secret]_token":"[secret]');
    assert.equal(masked('refresh_token=abc&x=1', ['x']), 'refresh_token=[secret]&[secret]=1');
  });

  it('leaves nothing of a secret or token', () => {
    // Characters that the mask and the patterns do not have.
    const secret = fc.string({ unit: fc.constantFrom('1', '2', '%', '+'), minLength: 1, maxLength: 4 });
    const part = fc.constantFrom('"access_token":"', 'id_token=', '" ', '&', 'x', ' ');
    fc.assert(
      fc.property(
        fc.array(secret, { maxLength: 3 }),
        fc.array(fc.oneof(part, secret), { maxLength: 12 }),
        (secrets, parts) => {
          const shown = masked(parts.join(''), secrets);
          for (const one of secrets) assert.ok(!shown.includes(one), `${one} in ${shown}`);
          assert.doesNotMatch(shown, /"access_token":"[^"[]|id_token=[^&\s[]/);
        },
      ),
    );
  });
});

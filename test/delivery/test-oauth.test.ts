import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { createOauthTokens, createTestOauth, type TestOauth } from '../../src/delivery/oauth.ts';
import { type AuthorizationServer, createAuthorizationServer } from '../support/authorization-server.ts';
import { type Receiver, startReceiver } from '../support/receiver.ts';
import { refused } from '../support/refusals.ts';
import { makeEndpoint, openTestServices, type TestServices } from '../support/services.ts';
import { sharedCertificates } from '../support/tls.ts';
import { loopbackTransport } from '../support/transport.ts';

type Testing = {
  readonly services: TestServices;
  readonly receiver: Receiver;
  readonly server: AuthorizationServer;
  readonly endpointId: string;
  readonly test: TestOauth;
};

async function openTesting(t: TestContext, oauth: Readonly<Record<string, unknown>> = {}): Promise<Testing> {
  const { ca: caPem, server: identity } = sharedCertificates();
  const services = await openTestServices(t, { caPem });
  const receiver = await startReceiver(t, identity);
  const server = createAuthorizationServer(receiver, '/token', { expires_in: 600, scope: 'events:write' });
  const { id: endpointId } = await makeEndpoint(services, { oauth: { ...server.oauth, ...oauth } });
  const transport = loopbackTransport(t, { caPem });
  return { services, receiver, server, endpointId, test: createTestOauth({ ...services, transport }) };
}

describe('the test of OAuth settings', () => {
  it('tells status, body, type, lifetime and scope of a good answer, and no token', async (t) => {
    const { server, endpointId, services, test } = await openTesting(t);
    const { timings, ...told } = await test(endpointId);
    assert.deepEqual(told, {
      at: services.clock(),
      issued: true,
      responseStatus: 200,
      responseBody: '{"access_token":"[secret]","token_type":"bearer","expires_in":600,"scope":"events:write"}',
      tokenType: 'bearer',
      expiresIn: '600',
      scope: 'events:write',
      error: null,
      advice: null,
    });
    assert.ok(timings.totalMs !== null);
    assert.equal(server.requests.length, 1);
    assert.match(String(server.requests[0]?.body), /^grant_type=client_credentials&scope=events/);
  });

  it('asks for no scope where none is configured', async (t) => {
    const { server, endpointId, test } = await openTesting(t, { scopes: null });
    assert.equal((await test(endpointId)).issued, true);
    assert.deepEqual(
      server.requests.map(({ body }) => body.toString('utf8')),
      ['grant_type=client_credentials'],
    );
  });

  it('uses no token of deliveries, and caches none for them', async (t) => {
    const { server, endpointId, services, test } = await openTesting(t);
    const transport = loopbackTransport(t, { caPem: sharedCertificates().ca });
    const oauth = createOauthTokens({ transport, clock: services.clock });
    const endpoint = await services.endpoints.get(endpointId);
    const kept = await oauth.token(endpoint);
    await test(endpointId);
    assert.deepEqual(await oauth.token(endpoint), kept);
    assert.equal(server.requests.length, 2);
  });

  const REFUSALS = [
    [
      'a refusal',
      { status: 401, body: '{"error":"invalid_client"}' },
      { responseStatus: 401, responseBody: '{"error":"invalid_client"}', tokenType: null },
      'the token endpoint answered 401',
    ],
    [
      'another type of token',
      { body: '{"access_token":"t0k3n","token_type":"mac"}' },
      { responseStatus: 200, responseBody: '{"access_token":"[secret]","token_type":"mac"}', tokenType: 'mac' },
      'the token endpoint issued a token whose token_type is not Bearer',
    ],
    [
      'a form in place of JSON',
      { body: 'token_type=bearer&access_token=t0k3n&scope=x' },
      { responseStatus: 200, responseBody: 'token_type=bearer&access_token=[secret]&scope=x', tokenType: null },
      'the token endpoint answered 200 without a usable access_token and token_type',
    ],
  ] as const;
  for (const [what, answer, shown, error] of REFUSALS) {
    it(`shows ${what} as it came, without a token in it, and what to look at`, async (t) => {
      const { server, endpointId, test } = await openTesting(t);
      server.answer(() => answer);
      const told = await test(endpointId);
      const { responseStatus, responseBody, tokenType } = told;
      assert.deepEqual({ responseStatus, responseBody, tokenType }, shown);
      assert.deepEqual([told.issued, told.error], [false, error]);
      assert.match(told.advice ?? '', /client secret and scopes/);
    });
  }

  it('shows 4 KiB of an answer at most', async (t) => {
    const { server, endpointId, test } = await openTesting(t);
    server.answer(() => ({ status: 500, body: 'x'.repeat(10_000) }));
    assert.equal((await test(endpointId)).responseBody, 'x'.repeat(4096));
  });

  it('gives advice about the connection if none could be opened', async (t) => {
    const { endpointId, test } = await openTesting(t, { tokenUrl: 'https://127.0.0.1:1/token' });
    const { responseStatus, responseBody, error, advice } = await test(endpointId);
    assert.deepEqual([responseStatus, responseBody], [null, null]);
    assert.match(error ?? '', /^the token request failed: connect: /);
    assert.match(advice ?? '', /listens on this port/);
  });

  it('shows no part of a token in an answer that was cut short', async (t) => {
    const { receiver, server, endpointId, test } = await openTesting(t);
    server.answer(() => (_, response) => {
      response.writeHead(200, { 'content-length': '500' });
      response.write('{"access_token":"half-a-tok', () => response.destroy());
    });
    const { error, responseBody } = await test(endpointId);
    assert.match(error ?? '', /^the token request failed: reset: /);
    assert.equal(responseBody, '{"access_token":"[secret]');
    assert.equal(receiver.requests.length, 1);
  });

  it('is refused for an endpoint without such settings, and for none; nothing is sent', async (t) => {
    const { services, receiver, test } = await openTesting(t);
    const { id } = await makeEndpoint(services);
    await refused(() => test(id), { code: 'invalid_state', says: /has no OAuth settings/ });
    await refused(() => test('no-such-endpoint'), { code: 'not_found', says: /there is no endpoint/ });
    assert.equal(receiver.requests.length, 0);
  });
});

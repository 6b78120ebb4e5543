import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { type BearerToken, createOauthTokens, type OauthTokens } from '../../src/delivery/oauth.ts';
import type { Endpoint } from '../../src/domain/endpoint.ts';
import { isDrained, openDispatching, takeRecords, until } from '../support/dispatching.ts';
import { type OidcServer, startOidcServer } from '../support/oidc-server.ts';
import { ACTOR, makeEndpoint, openTestServices, type TestServices } from '../support/services.ts';
import { sharedCertificates } from '../support/tls.ts';
import { allowing, LOOPBACK, loopbackTransport, resolvingTo } from '../support/transport.ts';

type Tokens = TestServices & { readonly server: OidcServer; readonly oauth: OauthTokens; readonly endpoint: Endpoint };

async function openTokens(
  t: TestContext,
  { validitySeconds = 600, oauth = {} }: { validitySeconds?: number; oauth?: Readonly<Record<string, unknown>> } = {},
): Promise<Tokens> {
  const { ca: caPem, server: identity } = sharedCertificates();
  const server = await startOidcServer(t, identity, { validitySeconds });
  const services = await openTestServices(t, { caPem });
  const endpoint = await makeEndpoint(services, { oauth: { ...server.oauth, ...oauth } });
  const transport = loopbackTransport(t, { caPem });
  return { ...services, server, endpoint, oauth: createOauthTokens({ transport, clock: services.clock }) };
}

const textOf = (bearer: BearerToken): string => (bearer.ok ? bearer.token : assert.fail(bearer.message));

function refusalOf(bearer: BearerToken): Extract<BearerToken, { ok: false }> {
  assert.ok(!bearer.ok, 'a token was given');
  assert.equal(bearer.errorClass, 'oauth_token');
  return bearer;
}

describe('a token of an OpenID provider', () => {
  it('is requested once, however many attempts need it at the same time', async (t) => {
    const { oauth, endpoint, server } = await openTokens(t);
    const release = server.hold();
    const asked = Array.from({ length: 100 }, () => oauth.token(endpoint));
    release();
    const given = new Set((await Promise.all(asked)).map(textOf));
    assert.deepEqual([...given], server.issued);
    assert.equal(server.tokenRequests(), 1);
  });

  it('is cached until a minute before its end', async (t) => {
    const { oauth, endpoint, server, advance } = await openTokens(t, { validitySeconds: 600 });
    const first = textOf(await oauth.token(endpoint));
    advance(539_999);
    assert.equal(textOf(await oauth.token(endpoint)), first);
    advance(1);
    assert.notEqual(textOf(await oauth.token(endpoint)), first);
    assert.equal(server.tokenRequests(), 2);
  });

  it('of a short life is cached for nine tenths of it', async (t) => {
    const { oauth, endpoint, server, advance } = await openTokens(t, { validitySeconds: 20 });
    const first = textOf(await oauth.token(endpoint));
    advance(17_999);
    assert.equal(textOf(await oauth.token(endpoint)), first);
    advance(1);
    assert.notEqual(textOf(await oauth.token(endpoint)), first);
    assert.equal(server.tokenRequests(), 2);
  });

  it('of no lifetime is used for one attempt', async (t) => {
    const { oauth, endpoint, server } = await openTokens(t);
    for (const life of [0, -5, '0']) {
      server.alter((answer) => void Object.assign(answer, { expires_in: life }));
      assert.notEqual(textOf(await oauth.token(endpoint)), textOf(await oauth.token(endpoint)));
    }
    assert.equal(server.tokenRequests(), 6);
  });

  it('stays cached when another setting of its endpoint changes', async (t) => {
    const { oauth, endpoint, server, endpoints } = await openTokens(t);
    const first = textOf(await oauth.token(endpoint));
    const renamed = await endpoints.patch(endpoint.id, { name: 'renamed' }, ACTOR);
    assert.equal(textOf(await oauth.token(renamed)), first);
    assert.equal(server.tokenRequests(), 1);
  });

  it('is requested one at a time, even while the settings change', async (t) => {
    const { oauth, endpoint, server, endpoints } = await openTokens(t);
    const release = server.hold();
    const first = oauth.token(endpoint);
    await until('the first request', () => server.tokenRequests() === 1);
    const changed = await endpoints.patch(endpoint.id, { oauth: { tokenExpirationMinutes: 7 } }, ACTOR);
    const second = oauth.token(changed);
    await endpoints.get(endpoint.id);
    assert.equal(server.tokenRequests(), 1);
    release();
    assert.notEqual(textOf(await first), textOf(await second));
    assert.equal(server.tokenRequests(), 2);
  });

  it('without expires_in is cached for tokenExpirationMinutes', async (t) => {
    const { oauth, endpoint, server, advance } = await openTokens(t, { oauth: { tokenExpirationMinutes: 5 } });
    server.alter((answer) => delete answer.expires_in);
    const first = textOf(await oauth.token(endpoint));
    advance(270_000 - 1);
    assert.equal(textOf(await oauth.token(endpoint)), first);
    advance(1);
    assert.notEqual(textOf(await oauth.token(endpoint)), first);
  });

  it('may have its type in upper or lower case and its lifetime as text', async (t) => {
    const { oauth, endpoint, server } = await openTokens(t);
    server.alter((answer) => Object.assign(answer, { token_type: 'bEaReR', expires_in: '600' }));
    assert.equal(textOf(await oauth.token(endpoint)), server.issued[0]);
  });

  it('is each endpoint’s own', async (t) => {
    const tokens = await openTokens(t);
    const { oauth, endpoint, server } = tokens;
    const other = await makeEndpoint(tokens, { oauth: server.oauth });
    assert.notEqual(textOf(await oauth.token(endpoint)), textOf(await oauth.token(other)));
  });

  it('is removed when it is dropped, unless a newer one replaced it', async (t) => {
    const { oauth, endpoint, server } = await openTokens(t);
    const first = textOf(await oauth.token(endpoint));
    oauth.drop(endpoint, first);
    const second = textOf(await oauth.token(endpoint));
    assert.notEqual(second, first);
    oauth.drop(endpoint, first);
    assert.equal(textOf(await oauth.token(endpoint)), second);
    assert.equal(server.tokenRequests(), 2);
  });
});

describe('no token is', () => {
  it('a refusal of the provider: its status and body are shown, and the secret is not', async (t) => {
    const { oauth, endpoint, server } = await openTokens(t, { oauth: { clientSecret: 'not the one' } });
    const { message, answer } = refusalOf(await oauth.token(endpoint));
    assert.match(message, /answered 401: .*invalid_client/);
    assert.equal(answer?.status, 401);
    assert.doesNotMatch(JSON.stringify([message, answer]), /not the one/);
    refusalOf(await oauth.token(endpoint));
    assert.equal(server.tokenRequests(), 2, 'a refusal is not kept');
  });

  it('a scope that the client may not have', async (t) => {
    const { oauth, endpoint } = await openTokens(t, { oauth: { scopes: 'events:read' } });
    assert.match(refusalOf(await oauth.token(endpoint)).message, /answered 400: .*invalid_scope/);
  });

  const answers = [
    ['of another type', { token_type: 'mac' }, /not Bearer/],
    ['of no type', { token_type: undefined }, /without a usable access_token and token_type/],
    ['that is not text', { access_token: 17 }, /without a usable access_token/],
    ['that is empty', { access_token: '' }, /without a usable access_token/],
    ['that would end the header', { access_token: 'a\r\nx-injected: 1' }, /without a usable access_token/],
    ['that is not there', { access_token: undefined }, /without a usable access_token/],
  ] as const;
  for (const [what, change, message] of answers) {
    it(`one ${what}; the answer is shown without a token`, async (t) => {
      const { oauth, endpoint, server } = await openTokens(t);
      server.alter((answer) => Object.assign(answer, change));
      const refused = refusalOf(await oauth.token(endpoint));
      assert.match(refused.message, message);
      const shown = JSON.stringify([refused.message, Buffer.from(refused.answer?.body ?? []).toString('utf8')]);
      for (const token of server.issued) assert.ok(!shown.includes(token), shown);
    });
  }

  it('where nothing answers: the reason is that of the connection', async (t) => {
    const { oauth, endpoint } = await openTokens(t, { oauth: { tokenUrl: 'https://127.0.0.1:1/token' } });
    assert.match(refusalOf(await oauth.token(endpoint)).message, /^the token request failed: connect: /);
  });

  const guarded = [
    ['on this machine, as nothing is allowed', allowing(), '127.0.0.1'],
    ['in a private network, which a name leads to', LOOPBACK, '10.0.0.1'],
  ] as const;
  for (const [where, egress, address] of guarded) {
    it(`one of a provider ${where}: the egress guard refuses it before anything connects`, async (t) => {
      const { endpoint, server, clock } = await openTokens(t);
      const caPem = sharedCertificates().ca;
      const transport = loopbackTransport(t, { caPem, egress, resolve: resolvingTo('127.0.0.1', address) });
      const { message } = refusalOf(await createOauthTokens({ transport, clock }).token(endpoint));
      assert.match(message, /^the token request failed: egress_refused: /);
      assert.ok(message.includes(address), message);
      assert.equal(server.connections(), 0);
      const allowed = createOauthTokens({ transport: loopbackTransport(t, { caPem }), clock });
      assert.equal(textOf(await allowed.token(endpoint)), server.issued[0]);
      assert.equal(server.connections(), 1);
    });
  }
});

describe('deliveries with a token of an OpenID provider', () => {
  it('share it, and get a fresh one within the attempt when the endpoint refuses it', async (t) => {
    const d = await openDispatching(t);
    const server = await startOidcServer(t, sharedCertificates().server);
    const good = new Set<string>();
    server.alter((answer) => void good.add(String(answer.access_token)));
    const { at, number } = await d.connect({
      receiving: { bearerTokens: good },
      endpoint: { oauth: server.oauth },
      webhook: { maxBatchRecords: 1 },
    });
    const dispatcher = await d.start();
    await d.publishMany(50);
    await takeRecords(at, 50);
    await until('the end', () => isDrained(d));
    assert.equal(server.tokenRequests(), 1);
    const before = d.receiver.requests.length;
    // The provider has revoked it: the receiver answers 401 to it from now on.
    d.receiver.route(at.path, ({ headers }) =>
      headers.authorization === `Bearer ${server.issued[1]}` ? { status: 200 } : { status: 401, body: 'revoked' },
    );
    await d.publishMany(1);
    dispatcher.wake();
    await until('the end', () => isDrained(d));
    assert.deepEqual(
      d.receiver.requests.slice(before).map(({ headers }) => headers.authorization),
      [`Bearer ${server.issued[0]}`, `Bearer ${server.issued[1]}`],
    );
    assert.equal(server.tokenRequests(), 2);
    const attempts = await d.rows(
      `SELECT response_status, request_headers FROM attempt WHERE webhook_number = ${number}`,
    );
    assert.equal(attempts.length, 51);
    for (const { response_status, request_headers } of attempts) {
      assert.ok(response_status === 200 || response_status === 204);
      assert.match(String(request_headers), /"authorization":"Bearer \[secret\]"/);
    }
  });

  it('use the current settings: a PATCH of them requests a new token', async (t) => {
    const d = await openDispatching(t);
    const server = await startOidcServer(t, sharedCertificates().server);
    const good = new Set<string>();
    server.alter((answer) => void good.add(String(answer.access_token)));
    const { at, webhook, number } = await d.connect({
      receiving: { bearerTokens: good },
      endpoint: { oauth: server.oauth },
    });
    const dispatcher = await d.start();
    await d.publishMany(1);
    await at.next();
    await until('the end', () => isDrained(d));
    await d.endpoints.patch(
      webhook.endpointId,
      { oauth: { clientSecret: 'a new one that the provider lacks' } },
      ACTOR,
    );
    await d.publishMany(1);
    await until(
      'the refusal',
      async () => (await d.rows(`SELECT 1 FROM attempt WHERE webhook_number = ${number}`)).length === 2,
    );
    const [refused] = await d.rows(
      'SELECT error_class, error_message, response_status FROM attempt ORDER BY key DESC LIMIT 1',
    );
    assert.deepEqual([refused?.error_class, refused?.response_status], ['oauth_token', 401]);
    assert.match(String(refused?.error_message), /invalid_client/);
    const { progress } = await d.webhooks.get(webhook.id);
    assert.deepEqual([progress.state, progress.stateReason], ['failing', 'oauth_token']);
    assert.match(String(progress.stateDetail), /answered 401: .*invalid_client/);
    assert.equal(at.deliveries.length, 1, 'nothing reached the endpoint');
    await d.endpoints.patch(webhook.endpointId, { oauth: { clientSecret: server.oauth.clientSecret } }, ACTOR);
    d.advance(6000);
    dispatcher.wake();
    await at.next();
    await until('the end', () => isDrained(d));
    assert.equal(server.tokenRequests(), 3);
  });
});

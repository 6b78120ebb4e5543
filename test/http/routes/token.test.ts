import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { COMMAND_LINE } from '../../../src/domain/acting.ts';
import {
  type Answer,
  basic,
  bodyOf,
  codeOf,
  makeClient,
  type OAuthService,
  postJson,
  send,
  startOAuthService,
  type TestClient,
  TOKEN,
} from '../../support/oauth-service.ts';
import { ACTOR } from '../../support/services.ts';
import { execute, onSqlite } from '../../support/store.ts';

type Service = OAuthService & { readonly client: TestClient };

async function start(t: TestContext, scopes?: readonly string[]): Promise<Service> {
  const service = await startOAuthService(t);
  return { ...service, client: await makeClient(service, scopes) };
}

/** The valid request with changed members; undefined removes one. */
function request({ client: { clientId, clientSecret } }: Service, more: Record<string, unknown> = {}) {
  return { clientId, clientSecret, grantType: 'client_credentials', scope: 'employees:view', ...more };
}

async function issuedTokens({ rows }: OAuthService): Promise<number> {
  return (await rows('SELECT * FROM access_token')).length;
}

/** Exactly the error body of contract §1.4, and the log line of the request. */
function assertErrorBody({ logged }: OAuthService, answer: Answer, status: number, code: string, says: RegExp): void {
  assert.equal(answer.status, status, answer.text);
  assert.equal(answer.headers.get('content-type'), 'application/json;charset=UTF-8');
  const { error, timeStamp, ...rest } = bodyOf(answer) as { error: Record<string, unknown>; timeStamp: string };
  assert.deepEqual(rest, { status: String(status) });
  assert.match(timeStamp, /^2026-11-21T05:\d\d:\d\d\+0000$/);
  assert.deepEqual(Object.keys(error), ['errorId', 'message', 'code', 'description', 'details']);
  assert.equal(error.code, code, answer.text);
  assert.equal(error.message, null);
  assert.match(String(error.description), says);
  assert.match(String(error.errorId), /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  assert.ok(logged.some((line) => line.includes(String(error.errorId))));
}

describe('the log of a refused token request', () => {
  it('names the client and the code, and no client for another value in its place', async (t) => {
    const service = await start(t);
    const { clientId, clientSecret } = service.client;
    await postJson(service, TOKEN, request(service, { clientSecret: 'wrong' }));
    const line = JSON.parse(service.logged.at(-1) ?? '{}') as Record<string, unknown>;
    assert.deepEqual([line.clientId, line.code, line.status], [clientId, 'invalid_client', 400]);
    await postJson(service, TOKEN, request(service, { clientId: clientSecret }));
    assert.ok(!service.logged.join('').includes(clientSecret));
    const other = JSON.parse(service.logged.at(-1) ?? '{}') as Record<string, unknown>;
    assert.deepEqual([other.clientId, other.code], [undefined, 'invalid_client']);
  });
});

describe('a token request with valid credentials', () => {
  it('gets a valid token also if a revocation comes between', async (t) => {
    const service = await start(t);
    const { authenticate } = service.tokens;
    let authenticated = 0;
    service.tokens.authenticate = async (credentials) => {
      const client = await authenticate(credentials);
      authenticated += 1;
      if (authenticated === 1) await service.applications.revokeTokens(client.id, ACTOR);
      return client;
    };
    const answer = await postJson(service, TOKEN, request(service));
    assert.equal(answer.status, 200, answer.text);
    const caller = await service.gate.authenticate([`Bearer ${bodyOf(answer).access_token}`]);
    assert.deepEqual([caller.clientId, authenticated], [service.client.clientId, 2]);
  });
});

describe('a token request in JSON', () => {
  it('gets a token with expiry and scopes, in a reply that is not cached', async (t) => {
    const service = await start(t);
    const answer = await postJson(service, TOKEN, request(service, { scope: 'employees:view employees:edit' }));
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.headers.get('content-type'), 'application/json;charset=UTF-8');
    assert.equal(answer.headers.get('cache-control'), 'no-store');
    assert.equal(answer.headers.get('pragma'), 'no-cache');
    const { access_token: token, ...rest } = bodyOf(answer);
    assert.deepEqual(rest, { expires_in: 3600, scope: 'employees:edit employees:view', token_type: 'Bearer' });
    assert.match(String(token), /^spt_[0-9A-Za-z]{60}$/);
    assert.match(service.logged.at(-1) ?? '', new RegExp(`"status":200,.*"clientId":"${service.client.clientId}"`));
    const caller = await service.gate.authenticate([`Bearer ${token}`]);
    assert.equal(caller.clientId, service.client.clientId);
    assert.equal(caller.expiresAt, service.clock() + 3_600_000);
  });

  for (const [what, more, scope] of [
    ['no scope', { scope: undefined }, 'employees:edit employees:view'],
    ['null for scope', { scope: null }, 'employees:edit employees:view'],
    ['an empty scope', { scope: '' }, 'employees:edit employees:view'],
    ['all', { scope: 'all' }, 'employees:edit employees:view'],
    ['one scope twice', { scope: 'employees:view employees:view' }, 'employees:view'],
    ['the name scopes', { scope: undefined, scopes: 'employees:view' }, 'employees:view'],
    ['both names with one value', { scopes: 'employees:view' }, 'employees:view'],
    [
      'both names with the same scopes in another order, some repeated',
      { scope: 'employees:view employees:edit', scopes: 'employees:edit  employees:view employees:edit' },
      'employees:edit employees:view',
    ],
    ['members that nobody knows', { audience: ['x'], __proto: 1, realm: null }, 'employees:view'],
  ] as const) {
    it(`gets ${scope} for ${what}`, async (t) => {
      const service = await start(t);
      const answer = await postJson(service, TOKEN, request(service, more));
      assert.equal(bodyOf(answer).scope, scope, answer.text);
    });
  }

  it('gets all of more than twenty registered scopes, and exactly the twenty requested ones', async (t) => {
    const service = await startOAuthService(t);
    const names = Array.from({ length: 25 }, (_, at) => `things:do-${String.fromCharCode(97 + at)}`);
    const scopes = names.map((name) => ({ name }));
    await service.products.create({ name: 'Things', scopes }, COMMAND_LINE);
    const withClient = { ...service, client: await makeClient(service, names) };
    const asked = async (scope: string): Promise<Answer> => postJson(service, TOKEN, request(withClient, { scope }));
    assert.equal(bodyOf(await asked('all')).scope, names.join(' '));
    assert.equal(bodyOf(await asked(names.slice(5).reverse().join(' '))).scope, names.slice(5).join(' '));
    const refused = await asked(names.slice(4).join(' '));
    assertErrorBody(service, refused, 400, 'invalid_scope', /more than 20.*'things:do-y'/);
    assert.equal(await issuedTokens(service), 2);
  });

  it('may use the names of RFC 6749, with or without the JSON names', async (t) => {
    const service = await start(t);
    const { clientId: client_id, clientSecret: client_secret } = service.client;
    const snake = { client_id, client_secret, grant_type: 'client_credentials', scope: 'employees:view' };
    assert.equal((await postJson(service, TOKEN, snake)).status, 200);
    assert.equal((await postJson(service, TOKEN, { ...request(service), ...snake })).status, 200);
  });

  it('may send its credentials by HTTP Basic instead', async (t) => {
    const service = await start(t);
    const { clientId, clientSecret } = service.client;
    const body = request(service, { clientId: undefined, clientSecret: undefined });
    assert.equal((await postJson(service, TOKEN, body, basic(clientId, clientSecret))).status, 200);
  });

  const OTHER = 'spc_00000000000000000000000000000';
  for (const [what, more, code, says] of [
    ['no clientId', { clientId: undefined }, 'invalid_request', /^clientId is required$/],
    ['an empty clientId', { clientId: '' }, 'invalid_request', /^clientId is required$/],
    ['no clientSecret', { clientSecret: undefined }, 'invalid_request', /^clientSecret is required$/],
    ['no grantType', { grantType: undefined }, 'invalid_request', /^grantType is required$/],
    ['a number as clientId', { clientId: 7 }, 'invalid_request', /^clientId must be a string$/],
    ['null as client_secret', { client_secret: null }, 'invalid_request', /^client_secret must be a string$/],
    ['a list as scope', { scope: ['employees:view'] }, 'invalid_request', /^scope must be a string$/],
    [
      'scope[], which would grant every scope',
      { 'scope[]': 'a:b' },
      'invalid_request',
      /^scope\[\] is not a parameter/,
    ],
    ['scope in capitals', { SCOPE: 'employees:view' }, 'invalid_request', /^SCOPE is not a parameter/],
    ['two client ids', { client_id: OTHER }, 'invalid_request', /^client_id differs from clientId/],
    ['two client secrets', { client_secret: 'x' }, 'invalid_request', /^client_secret differs from clientSecret/],
    ['two grant types', { grant_type: 'password' }, 'invalid_request', /^grant_type differs from grantType/],
    ['scope and scopes that differ', { scopes: 'employees:edit' }, 'invalid_request', /^scopes differs from scope/],
    [
      'scope and scopes of which one has more',
      { scope: 'employees:edit employees:view', scopes: 'employees:edit' },
      'invalid_request',
      /^scopes differs from scope/,
    ],
    ['another grant type', { grantType: 'password' }, 'unsupported_grant_type', /client_credentials/],
    ['a scope that is not registered', { scope: 'employees:view users:manage' }, 'invalid_scope', /'users:manage'/],
    ['a malformed scope', { scope: 'employees' }, 'invalid_scope', /'employees'/],
  ] as const) {
    it(`is refused for ${what}, and gets no token`, async (t) => {
      const service = await start(t);
      assertErrorBody(service, await postJson(service, TOKEN, request(service, more)), 400, code, says);
      assert.equal(await issuedTokens(service), 0);
    });
  }

  for (const [what, body, says] of [
    ['a body that is not JSON', '{"clientId":', /not JSON/],
    ['an empty body', '', /not JSON/],
    ['a list', '[]', /must be a JSON object/],
    ['a text', '"x"', /must be a JSON object/],
    ['null', 'null', /must be a JSON object/],
  ] as const) {
    it(`is refused for ${what}`, async (t) => {
      const service = await start(t);
      assertErrorBody(service, await postJson(service, TOKEN, body), 400, 'invalid_request', says);
    });
  }

  it('is refused for credentials both in the body and in a header', async (t) => {
    const service = await start(t);
    const { clientId, clientSecret } = service.client;
    for (const headers of [basic(clientId, clientSecret), basic(clientId, 'x'), { Authorization: 'Bearer x' }]) {
      for (const body of [request(service), request(service, { clientSecret: undefined })]) {
        const answer = await postJson(service, TOKEN, body, headers);
        assertErrorBody(service, answer, 400, 'invalid_request', /both in the Authorization header and in the body/);
      }
    }
    assert.equal(await issuedTokens(service), 0);
  });

  for (const scope of [undefined, '', 'all', 'employees:view']) {
    it(`is refused for an application without scopes that asks for ${scope === undefined ? 'none' : `"${scope}"`}`, async (t) => {
      const service = await start(t, []);
      const answer = await postJson(service, TOKEN, request(service, { scope }));
      assertErrorBody(service, answer, 400, 'invalid_scope', /^no scope is registered for this application$/);
      assert.equal(await issuedTokens(service), 0);
    });
  }

  it('is refused in the same way for any wrong credentials', async (t) => {
    const service = await start(t);
    const other = await makeClient(service);
    const inactive = await makeClient(service);
    await service.applications.patch(inactive.applicationId, { active: false }, COMMAND_LINE);
    const orphan = await makeClient(service);
    await service.users.patch(orphan.user.id, { active: false }, COMMAND_LINE);
    const descriptions = new Set<string>();
    for (const more of [
      { clientId: OTHER },
      { clientId: 'x'.repeat(8000) },
      { clientSecret: 'wrong' },
      { clientSecret: other.clientSecret },
      { clientId: inactive.clientId, clientSecret: inactive.clientSecret },
      { clientId: orphan.clientId, clientSecret: orphan.clientSecret },
    ]) {
      const answer = await postJson(service, TOKEN, request(service, more));
      assertErrorBody(service, answer, 400, 'invalid_client', /not valid/);
      descriptions.add((bodyOf(answer).error as { description: string }).description);
    }
    assert.equal(descriptions.size, 1);
    assert.equal(await issuedTokens(service), 0);
  });

  it('is refused with 415 for another media type, 413 beyond 16 KiB, 405 for another method', async (t) => {
    const service = await start(t);
    const url = service.origin + TOKEN;
    const text = await send(url, { method: 'POST', headers: { 'Content-Type': 'text/plain' }, body: '{}' });
    assertErrorBody(service, text, 415, 'unsupported_media_type', /application\/json or application\/x-www-form/);
    const untyped = await send(url, { method: 'POST', body: new Uint8Array(2) });
    assertErrorBody(service, untyped, 415, 'unsupported_media_type', /Content-Type is required/);
    const large = await postJson(service, TOKEN, request(service, { padding: ' '.repeat(16 * 1024) }));
    assertErrorBody(service, large, 413, 'content_too_large', /16384 bytes/);
    const got = await send(url, {});
    assertErrorBody(service, got, 405, 'method_not_allowed', /POST/);
    assert.equal(got.headers.get('allow'), 'POST');
  });

  onSqlite('gets a server_error with only its id if the store fails', async (t) => {
    const service = await start(t);
    await execute(service, 'ALTER TABLE access_token RENAME TO access_token_away');
    const answer = await postJson(service, TOKEN, request(service));
    assertErrorBody(service, answer, 500, 'server_error', /^failed to generate an access token$/);
    assert.ok(service.logged.some((line) => /(no such table|relation).*access_token/.test(line)));
  });

  it('logs no secret and no token', async (t) => {
    const service = await start(t);
    const { access_token: token } = bodyOf(await postJson(service, TOKEN, request(service)));
    assert.equal(
      codeOf(await postJson(service, TOKEN, request(service, { clientSecret: 'wrong-secret' }))),
      'invalid_client',
    );
    const log = service.logged.join('');
    for (const secret of [service.client.clientSecret, 'wrong-secret', String(token)]) assert.ok(!log.includes(secret));
    assert.equal(service.logged.length, 2);
  });
});

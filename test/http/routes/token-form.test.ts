import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import {
  type Answer,
  basic,
  bodyOf,
  INTROSPECT,
  makeClient,
  type OAuthService,
  postForm,
  postJson,
  startOAuthService,
  type TestClient,
  TOKEN,
} from '../../support/oauth-service.ts';
import { execute, onSqlite } from '../../support/store.ts';

type Service = OAuthService & { readonly client: TestClient };

async function start(t: TestContext): Promise<Service> {
  const service = await startOAuthService(t);
  return { ...service, client: await makeClient(service) };
}

const GRANT = { grant_type: 'client_credentials', scope: 'employees:view' };

function inBody({ client }: Service): { readonly client_id: string; readonly client_secret: string } {
  return { client_id: client.clientId, client_secret: client.clientSecret };
}

function inHeader({ client }: Service): { readonly Authorization: string } {
  return basic(client.clientId, client.clientSecret);
}

/** Exactly as in RFC 6749 §5.2. */
function assertOAuthError(answer: Answer, status: number, error: string, says: RegExp, challenge: RegExp | null): void {
  assert.equal(answer.status, status, answer.text);
  assert.equal(answer.headers.get('content-type'), 'application/json;charset=UTF-8');
  assert.equal(answer.headers.get('cache-control'), 'no-store');
  assert.equal(answer.headers.get('pragma'), 'no-cache');
  const body = bodyOf(answer);
  assert.deepEqual(Object.keys(body), ['error', 'error_description']);
  assert.equal(body.error, error, answer.text);
  assert.match(String(body.error_description), says);
  assert.match(String(body.error_description), /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/);
  if (challenge === null) assert.equal(answer.headers.get('www-authenticate'), null);
  else assert.match(answer.headers.get('www-authenticate') ?? '', challenge);
}

describe('a token request as a form', () => {
  it('is granted with credentials in the body', async (t) => {
    const service = await start(t);
    const answer = await postForm(service, TOKEN, { ...GRANT, ...inBody(service) });
    assert.equal(answer.status, 200, answer.text);
    assert.equal(answer.headers.get('content-type'), 'application/json;charset=UTF-8');
    assert.equal(answer.headers.get('cache-control'), 'no-store');
    assert.equal(answer.headers.get('pragma'), 'no-cache');
    const { access_token: token, ...rest } = bodyOf(answer);
    assert.deepEqual(rest, { expires_in: 3600, scope: 'employees:view', token_type: 'Bearer' });
    assert.match(String(token), /^spt_/);
  });

  it('is granted with credentials by HTTP Basic, percent-encoded or not, with the scheme in upper or lower case', async (t) => {
    const service = await start(t);
    const { clientId, clientSecret } = service.client;
    const encoded = clientSecret.replace(/./g, (letter) => `%${letter.charCodeAt(0).toString(16)}`);
    for (const { Authorization } of [basic(clientId, clientSecret), basic(clientId, encoded)]) {
      for (const value of [Authorization, Authorization.replace('Basic', 'bAsIc'), Authorization.replace(' ', '   ')]) {
        const answer = await postForm(service, TOKEN, GRANT, { Authorization: value });
        assert.equal(answer.status, 200, answer.text);
      }
    }
  });

  it('treats a parameter without a value as not sent, and ignores those it does not know', async (t) => {
    const service = await start(t);
    const form = { ...GRANT, scope: '', client_id: '', client_secret: '', audience: 'x', clientId: 'y' };
    const answer = await postForm(service, TOKEN, form, inHeader(service));
    assert.equal(bodyOf(answer).scope, 'employees:edit employees:view', answer.text);
  });

  it('is refused if a parameter is meant as scope but has another name, which would otherwise grant every scope', async (t) => {
    const service = await start(t);
    for (const name of ['scopes', 'scope[]', 'scopes[]', 'scope[0]', 'Scope']) {
      const form = { grant_type: 'client_credentials', [name]: 'employees:view', ...inBody(service) };
      assertOAuthError(
        await postForm(service, TOKEN, form),
        400,
        'invalid_request',
        /is not a parameter: name the scopes in scope/,
        null,
      );
    }
    assert.equal((await service.rows('SELECT 1 FROM access_token')).length, 0);
  });

  it('may declare a charset in which its bytes read as in UTF-8', async (t) => {
    const service = await start(t);
    for (const charset of ['ISO-8859-1', 'iso-8859-15', 'US-ASCII', 'ascii', 'windows-1252', 'latin1', '"cp1252"']) {
      const headers = { 'Content-Type': `application/x-www-form-urlencoded; charset=${charset}`, ...inHeader(service) };
      assert.equal((await postForm(service, TOKEN, GRANT, headers)).status, 200, charset);
      const json = { 'Content-Type': `application/json; charset=${charset}`, ...inHeader(service) };
      const granted = await postJson(service, TOKEN, { grantType: 'client_credentials' }, json);
      assert.equal(granted.status, 200, charset);
      const token = String(bodyOf(granted).access_token);
      const introspected = await postForm(
        service,
        INTROSPECT,
        { token },
        { ...headers, Authorization: `Bearer ${token}` },
      );
      // Its client may not introspect, but its body was read.
      assert.equal(introspected.status, 401, introspected.text);
      const notAscii = await postForm(service, TOKEN, 'grant_type=client_credentials&scope=\u00e9', headers);
      assertOAuthError(notAscii, 415, 'invalid_request', /charset must be UTF-8, because the body is not ASCII/, null);
    }
  });

  it('may declare the charset UTF-8', async (t) => {
    const service = await start(t);
    for (const charset of ['UTF-8', '"utf-8"', 'utf8']) {
      const headers = { 'Content-Type': `Application/X-WWW-Form-URLencoded; charset=${charset}`, ...inHeader(service) };
      assert.equal((await postForm(service, TOKEN, GRANT, headers)).status, 200);
    }
  });

  it('is refused for wrong credentials with 401, and with a challenge after HTTP Basic', async (t) => {
    const service = await start(t);
    const { clientId } = service.client;
    const posted = await postForm(service, TOKEN, { ...GRANT, client_id: clientId, client_secret: 'x' });
    assertOAuthError(posted, 401, 'invalid_client', /not valid/, null);
    const basicAnswer = await postForm(service, TOKEN, GRANT, basic(clientId, 'x'));
    assertOAuthError(basicAnswer, 401, 'invalid_client', /not valid/, /^Basic realm="sallyport"/);
    assert.equal(posted.text, basicAnswer.text);
  });

  it('is refused without credentials, or with those of another scheme, as an invalid client', async (t) => {
    const service = await start(t);
    const without = await postForm(service, TOKEN, GRANT);
    assertOAuthError(without, 401, 'invalid_client', /credentials are required/, /^Basic /);
    const bearer = await postForm(service, TOKEN, GRANT, { Authorization: 'Bearer abc' });
    assertOAuthError(bearer, 401, 'invalid_client', /only authentication scheme supported is Basic/, /^Basic /);
  });

  it('is granted with the client id of HTTP Basic in the body too', async (t) => {
    const service = await start(t);
    const form = { ...GRANT, client_id: service.client.clientId };
    const answer = await postForm(service, TOKEN, form, inHeader(service));
    assert.equal(bodyOf(answer).scope, 'employees:view', answer.text);
  });

  it('is refused for a client id in the body that differs from HTTP Basic', async (t) => {
    const service = await start(t);
    const other = await makeClient(service);
    for (const [headers, clientId] of [
      [inHeader(service), other.clientId],
      [basic(other.clientId, other.clientSecret), service.client.clientId],
      [inHeader(service), service.client.clientId.toUpperCase()],
    ] as const) {
      const answer = await postForm(service, TOKEN, { ...GRANT, client_id: clientId }, headers);
      assertOAuthError(answer, 400, 'invalid_request', /^client_id differs from the client id in the Auth/, null);
    }
    assert.equal((await service.rows('SELECT * FROM access_token')).length, 0);
  });

  it('is refused for a secret in two places, whether the same or another', async (t) => {
    const service = await start(t);
    const other = await makeClient(service);
    for (const headers of [inHeader(service), basic(other.clientId, other.clientSecret)]) {
      for (const form of [inBody(service), { client_secret: 'x' }]) {
        const answer = await postForm(service, TOKEN, { ...GRANT, ...form }, headers);
        assertOAuthError(answer, 400, 'invalid_request', /both in the Authorization header and in the body/, null);
      }
    }
    assert.equal((await service.rows('SELECT * FROM access_token')).length, 0);
  });

  it('is refused for HTTP Basic that is malformed', async (t) => {
    const service = await start(t);
    const { clientId, clientSecret } = service.client;
    const encode = (text: string | Uint8Array): string => `Basic ${Buffer.from(text).toString('base64')}`;
    for (const Authorization of [
      'Basic',
      'Basic !!!!',
      'Basic a b',
      encode(clientId),
      encode(`${clientId}:${clientSecret}%`),
      encode(`${clientId}:%zz`),
      encode(`${clientId}:%ff%fe`),
      encode(Buffer.from([...Buffer.from(`${clientId}:`), 0xff])),
      encode(`${clientId}:${'x'.repeat(8192)}`),
    ]) {
      const answer = await postForm(service, TOKEN, GRANT, { Authorization });
      assertOAuthError(answer, 400, 'invalid_request', /not Basic with a form-encoded/, null);
    }
  });

  for (const [what, form, status, error, says] of [
    ['no grant type', { grant_type: '' }, 400, 'invalid_request', /^grant_type is required$/],
    ['another grant type', { grant_type: 'authorization_code' }, 400, 'unsupported_grant_type', /client_credentials/],
    ['a foreign scope', { scope: 'users:manage' }, 400, 'invalid_scope', /'users:manage'/],
    ['a scope that cannot be quoted', { scope: '"\\\u{1f600}' }, 400, 'invalid_scope', /is not a scope name/],
    ['a body over 16 KiB', { padding: 'x'.repeat(16 * 1024) }, 413, 'invalid_request', /16384 bytes/],
  ] as const) {
    it(`is refused for ${what}`, async (t) => {
      const service = await start(t);
      const answer = await postForm(service, TOKEN, { ...GRANT, ...form }, inHeader(service));
      assertOAuthError(answer, status, error, says, null);
      assert.equal((await service.rows('SELECT * FROM access_token')).length, 0);
    });
  }

  it('is refused for a client id without a secret', async (t) => {
    const service = await start(t);
    const answer = await postForm(service, TOKEN, { ...GRANT, client_id: service.client.clientId });
    assertOAuthError(answer, 400, 'invalid_request', /^client_secret is required$/, null);
  });

  for (const [what, more] of [
    ['a parameter sent twice', '&scope=employees%3Aview'],
    ['a parameter that nobody knows sent twice', '&x=1&x=2'],
    ['an escape that is not UTF-8', '&x=%ff'],
    ['a broken escape', '&x=%2'],
  ] as const) {
    it(`is refused for ${what}`, async (t) => {
      const service = await start(t);
      const form = new URLSearchParams({ ...GRANT, ...inBody(service) }).toString() + more;
      assertOAuthError(await postForm(service, TOKEN, form), 400, 'invalid_request', /once|UTF-8/, null);
      assert.equal((await service.rows('SELECT * FROM access_token')).length, 0);
    });
  }

  it('is refused for another charset or a content coding, as a form', async (t) => {
    const service = await start(t);
    for (const headers of [
      { 'Content-Type': 'application/x-www-form-urlencoded;charset=UTF-16' },
      { 'Content-Encoding': 'gzip' },
    ]) {
      const answer = await postForm(service, TOKEN, { ...GRANT, ...inBody(service) }, headers);
      assertOAuthError(answer, 415, 'invalid_request', /charset|Content-Encoding/, null);
    }
  });

  onSqlite('is refused with server_error if the store fails', async (t) => {
    const service = await start(t);
    await execute(service, 'ALTER TABLE access_token RENAME TO access_token_away');
    const answer = await postForm(service, TOKEN, { ...GRANT, ...inBody(service) });
    assertOAuthError(answer, 500, 'server_error', /^failed to generate an access token$/, null);
  });

  it('does not take credentials from the query', async (t) => {
    const service = await start(t);
    const query = new URLSearchParams(inBody(service)).toString();
    const answer = await postForm(service, `${TOKEN}?${query}`, GRANT);
    assertOAuthError(answer, 401, 'invalid_client', /required/, /^Basic /);
    assert.ok(!service.logged.join('').includes(service.client.clientSecret));
  });
});

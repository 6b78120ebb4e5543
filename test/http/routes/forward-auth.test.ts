import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { COMMAND_LINE } from '../../../src/domain/acting.ts';
import { IDENTITY_HEADERS } from '../../../src/http/routes/forward-auth.ts';
import {
  type Answer,
  bodyOf,
  codeOf,
  connectRaw,
  FORWARD_AUTH,
  makeClient,
  type OAuthService,
  send,
  startOAuthService,
  type TestClient,
} from '../../support/oauth-service.ts';
import { tokenOf } from '../../support/services.ts';
import { execute, onSqlite } from '../../support/store.ts';

type Service = OAuthService & { readonly client: TestClient; readonly token: string };
type Headed = Readonly<Record<string, string>>;

const IDENTITY = IDENTITY_HEADERS;

async function start(t: TestContext, user: Headed | Record<string, unknown> = {}): Promise<Service> {
  const service = await startOAuthService(t);
  const rules = [
    { methods: ['GET'], path: '/shop/orders/{id}', scope: 'orders:view' },
    { methods: ['POST'], path: '/shop/orders', scope: 'orders:place' },
    { methods: ['GET'], path: '/shop/files/{path*}', scope: 'orders:view' },
    { methods: ['GET'], path: '/shop/refunds', scope: 'orders:view', permission: 'refunds' },
  ];
  const scopes = [{ name: 'orders:view' }, { name: 'orders:place' }];
  await service.products.create({ name: 'Shop', scopes, rules }, COMMAND_LINE);
  const client = await makeClient(service, ['orders:view'], { permissions: ['orders:view', 'orders:place'], ...user });
  return { ...service, client, token: await tokenOf(service, client.clientId, client.clientSecret) };
}

const traefik = (method: string, uri: string): Headed => ({ 'X-Forwarded-Method': method, 'X-Forwarded-Uri': uri });
const nginx = (method: string, uri: string): Headed => ({ 'X-Original-Method': method, 'X-Original-URI': uri });
const DIALECTS = [traefik, nginx];

/** Sends the token unless another `Authorization` is given. */
function ask({ origin, token }: Service, headers: Headed, method = 'GET'): Promise<Answer> {
  return send(origin + FORWARD_AUTH, { method, headers: { Authorization: `Bearer ${token}`, ...headers } });
}

function identity({ headers }: Answer): (string | null)[] {
  return IDENTITY.map((name) => headers.get(name));
}

const NOBODY = IDENTITY.map(() => '');

function assertRefused(answer: Answer, challenge: RegExp): void {
  assert.equal(answer.status, 401, answer.text);
  assert.match(answer.headers.get('www-authenticate') ?? '', challenge);
  assert.deepEqual(identity(answer), NOBODY);
}

const INSUFFICIENT_SCOPE = /^Bearer error="insufficient_scope"/;

describe('forward auth', () => {
  for (const dialect of DIALECTS) {
    const name = dialect === nginx ? 'nginx' : 'Traefik and Caddy';

    it(`accepts a call that a rule allows, and returns the caller (${name})`, async (t) => {
      const service = await start(t);
      const { clientId, user } = service.client;
      const answer = await ask(service, dialect('GET', '/shop/orders/7?sort=up&x=%2F'));
      assert.equal(answer.status, 200);
      assert.equal(answer.text, '');
      assert.equal(answer.headers.get('cache-control'), 'no-store');
      const permissions = 'orders:place orders:view';
      assert.deepEqual(identity(answer), [clientId, '', user.id, user.userName, 'orders:view', permissions]);
    });

    it(`refuses a token without the scope, naming the one needed (${name})`, async (t) => {
      const answer = await ask(await start(t), dialect('POST', '/shop/orders'));
      assertRefused(answer, /^Bearer error="insufficient_scope", scope="orders:place", /);
      assert.equal(codeOf(answer), 'insufficient_scope');
    });

    it(`refuses a user without the permission (${name})`, async (t) => {
      const answer = await ask(await start(t), dialect('GET', '/shop/refunds'));
      assertRefused(answer, /^Bearer error="insufficient_permission"/);
    });

    it(`refuses requests without a rule, including other methods and other spellings of methods (${name})`, async (t) => {
      const service = await start(t);
      for (const [method, uri] of [
        ['GET', '/shop/unknown'],
        ['GET', '/'],
        ['GET', '/shop/orders'],
        ['GET', '/shop/orders/7/'],
        ['GET', '/Shop/orders/7'],
        ['DELETE', '/shop/orders/7'],
        ['get', '/shop/orders/7'],
        ['GET, GET', '/shop/orders/7'],
        ['*', '/shop/orders/7'],
        ['', '/shop/orders/7'],
        ['constructor', '/shop/orders/7'],
      ] as const) {
        assertRefused(await ask(service, dialect(method, uri)), INSUFFICIENT_SCOPE);
      }
    });

    it(`refuses an ambiguous path (${name})`, async (t) => {
      const service = await start(t);
      for (const uri of [
        '/shop/files/../refunds',
        '/shop/files/%2e%2e/refunds',
        '/shop/files/..%2frefunds',
        '/shop/files/%252e%252e/refunds',
        '/shop/files/./a',
        '/shop//files/a',
        '//shop/files/a',
        '/shop/files/a;b',
        '/shop/files/a\\b',
        '/shop/files/%',
        '/shop/files/%ff',
        '/shop/files/a%00',
        '/shop/files/a#b',
        '/shop/files/a b',
        'shop/files/a',
        'http://other.test/shop/files/a',
        '',
      ]) {
        assertRefused(await ask(service, dialect('GET', uri)), INSUFFICIENT_SCOPE);
      }
    });

    it(`distinguishes a target that is too long from a missing scope (${name})`, async (t) => {
      const service = await start(t);
      const longest = `/shop/files/${'a'.repeat(8192 - '/shop/files/'.length)}`;
      assert.equal((await ask(service, dialect('GET', longest))).status, 200);
      const answer = await ask(service, dialect('GET', `${longest}a`));
      assertRefused(answer, /^Bearer error="invalid_request", error_description="[^"]* longer than 8192 bytes"$/);
      assert.equal(codeOf(answer), 'unauthorized');
    });

    it(`refuses requests without a valid token first (${name})`, async (t) => {
      const service = await start(t);
      for (const [Authorization, challenge] of [
        ['', /^Bearer error="invalid_token"/],
        ['Basic eDp5', /^Bearer error="invalid_token"/],
        [`Bearer ${service.token.slice(0, -1)}`, /^Bearer error="invalid_token"/],
        [`Bearer ${service.token} x`, /^Bearer error="invalid_token"/],
        [`Bearer ${'x'.repeat(8192)}`, /^Bearer error="invalid_token"/],
      ] as const) {
        for (const uri of ['/shop/orders/7', '/shop/../x']) {
          assertRefused(await ask(service, { ...dialect('GET', uri), Authorization }), challenge);
        }
      }
      const bare = await send(service.origin + FORWARD_AUTH, { headers: dialect('GET', '/shop/orders/7') });
      assertRefused(bare, /^Bearer$/);
      service.advance(3_600_000);
      assertRefused(await ask(service, dialect('GET', '/shop/orders/7')), /error="invalid_token"/);
    });

    it(`refuses incomplete headers (${name})`, async (t) => {
      const service = await start(t);
      for (const [name, value] of Object.entries(dialect('GET', '/shop/orders/7'))) {
        assertRefused(await ask(service, { [name]: value }), INSUFFICIENT_SCOPE);
        // Headers of the other family from the client do not complete it.
        const other = dialect === nginx ? traefik : nginx;
        assertRefused(await ask(service, { [name]: value, ...other('GET', '/shop/orders/7') }), INSUFFICIENT_SCOPE);
      }
    });
  }

  it('refuses a request without these headers', async (t) => {
    assertRefused(await ask(await start(t), {}), INSUFFICIENT_SCOPE);
  });

  it('refuses headers that contradict each other, and accepts headers that agree', async (t) => {
    const service = await start(t);
    const good = '/shop/orders/7';
    assert.equal((await ask(service, { ...traefik('GET', good), ...nginx('GET', good) })).status, 200);
    for (const other of [nginx('GET', '/shop/orders/8'), nginx('HEAD', good), nginx('GET', `${good}?a`)]) {
      assertRefused(await ask(service, { ...traefik('GET', good), ...other }), INSUFFICIENT_SCOPE);
    }
  });

  it('answers every method, and reads a HEAD request by the rules for GET', async (t) => {
    const service = await start(t);
    for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND']) {
      const answer = await ask(service, traefik('HEAD', '/shop/orders/7'), method);
      assert.equal(answer.status, 200, method);
      assert.equal(answer.headers.get('x-auth-user-id'), service.client.user.id);
    }
    const refused = await ask(service, traefik('POST', '/shop/orders'), 'HEAD');
    assertRefused(refused, INSUFFICIENT_SCOPE);
    assert.equal(refused.text, '');
  });

  it('decides again for every request', async (t) => {
    const service = await start(t);
    const headers = traefik('GET', '/shop/orders/7');
    assert.equal((await ask(service, headers)).status, 200);
    assertRefused(await ask(service, traefik('POST', '/shop/orders')), INSUFFICIENT_SCOPE);
    assert.equal((await ask(service, headers)).status, 200);
    await service.users.patch(service.client.user.id, { permissions: [] }, COMMAND_LINE);
    assertRefused(await ask(service, headers), /insufficient_permission/);
    await service.applications.revokeTokens(service.client.applicationId, COMMAND_LINE);
    assertRefused(await ask(service, headers), /invalid_token/);
  });

  it('encodes names in any script reversibly in one header', async (t) => {
    const userName = 'jörg,100%,\u{1f600}"';
    const service = await start(t, { userName });
    const answer = await ask(service, traefik('GET', '/shop/orders/7'));
    const sent = answer.headers.get('x-auth-user-name') ?? '';
    assert.equal(sent, 'j%C3%B6rg%2C100%25%2C%F0%9F%98%80"');
    assert.equal(decodeURIComponent(sent), userName);
  });

  it('overwrites forged headers, and refuses forged headers that no proxy would overwrite', async (t) => {
    const service = await start(t);
    const headers = traefik('GET', '/shop/orders/7');
    const forged = await ask(service, { ...headers, 'X-Auth-User-Id': 'admin', 'x-auth-scope': 'all' });
    assert.equal(forged.headers.get('x-auth-user-id'), service.client.user.id);
    assert.equal(forged.headers.get('x-auth-scope'), 'orders:view');
    // The characters of a header name that CGI servers fold (RFC 9110 §5.6.2).
    for (const character of "_!#$%&'*+.^`|~") {
      for (const name of ['X-FORWARDED-URI', 'X-Original-Method', ...IDENTITY_HEADERS]) {
        const all = name.replaceAll('-', character);
        const last = name.replace(/-(?=[^-]*$)/, () => character);
        for (const alias of [all, last])
          assertRefused(await ask(service, { ...headers, [alias]: 'x' }), INSUFFICIENT_SCOPE);
      }
      assert.equal((await ask(service, { ...headers, [`X${character}Other`]: 'x' })).status, 200);
    }
  });

  it('refuses a header that is sent twice', async (t) => {
    const service = await start(t);
    const lines = Object.entries(traefik('GET', '/shop/orders/7')).map(([name, value]) => `${name}: ${value}`);
    const authorization = `Authorization: Bearer ${service.token}`;
    for (const twice of [lines[0], lines[1], authorization]) {
      const connection = await connectRaw(service);
      const all = [`GET ${FORWARD_AUTH} HTTP/1.1`, 'Host: x', authorization, ...lines, twice, 'Connection: close'];
      connection.write(`${all.join('\r\n')}\r\n\r\n`);
      const text = await connection.closed();
      assert.match(text, /^HTTP\/1\.1 401 /);
      for (const name of IDENTITY) assert.match(text, new RegExp(`\r\n${name}: *\r\n`, 'i'));
    }
  });

  onSqlite('answers internal errors with 500, or with 401 for nginx, and accepts no request', async (t) => {
    const service = await start(t);
    await execute(service, 'ALTER TABLE access_token RENAME TO access_token_away');
    const fault = await ask(service, traefik('GET', '/shop/orders/7'));
    assert.equal(fault.status, 500);
    assert.equal(codeOf(fault), 'server_error');
    assert.deepEqual(identity(fault), NOBODY);
    const answer = await ask(service, nginx('GET', '/shop/orders/7'));
    assertRefused(answer, /^Bearer$/);
    const { errorId } = bodyOf(answer).error as { errorId: string };
    assert.ok(service.logged.some((line) => line.includes(errorId) && line.includes('request failed')));
  });
});

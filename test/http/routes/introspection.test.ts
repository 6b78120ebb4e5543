import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { COMMAND_LINE } from '../../../src/domain/acting.ts';
import { mintToken, tokenRowKey } from '../../../src/domain/credential.ts';
import { randomBytes } from '../../../src/kernel/ids.ts';
import {
  type Answer,
  basic,
  bodyOf,
  codeOf,
  INTROSPECT,
  makeClient,
  type OAuthService,
  postForm,
  postJson,
  startOAuthService,
  type TestClient,
} from '../../support/oauth-service.ts';
import { tokenOf } from '../../support/services.ts';

/** `asker` may introspect; `token` is `holder`'s. */
type Service = OAuthService & { readonly asker: TestClient; readonly holder: TestClient; readonly token: string };

async function start(t: TestContext): Promise<Service> {
  const service = await startOAuthService(t);
  const asker = await makeClient(service, ['tokens:introspect']);
  const holder = await makeClient(service, ['employees:view', 'employees:edit'], { userName: 'jörg' });
  return { ...service, asker, holder, token: await tokenOf(service, holder.clientId, holder.clientSecret) };
}

function headersOf({ clientId, clientSecret }: TestClient): { readonly Authorization: string } {
  return basic(clientId, clientSecret);
}

function ask(service: Service, token: string): Promise<Answer> {
  return postForm(service, INTROSPECT, { token }, headersOf(service.asker));
}

async function assertInactive(service: Service, token = service.token): Promise<void> {
  const answer = await ask(service, token);
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.text, '{"active":false}');
}

describe('introspection', () => {
  it('shows the rights of a valid token', async (t) => {
    const service = await start(t);
    const answer = await ask(service, service.token);
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get('content-type'), 'application/json;charset=UTF-8');
    assert.equal(answer.headers.get('cache-control'), 'no-store');
    const issuedAt = service.clock() / 1000;
    assert.deepEqual(bodyOf(answer), {
      active: true,
      scope: 'employees:edit employees:view',
      client_id: service.holder.clientId,
      username: 'jörg',
      token_type: 'Bearer',
      exp: issuedAt + 3600,
      iat: issuedAt,
      sub: service.holder.user.id,
      jti: String(tokenRowKey(service.token)),
      iss: service.origin,
      aud: service.origin,
      permissions: ['employees:edit', 'employees:view'],
      constraints: {},
    });
    await service.users.patch(
      service.holder.user.id,
      { permissions: ['employees:view'], constraints: { divisions: ['sales'] } },
      COMMAND_LINE,
    );
    const { permissions, constraints } = bodyOf(await ask(service, service.token));
    assert.deepEqual([permissions, constraints], [['employees:view'], { divisions: ['sales'] }]);
  });

  it('accepts credentials by Basic, in the body, or as a bearer token, in both formats', async (t) => {
    const service = await start(t);
    const { asker, token } = service;
    const { clientId, clientSecret } = asker;
    const bearer = { Authorization: `Bearer ${await tokenOf(service, clientId, clientSecret)}` };
    const answers = [
      await postForm(service, INTROSPECT, { token, client_id: clientId, client_secret: clientSecret }),
      await postForm(service, INTROSPECT, { token, token_type_hint: 'refresh_token' }, bearer),
      await postJson(service, INTROSPECT, { token }, bearer),
      await postJson(service, INTROSPECT, { token }, headersOf(asker)),
      await postJson(service, INTROSPECT, { token, clientId, clientSecret, more: 1 }),
    ];
    for (const answer of answers) assert.equal(bodyOf(answer).active, true, answer.text);
  });

  it('only says that a token is not active, for any reason', async (t) => {
    const service = await start(t);
    const { token } = service;
    const last = token.at(-1) === 'A' ? 'B' : 'A';
    for (const text of ['x', token.slice(0, -1), token.slice(0, -1) + last, `${token} `, 'é', 'x'.repeat(8192)]) {
      await assertInactive(service, text);
    }
    await assertInactive(service, service.holder.clientSecret);
  });

  it('does not accept a token of another database with the same row', async (t) => {
    const service = await start(t);
    await assertInactive(service, mintToken(tokenRowKey(service.token) ?? 0, randomBytes));
  });

  it('says that an expired token is not active', async (t) => {
    const service = await start(t);
    service.advance(3_600_000 - 1);
    assert.equal(bodyOf(await ask(service, service.token)).active, true);
    service.advance(1);
    await assertInactive(service);
  });

  it('says so after its application or user was disabled', async (t) => {
    const service = await start(t);
    const { applicationId } = service.holder;
    await service.applications.patch(applicationId, { active: false }, COMMAND_LINE);
    await assertInactive(service);
    await service.applications.patch(applicationId, { active: true }, COMMAND_LINE);
    await assertInactive(service);
    const { clientId, clientSecret, user } = service.holder;
    const token = await tokenOf(service, clientId, clientSecret);
    await service.users.patch(user.id, { active: false }, COMMAND_LINE);
    await assertInactive(service, token);
  });

  it('refuses an application without the scope, or whose user lacks the permission', async (t) => {
    const service = await start(t);
    const powerless = await makeClient(service, ['tokens:introspect'], { permissions: [] });
    for (const [client, error] of [
      [service.holder, 'insufficient_scope'],
      [powerless, 'insufficient_permission'],
    ] as const) {
      const { clientId, clientSecret } = client;
      const bearer = { Authorization: `Bearer ${await tokenOf(service, clientId, clientSecret)}` };
      const seen = new Set<string>();
      for (const token of [service.token, 'x', '']) {
        for (const headers of [headersOf(client), bearer]) {
          const answer = await postForm(service, INTROSPECT, { token }, headers);
          assert.equal(answer.status, 401);
          assert.equal(bodyOf(answer).error, error);
          const challenge = answer.headers.get('www-authenticate') ?? '';
          assert.match(challenge, new RegExp(`^Bearer error="${error}"`));
          if (error === 'insufficient_scope') assert.match(challenge, / scope="tokens:introspect", /);
          seen.add(answer.text);
        }
        const json = await postJson(service, INTROSPECT, { token }, bearer);
        assert.equal(json.status, 401);
        assert.equal(codeOf(json), error);
      }
      assert.equal(seen.size, 1);
    }
  });

  it('refuses a token without the scope, even if the application has it', async (t) => {
    const service = await start(t);
    const client = await makeClient(service, ['tokens:introspect', 'employees:view']);
    const known = await service.tokens.authenticate(client);
    const { accessToken } = await service.tokens.issue(known, 'employees:view');
    const headers = { Authorization: `Bearer ${accessToken}` };
    const answer = await postForm(service, INTROSPECT, { token: service.token }, headers);
    assert.equal(answer.status, 401);
    assert.equal(bodyOf(answer).error, 'insufficient_scope');
  });

  it('refuses callers without authentication', async (t) => {
    const service = await start(t);
    const { token, asker } = service;
    const anonymous = await postForm(service, INTROSPECT, { token });
    assert.equal(anonymous.status, 401);
    assert.equal(bodyOf(anonymous).error, 'invalid_client');
    for (const [headers, challenge] of [
      [basic(asker.clientId, 'wrong'), /^Basic /],
      [{ Authorization: 'Bearer x' }, /^Bearer error="invalid_token"/],
      [{ Authorization: 'Bearer' }, /^Bearer error="invalid_token"/],
      [{ Authorization: 'Negotiate x' }, /^Basic /],
    ] as const) {
      const answer = await postForm(service, INTROSPECT, { token }, headers);
      assert.equal(answer.status, 401);
      assert.match(answer.headers.get('www-authenticate') ?? '', challenge);
      assert.ok(!answer.text.includes('active'));
    }
    const both = { token, client_id: asker.clientId, client_secret: asker.clientSecret };
    assert.equal((await postForm(service, INTROSPECT, both, { Authorization: `Bearer ${token}` })).status, 400);
    assert.equal((await postForm(service, INTROSPECT, both, headersOf(asker))).status, 400);
  });

  it('requires the token exactly once', async (t) => {
    const service = await start(t);
    const headers = headersOf(service.asker);
    const none = await postForm(service, INTROSPECT, {}, headers);
    assert.equal(none.status, 400);
    assert.deepEqual(bodyOf(none), { error: 'invalid_request', error_description: 'token is required' });
    assert.equal((await postForm(service, INTROSPECT, 'token=a&token=b', headers)).status, 400);
    assert.equal(codeOf(await postJson(service, INTROSPECT, { token: 7 }, headers)), 'invalid_request');
  });
});

import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import {
  basic,
  bodyOf,
  codeOf,
  makeClient,
  type OAuthService,
  postForm,
  postJson,
  REVOKE,
  startOAuthService,
  type TestClient,
} from '../../support/oauth-service.ts';
import { tokenOf } from '../../support/services.ts';
import { execute, onSqlite } from '../../support/store.ts';

type Service = OAuthService & { readonly client: TestClient; readonly token: string };

async function start(t: TestContext): Promise<Service> {
  const service = await startOAuthService(t);
  const client = await makeClient(service);
  return { ...service, client, token: await tokenOf(service, client.clientId, client.clientSecret) };
}

function headersOf({ clientId, clientSecret }: TestClient): { readonly Authorization: string } {
  return basic(clientId, clientSecret);
}

async function isActive({ tokens }: Service, token: string): Promise<boolean> {
  return (await tokens.introspect(token)).active;
}

describe('revocation', () => {
  it('ends only the given token of the client, immediately', async (t) => {
    const service = await start(t);
    const { client, token } = service;
    const other = await tokenOf(service, client.clientId, client.clientSecret);
    const answer = await postForm(service, REVOKE, { token, token_type_hint: 'access_token' }, headersOf(client));
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get('content-type'), 'application/json;charset=UTF-8');
    assert.equal(answer.text, '{}');
    assert.equal(await isActive(service, token), false);
    assert.equal(await isActive(service, other), true);
  });

  it('accepts JSON and credentials in the body too', async (t) => {
    const service = await start(t);
    const { clientId, clientSecret } = service.client;
    for (const revoke of [
      (token: string) => postJson(service, REVOKE, { token, clientId, clientSecret }),
      (token: string) => postForm(service, REVOKE, { token, client_id: clientId, client_secret: clientSecret }),
    ]) {
      const token = await tokenOf(service, clientId, clientSecret);
      assert.equal((await revoke(token)).status, 200);
      assert.equal(await isActive(service, token), false);
    }
  });

  it('answers 200 for an invalid token, and changes nothing', async (t) => {
    const service = await start(t);
    const before = await service.rows('SELECT * FROM access_token');
    const { token } = service;
    for (const text of ['x', 'é', 'x'.repeat(8192), token.slice(0, -1), `${token}x`, service.client.clientSecret]) {
      assert.equal((await postForm(service, REVOKE, { token: text }, headersOf(service.client))).status, 200);
    }
    assert.deepEqual(await service.rows('SELECT * FROM access_token'), before);
  });

  it('answers 200 a second time', async (t) => {
    const service = await start(t);
    for (let time = 0; time < 2; time += 1) {
      const answer = await postForm(service, REVOKE, { token: service.token }, headersOf(service.client));
      assert.equal(answer.status, 200);
    }
  });

  it('does not revoke or reveal the token of another client', async (t) => {
    const service = await start(t);
    const stranger = await makeClient(service);
    const answer = await postForm(service, REVOKE, { token: service.token }, headersOf(stranger));
    assert.equal(answer.status, 200);
    assert.equal(answer.text, '{}');
    assert.equal(await isActive(service, service.token), true);
  });

  it('requires authentication', async (t) => {
    const service = await start(t);
    const { token, client } = service;
    for (const [headers, status] of [
      [{}, 401],
      [basic(client.clientId, 'wrong'), 401],
      [{ Authorization: `Bearer ${token}` }, 401],
    ] as const) {
      const answer = await postForm(service, REVOKE, { token }, headers);
      assert.equal(answer.status, status);
      assert.equal(bodyOf(answer).error, 'invalid_client');
    }
    const json = await postJson(service, REVOKE, { token, clientId: client.clientId, clientSecret: 'wrong' });
    assert.equal(json.status, 400);
    assert.equal(codeOf(json), 'invalid_client');
    assert.equal(await isActive(service, token), true);
  });

  it('requires the token', async (t) => {
    const service = await start(t);
    const answer = await postForm(service, REVOKE, {}, headersOf(service.client));
    assert.equal(answer.status, 400);
    assert.deepEqual(bodyOf(answer), { error: 'invalid_request', error_description: 'token is required' });
  });

  onSqlite('never answers 200 if the store failed', async (t) => {
    const service = await start(t);
    const { client, token } = service;
    await execute(service, 'ALTER TABLE access_token RENAME TO access_token_away');
    const form = await postForm(service, REVOKE, { token }, headersOf(client));
    assert.equal(form.status, 500);
    assert.equal(bodyOf(form).error, 'server_error');
    const json = await postJson(service, REVOKE, { token }, headersOf(client));
    assert.equal(json.status, 500);
    assert.equal(codeOf(json), 'server_error');
    await execute(service, 'ALTER TABLE access_token_away RENAME TO access_token');
    assert.equal(await isActive(service, token), true);
  });
});

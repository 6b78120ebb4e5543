import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { describe, it, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';
import {
  makeClient,
  type OAuthService,
  REVOKE,
  startOAuthService,
  type TestClient,
  TOKEN,
} from '../../support/oauth-service.ts';
import { lacking } from '../../support/programs.ts';

type Service = OAuthService & { readonly client: TestClient };

/** A client that may use all endpoints. */
async function start(t: TestContext): Promise<Service> {
  const service = await startOAuthService(t);
  return { ...service, client: await makeClient(service, ['employees:view', 'tokens:introspect']) };
}

describe('oauth4webapi', () => {
  const insecure = { [oauth.allowInsecureRequests]: true };

  async function discover({ origin }: Service): Promise<oauth.AuthorizationServer> {
    const issuer = new URL(origin);
    const response = await oauth.discoveryRequest(issuer, { ...insecure, algorithm: 'oauth2' });
    return oauth.processDiscoveryResponse(issuer, response);
  }

  for (const [method, authenticate] of [
    ['client_secret_basic', oauth.ClientSecretBasic],
    ['client_secret_post', oauth.ClientSecretPost],
  ] as const) {
    it(`discovers, gets a token, introspects and revokes it (${method})`, async (t) => {
      const service = await start(t);
      const server = await discover(service);
      assert.ok(server.token_endpoint_auth_methods_supported?.includes(method));
      const client = { client_id: service.client.clientId };
      const authentication = authenticate(service.client.clientSecret);

      const parameters = { scope: 'employees:view' };
      const granted = await oauth.clientCredentialsGrantRequest(server, client, authentication, parameters, insecure);
      const { access_token: token, ...rest } = await oauth.processClientCredentialsResponse(server, client, granted);
      assert.deepEqual(rest, { expires_in: 3600, scope: 'employees:view', token_type: 'bearer' });

      const introspect = async (): Promise<oauth.IntrospectionResponse> => {
        const response = await oauth.introspectionRequest(server, client, authentication, token, insecure);
        return oauth.processIntrospectionResponse(server, client, response);
      };
      assert.equal((await introspect()).active, true);
      const revoked = await oauth.revocationRequest(server, client, authentication, token, insecure);
      await oauth.processRevocationResponse(revoked);
      assert.deepEqual(await introspect(), { active: false });
    });
  }

  it('understands the refusal of a wrong secret and of a foreign scope', async (t) => {
    const service = await start(t);
    const server = await discover(service);
    const client = { client_id: service.client.clientId };
    const ask = async (authentication: oauth.ClientAuth, scope: string): Promise<unknown> => {
      const response = await oauth.clientCredentialsGrantRequest(server, client, authentication, { scope }, insecure);
      return oauth.processClientCredentialsResponse(server, client, response).catch((error: unknown) => error);
    };
    const posted = await ask(oauth.ClientSecretPost('wrong'), 'employees:view');
    assert.ok(posted instanceof oauth.ResponseBodyError);
    assert.equal(posted.error, 'invalid_client');
    const challenged = await ask(oauth.ClientSecretBasic('wrong'), 'employees:view');
    assert.ok(challenged instanceof oauth.WWWAuthenticateChallengeError);
    assert.equal(challenged.cause[0]?.scheme, 'basic');
    const foreign = await ask(oauth.ClientSecretPost(service.client.clientSecret), 'users:manage');
    assert.ok(foreign instanceof oauth.ResponseBodyError);
    assert.equal(foreign.error, 'invalid_scope');
  });
});

describe('openid-client', () => {
  for (const [method, authenticate] of [
    ['client_secret_basic', openid.ClientSecretBasic],
    ['client_secret_post', openid.ClientSecretPost],
  ] as const) {
    it(`discovers, gets a token, introspects and revokes it (${method})`, async (t) => {
      const { origin, client } = await start(t);
      const { clientId, clientSecret } = client;
      const configuration = await openid.discovery(new URL(origin), clientId, undefined, authenticate(clientSecret), {
        algorithm: 'oauth2',
        execute: [openid.allowInsecureRequests],
      });
      assert.equal(configuration.serverMetadata().issuer, origin);
      const token = await openid.clientCredentialsGrant(configuration, { scope: 'employees:view' });
      assert.equal(token.scope, 'employees:view');
      // The remaining whole seconds.
      const left = token.expiresIn() ?? 0;
      assert.ok(left > 3500 && left <= 3600, `${left}`);
      assert.equal((await openid.tokenIntrospection(configuration, token.access_token)).client_id, clientId);
      await openid.tokenRevocation(configuration, token.access_token);
      assert.equal((await openid.tokenIntrospection(configuration, token.access_token)).active, false);
    });
  }
});

/** The parts of simple-oauth2 that the tests use; it has no types. */
type SimpleOAuth2 = {
  readonly ClientCredentials: new (
    options: unknown,
  ) => {
    getToken(parameters: { scope?: string[] }): Promise<{
      token: Record<string, unknown>;
      expired(): boolean;
      revoke(tokenType: 'access_token'): Promise<void>;
    }>;
  };
};

describe('simple-oauth2', () => {
  const { ClientCredentials } = createRequire(import.meta.url)('simple-oauth2') as SimpleOAuth2;

  for (const bodyFormat of ['form', 'json']) {
    for (const authorizationMethod of ['header', 'body']) {
      it(`gets a token and revokes it (${bodyFormat}, credentials in the ${authorizationMethod})`, async (t) => {
        const { origin, client, tokens } = await start(t);
        const credentials = new ClientCredentials({
          client: { id: client.clientId, secret: client.clientSecret },
          auth: { tokenHost: origin, tokenPath: TOKEN, revokePath: REVOKE },
          options: { bodyFormat, authorizationMethod },
        });
        const { token } = await credentials.getToken({ scope: ['employees:view', 'tokens:introspect'] });
        assert.equal(token.token_type, 'Bearer');
        assert.equal(token.scope, 'employees:view tokens:introspect');
        const all = await credentials.getToken({});
        assert.equal(all.token.scope, 'employees:view tokens:introspect');
        assert.equal(all.expired(), false);
        await all.revoke('access_token');
        assert.deepEqual(await tokens.introspect(String(all.token.access_token)), { active: false });
      });
    }
  }
});

describe('curl', { skip: lacking('curl') }, () => {
  const run = promisify(execFile);
  const curl = async (...options: string[]): Promise<Record<string, unknown>> =>
    JSON.parse((await run('curl', ['--silent', '--fail', ...options])).stdout) as Record<string, unknown>;

  it('gets a token as a form, with HTTP Basic', async (t) => {
    const { origin, client } = await start(t);
    const user = `${client.clientId}:${client.clientSecret}`;
    const answer = await curl('--user', user, '--data', 'grant_type=client_credentials', origin + TOKEN);
    assert.equal(answer.scope, 'employees:view tokens:introspect');
  });

  it('gets a token as a form, with HTTP Basic and its client id in the body', async (t) => {
    const { origin, client } = await start(t);
    const user = `${client.clientId}:${client.clientSecret}`;
    const form = `grant_type=client_credentials&client_id=${client.clientId}`;
    const answer = await curl('--user', user, '--data', form, origin + TOKEN);
    assert.equal(answer.scope, 'employees:view tokens:introspect');
  });

  it('gets a token in JSON', async (t) => {
    const { origin, client } = await start(t);
    const { clientId, clientSecret } = client;
    const body = JSON.stringify({ clientId, clientSecret, grantType: 'client_credentials', scope: 'employees:view' });
    const answer = await curl('--header', 'Content-Type: application/json', '--data', body, origin + TOKEN);
    assert.equal(answer.scope, 'employees:view');
  });
});

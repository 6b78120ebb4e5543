import assert from 'node:assert/strict';
import { it } from 'node:test';
import { BUILT_IN_SCOPES } from '../../../src/access/built-in.ts';
import { COMMAND_LINE } from '../../../src/domain/acting.ts';
import type { Call } from '../../../src/http/route.ts';
import { discoveryRoutes } from '../../../src/http/routes/discovery.ts';
import { bodyOf, send, startOAuthService } from '../../support/oauth-service.ts';

const PATH = '/.well-known/oauth-authorization-server';

it('the metadata names the issuer, its endpoints and their parameters', async (t) => {
  const { origin } = await startOAuthService(t);
  const answer = await send(origin + PATH, {});
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get('content-type'), 'application/json;charset=UTF-8');
  assert.deepEqual(bodyOf(answer), {
    issuer: origin,
    token_endpoint: `${origin}/services/api/oauth2/token`,
    introspection_endpoint: `${origin}/services/api/oauth2/introspect`,
    revocation_endpoint: `${origin}/services/api/oauth2/revoke`,
    scopes_supported: [...BUILT_IN_SCOPES].sort(),
    response_types_supported: ['none'],
    grant_types_supported: ['client_credentials'],
    token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
    introspection_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'Bearer'],
    revocation_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
  });
});

it('the metadata has the scopes of the catalogue as it is now', async (t) => {
  const service = await startOAuthService(t);
  const known = async (): Promise<unknown> => bodyOf(await send(service.origin + PATH, {})).scopes_supported;
  const scopes = [{ name: 'things:see' }, { name: 'a:b' }];
  const { id } = await service.products.create({ name: 'Things', scopes }, COMMAND_LINE);
  assert.deepEqual(await known(), [...BUILT_IN_SCOPES, 'a:b', 'things:see'].sort());
  await service.products.remove(id, COMMAND_LINE);
  assert.deepEqual(await known(), [...BUILT_IN_SCOPES].sort());
});

it('the metadata is served without reading the database', async (t) => {
  const service = await startOAuthService(t);
  const all = t.mock.method(service.store.products, 'all');
  assert.equal((await send(service.origin + PATH, {})).status, 200);
  assert.equal(all.mock.callCount(), 0);
});

it('the issuer is given to the letter, and no endpoint has a double slash for one at its end', async (t) => {
  const { products } = await startOAuthService(t);
  const [route] = discoveryRoutes({ issuer: () => 'https://Example.com/gate/', products });
  const reply = await route?.respond({} as Call);
  const { issuer, token_endpoint: endpoint } = (reply?.body ?? {}) as Record<string, unknown>;
  assert.equal(issuer, 'https://Example.com/gate/');
  assert.equal(endpoint, 'https://Example.com/gate/services/api/oauth2/token');
});

it('the metadata is read only, and takes no query', async (t) => {
  const { origin } = await startOAuthService(t);
  const posted = await send(origin + PATH, { method: 'POST' });
  assert.equal(posted.status, 405);
  assert.equal(posted.headers.get('allow'), 'GET, HEAD');
  assert.equal((await send(`${origin + PATH}?a=1`, {})).status, 400);
  const head = await send(origin + PATH, { method: 'HEAD' });
  assert.equal(head.status, 200);
  assert.equal(head.text, '');
});

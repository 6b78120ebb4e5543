import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { CLIENT_FAILURES_MAX, FAILURE_WINDOW_MS, NETWORK_FAILURES_MAX } from '../../../src/domain/throttle.ts';
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
  REVOKE,
  startOAuthService,
  type TestClient,
  TOKEN,
} from '../../support/oauth-service.ts';
import { repeatsInSlowTier } from '../../support/repeats.ts';
import { execute, onSqlite } from '../../support/store.ts';

repeatsInSlowTier('postgres');

type Service = OAuthService & { readonly client: TestClient };

async function start(t: TestContext): Promise<Service> {
  const service = await startOAuthService(t);
  return { ...service, client: await makeClient(service) };
}

type Credentials = Pick<TestClient, 'clientId' | 'clientSecret'>;

/** Headers of the trusted proxy of the tests for a client at `from`. */
function ask(service: OAuthService, { clientId, clientSecret }: Credentials, from = '203.0.113.1'): Promise<Answer> {
  const body = { clientId, clientSecret, grantType: 'client_credentials' };
  return postJson(service, TOKEN, body, { 'X-Forwarded-For': from });
}

/** A number of failures in sequence. `clientIdOf`: the client of each. */
async function fail(
  service: OAuthService,
  clientIdOf: (at: number) => string,
  times: number,
  from?: string,
): Promise<void> {
  for (let at = 0; at < times; at += 1) {
    const answer = await ask(service, { clientId: clientIdOf(at), clientSecret: 'wrong' }, from);
    assert.equal(codeOf(answer), 'invalid_client', `try ${at + 1}`);
  }
}

describe('after ten failures in a minute of one client id from one address', () => {
  it('even the right secret gets 429 from there until the minute ends', async (t) => {
    const service = await start(t);
    const { client } = service;
    await fail(service, () => client.clientId, CLIENT_FAILURES_MAX);
    service.advance(20_500);
    const refused = await ask(service, client);
    assert.equal(refused.status, 429);
    assert.equal(codeOf(refused), 'too_many_requests');
    assert.equal(refused.headers.get('retry-after'), '40');
    assert.equal((await service.rows('SELECT * FROM access_token')).length, 0);
    service.advance(FAILURE_WINDOW_MS - 20_501);
    assert.equal((await ask(service, client)).headers.get('retry-after'), '1');
    service.advance(1);
    assert.equal((await ask(service, client)).status, 200);
  });

  it('the client may authenticate from elsewhere, and others from there', async (t) => {
    const service = await start(t);
    const neighbour = await makeClient(service);
    await fail(service, () => service.client.clientId, CLIENT_FAILURES_MAX);
    for (let more = 0; more < NETWORK_FAILURES_MAX; more += 1) {
      assert.equal((await ask(service, service.client)).status, 429);
    }
    assert.equal((await ask(service, service.client, '203.0.113.2')).status, 200);
    assert.equal((await ask(service, neighbour)).status, 200);
  });

  it('the same applies to an unknown client id', async (t) => {
    const service = await start(t);
    await fail(service, () => 'nobody', CLIENT_FAILURES_MAX);
    assert.equal((await ask(service, { clientId: 'nobody', clientSecret: 'wrong' })).status, 429);
  });

  it('the same applies to every endpoint with credentials, in both formats', async (t) => {
    const service = await start(t);
    const { clientId, clientSecret } = service.client;
    const headers = { 'X-Forwarded-For': '203.0.113.1' };
    const wrong = { client_id: clientId, client_secret: 'wrong', grant_type: 'client_credentials', token: 'x' };
    for (const path of [TOKEN, INTROSPECT, REVOKE, TOKEN, INTROSPECT]) {
      assert.equal((await postForm(service, path, wrong, headers)).status, 401);
      assert.equal((await postJson(service, path, wrong, headers)).status, 400);
    }
    const right = { ...wrong, client_secret: clientSecret };
    for (const path of [TOKEN, INTROSPECT, REVOKE]) {
      assert.equal(codeOf(await postJson(service, path, right, headers)), 'too_many_requests');
      const form = await postForm(service, path, right, headers);
      assert.equal(form.status, 429);
      assert.equal(bodyOf(form).error, 'too_many_requests');
      assert.equal(form.headers.get('retry-after'), '60');
      const { client_id: _id, client_secret: _secret, ...rest } = right;
      const basicForm = await postForm(service, path, rest, { ...headers, ...basic(clientId, clientSecret) });
      assert.equal(basicForm.status, 429);
    }
  });

  onSqlite('a further try does not reach the database', async (t) => {
    const service = await start(t);
    await fail(service, () => service.client.clientId, CLIENT_FAILURES_MAX);
    await execute(service, 'ALTER TABLE application RENAME TO application_away');
    assert.equal((await ask(service, service.client)).status, 429);
  });
});

describe('after a hundred failures in a minute from one address', () => {
  it('every client gets 429 from there, and none elsewhere', async (t) => {
    const service = await start(t);
    await fail(service, (at) => `guess-${at}`, NETWORK_FAILURES_MAX - 1);
    assert.equal((await ask(service, service.client)).status, 200);
    await fail(service, () => 'the last', 1);
    assert.equal((await ask(service, service.client)).status, 429);
    assert.equal((await ask(service, service.client, '203.0.113.2')).status, 200);
    service.advance(FAILURE_WINDOW_MS);
    assert.equal((await ask(service, service.client)).status, 200);
  });

  it('every address of the same IPv6 /64 counts as that one, and the next /64 does not', async (t) => {
    const service = await start(t);
    for (let host = 1; host <= NETWORK_FAILURES_MAX; host += 1) {
      await fail(service, () => `guess-${host}`, 1, `2001:db8:0:1::${host.toString(16)}`);
    }
    assert.equal((await ask(service, service.client, '2001:db8:0:1:ffff::1')).status, 429);
    assert.equal((await ask(service, service.client, '2001:db8:0:2::1')).status, 200);
  });

  it('a client that forges the header affects only its own count', async (t) => {
    const service = await start(t);
    await fail(service, (at) => `guess-${at}`, NETWORK_FAILURES_MAX, '198.51.100.7, 203.0.113.1');
    assert.equal((await ask(service, service.client, '198.51.100.7')).status, 200);
    assert.equal((await ask(service, service.client, '192.0.2.1, 203.0.113.1')).status, 429);
  });
});

describe('other errors than failed authentications', () => {
  it('never block a client, in any number', async (t) => {
    const service = await start(t);
    const { clientId, clientSecret } = service.client;
    const granted = { clientId, clientSecret, grantType: 'client_credentials' };
    const bodies = [
      granted,
      { ...granted, scope: 'users:manage' },
      { ...granted, grantType: 'password' },
      { clientId },
      '{',
    ];
    const many = Array.from({ length: 30 }, () => bodies).flat();
    const answers = await Promise.all(many.map((body) => postJson(service, TOKEN, body)));
    assert.equal(answers.filter(({ status }) => status === 200).length, 30);
    assert.equal(answers.filter(({ status }) => status === 400).length, 120);
  });

  onSqlite('include failures of the store', async (t) => {
    const service = await start(t);
    await execute(service, 'ALTER TABLE application RENAME TO application_away');
    for (let time = 0; time < CLIENT_FAILURES_MAX + 1; time += 1) {
      assert.equal((await ask(service, service.client)).status, 500);
    }
  });
});

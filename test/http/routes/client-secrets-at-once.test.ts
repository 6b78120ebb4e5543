/** Concurrent attempts with client secrets gain nothing over sequential ones. */

import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { describe, it, type TestContext } from 'node:test';
import { CLIENT_FAILURES_MAX } from '../../../src/domain/throttle.ts';
import {
  type Answer,
  basic,
  bodyOf,
  codeOf,
  makeClient,
  type OAuthService,
  startOAuthService,
  type TestClient,
  TOKEN,
} from '../../support/oauth-service.ts';
import { repeats } from '../../support/repeats.ts';
import { tryAtOnce } from '../../support/side-by-side.ts';

repeats('postgres');

type Service = OAuthService & { readonly client: TestClient };
type Ask = (service: Service, clientSecret: string) => Promise<Answer>;

const asJson: Ask = (service, clientSecret) => {
  const body = { clientId: service.client.clientId, clientSecret, grantType: 'client_credentials' };
  return sendOnce(service, JSON.stringify(body), { 'Content-Type': 'application/json' });
};
const asForm: Ask = (service, clientSecret) => {
  const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
  const credentials = basic(service.client.clientId, clientSecret);
  return sendOnce(service, 'grant_type=client_credentials', { ...headers, ...credentials });
};

/** Sends one request on a connection of its own. The client neither shares connections nor sends anything again, as `fetch` may. */
async function sendOnce({ origin }: Service, body: string, headers: Readonly<Record<string, string>>): Promise<Answer> {
  const sent = request(origin + TOKEN, { method: 'POST', agent: false, headers });
  sent.end(body);
  const [reply] = (await once(sent, 'response')) as [IncomingMessage];
  const pairs = Object.entries(reply.headersDistinct).map(([name, values]) => [name, String(values)]);
  return { status: reply.statusCode ?? 0, headers: new Headers(pairs as [string, string][]), text: await text(reply) };
}

async function start(t: TestContext): Promise<Service> {
  const service = await startOAuthService(t);
  return { ...service, client: await makeClient(service) };
}

/** Requests a token with each secret at once, on separate connections. */
function askAtOnce(t: TestContext, service: Service, secrets: readonly string[], ask: Ask): Promise<Answer[]> {
  return tryAtOnce(t, secrets, {
    target: service.tokens,
    method: 'authenticate',
    triedOf: ([credentials]) => (credentials as { clientSecret: string }).clientSecret,
    send: (secret) => ask(service, secret),
  });
}

function wrongSecrets(count: number): string[] {
  return Array.from({ length: count }, (_, at) => `wrong-${at}`);
}

const statusesOf = (answers: readonly Answer[]): number[] => answers.map(({ status }) => status);
const tokensOf = async (service: Service): Promise<number> => (await service.rows('SELECT 1 FROM access_token')).length;

describe('concurrent attempts with client secrets', () => {
  it('report ten failures, and afterwards not even the right secret', async (t) => {
    const service = await start(t);
    const wrong = wrongSecrets(CLIENT_FAILURES_MAX + 20);
    const answers = await askAtOnce(t, service, [...wrong, service.client.clientSecret], asJson);
    assert.deepEqual(
      statusesOf(answers),
      answers.map((_, at) => (at < CLIENT_FAILURES_MAX ? 400 : 429)),
    );
    const told = answers.slice(0, CLIENT_FAILURES_MAX).map(codeOf);
    assert.deepEqual(new Set(told), new Set(['invalid_client']));
    const right = answers.at(-1) ?? assert.fail();
    const { error } = bodyOf(right) as { error: { description: string } };
    const ofWrong = bodyOf(answers[CLIENT_FAILURES_MAX] ?? assert.fail()) as { error: { description: string } };
    assert.deepEqual([codeOf(right), error.description], ['too_many_requests', ofWrong.error.description]);
    assert.match(right.headers.get('retry-after') ?? '', /^\d+$/);
    assert.equal(await tokensOf(service), 0);
  });

  it('report no more as forms with Basic', async (t) => {
    const service = await start(t);
    const wrong = wrongSecrets(CLIENT_FAILURES_MAX + 5);
    const answers = await askAtOnce(t, service, [...wrong, service.client.clientSecret], asForm);
    assert.deepEqual(
      statusesOf(answers),
      answers.map((_, at) => (at < CLIENT_FAILURES_MAX ? 401 : 429)),
    );
    assert.equal(bodyOf(answers.at(-1) ?? assert.fail()).error, 'too_many_requests');
    assert.equal(await tokensOf(service), 0);
  });

  it('accept the right secret among the first ten', async (t) => {
    const service = await start(t);
    const wrong = wrongSecrets(CLIENT_FAILURES_MAX - 1);
    const answers = await askAtOnce(t, service, [...wrong, service.client.clientSecret], asJson);
    assert.deepEqual(statusesOf(answers), [...wrong.map(() => 400), 200]);
    assert.equal(await tokensOf(service), 1);
  });
});

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it, type TestContext } from 'node:test';
import { LINEAR_STEP_MS } from '../../src/domain/retry.ts';
import { type AuthorizationServer, createAuthorizationServer } from '../support/authorization-server.ts';
import {
  connect,
  deliveryOf,
  type Journey,
  makeEventType,
  publish,
  readWebhook,
  startJourney,
} from '../support/journey.ts';
import type { ReceivingEndpoint } from '../support/receiver.ts';

const TYPE = 'order.placed';

type OauthJourney = Journey & {
  readonly authorization: AuthorizationServer;
  readonly at: ReceivingEndpoint;
  readonly webhook: { readonly id: string };
};

async function startOauthJourney(
  t: TestContext,
  { response, webhook = {} }: { response?: Record<string, unknown>; webhook?: Record<string, unknown> } = {},
): Promise<OauthJourney> {
  const journey = await startJourney(t);
  await makeEventType(journey.admin, TYPE);
  const authorization = createAuthorizationServer(journey.receiver, '/token', response);
  const connected = await connect(journey, [TYPE], {
    receiving: { bearerTokens: authorization.tokens },
    endpoint: { oauth: authorization.oauth },
    webhook,
  });
  return { ...journey, authorization, ...connected };
}

describe('deliveries to an endpoint with OAuth', () => {
  it('have a bearer token instead of the signature, and still hash, date and custom headers', async (t) => {
    const customHeaders = [{ name: 'X-Tenant', value: 'acme' }];
    const { admin, authorization, at } = await startOauthJourney(t, { webhook: { customHeaders } });
    await publish(admin, TYPE, {});
    const { request } = await at.next();
    assert.equal(authorization.requests.length, 1);
    const [asked] = authorization.requests;
    const { clientId, clientSecret } = authorization.oauth;
    const basic = Buffer.from(`${clientId}:${clientSecret}`).toString('base64');
    assert.equal(asked?.method, 'POST');
    assert.equal(asked?.headers.authorization, `Basic ${basic}`);
    assert.equal(asked?.headers['content-type'], 'application/x-www-form-urlencoded');
    assert.equal(asked?.headers['x-api-key'], undefined);
    assert.deepEqual(Object.fromEntries(new URLSearchParams(asked?.body.toString('utf8'))), {
      grant_type: 'client_credentials',
      scope: 'events:write other',
    });
    const { headers, body } = request;
    assert.equal(headers.authorization, `Bearer ${authorization.issued[0]}`);
    assert.equal(headers['x-content-sha256'], createHash('sha256').update(body).digest('base64'));
    assert.match(String(headers.date), /^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/);
    assert.equal(headers['x-tenant'], 'acme');
    assert.equal(headers['x-api-key'], at.apiKey);
  });

  it('share one token request if several are sent at the same time', async (t) => {
    const { admin, authorization, at } = await startOauthJourney(t, { webhook: { maxBatchRecords: 1 } });
    await publish(admin, TYPE, ...Array.from({ length: 30 }, (_, n) => ({ n })));
    for (let arrived = 0; arrived < 30; arrived += 1) await at.next();
    assert.equal(authorization.requests.length, 1);
  });

  it('get a new token shortly before the old one expires', async (t) => {
    const { service, admin, authorization, at, webhook } = await startOauthJourney(t, {
      response: { expires_in: 600 },
    });
    const deliverOne = async (): Promise<string | undefined> => {
      await publish(admin, TYPE, {});
      const { request } = await at.next();
      await service.log.nextAttempt(webhook.id);
      return request.headers.authorization;
    };
    assert.equal(await deliverOne(), `Bearer ${authorization.issued[0]}`);
    service.advance(500_000);
    assert.equal(await deliverOne(), `Bearer ${authorization.issued[0]}`);
    service.advance(60_000);
    assert.equal(await deliverOne(), `Bearer ${authorization.issued[1]}`);
    assert.equal(authorization.requests.length, 2);
  });

  it('use a token without expires_in for tokenExpirationMinutes', async (t) => {
    const { service, admin, authorization, at, webhook } = await startOauthJourney(t, { response: {} });
    for (const minutes of [0, 50, 10]) {
      service.advance(minutes * 60_000);
      await publish(minutes === 10 ? await service.signIn() : admin, TYPE, {});
      await at.next();
      await service.log.nextAttempt(webhook.id);
    }
    assert.equal(authorization.requests.length, 2);
  });

  it('that are answered 401 drop the token and try once more with a new one in the same attempt', async (t) => {
    const { service, admin, authorization, at, webhook } = await startOauthJourney(t);
    at.answer(({ request }) => ({
      status: request.headers.authorization === `Bearer ${authorization.issued[0]}` ? 401 : 204,
    }));
    const [id] = await publish(admin, TYPE, {});
    assert.equal((await at.next()).request.headers.authorization, `Bearer ${authorization.issued[0]}`);
    const second = await at.next();
    assert.equal(second.request.headers.authorization, `Bearer ${authorization.issued[1]}`);
    assert.equal(second.envelope.attemptNumber, 1);
    assert.equal((await service.log.nextAttempt(webhook.id)).fate, 'delivered');
    const { attempts, attemptCount } = await deliveryOf(admin, webhook, id ?? '');
    assert.deepEqual([attempts.length, attemptCount], [1, 1]);
    assert.equal(attempts[0]?.requestHeaders.authorization, 'Bearer [secret]');
  });

  it('that are answered 401 twice fail without asking for a third token', async (t) => {
    const { service, admin, authorization, at, webhook } = await startOauthJourney(t);
    at.answer(() => ({ status: 401 }));
    await publish(admin, TYPE, {});
    const attempt = await service.log.nextAttempt(webhook.id);
    assert.deepEqual([attempt.responseStatus, attempt.fate], [401, 'retry']);
    assert.equal(at.deliveries.length, 2);
    assert.equal(authorization.requests.length, 2);
  });
});

describe('a token endpoint that issues no token', () => {
  const json = { 'content-type': 'application/json' };
  const answers = [
    {
      what: 'refuses',
      answer: { status: 401, headers: json, body: '{"error":"invalid_client"}' },
      shows: /answered 401.*invalid_client/,
    },
    { what: 'fails', answer: { status: 500, body: 'out of order' }, shows: /answered 500.*out of order/ },
    { what: 'redirects', answer: { status: 302, headers: { location: 'https://localhost/' } }, shows: /answered 302/ },
    { what: 'answers garbage', answer: { body: '<html>' }, shows: /without a usable access_token.*<html>/ },
    {
      what: 'has no access_token',
      answer: { headers: json, body: '{"token_type":"Bearer"}' },
      shows: /without a usable access_token/,
    },
    {
      what: 'gives a token of another type',
      answer: { headers: json, body: '{"access_token":"private-thing","token_type":"mac"}' },
      shows: /token_type is not Bearer/,
    },
  ];
  for (const { what, answer, shows } of answers) {
    it(`and ${what} fails the attempt with status and body, and nothing is sent to the endpoint`, async (t) => {
      // No retry before the token endpoint works again.
      const { service, admin, authorization, at, webhook } = await startOauthJourney(t, {
        webhook: { retry: { policy: 'linear' } },
      });
      authorization.answer(() => answer);
      const [id] = await publish(admin, TYPE, {});
      const failed = await service.log.nextAttempt(webhook.id);
      assert.deepEqual([failed.errorClass, failed.fate], ['oauth_token', 'retry']);
      assert.equal(at.deliveries.length, 0);
      const [attempt] = (await deliveryOf(admin, webhook, id ?? '')).attempts;
      assert.match(String(attempt?.error), shows);
      assert.equal(attempt?.responseStatus, 'status' in answer ? answer.status : 200);
      assert.doesNotMatch(JSON.stringify(attempt), /private-thing/);
      const { state, stateReason } = await readWebhook(admin, webhook);
      assert.equal(state, 'failing');
      assert.match(String(stateReason), /^oauth_token: /);
      assert.match(String(stateReason), shows);

      authorization.answer(null);
      service.advance(LINEAR_STEP_MS);
      await at.next();
      assert.equal((await service.log.nextAttempt(webhook.id)).fate, 'delivered');
    });
  }
});

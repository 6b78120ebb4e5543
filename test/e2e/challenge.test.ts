import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { describe, it } from 'node:test';
import { VERSION } from '../../src/kernel/version.ts';
import type { EndpointView } from '../../src/webhooks/endpoint-schema.ts';
import { refusalOf, succeeded } from '../support/client.ts';
import type { PlannedAnswer } from '../support/https-server.ts';
import {
  connect,
  makeEndpoint,
  makeEventType,
  makeWebhook,
  publish,
  readWebhook,
  startJourney,
} from '../support/journey.ts';

const TYPE = 'order.placed';

describe('the token challenge', () => {
  it('is sent when the endpoint is created, and a correct answer verifies and enables it', async (t) => {
    const { admin, receiver } = await startJourney(t);
    const at = receiver.endpoint('/Hook?Tenant=A');
    const endpoint = await makeEndpoint(admin, at, { tokenChallenge: true });
    const [request] = at.challenges;
    assert.equal(at.challenges.length, 1);
    assert.equal(request?.method, 'POST');
    assert.deepEqual(
      request?.rawHeaders.filter((_, n) => n % 2 === 0).map((name) => name.toLowerCase()),
      ['host', 'connection', 'content-type', 'user-agent', 'x-api-key', 'x-challenge-sha256', 'content-length'],
    );
    assert.equal(request?.headers['content-type'], 'application/json');
    assert.equal(request?.headers['user-agent'], `Sallyport/${VERSION}`);
    assert.equal(request?.headers['x-api-key'], at.apiKey);
    const token = String(request?.headers['x-challenge-sha256']);
    assert.match(token, /^[A-Za-z0-9_-]{43}$/);
    assert.deepEqual(JSON.parse(request?.body.toString('utf8') ?? ''), {
      type: 'endpoint.challenge',
      endpointId: endpoint.id,
    });
    assert.deepEqual([endpoint.verified, endpoint.enabled], [true, true]);
    assert.deepEqual(
      { ...endpoint.lastVerification, at: null },
      { at: null, verified: true, responseStatus: 200, responseBody: '', error: null },
    );
    // The receiver uses the same code as the service, so this computes the answer independently.
    const signed = createHmac('sha256', Buffer.from(at.secret, 'base64')).update(`POST/Hook?Tenant=A${token}`);
    at.answerChallenge({ headers: { 'x-challenge-sha256': signed.digest('base64') } });
    const again = await succeeded<EndpointView>(admin.post(`endpoints/${endpoint.id}/verify`));
    assert.equal(again.lastVerification?.verified, false, 'the answer to another token is worth nothing');
    assert.deepEqual([again.verified, again.enabled], [true, true]);
  });

  const wrong: readonly { what: string; answer: PlannedAnswer; error: RegExp; status: number | null }[] = [
    { what: 'no answer header', answer: { body: 'ok' }, error: /missing_answer/, status: 200 },
    { what: 'an answer of another form', answer: header('yes'), error: /malformed_answer/, status: 200 },
    {
      what: 'a signature of something else',
      answer: header(createHmac('sha256', 'x').update('y').digest('base64')),
      error: /wrong_answer/,
      status: 200,
    },
    { what: 'another status', answer: { status: 204 }, error: /answered 204 instead of 200/, status: 204 },
    {
      what: 'a redirect',
      answer: { status: 307, headers: { location: '/elsewhere' } },
      error: /answered 307/,
      status: 307,
    },
    { what: 'a broken connection', answer: (_, response) => void response.destroy(), error: /^reset: /, status: null },
  ];
  for (const { what, answer, error, status } of wrong) {
    it(`leaves the endpoint unverified and disabled for ${what}, and says why`, async (t) => {
      const { admin, receiver } = await startJourney(t);
      const at = receiver.endpoint('/hook');
      at.answerChallenge(answer);
      const endpoint = await makeEndpoint(admin, at, { tokenChallenge: true });
      assert.deepEqual([endpoint.verified, endpoint.enabled], [false, false]);
      assert.equal(endpoint.lastVerification?.responseStatus, status);
      assert.match(String(endpoint.lastVerification?.error), error);
      const webhook = await makeWebhook(admin, endpoint, ['webhook.*']);
      const { code, description } = await refusalOf(admin.post(`webhooks/${webhook.id}/start`), 409);
      assert.equal(code, 'invalid_state');
      assert.match(description, /not verified/);
      const patched = await refusalOf(admin.patch(`endpoints/${endpoint.id}`, { enabled: true }), 409);
      assert.equal(patched.code, 'not_verified');
      assert.equal(at.deliveries.length, 0);
    });
  }

  it('keeps the first 4 KiB of the endpoint’s answer', async (t) => {
    const { admin, receiver } = await startJourney(t);
    const at = receiver.endpoint('/hook');
    at.answerChallenge({ status: 500, body: 'x'.repeat(10_000) });
    const endpoint = await makeEndpoint(admin, at, { tokenChallenge: true });
    assert.equal(endpoint.lastVerification?.responseBody, 'x'.repeat(4096));
  });

  it('can be repeated, and a success enables the endpoint, unless enabled was false', async (t) => {
    const { admin, receiver } = await startJourney(t);
    for (const enabled of [true, false]) {
      const at = receiver.endpoint(`/${enabled}`);
      at.answerChallenge({ status: 500 });
      const endpoint = await makeEndpoint(admin, at, { tokenChallenge: true, enabled });
      assert.deepEqual([endpoint.verified, endpoint.enabled], [false, false]);
      const second = receiver.endpoint(`/${enabled}`, { secret: at.secret });
      await succeeded(admin.patch(`endpoints/${endpoint.id}`, { apiKey: second.apiKey }));
      const verified = await succeeded<EndpointView>(admin.post(`endpoints/${endpoint.id}/verify`));
      assert.deepEqual([verified.verified, verified.enabled], [true, enabled]);
    }
  });

  it('is sent to a new url, which un-verifies the endpoint, and stops its webhooks if it fails', async (t) => {
    const journey = await startJourney(t);
    const { admin, receiver, service } = journey;
    await makeEventType(admin, TYPE);
    const { at, endpoint, webhook } = await connect(journey, [TYPE], { endpoint: { tokenChallenge: true } });
    await publish(admin, TYPE, { n: 1 });
    await at.next();
    await service.log.nextAttempt(webhook.id);
    const elsewhere = receiver.origin + at.path.replace('hook', 'silent');
    const moved = await succeeded<EndpointView>(admin.patch(`endpoints/${endpoint.id}`, { url: elsewhere }));
    assert.deepEqual([moved.verified, moved.enabled], [false, false]);
    assert.equal(moved.lastVerification?.responseStatus, 404);
    await publish(admin, TYPE, { n: 2 });
    await service.log.line(({ msg, webhookId }) => msg === 'webhook stopped' && webhookId === webhook.id);
    const stopped = await readWebhook(admin, webhook);
    assert.deepEqual([stopped.state, stopped.stateReason], ['stopped', 'endpoint_disabled']);
    assert.equal(at.deliveries.length, 1);
    assert.equal(receiver.requests.filter(({ url }) => url !== at.path).length, 1, 'the challenge and nothing else');

    const back = await succeeded<EndpointView>(admin.patch(`endpoints/${endpoint.id}`, { url: at.url }));
    assert.deepEqual([back.verified, back.enabled], [true, true]);
    assert.deepEqual(
      (await at.next()).records.map(({ data }) => data),
      [{ n: 2 }],
    );
  });
});

describe('a rotated secret', () => {
  it('signs from its activation on, and the old one until then', async (t) => {
    const journey = await startJourney(t);
    const { admin, service, receiver } = journey;
    await makeEventType(admin, TYPE);
    const { at, endpoint, webhook } = await connect(journey, [TYPE]);
    const rotated = await succeeded<EndpointView & { secret: string }>(
      admin.post(`endpoints/${endpoint.id}/rotate-secret`, { activateAfterSeconds: 600 }),
    );
    assert.equal(Buffer.from(rotated.secret, 'base64').length, 32);
    assert.notEqual(rotated.secret, at.secret);
    assert.ok(rotated.secretActivatesAt);
    await publish(admin, TYPE, { n: 1 });
    await at.next();
    await service.log.nextAttempt(webhook.id);

    service.advance(601_000);
    const renewed = receiver.endpoint('/renewed', { secret: rotated.secret });
    await succeeded(admin.patch(`endpoints/${endpoint.id}`, { url: renewed.url, apiKey: renewed.apiKey }));
    await publish(admin, TYPE, { n: 2 });
    assert.deepEqual(
      (await renewed.next()).records.map(({ data }) => data),
      [{ n: 2 }],
    );
    const { secretActivatesAt, ...read } = await succeeded<EndpointView>(admin.get(`endpoints/${endpoint.id}`));
    assert.equal(secretActivatesAt, null);
    assert.equal('secret' in read, false);
  });
});

function header(answer: string): PlannedAnswer {
  return { headers: { 'x-challenge-sha256': answer } };
}

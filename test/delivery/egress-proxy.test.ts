import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { createAuthorizationServer } from '../support/authorization-server.ts';
import { type ConnectProxy, startConnectProxy } from '../support/connect-proxy.ts';
import {
  connect,
  type Journey,
  makeEndpoint,
  makeEventType,
  publish,
  startJourney,
  unique,
} from '../support/journey.ts';

const TYPE = 'order.placed';
const CREDENTIALS = `Basic ${Buffer.from('edge:p@ss word').toString('base64')}`;

async function startBehindProxy(
  t: TestContext,
  env: Readonly<Record<string, string>> = {},
): Promise<Journey & { readonly proxy: ConnectProxy; readonly tunnel: string }> {
  const proxy = await startConnectProxy(t);
  const proxyUrl = `http://edge:${encodeURIComponent('p@ss word')}@127.0.0.1:${proxy.port}`;
  const journey = await startJourney(t, { env: { SALLYPORT_EGRESS_PROXY: proxyUrl, ...env } });
  await makeEventType(journey.admin, TYPE);
  return { ...journey, proxy, tunnel: `127.0.0.1:${journey.receiver.port}` };
}

describe('with an egress proxy', () => {
  it('deliveries, challenges, token requests and tests all go through it, to checked addresses, and none bypasses it', async (t) => {
    const journey = await startBehindProxy(t);
    const { admin, receiver, proxy, service, tunnel } = journey;
    const authorization = createAuthorizationServer(receiver, '/token');
    const { at, webhook, endpoint } = await connect(journey, [TYPE], {
      receiving: { bearerTokens: authorization.tokens },
      endpoint: { oauth: authorization.oauth, tokenChallenge: true },
    });
    assert.equal(endpoint.verified, true);
    await publish(admin, TYPE, { n: 1 });
    await at.next();
    await admin.post(`webhooks/${webhook.id}/test`);
    await at.next();
    assert.deepEqual([at.challenges.length, authorization.requests.length, at.deliveries.length], [1, 1, 2]);
    assert.ok(proxy.asked.length > 0);
    for (const { authority, headers } of proxy.asked) {
      assert.ok(authority === tunnel || authority === tunnel.replace('127.0.0.1', '[::1]'), authority);
      assert.equal(headers['proxy-authorization'], CREDENTIALS);
    }
    // Every connection that the receiver saw came out of a tunnel.
    assert.equal(receiver.connections(), proxy.asked.filter(({ authority }) => authority === tunnel).length);
    assert.ok(!service.log.text().includes('p@ss'));
  });

  it('the egress rules hold: an address that is not allowed is refused before the proxy is asked', async (t) => {
    const { admin, receiver, proxy, service } = await startBehindProxy(t, { SALLYPORT_EGRESS_ALLOW: '192.0.2.1/32' });
    const at = receiver.endpoint(`/${unique('hook')}`);
    const endpoint = await makeEndpoint(admin, at);
    const name = unique('webhook');
    const made = await admin.post<{ id: string }>('webhooks', { name, endpointId: endpoint.id, eventTypes: [TYPE] });
    await admin.post(`webhooks/${made.body.id}/start`);
    await publish(admin, TYPE, { n: 1 });
    const attempt = await service.log.nextAttempt(made.body.id);
    assert.equal(attempt.errorClass, 'egress_refused');
    assert.deepEqual([proxy.asked.length, receiver.requests.length], [0, 0]);
  });

  it('that refuses, deliveries wait with that reason, and go out once it allows them', async (t) => {
    const journey = await startBehindProxy(t);
    const { admin, proxy, service, receiver } = journey;
    proxy.answer(() => 403);
    const { at, webhook } = await connect(journey, [TYPE]);
    await publish(admin, TYPE, { n: 1 });
    const refused = await service.log.nextAttempt(webhook.id);
    assert.deepEqual([refused.errorClass, refused.fate], ['proxy', 'retry']);
    assert.equal(receiver.connections(), 0);
    proxy.answer(() => 200);
    service.advance(5000);
    const { records } = await at.next();
    assert.deepEqual(
      records.map(({ offset }) => offset),
      [0],
    );
    assert.equal((await service.log.nextAttempt(webhook.id)).fate, 'delivered');
  });
});

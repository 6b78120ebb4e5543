/** Token endpoints and receivers that echo the request: which part of the answer each role sees. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createOauthTokens } from '../../src/delivery/oauth.ts';
import { viewWebhook } from '../../src/webhooks/webhook-schema.ts';
import { createAuthorizationServer } from '../support/authorization-server.ts';
import { type Dispatching, isDrained, openDispatching, until } from '../support/dispatching.ts';
import type { SeenRequest } from '../support/https-server.ts';
import { startReceiver } from '../support/receiver.ts';
import { makeEndpoint, openTestServices } from '../support/services.ts';
import { sharedCertificates } from '../support/tls.ts';
import { loopbackTransport } from '../support/transport.ts';

/** Characters that JSON, URLs and forms write in ways of their own. */
const CLIENT_ID = 'a-client';
const CLIENT_SECRET = 'pa"ss\\word %+/ of~this cliént ☃';

/** In a header and the body, in every way of writing it. */
function echo({ headers, body }: SeenRequest) {
  const basic = String(headers.authorization);
  const clientSecret = Buffer.from(basic.slice('Basic '.length), 'base64')
    .toString()
    .slice(CLIENT_ID.length + 1);
  const escaped = JSON.stringify({ clientSecret }).replaceAll('é', '\\u00e9').replaceAll('☃', '\\u2603');
  const form = new URLSearchParams({ client_secret: clientSecret }).toString();
  const echoed = [
    basic,
    clientSecret,
    JSON.stringify({ clientSecret }),
    escaped,
    encodeURIComponent(clientSecret),
    form,
    body,
  ];
  return {
    status: 401,
    headers: { 'x-echo': encodeURIComponent(clientSecret) },
    body: `refused: ${echoed.join('\n')}`,
  };
}

/** The secret in any of the ways that it may be written. */
function assertMasked(text: string): void {
  const credentials = Buffer.from(`${CLIENT_ID}:${CLIENT_SECRET}`).toString('base64');
  for (const form of [
    credentials,
    CLIENT_SECRET,
    'pa\\"ss',
    'pa%22ss',
    'of~this',
    'of%7Ethis',
    'cliént',
    'cli\\u00e9nt',
    'cli%C3%A9nt',
  ]) {
    assert.ok(!text.includes(form), `${form} in ${text}`);
  }
}

describe('the client secret in the answer of a token endpoint', () => {
  it('is masked wherever it is echoed, in every encoding', async (t) => {
    const { ca: caPem, server: identity } = sharedCertificates();
    const services = await openTestServices(t, { caPem });
    const receiver = await startReceiver(t, identity);
    const server = createAuthorizationServer(receiver, '/token');
    server.answer(echo);
    const endpoint = await makeEndpoint(services, {
      oauth: { ...server.oauth, clientId: CLIENT_ID, clientSecret: CLIENT_SECRET },
    });
    const oauth = createOauthTokens({ transport: loopbackTransport(t, { caPem }), clock: services.clock });
    const refused = await oauth.token(endpoint);
    assert.ok(!refused.ok && refused.answer !== null);
    // As it is, in UTF-8 (contract §5.6).
    const basic = Buffer.from(`${CLIENT_ID}:${CLIENT_SECRET}`, 'utf8').toString('base64');
    assert.equal(receiver.requests[0]?.headers.authorization, `Basic ${basic}`);
    assert.match(refused.message, /answered 401: refused: Basic \[secret\]\n\[secret\]\n/);
    assert.equal(refused.answer.headers['x-echo'], '[secret]');
    assertMasked([refused.message, ...Object.values(refused.answer.headers)].join('\n'));
    assertMasked(Buffer.from(refused.answer.body).toString('utf8'));
  });
});

describe('the bearer token in the answer of an endpoint', () => {
  it('is masked in its headers and its body', async (t) => {
    const d = await openDispatching(t);
    const server = createAuthorizationServer(d.receiver, '/token');
    const { at, number } = await d.connect({
      receiving: { bearerTokens: server.tokens },
      endpoint: { oauth: server.oauth },
    });
    at.answer(({ request: { headers } }) => ({
      status: 200,
      headers: { 'x-echo': String(headers.authorization) },
      body: JSON.stringify(headers),
    }));
    await d.publishMany(1);
    await d.start();
    await until('the attempt is kept', () => isDrained(d));
    const [attempt] = await d.rows(
      `SELECT response_body, response_headers FROM attempt WHERE webhook_number = ${number}`,
    );
    const body = Buffer.from(attempt?.response_body as Uint8Array).toString('utf8');
    assert.match(body, /"authorization":"Bearer \[secret\]"/);
    assert.match(String(attempt?.response_headers), /"x-echo":"Bearer \[secret\]"/);
    for (const token of server.issued) assert.ok(!`${body} ${attempt?.response_headers}`.includes(token));
  });
});

describe('the response of a token endpoint', () => {
  /** A webhook whose token requests are refused, and the event about it that another webhook gets. */
  const failing = async (d: Dispatching) => {
    const server = createAuthorizationServer(d.receiver, '/token');
    server.answer((seen) => ({ ...echo(seen), body: `${echo(seen).body} of the tenant Grünspan` }));
    const told = await d.connect({ webhook: { eventTypes: ['webhook.failing'] } });
    const { webhook, number } = await d.connect({
      endpoint: { oauth: { ...server.oauth, clientId: CLIENT_ID, clientSecret: CLIENT_SECRET } },
    });
    await d.start();
    await d.publishMany(1);
    return { told, webhook, number };
  };

  it('is shown with the webhook and its attempts, and not sent to subscribers', async (t) => {
    const d = await openDispatching(t);
    const { told, webhook, number } = await failing(d);
    const delivery = await told.at.next();
    const [record] = delivery.records;
    assert.deepEqual(record?.data, {
      webhookId: webhook.id,
      webhookName: webhook.name,
      endpointId: webhook.endpointId,
      state: 'failing',
      previousState: 'started',
      reason: 'oauth_token',
      at: new Date(d.clock()).toISOString(),
    });
    const { stateReason } = viewWebhook(await d.webhooks.get(webhook.id));
    assert.match(stateReason ?? '', /^oauth_token: the token endpoint answered 401: refused: Basic \[secret\]\n/);
    const [attempt] = await d.rows(`SELECT response_body, response_headers, error_message FROM attempt
      WHERE webhook_number = ${number}`);
    assert.match(Buffer.from(attempt?.response_body as Uint8Array).toString('utf8'), /of the tenant Grünspan$/);
    const kept =
      JSON.stringify(await d.rows('SELECT * FROM attempt')) + JSON.stringify(await d.rows('SELECT * FROM event'));
    assertMasked(kept);
    assertMasked(stateReason ?? '');
  });

  it('of the endpoint itself has its status told: that is all that the reason has of it', async (t) => {
    const d = await openDispatching(t);
    const told = await d.connect({ webhook: { eventTypes: ['webhook.failing'] } });
    const { at } = await d.connect();
    at.answer(() => ({ status: 503, body: 'the tenant Grünspan is away' }));
    await d.start();
    await d.publishMany(1);
    const [record] = (await told.at.next()).records;
    assert.equal((record?.data as { reason?: string } | undefined)?.reason, 'http_status: the receiver answered 503');
  });
});

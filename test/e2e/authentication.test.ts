import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import type { EndpointView } from '../../src/webhooks/endpoint-schema.ts';
import { cleanUp } from '../support/cleanup.ts';
import { succeeded } from '../support/client.ts';
import { type HttpsServer, startHttpsServer } from '../support/https-server.ts';
import {
  deliveriesOf,
  type Journey,
  makeEndpoint,
  makeEventType,
  makeWebhook,
  publish,
  startJourney,
  startWebhook,
} from '../support/journey.ts';
import { sharedCertificates } from '../support/tls.ts';

const TYPE = 'order.placed';
const SECRET = 'a secret';
const API_KEY = '0'.repeat(32);

type Begun = Omit<Journey, 'receiver'> & {
  readonly receiver: HttpsServer;
  readonly endpoint: EndpointView;
  readonly webhookId: string;
};

/** A receiver that returns what it got, and a webhook that sends to it. */
async function begin(t: TestContext, more: Readonly<Record<string, unknown>>): Promise<Begun> {
  const journey = await startJourney(t);
  const { admin } = journey;
  await makeEventType(admin, TYPE);
  const receiver = await startHttpsServer(sharedCertificates().server, {
    answer: ({ headers }, response) => {
      response.writeHead(500, { 'x-echo': JSON.stringify(headers) }).end(JSON.stringify(headers));
    },
  });
  cleanUp(t, () => receiver.close());
  const endpoint = await makeEndpoint(admin, { url: `${receiver.origin}/hook`, secret: SECRET, apiKey: API_KEY }, more);
  const webhook = await makeWebhook(admin, endpoint, [TYPE], { customHeaders: [{ name: 'x-tenant', value: 'acme' }] });
  await startWebhook(admin, webhook);
  return { ...journey, receiver, endpoint, webhookId: webhook.id };
}

const basic = (password: string) => `Basic ${Buffer.from(`sallyport:${password}`).toString('base64')}`;

for (const [what, authentication, wanted] of [
  [
    'basic',
    { method: 'basic', userName: 'sallyport', password: 'pass wörd hunter2' },
    { authorization: basic('pass wörd hunter2') },
  ],
  ['bearer', { method: 'bearer', token: 'token-hunter2/+=' }, { authorization: 'Bearer token-hunter2/+=' }],
  ['header', { method: 'header', name: 'X-Token', value: 'value "hunter2"' }, { 'x-token': 'value "hunter2"' }],
  [
    'header Authorization',
    { method: 'header', name: 'Authorization', value: 'Token hunter2-t' },
    { authorization: 'Token hunter2-t' },
  ],
] as const) {
  it(`a receiver gets the authentication ${what}, and no attempt, log or read has it, also if the receiver returns it`, async (t) => {
    const requestHeaders = [
      { name: 'X-Route', value: 'blue' },
      { name: 'User-Agent', value: 'shop' },
      { name: 'X-Secret', value: 'hunter2-secret', secret: true },
    ];
    const begun = await begin(t, { authentication, requestHeaders, sendApiKey: false });
    const { admin, service, receiver, endpoint, webhookId } = begun;
    await succeeded(admin.post(`endpoints/${endpoint.id}/verify`));
    const challenge = await receiver.next();
    await publish(admin, TYPE, { n: 1 });
    const delivery = await receiver.next();
    for (const { headers } of [challenge, delivery]) {
      for (const [name, value] of Object.entries({
        ...wanted,
        'x-route': 'blue',
        'x-secret': 'hunter2-secret',
        'user-agent': 'shop',
      }))
        assert.equal(headers[name], value);
      assert.equal(headers['x-api-key'], undefined);
    }
    const isSigned = what === 'header';
    assert.equal(
      /^HMAC-SHA256 SignedHeaders=x-content-sha256;date;x-tenant&/.test(String(delivery.headers.authorization)),
      isSigned,
    );
    assert.equal(delivery.headers['x-tenant'], 'acme');
    assert.equal(delivery.rawHeaders.filter((name) => name.toLowerCase() === 'authorization').length, 1);

    await service.log.nextAttempt(webhookId);
    const [sent] = await deliveriesOf(admin, { id: webhookId });
    const paths = [`deliveries/${sent?.id}`, `endpoints/${endpoint.id}`, 'audit?limit=200', 'endpoints', 'webhooks'];
    const read = JSON.stringify(await Promise.all(paths.map((path) => succeeded(admin.get(path)))));
    assert.ok(read.includes('[secret]') && read.includes('x-echo'), 'the attempt is shown, with masks');
    for (const text of [read, service.log.text()]) {
      assert.ok(!text.includes('hunter2'));
      if (what === 'basic') assert.ok(!text.includes(wanted.authorization.slice('Basic '.length)));
    }
  });
}

it('a rotated authentication is sent from its time on', async (t) => {
  const authentication = { method: 'basic', userName: 'sallyport', password: 'first' };
  const { admin, service, receiver, endpoint, webhookId } = await begin(t, { authentication });
  const rotation = { authentication: { method: 'basic', password: 'second' }, activateAfterSeconds: 60 };
  const rotated = await succeeded<EndpointView>(admin.post(`endpoints/${endpoint.id}/rotate-authentication`, rotation));
  assert.ok(!JSON.stringify(rotated).includes('second'));
  await publish(admin, TYPE, { n: 1 });
  assert.equal((await receiver.next()).headers.authorization, basic('first'));
  await service.log.nextAttempt(webhookId);
  service.advance(61_000);
  assert.equal((await receiver.next()).headers.authorization, basic('second'));
});

for (const name of ['User-Agent', 'user-agent']) {
  it(`the authentication header ${name} replaces the service’s own`, async (t) => {
    const authentication = { method: 'header', name, value: 'hunter2 agent' };
    const { admin, service, receiver, webhookId } = await begin(t, { authentication });
    await publish(admin, TYPE, { n: 1 });
    const { headers, rawHeaders } = await receiver.next();
    assert.equal(headers['user-agent'], 'hunter2 agent');
    assert.equal(rawHeaders.filter((one) => one.toLowerCase() === 'user-agent').length, 1);
    await service.log.nextAttempt(webhookId);
    const [sent] = await deliveriesOf(admin, { id: webhookId });
    const read = JSON.stringify(await succeeded(admin.get(`deliveries/${sent?.id}`)));
    assert.ok(read.includes('"user-agent":"[secret]"') && !read.includes('hunter2'));
  });
}

it('no attempt has a secret of a rotation, also if the receiver returns the one that is not sent', async (t) => {
  const authentication = { method: 'basic', userName: 'sallyport', password: 'hunter2-first' };
  const { admin, service, receiver, endpoint, webhookId } = await begin(t, { authentication });
  const next = { method: 'bearer', token: 'hunter2-second' };
  const rotation = { authentication: next, activateAfterSeconds: 60 };
  await succeeded(admin.post(`endpoints/${endpoint.id}/rotate-authentication`, rotation));
  const told = ['hunter2-second', 'hunter2-first', basic('hunter2-first')].join(' or ');
  receiver.answer({ status: 401, headers: { 'x-wanted': told }, body: `want ${told}` });
  await publish(admin, TYPE, { n: 1 });
  await service.log.nextAttempt(webhookId);
  service.advance(61_000);
  await service.log.nextAttempt(webhookId);
  const [sent] = await deliveriesOf(admin, { id: webhookId });
  const read = JSON.stringify(await succeeded(admin.get(`deliveries/${sent?.id}`)));
  assert.equal(sent?.attemptCount, 2);
  assert.ok(read.includes('want [secret] or [secret] or Basic [secret]'), read);
  for (const text of [read, service.log.text()])
    assert.ok(!text.includes('hunter2') && !text.includes(basic('hunter2-first').slice('Basic '.length)));
});

import assert from 'node:assert/strict';
import { createHash, createPublicKey, verify } from 'node:crypto';
import { it } from 'node:test';
import { createReceiver, publicKeyWebhooks, standardWebhooks } from '../../src/receiver/index.ts';
import type { EndpointView } from '../../src/webhooks/endpoint-schema.ts';
import { cleanUp } from '../support/cleanup.ts';
import { createClient, succeeded } from '../support/client.ts';
import { type SeenRequest, startHttpsServer } from '../support/https-server.ts';
import {
  connect,
  makeEndpoint,
  makeEventType,
  makeWebhook,
  publish,
  startJourney,
  startWebhook,
} from '../support/journey.ts';
import { repeats } from '../support/repeats.ts';
import { sharedCertificates } from '../support/tls.ts';

repeats('postgres');

const TYPE = 'order.placed';
const SECRET = 'AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=';

type Jwk = { readonly kty: 'OKP'; readonly crv: 'Ed25519'; readonly x: string; readonly kid: string };

/** The indexes of the signatures that this public key verifies, with node:crypto. */
function verified({ headers, body }: SeenRequest, publicKey: string): number[] {
  const x = Buffer.from(publicKey.replace('whpk_', ''), 'base64').toString('base64url');
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
  const signed = Buffer.concat([Buffer.from(`${headers['webhook-id']}.${headers['webhook-timestamp']}.`), body]);
  return String(headers['webhook-signature'])
    .split(' ')
    .flatMap((text, at) => {
      assert.match(text, /^v1a,[A-Za-z0-9+/]{86}==$/);
      return verify(null, signed, key, Buffer.from(text.slice('v1a,'.length), 'base64')) ? [at] : [];
    });
}

it('an endpoint with ed25519 signs v1a, publishes its key, and overlaps both at a rotation', async (t) => {
  const { admin, service } = await startJourney(t);
  await makeEventType(admin, TYPE);
  const receiver = await startHttpsServer(sharedCertificates().server);
  cleanUp(t, () => receiver.close());
  const at = { url: `${receiver.origin}/hook`, secret: SECRET, apiKey: '0'.repeat(32) };
  const endpoint = await makeEndpoint(admin, at, { signatureType: 'ed25519' });
  const webhook = await startWebhook(admin, await makeWebhook(admin, endpoint, [TYPE], { standardWebhooks: true }));
  const nobody = createClient(service.url, null);
  const published = async (): Promise<string[]> => {
    const reply = await nobody.get('/.well-known/webhook-keys');
    assert.equal(reply.status, 200);
    const { keys } = reply.body as { keys: Jwk[] };
    for (const key of keys) assert.deepEqual(Object.keys(key).sort(), ['alg', 'crv', 'kid', 'kty', 'use', 'x']);
    return keys.map(({ x }) => `whpk_${Buffer.from(x, 'base64url').toString('base64')}`).sort();
  };
  const deliver = async (n: number): Promise<SeenRequest> => {
    await publish(admin, TYPE, { n });
    const request = await receiver.next();
    await service.log.nextAttempt(webhook.id);
    return request;
  };
  const first = String(endpoint.publicKey);
  assert.match(first, /^whpk_[A-Za-z0-9+/]{43}=$/);
  assert.deepEqual(await published(), [first]);
  const plain = await deliver(1);
  assert.deepEqual(verified(plain, first), [0]);
  assert.match(String(plain.headers.authorization), /^HMAC-SHA256 /);

  const rotation = { activateAfterSeconds: 60, overlapSeconds: 60 };
  const rotated = await succeeded<EndpointView>(admin.post(`endpoints/${endpoint.id}/rotate-secret`, rotation));
  const second = String(rotated.nextPublicKey);
  assert.equal(rotated.publicKey, first);
  assert.notEqual(second, first);
  assert.deepEqual(await published(), [first, second].sort());
  const announced = await deliver(2);
  assert.deepEqual([verified(announced, first), verified(announced, second)], [[0], [1]]);
  service.advance(60_000);
  const active = await deliver(3);
  assert.deepEqual([verified(active, second), verified(active, first)], [[0], [1]]);
  service.advance(60_000);
  const over = await deliver(4);
  assert.deepEqual([verified(over, second), verified(over, first)], [[0], []]);
  assert.deepEqual(await published(), [second]);

  const read = JSON.stringify([rotated, await succeeded(admin.get('audit?limit=200')), service.log.text()]);
  const { signingKey } = await service.services.endpoints.get(endpoint.id);
  assert.ok(signingKey !== null && !read.includes(signingKey.reveal()));
  const back = await succeeded<EndpointView>(admin.patch(`endpoints/${endpoint.id}`, { signatureType: 'hmac' }));
  assert.deepEqual([back.publicKey, back.nextPublicKey, await published()], [null, null, []]);
  assert.match(String((await deliver(5)).headers['webhook-signature']), /^v1,/);
});

it('sallyport-receiver takes deliveries with the public key only', async (t) => {
  const journey = await startJourney(t);
  await makeEventType(journey.admin, TYPE);
  const { at, endpoint } = await connect(journey, [TYPE], {
    endpoint: { signatureType: 'ed25519' },
    webhook: { standardWebhooks: true },
  });
  await publish(journey.admin, TYPE, { n: 7 });
  const { request } = await at.next();
  const clock = journey.service.clock;
  const publicKey = String(endpoint.publicKey);
  const seen: unknown[] = [];
  const onRecords = (all: readonly unknown[]): void => void seen.push(...all);
  const receiver = createReceiver({ standardWebhooks: publicKeyWebhooks(publicKey), clock, onRecords });
  const received = { method: 'POST', pathAndQuery: request.url, headers: request.headers as Record<string, string> };
  assert.equal((await receiver.receive({ ...received, body: request.body })).status, 204);
  assert.equal(seen.length, 1);
  const changed = Buffer.from(request.body.toString().replace('"n":7', '"n":8'));
  const hash = createHash('sha256').update(changed).digest('base64');
  const forged = { ...received, headers: { ...received.headers, 'x-content-sha256': hash }, body: changed };
  assert.equal((await receiver.receive(forged)).refusal?.code, 'wrong_signature');
  const challenge = { ...received.headers, 'x-challenge-sha256': 'A'.repeat(43) };
  const asked = await receiver.receive({ ...received, headers: challenge, body: request.body });
  assert.equal(asked.refusal?.code, 'malformed_challenge');

  const other = publicKeyWebhooks(`whpk_${'A'.repeat(43)}=`);
  const { secret: secrets } = at;
  for (const [options, status] of [
    [{ standardWebhooks: other }, 401],
    [{ standardWebhooks }, 401],
    [{ secrets, standardWebhooks: publicKeyWebhooks([publicKey]) }, 204],
    [{ secrets, standardWebhooks: other }, 400],
  ] as const) {
    const { receive } = createReceiver({ ...options, clock, onRecords });
    assert.equal((await receive({ ...received, body: request.body })).status, status);
  }
  for (const text of ['', 'whpk_AAAA', 'whsec_AAAA']) assert.throws(() => publicKeyWebhooks(text), TypeError);
  assert.throws(() => publicKeyWebhooks([]), TypeError);
  const required = { requiredHeaders: ['x-a'], standardWebhooks: publicKeyWebhooks(publicKey) };
  assert.throws(() => createReceiver({ ...required, onRecords }), /requiredHeaders need secrets/);
});

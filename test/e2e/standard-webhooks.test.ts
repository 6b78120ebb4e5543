import assert from 'node:assert/strict';
import { it } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { connect, makeEventType, publish, startJourney } from '../support/journey.ts';
import type { Delivery } from '../support/receiver.ts';
import { deliveriesOfRotation } from '../support/standard-rotation.ts';

const TYPE = 'order.placed';

function standardHeaders({ request: { headers } }: Delivery): Record<string, string> {
  const names = ['webhook-id', 'webhook-timestamp', 'webhook-signature'];
  return Object.fromEntries(names.map((name) => [name, String(headers[name])]));
}

it('the standardwebhooks library verifies a delivery with whsec_<secret>, which also has our signature', async (t) => {
  const journey = await startJourney(t);
  await makeEventType(journey.admin, TYPE);
  const { at } = await connect(journey, [TYPE], { webhook: { standardWebhooks: true } });
  await publish(journey.admin, TYPE, { n: 1 });
  const delivery = await at.next();
  const library = new Webhook(`whsec_${at.secret}`);
  assert.deepEqual(library.verify(delivery.request.body, standardHeaders(delivery)), JSON.parse(delivery.json));
  const altered = Buffer.from(delivery.request.body);
  altered.writeUInt8(altered.readUInt8(10) ^ 1, 10);
  assert.throws(() => library.verify(altered, standardHeaders(delivery)), /No matching signature/);
  assert.match(String(delivery.request.headers.authorization), /^HMAC-SHA256 SignedHeaders=x-content-sha256;date&/);
  assert.match(String(delivery.request.headers['webhook-id']), /^msg_[0-9a-f-]{36}$/);
});

it('webhook-id is the same for every attempt of a batch, and webhook-timestamp is that of the attempt', async (t) => {
  const journey = await startJourney(t);
  const { service, admin } = journey;
  await makeEventType(admin, TYPE);
  const { at, webhook } = await connect(journey, [TYPE], { webhook: { standardWebhooks: true } });
  at.answer(() => ({ status: 500 }));
  await publish(admin, TYPE, { n: 1 });
  const first = await at.next();
  await service.log.nextAttempt(webhook.id);
  at.answer(() => ({ status: 204 }));
  service.advance(5000);
  const second = await at.next();
  await service.log.nextAttempt(webhook.id);
  await publish(admin, TYPE, { n: 2 });
  const third = await at.next();

  const [one, two, three] = [first, second, third].map(({ request }) => request.headers);
  assert.equal(two?.['webhook-id'], one?.['webhook-id']);
  assert.notEqual(three?.['webhook-id'], one?.['webhook-id']);
  assert.ok(Number(two?.['webhook-timestamp']) - Number(one?.['webhook-timestamp']) >= 5);
  const library = new Webhook(`whsec_${at.secret}`);
  for (const delivery of [first, second, third]) library.verify(delivery.request.body, standardHeaders(delivery));
});

it('its headers are sent only if the webhook enables them', async (t) => {
  const journey = await startJourney(t);
  await makeEventType(journey.admin, TYPE);
  const { at } = await connect(journey, [TYPE]);
  await publish(journey.admin, TYPE, {});
  const { request } = await at.next();
  assert.deepEqual(
    Object.keys(request.headers).filter((name) => name.startsWith('webhook-')),
    [],
  );
});

it('a receiver with one secret verifies during a rotation with the standardwebhooks library of npm', async (t) => {
  for (const { what, valid, secret, body, headers } of await deliveriesOfRotation(t)) {
    const verify = (): unknown => new Webhook(secret).verify(body, { ...headers });
    if (valid) assert.deepEqual(verify(), JSON.parse(body), what);
    else assert.throws(verify, /No matching signature/, what);
  }
});

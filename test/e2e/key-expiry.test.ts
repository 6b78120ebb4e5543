import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { EMPLOYEES, refusalOf, succeeded } from '../support/client.ts';
import {
  connect,
  deliveriesOf,
  importKey,
  type Journey,
  only,
  readWebhook,
  registerApplication,
  startJourney,
  startWebhook,
} from '../support/journey.ts';
import { repeatsInSlowTier } from '../support/repeats.ts';

repeatsInSlowTier('postgres');

type KeyPair = { readonly publicKey: string; readonly privateKey: string };

async function makeKeyPair(expiresInSeconds: number): Promise<KeyPair> {
  const openpgp = await import('openpgp');
  return openpgp.generateKey({ userIDs: [{ name: 'HR' }], keyExpirationTime: expiresInSeconds });
}

async function createEmployee({ admin }: Pick<Journey, 'admin'>, userName: string): Promise<void> {
  const { api } = await registerApplication(admin, ['employees:create']);
  const names = { userName, firstName: 'Ada', lastName: 'Lovelace', email: 'ada@customer.example' };
  await succeeded(api.post(EMPLOYEES, { ...names, division: 'sales' }));
}

/** A webhook for employee events whose key expires in an hour, after its first delivery. */
async function startWithEndingKey(t: TestContext) {
  const journey = await startJourney(t);
  const { admin, service } = journey;
  const [first, second] = [await makeKeyPair(3600), await makeKeyPair(0)];
  await importKey(admin, 'first', first.publicKey);
  const connected = await connect(journey, ['employee.*'], {
    receiving: { privateKeys: { first: first.privateKey, second: second.privateKey } },
    webhook: { encryptionKeyName: 'first', heartbeatSeconds: 60 },
  });
  await createEmployee(journey, 'before');
  const { request } = await connected.at.next();
  assert.equal(request.headers['x-pgp-key-name'], 'first');
  await service.log.nextAttempt(connected.webhook.id);
  return { journey, second, ...connected };
}

it('an expired key stops the webhook; nothing is sent with it or unencrypted, and a new key resumes', async (t) => {
  const { journey, second, at, webhook } = await startWithEndingKey(t);
  const { service } = journey;
  service.advance(3_700_000);
  await service.log.line(({ msg, webhookId }) => msg === 'webhook stopped' && webhookId === webhook.id);
  const admin = await service.signIn();
  await createEmployee({ admin }, 'after');
  const stopped = await readWebhook(admin, webhook);
  assert.deepEqual([stopped.state, stopped.stateReason], ['stopped', 'encryption_key_expired']);
  assert.ok(stopped.stateDescription);
  assert.equal(at.deliveries.length, 1, 'not even the heartbeat that was due');
  assert.deepEqual(
    (await deliveriesOf(admin, webhook)).map(({ state }) => state),
    ['delivered', 'pending'],
  );
  const expired = await succeeded<{ items: { expired: boolean }[] }>(admin.get('keys'));
  assert.equal(only(expired.items).expired, true);

  const refused = await refusalOf(admin.post(`webhooks/${webhook.id}/start`), 409);
  assert.match(refused.description, /has expired/);
  const test = await refusalOf(admin.post(`webhooks/${webhook.id}/test`), 409);
  assert.match(test.description, /encryption_key_expired/);

  await importKey(admin, 'second', second.publicKey);
  await succeeded(admin.patch(`webhooks/${webhook.id}`, { encryptionKeyName: 'second' }));
  await startWebhook(admin, webhook);
  const { request, records } = await at.next();
  assert.equal(request.headers['x-pgp-key-name'], 'second');
  assert.equal((only(records).data as { userName: string }).userName, 'after');
  for (const { headers } of at.deliveries.map((delivery) => delivery.request)) {
    assert.equal(headers['x-content-encrypted'], 'true');
  }
});

it('a retry is not sent after the key has expired', async (t) => {
  const { journey, at, webhook } = await startWithEndingKey(t);
  const { service, admin } = journey;
  at.answer(() => ({ status: 503, headers: { 'retry-after': '3605' } }));
  await createEmployee(journey, 'unlucky');
  await at.next();
  assert.equal((await service.log.nextAttempt(webhook.id)).fate, 'retry');
  at.answer(() => ({ status: 204 }));
  service.advance(3_700_000);
  await service.log.line(({ msg, webhookId }) => msg === 'webhook stopped' && webhookId === webhook.id);
  assert.equal(at.deliveries.length, 2);
  const states = (await deliveriesOf(await service.signIn(), webhook)).map(({ state }) => state);
  assert.deepEqual(states, ['delivered', 'pending']);
  assert.equal((await refusalOf(admin.get('webhooks'), 401)).code, 'invalid_token', 'the old token has ended too');
});

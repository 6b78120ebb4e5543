import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { KeyView } from '../../src/webhooks/keys.ts';
import type { WebhookView } from '../../src/webhooks/webhook-schema.ts';
import { type Page, refusalOf, succeeded } from '../support/client.ts';
import { deferred } from '../support/deferred.ts';
import {
  connect,
  deliveriesOf,
  deliveryOf,
  importKey,
  type Journey,
  makeEventType,
  only,
  publish,
  readWebhook,
  startJourney,
  startWebhook,
  stopWebhook,
} from '../support/journey.ts';
import { type PgpKeyPair, pgpKeyPair } from '../support/pgp-keys.ts';
import type { ReceivingEndpoint } from '../support/receiver.ts';

const TYPE = 'order.placed';
const KEY = 'payroll';

type Held = Journey & {
  readonly at: ReceivingEndpoint;
  readonly webhook: WebhookView;
  readonly eventId: string;
  /** Makes the endpoint answer. */
  release(): void;
};

/** A delivery that has arrived but is not answered yet. */
async function holdOne(
  t: TestContext,
  { status = 204, key }: { status?: number; key?: PgpKeyPair } = {},
): Promise<Held> {
  const journey = await startJourney(t);
  await makeEventType(journey.admin, TYPE);
  if (key !== undefined) await importKey(journey.admin, KEY, key.publicKey);
  const { at, webhook } = await connect(journey, [TYPE], {
    receiving: key === undefined ? {} : { privateKeys: { [KEY]: key.privateKey } },
    webhook: { ordered: true, maxBatchRecords: 1, encryptionKeyName: key === undefined ? null : KEY },
  });
  const released = deferred();
  at.answer(async () => {
    await released.promise;
    return { status };
  });
  const [eventId = ''] = await publish(journey.admin, TYPE, { n: 0 });
  await at.next();
  return { ...journey, at, webhook, eventId, release: () => released.resolve() };
}

describe('while a delivery is in flight', () => {
  it('its webhook can be stopped: the outcome is written, and the state stays stopped', async (t) => {
    const { admin, service, webhook, eventId, release } = await holdOne(t);
    await stopWebhook(admin, webhook);
    release();
    assert.equal((await service.log.nextAttempt(webhook.id)).fate, 'delivered');
    const { state, attempts } = await deliveryOf(admin, webhook, eventId);
    assert.deepEqual([state, only(attempts).delivered], ['delivered', true]);
    const after = await readWebhook(admin, webhook);
    assert.deepEqual([after.state, after.stateReason], ['stopped', 'stopped_by_administrator']);
  });

  it('a webhook that is stopped and started again sends it once, and in order', async (t) => {
    const { admin, service, at, webhook, release } = await holdOne(t);
    await publish(admin, TYPE, { n: 1 });
    await stopWebhook(admin, webhook);
    await startWebhook(admin, webhook);
    release();
    await at.next();
    await service.log.nextAttempt(webhook.id);
    await service.log.nextAttempt(webhook.id);
    assert.deepEqual(
      at.deliveries.map(({ records }) => only(records).data),
      [{ n: 0 }, { n: 1 }],
    );
    assert.equal((await readWebhook(admin, webhook)).state, 'running');
  });

  it('its webhook can be deleted: the endpoint’s answer is then ignored', async (t) => {
    const { admin, service, webhook, release } = await holdOne(t);
    assert.equal((await admin.delete(`webhooks/${webhook.id}`)).status, 204);
    release();
    await service.stop();
    const worse = service.log.lines().filter(({ level }) => Number(level) >= 40);
    assert.deepEqual(worse, []);
  });

  it('its endpoint can be disabled: the outcome is written, and no further delivery is sent', async (t) => {
    const { admin, service, at, webhook, eventId, release } = await holdOne(t);
    await publish(admin, TYPE, { n: 1 });
    await succeeded(admin.patch(`endpoints/${webhook.endpointId}`, { enabled: false }));
    release();
    assert.equal((await service.log.nextAttempt(webhook.id)).fate, 'delivered');
    await service.log.line(({ msg }) => msg === 'webhook stopped');
    const { state, stateReason } = await readWebhook(admin, webhook);
    assert.deepEqual([state, stateReason], ['stopped', 'endpoint_disabled']);
    assert.equal((await deliveryOf(admin, webhook, eventId)).state, 'delivered');
    assert.equal(at.deliveries.length, 1);
    assert.deepEqual(
      (await deliveriesOf(admin, webhook)).map(({ state }) => state),
      ['delivered', 'pending'],
    );
  });

  it('it cannot be replayed, and its endpoint and key cannot be deleted', async (t) => {
    const { admin, service, webhook, eventId, release } = await holdOne(t, { key: await pgpKeyPair() });
    const { id } = await deliveryOf(admin, webhook, eventId);
    assert.equal((await refusalOf(admin.post(`deliveries/${id}/replay`), 409)).code, 'invalid_state');
    const key = only((await succeeded<Page<KeyView>>(admin.get('keys'))).items);
    for (const path of [`endpoints/${webhook.endpointId}`, `keys/${key.id}`]) {
      const { code, description } = await refusalOf(admin.delete(path), 409);
      assert.equal(code, 'in_use', path);
      assert.ok(description.includes(webhook.name), description);
    }
    release();
    assert.equal((await service.log.nextAttempt(webhook.id)).fate, 'delivered');
  });

  it('and fails after its webhook was stopped, it is sent at the next start without waiting for the retry', async (t) => {
    const { admin, service, at, webhook, release } = await holdOne(t, { status: 500 });
    await stopWebhook(admin, webhook);
    release();
    assert.equal((await service.log.nextAttempt(webhook.id)).fate, 'retry');
    assert.equal((await readWebhook(admin, webhook)).state, 'stopped');
    at.answer(() => ({ status: 204 }));
    await startWebhook(admin, webhook);
    assert.equal((await at.next()).envelope.attemptNumber, 2);
  });
});

it('event data is sent exactly as published, for any JSON', async (t) => {
  const journey = await startJourney(t);
  const { admin } = journey;
  await makeEventType(admin, TYPE);
  const { at } = await connect(journey, [TYPE]);
  const data =
    '{"__proto__":{"polluted":true},"constructor":1,"":"empty","nul":"\\u0000","lone":"\\ud800","line":"\\u2028",' +
    '"emoji":"👩‍🚀","ä":"ß","n":[0.1,-1e-7,1e15,9007199254740991,null,true,{"a":[[]]}]}';
  await succeeded(admin.post('events', `{"type":"${TYPE}","data":${data}}`));
  const { json, records } = await at.next();
  assert.deepEqual(only(records).data, JSON.parse(data));
  assert.ok(json.includes('"__proto__":{"polluted":true}'));
  assert.equal(({} as Record<string, unknown>).polluted, undefined);
});

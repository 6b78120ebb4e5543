import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { KeyView } from '../../src/webhooks/keys.ts';
import type { WebhookView } from '../../src/webhooks/webhook-schema.ts';
import { type Page, refusalOf, succeeded } from '../support/client.ts';
import { deferred } from '../support/deferred.ts';
import {
  connect,
  deliveryOf,
  importKey,
  type Journey,
  makeEventType,
  only,
  publish,
  startJourney,
} from '../support/journey.ts';
import { type PgpKeyPair, pgpKeyPair } from '../support/pgp-keys.ts';
import type { ReceivingEndpoint } from '../support/receiver.ts';
import { repeatsInSlowTier } from '../support/repeats.ts';

repeatsInSlowTier('postgres');

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
async function holdOne(t: TestContext, { key }: { key?: PgpKeyPair } = {}): Promise<Held> {
  const journey = await startJourney(t, { writerThread: true });
  await makeEventType(journey.admin, TYPE);
  if (key !== undefined) await importKey(journey.admin, KEY, key.publicKey);
  const { at, webhook } = await connect(journey, [TYPE], {
    receiving: key === undefined ? {} : { privateKeys: { [KEY]: key.privateKey } },
    webhook: {
      ordered: true,
      maxBatchRecords: 1,
      encryptionKeyName: key === undefined ? null : KEY,
      // Long enough that an answer held back on a slow machine never times out, which would be a retry.
      timeoutSeconds: 60,
    },
  });
  const released = deferred();
  at.answer(async () => {
    await released.promise;
    return { status: 204 };
  });
  const [eventId = ''] = await publish(journey.admin, TYPE, { n: 0 });
  await at.next();
  return { ...journey, at, webhook, eventId, release: () => released.resolve() };
}

describe('while a delivery is in flight', () => {
  it('its webhook can be deleted: the endpoint’s answer is then ignored', async (t) => {
    const { admin, service, webhook, release } = await holdOne(t);
    assert.equal((await admin.delete(`webhooks/${webhook.id}`)).status, 204);
    release();
    await service.stop();
    const worse = service.log.lines().filter(({ level }) => Number(level) >= 40);
    assert.deepEqual(worse, []);
  });

  it('a replay does not send it twice, and its endpoint and key cannot be deleted', async (t) => {
    const { admin, service, at, webhook, eventId, release } = await holdOne(t, { key: await pgpKeyPair() });
    const { id } = await deliveryOf(admin, webhook, eventId);
    await succeeded(admin.post(`deliveries/${id}/replay`));
    const key = only((await succeeded<Page<KeyView>>(admin.get('keys'))).items);
    for (const path of [`endpoints/${webhook.endpointId}`, `keys/${key.id}`]) {
      const { code, description } = await refusalOf(admin.delete(path), 409);
      assert.equal(code, 'in_use', path);
      assert.ok(description.includes(webhook.name), description);
    }
    release();
    assert.equal((await service.log.nextAttempt(webhook.id)).fate, 'delivered');
    await service.stop();
    assert.equal(at.deliveries.length, 1);
  });
});

it('event data is sent exactly as published, for any JSON', async (t) => {
  const journey = await startJourney(t, { writerThread: true });
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

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { refusalOf, succeeded } from '../support/client.ts';
import { connect, deliveriesOf, deliveryOf, makeEventType, only, publish, startJourney } from '../support/journey.ts';
import { repeats, repeatsInSlowTier } from '../support/repeats.ts';

repeats('postgres');
repeatsInSlowTier('pgbouncer');

const TYPE = 'order.placed';

describe('replaying', () => {
  it('a delivered delivery sends only its record again, with the same message id and offset', async (t) => {
    const journey = await startJourney(t, { writerThread: true });
    const { admin, service } = journey;
    await makeEventType(admin, TYPE);
    const { at, webhook } = await connect(journey, [TYPE], { webhook: { ordered: true } });
    const [, second = ''] = await publish(admin, TYPE, { n: 0 }, { n: 1 }, { n: 2 });
    const first = await at.next();
    assert.equal(first.records.length, 3);
    await service.log.nextAttempt(webhook.id);

    const { id } = await deliveryOf(admin, webhook, second);
    const replayed = await succeeded<{ state: string; attemptCount: number }>(admin.post(`deliveries/${id}/replay`));
    assert.deepEqual([replayed.state, replayed.attemptCount], ['pending', 0]);
    const again = await at.next();
    const record = only(again.records);
    assert.deepEqual([record.messageId, record.offset, record.data], [second, 1, { n: 1 }]);
    assert.equal(again.envelope.attemptNumber, 1);
    assert.equal((await service.log.nextAttempt(webhook.id)).fate, 'delivered');
    const { attempts } = await deliveryOf(admin, webhook, second);
    assert.equal(attempts.length, 2);
    assert.deepEqual(
      (await deliveriesOf(admin, webhook)).map(({ state }) => state),
      ['delivered', 'delivered', 'delivered'],
    );
    assert.equal(at.deliveries.length, 2);
  });

  it('a dead delivery sends it again with all attempts', async (t) => {
    const journey = await startJourney(t, { writerThread: true });
    const { admin, service } = journey;
    await makeEventType(admin, TYPE);
    const { at, webhook } = await connect(journey, [TYPE], { webhook: { retry: { maxAttempts: 1 } } });
    at.answer(() => ({ status: 500 }));
    const [id = ''] = await publish(admin, TYPE, {});
    assert.equal((await service.log.nextAttempt(webhook.id)).fate, 'dead');
    await at.next();
    const dead = await deliveryOf(admin, webhook, id);
    assert.deepEqual([dead.state, dead.attemptCount, dead.nextAttemptAt], ['dead', 1, null]);

    at.answer(() => ({ status: 204 }));
    await succeeded(admin.post(`deliveries/${dead.id}/replay`));
    service.advance(2000);
    const again = await at.next();
    assert.equal(only(again.records).messageId, id);
    assert.equal((await service.log.nextAttempt(webhook.id)).fate, 'delivered');
    assert.equal((await deliveryOf(admin, webhook, id)).state, 'delivered');
  });

  it('a range of time sends exactly its records', async (t) => {
    const journey = await startJourney(t, { writerThread: true });
    const { admin, service } = journey;
    await makeEventType(admin, TYPE);
    const { at, webhook } = await connect(journey, [TYPE], { webhook: { ordered: true } });
    const instants: string[] = [];
    for (const n of [0, 1, 2]) {
      instants.push(new Date(service.clock()).toISOString());
      await publish(admin, TYPE, { n });
      await at.next();
      await service.log.nextAttempt(webhook.id);
      service.advance(60_000);
    }
    const range = { since: instants[1], until: instants[2], states: ['delivered'] };
    assert.deepEqual(await succeeded(admin.post(`webhooks/${webhook.id}/replay`, range)), { replayed: 1 });
    assert.deepEqual(only((await at.next()).records).data, { n: 1 });
    await service.log.nextAttempt(webhook.id);
    // By default only dead records, of which there are none.
    assert.deepEqual(await succeeded(admin.post(`webhooks/${webhook.id}/replay`)), { replayed: 0 });
    assert.equal(at.deliveries.length, 4);
  });

  it('is refused for pending and unknown deliveries', async (t) => {
    const journey = await startJourney(t, { writerThread: true });
    const { admin } = journey;
    await makeEventType(admin, TYPE);
    const { webhook } = await connect(journey, [TYPE]);
    await succeeded(admin.post(`webhooks/${webhook.id}/stop`));
    const [id = ''] = await publish(admin, TYPE, {});
    const { id: deliveryId } = await deliveryOf(admin, webhook, id);
    assert.equal((await refusalOf(admin.post(`deliveries/${deliveryId}/replay`), 409)).code, 'invalid_state');
    assert.equal((await refusalOf(admin.post(`deliveries/${webhook.id}/replay`), 404)).code, 'not_found');
    const pending = await refusalOf(admin.post(`webhooks/${webhook.id}/replay`, { states: ['pending'] }), 400);
    assert.equal(pending.details?.[0]?.field, 'states[0]');
  });
});

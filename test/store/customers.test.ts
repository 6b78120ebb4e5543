/** Customers in the store: how each is doing, and the links that open their portals. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { hashCredential } from '../../src/domain/credential.ts';
import { repeats } from '../support/repeats.ts';
import { ACTOR, makeEndpoint, makeEventType, makeWebhook, openTestServices } from '../support/services.ts';

repeats('postgres');

describe('the health of customers', () => {
  it('has the waiting records and the webhooks with problems of each', async (t) => {
    const s = await openTestServices(t);
    await makeEventType(s, 'order.created');
    const { id: acme } = await s.customers.create({ name: 'Acme' }, ACTOR);
    const { id: bolt } = await s.customers.create({ name: 'Bolt' }, ACTOR);
    const { id: endpointId } = await makeEndpoint(s, { customerId: acme });
    await makeWebhook(s, ['order.created'], { customerId: acme, endpointId });
    const { id: failing } = await makeWebhook(s, ['order.created'], { customerId: acme, endpointId });
    await makeWebhook(s, ['order.created']);
    const events = [1, 2, 3].map((n) => ({ type: 'order.created', data: { n }, customerId: acme }));
    await s.publish({ events }, ACTOR);
    const { webhookNumber } = (await s.webhooks.get(failing)).progress;
    const sql = "UPDATE webhook_progress SET state = 'failing' WHERE webhook_number = @webhookNumber";
    await s.database.commit([{ sql, params: { webhookNumber } }]);
    const health = await s.store.customers.health([acme, bolt]);
    assert.deepEqual(health.get(bolt), { lastDay: null, troubled: 0, pending: 0 });
    const { troubled, pending } = health.get(acme) ?? assert.fail();
    assert.deepEqual([troubled, pending], [1, 6]);
  });
});

it('a portal link keeps the way to a new one until its customer is suspended', async (t) => {
  const s = await openTestServices(t);
  const renewUrl = 'https://shop.example/webhooks';
  const { id } = await s.customers.create({ name: 'Acme' }, ACTOR);
  const { token } = await s.portalLinks.create(id, { role: 'viewer', renewUrl }, ACTOR);
  const plain = await s.portalLinks.create(id, { role: 'viewer' }, ACTOR);
  const urlOf = (of: string) => s.store.portalLinks.renewUrl(hashCredential(of));
  assert.deepEqual([await urlOf(token), await urlOf(plain.token), await urlOf('unknown')], [renewUrl, null, null]);
  await s.customers.patch(id, { active: false }, ACTOR);
  assert.equal(await urlOf(token), null);
});

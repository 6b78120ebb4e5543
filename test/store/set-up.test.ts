/** The steps to the first delivery, as the store knows them: of everybody, and of one customer. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { SetUp } from '../../src/store/port/overview.ts';
import { run } from '../support/batches.ts';
import { repeats, repeatsInSlowTier } from '../support/repeats.ts';
import {
  ACTOR,
  makeApplication,
  makeEndpoint,
  makeEventType,
  makeUser,
  makeWebhook,
  openTestServices,
} from '../support/services.ts';
import { pgpVector } from '../support/vectors.ts';

repeats('postgres');
repeatsInSlowTier('pgbouncer');

describe('the set-up', () => {
  it('has each step done once its record exists, of all customers or of one', async (t) => {
    const s = await openTestServices(t);
    assert.equal((await s.store.overview.setUp(null)).customers, false);
    const [customer, other] = [
      await s.customers.create({ name: 'Shop' }, ACTOR),
      await s.customers.create({ name: 'Other' }, ACTOR),
    ];
    const done = async (customerId: string | null): Promise<string[]> => {
      const steps: SetUp = await s.store.overview.setUp(customerId);
      return Object.entries(steps).flatMap(([step, isDone]) => (isDone === true ? [step] : []));
    };
    const all: string[] = ['customers'];
    assert.deepEqual(await done(null), all);
    /** Makes something of the customer, after which these steps are done as well. */
    const makes = async <T>(make: () => Promise<T>, ...steps: readonly (keyof SetUp)[]): Promise<T> => {
      const made = await make();
      all.push(...steps);
      assert.deepEqual((await done(null)).sort(), [...all].sort());
      assert.deepEqual((await done(customer.id)).sort(), [...all].sort());
      assert.deepEqual(await done(other.id), ['customers', ...(all.includes('eventTypes') ? ['eventTypes'] : [])]);
      return made;
    };
    const customerId = customer.id;
    const { id: userId } = await makeUser(s, { customerId });
    const application = { customerId, userId, scopes: [] };
    await makes(() => makeApplication(s, application));
    await makes(() => makeApplication(s, application), 'applications');
    await makes(() => makeEventType(s, 'order.placed'), 'eventTypes');
    const endpoint = await makes(() => makeEndpoint(s, { customerId, enabled: false }), 'endpoints');
    await makes(() => s.keys.create({ customerId, name: 'key', publicKey: pgpVector('curve25519') }, ACTOR), 'keys');
    const { id } = await makes(
      () => makeWebhook(s, ['order.placed'], { customerId, endpointId: endpoint.id }),
      'webhooks',
    );
    await makes(() => makeEndpoint(s, { customerId, name: 'second' }), 'enabledEndpoints');
    await s.endpoints.patch(endpoint.id, { enabled: true }, ACTOR);
    await makes(() => s.webhooks.start(id, ACTOR), 'startedWebhooks');
    await makes(async () => run(s, (await s.webhooks.get(id)).progress.webhookNumber), 'runningWebhooks');
  });

  it('of a customer has no event types that only the operator sees', async (t) => {
    const s = await openTestServices(t);
    const { id } = await s.customers.create({ name: 'Shop' }, ACTOR);
    await makeEventType(s, 'order.placed', { public: false });
    assert.equal((await s.store.overview.setUp(null)).eventTypes, true);
    assert.equal((await s.store.overview.setUp(id)).eventTypes, false);
  });
});

/** The part of the operator's lists and names that a customer's application gets. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Page, refusalOf, succeeded } from '../support/client.ts';
import { makeCustomer } from '../support/customers.ts';
import { repeatsInSlowTier } from '../support/repeats.ts';
import { startService } from '../support/service.ts';

repeatsInSlowTier('postgres');

describe("a customer's application", () => {
  it('publishes by its own external id, and learns nothing from that of another customer', async (t) => {
    const service = await startService(t);
    const [one, other] = [await makeCustomer(service), await makeCustomer(service)];
    await succeeded(service.admin.post('event-types', { name: 'order.placed' }));
    const event = { type: 'order.placed', data: {} };
    await succeeded(one.api.post('events', { ...event, customerExternalId: one.externalId }));
    await succeeded(one.api.post('events', { ...event, customerExternalId: one.externalId, customerId: one.id }));
    const refusals = await Promise.all(
      [other.externalId, 'nobody'].map((customerExternalId) =>
        refusalOf(one.api.post('events', { ...event, customerExternalId }), 400),
      ),
    );
    for (const { details } of refusals)
      assert.deepEqual(details, [{ field: 'customerExternalId', problem: 'is not the external id of a customer' }]);
  });

  it('lists every event type that it may see, in full pages, and no hidden one', async (t) => {
    const service = await startService(t);
    const { api } = await makeCustomer(service);
    const wanted: string[] = [];
    for (let n = 0; n < 6; n += 1) {
      // Two hidden types follow one another: a page of two would be empty.
      const isPublic = n % 3 === 2;
      await succeeded(service.admin.post('event-types', { name: `order.t${n}`, public: isPublic }));
      if (isPublic) wanted.push(`order.t${n}`);
    }
    const listed: { readonly name: string }[] = [];
    for (let path = 'event-types?limit=2'; ; ) {
      const { items, nextCursor } = await succeeded<Page<{ name: string }>>(api.get(path));
      listed.push(...items);
      if (nextCursor === null) break;
      assert.equal(items.length, 2, path);
      path = `event-types?limit=2&cursor=${nextCursor}`;
    }
    const names = listed.map(({ name }) => name);
    assert.deepEqual(
      names.filter((name) => name.startsWith('order.')),
      wanted,
    );
    const all = await succeeded<Page<{ name: string; public: boolean }>>(service.admin.get('event-types?limit=200'));
    const shown = all.items.filter((one) => one.public).map(({ name }) => name);
    assert.deepEqual(names, shown);
  });
});

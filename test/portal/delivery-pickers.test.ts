/** The fields for a customer and a webhook beside the search line of deliveries, as a browser without JavaScript sends them. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { succeeded } from '../support/client.ts';
import { created, makeCustomer } from '../support/customers.ts';
import { connect, makeEventType, startJourney } from '../support/journey.ts';
import { newSession, request } from '../support/portal-requests.ts';

it('a customer and a webhook that are picked become filters of the search line, and their fields go', async (t) => {
  const journey = await startJourney(t);
  const { admin, service } = journey;
  await makeEventType(admin, 'order.created');
  const { webhook } = await connect(journey, ['order.created'], { webhook: { name: 'Orders' } });
  const { id } = await makeCustomer(service);
  const customer = await service.services.customers.get(id);
  const { token } = await newSession(service, 'viewer');
  const open = (path: string) => request(service.url + path, { token });
  const sent = async (fields: Readonly<Record<string, string>>): Promise<string | null> => {
    const { headers } = await open(
      `/deliveries?${new URLSearchParams({ kept: '', q: '', customer: '', webhook: '', ...fields })}`,
    );
    return headers.get('location');
  };
  const pickers = async (path: string): Promise<string[]> =>
    [...(await open(path)).text.matchAll(/id="pick-(\w+)"/g)].map(([, name = '']) => name);

  assert.deepEqual(await pickers('/deliveries'), ['customer', 'webhook']);
  assert.equal(await sent({}), '/deliveries');
  assert.equal(
    await sent({ webhook: 'orders', kept: 'state:dead' }),
    `/deliveries?q=state%3Adead+webhook%3A${webhook.id}`,
  );
  assert.equal(await sent({ customer: customer.name }), `/deliveries?q=customer%3A${customer.name}`);
  // What was typed in the line goes first.
  assert.equal(await sent({ customer: customer.name, q: 'customer:own' }), '/deliveries?q=customer%3Aown');
  assert.deepEqual(await pickers(`/deliveries?q=customer:${customer.name}`), ['webhook']);
  assert.deepEqual(await pickers(`/deliveries?webhook=${webhook.id}`), []);
  // However many newer ones have it in their names.
  for (let n = 0; n < 51; n += 1)
    await succeeded(
      admin.post('webhooks', { name: `Orders ${n}`, endpointId: webhook.endpointId, eventTypes: ['order.created'] }),
    );
  const endpoint = { customerId: id, name: 'Shop', url: 'https://shop.example/in', enabled: false };
  const { id: endpointId } = await created(admin, 'endpoints', endpoint);
  const theirs = { customerId: id, name: 'Parcels', endpointId, eventTypes: ['order.created'] };
  const { id: ofCustomer } = await created(admin, 'webhooks', theirs);
  for (let n = 0; n < 21; n += 1) await created(admin, 'customers', { name: `${customer.name} ${n}` });
  assert.equal(await sent({ webhook: `parcels · ${customer.name}` }), `/deliveries?q=webhook%3A${ofCustomer}`);
  assert.equal(await sent({ webhook: 'orders' }), `/deliveries?q=webhook%3A${webhook.id}`);
  assert.doesNotMatch((await open('/deliveries?q=webhook:orders')).text, /There is no webhook/);
  assert.match(
    (await open((await sent({ webhook: 'Ordres' })) ?? '')).text,
    /There is no webhook “Ordres”.*Did you mean/s,
  );
});

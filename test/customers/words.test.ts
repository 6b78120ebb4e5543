/** The refusals to programs of customers name neither commands nor settings of the operator. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { it } from 'node:test';
import { createSallyport } from '../../src/sallyport.ts';
import { cleanUp } from '../support/cleanup.ts';
import { refusalOf } from '../support/client.ts';
import { unusedFolder } from '../support/command.ts';
import { created, makeCustomer, ORDERS } from '../support/customers.ts';
import { makeEventType } from '../support/journey.ts';
import { OPERATORS_WORDS } from '../support/operators-words.ts';
import { startService } from '../support/service.ts';

it('an endpoint that is not verified', async (t) => {
  const service = await startService(t);
  const { api } = await makeCustomer(service);
  await makeEventType(service.admin, ORDERS);
  const endpoint = await created(api, 'endpoints', { name: 'Shop', url: 'https://127.0.0.1:9/', tokenChallenge: true });
  const webhook = { name: 'Orders', endpointId: endpoint.id, eventTypes: [ORDERS] };
  const { id } = await created(api, 'webhooks', webhook);
  for (const refused of [api.post(`webhooks/${id}/start`), api.patch(`endpoints/${endpoint.id}`, { enabled: true })]) {
    const { description, details } = await refusalOf(refused, 409);
    assert.doesNotMatch(JSON.stringify([description, details]), OPERATORS_WORDS);
  }
});

it('a link of a service without an address', async (t) => {
  const sallyport = await createSallyport({ dataDir: unusedFolder(t), logLevel: 'silent' });
  cleanUp(t, sallyport.stop);
  const { id: customerId } = await sallyport.customers.create({ name: 'Acme' });
  const { id } = await sallyport.users.create({ customerId, userName: 'ada', role: 'viewer' });
  const { token } = await sallyport.customers.createPortalToken(customerId, { role: 'administrator' });
  await assert.rejects(sallyport.users.invite(id), /SALLYPORT_PUBLIC_URL is not set/);

  const told = /^the address of this service is not set up yet, .* Ask your provider$/;
  const program = sallyport.as(await sallyport.authenticate(`Bearer ${token}`, 'users:manage'));
  await assert.rejects(program.users.invite(id), { code: 'unavailable', message: told });

  const server = createServer(sallyport.handler);
  cleanUp(t, () => void server.close().closeAllConnections());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const reply = await fetch(`http://127.0.0.1:${port}/services/api/x/edge/v1/users/${id}/invite`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${token}` },
  });
  const { error } = (await reply.json()) as { error: { description: string } };
  assert.equal(reply.status, 503);
  assert.match(error.description, told);
});

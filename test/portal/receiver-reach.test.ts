/** The values for a receiver on the pages of an endpoint: the addresses of the service, and how requests are authenticated. */
import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { COMMAND_LINE } from '../../src/domain/acting.ts';
import { createClient, succeeded } from '../support/client.ts';
import { newSession, request } from '../support/portal-requests.ts';
import { type ServiceInProcess, startService } from '../support/service.ts';

const ADDRESSES = ['192.0.2.10', '2001:db8:7::/64'];

async function begin(t: TestContext): Promise<{ service: ServiceInProcess; customerId: string; customer: string }> {
  const service = await startService(t, { env: { SALLYPORT_EGRESS_ADDRESSES: ADDRESSES.join(',') } });
  const { id: customerId } = await succeeded<{ id: string }>(service.admin.post('customers', { name: 'Acme' }));
  const user = await service.services.users.create(
    { userName: 'of-acme', role: 'administrator', customerId },
    COMMAND_LINE,
  );
  const begun = await service.services.sessions.begin(user, 'password', { address: '127.0.0.1', userAgent: 'a test' });
  assert.ok(begun !== null);
  return { service, customerId, customer: begun.token };
}

it('the addresses of the service are in both portals, and at a path for everybody', async (t) => {
  const { service, customerId, customer } = await begin(t);
  const { token: operator } = await newSession(service, 'administrator');
  const reply = await createClient(service.url, null).get('/services/api/egress-addresses');
  assert.deepEqual([reply.status, reply.body], [200, { addresses: ADDRESSES }]);
  for (const [token, owner] of [
    [operator, null],
    [customer, customerId],
  ] as const) {
    const body = { name: 'r', url: 'https://receiver.example/in', customerId: owner };
    const { id } = await succeeded<{ id: string }>(service.admin.post('endpoints', body));
    const { text } = await request(`${service.url}/endpoints/${id}/receiver`, { token });
    for (const address of ADDRESSES) assert.ok(text.includes(address), `${owner}: ${address}`);
  }
  assert.ok((await request(`${service.url}/settings`, { token: operator })).text.includes('2001:db8:7::/64'));
});

it('a customer sets, sees and rotates an authentication in its portal, and no page has its secret', async (t) => {
  const { service, customer: token } = await begin(t);
  const fields = {
    name: 'Gateway',
    url: 'https://receiver.example/in',
    tokenChallenge: 'false',
    'authentication.method': 'bearer',
    'authentication.token': 'hunter2-first',
    'requestHeaders.name': 'X-Route',
    'requestHeaders.value': 'hunter2-header',
    'requestHeaders.secret': 'secret',
    signatureType: 'ed25519',
  };
  const texts: string[] = [];
  const send = async (path: string, form?: Readonly<Record<string, string>>) => {
    const reply = await request(service.url + path, { token, ...(form !== undefined && { form }) });
    texts.push(reply.text);
    return reply;
  };
  const refused = await send('/endpoints/new', { ...fields, 'requestHeaders.name': 'Host' });
  assert.equal(refused.status, 400);
  assert.match(refused.text, /HTTP sets it/);
  await send('/endpoints/new', fields);
  const [endpoint] = await service.services.endpoints.list('', 10);
  assert.ok(endpoint !== undefined);
  const path = `/endpoints/${endpoint.id}`;
  const page = (await send(`${path}/settings`)).text;
  assert.match(page, /The header Authorization has a fixed bearer token/);
  assert.ok(page.includes(`whpk_${endpoint.publicKey}`) && page.includes('X-Route: [secret]'));
  await send(`${path}/edit`);
  await send(`${path}/rotate-authentication`);
  const rotation = { activateAfterSeconds: '3600', 'authentication.token': 'hunter2-second' };
  assert.equal((await send(`${path}/rotate-authentication`, rotation)).status, 303);
  const after = await service.services.endpoints.get(endpoint.id);
  assert.deepEqual(
    [after.authentication?.secret.reveal(), after.nextAuthentication?.secret.reveal()],
    ['hunter2-first', 'hunter2-second'],
  );
  for (const tab of ['', '/settings', '/history']) await send(path + tab);
  for (const text of texts) assert.ok(!text.includes('hunter2'));
});

/** The replies of the API after an export of several customers was imported beside a running server. */
import assert from 'node:assert/strict';
import { it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { ImportRow } from '../../src/importing/carry-out.ts';
import type { ApiClient, Page } from '../support/client.ts';
import { type CommandResult, sallyport } from '../support/command.ts';
import { repeats } from '../support/repeats.ts';
import { databaseUrlOf, openBeside, startService } from '../support/service.ts';
import { contentsOf, writtenByRequests } from '../support/store.ts';

repeats('postgres');

type Fields = Readonly<Record<string, unknown>>;
type Report = { readonly applied: boolean; readonly rows: readonly ImportRow[] };

const SECRETS = {
  svix: ['MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'C2FVsBQIhrscChlQIMV', 'plJ3nmyCDGBKInavdOK15jsl5Pq3nZ0D', 'acme-key-7'],
  outpost: [
    '5f2c8e1b7a9d4063',
    '0a1b2c3d4e5f6071',
    'ffffffffffff',
    'bolt-key-7',
    'Ym9sdDpoYXJkd2FyZQ',
    'sqs-secret',
    'agreed',
  ],
};

async function opened(t: TestContext, sender: 'svix' | 'outpost') {
  const service = await startService(t);
  const databaseUrl = databaseUrlOf(service.dataDir);
  const env = {
    SALLYPORT_DATA: service.dataDir,
    ...(databaseUrl === null ? {} : { SALLYPORT_DATABASE_URL: databaseUrl }),
  };
  const file = fileURLToPath(new URL(`../importing/exports/${sender}.json`, import.meta.url));
  const run = async (...args: readonly string[]): Promise<CommandResult> => {
    const result = await sallyport(['import', sender, file, ...args], { env });
    const printed = result.stdout + result.stderr;
    assert.deepEqual(
      SECRETS[sender].filter((secret) => printed.includes(secret)),
      [],
      printed,
    );
    return result;
  };
  const report = async (...args: readonly string[]): Promise<Report> => {
    const { status, stdout, stderr } = await run('--json', ...args);
    assert.ok(status === 0 || status === 1, stderr);
    return JSON.parse(stdout) as Report;
  };
  return { ...service, run, report };
}

/** Everything that an import can make, as the API shows it, by name and without what the service added. */
async function shownBy(admin: ApiClient) {
  const list = async (path: string): Promise<readonly Fields[]> => {
    const { status, body } = await admin.get<Page<Fields>>(`${path}?limit=200`);
    assert.equal(status, 200);
    return body.items;
  };
  const customers = await list('customers');
  const names = new Map(customers.map(({ id, name }) => [id, name]));
  return {
    customers: customers.map(({ name, externalId, metadata }) => [name, externalId, metadata]),
    eventTypes: (await list('event-types'))
      .filter(({ builtIn }) => builtIn === false)
      .map(({ name, group, deprecated, dataSchema }) => [name, group, deprecated, dataSchema]),
    endpoints: (await list('endpoints')).map((one) => ({
      of: names.get(one.customerId),
      name: one.name,
      url: one.url,
      enabled: one.enabled,
      authentication: one.authentication,
      requestHeaders: one.requestHeaders,
    })),
    webhooks: (await list('webhooks')).map((one) => ({
      of: names.get(one.customerId),
      name: one.name,
      eventTypes: one.eventTypes,
      filter: one.filter,
      format: one.format,
      header: (one.signature as Fields).header,
      key: (one.signature as Fields).key,
      rate: one.maxRecordsPerSecond,
      state: one.state,
    })),
  };
}

function resultsOf({ rows }: Report): readonly (readonly [path: string, result: string])[] {
  return rows.map(({ path, result, started }) => [path, started ? `${result}, started` : result]);
}

it('an export of Outpost with three tenants is shown by the API as its page says, and a second run makes nothing', async (t) => {
  const service = await opened(t, 'outpost');
  const { admin, run, report } = service;
  const database = await openBeside(t, service);
  const before = writtenByRequests(await contentsOf(database));
  assert.equal((await run()).status, 1);
  const refused = await run('--apply');
  assert.equal(refused.status, 1);
  assert.match(refused.stdout, /topics\[4\]: its name is not <category>\.<name> .* --rename\n/);
  assert.match(refused.stdout, /tenants\.models\[0\]\.destinations\[2\]: is of type aws_sqs/);
  assert.deepEqual(writtenByRequests(await contentsOf(database)), before);

  const made = await report('--apply', '--skip-refused', '--rename', 'OrderShipped=order.shipped');
  assert.equal(made.applied, true);
  const shown = await shownBy(admin);
  assert.deepEqual(shown.customers, [
    ['Bolt Hardware', 'acct_18', { name: 'Bolt Hardware', plan: 'gold' }],
    ['acct 20/ä', 'acct 20/ä', {}],
    ['acct_21', 'acct_21', {}],
  ]);
  assert.deepEqual(
    shown.eventTypes.map(([name]) => name),
    ['order.created', 'order.paid', 'user.deleted', 'user.signed_up', 'order.shipped'],
  );
  const header = (name: string) => ({ name, value: null, secret: true });
  const [orders, all, users] = [
    'hooks.bolt.example (des_ZLHqcRk8wnlbBDRXDuhGp2tXdmpm)',
    'archive.bolt.example (des_all)',
    'nuts.example (des_users)',
  ];
  const plain = { authentication: null, requestHeaders: [] };
  assert.deepEqual(shown.endpoints, [
    {
      of: 'Bolt Hardware',
      name: orders,
      url: 'https://hooks.bolt.example/orders',
      enabled: true,
      authentication: { method: 'header', name: 'Authorization', value: null, hasSecret: true },
      requestHeaders: [header('x-outpost-region'), header('x-api-key')],
    },
    { of: 'Bolt Hardware', name: all, url: 'https://archive.bolt.example/all', enabled: false, ...plain },
    { of: 'acct 20/ä', name: users, url: 'https://nuts.example/in?source=outpost', enabled: true, ...plain },
  ]);
  const webhook = { format: 'cloudevents-binary', header: 'x-outpost-signature', rate: null, state: 'stopped' };
  assert.deepEqual(shown.webhooks, [
    {
      of: 'Bolt Hardware',
      name: orders,
      eventTypes: ['order.created', 'order.paid'],
      filter: { 'data.total': { $gte: 100 }, 'data.currency': 'EUR' },
      key: 'prefixed',
      ...webhook,
    },
    { of: 'Bolt Hardware', name: all, eventTypes: ['order.*', 'user.*'], filter: null, key: 'prefixed', ...webhook },
    {
      of: 'acct 20/ä',
      name: users,
      eventTypes: ['user.*', 'user.deleted', 'user.signed_up', 'order.shipped'],
      filter: { type: { $neq: 'user.deleted' } },
      key: 'text',
      ...webhook,
    },
  ]);

  const after = writtenByRequests(await contentsOf(database));
  const again = await report('--apply', '--skip-refused', '--rename', 'OrderShipped=order.shipped');
  assert.ok(
    again.rows.every(({ result, path }) => result === (path.endsWith('destinations[2]') ? 'refused' : 'there')),
  );
  assert.deepEqual(writtenByRequests(await contentsOf(database)), after);
  const started = await report('--apply', '--skip-refused', '--start');
  const wanted = new Map([
    ['tenants.models[0].destinations[0]', 'there, started'],
    ['tenants.models[0].destinations[1]', 'there'],
    ['tenants.models[1].destinations[0]', 'there, started'],
  ]);
  for (const [path, result] of resultsOf(started)) assert.equal(result, wanted.get(path) ?? result, path);
  const states = (await shownBy(admin)).webhooks.map(({ state }) => state);
  assert.deepEqual(states, ['started', 'stopped', 'started']);
});

it('an export of Svix with two applications is shown by the API as its page says, and a second run makes nothing', async (t) => {
  const service = await opened(t, 'svix');
  const { admin, run, report } = service;
  const database = await openBeside(t, service);
  const before = writtenByRequests(await contentsOf(database));
  const refused = await run('--apply');
  assert.equal(refused.status, 1);
  assert.match(refused.stdout, /applications\[0\]\.endpoints\[2\]: has a transformation/);
  assert.deepEqual(writtenByRequests(await contentsOf(database)), before);

  await report('--apply', '--skip-refused');
  const shown = await shownBy(admin);
  assert.deepEqual(shown.customers, [
    ['Acme', 'acct_17', { plan: 'gold' }],
    ['Nuts & Bolts', 'app_2tGk2wZ0cQkXb3nq7W4uYlRsDfE', {}],
  ]);
  const dataSchema = { type: 'object', properties: { orderId: { type: 'integer' } }, required: ['orderId'] };
  assert.deepEqual(shown.eventTypes, [
    ['order.created', 'Orders', false, dataSchema],
    ['order.paid', null, false, null],
    ['invoice.voided', null, true, null],
  ]);
  const orders = 'Orders of Acme (ep_2tGk4aZ0cQkXb3nq7W4uYlRsDfE)';
  const archive = 'archive.acme.example (ep_2tGk5bZ0cQkXb3nq7W4uYlRsDfE)';
  const endpoint = { of: 'Acme', authentication: null };
  assert.deepEqual(shown.endpoints, [
    {
      ...endpoint,
      name: orders,
      url: 'https://hooks.acme.example/svix',
      enabled: true,
      requestHeaders: [{ name: 'X-Api-Key', value: null, secret: true }],
    },
    { ...endpoint, name: archive, url: 'https://archive.acme.example/all', enabled: false, requestHeaders: [] },
  ]);
  assert.deepEqual(
    shown.webhooks.map(({ filter, ...one }) => ({ ...one, isFiltered: filter !== null })),
    [
      { name: orders, eventTypes: ['order.created', 'order.paid'], rate: 50, isFiltered: true },
      { name: archive, eventTypes: ['invoice.*', 'order.*'], rate: null, isFiltered: false },
    ].map((one) => ({
      of: 'Acme',
      ...one,
      format: 'cloudevents-binary',
      header: 'svix-signature',
      key: 'decoded',
      state: 'stopped',
    })),
  );
  const after = writtenByRequests(await contentsOf(database));
  const again = resultsOf(await report('--apply', '--skip-refused'));
  assert.deepEqual(new Set(again.map(([, result]) => result)), new Set(['there', 'refused']));
  assert.deepEqual(writtenByRequests(await contentsOf(database)), after);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { initialised } from '../support/command-folder.ts';

const endpoint = (name: string): string[] => [
  'endpoint',
  'create',
  '--name',
  name,
  '--url',
  `https://${name.toLowerCase()}.example/hook`,
];

test('a webhook and its endpoint are given by name, and --start starts the webhook', async (t) => {
  const { run, json } = await initialised(t);
  const { id } = await json(endpoint('Shop'));
  await json(['event-type', 'create', '--name', 'order.placed']);
  const create = ['webhook', 'create', '--name', 'Orders', '--endpoint', 'Shop', '--event', 'order.placed', '--start'];
  const webhook = await json(create);
  assert.deepEqual([webhook.endpointId, webhook.state], [id, 'started']);
  assert.equal((await json(['webhook', 'stop', 'Orders'])).state, 'stopped');
  assert.equal((await json(['webhook', 'show', 'orders'])).id, webhook.id, 'without regard to case');
  assert.equal((await run(['webhook', 'delete', 'Orders'])).status, 0);
  assert.equal((await run(['endpoint', 'delete', 'Shop'])).status, 0);
});

test('an unknown name is refused with the nearest one, and a name of several with their ids', async (t) => {
  const { json, failure } = await initialised(t);
  const first = await json(endpoint('Shop'));
  const second = await json(endpoint('Shop'));
  assert.equal(
    await failure(['endpoint', 'show', 'Shops']),
    'sallyport: there is no endpoint Shops. Did you mean "Shop"?\n',
  );
  assert.equal(
    await failure(['endpoint', 'show', 'Shop']),
    `sallyport: several endpoints are named Shop: use one of ${first.id}, ${second.id}\n`,
  );
  assert.equal(
    await failure(['webhook', 'start', 'Orders']),
    'sallyport: there is no webhook Orders. See: sallyport webhook list\n',
  );
});

test('ids of a name that several have come with their customers', async (t) => {
  const { json, failure } = await initialised(t);
  await json(['customer', 'create', '--name', 'Bolt Hardware']);
  const own = await json(endpoint('Shop'));
  const theirs = await json([...endpoint('Shop'), '--customer', 'Bolt Hardware']);
  assert.equal(
    await failure(['endpoint', 'show', 'Shop']),
    `sallyport: several endpoints are named Shop: use one of ${own.id}, ${theirs.id} (Bolt Hardware)\n`,
  );
});

test('a new webhook names patterns that no event type matches', async (t) => {
  const { run, json } = await initialised(t);
  await json(endpoint('Shop'));
  const { status, stdout } = await run([
    'webhook',
    'create',
    '--name',
    'Orders',
    '--endpoint',
    'Shop',
    '--event',
    'order.*',
  ]);
  assert.equal(status, 0);
  assert.match(stdout, /\nNo event type matches order\.\* yet\.\n$/);
});

test('a new webhook that cannot be started yet is created all the same, with the reason', async (t) => {
  const { run, json } = await initialised(t);
  await json([...endpoint('Shop'), '--disabled']);
  await json(['event-type', 'create', '--name', 'order.placed']);
  const create = ['webhook', 'create', '--name', 'Orders', '--endpoint', 'Shop', '--event', 'order.placed', '--start'];
  const { status, stdout, stderr } = await run(create);
  assert.equal(status, 1);
  assert.match(stdout, /^state +stopped$/m);
  assert.match(stderr, /^The webhook is created, but not started: .*its endpoint is not enabled/);
});

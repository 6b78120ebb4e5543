import assert from 'node:assert/strict';
import { test } from 'node:test';
import { creationOf, initialised, type Page, reachableReceiver } from '../support/command-folder.ts';
import { pgpVector } from '../support/vectors.ts';

const SHOP = ['endpoint', 'create', '--name', 'Shop', '--url', 'https://shop.example/hook'];

test('endpoint, webhook: are shown, changed as by PATCH, and deleted if nothing refers to them', async (t) => {
  const { run, json, failure } = await initialised(t);
  const endpoint = await json(SHOP);
  const webhook = await json([
    'webhook',
    'create',
    '--name',
    'Orders',
    '--endpoint',
    endpoint.id,
    '--event',
    'webhook.*',
    '--fields',
    '{"maxRecordsPerSecond":5}',
  ]);
  assert.deepEqual(await json(['webhook', 'show', webhook.id]), webhook);
  const { secret, ...shown } = endpoint;
  assert.deepEqual(await json(['endpoint', 'show', endpoint.id]), shown, 'without the secret');

  const patch = '{"maxRecordsPerSecond":null,"retry":{"maxAttempts":3}}';
  const patched = await json(['webhook', 'update', webhook.id, '--fields', '-'], patch);
  assert.deepEqual(
    [patched.name, patched.maxRecordsPerSecond, patched.retry],
    ['Orders', null, { policy: 'exponential', maxAttempts: 3 }],
  );
  const off = await json(['endpoint', 'update', endpoint.id, '--fields', '{"enabled":false}']);
  assert.deepEqual([off.name, off.enabled], ['Shop', false]);
  assert.match(
    await failure(['endpoint', 'update', endpoint.id, '--fields', '{"secret":"x"}']),
    /^sallyport: --fields: secret is changed by rotate-secret\n$/,
  );
  const usage = await run(['webhook', 'update', webhook.id]);
  assert.deepEqual([usage.status, /--fields is required/.test(usage.stderr)], [2, true]);

  assert.match(await failure(['endpoint', 'delete', endpoint.id]), /the endpoint is used by webhook Orders/);
  for (const words of [
    ['webhook', webhook.id],
    ['endpoint', endpoint.id],
  ] as const) {
    const [group, id] = words;
    const deleted = await run([group, 'delete', id]);
    assert.deepEqual([deleted.status, deleted.stdout, deleted.stderr], [0, '', '']);
    assert.match(await failure([group, 'show', id]), new RegExp(`^sallyport: there is no ${group} ${id}\n$`));
  }
});

test('key: is shown and deleted by its name, and stays while a webhook encrypts for it', async (t) => {
  const { run, json, failure } = await initialised(t);
  const key = await json(['key', 'import', '-', '--name', 'payroll'], pgpVector('curve25519'));
  assert.deepEqual(await json(['key', 'show', 'payroll']), key);
  const { stdout } = await run(['key', 'show', 'payroll']);
  assert.match(stdout, /^name +payroll$/m);
  assert.doesNotMatch(stdout, /BEGIN PGP/);

  const endpoint = await json(SHOP);
  const create = ['webhook', 'create', '--name', 'HR', '--endpoint', endpoint.id, '--event', 'employee.*'];
  const webhook = await json([...create, '--key', 'payroll']);
  assert.match(await failure(['key', 'delete', 'payroll']), /the key is used by webhook HR/);
  assert.equal((await run(['webhook', 'delete', webhook.id])).status, 0);
  assert.equal((await run(['key', 'delete', 'payroll'])).status, 0);
  assert.match(
    await failure(['key', 'delete', 'payroll']),
    /^sallyport: there is no key payroll\. See: sallyport key list\n$/,
  );
});

test('webhook test: sends one request, shows the result, and fails if the receiver refuses it', async (t) => {
  const { receiver, env } = await reachableReceiver(t);
  const { run, json, failure } = await initialised(t, env);
  const at = receiver.endpoint('/hook');
  const endpoint = await json(creationOf(at));
  const webhook = await json(['webhook', 'create', '--name', 'x', '--endpoint', endpoint.id, '--event', 'webhook.*']);
  const attempt = await json(['webhook', 'test', webhook.id]);
  assert.deepEqual([attempt.delivered, attempt.kind, attempt.responseStatus], [true, 'test', 204]);
  const [record] = (await at.next()).records;
  assert.deepEqual([record?.eventType, record?.actorId], ['webhook.test', 'command-line']);

  at.answer(() => ({ status: 503, body: 'later' }));
  const failed = await run(['webhook', 'test', webhook.id]);
  assert.equal(failed.status, 1);
  assert.match(failed.stdout, /^delivered +no\nresponse status +503\nresponse body +later\nerror class +http_status\n/);
  assert.match(failed.stdout, /^advice +\S/m);
  assert.equal(at.deliveries.length, 2);

  await json(['endpoint', 'update', endpoint.id, '--fields', '{"enabled":false}']);
  assert.match(await failure(['webhook', 'test', webhook.id]), /no test can be sent: endpoint_disabled/);
  assert.match(
    await failure(['webhook', 'start', webhook.id]),
    /is not enabled; enable it first: sallyport endpoint update [\w-]+ --fields '{"enabled":true}'\n$/,
  );
  assert.equal(at.deliveries.length, 2);
});

test('event erase: overwrites the events about one person and discards pending ones', async (t) => {
  const { json, failure } = await initialised(t);
  await json(['event-type', 'create', '--name', 'order.placed']);
  const endpoint = await json(SHOP);
  const webhook = await json([
    'webhook',
    'create',
    '--name',
    'x',
    '--endpoint',
    endpoint.id,
    '--event',
    'order.placed',
  ]);
  for (const subject of ['ada', 'grace']) {
    await json(['event', 'publish', 'order.placed', '{}', '--subject', subject]);
  }
  const erased = await json(['event', 'erase', '--subject', 'ada']);
  assert.deepEqual([erased.subject, erased.events, erased.deliveriesDiscarded, erased.attempts], ['ada', 1, 1, 0]);
  assert.match(String(erased.backups), /Backups .* still hold the data/);
  const { items } = await json<Page>(['deliveries', 'list', '--webhook', webhook.id]);
  assert.deepEqual(
    items.map(({ state }) => state),
    ['pending', 'discarded'],
  );
  assert.match(await failure(['event', 'erase', '--subject', '']), /subject must have at least 1 character/);
});

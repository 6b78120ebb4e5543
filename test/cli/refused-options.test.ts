import assert from 'node:assert/strict';
import { test } from 'node:test';
import { initialised } from '../support/command-folder.ts';

test('a refused field is named as the option or argument that set it', async (t) => {
  const { json, failure } = await initialised(t);
  const schema = '{"type": "object", "required": ["total"], "properties": {"lines": {"items": {"type": "string"}}}}';
  await json(['event-type', 'create', '--name', 'order.created', '--data-schema', schema]);
  await json(['customer', 'create', '--name', 'Bolt Hardware']);
  const pull = ['webhook', 'create', '--name', 'Orders', '--mode', 'pull', '--event'];
  const endpoint = ['endpoint', 'create', '--name', 'Shop', '--url'];
  const cases: readonly (readonly [words: readonly string[], problem: string])[] = [
    [[...pull, 'employee.*'], '--key is required: employee events must be encrypted'],
    [
      [...pull, 'order.created', '--key', 'x', '--standard-webhooks'],
      '2 problems:\n  --standard-webhooks has no effect in mode pull, where nothing is sent: leave it out\n  --key is not',
    ],
    [[...pull, 'Order'], '--event must be the name of an event type'],
    [[...pull, 'order.created', '--fields', '{"maxBatchRecords": 0}'], '--fields: maxBatchRecords must be at least 1'],
    [[...endpoint, 'http://shop.example'], '--url must begin with https://'],
    [[...endpoint, 'https://shop.example', '--api-key', '1'], '--api-key must be 32 hexadecimal digits'],
    [
      ['application', 'create', '--name', 'x', '--user', 'admin', '--validity-seconds', '1'],
      '--validity-seconds must be at least 300',
    ],
    [['customer', 'create', '--name', 'x', '--max-endpoints', '999999999'], '--max-endpoints must be at most 100000'],
    [['user', 'create', '--user-name', 'x', '--division', ''], '--division must have at least 1 character'],
    [['product', 'create', '--name', 'x', '--rule', 'GET /x orders'], '--rule: scope is not a scope of this product'],
    [['event', 'publish', 'order.created', '{"total": 1, "lines": [1]}'], '<data>: lines[0] must be a string'],
    [
      ['customer', 'link', 'Bolt', '--session-seconds', '1'],
      'there is no customer Bolt. Did you mean "Bolt Hardware"?',
    ],
    [
      ['customer', 'link', 'Bolt Hardware', '--session-seconds', '1', '--expires-in-seconds', '1'],
      '2 problems:\n  --expires-in-seconds must be at least 60\n  --session-seconds must be at least 300\n',
    ],
    [
      ['event', 'publish', 'order.craeted', '{}'],
      'there is no event type order.craeted. Did you mean "order.created"?',
    ],
  ];
  for (const [words, problem] of cases) {
    const told = await failure(words);
    assert.ok(told.startsWith(`sallyport: ${problem}`), told);
  }
});

test('text that is not JSON is refused with its place and what to do', async (t) => {
  const { run } = await initialised(t);
  const { status, stderr } = await run(['event', 'publish', 'order.created', '{orderId: 42}']);
  assert.deepEqual(
    [status, stderr.split('\n')[0]],
    [
      2,
      'sallyport event publish: <data> is not JSON: unexpected "o" at column 2. ' +
        `Names and texts need double quotes, as in '{"orderId": 42}'`,
    ],
  );
});

test('publishing tells how many webhooks the event waits for', async (t) => {
  const { run, json } = await initialised(t);
  await json(['event-type', 'create', '--name', 'order.created']);
  await json(['customer', 'create', '--name', 'Bolt Hardware', '--external-id', 'acct_2']);
  const publish = ['event', 'publish', 'order.created', '{}'];
  const subscribe = ['webhook', 'create', '--name', 'Orders', '--mode', 'pull', '--event', 'order.*'];
  await json([...subscribe, '--customer', 'acct_2']);
  const told = async (...options: readonly string[]): Promise<string> => {
    const { stdout } = await run([...publish, ...options]);
    return stdout.replace(/[0-9a-f-]{36}/, '{id}');
  };
  assert.match(
    await told(),
    /^Published order\.created \{id\} \(queued for no webhook: .*\)\. An event without --customer/,
  );
  const forBolt = ['--customer', 'Bolt Hardware', '--idempotency-key', 'once'];
  assert.equal(await told(...forBolt), 'Published order.created {id} (queued for 1 webhook)\n');
  assert.match(await told(...forBolt), /^order\.created was published before with this idempotency key, as \{id\}\./);
  await json(subscribe);
  assert.equal(await told('--everyone'), 'Published order.created {id} (queued for 2 webhooks)\n');
});

test('tables have names first and whole ids last, in at most 100 columns', async (t) => {
  const { run, json } = await initialised(t);
  const long = 'Orders of everything that was ever sold in any shop. '.repeat(3).trim();
  await json(['event-type', 'create', '--name', 'order.created', '--description', long]);
  await json(['customer', 'create', '--name', 'Bolt Hardware and everything else for the house', '--external-id', 'b']);
  const { id } = await json([
    'webhook',
    'create',
    '--name',
    long,
    '--mode',
    'pull',
    '--event',
    'order.*',
    '--customer',
    'b',
  ]);
  await json(['event', 'publish', 'order.created', '{}', '--customer', 'b']);
  for (const list of ['webhook', 'deliveries', 'customer', 'application', 'user', 'event-type', 'product']) {
    const { stdout } = await run([list, 'list']);
    for (const line of stdout.split('\n')) assert.ok(line.length <= 100, line);
  }
  const { stdout } = await run(['webhook', 'list']);
  assert.match(
    stdout,
    new RegExp(`^name +customer +mode +state +event types +id\nOrders of .*… +Bolt .*… +pull .* ${id}\n$`),
  );
  assert.match(
    (await run(['deliveries', 'list'])).stdout,
    /^event +webhook +customer +state +at \(UTC\) +id\norder\.created +Orders of … +Bolt Hardwa…/,
  );
});

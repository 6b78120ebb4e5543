import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { createClient, succeeded, tokenFor } from '../support/client.ts';
import { serve } from '../support/command.ts';
import { type Folder, initialised, type Json, type Page } from '../support/command-folder.ts';

const CREATE = [
  'product',
  'create',
  '--name',
  'Shop',
  '--scope',
  'orders:view=See orders.',
  '--scope',
  'orders:edit',
  '--rule',
  'GET,POST /shop/orders/{id} orders:view',
  '--rule',
  'PUT /shop/orders/{id} orders:edit shop-staff',
];
const SCOPES = [
  { name: 'orders:view', description: 'See orders.' },
  { name: 'orders:edit', description: '' },
];
const RULES = [
  { methods: ['GET', 'POST'], path: '/shop/orders/{id}', scope: 'orders:view' },
  { methods: ['PUT'], path: '/shop/orders/{id}', scope: 'orders:edit', permission: 'shop-staff' },
];

test('product: creates, lists and shows products, by id and by name', async (t) => {
  const { run, json } = await initialised(t);
  const made = await json(CREATE);
  assert.deepEqual([made.name, made.builtIn, made.scopes, made.rules], ['Shop', false, SCOPES, RULES]);
  assert.deepEqual(await json(['product', 'show', 'Shop']), made);
  assert.deepEqual(await json(['product', 'show', made.id]), made);
  const { items } = await json<Page>(['product', 'list']);
  assert.deepEqual(
    items.map(({ name, builtIn }) => [name, builtIn]),
    [
      ['Administration', true],
      ['Employees', true],
      ['Shop', false],
    ],
  );
  assert.deepEqual(items[2], made);

  const { stdout } = await run(['product', 'show', 'Shop']);
  assert.match(stdout, /^name +Shop$/m);
  assert.match(stdout, /^rule +GET,POST \/shop\/orders\/\{id\} orders:view$/m);
  assert.match(stdout, /^rule +PUT \/shop\/orders\/\{id\} orders:edit shop-staff$/m);
  assert.match(stdout, /^scope +orders:view=See orders\.$/m);
  assert.match((await run(['product', 'list'])).stdout, /^Shop +no +2 +2 +\S{36}$/m);
});

test('product: accepts a JSON object too, and names wrong fields', async (t) => {
  const { json, run, failure } = await initialised(t);
  const fields = JSON.stringify({ name: 'Shop', scopes: SCOPES, rules: RULES });
  const made = await json(['product', 'create', '--fields', '-'], fields);
  assert.deepEqual([made.name, made.scopes, made.rules], ['Shop', SCOPES, RULES]);
  assert.match(
    await failure(['product', 'create', '--fields', fields]),
    /^ {2}--fields: rules\[0\]\.path takes GET \/shop\/orders\/\{id\} for orders:view, but rules\[0\]\.path of product Shop takes /m,
  );
  assert.equal(await failure(['product', 'create']), 'sallyport: --name is required\n');
  const stray = ['product', 'create', '--name', 'Other', '--scope', 'a:b', '--rule', 'GET /x/../y a:b'];
  assert.match(await failure(stray), /^sallyport: --rule: path is no canonical path: /);
  const { status, stderr } = await run(['product', 'create', '--name', 'Other', '--rule', 'GET /x']);
  assert.equal(status, 2);
  assert.match(stderr, /--rule "GET \/x" is not '<methods> <path> <scope> \[<permission>\]'/);
  assert.equal((await json<Page>(['product', 'list'])).items.length, 3);
});

test('product: changes only given fields, and deletes', async (t) => {
  const { json, run, failure } = await initialised(t);
  const made = await json(CREATE);
  const renamed = await json(['product', 'update', 'Shop', '--name', 'Store']);
  assert.deepEqual([renamed.id, renamed.name, renamed.scopes, renamed.rules], [made.id, 'Store', SCOPES, RULES]);
  const narrowed = await json(['product', 'update', made.id, '--rule', 'GET /shop/orders/{id} orders:view']);
  assert.deepEqual(narrowed.rules, [{ methods: ['GET'], path: '/shop/orders/{id}', scope: 'orders:view' }]);
  assert.deepEqual(narrowed.scopes, SCOPES);
  assert.equal(
    await failure(['product', 'update', 'Shop', '--name', 'x']),
    'sallyport: there is no product Shop. See: sallyport product list\n',
  );
  assert.match(await failure(['product', 'update', 'Employees', '--name', 'x']), /is built in and cannot be changed/);

  await json(['application', 'create', '--name', 'Web shop', '--user', 'admin', '--scope', 'orders:view']);
  assert.match(await failure(['product', 'delete', 'Store']), /is used by application Web shop/);
  const { items } = await json<Page>(['application', 'list']);
  assert.equal(items.length, 2);
  assert.match(await failure(['product', 'delete', 'Administration']), /is built in/);
  await json(CREATE.map((word) => word.replace('Shop', 'Other').replaceAll('orders', 'others')));
  assert.deepEqual(await run(['product', 'delete', 'Other']), { status: 0, stdout: '', stderr: '' });
  assert.equal(
    await failure(['product', 'show', 'Other']),
    'sallyport: there is no product Other. See: sallyport product list\n',
  );
});

/** An application with `orders:edit`, for a new user with these permissions. */
async function holder({ json }: Folder, name: string, ...permissions: readonly string[]): Promise<Json> {
  const had = permissions.flatMap((permission) => ['--permission', permission]);
  await json(['user', 'create', '--user-name', name, ...had]);
  return json(['application', 'create', '--name', `for ${name}`, '--user', name, '--scope', 'orders:edit']);
}

test('product check: shows the matching rule and the applications that may call', async (t) => {
  const folder = await initialised(t);
  const { json, run, failure } = folder;
  await json(CREATE);
  const able = await holder(folder, 'ada', 'shop-staff');
  const unable = await holder(folder, 'bob', 'orders:edit');
  type Reach = { rule: Json | null; reason?: string; applications?: readonly Json[] };
  const reach = await json<Reach>(['product', 'check', 'PUT', '/shop/orders/17?a=b']);
  assert.deepEqual(reach.rule, {
    scope: 'orders:edit',
    permission: 'shop-staff',
    pattern: '/shop/orders/{id}',
    productName: 'Shop',
    params: { id: '17' },
  });
  assert.deepEqual(reach.applications, [
    { id: able.id, name: 'for ada', clientId: able.clientId, userName: 'ada', obstacle: null },
    {
      id: unable.id,
      name: 'for bob',
      clientId: unable.clientId,
      userName: 'bob',
      obstacle: 'the user bob lacks the permission shop-staff',
    },
  ]);
  const { stdout } = await run(['product', 'check', 'PUT', '/shop/orders/17']);
  assert.match(stdout, /^rule +PUT \/shop\/orders\/\{id\}$/m);
  assert.match(stdout, /^parameters +id=17$/m);
  assert.match(stdout, /^for ada +spc_\w+ +yes$/m);
  assert.match(stdout, /^for bob +spc_\w+ +no: the user bob lacks the permission shop-staff$/m);
  assert.match(
    (await run(['product', 'check', 'GET', '/shop/orders/17'])).stdout,
    /\nNo application has the scope\.\n$/,
  );

  assert.equal(
    await failure(['product', 'check', 'DELETE', '/shop/orders/17']),
    'sallyport: nobody may call it: no rule of the API catalogue names this path and method\n',
  );
  assert.match(
    await failure(['product', 'check', 'PUT', '/shop/orders/%2e']),
    /nobody may call it: .* ambiguous escape %2E/,
  );
  const none = await run(['product', 'check', 'PUT', '/shop//orders/17', '--json']);
  assert.equal(none.status, 1);
  assert.deepEqual(JSON.parse(none.stdout), { rule: null, reason: 'the request target contains an empty segment' });
});

test('product: a change takes effect in a running server', async (t) => {
  const { dataDir, credentials, json } = await initialised(t);
  const { announcement } = await serve(t, dataDir);
  const { url } = announcement;
  await json(CREATE);
  const { items: users } = await json<Page>(['user', 'list']);
  const { items: applications } = await json<Page>(['application', 'list']);
  const admin = createClient(url, await tokenFor(url, credentials));
  const more = (had: unknown): unknown[] => [...(had as unknown[]), 'orders:view'];
  await succeeded(admin.patch(`users/${users[0]?.id}`, { permissions: more(users[0]?.permissions) }));
  await succeeded(admin.patch(`applications/${applications[0]?.id}`, { scopes: more(applications[0]?.scopes) }));
  const client = createClient(url, await tokenFor(url, credentials, 'orders:view'));
  const headers = { 'X-Forwarded-Method': 'GET', 'X-Forwarded-Uri': '/shop/orders/17' };
  const ask = async (): Promise<number> => (await client.get('/services/api/oauth2/forward-auth', headers)).status;
  // The server checks once a second. The test's time limit ends the loop.
  const answered = async (status: number): Promise<void> => {
    while ((await ask()) !== status) await pause(20);
  };
  await answered(200);
  await json(['product', 'update', 'Shop', '--rule', 'GET /shop/elsewhere orders:view']);
  await answered(401);
});

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import BetterSqlite3 from 'better-sqlite3';
import { entityTag } from '../../src/resources/entity-tag.ts';
import { initialised, type Json, type Page } from '../support/command-folder.ts';

test('user: creates users, with a password that is shown once, and lists them', async (t) => {
  const { run, json, failure } = await initialised(t);
  const plain = await json([
    'user',
    'create',
    '--user-name',
    'payroll',
    '--permission',
    'employees:view',
    '--division',
    'sales',
  ]);
  assert.equal(plain.role, 'service');
  assert.deepEqual(plain.permissions, ['employees:view']);
  assert.deepEqual(plain.constraints, { divisions: ['sales'] });
  assert.equal('password' in plain, false);

  const person = [
    'user',
    'create',
    '--user-name',
    'ada',
    '--display-name',
    'Ada',
    '--role',
    'viewer',
    '--with-password',
  ];
  const { status, stdout } = await run([...person, '--email', 'ada@example.com']);
  assert.equal(status, 0);
  const password = /password\s+(\S+)\n/.exec(stdout)?.[1] ?? '';
  assert.match(password, /^([a-z2-9]{6}-){3}[a-z2-9]{6}$/);
  assert.match(stdout, /\nThe password is shown only once\.\n$/);

  const { items, nextCursor } = await json<Page>(['user', 'list']);
  assert.deepEqual(
    items.map(({ userName }) => userName),
    ['admin', 'payroll', 'ada'],
  );
  assert.equal(nextCursor, null);
  assert(!JSON.stringify(items).includes(password));
  assert.equal(await failure(person), 'sallyport: --user-name is taken: another user has "ada"\n');
  assert.equal((await run(['user', 'create', '--user-name', 'bob', '--role', 'king'])).status, 2);
  const both = ['user', 'create', '--user-name', 'a b', '--email', 'nowhere'];
  assert.match(
    await failure(both),
    /^sallyport: 2 problems:\n {2}--user-name must .*\n {2}--email must be an email address\n$/,
  );
});

test('user: service accounts get no password and no invitation', async (t) => {
  const { run, json, failure } = await initialised(t);
  const create = ['user', 'create', '--user-name', 'payroll', '--with-password'];
  for (const role of [[], ['--role', 'service']]) {
    assert.deepEqual(await run([...create, ...role]), {
      status: 2,
      stdout: '',
      stderr:
        'sallyport user create: --with-password does not work with the role service. Use --role viewer, operator ' +
        'or administrator\nSee: sallyport user create --help\n',
    });
  }
  assert.equal((await json<Page>(['user', 'list'])).items.length, 1);

  await json(['user', 'create', '--user-name', 'payroll']);
  assert.equal(
    await failure(['user', 'invite', 'payroll']),
    'sallyport: the user payroll has the role service, which does not sign in: give it viewer, operator or administrator first\n',
  );
  await json(['user', 'update', 'payroll', '--fields', '{"role":"viewer"}']);
  assert.match(String((await json(['user', 'invite', 'payroll'])).url), /\/invitations\/spi_/);
});

test('lists come in pages', async (t) => {
  const { run, json } = await initialised(t);
  for (const name of ['b', 'c']) await json(['user', 'create', '--user-name', name]);
  const first = await json<Page>(['user', 'list', '--limit', '2']);
  assert.deepEqual(
    first.items.map(({ userName }) => userName),
    ['admin', 'b'],
  );
  assert.equal(first.nextCursor, first.items[1]?.id);
  const second = await json<Page>(['user', 'list', '--limit', '2', '--cursor', first.nextCursor ?? '']);
  assert.deepEqual(
    second.items.map(({ userName }) => userName),
    ['c'],
  );
  assert.equal(second.nextCursor, null);
  const exact = await json<Page>(['user', 'list', '--limit', '3']);
  assert.equal(exact.nextCursor, null);
  const { stdout } = await run(['user', 'list', '--limit', '2']);
  assert.match(stdout, /^user name +display name +role +active +id\n/);
  assert(stdout.endsWith(`\nMore items: --cursor ${first.nextCursor}\n`), stdout);
  assert.equal((await run(['key', 'list'])).stdout, 'None.\n');
});

test('lists accept the filters and orders of the API', async (t) => {
  const { run, json } = await initialised(t);
  for (const name of ['b', 'C']) await json(['user', 'create', '--user-name', name]);
  await json(['user', 'update', 'b', '--fields', '{"active":false}']);
  const listed: readonly [args: readonly string[], names: readonly string[]][] = [
    [['--user-name', 'b'], ['b']],
    [
      ['--role', 'service'],
      ['b', 'C'],
    ],
    [['--role', 'service', '--active', 'true'], ['C']],
    [
      ['--sort', 'userName'],
      ['admin', 'b', 'C'],
    ],
    [['--sort=-userName'], ['C', 'b', 'admin']],
    [
      ['--sort=-createdAt', '--active', 'true'],
      ['C', 'admin'],
    ],
  ];
  for (const [args, names] of listed) {
    const { items } = await json<Page>(['user', 'list', ...args]);
    assert.deepEqual(
      items.map(({ userName }) => userName),
      names,
      args.join(' '),
    );
  }
  const first = await json<Page>(['user', 'list', '--sort=-userName', '--limit', '2']);
  const cursor = first.nextCursor ?? assert.fail();
  const second = await json<Page>(['user', 'list', '--sort=-userName', '--cursor', cursor]);
  assert.deepEqual(
    second.items.map(({ userName }) => userName),
    ['admin'],
  );
  const wrong: readonly [args: readonly string[], says: RegExp][] = [
    [['--sort', 'role'], /--sort must be one of createdAt, -createdAt, userName, -userName/],
    [['--sort', 'userName', '--cursor', cursor], /--cursor is not a cursor of this list in this order/],
    [['--active', 'yes'], /--active must be one of true, false/],
    [['--role', 'king'], /--role must be one of administrator, /],
  ];
  for (const [args, says] of wrong) {
    const { status, stderr } = await run(['user', 'list', ...args]);
    assert.equal(status, 2, args.join(' '));
    assert.match(stderr, says);
  }
});

test('application: creates one, lists it without its secret, replaces the secret and revokes tokens', async (t) => {
  const { credentials, json, failure } = await initialised(t);
  const args = ['application', 'create', '--name', 'Payroll', '--scope', 'employees:view', '--scope', 'employees:edit'];
  const created = await json([...args, '--user', 'admin', '--validity-seconds', '600']);
  assert.deepEqual(created.scopes, ['employees:edit', 'employees:view']);
  assert.equal(created.accessTokenValiditySeconds, 600);
  assert.match(String(created.clientSecret), /^sps_/);
  assert.equal((await json([...args, '--user', String(created.userId)])).userId, created.userId);

  const { items } = await json<Page>(['application', 'list']);
  assert.deepEqual(
    items.map(({ name }) => name),
    ['administration', 'Payroll', 'Payroll'],
  );
  assert.equal(items[0]?.clientId, credentials.clientId);
  assert(items.every((item) => !('clientSecret' in item)));

  const again = await json(['application', 'regenerate-secret', created.id, '--overlap-seconds', '60']);
  assert.equal(again.clientId, created.clientId);
  assert.notEqual(again.clientSecret, created.clientSecret);
  assert.notEqual(again.previousSecretExpiresAt, null);
  assert.equal((await json(['application', 'revoke-tokens', created.id])).id, created.id);

  assert.equal(
    await failure([...args, '--user', 'nobody']),
    'sallyport: there is no user nobody. See: sallyport user list\n',
  );
  assert.match(
    await failure([...args, '--user', 'admin', '--scope', 'x:y']),
    /^sallyport: --scope "x:y" is not a scope of any product/,
  );
  const nowhere = '0193a1f0-0000-7000-8000-00000000ffff';
  assert.match(
    await failure(['application', 'revoke-tokens', nowhere]),
    new RegExp(`there is no application ${nowhere}`),
  );
});

test('update and delete change nothing with another ETag in --if-match', async (t) => {
  const { json, run, failure } = await initialised(t);
  const user = await json(['user', 'create', '--user-name', 'ada']);
  const present = entityTag(user);
  const update = ['user', 'update', String(user.id), '--fields', '{"displayName":"Ada"}', '--if-match'];
  const deletion = ['user', 'delete', String(user.id), '--if-match'];
  for (const command of [update, deletion]) assert.match(await failure([...command, '"x"']), /has changed since/);
  assert.equal((await json(['user', 'show', String(user.id)])).displayName, null);
  // Shells remove quotes.
  const changed = await json([...update, present.slice(1, -1)]);
  assert.equal(changed.displayName, 'Ada');
  assert.match(await failure([...deletion, present]), /has changed since/);
  assert.equal((await run([...deletion, entityTag(changed)])).stdout, '');
});

test('commands are audited as the command line, without secrets', async (t) => {
  const { dataDir, json, run } = await initialised(t);
  const { clientSecret } = await json(['application', 'create', '--name', 'x', '--user', 'admin']);
  const connection = new BetterSqlite3(join(dataDir, 'sallyport.db'), { readonly: true });
  const [last] = connection.prepare('SELECT actor, action, changes FROM audit ORDER BY number DESC').all() as Json[];
  connection.close();
  assert.deepEqual([last?.actor, last?.action], ['command-line', 'application.create']);
  assert(!String(last?.changes).includes(String(clientSecret)));
  assert.equal((await run(['doctor'])).status, 0);
});

test('names cannot contain terminal control characters in the output', async (t) => {
  const { run } = await initialised(t);
  const description = 'plain \u001b[2J\u202eesrever';
  await run(['event-type', 'create', '--name', 'a.b', '--description', description]);
  const { stdout } = await run(['event-type', 'list']);
  assert(stdout.includes('plain \\u{1b}[2J\\u{202e}esrever'), stdout);
});

test('customer: prints links and tokens, and tables name the customer', async (t) => {
  const { run, json, failure } = await initialised(t);
  const { id } = await json(['customer', 'create', '--name', 'Acme Works']);
  await json(['user', 'create', '--user-name', 'grace', '--customer', String(id)]);
  const token = await json(['customer', 'token', 'Acme Works', '--role', 'viewer', '--expires-in-seconds', '60']);
  assert.match(String(token.token), /^spp_/);
  assert.match(await failure(['customer', 'token', 'Acme Works', '--expires-in-seconds', '59']), /60/);
  const renew = ['--renew-url', 'https://shop.example/webhooks'];
  assert.match(String((await json(['customer', 'link', 'Acme Works', ...renew])).url), /portal-links/);
  assert.match(await failure(['customer', 'link', 'Acme Works', '--renew-url', 'ftp://x']), /--renew-url/);
  const { stdout } = await run(['user', 'list']);
  assert.match(stdout, /^\S.*\bcustomer\b/m);
  assert.match(stdout, /grace .*Acme Works/);
  const { items } = await json<{ items: Json[] }>(['user', 'list']);
  assert.ok(items.every((item) => !('customer' in item)));
  await json(['customer', 'update', 'Acme Works', '--fields', '{"active": false}']);
  assert.match((await run(['customer', 'list'])).stdout, /^name +state +id\nAcme Works +suspended +/);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createClient, EDGE, tokenFor } from '../support/client.ts';
import { serve } from '../support/command.ts';
import { initialised } from '../support/command-folder.ts';
import { pgpVector } from '../support/vectors.ts';

const OFF = ['--fields', '{"active":false}'];
const ON = ['--fields', '{"active":true}'];

test('an application or user that a command disables is refused at the next call to the server', async (t) => {
  const { dataDir, credentials, json } = await initialised(t);
  const { announcement } = await serve(t, dataDir);
  // The last active administrator cannot be disabled.
  await json(['user', 'create', '--user-name', 'ada', '--role', 'administrator']);
  const statusOf = async (token: string): Promise<number> => {
    const { status } = await createClient(announcement.url, token).get(`${EDGE}/users`);
    return status;
  };
  for (const [group, name] of [
    ['application', credentials.clientId],
    ['user', 'admin'],
  ] as const) {
    const token = await tokenFor(announcement.url, credentials);
    assert.equal(await statusOf(token), 200);
    assert.equal((await json([group, 'update', name, ...OFF])).active, false);
    assert.equal(await statusOf(token), 401, group);
    await assert.rejects(tokenFor(announcement.url, credentials));
    assert.equal((await json([group, 'update', name, ...ON])).active, true);
    assert.equal(await statusOf(token), 401, 'a revoked token does not come back');
    assert.equal(await statusOf(await tokenFor(announcement.url, credentials)), 200);
  }
});

test('application: is shown, changed, given a new secret and deleted by id or client id', async (t) => {
  const { json, run, failure } = await initialised(t);
  const { clientSecret, ...created } = await json(['application', 'create', '--name', 'Payroll', '--user', 'admin']);
  const clientId = String(created.clientId);
  for (const name of [created.id, clientId]) assert.deepEqual(await json(['application', 'show', name]), created);
  const scopes = '{"scopes":["employees:view"],"name":"Payroll 2"}';
  const changed = await json(['application', 'update', clientId, '--fields', '-'], scopes);
  assert.deepEqual([changed.id, changed.name, changed.scopes], [created.id, 'Payroll 2', ['employees:view']]);
  const renewed = await json(['application', 'regenerate-secret', clientId, '--revoke-tokens']);
  assert.notEqual(renewed.clientSecret, clientSecret);
  assert.equal((await json(['application', 'revoke-tokens', clientId])).id, created.id);
  assert.match(
    await failure(['application', 'update', clientId, '--fields', '{"clientSecret":"x"}']),
    /^sallyport: --fields: clientSecret is set by the service\n$/,
  );

  const deleted = await run(['application', 'delete', clientId]);
  assert.deepEqual([deleted.status, deleted.stdout, deleted.stderr], [0, '', '']);
  const gone = `sallyport: there is no application ${clientId}. See: sallyport application list\n`;
  for (const command of ['show', 'delete', 'revoke-tokens', 'regenerate-secret']) {
    assert.equal(await failure(['application', command, clientId]), gone);
  }
  assert.equal(await failure(['application', 'update', clientId, ...OFF]), gone);
});

test('user: is shown, changed and deleted by id or user name, but not while an application acts as it', async (t) => {
  const { json, run, failure } = await initialised(t);
  const created = await json(['user', 'create', '--user-name', 'ada', '--permission', 'employees:view']);
  for (const name of [created.id, 'ada']) assert.deepEqual(await json(['user', 'show', name]), created);
  const changed = await json(['user', 'update', 'ada', '--fields', '{"role":"viewer","permissions":["a:x"]}']);
  assert.deepEqual([changed.role, changed.permissions, changed.active], ['viewer', ['a:x'], true]);

  const application = await json(['application', 'create', '--name', 'Payroll', '--user', 'ada']);
  assert.match(await failure(['user', 'delete', 'ada']), /the user is used by application Payroll/);
  await run(['application', 'delete', application.id]);
  assert.deepEqual(await run(['user', 'delete', 'ada']), { status: 0, stdout: '', stderr: '' });
  assert.equal(await failure(['user', 'delete', 'ada']), 'sallyport: there is no user ada. See: sallyport user list\n');
});

test('user delete: refuses the last active administrator', async (t) => {
  const { credentials, run, failure } = await initialised(t);
  await run(['application', 'delete', credentials.clientId]);
  assert.match(
    await failure(['user', 'delete', 'admin']),
    /^sallyport: admin is the last active administrator: it stays, active and in this role\n$/,
  );
  assert.equal((await run(['user', 'show', 'admin'])).status, 0);
});

test('key update: changes the name, also in webhooks, and the key', async (t) => {
  const { json, run, failure } = await initialised(t);
  const key = await json(['key', 'import', '-', '--name', 'payroll'], pgpVector('curve25519'));
  const endpoint = await json(['endpoint', 'create', '--name', 'Shop', '--url', 'https://shop.example/hook']);
  const webhook = await json([
    'webhook',
    'create',
    '--name',
    'HR',
    '--endpoint',
    endpoint.id,
    '--event',
    'employee.*',
    '--key',
    'payroll',
  ]);
  const renamed = await json(['key', 'update', 'payroll', '--name', 'hr']);
  assert.deepEqual([renamed.id, renamed.name, renamed.fingerprint], [key.id, 'hr', key.fingerprint]);
  assert.equal((await json(['webhook', 'show', webhook.id])).encryptionKeyName, 'hr');

  const replaced = await json(['key', 'update', 'hr', '--public-key', '-'], pgpVector('rsa4096'));
  assert.deepEqual([replaced.id, replaced.name, replaced.publicKey], [key.id, 'hr', pgpVector('rsa4096')]);
  assert.notEqual(replaced.fingerprint, key.fingerprint);
  assert.equal((await json(['key', 'update', 'hr', '--fields', '{"name":"payroll"}'])).name, 'payroll');
  assert.match(
    await failure(['key', 'update', 'payroll', '--public-key', '-'], pgpVector('weak-rsa1024')),
    /^sallyport: --public-key cannot be used/,
  );
  assert.equal(
    await failure(['key', 'update', 'hr', '--name', 'x']),
    'sallyport: there is no key hr. See: sallyport key list\n',
  );
  const nothing = await run(['key', 'update', 'payroll']);
  assert.equal(nothing.status, 2);
  assert.match(nothing.stderr, /^sallyport key update: Use one of --name, --public-key, --fields\n/);
});

test('event-type: is created, listed, shown, changed and deleted by name, unless it is built in', async (t) => {
  const { json, run, failure } = await initialised(t);
  const created = await json(['event-type', 'create', '--name', 'order.placed']);
  assert.deepEqual(await json(['event-type', 'show', 'order.placed']), created);
  const fields = '{"description":"Somebody ordered.","dataSchema":{"type":"object"}}';
  const changed = await json(['event-type', 'update', 'order.placed', '--fields', fields]);
  assert.deepEqual([changed.description, changed.dataSchema], ['Somebody ordered.', { type: 'object' }]);
  for (const command of [
    ['update', 'employee.created', '--fields', '{"description":"x"}'],
    ['delete', 'webhook.test'],
  ]) {
    assert.match(await failure(['event-type', ...command]), /is built in and cannot be changed/);
  }
  assert.match(
    await failure(['event-type', 'update', 'order.placed', '--fields', '{"name":"order.made"}']),
    /^sallyport: --fields: name cannot be changed/,
  );
  assert.deepEqual(await run(['event-type', 'delete', 'order.placed']), { status: 0, stdout: '', stderr: '' });
  assert.equal(
    await failure(['event-type', 'show', 'order.placed']),
    'sallyport: there is no event type order.placed. See: sallyport event-type list\n',
  );
});

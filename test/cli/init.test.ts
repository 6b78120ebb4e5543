import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, openSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { FirstCredentials } from '../../src/data/data.ts';
import { credentialBytes } from '../../src/domain/credential.ts';
import { CHEAP_PASSWORD, commandLine, sallyport, sallyportJson, unusedFolder } from '../support/command.ts';

test('init creates the data folder and prints the first credentials once, as a JSON object', async (t) => {
  const dataDir = unusedFolder(t);
  const { status, stdout, stderr } = await sallyport(['init', '--json'], { env: { SALLYPORT_DATA: dataDir } });
  assert.equal(stderr, '');
  assert.equal(status, 0);
  assert.match(stdout, /^\{.*\}\n$/);
  const credentials = JSON.parse(stdout) as FirstCredentials;
  assert.deepEqual(Object.keys(credentials), ['dataDir', 'adminUserName', 'adminPassword', 'clientId', 'clientSecret']);
  assert.equal(credentials.dataDir, dataDir);
  assert.equal(credentials.adminUserName, 'admin');
  assert.notEqual(credentialBytes('spc', credentials.clientId), null);
  assert.notEqual(credentialBytes('sps', credentials.clientSecret), null);
  assert.equal(statSync(dataDir).mode & 0o777, 0o700);
  for (const file of readdirSync(dataDir)) assert.equal(statSync(join(dataDir, file)).mode & 0o777, 0o600, file);

  const again = await sallyport(['init', '--json'], { env: { SALLYPORT_DATA: dataDir } });
  assert.deepEqual(again, {
    status: 1,
    stdout: '',
    stderr: `sallyport: ${dataDir} is already initialised, and its credentials were shown then\n`,
  });
});

test('init without --json prints them for people', async (t) => {
  const dataDir = unusedFolder(t);
  const { status, stdout } = await sallyport(['init', '--data', dataDir]);
  assert.equal(status, 0);
  assert(stdout.startsWith(`The data is in ${dataDir}. These credentials are shown only once:\n\n`), stdout);
  assert.match(
    stdout,
    /\nadministrator {2}admin\npassword {7}[a-z2-9-]{27}\nclient id {6}spc_\w+\nclient secret {2}sps_\w+\n$/,
  );
});

test('init uses a master key in another place', async (t) => {
  const dataDir = unusedFolder(t);
  const masterKeyFile = `${dataDir}.key`;
  await sallyportJson(['init', '--data', dataDir, '--master-key-file', masterKeyFile]);
  assert.equal(existsSync(join(dataDir, 'master.key')), false);
  const users = ['user', 'list', '--data', dataDir];
  assert.equal((await sallyport([...users, '--master-key-file', masterKeyFile])).status, 0);
  const { status, stderr } = await sallyport(users);
  assert.equal(status, 1);
  assert.match(stderr, /there is no master key at .*put the key back/);
});

/** Runs init with unwritable standard output. */
async function initInto(
  dataDir: string,
  stdout: 'full disk' | 'closed pipe',
): Promise<{ status: number | null; stderr: string }> {
  const [program = '', ...args] = commandLine(['init', '--data', dataDir]);
  const out = stdout === 'full disk' ? openSync('/dev/full', 'w') : 'pipe';
  const env = { ...process.env, ...CHEAP_PASSWORD };
  const child = spawn(program, args, { env, stdio: ['ignore', out, 'pipe'] });
  child.stdout?.destroy();
  let stderr = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const [status] = (await once(child, 'close')) as [number | null];
  return { status, stderr };
}

test('credentials that could not be printed are shown again', async (t) => {
  const dataDir = unusedFolder(t);
  const { status, stderr } = await initInto(dataDir, 'full disk');
  assert.equal(status, 1);
  // Node's message, or Deno's.
  assert.match(stderr, /^sallyport: the output cannot be written \((?:ENOSPC|No space left on device.*)\)\n$/);
  assert.equal((await initInto(dataDir, 'closed pipe')).stderr, '');
  const { clientId } = await sallyportJson<FirstCredentials>(['init', '--data', dataDir]);
  const { items } = await sallyportJson<{ items: { clientId: string }[] }>(['application', 'list', '--data', dataDir]);
  assert.deepEqual(
    items.map((application) => application.clientId),
    [clientId],
  );
  assert.equal((await sallyport(['init', '--data', dataDir])).status, 1);
});

/** Errors for an unusable folder, key or address name its setting, as errors for other settings do. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { test } from 'node:test';
import { cleanUp } from '../support/cleanup.ts';
import { sallyport, unusedFolder } from '../support/command.ts';
import { initialised } from '../support/command-folder.ts';
import { startUpstream } from '../support/upstream.ts';

type Env = Readonly<Record<string, string>>;

async function told(args: readonly string[], env: Env = {}): Promise<string> {
  const { status, stdout, stderr } = await sallyport(args, { env });
  assert.deepEqual([status, stdout], [1, ''], stderr);
  return stderr;
}

test('an invalid data folder names its setting', async (t) => {
  const folder = unusedFolder(t);
  const none = `there is no data in ${folder} yet`;
  for (const command of [
    ['user', 'list'],
    ['backup', join(dirname(folder), 'x.db')],
    ['rotate-master-key'],
    ['event', 'publish', 'order.placed', '{}'],
  ]) {
    assert.ok((await told([...command, '--data', folder])).startsWith(`sallyport: --data: ${none}`));
    assert.ok((await told(command, { SALLYPORT_DATA: folder })).startsWith(`sallyport: SALLYPORT_DATA: ${none}`));
  }
  const both = await told(['user', 'list', '--data', folder], { SALLYPORT_DATA: '/elsewhere' });
  assert.ok(both.startsWith(`sallyport: --data: ${none}`), both);
});

test('a data folder that cannot be created or opened names its setting', async (t) => {
  const file = join(dirname(unusedFolder(t)), 'file');
  writeFileSync(file, '');
  for (const command of ['serve', 'init']) {
    assert.match(await told([command, '--data', join(file, 'x')]), /^sallyport: --data: the data folder .* ENOTDIR/m);
  }
  const folder = unusedFolder(t);
  mkdirSync(folder, { mode: 0o700 });
  writeFileSync(join(folder, 'sallyport.db'), 'a letter to my grandmother, '.repeat(100), { mode: 0o600 });
  writeFileSync(join(folder, 'master.key'), `${Buffer.alloc(32, 7).toString('base64')}\n`, { mode: 0o600 });
  const env = { SALLYPORT_DATA: folder };
  for (const command of [
    ['user', 'list'],
    ['backup', `${file}.db`],
  ]) {
    assert.match(
      await told(command, env),
      /^sallyport: SALLYPORT_DATA: the database .* cannot be opened: file is not a/,
    );
  }
});

test('a missing, malformed or wrong master key names its setting', async (t) => {
  const { dataDir, run } = await initialised(t);
  const key = join(dirname(dataDir), 'other.key');
  const backup = join(dirname(dataDir), 'x.db');
  assert.equal((await run(['backup', backup])).status, 0);
  const commands = [
    ['user', 'list'],
    ['backup', `${backup}2`, '--with-master-key'],
    ['restore', backup, '--force'],
  ];
  const contents = [null, 'no key\n', `${Buffer.alloc(32, 7).toString('base64')}\n`];
  for (const content of contents) {
    if (content !== null) writeFileSync(key, content, { mode: 0o600 });
    for (const command of commands) {
      const byFlag = await told([...command, '--data', dataDir, '--master-key-file', key]);
      assert.match(byFlag, /^sallyport: --master-key-file: .*other\.key/);
      const byVariable = await told([...command, '--data', dataDir], { SALLYPORT_MASTER_KEY_FILE: key });
      assert.match(byVariable, /^sallyport: SALLYPORT_MASTER_KEY_FILE: .*other\.key/);
    }
  }
});

test('an unusable address names its setting: the host, or the port if it is in use', async (t) => {
  const { dataDir } = await initialised(t);
  const serve = ['serve', '--data', dataDir];
  assert.match(
    await told([...serve, '--port', '0', '--host', '192.0.2.1']),
    /^sallyport: --host: cannot listen: listen /m,
  );
  const env = { SALLYPORT_HOST: '192.0.2.1', SALLYPORT_PORT: '0' };
  assert.match(await told(serve, env), /^sallyport: SALLYPORT_HOST: cannot listen: listen /m);
  const other = await startUpstream();
  cleanUp(t, other.close);
  const { port } = new URL(other.url);
  assert.match(
    await told(serve, { SALLYPORT_HOST: '127.0.0.1', SALLYPORT_PORT: port }),
    /^sallyport: SALLYPORT_PORT: another program listens on /m,
  );
});

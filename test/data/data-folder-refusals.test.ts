import assert from 'node:assert/strict';
import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import BetterSqlite3 from 'better-sqlite3';
import { makeMasterKey } from '../../src/data/master-key.ts';
import { randomBytes } from '../../src/kernel/ids.ts';
import { SCHEMA_VERSION } from '../../src/store/sqlite/driver/schema.ts';
import { cleanUp } from '../support/cleanup.ts';
import { unusedFolder } from '../support/command.ts';
import { configOf, modeOf, open, refusal, startedFolder } from '../support/data-folder.ts';

test('a master key that is accessible to others is refused with the command to run', async (t) => {
  const config = await startedFolder(t);
  const path = join(config.dataDir, 'master.key');
  for (const mode of [0o640, 0o604, 0o620, 0o611]) {
    chmodSync(path, mode);
    for (const exclusive of [true, false]) {
      assert(
        (await refusal(config, exclusive)).endsWith(`(mode 0${mode.toString(8)}); run: chmod 600 ${path}`),
        mode.toString(8),
      );
    }
    assert.equal(modeOf(path), mode.toString(8));
  }
  chmodSync(path, 0o400);
  await open(t, config);
});

test('a malformed master key is refused and not changed', async (t) => {
  const config = await startedFolder(t);
  const path = join(config.dataDir, 'master.key');
  const good = readFileSync(path, 'utf8').trim();
  const bad = [
    '',
    '\n',
    randomBytes(31),
    randomBytes(33),
    good.slice(0, -1),
    `${good}AAAA`,
    `${good} ${good}`,
    'a'.repeat(44),
  ];
  for (const content of bad) {
    writeFileSync(path, typeof content === 'string' ? content : Buffer.from(content).toString('base64'));
    const before = readFileSync(path);
    const message = await refusal(config);
    assert(message.endsWith('is not 32 bytes as Base64 text'), message);
    assert(typeof content !== 'string' || content.trim() === '' || !message.includes(content), message);
    assert.deepEqual(readFileSync(path), before);
  }
  writeFileSync(path, `  ${good}\n\n`);
  await open(t, config);
});

test('a database without its master key is refused, and no new key is created', async (t) => {
  const config = await startedFolder(t);
  const path = join(config.dataDir, 'master.key');
  const database = readFileSync(join(config.dataDir, 'sallyport.db'));
  rmSync(path);
  for (const exclusive of [true, false]) {
    assert.match(
      await refusal(config, exclusive),
      /there is no master key at .*whose secrets only that key can read: put the key back/,
    );
  }
  assert.equal(existsSync(path), false);
  assert.deepEqual(readFileSync(join(config.dataDir, 'sallyport.db')), database);
});

test('the master key of another database is refused, and nothing is sealed with it', async (t) => {
  const config = await startedFolder(t);
  const other = join(config.dataDir, 'other.key');
  makeMasterKey(other, randomBytes);
  for (const exclusive of [true, false]) {
    assert.equal(
      await refusal({ ...config, masterKeyFile: other }, exclusive),
      `${other}: the master key is not the one that this database was made with`,
    );
  }
  await open(t, config);
});

test('a database of a newer schema is refused with both versions, and not changed', async (t) => {
  const config = await startedFolder(t);
  const path = join(config.dataDir, 'sallyport.db');
  const connection = new BetterSqlite3(path);
  cleanUp(t, () => connection.close());
  connection.pragma(`user_version = ${SCHEMA_VERSION + 1}`);
  for (const exclusive of [true, false]) {
    const message = await refusal(config, exclusive);
    assert.match(
      message,
      new RegExp(`its schema is version ${SCHEMA_VERSION + 1}, .* knows version ${SCHEMA_VERSION}`),
    );
  }
  assert.equal(connection.pragma('user_version', { simple: true }), SCHEMA_VERSION + 1);
});

test('a database of another program is refused and not changed', async (t) => {
  const config = await startedFolder(t);
  const path = join(config.dataDir, 'sallyport.db');
  rmSync(path);
  const connection = new BetterSqlite3(path);
  cleanUp(t, () => connection.close());
  connection.exec('CREATE TABLE other (a)');
  assert.match(await refusal(config), /its schema is version 0, which Sallyport .* cannot migrate/);
  const tables = connection.prepare('SELECT name FROM sqlite_master').all();
  assert.deepEqual(tables, [{ name: 'other' }]);
});

test('a file that is not a database is refused and not changed', async (t) => {
  const config = await startedFolder(t);
  const path = join(config.dataDir, 'sallyport.db');
  const text = 'a letter to my grandmother, '.repeat(100);
  writeFileSync(path, text);
  assert.match(await refusal(config), /sallyport\.db cannot be opened: file is not a database/);
  assert.equal(readFileSync(path, 'utf8'), text);
});

test('a folder that cannot be created is refused with the reason', async (t) => {
  const folder = unusedFolder(t);
  writeFileSync(folder, '');
  assert.match(await refusal(configOf(join(folder, 'data'))), /the data folder .* cannot be used: ENOTDIR/);
});

import assert from 'node:assert/strict';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Config } from '../../src/config/config.ts';
import { openFolder } from '../../src/data/data-folder.ts';
import { makeFirstCredentials } from '../../src/data/first-start.ts';
import { makeMasterKey } from '../../src/data/master-key.ts';
import { BUILT_IN_EVENT_TYPES } from '../../src/events/built-in.ts';
import { readAsset } from '../../src/kernel/assets.ts';
import { isUuidV7, randomBytes } from '../../src/kernel/ids.ts';
import { createSchema, SCHEMA_VERSION } from '../../src/store/sqlite/driver/schema.ts';
import { openSqlite } from '../../src/store/sqlite/driver/sqlite.ts';
import { unusedFolder } from '../support/command.ts';
import { configOf, modeOf, open, refusal, startedFolder } from '../support/data-folder.ts';

test('the first start creates the folder, the master key and the database, accessible only to their owner', async (t) => {
  const config = configOf(join(unusedFolder(t), 'below'));
  const { dataDir } = config;
  const data = await open(t, config);
  assert.equal(data.firstStart, true);
  assert.equal(modeOf(dataDir), '700');
  const files = readdirSync(dataDir).sort();
  assert.deepEqual(files, ['master.key', 'sallyport.db', 'sallyport.db-shm', 'sallyport.db-wal', 'serve.lock']);
  for (const file of files) assert.equal(modeOf(join(dataDir, file)), '600', file);
  const key = readFileSync(join(dataDir, 'master.key'), 'utf8');
  assert.match(key, /^[A-Za-z0-9+/]{43}=\n$/);
  assert.equal(Buffer.from(key, 'base64').length, 32);
});

test('a folder is opened with its data after its first start', async (t) => {
  const config = await startedFolder(t);
  const key = readFileSync(join(config.dataDir, 'master.key'));
  const data = await open(t, config);
  assert.equal(data.firstStart, false);
  assert.equal((await data.store.users.getByName(null, 'admin'))?.role, 'administrator');
  assert.deepEqual(readFileSync(join(config.dataDir, 'master.key')), key);
});

test('a folder has one server at a time, and the first keeps its lock when a second is refused', async (t) => {
  const config = await startedFolder(t);
  const first = await open(t, config);
  assert.match(await refusal(config), /is in use: another sallyport serves it/);
  assert.match(await refusal(config), /is in use/);
  await first.close();
  await open(t, config);
});

test('commands open the folder while a server runs, and see its writes', async (t) => {
  const config = await startedFolder(t);
  const server = await open(t, config);
  const beside = await open(t, config, false);
  const { id } = BUILT_IN_EVENT_TYPES[0] ?? { id: '' };
  assert.deepEqual(await beside.store.eventTypes.get(id), await server.store.eventTypes.get(id));
  assert.equal(beside.firstStart, false);
});

test('a command on an empty folder says how to begin and creates nothing', async (t) => {
  const config = configOf(unusedFolder(t));
  assert.match(await refusal(config, false), /there is no data in .* run sallyport init or sallyport serve/);
  assert.equal(existsSync(config.dataDir), false);
});

test('the master key is created and read at the path in the setting', async (t) => {
  const folder = unusedFolder(t);
  mkdirSync(folder);
  const config = configOf(join(folder, 'data'), { masterKeyFile: join(folder, 'key') });
  await (await open(t, config)).close();
  assert.equal(modeOf(join(folder, 'key')), '600');
  assert.equal(existsSync(join(config.dataDir, 'master.key')), false);
  await open(t, config);
});

test('schema.sql has the version that the program expects', () => {
  assert.match(readAsset('schema.sql'), new RegExp(`^PRAGMA user_version = ${SCHEMA_VERSION};$`, 'm'));
});

test('a folder that exists keeps its permissions', async (t) => {
  const folder = unusedFolder(t);
  mkdirSync(folder);
  chmodSync(folder, 0o750);
  await open(t, configOf(folder));
  assert.equal(modeOf(folder), '750');
});

const HALF_KEY = 'master.key.5f0c7a52-7d0e-4b0a-9c53-0d4f4f0f8a11.new';
const AN_HOUR_AGO = Date.now() / 1000 - 3600;

/** The state of the folder if the first start is killed after each of its steps, in order. */
const INTERRUPTED: readonly (readonly [after: string, leave: (config: Config) => void | Promise<void>])[] = [
  ['the folder', ({ dataDir }) => void mkdirSync(dataDir, { mode: 0o700 })],
  ['the marker of a first start', ({ dataDir }) => writeFileSync(join(dataDir, 'first-start'), '', { mode: 0o600 })],
  ['the lock file', ({ dataDir }) => writeFileSync(join(dataDir, 'serve.lock'), '', { mode: 0o600 })],
  [
    'half of the master key',
    ({ dataDir }) => {
      writeFileSync(join(dataDir, HALF_KEY), 'AAAA', { mode: 0o600 });
      // A younger one may be of a process that runs.
      utimesSync(join(dataDir, HALF_KEY), AN_HOUR_AGO, AN_HOUR_AGO);
    },
  ],
  ['the master key', ({ dataDir }) => void makeMasterKey(join(dataDir, 'master.key'), randomBytes)],
  ['the empty database file', ({ dataDir }) => writeFileSync(join(dataDir, 'sallyport.db'), '', { mode: 0o600 })],
  ['the journal mode', ({ dataDir }) => openSqlite(join(dataDir, 'sallyport.db')).close()],
  [
    'the schema',
    async ({ dataDir }) => {
      const db = openSqlite(join(dataDir, 'sallyport.db'));
      createSchema(db, readAsset('schema.sql'));
      await db.close();
    },
  ],
  [
    'everything except the first credentials',
    async (config) => (await openFolder(config, { exclusive: true })).close(),
  ],
];

for (const [steps, [after]] of INTERRUPTED.entries()) {
  test(`the next start finishes a first start that was interrupted after ${after}`, async (t) => {
    const config = configOf(unusedFolder(t));
    for (const [, leave] of INTERRUPTED.slice(0, steps + 1)) await leave(config);
    assert.match(await refusal(config, false), /there is no data in .*or its first start was interrupted/);

    const data = await open(t, config);
    assert.equal(data.firstStart, true);
    const clientId = (await makeFirstCredentials(data))?.clientId ?? '';
    assert.equal((await data.store.applications.getClient(clientId))?.name, 'administration');
    await data.firstCredentials.forget();
    await data.close();
    assert.equal(existsSync(join(config.dataDir, HALF_KEY)), false);
    assert.equal((await open(t, config)).firstStart, false);
  });
}

test('the built-in products and event types exist after every start and keep their timestamps', async (t) => {
  const config = await startedFolder(t);
  const first = await open(t, config, false);
  const eventTypes = await first.store.eventTypes.all();
  const products = await first.store.products.all();
  assert.equal(products.filter(({ builtIn }) => builtIn).length, 2);
  assert.deepEqual(
    eventTypes.map(({ name, encryptionRequired, builtIn }) => ({ name, encryptionRequired, builtIn })),
    [
      'employee.created',
      'employee.updated',
      'webhook.started',
      'webhook.running',
      'webhook.stopped',
      'webhook.failing',
      'webhook.failed',
      'webhook.key_expiring',
      'webhook.test',
    ].map((name) => ({ name, encryptionRequired: name.startsWith('employee.'), builtIn: true })),
  );
  for (const { id } of eventTypes) assert(isUuidV7(id), id);
  assert.equal(new Set(eventTypes.map(({ id }) => id)).size, eventTypes.length);

  // The state that an older version might have left.
  const [altered, ...others] = eventTypes;
  first.db.connection.exec(`
    UPDATE event_type SET description = 'old' WHERE id = '${altered?.id}';
    DELETE FROM event_type WHERE name = 'webhook.test';
    UPDATE event_type SET created_at = 1000, updated_at = 1000`);
  const next = await open(t, config);
  const installed = new Map((await next.store.eventTypes.all()).map((eventType) => [eventType.id, eventType]));
  assert.equal(installed.size, eventTypes.length);
  const repaired = installed.get(altered?.id ?? '');
  assert.equal(repaired?.description, altered?.description);
  assert.equal(repaired?.createdAt, 1000);
  assert((repaired?.updatedAt ?? 0) > 1000);
  for (const { id, name } of others.filter((eventType) => eventType.name !== 'webhook.test')) {
    assert.equal(installed.get(id)?.updatedAt, 1000, name);
  }
});

/** Ways to lose files after the first start, and whether the master key is stored elsewhere. */
const LOST: readonly (readonly [what: string, lose: (dataDir: string) => void, keyElsewhere?: boolean])[] = [
  ['the database file', (dataDir) => rmSync(join(dataDir, 'sallyport.db'))],
  ['the contents of the database file', (dataDir) => truncateSync(join(dataDir, 'sallyport.db'))],
  [
    'everything except the master key',
    (dataDir) => ['sallyport.db', 'serve.lock'].forEach((name) => void rmSync(join(dataDir, name))),
  ],
  [
    'the database file and the master key',
    (dataDir) => ['sallyport.db', 'master.key'].forEach((name) => void rmSync(join(dataDir, name))),
  ],
  [
    'everything except the write-ahead log',
    (dataDir) => {
      renameSync(join(dataDir, 'sallyport.db'), join(dataDir, 'sallyport.db-wal'));
      rmSync(join(dataDir, 'serve.lock'));
    },
  ],
  [
    'all files, with the master key elsewhere',
    (dataDir) => readdirSync(dataDir).forEach((name) => void rmSync(join(dataDir, name))),
    true,
  ],
  [
    'everything including the folder, with the master key elsewhere',
    (dataDir) => rmSync(dataDir, { recursive: true }),
    true,
  ],
];

for (const [what, lose, keyElsewhere = false] of LOST) {
  test(`a folder that has lost ${what} is not set up again without sallyport init`, async (t) => {
    const dataDir = unusedFolder(t);
    const config = configOf(dataDir, keyElsewhere ? { masterKeyFile: `${dataDir}.key` } : {});
    const data = await open(t, config);
    await makeFirstCredentials(data);
    await data.close();
    lose(dataDir);
    const left = existsSync(dataDir) ? readdirSync(dataDir).sort() : null;
    for (const exclusive of [true, false]) {
      const message = await refusal(config, exclusive);
      assert.match(
        message,
        /the database in .* is missing, but .* shows that there was one.*sallyport restore <backup>.*sallyport init$/,
      );
    }
    assert.deepEqual(existsSync(dataDir) ? readdirSync(dataDir).sort() : null, left);

    const created = await openFolder(config, { exclusive: true, newInstallation: true });
    assert.equal(created.firstStart, true);
    await created.close();
    assert.equal((await open(t, config)).firstStart, true);
    assert.equal(existsSync(join(dataDir, 'first-start')), false);
  });
}

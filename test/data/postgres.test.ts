import assert from 'node:assert/strict';
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, it, type TestContext } from 'node:test';
import { type Config, completeConfig } from '../../src/config/config.ts';
import { type Data, DataFolderError, masterKeyPath } from '../../src/data/data.ts';
import { makeFirstCredentials } from '../../src/data/first-start.ts';
import { openData } from '../../src/data/open.ts';
import { connect, migrateDatabase, openDatabase } from '../../src/data/postgres.ts';
import { readAsset } from '../../src/kernel/assets.ts';
import type { PostgresDatabase } from '../../src/store/postgres/driver/postgres.ts';
import { MIGRATIONS } from '../../src/store/postgres/migrations.ts';
import { SCHEMA_TABLES } from '../../src/store/postgres/objects.ts';
import { examineSchema, SCHEMA_VERSION, type SchemaHistory } from '../../src/store/postgres/schema.ts';
import { cleanUp } from '../support/cleanup.ts';
import { unusedFolder } from '../support/command.ts';
import { until } from '../support/dispatching.ts';
import { newDatabase, openClient } from '../support/postgres.ts';
import '../support/password-cost.ts';

function configOf(t: TestContext, databaseUrl: string): Config {
  return completeConfig({ databaseUrl, dataDir: unusedFolder(t) });
}

/** The same database for another machine, which has a copy of the master key. */
function otherInstance(t: TestContext, config: Config): Config {
  const dataDir = unusedFolder(t);
  mkdirSync(dataDir, { mode: 0o700 });
  const other = { ...config, dataDir };
  copyFileSync(masterKeyPath(config), masterKeyPath(other));
  return other;
}

async function open(t: TestContext, config: Config, exclusive = true): Promise<Data> {
  const data = await openData(config, { exclusive });
  cleanUp(t, () => data.close());
  return data;
}

async function refusal(config: Config, exclusive = true): Promise<string> {
  try {
    await (await openData(config, { exclusive })).close();
  } catch (error) {
    assert(error instanceof DataFolderError, String(error));
    assert.doesNotMatch(error.message, /\n/);
    return error.message;
  }
  return assert.fail('the database was opened');
}

async function raw(t: TestContext, config: Config): Promise<PostgresDatabase> {
  const db = await connect(config);
  cleanUp(t, () => db.close());
  return db;
}

const WAITS_FOR_SETTING = "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = to_regclass('setting')";
const WAITS_FOR_WEBHOOK = "SELECT 1 FROM pg_locks WHERE NOT granted AND relation = to_regclass('webhook')";

describe('a PostgreSQL database', () => {
  it('gets everything at its first start, and the data folder only the master key', async (t) => {
    const config = configOf(t, await newDatabase(t));
    const data = await open(t, config);
    assert.equal(data.firstStart, true);
    const credentials = await makeFirstCredentials(data);
    assert.equal(credentials?.adminUserName, 'admin');
    assert.deepEqual(readdirSync(config.dataDir), ['master.key']);
    const { product, schemaVersion, location, logBytes } = await data.storage.facts();
    assert.deepEqual([product, schemaVersion, logBytes], ['PostgreSQL', SCHEMA_VERSION, null]);
    assert.match(location ?? '', /^127\.0\.0\.1:\d+\/test_\w+$/);
    assert.deepEqual([data.storage.downloads, data.storage.files, data.storage.hasOneServer], [null, null, false]);

    const other = await open(t, otherInstance(t, config));
    assert.deepEqual(await makeFirstCredentials(other), { ...credentials, dataDir: other.dataDir });
    await other.firstCredentials.forget();
    assert.equal((await open(t, config, false)).firstStart, false);
  });

  it('is set up once by instances that start at the same time, each with its own new key or the same one', async (t) => {
    const url = await newDatabase(t);
    const configs = [configOf(t, url), configOf(t, url), configOf(t, url)];
    const outcomes = await Promise.allSettled(configs.map((config) => openData(config, { exclusive: true })));
    const opened = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
    for (const data of opened) cleanUp(t, () => data.close());
    assert.equal(opened.length, 1);
    for (const [at, outcome] of outcomes.entries()) {
      if (outcome.status === 'fulfilled') continue;
      assert.match(
        String(outcome.reason),
        /DataFolderError: .*master\.key.*copy the master key of the other instances there/,
      );
      // A key that opens nothing must not stay behind.
      assert.equal(existsSync(masterKeyPath(configs[at] as Config)), false);
    }
    const [first] = opened;
    const config = configs.find((one) => existsSync(masterKeyPath(one))) as Config;
    const more = await Promise.all([1, 2, 3].map(() => open(t, otherInstance(t, config))));
    const shown = await Promise.all([first as Data, ...more].map((data) => makeFirstCredentials(data)));
    for (const credentials of shown) assert.deepEqual({ ...credentials, dataDir: '' }, { ...shown[0], dataDir: '' });
    assert.equal((await first?.store.users.list('', 10))?.length, 1);
    assert.equal((await first?.store.applications.list('', 10))?.length, 1);
  });

  it('is set up by instances that share a data folder and start at the same time, with one master key', async (t) => {
    const url = await newDatabase(t);
    const config = configOf(t, url);
    await migrateDatabase(config, Date.now());
    const db = await raw(t, config);
    const holder = await openClient(t, url);
    await holder.query('BEGIN; LOCK TABLE setting IN ACCESS EXCLUSIVE MODE');
    const opened = Promise.all([open(t, config), open(t, config)]);
    await until('both to wait for setting', async () => (await db.all(WAITS_FOR_SETTING, {})).length === 2);
    await holder.query('COMMIT');
    await opened;
    assert.deepEqual(readdirSync(config.dataDir), ['master.key']);
    await open(t, config);
  });

  it('is refused without its master key and with another one, and stays as it is', async (t) => {
    const config = configOf(t, await newDatabase(t));
    await makeFirstCredentials(await open(t, config));
    const without = { ...config, dataDir: unusedFolder(t) };
    for (const exclusive of [true, false]) {
      assert.match(
        await refusal(without, exclusive),
        /^there is no master key at .*, but the database .* has secrets that only its key can read: copy the master key/,
      );
    }
    assert.equal(existsSync(without.dataDir), false);
    const other = configOf(t, await newDatabase(t));
    await open(t, other);
    assert.match(
      await refusal({ ...other, databaseUrl: config.databaseUrl }),
      /master\.key: the master key is not the one that this database was made with, .*: copy the master key of the other/,
    );
    assert.match(readFileSync(masterKeyPath(other), 'utf8'), /^\S{44}\n$/);
  });

  it('is refused by commands before its first start, and nothing is made', async (t) => {
    const config = configOf(t, await newDatabase(t));
    assert.match(
      await refusal(config, false),
      /^there is no data in the database .* run sallyport init or sallyport serve/,
    );
    assert.equal(existsSync(config.dataDir), false);
    assert.deepEqual(await examineSchema(await raw(t, config)), { ok: true, state: 'empty' });
  });

  it('is refused if it has tables of another program, and they stay as they are', async (t) => {
    const config = configOf(t, await newDatabase(t));
    const db = await raw(t, config);
    await db.run('CREATE TABLE setting (name text); CREATE VIEW batch AS SELECT 1 AS one');
    assert.match(await refusal(config), /cannot be used: it has tables of another program: create an empty database/);
    const [row] = await db.all('SELECT count(*) AS tables FROM pg_tables WHERE schemaname = current_schema()', {});
    assert.equal(row?.tables, 1);
  });

  it('is refused with advice if it cannot be reached, is read-only, or its role may not make tables', async (t) => {
    const url = await newDatabase(t);
    const at = (change: (url: URL) => void): Config => {
      const changed = new URL(url);
      change(changed);
      return configOf(t, changed.href);
    };
    const cases: readonly (readonly [Config, RegExp])[] = [
      [
        at((one) => (one.port = '1')),
        /cannot be reached \(connect ECONNREFUSED .*\): check that PostgreSQL runs there/,
      ],
      [at((one) => (one.search = '?sslmode=require')), /The server does not support SSL connections/],
      [at((one) => (one.search = '?sslmode=maybe')), /sslmode must be one of disable, allow, prefer/],
      [at((one) => (one.pathname = '/nowhere')), /database "nowhere" does not exist: create it with createdb/],
      [at((one) => (one.username = 'nobody')), /role "nobody" does not exist: correct the role in the URL/],
      [
        at((one) => (one.search = '?options=-c%20default_transaction_read_only%3Don')),
        /it is read-only: check default_transaction_read_only/,
      ],
      [
        at((one) => (one.search = '?options=-c%20session_replication_role%3Dreplica')),
        /its triggers do not run: reset session_replication_role/,
      ],
      [
        at((one) => (one.search = '?options=-c%20search_path%3Dnowhere')),
        /the role sallyport may not create tables in it: GRANT USAGE, CREATE/,
      ],
    ];
    for (const [config, expected] of cases) {
      assert.match(await refusal(config), expected);
      assert.equal(existsSync(config.dataDir), false);
    }
  });

  it('refuses a row that no partition takes as unavailable, not as wrong', async (t) => {
    const config = configOf(t, await newDatabase(t));
    const { db } = await open(t, config);
    const sql =
      "INSERT INTO access_token (key, hash, application_id, scope, expires_at) VALUES (@key, @hash, 'a', 'b', 1)";
    await assert.rejects(db.commit([{ sql, params: { key: Number.MAX_SAFE_INTEGER, hash: Buffer.alloc(32) } }]), {
      name: 'DatabaseUnavailable',
      message: 'the database cannot be written: it has no partition for new rows; see sallyport doctor',
    });
  });

  it('keeps an unfinished master key of another process, and finishes a rotation that had committed', async (t) => {
    const config = configOf(t, await newDatabase(t));
    await makeFirstCredentials(await open(t, config));
    const next = `${masterKeyPath(config)}.next`;
    writeFileSync(next, `${Buffer.alloc(32, 7).toString('base64')}\n`, { mode: 0o600 });
    await open(t, config);
    assert.equal(existsSync(next), true);
  });
});

/** The schema after the next change. */
const NEXT = SCHEMA_VERSION + 1;

describe('the schema of a PostgreSQL database', () => {
  const HISTORY: SchemaHistory = {
    version: NEXT,
    steps: [
      {
        version: NEXT,
        oldestProgram: SCHEMA_VERSION,
        sql: 'ALTER TABLE setting ADD COLUMN note text; CREATE TABLE extra (id bigint)',
      },
    ],
  };

  it('is created by the first migration, and brought up by a later one, by one of several at the same time', async (t) => {
    const config = configOf(t, await newDatabase(t));
    assert.deepEqual(await migrateDatabase(config, Date.now()), { from: null, to: SCHEMA_VERSION });
    assert.deepEqual(await migrateDatabase(config, Date.now()), { from: SCHEMA_VERSION, to: SCHEMA_VERSION });
    const db = await raw(t, config);
    const tables = await db.all(
      `SELECT relname FROM pg_class
       WHERE relkind IN ('r', 'p', 'v') AND NOT relispartition AND relnamespace = current_schema()::regnamespace`,
      {},
    );
    assert.deepEqual(tables.map(({ relname }) => relname).sort(), SCHEMA_TABLES.toSorted());
    await assert.rejects(
      openDatabase(config, { exclusive: true, history: HISTORY }),
      new RegExp(`version ${SCHEMA_VERSION}, .* needs version ${NEXT}: run sallyport migrate`),
    );
    const results = await Promise.all([1, 2, 3].map(() => migrateDatabase(config, Date.now(), { history: HISTORY })));
    assert.deepEqual(new Set(results.map(({ to }) => to)), new Set([NEXT]));
    const changes = await db.all('SELECT version, oldest_program FROM schema_change ORDER BY version', {});
    assert.deepEqual(changes, [
      { version: SCHEMA_VERSION, oldest_program: MIGRATIONS.at(-1)?.oldestProgram },
      { version: NEXT, oldest_program: SCHEMA_VERSION },
    ]);
    // The version before still runs.
    await open(t, config);
  });

  it('is unchanged after a step that fails', async (t) => {
    const config = configOf(t, await newDatabase(t));
    await migrateDatabase(config, Date.now());
    const broken = {
      version: NEXT,
      steps: [{ version: NEXT, oldestProgram: SCHEMA_VERSION, sql: 'CREATE TABLE extra (id bigint); SELECT wrong' }],
    };
    await assert.rejects(migrateDatabase(config, Date.now(), { history: broken }), /wrong/);
    const db = await raw(t, config);
    assert.deepEqual(await examineSchema(db), { ok: true, state: 'current', version: SCHEMA_VERSION });
    assert.equal((await db.get("SELECT to_regclass('extra') AS extra", {}))?.extra, null);
  });

  const TWO_TABLES: SchemaHistory = {
    version: NEXT,
    steps: [
      {
        version: NEXT,
        oldestProgram: SCHEMA_VERSION,
        sql: 'ALTER TABLE event_type ADD COLUMN note text; ALTER TABLE webhook ADD COLUMN note text',
      },
    ],
  };

  it('is migrated while a transaction uses the same tables in another order, which is not disturbed', async (t) => {
    const url = await newDatabase(t);
    const config = configOf(t, url);
    await migrateDatabase(config, Date.now());
    const db = await raw(t, config);
    const reader = await openClient(t, url);
    await reader.query('BEGIN; SELECT 1 FROM webhook');
    const migrated = migrateDatabase(config, Date.now(), { history: TWO_TABLES });
    await until('the migration to wait for webhook', async () => (await db.get(WAITS_FOR_WEBHOOK, {})) !== undefined);
    // Each waits for the other now.
    await reader.query('SELECT 1 FROM event_type');
    await reader.query('COMMIT');
    assert.deepEqual(await migrated, { from: SCHEMA_VERSION, to: NEXT });
  });

  it('is not migrated while a transaction holds its tables for long', async (t) => {
    const url = await newDatabase(t);
    const config = configOf(t, url);
    await migrateDatabase(config, Date.now());
    const holder = await openClient(t, url);
    await holder.query('BEGIN; SELECT 1 FROM webhook');
    await assert.rejects(migrateDatabase(config, Date.now(), { history: TWO_TABLES, waitMs: 0 }), {
      name: 'DataFolderError',
      message: new RegExp(
        'cannot be used: another transaction holds a lock on its tables \\(canceling statement due to lock timeout\\): ' +
          'find it in pg_stat_activity, for example a dump or an idle transaction, let it end, and try again$',
      ),
    });
    await holder.query('COMMIT');
    assert.deepEqual(await examineSchema(await raw(t, config)), {
      ok: true,
      state: 'current',
      version: SCHEMA_VERSION,
    });
    assert.deepEqual(await migrateDatabase(config, Date.now(), { history: TWO_TABLES }), {
      from: SCHEMA_VERSION,
      to: NEXT,
    });
  });

  it('is not migrated while instances run that would not work after it', async (t) => {
    const config = configOf(t, await newDatabase(t));
    await migrateDatabase(config, Date.now());
    const db = await raw(t, config);
    const steps = [{ version: NEXT, oldestProgram: NEXT, sql: 'CREATE TABLE extra (id bigint)' }];
    const migrated = () => migrateDatabase(config, Date.now(), { history: { version: NEXT, steps } });
    await db.run(
      `INSERT INTO instance (name, version, started_at, seen_at, expires_at) VALUES ('old', '1', 0, 0, ${Number.MAX_SAFE_INTEGER})`,
    );
    await assert.rejects(migrated(), /DataFolderError: an instance uses the database .*: stop them first/);
    assert.deepEqual(await examineSchema(db), { ok: true, state: 'current', version: SCHEMA_VERSION });
    await db.run('UPDATE instance SET expires_at = 1');
    assert.deepEqual(await migrated(), { from: SCHEMA_VERSION, to: NEXT });
  });

  it('is refused once a newer version no longer supports this program', async (t) => {
    const config = configOf(t, await newDatabase(t));
    await migrateDatabase(config, Date.now());
    const db = await raw(t, config);
    await db.run('INSERT INTO schema_change (version, oldest_program, applied_at) VALUES (9, 9, 0)');
    assert.match(
      await refusal(config),
      /its schema is version 9, which Sallyport .* is too old for: run the newer Sallyport/,
    );
  });

  it('has its own history on the page of the schema', () => {
    assert.match(
      readAsset('postgres/schema.sql'),
      new RegExp(`INSERT INTO schema_change .*\nVALUES \\(${SCHEMA_VERSION}, ${MIGRATIONS.at(-1)?.oldestProgram},`),
    );
  });
});

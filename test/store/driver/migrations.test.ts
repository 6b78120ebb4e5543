import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import BetterSqlite3 from 'better-sqlite3';
import { MIGRATED, openFolder } from '../../../src/data/data-folder.ts';
import { readAsset } from '../../../src/kernel/assets.ts';
import { createLog } from '../../../src/observe/log.ts';
import { MIGRATIONS, type Migration } from '../../../src/store/sqlite/driver/migrations.ts';
import {
  createSchema,
  examineSchema,
  migrateSchema,
  migrationPath,
  SCHEMA_VERSION,
  type SchemaHistory,
} from '../../../src/store/sqlite/driver/schema.ts';
import { openSqlite, type SqliteDatabase } from '../../../src/store/sqlite/driver/sqlite.ts';
import { modeOf, open, startedFolder } from '../../support/data-folder.ts';
import { createLogReader } from '../../support/log-reader.ts';
import { contents, NOW, temporaryFolder } from '../../support/store.ts';

/** A sample schema with three versions. The last step rebuilds a table that another table references. */
const FIRST = `
  CREATE TABLE person (id TEXT PRIMARY KEY, name TEXT NOT NULL) STRICT;
  CREATE TABLE pet (id TEXT PRIMARY KEY, owner TEXT NOT NULL REFERENCES person (id)) STRICT;
  INSERT INTO person VALUES ('1', 'ada'), ('2', 'bob');
  INSERT INTO pet VALUES ('a', '1');`;
const NEWEST = `
  PRAGMA user_version = 2;
  -- Someone.
  CREATE TABLE person (
    id    TEXT PRIMARY KEY,
    name  TEXT NOT NULL CHECK (length(name) > 0),
    email TEXT  -- null: none
  ) STRICT;
  CREATE TABLE pet (id TEXT PRIMARY KEY, owner TEXT NOT NULL REFERENCES person (id)) STRICT;
  CREATE INDEX pet_owner ON pet (owner);`;
const STEPS: readonly Migration[] = [
  { from: 0, to: 1, sql: 'CREATE INDEX pet_owner ON pet (owner)' },
  {
    from: 1,
    to: 2,
    sql: `
      CREATE TABLE person_next (id TEXT PRIMARY KEY, name TEXT NOT NULL CHECK (length(name) > 0), email TEXT) STRICT;
      INSERT INTO person_next SELECT id, name, NULL FROM person;
      DROP TABLE person;
      ALTER TABLE person_next RENAME TO person;`,
  },
];
const HISTORY: SchemaHistory = { version: 2, steps: STEPS };

function openAt(t: TestContext, schema: string): SqliteDatabase {
  const db = openSqlite(join(temporaryFolder(t), 'sallyport.db'));
  t.after(() => db.close());
  createSchema(db, schema);
  return db;
}

function older(db: SqliteDatabase, history: SchemaHistory): Parameters<typeof migrateSchema>[1] {
  const verdict = examineSchema(db, history);
  assert(verdict.ok && verdict.state === 'older');
  return verdict;
}

/** Returns the schema's version and statements, without differences in comments, quotes and whitespace. */
function schemaOf({ connection }: SqliteDatabase): unknown {
  const rows = connection
    .prepare("SELECT type, name, tbl_name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' ORDER BY type, name")
    .all() as { sql: string }[];
  const plain = (sql: string): string =>
    sql
      .replaceAll(/--.*$/gm, '')
      .replaceAll(/"(\w+)"/g, '$1')
      .replaceAll(/\s+/g, ' ')
      .replaceAll(/ ?([(),]) ?/g, '$1');
  return [connection.pragma('user_version'), rows.map((row) => ({ ...row, sql: plain(row.sql) }))];
}

function filesBeside({ connection }: SqliteDatabase): string[] {
  return readdirSync(dirname(connection.name)).filter((name) => !/^sallyport\.db(-wal|-shm)?$/.test(name));
}

describe('the migration of the schema', () => {
  it('runs every step on an older database, and keeps its data and a copy of the old file', async (t) => {
    const db = openAt(t, FIRST);
    const before = contents(db);
    const copy = await migrateSchema(db, older(db, HISTORY), NOW);

    assert.deepEqual(examineSchema(db, HISTORY), { ok: true, state: 'current' });
    assert.deepEqual(contents(db), {
      person: [
        { id: '1', name: 'ada', email: null },
        { id: '2', name: 'bob', email: null },
      ],
      pet: [{ id: 'a', owner: '1' }],
    });
    assert.equal(db.connection.pragma('foreign_keys', { simple: true }), 1);
    assert.throws(() => db.connection.exec("DELETE FROM person WHERE id = '1'"), /FOREIGN KEY/);

    assert.equal(copy, `${db.connection.name}.v0.20261121T050000Z`);
    assert.deepEqual(filesBeside(db), ['sallyport.db.v0.20261121T050000Z']);
    assert.equal(modeOf(copy), '600');
    const kept = openSqlite(copy, { readOnly: true });
    t.after(() => kept.close());
    assert.deepEqual(contents(kept), before);
    assert.equal(kept.connection.pragma('user_version', { simple: true }), 0);
  });

  it('ends in the schema of a new database', async (t) => {
    const migrated = openAt(t, FIRST);
    await migrateSchema(migrated, older(migrated, HISTORY), NOW);
    assert.deepEqual(schemaOf(migrated), schemaOf(openAt(t, NEWEST)));

    const forgetful = openAt(t, FIRST);
    const steps = STEPS.map((step) => (step.from === 0 ? { ...step, sql: '' } : step));
    await migrateSchema(forgetful, older(forgetful, { version: 2, steps }), NOW);
    assert.notDeepEqual(schemaOf(forgetful), schemaOf(openAt(t, NEWEST)));
  });

  const failing: readonly (readonly [what: string, sql: string, error: RegExp])[] = [
    ['is not SQL', 'CREATE NONSENSE', /syntax error/],
    ['breaks a constraint', "INSERT INTO person (id, name) VALUES ('1', 'eve')", /UNIQUE/],
    ['leaves a dangling reference', "DELETE FROM person WHERE id = '1'", /pet to person/],
  ];
  for (const [what, sql, error] of failing) {
    it(`changes nothing and leaves no copy if its last step ${what}`, async (t) => {
      const db = openAt(t, FIRST);
      const [before, schema] = [contents(db), schemaOf(db)];
      const steps = [...STEPS, { from: 2, to: 3, sql }];
      await assert.rejects(migrateSchema(db, older(db, { version: 3, steps }), NOW), error);
      assert.deepEqual(contents(db), before);
      assert.deepEqual(schemaOf(db), schema);
      assert.deepEqual(filesBeside(db), []);
      assert.equal(db.connection.pragma('foreign_keys', { simple: true }), 1);
    });
  }

  it('changes nothing if another process has migrated the database in the meantime', async (t) => {
    const db = openAt(t, FIRST);
    const verdict = older(db, HISTORY);
    const other = new BetterSqlite3(db.connection.name);
    t.after(() => other.close());
    other.pragma('user_version = 1');
    await assert.rejects(migrateSchema(db, verdict, NOW), /its schema is version 1 by now and not 0/);
    assert.equal(db.connection.pragma('user_version', { simple: true }), 1);
  });

  it('has a path only if every step is known', () => {
    const versions = (from: number, to: number): number[] | null =>
      migrationPath(STEPS, from, to)?.map((step) => step.to) ?? null;
    assert.deepEqual(versions(0, 2), [1, 2]);
    assert.deepEqual(versions(1, 2), [2]);
    assert.deepEqual(versions(2, 2), []);
    assert.equal(versions(0, 3), null);
    assert.equal(versions(-1, 2), null);
    // Steps backwards or beyond the newest version are ignored.
    assert.equal(migrationPath([{ from: 0, to: 0, sql: '' }], 0, 1), null);
    assert.equal(migrationPath([{ from: 0, to: 3, sql: '' }], 0, 2), null);
  });

  it('refuses a newer schema, and an older one without a path', (t) => {
    const newer = openAt(t, 'PRAGMA user_version = 3');
    const verdict = examineSchema(newer, HISTORY);
    assert(!verdict.ok);
    assert.match(verdict.description, /is version 3, .* knows version 2: run the newer Sallyport that wrote it/);
    const stranger = examineSchema(openAt(t, FIRST), { version: 2, steps: STEPS.slice(1) });
    assert(!stranger.ok);
    assert.match(stranger.description, /is version 0, which .* cannot migrate to version 2/);
    assert.deepEqual(examineSchema(openAt(t, ''), HISTORY), { ok: true, state: 'empty' });
  });
});

describe('the schema of this version', () => {
  /** The number of each earlier version, whose schema.sql is kept. */
  const earlier = Array.from({ length: SCHEMA_VERSION - 1 }, (_, at) => at + 1);

  it('has a path from every earlier version', () => {
    for (const version of [...earlier, SCHEMA_VERSION]) {
      assert.notEqual(migrationPath(MIGRATIONS, version, SCHEMA_VERSION), null, `from version ${version}`);
    }
    assert.equal(MIGRATIONS.length, SCHEMA_VERSION - 1);
  });

  it('is the same whether a database is new or was migrated', async (t) => {
    const fresh = openAt(t, readAsset('schema.sql'));
    assert.deepEqual(examineSchema(fresh), { ok: true, state: 'current' });
    for (const version of earlier) {
      const schema = readFileSync(new URL(`schemas/${version}.sql`, import.meta.url), 'utf8');
      const migrated = openAt(t, schema);
      const verdict = examineSchema(migrated);
      assert(verdict.ok && verdict.state === 'older', `version ${version}`);
      await migrateSchema(migrated, verdict, NOW);
      assert.deepEqual(schemaOf(migrated), schemaOf(fresh), `version ${version}`);
      assert.deepEqual(contents(migrated), contents(fresh), `version ${version}`);
    }
  });

  it('gives no number of a deleted webhook again', async (t) => {
    const db = openAt(t, readFileSync(new URL('schemas/1.sql', import.meta.url), 'utf8'));
    db.connection.exec("INSERT INTO sqlite_sequence (name, seq) VALUES ('webhook', 7)");
    const verdict = examineSchema(db);
    assert(verdict.ok && verdict.state === 'older');
    await migrateSchema(db, verdict, NOW);
    assert.deepEqual(contents(db).sqlite_sequence, [{ name: 'webhook', seq: 7 }]);
  });
});

describe('a data folder with an older schema', () => {
  const history: SchemaHistory = {
    version: SCHEMA_VERSION + 1,
    steps: [{ from: SCHEMA_VERSION, to: SCHEMA_VERSION + 1, sql: 'ALTER TABLE user_account ADD COLUMN nickname TEXT' }],
  };

  it('is migrated only by the server, which keeps a copy', async (t) => {
    const config = await startedFolder(t);
    await assert.rejects(
      openFolder(config, { exclusive: false, history }),
      /has an older schema: start sallyport serve first/,
    );
    const reader = createLogReader();
    const log = createLog('info', { write: reader.take });
    const data = await openFolder(config, { exclusive: true, clock: () => NOW, log, history });
    t.after(() => data.close());
    const row = data.db.connection.prepare('SELECT user_name, nickname FROM user_account').get();
    assert.deepEqual(row, { user_name: 'admin', nickname: null });
    assert.deepEqual(filesBeside(data.db), [
      'master.key',
      `sallyport.db.v${SCHEMA_VERSION}.20261121T050000Z`,
      'serve.lock',
    ]);
    const line = await reader.line(({ msg }) => msg === MIGRATED);
    const { database, from, to, copy } = line;
    const path = join(config.dataDir, 'sallyport.db');
    assert.deepEqual(
      { database, from, to, copy },
      {
        database: path,
        from: SCHEMA_VERSION,
        to: SCHEMA_VERSION + 1,
        copy: `${path}.v${SCHEMA_VERSION}.20261121T050000Z`,
      },
    );
  });

  it('is unchanged if its migration fails, and the error says so', async (t) => {
    const config = await startedFolder(t);
    const steps = [{ from: SCHEMA_VERSION, to: SCHEMA_VERSION + 1, sql: 'CREATE NONSENSE' }];
    const opening = openFolder(config, { exclusive: true, history: { ...history, steps } });
    await assert.rejects(opening, /DataFolderError: the database .* cannot be migrated: .*syntax error/);
    assert.deepEqual(readdirSync(config.dataDir).sort(), ['master.key', 'sallyport.db', 'serve.lock']);
    assert.equal((await open(t, config)).firstStart, false);
  });
});

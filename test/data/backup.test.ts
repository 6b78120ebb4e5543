import assert from 'node:assert/strict';
import { copyFileSync, existsSync, readdirSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import BetterSqlite3 from 'better-sqlite3';
import { type BackupFacts, examineBackup, masterKeyOf, verifyBackup, writeBackup } from '../../src/data/backup.ts';
import { restoreDatabase } from '../../src/data/restore.ts';
import { auditStatement } from '../../src/store/shared/audit.ts';
import { copyDatabase } from '../../src/store/sqlite/driver/copy.ts';
import type { Migration } from '../../src/store/sqlite/driver/migrations.ts';
import { examineSchema, SCHEMA_VERSION } from '../../src/store/sqlite/driver/schema.ts';
import { openSqlite, type SqliteDatabase } from '../../src/store/sqlite/driver/sqlite.ts';
import { modeOf } from '../support/data-folder.ts';
import { contents, NOW, openTestStore, type TestStore, temporaryFolder } from '../support/store.ts';

async function backUp(
  { sqlite: database }: TestStore,
  path: string,
  masterKey: Uint8Array | null = null,
): Promise<BackupFacts> {
  return writeBackup(database, path, { now: NOW, masterKey, key: null });
}

function alter(path: string, sql: string): void {
  const connection = new BetterSqlite3(path);
  connection.exec(sql);
  connection.close();
}

async function refusalOf(path: string): Promise<string> {
  const verdict = await examineBackup(path);
  assert(!verdict.ok, 'it was found in order');
  return verdict.description;
}

test('a backup is one file with every row and a manifest, readable only by its owner', async (t) => {
  const service = await openTestStore(t);
  const folder = temporaryFolder(t);
  const path = join(folder, 'backup.db');
  const facts = await backUp(service, path);

  assert.deepEqual(readdirSync(folder), ['backup.db']);
  assert.equal(modeOf(path), '600');
  const { takenAt, schemaVersion, bytes, withMasterKey, contents: counted } = facts;
  assert.deepEqual([takenAt, schemaVersion, withMasterKey], [NOW, SCHEMA_VERSION, false]);
  assert.equal(bytes, statSync(path).size);
  assert.equal(counted.users, 0);
  const verdict = await verifyBackup(path);
  assert.deepEqual(verdict.ok && verdict.facts, facts);
  assert.deepEqual(readdirSync(folder), ['backup.db'], 'looking at it leaves nothing beside it');

  const copy = openSqlite(path, { readOnly: true });
  t.after(() => copy.close());
  const { setting, ...rest } = contents(copy);
  const { setting: _, ...original } = contents(service.sqlite);
  assert.deepEqual(rest, original);
  assert.equal(masterKeyOf(copy), null);
  assert.equal(setting?.length, 0);
});

test('a backup contains the master key on request, and the restored database does not', async (t) => {
  const service = await openTestStore(t);
  const folder = temporaryFolder(t);
  const path = join(folder, 'backup.db');
  const key = Buffer.from('the master key, 32 bytes of it.!');
  assert.equal((await backUp(service, path, key)).withMasterKey, true);
  const from = openSqlite(path, { readOnly: true });
  t.after(() => from.close());
  assert.deepEqual(masterKeyOf(from), key);

  const restored = join(folder, 'sallyport.db');
  const { facts, replaced } = await restoreDatabase({
    from,
    takenAt: NOW,
    path: restored,
    now: NOW,
    audit: service.entry(),
  });
  assert.deepEqual([facts.takenAt, facts.withMasterKey, replaced], [NOW, true, null]);
  const db = openSqlite(restored, { readOnly: true });
  t.after(() => db.close());
  assert.equal(masterKeyOf(db), null);
  assert.equal(db.connection.serialize().includes(key), false, 'nor in what was freed');
});

test('a file that is not a complete database of this program is refused', async (t) => {
  const service = await openTestStore(t);
  const folder = temporaryFolder(t);
  const good = join(folder, 'good.db');
  // Enough entries and pages to remove some from the middle.
  await service.database.commit([
    { sql: "INSERT INTO setting (name, value) VALUES ('filler', zeroblob(200000))", params: {} },
  ]);
  await service.database.commit([auditStatement(service.entry()), auditStatement(service.entry())]);
  await backUp(service, good);

  const wrong: readonly (readonly [name: string, spoil: (path: string) => void, says: RegExp])[] = [
    ['text', (path) => writeFileSync(path, 'not a database at all'.repeat(100)), /file is not a database/],
    ['empty', (path) => writeFileSync(path, ''), /it is empty/],
    ['truncated', (path) => truncateSync(path, 100_000), /malformed|damaged/],
    ['newer', (path) => alter(path, `PRAGMA user_version = ${SCHEMA_VERSION + 1}`), /run the newer Sallyport/],
    ['other', (path) => alter(path, 'PRAGMA user_version = 0'), /cannot migrate/],
    ['changed audit', (path) => alter(path, "UPDATE audit SET actor = 'nobody' WHERE number = 1"), /broken at entry 1/],
    ['cut audit', (path) => alter(path, 'DELETE FROM audit WHERE number = 1'), /broken at entry 2/],
    [
      'dangling',
      (path) => alter(path, "PRAGMA foreign_keys = OFF; INSERT INTO subscription VALUES ('*', '', 99, 0)"),
      /it has broken references: subscription to webhook/,
    ],
  ];
  for (const [name, spoil, says] of wrong) {
    const path = join(folder, `${name}.db`);
    copyFileSync(good, path);
    spoil(path);
    assert.match(await refusalOf(path), says, name);
  }
  assert.match(await refusalOf(join(folder, 'absent.db')), /unable to open/);
  assert.equal((await examineBackup(good)).ok, true);
});

test('a damaged database is not backed up: no file is created, and an existing one stays', async (t) => {
  const service = await openTestStore(t);
  const folder = temporaryFolder(t);
  const path = join(folder, 'backup.db');
  await backUp(service, path);
  const before = statSync(path);
  service.sqlite.connection.exec("PRAGMA foreign_keys = OFF; INSERT INTO subscription VALUES ('*', '', 99, 0)");
  await assert.rejects(backUp(service, path), /it has broken references/);
  await assert.rejects(backUp(service, join(folder, 'another.db')), /it has broken references/);
  assert.deepEqual(readdirSync(folder), ['backup.db']);
  assert.deepEqual([statSync(path).ino, statSync(path).mtimeMs], [before.ino, before.mtimeMs]);
});

test('a copy is a snapshot although another connection writes between its steps', async (t) => {
  const { sqlite: database, path: source } = await openTestStore(t);
  const folder = temporaryFolder(t);
  const fill = `
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)
    INSERT INTO setting SELECT 'filler ' || i, zeroblob(4000) FROM n`;
  database.connection.exec(fill);
  const other = new BetterSqlite3(source);
  t.after(() => other.close());
  let rounds = 0;
  const write = other.prepare("UPDATE setting SET value = CAST(? AS BLOB) WHERE name LIKE 'filler %'");
  let copying = true;
  const writing = (async () => {
    for (; copying; rounds += 1) {
      write.run(`round ${rounds}`);
      await new Promise((resolve) => setImmediate(resolve));
    }
  })();
  await copyDatabase(database, join(folder, 'copy.db'));
  copying = false;
  await writing;
  const copy = new BetterSqlite3(join(folder, 'copy.db'), { readonly: true });
  t.after(() => copy.close());
  const values = copy.prepare("SELECT DISTINCT value FROM setting WHERE name LIKE 'filler %'").all();
  assert.equal(values.length, 1);
  assert.ok(rounds > 1, `${rounds} rounds`);
  assert.deepEqual(copy.pragma('integrity_check', { simple: true }), 'ok');
});

test('the next copy removes only the files of a process that died while copying', async (t) => {
  const { sqlite: database } = await openTestStore(t);
  const folder = temporaryFolder(t);
  const path = join(folder, 'copy.db');
  // No process has this id, because it exceeds the system's maximum.
  const gone = ['copy.db.999999999.part', 'copy.db.999999999.part-journal', 'copy.db.999999999.part-wal'];
  const own = `copy.db.${process.pid}.part`;
  const others = [`copy.db.${process.ppid}.part`, 'copy.db.999999999.parts', 'copy.db.part', 'copy.db.x.part'];
  for (const name of [...gone, own, ...others]) writeFileSync(join(folder, name), 'x');
  await copyDatabase(database, path);
  assert.deepEqual(readdirSync(folder).sort(), ['copy.db', ...others].sort());
});

test('a backup with an older schema is migrated when it is restored', async (t) => {
  const service = await openTestStore(t);
  const folder = temporaryFolder(t);
  const path = join(folder, 'backup.db');
  await backUp(service, path);
  const from = openSqlite(path, { readOnly: true });
  t.after(() => from.close());
  const step: Migration = {
    from: SCHEMA_VERSION,
    to: SCHEMA_VERSION + 1,
    sql: 'ALTER TABLE user_account ADD COLUMN nickname TEXT',
  };
  const history = { version: SCHEMA_VERSION + 1, steps: [step] };
  const older = await examineBackup(path, history);
  assert(older.ok);
  assert.deepEqual([older.facts.schemaVersion, older.facts.contents], [SCHEMA_VERSION, {}]);

  const restored = join(folder, 'sallyport.db');
  const { facts } = await restoreDatabase({
    from,
    takenAt: NOW,
    path: restored,
    now: NOW,
    audit: service.entry(),
    history,
  });
  assert.equal(facts.schemaVersion, SCHEMA_VERSION + 1);
  const db: SqliteDatabase = openSqlite(restored);
  t.after(() => db.close());
  assert.deepEqual(examineSchema(db, history), { ok: true, state: 'current' });
  assert.deepEqual(examineSchema(from), { ok: true, state: 'current' });

  // If a step fails, no file remains.
  const failing = { ...history, steps: [{ ...step, sql: 'CREATE NONSENSE' }] };
  const elsewhere = join(folder, 'elsewhere.db');
  await assert.rejects(
    restoreDatabase({ from, takenAt: NOW, path: elsewhere, now: NOW, audit: service.entry(), history: failing }),
    /syntax error/,
  );
  assert.equal(existsSync(elsewhere), false);
  assert.deepEqual(
    readdirSync(folder).filter((name) => name.startsWith('elsewhere')),
    [],
  );
});

test('a database that another process has open is not replaced', async (t) => {
  const service = await openTestStore(t);
  const path = join(temporaryFolder(t), 'backup.db');
  await backUp(service, path);
  const from = openSqlite(path, { readOnly: true });
  t.after(() => from.close());
  const before = contents(service.sqlite);
  const restoring = restoreDatabase({ from, takenAt: NOW, path: service.path, now: NOW, audit: service.entry() });
  await assert.rejects(restoring, /another command has the database open/);
  assert.deepEqual(contents(service.sqlite), before);
});

/** The schema, the settings and the state of the database file. */

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, test } from 'node:test';
import { TOKEN_VALIDITY_MAX_SECONDS, TOKEN_VALIDITY_MIN_SECONDS } from '../../src/domain/application.ts';
import { ATTEMPT_TIMEOUT_MAX_SECONDS, BATCH_RECORDS_MAX } from '../../src/domain/limits.ts';
import { randomBytes } from '../../src/kernel/ids.ts';
import { createVault } from '../../src/kernel/vault.ts';
import { DatabaseUnavailable } from '../../src/store/port/errors.ts';
import { FIGURE_SPANS } from '../../src/store/port/figures.ts';
import { settingStore } from '../../src/store/shared/settings.ts';
import { damages, tellsDamage } from '../../src/store/sqlite/damage.ts';
import { unavailableReason } from '../../src/store/sqlite/driver/errors.ts';
import { openSqlite } from '../../src/store/sqlite/driver/sqlite.ts';
import { makeEndpoint, makeEventType } from '../support/journey.ts';
import { holdLock } from '../support/lock-holder.ts';
import { lacking } from '../support/programs.ts';
import { startService } from '../support/service.ts';
import { contents, leavingNothing, openTestDatabase, temporaryFolder } from '../support/store.ts';

const schema = readFileSync(new URL('../../schema.sql', import.meta.url), 'utf8');

describe('schema.sql', () => {
  it('has the limits of the service in its CHECKs', () => {
    const ranges = Array.from(schema.matchAll(/CHECK \((\w+) BETWEEN (\d+) AND (\d+)\)/g), ([, column, from, to]) => [
      column,
      Number(from),
      Number(to),
    ]);
    assert.deepEqual(ranges, [
      ['access_token_validity_seconds', TOKEN_VALIDITY_MIN_SECONDS, TOKEN_VALIDITY_MAX_SECONDS],
      ['max_batch_records', 1, BATCH_RECORDS_MAX],
      ['timeout_seconds', 1, ATTEMPT_TIMEOUT_MAX_SECONDS],
    ]);
    const [, spans = ''] = /span_seconds IN \(([\d, ]+)\)/.exec(schema) ?? [];
    assert.deepEqual(
      spans.split(', ').map(Number),
      FIGURE_SPANS.map(({ seconds }) => seconds),
    );
    // A delivery's id has 26 bits for the webhook number.
    assert.match(schema, new RegExp(`CHECK \\(number < ${2 ** 26}\\)`));
  });
});

describe('the settings', () => {
  it('check the master key without storing it, and accept the same one again', async (t) => {
    const { database } = openTestDatabase(t);
    const key = randomBytes(32);
    await settingStore(database, createVault(key, randomBytes)).checkMasterKey();
    const { setting } = contents(database);
    assert.equal(setting?.length, 1);
    assert.ok(!JSON.stringify(setting).includes(JSON.stringify([...key]).slice(1, -1)));
    await leavingNothing({ database }, () => settingStore(database, createVault(key, randomBytes)).checkMasterKey());
  });

  it('refuse another master key and change nothing', async (t) => {
    const { database } = openTestDatabase(t);
    await settingStore(database, createVault(randomBytes(32), randomBytes)).checkMasterKey();
    const other = settingStore(database, createVault(randomBytes(32), randomBytes));
    await leavingNothing({ database }, () =>
      assert.rejects(other.checkMasterKey(), {
        message: 'the master key is not the one that this database was made with',
      }),
    );
  });

  it('report whether the database is writable', async (t) => {
    const { database, path } = openTestDatabase(t);
    const settings = settingStore(database, createVault(randomBytes(32), randomBytes));
    await settings.proveWritable(1);
    await settings.proveWritable(2);
    assert.deepEqual(database.all("SELECT CAST(value AS TEXT) AS at FROM setting WHERE name = 'written_at'", {}), [
      { at: '2' },
    ]);
    const holder = await holdLock(t, path);
    let proved = false;
    const proof = settings.proveWritable(3).then(() => {
      proved = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(proved, false);
    await holder.release();
    await proof;
    await database.close();
    await assert.rejects(settings.proveWritable(4), /not open/);
  });
});

const PAGE_BYTES = 4096;

describe('a database that is damaged while it is open', () => {
  it('refuses reads and writes of the damaged table and serves the others', async (t) => {
    const path = join(temporaryFolder(t), 'test.db');
    const first = openSqlite(path);
    first.connection.exec(`
      CREATE TABLE whole (value TEXT) STRICT;
      CREATE TABLE broken (value TEXT) STRICT;
      WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
      INSERT INTO broken SELECT hex(zeroblob(200)) || i FROM n`);
    const root = Number(
      first.connection.prepare("SELECT rootpage FROM sqlite_master WHERE name = 'broken'").pluck().get(),
    );
    await first.close();

    const db = openSqlite(path);
    t.after(() => db.close());
    // Uses another process, because closing the file in this one would release SQLite's locks on it.
    const where = [`of=${path}`, 'if=/dev/urandom', `bs=${PAGE_BYTES}`, 'count=1', `seek=${root - 1}`, 'conv=notrunc'];
    execFileSync('dd', where, { stdio: 'ignore' });
    const isDamaged = (error: unknown): boolean =>
      error instanceof DatabaseUnavailable && error.reason === 'damaged' && error.status === 503 && tellsDamage(error);
    assert.throws(() => db.all('SELECT value FROM broken', {}), isDamaged);
    const write = (table: string): Promise<unknown> =>
      db.commit([{ sql: `INSERT INTO ${table} VALUES (@value)`, params: { value: 'x' } }]);
    await assert.rejects(write('broken'), isDamaged);
    await write('whole');
    assert.deepEqual(db.all('SELECT value FROM whole', {}), [{ value: 'x' }]);
    assert.notDeepEqual(damages(db), []);
  });

  for (const [code, reason] of [
    ['SQLITE_FULL', 'full'],
    ['SQLITE_IOERR_WRITE', 'failed'],
    ['SQLITE_IOERR_SHMSIZE', 'failed'],
    ['SQLITE_CANTOPEN', 'failed'],
    ['SQLITE_READONLY', 'read_only'],
    ['SQLITE_READONLY_DIRECTORY', 'read_only'],
    ['SQLITE_READONLY_DBMOVED', 'missing'],
    ['SQLITE_BUSY_RECOVERY', 'locked'],
    ['SQLITE_PROTOCOL', 'locked'],
    ['SQLITE_CORRUPT_VTAB', 'damaged'],
    ['SQLITE_NOTADB', 'damaged'],
    ['SQLITE_CONSTRAINT_UNIQUE', null],
    ['SQLITE_ERROR', null],
    ['SQLITE_TOOBIG', null],
  ] as const) {
    it(`maps ${code} to ${reason ?? 'no retry'}`, () => {
      assert.equal(unavailableReason(code), reason);
    });
  }
});

test('another build of SQLite, such as Debian’s, finds the database intact while optional columns are null', {
  skip: lacking('sqlite3'),
}, async (t) => {
  const service = await startService(t);
  await makeEventType(service.admin, 'order.placed');
  await makeEndpoint(service.admin, {
    url: 'https://127.0.0.1:9443/',
    secret: Buffer.alloc(32, 7).toString('base64'),
    apiKey: '0123456789abcdef'.repeat(2),
  });
  await service.stop();
  const path = join(service.dataDir, 'sallyport.db');
  const ask = (sql: string): string => execFileSync('sqlite3', [path, sql], { encoding: 'utf8' }).trim();
  assert.notEqual(ask('SELECT count(*) FROM event_type WHERE data_schema IS NULL'), '0');
  assert.notEqual(ask('SELECT count(*) FROM endpoint WHERE last_verification IS NULL'), '0');
  assert.equal(ask('PRAGMA integrity_check'), 'ok');
});

import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { DatabaseUnavailable, unavailableReason } from '../../src/store/errors.ts';
import { damages, tellsDamage } from '../../src/store/sqlite/damage.ts';
import { openSqlite } from '../../src/store/sqlite/driver/sqlite.ts';
import { temporaryFolder } from '../support/store.ts';

const PAGE_BYTES = 4096;

describe('a database that is damaged while it is open', () => {
  it('is unavailable to who reads or writes what is damaged, and goes on with the rest', async (t) => {
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
    // By another process: closing the file in this one would end the locks that SQLite holds on it.
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
    it(`and ${code} is ${reason ?? 'no reason to try again'}`, () => {
      assert.equal(unavailableReason(code), reason);
    });
  }
});

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import BetterSqlite3 from 'better-sqlite3';
import type { Statement } from '../../../src/store/port/database.ts';
import { ConstraintViolation, StaleWrite } from '../../../src/store/port/errors.ts';
import { openSqlite, type SqliteDatabase } from '../../../src/store/sqlite/driver/sqlite.ts';
import { cleanUp } from '../../support/cleanup.ts';
import { temporaryFolder } from '../../support/store.ts';
import { FAILING_TEST } from '../../support/thread-events.ts';

const WRITERS = ['the event loop', 'a thread'] as const;
type Writer = (typeof WRITERS)[number];

async function open(t: TestContext, writer: Writer = 'the event loop'): Promise<{ path: string; db: SqliteDatabase }> {
  const path = join(temporaryFolder(t), 'test.db');
  const db = openSqlite(path, writer === 'a thread' ? { writerThread: FAILING_TEST } : {});
  cleanUp(t, () => db.close());
  db.connection.exec(`
    CREATE TABLE parent (id INTEGER PRIMARY KEY) STRICT;
    CREATE TABLE thing (
      id INTEGER PRIMARY KEY,
      name TEXT UNIQUE,
      size INTEGER CHECK (size < 100),
      parent INTEGER REFERENCES parent (id),
      late INTEGER REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED,
      UNIQUE (size, parent)
    ) STRICT;`);
  return { path, db };
}

const insert = (id: number, more: Readonly<Record<string, string | number>> = {}): Statement => ({
  sql: 'INSERT INTO thing (id, name, size, parent, late) VALUES (@id, @name, @size, @parent, @late)',
  params: { id, name: `thing ${id}`, size: null, parent: null, late: null, ...more },
});
const named = (db: SqliteDatabase): unknown[] =>
  (db.all('SELECT name FROM thing ORDER BY id', {}) as { name: string }[]).map(({ name }) => name);

/** Counts on another connection, which sees only committed rows. */
function countSeenElsewhere(path: string): unknown {
  const other = new BetterSqlite3(path, { readonly: true });
  try {
    return other.prepare('SELECT count(*) FROM thing').pluck().get();
  } finally {
    other.close();
  }
}

/** Waits for each and returns its error, or null. */
async function outcomes(work: readonly Promise<unknown>[]): Promise<unknown[]> {
  const settled = await Promise.allSettled(work);
  return settled.map((one) => (one.status === 'rejected' ? one.reason : null));
}

for (const writer of WRITERS) {
  describe(`group commit, written by ${writer}`, () => {
    it('commits the lists of one turn together and in order, durable when they resolve', async (t) => {
      const { path, db } = await open(t, writer);
      // A commit stops taking statements after a few milliseconds, so on a busy machine it may contain fewer of them.
      let isTogether = false;
      for (let last = 0; !isTogether && last < 1000; last += 20) {
        let seen = 0;
        const commits = Array.from({ length: 20 }, (_, n) =>
          db.commit([insert(last + n)]).then(() => {
            if (n === 0) seen = Number(countSeenElsewhere(path));
          }),
        );
        assert.equal(countSeenElsewhere(path), last);
        await Promise.all(commits);
        assert.ok(seen > last);
        assert.deepEqual(
          named(db),
          Array.from({ length: last + 20 }, (_, id) => `thing ${id}`),
        );
        isTogether = seen === last + 20;
      }
      assert.ok(isTogether);
    });

    it('commits more lists than fit into one commit, and loses none', async (t) => {
      const { path, db } = await open(t, writer);
      await Promise.all(Array.from({ length: 2000 }, (_, id) => db.commit([insert(id)])));
      assert.equal(countSeenElsewhere(path), 2000);
    });

    it('refuses only the list that violates a constraint, and undoes all of it', async (t) => {
      const { path, db } = await open(t, writer);
      const [first, second, third] = await outcomes([
        db.commit([insert(1)]),
        db.commit([insert(2), insert(3), insert(4, { name: 'thing 1' })]),
        db.commit([insert(5)]),
      ]);
      assert.equal(first, null);
      assert.ok(second instanceof ConstraintViolation);
      assert.equal(third, null);
      assert.deepEqual(named(db), ['thing 1', 'thing 5']);
      assert.equal(countSeenElsewhere(path), 2);
    });

    it('refuses only the list that changed an unexpected number of rows', async (t) => {
      const { db } = await open(t, writer);
      await db.commit([insert(1)]);
      const rename = (id: number, name: string): Statement => ({
        sql: 'UPDATE thing SET name = @name WHERE id = @id',
        params: { id, name },
        expectChanges: 1,
      });
      const [first, second] = await outcomes([
        db.commit([rename(1, 'a')]),
        db.commit([rename(1, 'b'), rename(7, 'c')]),
        db.commit([insert(2)]),
      ]);
      assert.equal(first, null);
      assert.ok(second instanceof StaleWrite);
      assert.equal(second.message, 'expected 1 changed rows, got 0: UPDATE thing SET name = @name WHERE id = @id');
      assert.deepEqual(named(db), ['a', 'thing 2']);
    });

    it('refuses only a list with invalid SQL or a missing parameter', async (t) => {
      const { db } = await open(t, writer);
      const [first, second, third] = await outcomes([
        db.commit([insert(1), { sql: 'INSERT INTO nowhere VALUES (1)', params: {} }]),
        db.commit([insert(2), { sql: 'DELETE FROM thing WHERE id = @id', params: {} }]),
        db.commit([insert(3)]),
      ]);
      assert.match(String(first), /no such table: nowhere/);
      assert.match(String(second), /Missing named parameter "id"/);
      assert.equal(third, null);
      assert.deepEqual(named(db), ['thing 3']);
    });

    it('shows a later list of the same commit what earlier ones wrote', async (t) => {
      const { db } = await open(t, writer);
      const [, second] = await Promise.all([
        db.commit([insert(1)]),
        db.commit([
          { sql: "UPDATE thing SET name = 'seen' WHERE id = 1 RETURNING id, name", params: {}, expectChanges: 1 },
        ]),
      ]);
      assert.deepEqual(second, [{ changes: 1, rows: [{ id: 1, name: 'seen' }] }]);
    });

    it('returns the changes and rows of each statement of a list', async (t) => {
      const { db } = await open(t, writer);
      const results = await db.commit([
        insert(1),
        insert(2),
        { sql: 'DELETE FROM thing', params: {} },
        { sql: 'SELECT 5 AS five', params: {} },
      ]);
      assert.deepEqual(results, [
        { changes: 1, rows: [] },
        { changes: 1, rows: [] },
        { changes: 2, rows: [] },
        { changes: 1, rows: [{ five: 5 }] },
      ]);
    });
  });

  describe(`a violated constraint, written by ${writer}`, () => {
    const table: readonly [what: string, statement: Statement, kind: string, columns: readonly string[]][] = [
      ['a taken primary key', insert(1), 'unique', ['thing.id']],
      ['a taken unique column', insert(2, { name: 'thing 1' }), 'unique', ['thing.name']],
      ['a taken pair of columns', insert(2, { size: 5, parent: 1 }), 'unique', ['thing.size', 'thing.parent']],
      ['a value that a CHECK forbids', insert(2, { size: 100 }), 'check', ['size < 100']],
      ['a reference to a missing row', insert(2, { parent: 9 }), 'foreign_key', []],
      ['the deletion of a row with references to it', { sql: 'DELETE FROM parent', params: {} }, 'foreign_key', []],
    ];
    for (const [what, statement, kind, columns] of table) {
      it(`is reported as ${kind}: ${what}`, async (t) => {
        const { db } = await open(t, writer);
        await db.commit([{ sql: 'INSERT INTO parent VALUES (1)', params: {} }, insert(1, { size: 5, parent: 1 })]);
        const [error] = await outcomes([db.commit([statement])]);
        assert.ok(error instanceof ConstraintViolation, String(error));
        assert.deepEqual([error.kind, error.columns], [kind, columns]);
        assert.deepEqual(named(db), ['thing 1']);
      });
    }
  });

  describe(`a commit that fails as a whole, written by ${writer}`, () => {
    it('rejects every list in it and keeps nothing, and the next commit succeeds', async (t) => {
      const { path, db } = await open(t, writer);
      // Each list succeeds by itself, and only COMMIT detects the deferred foreign key violation.
      const [broken, ...others] = await outcomes([
        db.commit([insert(1, { late: 9 })]),
        db.commit([insert(2)]),
        db.commit([insert(3)]),
      ]);
      assert.match(String(broken), /FOREIGN KEY constraint failed/);
      // A commit that takes too long starts no further list. The next commit then writes that list and succeeds.
      const kept = others.flatMap((error, at) => (error === null ? [`thing ${at + 2}`] : []));
      for (const error of others) if (error !== null) assert.match(String(error), /FOREIGN KEY constraint failed/);
      assert.equal(db.connection.inTransaction, false);
      assert.equal(countSeenElsewhere(path), kept.length);
      await db.commit([insert(4)]);
      assert.deepEqual(named(db), [...kept, 'thing 4']);
    });
  });

  describe(`closing, written by ${writer}`, () => {
    it('writes everything before it, and refuses everything after it', async (t) => {
      const { path, db } = await open(t, writer);
      const commits = Array.from({ length: 600 }, (_, id) => db.commit([insert(id)]));
      await db.close();
      await Promise.all(commits);
      assert.equal(countSeenElsewhere(path), 600);
      await assert.rejects(db.commit([insert(1000)]), /not open/);
    });
  });
}

describe('a full disk', () => {
  it('is reported if it ended the transaction, nothing is kept, and writing continues once there is room', async (t) => {
    const { path, db } = await open(t);
    await db.commit([insert(1)]);
    const pages = Number(db.connection.pragma('page_count', { simple: true }));
    db.connection.pragma(`max_page_count = ${pages}`);
    const errors = await outcomes([
      // One list: after a list that took long, for example on a busy machine, a commit takes no further ones.
      db.commit([insert(2), insert(3, { name: 'x'.repeat(100_000) })]),
      db.commit([insert(4)]),
    ]);
    for (const error of errors) assert.match(String(error), /the disk is full/);
    assert.equal(countSeenElsewhere(path), 1);
    db.connection.pragma(`max_page_count = ${pages + 1000}`);
    await db.commit([insert(5)]);
    assert.deepEqual(named(db), ['thing 1', 'thing 5']);
  });
});

describe('the connection', () => {
  it('is durable and strict: WAL, fsync at every commit, foreign keys, no functions for the schema', async (t) => {
    const { connection } = (await open(t)).db;
    const pragmas = ['journal_mode', 'synchronous', 'foreign_keys', 'trusted_schema'];
    assert.deepEqual(
      pragmas.map((pragma) => connection.pragma(pragma, { simple: true })),
      ['wal', 2, 1, 0],
    );
  });
});

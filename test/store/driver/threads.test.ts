import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, renameSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Worker } from 'node:worker_threads';
import fc from 'fast-check';
import type { SqlValue, Statement } from '../../../src/store/port/database.ts';
import { DatabaseUnavailable } from '../../../src/store/port/errors.ts';
import { LOG_FILE_BYTES } from '../../../src/store/sqlite/driver/connection.ts';
import { CHECKPOINT_PAGES } from '../../../src/store/sqlite/driver/limits.ts';
import { LISTS_HANDED_EARLY, openSqlite, type SqliteDatabase } from '../../../src/store/sqlite/driver/sqlite.ts';
import {
  appendList,
  receivedLists,
  type SentStatement,
  type ThreadEvents,
} from '../../../src/store/sqlite/driver/thread-writer.ts';
import { cleanUp } from '../../support/cleanup.ts';
import { deferred } from '../../support/deferred.ts';
import type { FullFile } from '../../support/full-file.ts';
import { holdLock } from '../../support/lock-holder.ts';
import { temporaryFolder } from '../../support/store.ts';
import { FAILING_TEST } from '../../support/thread-events.ts';

type Opened = { readonly path: string; readonly db: SqliteDatabase };

/** Opens a database that a thread writes, or the event loop if `writerThread` is null. */
function open(t: TestContext, writerThread: ThreadEvents | null = FAILING_TEST): Opened {
  const path = join(temporaryFolder(t), 'test.db');
  const db = openSqlite(path, writerThread === null ? {} : { writerThread });
  cleanUp(t, () => db.close());
  db.connection.exec('CREATE TABLE kept (value ANY) STRICT');
  return { path, db };
}

const insert = (value: SqlValue): Statement => ({
  sql: 'INSERT INTO kept VALUES (@value) RETURNING value, typeof(value) AS type',
  params: { value },
});
const count = (db: SqliteDatabase): number => Number((db.get('SELECT count(*) AS n FROM kept', {}) as { n: number }).n);

const bytes = fc.uint8Array({ maxLength: 300 });
const value: fc.Arbitrary<SqlValue> = fc.oneof(
  fc.constant(null),
  fc.integer(),
  fc.maxSafeInteger(),
  fc.double({ noNaN: true }),
  fc.string({ unit: 'binary' }),
  fc.string({ minLength: 190, maxLength: 5000 }),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  bytes,
  bytes.map((some) => Buffer.concat([Buffer.from('a pool'), some]).subarray(6)),
);

describe('values sent between the event loop and a thread', () => {
  it('arrive unchanged in their lists, and bytes without the pool that they are a part of', () => {
    const statement = fc.record({
      number: fc.nat(),
      expectChanges: fc.option(fc.nat(), { nil: undefined }),
      values: fc.array(value),
    });
    fc.assert(
      fc.property(fc.array(fc.array(statement, { maxLength: 4 }), { maxLength: 4 }), (lists) => {
        const sent: SqlValue[] = [];
        for (const list of lists) appendList(sent, list);
        const received = receivedLists(structuredClone(sent));
        const plain = (one: SqlValue): unknown => (one instanceof Uint8Array ? Buffer.from(one).toString('hex') : one);
        const plainLists = (all: readonly (readonly SentStatement[])[]) =>
          all.map((list) => list.map((one) => ({ ...one, values: one.values.map(plain) })));
        assert.deepEqual(plainLists(received), plainLists(lists));
        for (const one of received.flat(2).flatMap(({ values }) => values))
          if (one instanceof Uint8Array) assert.equal(one.buffer.byteLength, one.byteLength);
      }),
    );
  });

  it('are written like those of the event loop, and return the same rows', async (t) => {
    const [here, there] = [open(t, null), open(t)];
    await fc.assert(
      fc.asyncProperty(fc.array(value, { minLength: 1, maxLength: 5 }), async (values) => {
        const [one, other] = await Promise.all([here, there].map(({ db }) => db.commit(values.map(insert))));
        assert.deepEqual(plainRows(other), plainRows(one));
      }),
    );
    const all = 'SELECT value, typeof(value) AS type FROM kept ORDER BY rowid';
    assert.deepEqual(there.db.all(all, {}), here.db.all(all, {}));
  });
});

const TIMEOUT_MS = 60_000;

const FLAGS = 'deno' in process.versions ? ['run', '--allow-all'] : ['--disable-warning=ExperimentalWarning'];

/** The event loop returns bytes as a Buffer, a thread as a Uint8Array. */
function plainRows(results: Awaited<ReturnType<SqliteDatabase['commit']>> | undefined): unknown {
  return results?.map(({ changes, rows }) => [
    changes,
    rows.map((row) => (row.value instanceof Uint8Array ? Buffer.from(row.value).toString('hex') : row.value)),
    rows.map(({ type }) => type),
  ]);
}

describe('the threads of a database', () => {
  it('leave the event loop free while another process holds the database, and write once it is released', async (t) => {
    const { path, db } = open(t);
    const holder = await holdLock(t, path);
    let isDone = false;
    const commit = db.commit([insert(1)]).then(() => {
      isDone = true;
    });
    for (let turns = 0; turns < 50; turns += 1) {
      await turn();
      assert.equal(count(db), 0);
    }
    assert.equal(isDone, false);
    await holder.release();
    await commit;
    assert.equal(count(db), 1);
  });

  it('keep the log short under any load, and empty it on request', async (t) => {
    const { path, db } = open(t);
    const pageBytes = 4096;
    for (let n = 0; n < 30; n += 1) {
      await Promise.all(Array.from({ length: 50 }, () => db.commit([insert('x'.repeat(pageBytes * 4))])));
    }
    const written = 30 * 50 * 4 * pageBytes;
    const logBytes = statSync(`${path}-wal`).size;
    assert.ok(logBytes < LOG_FILE_BYTES && LOG_FILE_BYTES < written, `${logBytes} of ${written} bytes`);
    assert.ok(logBytes > (pageBytes * CHECKPOINT_PAGES) / 4, `${logBytes} bytes: it is not emptied at every commit`);
    assert.equal(await db.forgetOverwritten(), true);
    assert.equal(statSync(`${path}-wal`).size, 0);
  });

  it('show a commit to its caller immediately, even after another read in the same turn', async (t) => {
    const { db } = open(t);
    for (let n = 0; n < 300; n += 1) {
      assert.equal(count(db), n);
      // Reads in every turn, so that some happen in the turn of the thread's answer.
      let isDone = false;
      const readOn = (): void => {
        if (isDone) return;
        count(db);
        setImmediate(readOn);
      };
      readOn();
      await db.commit([insert(n)]);
      assert.equal(count(db), n + 1);
      isDone = true;
    }
  });

  it('show one snapshot to all reads of a turn, and the latest state to the next turn', async (t) => {
    const { path, db } = open(t);
    const other = openSqlite(path);
    cleanUp(t, () => other.close());
    assert.equal(count(db), 0);
    other.connection.exec('INSERT INTO kept VALUES (1)');
    assert.equal(count(db), 0);
    await turn();
    assert.equal(count(db), 1);
  });

  it('write the first of many lists before the turn ends, and the rest after it', async (t) => {
    const { path, db } = open(t);
    const other = openSqlite(path);
    cleanUp(t, () => other.close());
    const commits = Array.from({ length: LISTS_HANDED_EARLY + 8 }, (_, n) => db.commit([insert(n)]));
    const deadline = performance.now() + TIMEOUT_MS;
    while (count(other) < LISTS_HANDED_EARLY)
      assert.ok(performance.now() < deadline, 'they were not written before the turn ended');
    assert.equal(count(other), LISTS_HANDED_EARLY);
    await Promise.all(commits);
    assert.equal(count(db), commits.length);
  });

  it('report immediately that a reader prevents emptying the log, and continue to write', async (t) => {
    const { path, db } = open(t);
    await db.commit([insert(1)]);
    const reader = openSqlite(path);
    cleanUp(t, () => reader.close());
    reader.connection.exec('BEGIN');
    assert.equal(count(reader), 1);
    await db.commit([insert(2)]);
    assert.equal(await db.forgetOverwritten(), false);
    await db.commit([insert(3)]);
    reader.connection.exec('COMMIT');
    assert.equal(await db.forgetOverwritten(), true);
    assert.equal(count(db), 3);
  });

  it('continue to write if the log cannot be copied, and report that once', async (t) => {
    const program = fileURLToPath(new URL('../../support/full-file.ts', import.meta.url));
    const path = join(temporaryFolder(t), 'test.db');
    // The shell counts in blocks of 512 bytes.
    const limitBytes = 64 * 1024 ** 2;
    const script = `trap '' XFSZ; ulimit -f ${limitBytes / 512}; exec "$@"`;
    const args = [process.execPath, ...FLAGS, program, path, String(limitBytes)];
    const { stdout, stderr } = spawnSync('sh', ['-c', script, 'sh', ...args], { encoding: 'utf8' });
    assert.notEqual(stdout, '', stderr);
    const { commits, ...told } = JSON.parse(stdout) as FullFile;
    assert.ok(commits > 30, `${commits} commits`);
    assert.deepEqual(told, {
      faults: ['the log could not be copied into the database: disk I/O error'],
      emptied: false,
      later: 60,
    });
  });

  it('end with the database, after everything is written', async (t) => {
    const { path, db } = open(t);
    const commits = Array.from({ length: 3000 }, (_, n) => db.commit([insert(n)]));
    await db.close();
    await Promise.all(commits);
    const again = openSqlite(path);
    cleanUp(t, () => again.close());
    assert.equal(count(again), 3000);
    await assert.rejects(db.commit([insert(1)]), /not open/);
  });
});

describe('a thread that ends unexpectedly', () => {
  it('refuses waiting and later writes, calls back once, and loses nothing that was acknowledged', async (t) => {
    const threads = startedThreads(t);
    const ended = deferred<Error>();
    let calls = 0;
    const onEnd = (error: Error): void => {
      calls += 1;
      ended.resolve(error);
    };
    const { path, db } = open(t, { ...FAILING_TEST, onEnd });
    await db.commit([insert(1)]);
    const holder = await holdLock(t, path);
    const waits = assert.rejects(db.commit([insert(2)]), isStopped);
    await turn();
    await threads[0]?.terminate();
    await waits;
    await holder.release();
    assert.equal((await ended.promise).message, 'the thread ended');
    await assert.rejects(db.commit([insert(3)]), isStopped);
    await assert.rejects(db.forgetOverwritten() as Promise<boolean>, isStopped);
    assert.deepEqual([count(db), calls], [1, 1]);
    await db.close();
    const again = openSqlite(path);
    cleanUp(t, () => again.close());
    assert.equal(count(again), 1);
  });

  it('also ends writing if it is the thread that copies the log', async (t) => {
    const threads = startedThreads(t);
    const ended = deferred<Error>();
    const { db } = open(t, { ...FAILING_TEST, onEnd: ended.resolve });
    while (threads.length < 2) await db.commit([insert('x'.repeat(1_000_000))]);
    await threads[1]?.terminate();
    assert.equal((await ended.promise).message, 'the thread ended');
    await assert.rejects(db.commit([insert(1)]), isStopped);
    await db.close();
  });

  it('may end before it has its connection, for example if other files are at the path', async (t) => {
    const ended = deferred<Error>();
    const { path, db } = open(t, { ...FAILING_TEST, onEnd: ended.resolve });
    renameSync(path, `${path}.moved`);
    mkdirSync(path);
    await assert.rejects(db.commit([insert(1)]), isStopped);
    assert.match((await ended.promise).message, /other files are in their place/);
    await db.close();
  });
});

/** Collects the threads that this process starts after this call. */
function startedThreads(t: TestContext): Worker[] {
  const threads: Worker[] = [];
  const note = (worker: Worker): void => void threads.push(worker);
  process.on('worker', note);
  cleanUp(t, () => process.off('worker', note));
  return threads;
}

function isStopped(error: unknown): boolean {
  return error instanceof DatabaseUnavailable && error.reason === 'stopped';
}

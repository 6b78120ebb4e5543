/** Connections to the SQLite file: their pragmas, their statements, and whether their files are still in place. */

import { createHash } from 'node:crypto';
import { statSync } from 'node:fs';
import BetterSqlite3 from 'better-sqlite3';
import type { SqlParameters, SqlValue } from '../../port/database.ts';
import { sqliteText } from './dialect.ts';
import { unavailable } from './errors.ts';
import { CHECKPOINT_PAGES_ALONE } from './limits.ts';

/** How long SQLite itself waits at each attempt. The thread is blocked during the wait. */
const BUSY_WAIT_MS = 5;

/** For so long after a check of the database's files, a commit begins without another one. Each commit ends with a check. */
const FILES_CHECK_MS = 20;

/** The log's file is cut to this size when the log begins again. */
export const LOG_FILE_BYTES: number = 16 * 1024 * 1024;

/**
 * The page cache of each connection, in KiB. A commit of another connection empties it, so a larger one helps only while nothing is
 * written: with SQLite's default of 16,000 deliveries were no faster, and the process grew by 16 MB.
 */
export const PAGES_KEPT_KIB = 4000;

export type Connection = BetterSqlite3.Database;

/** A compiled statement and its parameters in order. */
export type PreparedStatement = {
  readonly sql: string;
  readonly statement: BetterSqlite3.Statement;
  readonly names: readonly string[];
};

/** SQLite's own wait while a connection is opened: the log of a crashed process may need recovery. */
const OPENING_WAIT_MS = 5000;

type ConnectionOptions = {
  readonly readOnly?: boolean;
  /** Do not create the file. */
  readonly mustExist?: boolean;
};

/** Throws SQLite's error if the database cannot be opened. Creates a missing file, unless `readOnly` or `mustExist`. */
export function openConnection(
  path: string,
  { readOnly = false, mustExist = false }: ConnectionOptions = {},
): Connection {
  const connection = new BetterSqlite3(path, {
    readonly: readOnly,
    fileMustExist: mustExist,
    timeout: OPENING_WAIT_MS,
  });
  try {
    if (!readOnly) connection.pragma('journal_mode = WAL');
    connection.pragma('synchronous = FULL');
    connection.pragma('foreign_keys = ON');
    connection.pragma('trusted_schema = OFF');
    connection.pragma(`cache_size = -${PAGES_KEPT_KIB}`);
    // Half of SQLite's default. The commit that reaches this many pages copies them into the file, and all others wait: 1000 pages took
    // up to 15 ms of a commit, 500 up to 7 ms and 7 % of the writes in a second. A server checkpoints in a thread (thread-writer.ts).
    connection.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES_ALONE}`);
    // The log grows while a reader stays in it.
    connection.pragma(`journal_size_limit = ${LOG_FILE_BYTES}`);
    // Overwrites deleted and erased data with zeros, also in pages that become free. Housekeeping pays one more write of such pages;
    // publishing and delivering free none.
    connection.pragma('secure_delete = ON');
    // The thread stands still while SQLite waits for another process. Writers wait longer than this with timers.
    connection.pragma(`busy_timeout = ${BUSY_WAIT_MS}`);
    connection.function('sha256_hex', { deterministic: true, directOnly: true }, (text) =>
      createHash('sha256').update(String(text)).digest('hex'),
    );
    connection.function('add_latencies', { deterministic: true, directOnly: true }, addLatencies);
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}

/**
 * Opens a connection to write with. Returns it with the identities of its files. `expected` are the files of another connection to the
 * same database: throws `DatabaseUnavailable` if the path holds other files, even if they were put there during the opening.
 */
export function openToWrite(
  path: string,
  expected: FileIdentities | null = null,
): { readonly connection: Connection; readonly files: FileIdentities } {
  // Checked before the opening too: beside other files it would create a second log.
  const problem = expected === null ? null : filesProblem(path, expected);
  if (problem !== null) throw unavailable(problem);
  const before = expected?.[0] ?? identityOf(path);
  const connection = openConnection(path, { mustExist: expected !== null });
  try {
    // SQLite opens the log and its index at the first read.
    connection.prepare('SELECT count(*) FROM sqlite_master').get();
    const files = identitiesOf(path);
    const known = expected ?? [before ?? files[0], ...files.slice(1)];
    if (files.some((identity, at) => identity !== known[at])) throw unavailable('replaced');
    return { connection, files };
  } catch (error) {
    connection.close();
    throw error;
  }
}

/**
 * Compiles each statement once: there are as many as constants in the modules of tables. Values are bound by position, which costs two
 * thirds of binding by name (benchmark "Issuing tokens").
 *
 * The forms that both databases share become SQLite's own, and a `@name` becomes `+?`. The sign changes no value, but hides the parameter
 * from SQLite's planner. Built with STAT4, the planner looks at the values that are bound to a LIMIT, a range or a join, and compiles the
 * statement again for every run: the gate's look-up took 12 µs instead of 0.8, and a third of all statements 3 to 12 times as long.
 * better-sqlite3 does not offer SQLite's switch for this (QPSG).
 */
export function createStatements(connection: Connection): (sql: string) => PreparedStatement {
  const prepared = new Map<string, PreparedStatement>();
  return (sql) => {
    let known = prepared.get(sql);
    if (known === undefined) {
      known = {
        sql,
        statement: connection.prepare(sqliteText(sql).replaceAll(PARAMETER, '+?')),
        names: parameterNames(sql),
      };
      prepared.set(sql, known);
    }
    return known;
  };
}

/** The values of a statement in the order of its parameters. */
export function valuesOf(names: readonly string[], params: SqlParameters): SqlValue[] {
  return names.map((name) => {
    const value = params[name];
    if (value === undefined) throw new RangeError(`Missing named parameter "${name}"`);
    return typeof value === 'boolean' ? Number(value) : value;
  });
}

/** Adds two lists [bucket, requests, bucket, requests, …], which are JSON texts, as `add_latencies` does on PostgreSQL. */
function addLatencies(one: unknown, other: unknown): string {
  const sums = new Map<number, number>();
  for (const list of [one, other]) {
    const flat = JSON.parse(String(list)) as readonly number[];
    for (let n = 0; n < flat.length; n += 2) {
      const bucket = Number(flat[n]);
      sums.set(bucket, (sums.get(bucket) ?? 0) + Number(flat[n + 1]));
    }
  }
  return JSON.stringify([...sums].flat());
}

/** No statement holds an `@` outside a parameter. */
const PARAMETER = /@(\w+)/g;

/** The parameters of a statement in their order, with repetitions. */
export function parameterNames(sql: string): readonly string[] {
  return Array.from(sql.matchAll(PARAMETER), ([, name = '']) => name);
}

// Whether the files of an open database are still at their paths. SQLite keeps writing to files that were deleted or moved: commits to
// such files are lost when the process ends, and no other process can read them.

/** Device and inode of the database's file, of its log and of the log's index; null for a missing file. */
export type FileIdentities = readonly (string | null)[];

export type FileCheck = {
  /** Checks the files before a commit if the last check is too old or failed. Throws `DatabaseUnavailable`. */
  before(): void;
  /** Checks the files after a commit, before anyone hears that it is durable. Throws `DatabaseUnavailable`. */
  after(): void;
};

const ENDINGS = ['', '-wal', '-shm'] as const;

function identitiesOf(path: string): FileIdentities {
  return ENDINGS.map((ending) => identityOf(path + ending));
}

function identityOf(path: string): string | null {
  const found = stat(path);
  return found === null ? null : `${found.dev}:${found.ino}`;
}

type FilesProblem = 'missing' | 'replaced';

/** Why a database that was opened with these files cannot be written; null if they are at their paths. */
export function filesProblem(path: string, opened: FileIdentities): FilesProblem | null {
  const now = identitiesOf(path);
  if (now.every((identity, at) => identity === opened[at])) return null;
  return now.some((identity, at) => identity !== null && identity !== opened[at]) ? 'replaced' : 'missing';
}

/** Whether the log was deleted and no other process can have begun another one in its place. */
export function isLogAloneMissing(path: string, opened: FileIdentities): boolean {
  const [database, log, index] = identitiesOf(path);
  return database === opened[0] && log === null && (index === null || index === opened[2]);
}

/** Costs three `stat` calls a commit, 14 µs together, beside commits of 2 to 5 ms that many requests share. */
export function createFileCheck(path: string, opened: FileIdentities): FileCheck {
  let checkedAt = Number.NEGATIVE_INFINITY;
  const check = (): void => {
    checkedAt = Number.NEGATIVE_INFINITY;
    const problem = filesProblem(path, opened);
    if (problem !== null) throw unavailable(problem);
    checkedAt = performance.now();
  };
  return {
    before: () => {
      if (performance.now() - checkedAt > FILES_CHECK_MS) check();
    },
    after: check,
  };
}

/** Null for a missing file, and for a file in a folder that this process can no longer enter. */
function stat(path: string): { readonly dev: bigint; readonly ino: bigint } | null {
  try {
    return statSync(path, { bigint: true, throwIfNoEntry: false }) ?? null;
  } catch {
    return null;
  }
}

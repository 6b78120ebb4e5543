/** A connection to the SQLite file as every thread opens it: its pragmas, its statements, and what its refusals mean. */
import { createHash } from 'node:crypto';
import BetterSqlite3 from 'better-sqlite3';
import {
  BUSY_WAIT_MS,
  CHECKPOINT_PAGES_ALONE,
  LOG_FILE_BYTES,
  PAGES_KEPT_KIB,
} from '../../../kernel/limits/database.ts';
import { ConstraintViolation, DatabaseUnavailable, unavailableReason } from '../../errors.ts';
import type { Parameters, SqlValue } from './database.ts';
import { type FileIdentities, filesProblem, identitiesOf, identityOf } from './database-files.ts';

export type Connection = BetterSqlite3.Database;

/** A statement, and which parameter stands in each of its places. */
export type Prepared = {
  readonly sql: string;
  readonly statement: BetterSqlite3.Statement;
  readonly names: readonly string[];
};

/** How long SQLite itself may wait at the opening, when a crashed process's log may have to be recovered. */
const OPENING_WAIT_MS = 5000;

type ConnectionOptions = {
  readonly readOnly?: boolean;
  /** There is a file: none is made. */
  readonly mustExist?: boolean;
};

/** Throws what SQLite says when it cannot be opened. A new connection to write with makes the file where there is none. */
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
    // Half of SQLite's own figure: the commit that brings this many pages together copies them into the file, and everybody waits.
    // Measured on one disk: 1000 pages take up to 15 ms of a commit, 500 up to 7 ms and 7 % of what can be written in a second.
    // A server has a thread for it (checkpoints.ts).
    connection.pragma(`wal_autocheckpoint = ${CHECKPOINT_PAGES_ALONE}`);
    // It grows while a reader stays in it.
    connection.pragma(`journal_size_limit = ${LOG_FILE_BYTES}`);
    // What is deleted or erased is overwritten with zeros, in pages that become free too. Its price is one more write of such pages,
    // paid by housekeeping; nothing on the way of a publish or a delivery frees any.
    connection.pragma('secure_delete = ON');
    // The event loop stands still while SQLite waits for another process; longer waits are waited out by whoever commits.
    connection.pragma(`busy_timeout = ${BUSY_WAIT_MS}`);
    connection.function('sha256_hex', { deterministic: true, directOnly: true }, (text) =>
      createHash('sha256').update(String(text)).digest('hex'),
    );
    return connection;
  } catch (error) {
    connection.close();
    throw error;
  }
}

/**
 * A connection to write with, and which files it has open. `expected` are those of another connection to the same database. Throws
 * `DatabaseUnavailable` where there are others at the path, also where they were put there while it was opened.
 */
export function openToWrite(
  path: string,
  expected: FileIdentities | null = null,
): { readonly connection: Connection; readonly files: FileIdentities } {
  // Looked at before too: opened beside others, it would make a log of its own.
  const problem = expected === null ? null : filesProblem(path, expected);
  if (problem !== null) throw new DatabaseUnavailable(problem);
  const before = expected?.[0] ?? identityOf(path);
  const connection = openConnection(path, { mustExist: expected !== null });
  try {
    // The log and its index are opened with the first read.
    connection.prepare('SELECT count(*) FROM sqlite_master').get();
    const files = identitiesOf(path);
    const known = expected ?? [before ?? files[0], ...files.slice(1)];
    if (files.some((identity, at) => identity !== known[at])) throw new DatabaseUnavailable('replaced');
    return { connection, files };
  } catch (error) {
    connection.close();
    throw error;
  }
}

/**
 * The statements that a connection reads with, each compiled once; they take their values by name. There are as many as there are
 * constants in the tables' modules.
 */
export function createReads(connection: Connection): (sql: string) => BetterSqlite3.Statement {
  const prepared = new Map<string, BetterSqlite3.Statement>();
  return (sql) => {
    const known = prepared.get(sql) ?? connection.prepare(sql.replaceAll('@', `${UNSEEN_BY_PLANNER}@`));
    prepared.set(sql, known);
    return known;
  };
}

/** The statements that a connection writes with; they take their values by place: that costs two thirds of what it does by name. */
export function createWrites(connection: Connection): (sql: string) => Prepared {
  const prepared = new Map<string, Prepared>();
  return (sql) => {
    let known = prepared.get(sql);
    if (known === undefined) {
      const statement = connection.prepare(sql.replaceAll(PARAMETER, `${UNSEEN_BY_PLANNER}?`));
      known = { sql, statement, names: parameterNames(sql) };
      prepared.set(sql, known);
    }
    return known;
  };
}

/** The values of a statement in the order of its places. */
export function valuesOf(names: readonly string[], params: Parameters): SqlValue[] {
  return names.map((name) => {
    const value = params[name];
    if (value === undefined) throw new RangeError(`Missing named parameter "${name}"`);
    return value;
  });
}

/** No statement of ours holds an `@` that is not a parameter. */
const PARAMETER = /@(\w+)/g;

/** The parameters of a statement as they stand in it, a repeated one as often as it does. */
export function parameterNames(sql: string): readonly string[] {
  return Array.from(sql.matchAll(PARAMETER), ([, name = '']) => name);
}

/**
 * The sign before a parameter changes no value. SQLite with STAT4 plans a join by the values that are bound to it and so compiles it
 * anew at every run: reading one record took 19 µs instead of 3, and the gate's look-up suffered alike.
 */
const UNSEEN_BY_PLANNER = '+';

const CONSTRAINT_KINDS: Readonly<Record<string, 'unique' | 'foreign_key' | 'check'>> = {
  SQLITE_CONSTRAINT_UNIQUE: 'unique',
  SQLITE_CONSTRAINT_PRIMARYKEY: 'unique',
  SQLITE_CONSTRAINT_FOREIGNKEY: 'foreign_key',
  SQLITE_CONSTRAINT_CHECK: 'check',
};

/** An error of SQLite's as the port knows it, every other one as it is. The message of a constraint ends in the columns. */
export function portError(error: unknown): unknown {
  if (!(error instanceof BetterSqlite3.SqliteError)) return unavailableError(error);
  const kind = CONSTRAINT_KINDS[error.code];
  if (kind === undefined) return unavailableError(error);
  const columns = error.message.split(': ')[1]?.split(', ') ?? [];
  return new ConstraintViolation(kind, columns, { cause: error });
}

/** An error of SQLite's that says that the database cannot be used now as `DatabaseUnavailable`, every other one as it is. */
export function unavailableError(error: unknown): unknown {
  if (!(error instanceof BetterSqlite3.SqliteError)) return error;
  const reason = unavailableReason(error.code);
  return reason === null ? error : new DatabaseUnavailable(reason, { cause: error });
}

/** Whether another process holds the file. */
export function isBusy(error: unknown): boolean {
  return error instanceof BetterSqlite3.SqliteError && error.code.startsWith('SQLITE_BUSY');
}

/**
 * The driver for one machine: one SQLite file in WAL mode.
 *
 * Transactions that are asked for within one turn of the event loop share one commit, hence one fsync (group commit); each is a
 * savepoint of its own, so a refused one takes no other with it. Durability stays whole: no caller hears before its fsync.
 */
import { createHash } from 'node:crypto';
import BetterSqlite3 from 'better-sqlite3';
import {
  ConstraintViolation,
  type Database,
  type Held,
  type Parameters,
  type Row,
  StaleWrite,
  type Statement,
  type StatementResult,
} from './database.ts';

/** More units than this wait for the next commit, so that one commit never blocks the event loop for long. */
const UNITS_PER_COMMIT = 512;
/** How long a writer in another process may hold the file before what waits here is refused. */
const BUSY_GIVE_UP_MS = 10_000;
const BUSY_PAUSE_MS = 20;
/** How long SQLite itself may wait: once at the opening, when a crashed process's log may have to be recovered, and at each try. */
const OPENING_WAIT_MS = 5000;
const BUSY_WAIT_MS = 5;

type Unit = {
  readonly statements: readonly Statement[];
  readonly resolve: (results: readonly StatementResult[]) => void;
  readonly reject: (error: unknown) => void;
  readonly onHeld: ((held: Held) => void) | undefined;
};

export type SqliteDatabase = Database & {
  /** The connection itself, for what only SQLite has: backup, integrity check, pragmas. */
  readonly connection: BetterSqlite3.Database;
};

/** Opens the file, making it if there is none and it may be written. Throws what SQLite says when it cannot. */
export function openSqlite(path: string, { readOnly = false }: { readonly readOnly?: boolean } = {}): SqliteDatabase {
  const connection = new BetterSqlite3(path, { readonly: readOnly, timeout: OPENING_WAIT_MS });
  try {
    if (!readOnly) connection.pragma('journal_mode = WAL');
    prepareConnection(connection);
  } catch (error) {
    connection.close();
    throw error;
  }

  const prepared = new Map<string, BetterSqlite3.Statement>();
  const prepare = (sql: string): BetterSqlite3.Statement => {
    let statement = prepared.get(sql);
    if (statement === undefined) {
      statement = connection.prepare(unseenByPlanner(sql));
      prepared.set(sql, statement);
    }
    return statement;
  };

  let waiting: Unit[] = [];
  let scheduled = false;
  let busySince: number | null = null;

  const runUnit = (unit: Unit): StatementResult[] => {
    connection.exec('SAVEPOINT unit');
    try {
      const results = unit.statements.map((statement) => runStatement(prepare(statement.sql), statement));
      connection.exec('RELEASE unit');
      return results;
    } catch (error) {
      // After a full disk or an I/O error the whole transaction is gone, and the savepoint with it.
      if (connection.inTransaction) connection.exec('ROLLBACK TO unit; RELEASE unit');
      throw error;
    }
  };

  const flush = (): void => {
    scheduled = false;
    if (waiting.length === 0) return;
    const units = waiting.slice(0, UNITS_PER_COMMIT);
    const settled: (() => void)[] = [];
    let commitMs = 0;
    try {
      connection.exec('BEGIN IMMEDIATE');
      busySince = null;
      for (const unit of units) {
        try {
          const startedAt = performance.now();
          const results = runUnit(unit);
          const statementsMs = performance.now() - startedAt;
          settled.push(() => {
            unit.resolve(results);
            unit.onHeld?.({ statementsMs, commitMs });
          });
        } catch (error) {
          // An error that ended the whole transaction (disk full, I/O) leaves nothing to go on with.
          if (!connection.inTransaction) throw error;
          const refusal = constraintViolation(error);
          settled.push(() => unit.reject(refusal));
        }
      }
      const statementsEndedAt = performance.now();
      connection.exec('COMMIT');
      commitMs = performance.now() - statementsEndedAt;
    } catch (error) {
      if (connection.inTransaction) connection.exec('ROLLBACK');
      if (isBusy(error) && waitsOn()) return;
      busySince = null;
      settled.length = 0;
      for (const unit of units) settled.push(() => unit.reject(error));
    }
    waiting = waiting.slice(units.length);
    if (waiting.length > 0) schedule();
    for (const settle of settled) settle();
  };

  /** Another process holds the file: everything keeps its place for another try, unless that has lasted too long. */
  const waitsOn = (): boolean => {
    busySince ??= Date.now();
    if (Date.now() - busySince > BUSY_GIVE_UP_MS) return false;
    scheduled = true;
    setTimeout(flush, BUSY_PAUSE_MS);
    return true;
  };

  const schedule = (): void => {
    if (scheduled) return;
    scheduled = true;
    setImmediate(flush);
  };

  return {
    connection,
    get: (sql: string, params: Parameters) => prepare(sql).get(params) as Row | undefined,
    all: (sql: string, params: Parameters) => prepare(sql).all(params) as Row[],
    commit: (statements: readonly Statement[], onHeld?: (held: Held) => void) =>
      new Promise((resolve, reject) => {
        waiting.push({ statements, resolve, reject, onHeld });
        schedule();
      }),
    forgetOverwritten: () => {
      const [outcome] = connection.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[];
      return outcome?.busy === 0;
    },
    close: () => {
      for (let before = waiting.length + 1; waiting.length > 0 && waiting.length < before; flush())
        before = waiting.length;
      for (const unit of waiting) unit.reject(new Error('the database was closed'));
      waiting = [];
      connection.close();
    },
  };
}

function prepareConnection(connection: BetterSqlite3.Database): void {
  connection.pragma('synchronous = FULL');
  connection.pragma('foreign_keys = ON');
  connection.pragma('trusted_schema = OFF');
  // Half of SQLite's own figure: the commit that brings this many pages together copies them into the file, and everybody waits.
  // Measured on one disk: 1000 pages take up to 15 ms of a commit, 500 up to 7 ms and 7 % of what can be written in a second.
  connection.pragma('wal_autocheckpoint = 500');
  // What is deleted or erased is overwritten with zeros, in pages that become free too. Its price is one more write of such pages,
  // paid by housekeeping; nothing on the way of a publish or a delivery frees any.
  connection.pragma('secure_delete = ON');
  // The event loop stands still while SQLite waits for another process; longer waits are waited out in `flush`.
  connection.pragma(`busy_timeout = ${BUSY_WAIT_MS}`);
  connection.function('sha256_hex', { deterministic: true, directOnly: true }, (text) =>
    createHash('sha256').update(String(text)).digest('hex'),
  );
}

/**
 * `@name` as `+@name`, which changes no value. SQLite with STAT4 plans a join by the values that are bound to it and so compiles
 * it anew at every run: reading one record took 19 µs instead of 3, and the gate's look-up suffered alike. No statement of ours
 * holds an `@` that is not a parameter.
 */
function unseenByPlanner(sql: string): string {
  return sql.replaceAll('@', '+@');
}

function runStatement(prepared: BetterSqlite3.Statement, statement: Statement): StatementResult {
  let result: StatementResult;
  if (prepared.reader) {
    const rows = prepared.all(statement.params) as Row[];
    result = { changes: rows.length, rows };
  } else {
    result = { changes: prepared.run(statement.params).changes, rows: [] };
  }
  if (statement.expectChanges !== undefined && result.changes !== statement.expectChanges) {
    throw new StaleWrite(statement.sql, statement.expectChanges, result.changes);
  }
  return result;
}

const CONSTRAINT_KINDS: Readonly<Record<string, 'unique' | 'foreign_key' | 'check'>> = {
  SQLITE_CONSTRAINT_UNIQUE: 'unique',
  SQLITE_CONSTRAINT_PRIMARYKEY: 'unique',
  SQLITE_CONSTRAINT_FOREIGNKEY: 'foreign_key',
  SQLITE_CONSTRAINT_CHECK: 'check',
};

/** SQLite's message ends in the columns: `UNIQUE constraint failed: employee.user_name`. */
function constraintViolation(error: unknown): unknown {
  if (!(error instanceof BetterSqlite3.SqliteError)) return error;
  const kind = CONSTRAINT_KINDS[error.code];
  if (kind === undefined) return error;
  const columns = error.message.split(': ')[1]?.split(', ') ?? [];
  return new ConstraintViolation(kind, columns, { cause: error });
}

function isBusy(error: unknown): boolean {
  return error instanceof BetterSqlite3.SqliteError && error.code.startsWith('SQLITE_BUSY');
}

/**
 * The port to SQL: what a table's module may ask of a database. One driver answers it per database.
 *
 * A transaction is a list of statements, all or none, never a callback that could be interleaved: so a driver may put the
 * lists of many requests into one commit and still undo any one of them alone.
 */

export type SqlValue = string | number | bigint | Uint8Array | null;
export type Parameters = Readonly<Record<string, SqlValue>>;
export type Row = Readonly<Record<string, SqlValue>>;

/** A statement with its named parameters (`@name` in the text). `expectChanges` undoes the whole list when another number of rows changed. */
export type Statement = { readonly sql: string; readonly params: Parameters; readonly expectChanges?: number };
/** How many rows a statement changed, and the rows it returned. */
export type StatementResult = { readonly changes: number; readonly rows: readonly Row[] };

/** How long a list kept everybody else from writing: its own statements, and the commit, which it may share with other lists. */
export type WriteTime = { readonly statementsMs: number; readonly commitMs: number };

/** An answer that a driver may give at once (SQLite) or later (PostgreSQL). */
export type Answer<T> = T | Promise<T>;

export type Database = {
  get(sql: string, params: Parameters): Answer<Row | undefined>;
  all(sql: string, params: Parameters): Answer<Row[]>;
  /** Has whatever is read next see what has been written by now: what is read within one turn may be of one state otherwise. */
  readAnew(): void;
  /** Runs the list as one transaction. Resolves once it is durable, having told `onWritten`; rejects with nothing of it kept. */
  commit(statements: readonly Statement[], onWritten?: (took: WriteTime) => void): Promise<readonly StatementResult[]>;
  /** Lets go of what is kept of overwritten rows beside the tables (SQLite: the write-ahead log). False: another process is reading it. */
  forgetOverwritten(): Answer<boolean>;
  close(): Answer<void>;
};

/** A list was undone because a constraint of the schema refused it. `columns` are `table.column` names, where the database says. */
export class ConstraintViolation extends Error {
  readonly kind: 'unique' | 'foreign_key' | 'check';
  readonly columns: readonly string[];
  constructor(kind: 'unique' | 'foreign_key' | 'check', columns: readonly string[], options: ErrorOptions = {}) {
    super(`${kind} constraint: ${columns.join(', ')}`, options);
    this.name = 'ConstraintViolation';
    this.kind = kind;
    this.columns = columns;
  }
}

/** A list was undone because a row was no longer as the caller had read it. Read again and decide again. */
export class StaleWrite extends Error {
  readonly sql: string;
  readonly expected: number;
  readonly changed: number;
  constructor(sql: string, expected: number, changed: number) {
    super(`expected ${expected} changed rows, got ${changed}: ${sql.trim().split('\n', 1)[0]}`);
    this.name = 'StaleWrite';
    this.sql = sql;
    this.expected = expected;
    this.changed = changed;
  }
}

const STALE_ROUNDS = 100;

/**
 * Columns of row keys: two processes may draw the same one in the same millisecond, and the next round draws another. Tokens are issued
 * by the one server alone, and a claim that stops its webhook is made anew at a later look. A test delivery of a command that draws the
 * key of an attempt of the server's is sent, and fails to be recorded.
 */
const ROW_KEYS: readonly string[] = ['event.key', 'access_token.key', 'attempt.key'];

/**
 * Decides and writes again while what was read turns out to be stale: a row changed, or what it refers to or is referred to
 * by came or went, or another process took the row key. One of those who change the same row at the same time wins each round, so as
 * many as there are rounds can do so at once; gives up after the last with its error.
 */
export async function retryStale<T>(decide: () => Promise<T>): Promise<T> {
  for (let round = 1; ; round += 1) {
    try {
      return await decide();
    } catch (error) {
      if (!isStale(error) || round === STALE_ROUNDS) throw error;
    }
  }
}

function isStale(error: unknown): boolean {
  if (error instanceof StaleWrite) return true;
  if (!(error instanceof ConstraintViolation)) return false;
  return error.kind === 'foreign_key' || error.columns.some((column) => ROW_KEYS.includes(column));
}

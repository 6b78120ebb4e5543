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
  /** Calls back after each commit of this process, also one that failed, before anybody is told what became of it. */
  onCommit(listener: () => void): void;
  /** Lets go of what is kept of overwritten rows beside the tables (SQLite: the write-ahead log). False: another process is reading it. */
  forgetOverwritten(): Answer<boolean>;
  close(): Answer<void>;
};

/** Finds the result of one statement of a committed list by the statement itself. Throws a `RangeError` for a statement of another list. */
export function resultsByStatement(
  list: readonly Statement[],
  results: readonly StatementResult[],
): (statement: Statement) => StatementResult {
  const byStatement = new Map(list.map((statement, at) => [statement, results[at]]));
  return (statement) => {
    const result = byStatement.get(statement);
    if (result === undefined) throw new RangeError('the statement is not in the list');
    return result;
  };
}

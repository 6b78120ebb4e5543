/**
 * The port to SQL, which each driver implements.
 *
 * A transaction is a list of statements, all or none. It is not a callback, which could be interleaved with others. So a driver can put
 * the lists of many requests into one commit and still undo one of them alone.
 */

export type SqlValue = string | number | bigint | Uint8Array | null;
export type Parameters = Readonly<Record<string, SqlValue>>;
export type Row = Readonly<Record<string, SqlValue>>;

/** A statement and its parameters (`@name` in the text). If it does not change `expectChanges` rows, the whole list is undone. */
export type Statement = { readonly sql: string; readonly params: Parameters; readonly expectChanges?: number };
/** How many rows a statement changed, and the rows it returned. */
export type StatementResult = { readonly changes: number; readonly rows: readonly Row[] };

/** How long a list held the write lock: for its own statements, and for the commit, which it may share with other lists. */
export type WriteTime = { readonly statementsMs: number; readonly commitMs: number };

/** A result that a driver returns at once (SQLite) or later (PostgreSQL). */
export type Answer<T> = T | Promise<T>;

export type Database = {
  get(sql: string, params: Parameters): Answer<Row | undefined>;
  all(sql: string, params: Parameters): Answer<Row[]>;
  /** Makes the next read see all commits so far. Without it, the reads of one turn of the event loop may share a snapshot. */
  readAnew(): void;
  /** Runs the list as one transaction. Resolves once it is durable, after calling `onWritten`. Rejects if nothing of it was kept. */
  commit(statements: readonly Statement[], onWritten?: (took: WriteTime) => void): Promise<readonly StatementResult[]>;
  /** The number of commits of this process so far, also of failed ones. */
  commits(): number;
  /** Calls back after each commit of this process, also one that failed, before anybody is told what became of it. */
  onCommit(listener: () => void): void;
  /** Removes old versions of rows outside the tables (SQLite: in the write-ahead log). False if another process is reading them. */
  forgetOverwritten(): Answer<boolean>;
  close(): Answer<void>;
};

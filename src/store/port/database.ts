/**
 * The port to SQL, which each driver implements.
 *
 * A transaction is a list of statements, all or none. It is not a callback, which could be interleaved with others. So a driver can put
 * the lists of many requests into one commit and still undo a single one of them.
 *
 * A statement that both databases can run stands once, in `store/shared/`. Where they spell the same thing differently, it uses one of
 * these forms, and each driver replaces it by its own (`store/sqlite/driver/dialect.ts`, `store/postgres/driver/dialect.ts`):
 *
 * - `numbers(@list) AS x` and `texts(@list) AS x` in a FROM: the elements of a JSON array as `x.value`. The array is a parameter or a
 *   column.
 * - `tuples(@list) AS x`: the same for an array of arrays. `CAST(x.value ->> 0 AS BIGINT)` reads the first element of one.
 * - `least(a, b)` and `greatest(a, b)`: neither may be null. `strpos(text, part)`: the position of the first occurrence, from 1; 0 if none.
 * - `lower(text)` of a column, a parameter or an element of a list: folds only letters of ASCII.
 * - `FOR UPDATE` and `FOR NO KEY UPDATE`: lock the rows until the end of the transaction. SQLite has one writer at a time and no such
 *   locks.
 * - `INDEXED BY index`: a hint to SQLite's planner. PostgreSQL chooses without a hint.
 *
 * A boolean is a condition (`active`, `NOT active`) or the parameter `true` or `false`. A query returns it as 1 or 0. A parameter whose
 * type no column gives, as in `@limit IS NULL`, needs a CAST to BIGINT or TEXT.
 */

export type SqlValue = string | number | bigint | boolean | Uint8Array | null;
export type SqlParameters = Readonly<Record<string, SqlValue>>;
export type Row = Readonly<Record<string, SqlValue>>;

/** A statement and its parameters (`@name` in the text). If it does not change `expectChanges` rows, the whole list is undone. */
export type Statement = {
  readonly sql: string;
  readonly params: SqlParameters;
  readonly expectChanges?: number;
  /** The table whose writers run one after another, because each row needs the one before. */
  readonly locks?: 'audit';
  /** It appends records to the logs of webhooks (`outbox`) and returns `webhook_number` for each of them. */
  readonly appends?: true;
};
/** How many rows a statement changed, and the rows it returned. */
export type StatementResult = { readonly changes: number; readonly rows: readonly Row[] };

/** How long a list held the write lock: for its own statements, and for the commit, which it may share with other lists. */
export type WriteTime = { readonly statementsMs: number; readonly commitMs: number };

/** Where another thread opens the same database: an SQLite file, or the URL of a PostgreSQL database. */
export type DatabaseSource = { readonly file: string } | { readonly url: string };

/** A result that a driver returns immediately (SQLite) or later (PostgreSQL). */
export type Answer<T> = T | Promise<T>;

export type Database = {
  get(sql: string, params: SqlParameters): Answer<Row | undefined>;
  all(sql: string, params: SqlParameters): Answer<Row[]>;
  /**
   * Runs the list as one transaction. Resolves once it and everything that it read are durable, after calling `onWritten`. Rejects if
   * nothing of it was kept, and with `DatabaseUnavailable` (`unknown`) if nobody knows.
   */
  commit(statements: readonly Statement[], onWritten?: (took: WriteTime) => void): Promise<readonly StatementResult[]>;
  /**
   * Resolves once everything that was read since `readSinceMs` (`performance.now()`) is durable: on PostgreSQL, on the synchronous standby
   * too. For answers that promise data that they only read. Rejects with `DatabaseUnavailable`, also if several servers answered in the
   * meantime.
   */
  confirm(readSinceMs: number): Answer<void>;
  /** The number of commits of this process so far, also of failed ones. */
  commits(): number;
  /** Calls back after each commit of this process, also one that failed, before anyone gets the result. */
  onCommit(listener: () => void): void;
  close(): Answer<void>;
};

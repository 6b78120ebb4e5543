/** Records the statements that run on a database, at the one place that all of them pass. */
import type { Database } from '../../src/store/port/database.ts';

/** Gets the text of each statement as the store wrote it, before the driver replaces the forms in which databases differ. */
export type OnStatement = (sql: string) => void;

/** The same database. It calls back for every statement before it runs, also for those of a transaction that fails. */
export function recorded<D extends Database>(database: D, onStatement: OnStatement): D {
  return {
    ...database,
    get: (sql, params) => {
      onStatement(sql);
      return database.get(sql, params);
    },
    all: (sql, params) => {
      onStatement(sql);
      return database.all(sql, params);
    },
    commit: (statements, ...more) => {
      for (const { sql } of statements) onStatement(sql);
      return database.commit(statements, ...more);
    },
  };
}

/** The text on one line with single spaces, so that the indentation in the source does not matter. */
export function oneLine(sql: string): string {
  return sql.replaceAll(/\s+/g, ' ').trim();
}

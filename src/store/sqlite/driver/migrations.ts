/**
 * The steps from the schema of an earlier release to that of schema.sql.
 *
 * After the first release, a change of schema.sql raises its `user_version` and `SCHEMA_VERSION`, keeps the released file as
 * test/store/schemas/<version>.sql, and adds the step here. A test checks that a migrated and a new database are the same.
 */
import type { SqliteDatabase } from './sqlite.ts';

export type Migration = {
  /** `PRAGMA user_version` before and after; it is set by `migrate`, not by the step. */
  readonly from: number;
  readonly to: number;
  /** May rebuild tables that others refer to: references are checked when all steps are done. */
  readonly sql: string;
};

/** Empty until a version has been released: before that, schema.sql changes in place. */
export const MIGRATIONS: readonly Migration[] = [];

/** The steps that lead from one version to another, in their order, or null where none do. */
export function migrationPath(steps: readonly Migration[], from: number, to: number): readonly Migration[] | null {
  const path: Migration[] = [];
  for (let version = from; version !== to; ) {
    const step = steps.find((candidate) => candidate.from === version && candidate.to > version);
    if (step === undefined || step.to > to) return null;
    path.push(step);
    version = step.to;
  }
  return path;
}

/**
 * Takes the steps in one transaction: dying in the middle leaves the database as it was. Throws, with nothing changed, when
 * a step fails or leaves a reference that leads nowhere.
 */
export function migrate({ connection }: SqliteDatabase, path: readonly Migration[]): void {
  // Rebuilding a table drops it for a moment; the switch has no effect inside a transaction.
  connection.pragma('foreign_keys = OFF');
  try {
    connection.exec('BEGIN IMMEDIATE');
    for (const { from, to, sql } of path) {
      const version = connection.pragma('user_version', { simple: true });
      if (version !== from) throw new Error(`its schema is version ${version} by now and not ${from}`);
      connection.exec(sql);
      connection.pragma(`user_version = ${to}`);
    }
    const astray = brokenReferences({ connection });
    if (astray.length > 0) throw new Error(`references would lead nowhere: ${astray.join(', ')}`);
    connection.exec('COMMIT');
  } catch (error) {
    if (connection.inTransaction) connection.exec('ROLLBACK');
    throw error;
  } finally {
    connection.pragma('foreign_keys = ON');
  }
}

/** Pairs of tables, `application to user_account`, of which the first refers to rows that the second lacks. */
export function brokenReferences({ connection }: Pick<SqliteDatabase, 'connection'>): readonly string[] {
  const rows = connection.pragma('foreign_key_check') as { table: string; parent: string }[];
  return [...new Set(rows.map(({ table, parent }) => `${table} to ${parent}`))];
}

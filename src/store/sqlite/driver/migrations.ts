/**
 * The steps from the schema of an earlier release to that of schema.sql.
 *
 * After the first release, a change of schema.sql raises its `user_version` and `SCHEMA_VERSION`, keeps the released file as
 * test/store/schemas/<version>.sql, and adds the step here. A test checks that a migrated and a new database are the same.
 */
import type { SqliteDatabase } from './sqlite.ts';

export type Migration = {
  /** `PRAGMA user_version` before and after. `migrate` sets it, not the step. */
  readonly from: number;
  readonly to: number;
  /** May rebuild tables that others refer to: references are checked after the last step. */
  readonly sql: string;
};

/** Empty until the first release: before that, schema.sql changes in place. */
export const MIGRATIONS: readonly Migration[] = [];

/** The steps from one version to another in their order, or null if they do not connect the two. */
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
 * Takes the steps in one transaction: a process that dies meanwhile leaves the database unchanged. Throws, with nothing changed, if a step
 * fails or leaves a broken reference.
 */
export function migrate({ connection }: SqliteDatabase, path: readonly Migration[]): void {
  // Rebuilding a table drops it for a moment. The pragma has no effect inside a transaction.
  connection.pragma('foreign_keys = OFF');
  try {
    connection.exec('BEGIN IMMEDIATE');
    for (const { from, to, sql } of path) {
      const version = connection.pragma('user_version', { simple: true });
      if (version !== from) throw new Error(`its schema is version ${version} by now and not ${from}`);
      connection.exec(sql);
      connection.pragma(`user_version = ${to}`);
    }
    const broken = brokenReferences({ connection });
    if (broken.length > 0) throw new Error(`references would lead nowhere: ${broken.join(', ')}`);
    connection.exec('COMMIT');
  } catch (error) {
    if (connection.inTransaction) connection.exec('ROLLBACK');
    throw error;
  } finally {
    connection.pragma('foreign_keys = ON');
  }
}

/** Pairs of tables such as `application to user_account`, where the first refers to rows that the second does not have. */
export function brokenReferences({ connection }: Pick<SqliteDatabase, 'connection'>): readonly string[] {
  const rows = connection.pragma('foreign_key_check') as { table: string; parent: string }[];
  return [...new Set(rows.map(({ table, parent }) => `${table} to ${parent}`))];
}

/**
 * The way from the schema of an earlier version to that of schema.sql, in steps.
 *
 * Whoever changes schema.sql raises its `user_version` and `SCHEMA_VERSION`, keeps the file as it was as
 * test/store/schemas/<version>.sql, and adds the step here; a test holds that both ways lead to the same schema.
 */
import type { SqliteDatabase } from './sqlite.ts';

export type Migration = {
  /** `PRAGMA user_version` before and after; it is set by `migrate`, not by the step. */
  readonly from: number;
  readonly to: number;
  /** May rebuild tables that others refer to: references are checked when all steps are done. */
  readonly sql: string;
};

export const MIGRATIONS: readonly Migration[] = [
  {
    from: 1,
    to: 2,
    sql: `
      CREATE TABLE access_version (
        value INTEGER NOT NULL
      ) STRICT;
      INSERT INTO access_version (value) VALUES (0);
      CREATE TRIGGER application_update AFTER UPDATE ON application BEGIN UPDATE access_version SET value = value + 1; END;
      CREATE TRIGGER application_delete AFTER DELETE ON application BEGIN UPDATE access_version SET value = value + 1; END;
      CREATE TRIGGER user_account_update AFTER UPDATE ON user_account BEGIN UPDATE access_version SET value = value + 1; END;
      CREATE TRIGGER user_account_delete AFTER DELETE ON user_account BEGIN UPDATE access_version SET value = value + 1; END;
      CREATE TRIGGER access_token_update AFTER UPDATE ON access_token BEGIN UPDATE access_version SET value = value + 1; END;
      CREATE TRIGGER access_token_delete AFTER DELETE ON access_token BEGIN UPDATE access_version SET value = value + 1; END;`,
  },
  // No row is written, however many there are: what they lack is asked of the event.
  { from: 2, to: 3, sql: 'ALTER TABLE outbox ADD COLUMN data_bytes INTEGER' },
  // Not unique: a log that somebody tampered with is opened as well, and `doctor` says so.
  { from: 3, to: 4, sql: 'CREATE INDEX audit_id ON audit (id)' },
  // Before, every start went through all batches that wait: 60 ms for 100,000.
  {
    from: 4,
    to: 5,
    sql: 'CREATE INDEX batch_leased ON batch (webhook_number, first_offset) WHERE lease_owner IS NOT NULL',
  },
];

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

/**
 * The schema of a database: created if there is none, migrated if it is older, refused if it is newer.
 *
 * A change of schema.sql raises its `user_version` and `SCHEMA_VERSION`, keeps the earlier file as
 * test/store/driver/schemas/<version>.sql, and adds a step to `MIGRATIONS`. A test checks that a migrated and a new database are the same.
 */
import { rmSync } from 'node:fs';
import BetterSqlite3 from 'better-sqlite3';
import { VERSION } from '../../../kernel/version.ts';
import { copyDatabase } from './copy.ts';
import { MIGRATIONS, type Migration } from './migrations.ts';
import type { SqliteDatabase } from './sqlite.ts';

/** The `PRAGMA user_version` of schema.sql. */
export const SCHEMA_VERSION = 4;

/** The version that this program works with, and the steps to it from earlier ones. */
export type SchemaHistory = { readonly version: number; readonly steps: readonly Migration[] };

export const SCHEMA_HISTORY: SchemaHistory = { version: SCHEMA_VERSION, steps: MIGRATIONS };

export type SchemaVerdict =
  | { readonly ok: true; readonly state: 'empty' | 'current' }
  | { readonly ok: true; readonly state: 'older'; readonly version: number; readonly path: readonly Migration[] }
  | { readonly ok: false; readonly description: string };

/** Examines a database without writing to it. */
export function examineSchema(
  { connection }: Pick<SqliteDatabase, 'connection'>,
  history: SchemaHistory = SCHEMA_HISTORY,
): SchemaVerdict {
  const version = Number(connection.pragma('user_version', { simple: true }));
  if (version === history.version) return { ok: true, state: 'current' };
  if (version > history.version) {
    const description =
      `its schema is version ${version}, and Sallyport ${VERSION} knows version ${history.version}: run the newer ` +
      'Sallyport that wrote it';
    return { ok: false, description };
  }
  const { tables } = connection.prepare('SELECT count(*) AS tables FROM sqlite_master').get() as { tables: number };
  if (version === 0 && tables === 0) return { ok: true, state: 'empty' };
  const path = migrationPath(history.steps, version, history.version);
  if (path !== null) return { ok: true, state: 'older', version, path };
  const description = `its schema is version ${version}, which Sallyport ${VERSION} cannot migrate to version ${history.version}`;
  return { ok: false, description };
}

/** Whether a database of the current version is Sallyport's: other programs use `user_version` too. */
export function isOurs({ connection }: Pick<SqliteDatabase, 'connection'>): boolean {
  const tables = "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name IN ('setting', 'audit', 'batch')";
  return connection.prepare(tables).pluck().get() === 3;
}

/** Runs the schema on an empty database in one transaction: a process that dies before the end leaves it empty. */
export function createSchema({ connection }: SqliteDatabase, schema: string): void {
  connection.exec('BEGIN IMMEDIATE');
  try {
    connection.exec(schema);
    connection.exec('COMMIT');
  } catch (error) {
    if (connection.inTransaction) connection.exec('ROLLBACK');
    throw error;
  }
}

/**
 * Copies an older database to `<its file>.v<version>.<instant>` beside it, then migrates it. Returns the path of the copy, which is kept.
 * If the migration fails, the database is unchanged and the copy is removed: every further attempt would make another.
 */
export async function migrateSchema(
  db: SqliteDatabase,
  { version, path }: Extract<SchemaVerdict, { readonly state: 'older' }>,
  now: number,
): Promise<string> {
  const copy = `${db.connection.name}.v${version}.${fileInstant(now)}`;
  await copyDatabase(db, copy);
  try {
    migrate(db, path);
  } catch (error) {
    rmSync(copy);
    throw error;
  }
  return copy;
}

/** An instant as part of a file's name: `20261121T050000Z`. */
export function fileInstant(at: number): string {
  return new Date(at).toISOString().replace(/[-:]|\.\d+/g, '');
}

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
 * Takes the steps in one transaction: a process that dies before the end leaves the database unchanged. Throws, with nothing changed, if a
 * step fails or leaves a broken reference.
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
    if (broken.length > 0) throw new Error(`references would be broken: ${broken.join(', ')}`);
    connection.exec('COMMIT');
  } catch (error) {
    if (connection.inTransaction) connection.exec('ROLLBACK');
    throw error;
  } finally {
    connection.pragma('foreign_keys = ON');
  }
}

const OBJECTS = `
  SELECT type || ' ' || name AS name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'
  UNION ALL
  SELECT 'column ' || m.name || '.' || c.name FROM sqlite_master AS m JOIN pragma_table_info(m.name) AS c WHERE m.type = 'table'`;

/** The tables, columns, indexes and triggers that a new database would have and this one has not, such as `index batch_due`. */
export function missingObjects({ connection }: Pick<SqliteDatabase, 'connection'>, schema: string): readonly string[] {
  const wanted = new BetterSqlite3(':memory:');
  try {
    wanted.exec(schema);
    const found = new Set(connection.prepare(OBJECTS).pluck().all());
    return (wanted.prepare(OBJECTS).pluck().all() as string[]).filter((name) => !found.has(name));
  } finally {
    wanted.close();
  }
}

/** Pairs of tables such as `application to user_account`, where the first refers to rows that the second does not have. */
export function brokenReferences({ connection }: Pick<SqliteDatabase, 'connection'>): readonly string[] {
  const rows = connection.pragma('foreign_key_check') as { table: string; parent: string }[];
  return [...new Set(rows.map(({ table, parent }) => `${table} to ${parent}`))];
}

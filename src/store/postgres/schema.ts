/**
 * The schema of a PostgreSQL database: created in an empty database, brought up by `sallyport migrate`, refused if this program is too old
 * for it.
 *
 * A change of schema.sql raises `SCHEMA_VERSION`, keeps the earlier file as test/store/postgres/schemas/<version>.sql, and adds a step to
 * `MIGRATIONS`. A step must keep programs from its `oldestProgram` on working, because they run while it is taken.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { readAsset } from '../../kernel/assets.ts';
import { VERSION } from '../../kernel/version.ts';
import type { Database } from '../port/database.ts';
import { DatabaseUnavailable } from '../port/errors.ts';
import { MIGRATIONS, type Migration } from './migrations.ts';
import { SCHEMA_TABLES } from './objects.ts';
import { LOCK_SCHEMA } from './partitions.ts';

/**
 * How long a migration waits for the lock of a table, while all other statements on the table wait too: less than `deadlock_timeout`, by
 * default a second. How long it then lets them go on, and how long it tries in all.
 */
const MIGRATION_LOCK_MS = 200;
const MIGRATION_PAUSE_MS = 100;
const MIGRATION_WAIT_MS = 60_000;

/** The version of schema.sql. */
export const SCHEMA_VERSION = 4;

/** The version that this program works with, and the steps to it. */
export type SchemaHistory = { readonly version: number; readonly steps: readonly Migration[] };

export const SCHEMA_HISTORY: SchemaHistory = { version: SCHEMA_VERSION, steps: MIGRATIONS };

export type SchemaVerdict =
  | { readonly ok: true; readonly state: 'empty' }
  /** `version` may be a newer one that this program still works with. */
  | { readonly ok: true; readonly state: 'current'; readonly version: number }
  | {
      readonly ok: true;
      readonly state: 'older';
      readonly version: number;
      readonly path: readonly Migration[];
    }
  | { readonly ok: false; readonly description: string };

/** Together they are in no database of another program. */
const OWN = ['schema_change', 'setting', 'audit', 'batch'];

const TABLES = `
  SELECT c.relname AS name FROM pg_class AS c
  WHERE c.relnamespace = CAST(quote_ident(current_schema()) AS regnamespace) AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
    AND NOT c.relispartition`;
const LATEST = 'SELECT version, oldest_program FROM schema_change ORDER BY version DESC LIMIT 1';

/** Examines the schema without writing. */
export async function examineSchema(db: Database, history: SchemaHistory = SCHEMA_HISTORY): Promise<SchemaVerdict> {
  const tables = new Set((await db.all(TABLES, {})).map(({ name }) => String(name)));
  if (tables.size === 0) return { ok: true, state: 'empty' };
  if (!OWN.every((name) => tables.has(name))) {
    const description =
      'it has tables of another program: create an empty database for Sallyport, or a schema of its own in the search_path of the role';
    return { ok: false, description };
  }
  const latest = await db.get(LATEST, {});
  const version = Number(latest?.version);
  const lacking = version === SCHEMA_VERSION ? SCHEMA_TABLES.filter((name) => !tables.has(name)) : [];
  if (lacking.length > 0) {
    const names = lacking.slice(0, 3).join(', ');
    const description = `it lacks ${lacking.length} of its tables (${names}): restore the whole backup into an empty database`;
    return { ok: false, description };
  }
  if (version > history.version && Number(latest?.oldest_program) > history.version) {
    const description =
      `its schema is version ${version}, which Sallyport ${VERSION} is too old for: run the newer Sallyport that ` +
      'migrated it';
    return { ok: false, description };
  }
  if (version >= history.version) return { ok: true, state: 'current', version };
  return { ok: true, state: 'older', version, path: history.steps.filter((step) => step.version > version) };
}

/** Runs statements in one transaction, without a time limit. */
type Runner = { run(sql: string): Promise<void> };

/**
 * Creates the schema if the database is empty, in one transaction. Of several processes one creates it, and the others wait for it.
 */
export async function createSchema(db: Runner): Promise<void> {
  const create = block(
    `IF to_regclass('schema_change') IS NULL THEN\n${execute(readAsset('postgres/schema.sql'))}\nEND IF;`,
  );
  await db.run([LOCK_SCHEMA, create].join(';\n'));
}

/**
 * Takes the steps in one transaction. Of several processes one takes them, and the others find them taken. A process that waits for a lock
 * makes all others wait, and two that wait for each other end only when the server ends one of them. So the transaction gives up sooner
 * than the server looks for that, and begins again, for `waitMs` in all. Throws `DatabaseUnavailable` with the reason `locked` after that.
 */
export async function migrate(
  db: Runner,
  path: readonly Migration[],
  waitMs: number = MIGRATION_WAIT_MS,
): Promise<void> {
  const steps = path.map((step) =>
    block(`IF NOT EXISTS (SELECT 1 FROM schema_change WHERE version >= ${step.version}) THEN
${execute(step.sql)}
${recordOf(step)}
END IF;`),
  );
  const sql = [LOCK_SCHEMA, `SET LOCAL lock_timeout = ${MIGRATION_LOCK_MS}`, ...steps].join(';\n');
  const beganAt = performance.now();
  for (;;) {
    try {
      return await db.run(sql);
    } catch (error) {
      const isLocked = error instanceof DatabaseUnavailable && error.reason === 'locked';
      if (!isLocked || performance.now() - beganAt >= waitMs) throw error;
    }
    await pause(MIGRATION_PAUSE_MS);
  }
}

function recordOf({ version, oldestProgram }: Migration): string {
  return `INSERT INTO schema_change (version, oldest_program, applied_at)
  VALUES (${version}, ${oldestProgram}, floor(extract(epoch FROM clock_timestamp()) * 1000));`;
}

function block(body: string): string {
  return `DO $block$\nBEGIN\n${body}\nEND\n$block$`;
}

function execute(sql: string): string {
  return `EXECUTE $sallyport$${sql}$sallyport$;`;
}

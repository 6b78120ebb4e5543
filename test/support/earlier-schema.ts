/** Gives the data of a service that has stopped the schema of an earlier version, as if that version had written them. */
import { readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import BetterSqlite3 from 'better-sqlite3';
import { DATABASE_FILE } from '../../src/data/data-folder.ts';
import { ensurePartitions, PARTITIONS_AHEAD_MS } from '../../src/store/postgres/partitions.ts';
import { newDatabase, openAt, openClient } from './postgres.ts';
import { databaseUrlOf, type Service } from './service.ts';

type Source = { readonly table: string; readonly columns: Readonly<Record<string, string>> };

/** The tables of version 1 whose rows come from elsewhere, and the columns that had other values. */
const SOURCES: Readonly<Record<string, Source>> = {
  webhook_progress: { table: 'webhook_status', columns: {} },
  webhook: { table: 'webhook', columns: { ordered: "ordered = 'webhook'" } },
};

/** The expressions to select for these columns of an earlier table. */
function valuesOf(table: string, columns: readonly string[]): string {
  return columns.map((column) => `${SOURCES[table]?.columns[column] ?? column} AS ${column}`).join(', ');
}

const schemaOf = (database: 'driver' | 'postgres', version: number): string =>
  readFileSync(new URL(`../store/${database}/schemas/${version}.sql`, import.meta.url), 'utf8');

export async function toEarlierSchema(
  t: TestContext,
  service: Pick<Service, 'dataDir'>,
  version: number,
): Promise<void> {
  const url = databaseUrlOf(service.dataDir);
  if (url === null) sqliteTo(join(service.dataDir, DATABASE_FILE), version);
  else await postgresTo(t, url, version);
}

function sqliteTo(file: string, version: number): void {
  const earlier = `${file}.earlier`;
  const db = new BetterSqlite3(earlier);
  db.pragma('foreign_keys = OFF');
  db.exec(schemaOf('driver', version));
  db.exec(`ATTACH '${file}' AS newer`);
  const columnsOf = (schema: string, table: string): string[] =>
    db.prepare(`SELECT name FROM pragma_table_info('${table}', '${schema}')`).pluck().all() as string[];
  const tables = db.prepare("SELECT name FROM main.sqlite_master WHERE type = 'table'").pluck().all() as string[];
  for (const table of tables) {
    const from = SOURCES[table]?.table ?? table;
    const found = columnsOf('newer', from);
    const columns = columnsOf('main', table).filter((column) => found.includes(column));
    const values = valuesOf(table, columns);
    db.exec(
      `DELETE FROM main.${table}; INSERT INTO main.${table} (${columns.join(', ')}) SELECT ${values} FROM newer.${from}`,
    );
  }
  db.close();
  for (const ending of ['', '-wal', '-shm']) rmSync(file + ending, { force: true });
  renameSync(earlier, file);
}

async function postgresTo(t: TestContext, url: string, version: number): Promise<void> {
  const to = await newDatabase(t);
  const made = await openAt(t, to);
  await made.run(schemaOf('postgres', version));
  await ensurePartitions(made, { now: Date.now(), aheadMs: PARTITIONS_AHEAD_MS });
  await made.close();
  const [newer, earlier] = [await openClient(t, url), await openClient(t, to)];
  // Neither references nor triggers.
  await earlier.query("SET session_replication_role = 'replica'");
  const columns = `
    SELECT c.relname AS table, json_agg(a.attname) AS columns FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid
    WHERE c.relnamespace = CAST('public' AS regnamespace) AND c.relkind IN ('r', 'p', 'v') AND NOT c.relispartition
      AND a.attnum > 0 AND NOT a.attisdropped GROUP BY c.relname`;
  const listed = async (client: typeof newer): Promise<Map<string, string[]>> =>
    new Map(
      (await client.query(columns)).rows.map((row: { table: string; columns: string[] }) => [row.table, row.columns]),
    );
  const [found, wanted] = [await listed(newer), await listed(earlier)];
  for (const [table, itsColumns] of wanted) {
    const from = SOURCES[table]?.table ?? table;
    const shared = itsColumns.filter((column) => found.get(from)?.includes(column));
    const common = shared.join(', ');
    if (common === '' || table === 'schema_change' || table === 'instance') continue;
    const values = valuesOf(table, shared);
    const { rows } = await newer.query(
      `SELECT coalesce(json_agg(t), '[]')::text AS all FROM (SELECT ${values} FROM ${from}) AS t`,
    );
    await earlier.query(`DELETE FROM ${table}`);
    await earlier.query(
      `INSERT INTO ${table} (${common}) OVERRIDING SYSTEM VALUE
       SELECT ${common} FROM json_populate_recordset(CAST(NULL AS ${table}), CAST($1 AS json))`,
      [rows[0].all],
    );
  }
  const [newName, earlierName] = [url, to].map((one) => String(one.split('/').at(-1)));
  await Promise.all([newer.end(), earlier.end()]);
  const server = await openClient(t, url.replace(/[^/]+$/, 'postgres'));
  await server.query(`ALTER DATABASE ${newName} RENAME TO ${newName}_newer`);
  await server.query(`ALTER DATABASE ${earlierName} RENAME TO ${newName}`);
  await server.query(`DROP DATABASE ${newName}_newer WITH (FORCE)`);
}

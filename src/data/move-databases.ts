/** The two directions of a move: from the SQLite database of a data folder to PostgreSQL, and back. */
import { createHash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Config, databaseName } from '../config/config.ts';
import type { Acting } from '../domain/acting.ts';
import { type AuditEntry, auditEntry } from '../domain/audit.ts';
import { readAsset } from '../kernel/assets.ts';
import { createIds, randomBytes } from '../kernel/ids.ts';
import { makePrivateFile, moveFile } from '../kernel/private-file.ts';
import type { Database, Row, SqlValue, Statement } from '../store/port/database.ts';
import type { PostgresDatabase } from '../store/postgres/driver/postgres.ts';
import { intoOneFile } from '../store/sqlite/driver/copy.ts';
import { brokenReferences, createSchema, examineSchema } from '../store/sqlite/driver/schema.ts';
import { openSqlite, type SqliteDatabase } from '../store/sqlite/driver/sqlite.ts';
import { DataFolderError } from './data.ts';
import { databasePath, hasDatabase, holdFolder, requireDatabase, requireOwnKey } from './data-folder.ts';
import {
  isCommitted,
  MOVED_TABLES,
  type MovedTable,
  MoveError,
  type MoveProgress,
  type MoveTarget,
  moveData,
  portableText,
  verifyCommitted,
} from './move.ts';
import { connect, prepareTarget, requireSchema } from './postgres.ts';
import { refuseInstances } from './running-instances.ts';

type MoveOptions = {
  /** Its data folder; the URL of the PostgreSQL database is `databaseUrl`. */
  readonly config: Config;
  readonly acting: Acting;
  readonly now: number;
  readonly report: (progress: MoveProgress) => void;
};

type Moved = { readonly rows: Readonly<Record<string, number>>; readonly from: string; readonly to: string };

/** Copies the data folder into an empty PostgreSQL database. Throws `DataFolderError`; a later call continues. */
export async function moveToPostgres({ config, acting, now, report }: MoveOptions): Promise<Moved> {
  requireDatabase(config);
  const lock = holdFolder(config);
  try {
    const from = openSource(config);
    try {
      await requireOwnKey(config, from, ': put that key there first');
      const to = await connect(config);
      try {
        await prepareTarget(config, to, now);
        const rows = await asDataErrors(nameOf(config), async () =>
          moveData({
            from,
            to: postgresTarget(to, await jsonColumns(to)),
            tables: tablesOf(from),
            report,
            source: await identityOf(from),
            lastWebhook: lastWebhookOf(from),
            audit: entry(acting, now, 'postgres'),
          }),
        );
        return { rows, from: config.dataDir, to: nameOf(config) };
      } finally {
        await to.close();
      }
    } finally {
      await from.close();
    }
  } finally {
    lock.release();
  }
}

/** Copies a PostgreSQL database, which no instance uses, into an empty data folder. Throws `DataFolderError`; a later call continues. */
export async function moveFromPostgres({ config, acting, now, report }: MoveOptions): Promise<Moved> {
  const from = await connect(config);
  try {
    await requireSchema(config, from);
    await refuseInstances(config, from);
    const lock = holdFolder(config);
    try {
      if (hasDatabase(config))
        throw new DataFolderError(`${config.dataDir} already contains data: name an empty folder`);
      const path = unfinishedPath(config);
      const to = openTarget(path);
      let moved: Moved;
      try {
        const rows = await asDataErrors(path, async () => {
          const move = {
            from,
            to: sqliteTarget(to),
            tables: tablesOf(to),
            report,
            source: await identityOf(from),
            lastWebhook: await lastNumberOf(from),
            audit: entry(acting, now, 'sqlite'),
          };
          // An earlier run may have ended before it renamed the file.
          const isWhole = (await isCommitted(move)) && (await identityOf(to)) === move.source;
          return isWhole ? verifyCommitted(move) : moveData(move);
        });
        const broken = brokenReferences(to);
        if (broken.length > 0) throw new DataFolderError(`the copy has broken references: ${broken.join(', ')}`);
        moved = { rows, from: nameOf(config), to: config.dataDir };
      } finally {
        await to.close();
      }
      intoOneFile(path);
      moveFile(path, databasePath(config));
      return moved;
    } finally {
      lock.release();
    }
  } finally {
    await from.close();
  }
}

/** Reads one state of the database, even while commands write. Changes nothing. */
function openSource(config: Config): SqliteDatabase {
  const path = databasePath(config);
  const db = openSqlite(path, { readOnly: true });
  const schema = examineSchema(db);
  if (!schema.ok || schema.state !== 'current') {
    db.connection.close();
    const problem = schema.ok
      ? 'its schema is older: start sallyport serve once, which migrates it'
      : schema.description;
    throw new DataFolderError(`the database ${path} cannot be moved: ${problem}`);
  }
  db.connection.exec('BEGIN');
  return db;
}

/** Keeps its name until it is complete, so that nothing opens an unfinished copy. */
function unfinishedPath(config: Config): string {
  return join(config.dataDir, 'moving.db');
}

function openTarget(path: string): SqliteDatabase {
  makePrivateFile(path);
  const db = openSqlite(path);
  // References are checked at the end: employees refer to each other.
  db.connection.pragma('foreign_keys = OFF');
  const schema = examineSchema(db);
  if (schema.ok && schema.state === 'empty') createSchema(db, readAsset('schema.sql'));
  else if (!schema.ok || schema.state !== 'current') {
    db.connection.close();
    rmSync(path);
    throw new DataFolderError(`${path} was begun by another version of Sallyport and is removed: move again`);
  }
  return db;
}

/** Every installation has its own sealed word. */
async function identityOf(db: Database): Promise<string> {
  const row = await db.get("SELECT value FROM setting WHERE name = 'master_key_check'", {});
  if (row === undefined)
    throw new DataFolderError('the first start of the data was interrupted: run sallyport init first');
  return createHash('sha256')
    .update(row.value as Uint8Array)
    .digest('hex');
}

/** The columns in the order of SQLite's tables. PostgreSQL has the same and some of its own, which have defaults. */
function tablesOf({ connection }: SqliteDatabase): MovedTable[] {
  return MOVED_TABLES.map((table) => ({
    ...table,
    columns: (connection.pragma(`table_info(${table.name})`) as { name: string }[]).map(({ name }) => name),
  }));
}

function lastWebhookOf({ connection }: SqliteDatabase): number {
  const last = connection.prepare("SELECT seq FROM sqlite_sequence WHERE name = 'webhook'").pluck().get();
  return Number(last ?? 0);
}

async function lastNumberOf(db: Database): Promise<number> {
  const row = await db.get(
    "SELECT coalesce(pg_sequence_last_value(CAST(pg_get_serial_sequence('webhook', 'number') AS regclass)), 0) AS last",
    {},
  );
  return Number(row?.last);
}

function sqliteTarget(db: SqliteDatabase): MoveTarget {
  return {
    db,
    insert: ({ name, columns }, rows) => {
      const sql = `INSERT INTO ${name} (${columns.join(', ')}) VALUES (${columns.map((column) => `@${column}`).join(', ')})`;
      return rows.map((row) => ({ sql, params: row }));
    },
    finish: (lastWebhook) => [
      { sql: "DELETE FROM sqlite_sequence WHERE name = 'webhook'", params: {} },
      { sql: "INSERT INTO sqlite_sequence (name, seq) VALUES ('webhook', @lastWebhook)", params: { lastWebhook } },
    ],
  };
}

/** `json`: the columns of each table whose type is json. */
function postgresTarget(db: PostgresDatabase, json: ReadonlyMap<string, ReadonlySet<string>>): MoveTarget {
  return {
    db,
    insert: ({ name, columns }, rows) => {
      const raw = json.get(name) ?? new Set();
      const cells = (row: Row): string =>
        columns.map((column) => `${JSON.stringify(column)}:${cellText(row[column] ?? null, raw.has(column))}`).join();
      const list = columns.join(', ');
      const from = `FROM json_populate_recordset(CAST(NULL AS ${name}), CAST(@rows AS json))`;
      const whole = rows.filter((row) => !hasUnreadableEscape(row, raw));
      const statements = rows
        .filter((row) => hasUnreadableEscape(row, raw))
        .map((row): Statement => {
          const apart = columns.filter((column) => raw.has(column) && row[column] != null);
          const params = Object.fromEntries(apart.map((column) => [`json_${column}`, row[column] as SqlValue]));
          const read = columns.map((column) => (apart.includes(column) ? `CAST(@json_${column} AS json)` : column));
          const rest = { ...row, ...Object.fromEntries(apart.map((column) => [column, null])) };
          const sql = `INSERT INTO ${name} (${list}) SELECT ${read.join(', ')} ${from}`;
          return { sql, params: { ...params, rows: `[{${cells(rest)}}]` }, expectChanges: 1 };
        });
      if (whole.length > 0) {
        const all = `[${whole.map((row) => `{${cells(row)}}`).join()}]`;
        const sql = `INSERT INTO ${name} (${list}) SELECT ${list} ${from}`;
        statements.unshift({ sql, params: { rows: all }, expectChanges: whole.length });
      }
      return statements;
    },
    finish: (lastWebhook) =>
      lastWebhook === 0
        ? []
        : [
            {
              sql: "SELECT setval(CAST(pg_get_serial_sequence('webhook', 'number') AS regclass), @lastWebhook)",
              params: { lastWebhook },
            },
          ],
  };
}

/** Escapes that the type json keeps, and that PostgreSQL cannot read inside of other JSON. */
const UNREADABLE = /\\u(?:0000|[dD][89a-fA-F])/;

function hasUnreadableEscape(row: Row, jsonColumnNames: ReadonlySet<string>): boolean {
  return [...jsonColumnNames].some((column) => UNREADABLE.test(String(row[column] ?? '')));
}

/** A value as JSON that PostgreSQL converts to the type of its column. Bytes are in its hexadecimal form. */
function cellText(value: SqlValue, isJson: boolean): string {
  if (value instanceof Uint8Array) return `"\\\\x${Buffer.from(value).toString('hex')}"`;
  if (typeof value !== 'string') return JSON.stringify(value);
  return isJson ? value : JSON.stringify(portableText(value));
}

async function jsonColumns(db: Database): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const rows = await db.all(
    "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = current_schema() AND data_type = 'json'",
    {},
  );
  const found = new Map<string, Set<string>>();
  for (const { table_name, column_name } of rows) {
    const columns = found.get(String(table_name)) ?? new Set();
    found.set(String(table_name), columns.add(String(column_name)));
  }
  return found;
}

function entry(acting: Acting, now: number, to: string): AuditEntry {
  return auditEntry(
    createIds(() => now, randomBytes),
    acting.actor,
    'database.move',
    'database:1',
    { at: now, changes: { database: { from: to === 'postgres' ? 'sqlite' : 'postgres', to } } },
  );
}

async function asDataErrors<T>(target: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof MoveError)
      throw new DataFolderError(`${target} cannot receive the data: ${cause.message}`, { cause });
    throw cause;
  }
}

function nameOf({ databaseUrl }: Config): string {
  return databaseUrl === null ? '' : databaseName(databaseUrl);
}

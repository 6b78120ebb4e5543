/**
 * A real store for tests, with a clock that only the test advances: an SQLite file in a temporary folder, or a new database of PostgreSQL
 * if the environment says `TEST_DATABASE=postgres`.
 */

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, type TestContext } from 'node:test';
import { installBuiltInProducts } from '../../src/access/products.ts';
import type { AuditEntry } from '../../src/domain/audit.ts';
import { installBuiltInEventTypes } from '../../src/events/built-in.ts';
import { type Clock, createIds, type Ids, randomBytes } from '../../src/kernel/ids.ts';
import { createVault, MASTER_KEY_BYTES, type Vault } from '../../src/kernel/vault.ts';
import type { Answer, Database, DatabaseSource, Row } from '../../src/store/port/database.ts';
import type { Store } from '../../src/store/port/store.ts';
import type { PostgresDatabase } from '../../src/store/postgres/driver/postgres.ts';
import { createPostgresStore } from '../../src/store/postgres/store.ts';
import { createSchema } from '../../src/store/sqlite/driver/schema.ts';
import { openSqlite, type SqliteDatabase } from '../../src/store/sqlite/driver/sqlite.ts';
import { createSqliteStore } from '../../src/store/sqlite/store.ts';
import { cleanUp } from './cleanup.ts';
import { openEmptied } from './emptied-databases.ts';
import type { Fill } from './postgres.ts';
import { type OnStatement, recorded } from './statements.ts';
import { FAILING_TEST } from './thread-events.ts';
import './password-cost.ts';

/** The initial time of the clock, when the PGP keys in test/vectors have the validity that their names state. */
export const NOW: number = Date.parse('2026-11-21T05:00:00.000Z');

/** Whether this run of the tests uses PostgreSQL. */
export const onPostgres: boolean = process.env.TEST_DATABASE === 'postgres';

/** Defines a test of SQLite alone, for example of its query plans. */
export const onSqlite: typeof it = onPostgres ? ((() => undefined) as unknown as typeof it) : it;

export type TestStore = {
  /** The file of SQLite, or the URL of the database. */
  readonly path: string;
  /** Where a thread opens the database. */
  readonly source: DatabaseSource;
  readonly database: Database;
  /** The database for a test of SQLite alone. There is none on PostgreSQL. */
  readonly sqlite: SqliteDatabase;
  readonly vault: Vault;
  readonly store: Store;
  readonly ids: Ids;
  readonly clock: Clock;
  /** Advances the clock, or sets it back with a negative number. */
  advance(ms: number): void;
  /** Runs a query on the database behind the store. */
  rows(sql: string): Promise<Row[]>;
  /** Makes an audit entry for store functions that require one. */
  entry(): AuditEntry;
};

/** Makes a folder that is removed when the test ends. */
export function temporaryFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'store-'));
  cleanUp(t, () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** Makes a database that holds only the schema. It is closed and removed when the test ends. */
export function openTestDatabase(t: TestContext): { readonly path: string; readonly database: SqliteDatabase } {
  return openCopy(t, schemaOnly(), false);
}

function openCopy(
  t: TestContext,
  file: Uint8Array,
  writerThread: boolean,
): { readonly path: string; readonly database: SqliteDatabase } {
  const path = join(temporaryFolder(t), 'sallyport.db');
  writeFileSync(path, file);
  const database = openSqlite(path, writerThread ? { writerThread: FAILING_TEST } : {});
  cleanUp(t, () => database.close());
  return { path, database };
}

let emptyFile: Uint8Array | null = null;

/** A database file with the schema. A test gets a copy, because the schema takes 8 ms and a copy none. */
function schemaOnly(): Uint8Array {
  if (emptyFile !== null) return emptyFile;
  const folder = mkdtempSync(join(tmpdir(), 'store-'));
  try {
    const path = join(folder, 'sallyport.db');
    const database = openSqlite(path);
    createSchema(database, readFileSync(new URL('../../schema.sql', import.meta.url), 'utf8'));
    void database.close();
    emptyFile = readFileSync(path);
    return emptyFile;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Such files with the built-in products and event types, by the time at which they were installed. */
const filesWithBuiltIns = new Map<number, Promise<Uint8Array>>();

function schemaWithBuiltIns(now: number): Promise<Uint8Array> {
  const file = filesWithBuiltIns.get(now) ?? makeFileWithBuiltIns(now);
  filesWithBuiltIns.set(now, file);
  return file;
}

async function makeFileWithBuiltIns(now: number): Promise<Uint8Array> {
  const folder = mkdtempSync(join(tmpdir(), 'store-'));
  try {
    const path = join(folder, 'sallyport.db');
    writeFileSync(path, schemaOnly());
    const database = openSqlite(path);
    await installBuiltIns(createSqliteStore(database, newVault(), idsAt(now)), now);
    await database.close();
    return readFileSync(path);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export type TestStoreOptions = {
  readonly now?: number;
  readonly writerThread?: boolean;
  /** Gets the text of every statement that the store runs. */
  readonly onStatement?: OnStatement;
};

/** Makes a store with a random master key and the built-in products and event types. On PostgreSQL it has joined the instances. */
export async function openTestStore(
  t: TestContext,
  { now = NOW, writerThread = false, onStatement }: TestStoreOptions = {},
): Promise<TestStore> {
  let at = now;
  const clock = (): number => at;
  // Without random bits in their ids, webhooks are numbered from 1 in the order of their creation.
  const ids = createIds(clock, (size) => (size === 8 ? new Uint8Array(8) : randomBytes(size)));
  const vault = newVault();
  const watched = <D extends Database>(database: D): D =>
    onStatement === undefined ? database : recorded(database, onStatement);
  const opened = onPostgres
    ? await openPostgresStore(t, now, vault, ids, watched)
    : openSqliteStore(t, await schemaWithBuiltIns(now), writerThread, vault, ids, watched);
  const { path, database, store } = opened;
  return {
    path,
    source: onPostgres ? { url: path } : { file: path },
    database,
    sqlite: opened.sqlite ?? NEEDS_SQLITE,
    vault,
    store,
    ids,
    clock,
    advance: (ms) => {
      at += ms;
    },
    rows: async (sql) => database.all(sql, {}),
    entry: () => ({
      id: ids.uuid(),
      at,
      actor: 'service',
      action: 'webhook.update',
      target: 'webhook:1',
      customerId: null,
      changes: {},
    }),
  };
}

/** A second store on a database of `openTestStore`, as another process has it. */
export function storeOn(database: Database, vault: Vault, ids: Ids): Store {
  return onPostgres
    ? createPostgresStore(database as PostgresDatabase, vault, ids)
    : createSqliteStore(database as SqliteDatabase, vault, ids);
}

/** Throws once a test uses it. */
const NEEDS_SQLITE: SqliteDatabase = new Proxy({} as SqliteDatabase, {
  get: () => {
    throw new Error('this test needs SQLite');
  },
});

type Opened = {
  readonly path: string;
  readonly database: Database;
  readonly sqlite: SqliteDatabase | null;
  readonly store: Store;
};

async function installBuiltIns(store: Store, now: number): Promise<void> {
  await installBuiltInProducts(store, now);
  await installBuiltInEventTypes(store, now);
}

/** Saves each test from installing them. */
const withBuiltIns: Fill = async (database, now) => {
  await installBuiltIns(createPostgresStore(database, newVault(), idsAt(now)), now);
};

function newVault(): Vault {
  return createVault(randomBytes(MASTER_KEY_BYTES), randomBytes);
}

function idsAt(now: number): Ids {
  return createIds(() => now, randomBytes);
}

type Watched = <D extends Database>(database: D) => D;

function openSqliteStore(
  t: TestContext,
  file: Uint8Array,
  writerThread: boolean,
  vault: Vault,
  ids: Ids,
  watched: Watched,
): Opened {
  const opened = openCopy(t, file, writerThread);
  const { path } = opened;
  const database = watched(opened.database);
  return { path, database, sqlite: database, store: createSqliteStore(database, vault, ids) };
}

async function openPostgresStore(
  t: TestContext,
  now: number,
  vault: Vault,
  ids: Ids,
  watched: Watched,
): Promise<Opened> {
  const { url, ...opened } = await openEmptied(t, now, withBuiltIns);
  const database = watched(opened.database);
  const store = createPostgresStore(database, vault, ids);
  // The lease outlasts every test.
  await store.instances?.join({ name: 'test', version: '0', address: null }, 3_600_000);
  return { path: url, database, sqlite: null, store };
}

/** Writes to the database behind the store: the statements are one transaction. */
export async function execute({ database }: { readonly database: Database }, ...statements: string[]): Promise<void> {
  await database.commit(statements.map((sql) => ({ sql, params: {} })));
}

const TABLES = onPostgres
  ? `SELECT relname AS name FROM pg_class WHERE relkind IN ('r', 'p') AND NOT relispartition
    AND relnamespace = current_schema()::regnamespace
     ORDER BY relname`
  : "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name";

/** Every row of every table of an SQLite database, sorted by content. */
export function contents({ connection }: SqliteDatabase): Readonly<Record<string, readonly unknown[]>> {
  const tables = connection.prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").pluck().all();
  return Object.fromEntries(tables.map((name) => [name, sorted(connection.prepare(`SELECT * FROM ${name}`).all())]));
}

/**
 * `contents` of a database to which only other connections write. It reads the tables again only after one of them committed, which SQLite
 * tells by `data_version`.
 */
export function contentsByOthers(database: SqliteDatabase): () => ReturnType<typeof contents> {
  let version: unknown = null;
  let found: ReturnType<typeof contents> = {};
  return () => {
    const now = database.connection.pragma('data_version', { simple: true });
    if (now !== version) found = contents(database);
    version = now;
    return found;
  };
}

/** Every row of every table of either database, sorted by content. */
export async function contentsOf(
  database: Pick<Database, 'all'>,
): Promise<Readonly<Record<string, readonly unknown[]>>> {
  const found: Record<string, readonly unknown[]> = {};
  for (const { name } of await database.all(TABLES, {})) {
    found[String(name)] = sorted(await database.all(`SELECT * FROM ${name}`, {}));
  }
  return found;
}

/** Tables that the service writes by itself once a minute or more often, whatever requests do. */
const WRITTEN_BY_TIMERS = ['application_use', 'customer_usage', 'figure', 'instance', 'webhook_change'];

/** The contents without the tables that the service writes by itself, to compare before and after a request. */
export function writtenByRequests(
  found: Readonly<Record<string, readonly unknown[]>>,
): Record<string, readonly unknown[]> {
  const kept = Object.entries(found).filter(([table]) => !WRITTEN_BY_TIMERS.includes(table));
  return Object.fromEntries(
    kept.map(([table, rows]) => [table, table === 'webhook_position' ? settledPositions(rows) : rows]),
  );
}

/** Without the time and the place that the dispatcher writes some seconds after an attempt. */
function settledPositions(rows: readonly unknown[]): unknown[] {
  return (rows as Readonly<Record<string, unknown>>[]).map(({ covered_offset: _, sent_at: __, ...row }) => row);
}

function sorted(rows: readonly unknown[]): unknown[] {
  return rows
    .map((row) => [JSON.stringify(row), row] as const)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([, row]) => row);
}

/** Runs `work` and asserts that it changed no table. */
export async function leavingNothing<T>(
  { database }: { readonly database: Pick<Database, 'all'> },
  work: () => Answer<T>,
): Promise<T> {
  const before = await contentsOf(database);
  const result = await work();
  assert.deepEqual(await contentsOf(database), before);
  return result;
}

/**
 * Opens a data folder with an SQLite database, and creates it at the first start. If the folder cannot be used, the error says why and
 * what to do. One server uses it at a time; other commands work beside it.
 */

import { existsSync, readdirSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { installBuiltInProducts } from '../access/products.ts';
import { type Config, settingPrefix } from '../config/config.ts';
import { installBuiltInEventTypes } from '../events/built-in.ts';
import { readAsset } from '../kernel/assets.ts';
import { makePrivateFolder } from '../kernel/folder.ts';
import { type Clock, createIds, randomBytes } from '../kernel/ids.ts';
import type { Log } from '../kernel/log.ts';
import { makePrivateFile, strangerText } from '../kernel/private-file.ts';
import { Refusal } from '../kernel/refusal.ts';
import { createVault, type Vault } from '../kernel/vault.ts';
import type { Store } from '../store/port/store.ts';
import { largestRowKey } from '../store/shared/row-keys.ts';
import { firstCredentialStore, settingStore } from '../store/shared/settings.ts';
import { damages, damagesAtStart, lacksLog, RESTORE_ADVICE, tellsDamage } from '../store/sqlite/damage.ts';
import {
  createSchema,
  examineSchema,
  isOurs,
  migrateSchema,
  SCHEMA_HISTORY,
  SCHEMA_VERSION,
  type SchemaHistory,
} from '../store/sqlite/driver/schema.ts';
import { openSqlite, type SqliteDatabase } from '../store/sqlite/driver/sqlite.ts';
import type { ThreadEvents } from '../store/sqlite/driver/thread-writer.ts';
import { createSqliteStore } from '../store/sqlite/store.ts';
import { type Data, DataFolderError, masterKeyPath, masterKeyPrefix, type Storage, withFirstStart } from './data.ts';
import { createDownloads, removeDownload } from './download.ts';
import { type FolderLock, LOCK_FILE, lockFolder } from './folder-lock.ts';
import { makeMasterKey, readMasterKey } from './master-key.ts';
import { settleRotation } from './rotation.ts';

/** In this line of the log, `copy` is the path of a file with all data before the migration. */
export const MIGRATED = 'the database was migrated; a copy of the old one is kept until you remove it';

export const DATABASE_FILE = 'sallyport.db';

export function databasePath({ dataDir }: Pick<Config, 'dataDir'>): string {
  return join(dataDir, DATABASE_FILE);
}

export type FolderData = Data & { readonly db: SqliteDatabase };

export type Opening = {
  readonly exclusive: boolean;
  /** Make a new installation, even if the folder has lost its database. */
  readonly newInstallation?: boolean;
  readonly clock?: Clock;
  /** Logs a migration. */
  readonly log?: Pick<Log, 'info'>;
  readonly history?: SchemaHistory;
  /** Commits in a thread: for a server. */
  readonly writerThread?: ThreadEvents;
};

/**
 * Exists from the beginning of a first start until the database is set up. If a folder without it has traces of a database but no database,
 * its database is lost.
 */
export const FIRST_START_FILE = 'first-start';

/**
 * Opens the data folder of `config`. `exclusive` is for the one server of a folder: takes the lock, creates missing files, installs the
 * built-in products and event types, and migrates an older database after copying it. Without `exclusive` the folder must have had its
 * first start. Throws `DataFolderError`.
 *
 * A first start creates in this order, each only if it is missing: folder, mark of the first start, lock, master key, database file,
 * schema, master key check, built-in products and event types. Each needs only those before it, so the next start finishes an interrupted
 * one, and no key is ever created for a database that was sealed with another key.
 */
export async function openFolder(
  config: Config,
  { exclusive, newInstallation = false, clock = Date.now, log, history = SCHEMA_HISTORY, writerThread }: Opening,
): Promise<FolderData> {
  const lock = exclusive ? takeFolder(config, newInstallation) : null;
  let db: SqliteDatabase | null = null;
  try {
    const masterKey = findMasterKey(config, exclusive);
    if (exclusive) tidyFolder(config);
    db = await openDatabase(config, { exclusive, clock, log, history, writerThread });
    // Only the server may write the key's file. Until then other processes fail with the old key.
    const path = masterKeyPath(config);
    const settled = exclusive
      ? await settleRotation(db, { path, current: masterKey, random: randomBytes, isAlone: true })
      : masterKey;
    const data = await openStore(config, db, settled, lock, clock);
    if (exclusive) rmSync(firstStartPath(config), { force: true });
    return data;
  } catch (error) {
    const explained = db === null ? error : damageBehind(error, db);
    await db?.close();
    lock?.release();
    throw explained;
  }
}

async function openStore(
  config: Config,
  db: SqliteDatabase,
  masterKey: Uint8Array,
  lock: FolderLock | null,
  clock: Clock,
): Promise<FolderData> {
  const random = randomBytes;
  const ids = createIds(clock, random, await largestRowKey(db));
  const vault = createVault(masterKey, random);
  const store = createSqliteStore(db, vault, ids);
  const firstCredentials = firstCredentialStore(db, vault);
  // The first user is created after the master key check, which only the server may write.
  if (lock === null && (await store.users.isEmpty())) throw notStarted(config);
  await checkMasterKey(config, store);
  if (lock !== null) {
    await installBuiltInProducts(store, clock());
    await installBuiltInEventTypes(store, clock());
  }
  const close = async (): Promise<void> => {
    await db.close();
    lock?.release();
  };
  const { dataDir } = config;
  const storage = storageOf(db, vault);
  return withFirstStart({ dataDir, db, storage, store, vault, clock, ids, random, firstCredentials, close });
}

function storageOf(db: SqliteDatabase, vault: Vault): Storage {
  const { name: path } = db.connection;
  return {
    source: { file: path },
    facts: async () => ({
      product: 'SQLite',
      version: String((await db.get('SELECT sqlite_version() AS version', {}))?.version),
      schemaVersion: SCHEMA_VERSION,
      location: null,
      bytes: sizeOf(path),
      logBytes: sizeOf(`${path}-wal`),
    }),
    downloads: createDownloads(path, vault),
    signals: null,
    files: { problem: db.filesProblem, saveLog: db.saveLog },
    hasOneServer: true,
    explained: (error) => damageBehind(error, db),
  };
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

function takeFolder(config: Config, newInstallation: boolean): FolderLock {
  const { dataDir } = config;
  return locked(config, 'another sallyport serves it', () => {
    const lost = newInstallation ? null : lostDatabase(config);
    if (lost !== null) throw lost;
    makePrivateFolder(dataDir);
    // Before the lock, because its file counts as a trace of a database.
    if (!hasDatabase(config)) makePrivateFile(firstStartPath(config));
  });
}

/** Takes the lock of a folder, which it makes if necessary, for a command during which no server may run. Throws `DataFolderError`. */
export function holdFolder(config: Config): FolderLock {
  return locked(config, 'stop the server first', () => makePrivateFolder(config.dataDir));
}

function locked(config: Config, advice: string, prepare: () => void): FolderLock {
  const { dataDir } = config;
  const paths = [join(dataDir, LOCK_FILE), dataDir];
  const lock = explaining(`${settingPrefix(config, 'dataDir')}the data folder ${dataDir} cannot be used`, paths, () => {
    prepare();
    return lockFolder(dataDir);
  });
  if (lock === null) throw new DataFolderError(`the data folder ${dataDir} is in use: ${advice}`);
  return lock;
}

/** The error for a folder that has lost its database; null if it has one or never had. */
function lostDatabase(config: Config): DataFolderError | null {
  const { dataDir } = config;
  if (hasDatabase(config) || existsSync(firstStartPath(config))) return null;
  const key = masterKeyPath(config);
  const left = existsSync(dataDir)
    ? readdirSync(dataDir).find((name) => name === LOCK_FILE || name.startsWith(DATABASE_FILE))
    : undefined;
  const trace = existsSync(key) ? key : left === undefined ? null : join(dataDir, left);
  if (trace === null) return null;
  return new DataFolderError(
    `${settingPrefix(config, 'dataDir')}the database in ${dataDir} is missing, but ${trace} shows that there was ` +
      'one: put the database back, restore a backup with sallyport restore <backup>, or create a new installation ' +
      'with sallyport init',
  );
}

/** Whether the first start has begun and not ended. */
export function isFirstStart(config: Config): boolean {
  return existsSync(firstStartPath(config));
}

function firstStartPath({ dataDir }: Pick<Config, 'dataDir'>): string {
  return join(dataDir, FIRST_START_FILE);
}

/** Removes the remains of an interrupted download. The caller holds the lock of the folder. */
function tidyFolder(config: Config): void {
  const { dataDir } = config;
  explaining(`the remains of a download in ${dataDir} cannot be removed`, [dataDir], () =>
    removeDownload(databasePath(config)),
  );
}

function findMasterKey(config: Config, exclusive: boolean): Uint8Array {
  const path = masterKeyPath(config);
  const verdict = readMasterKey(path);
  if (verdict.ok) return verdict.key;
  const description = `${masterKeyPrefix(config)}${verdict.description}`;
  if (verdict.code !== 'missing') throw new DataFolderError(description);
  if (hasDatabase(config)) {
    throw new DataFolderError(
      `${description}, but there is a database in ${config.dataDir} whose secrets only that key can read: put the key back`,
    );
  }
  if (!exclusive) throw lostDatabase(config) ?? notStarted(config);
  // Servers of other folders may use the same file.
  const what = `${masterKeyPrefix(config)}the master key ${path} cannot be created`;
  return explaining(what, [dirname(path)], () => makeMasterKey(path, randomBytes, config.dataDir).key);
}

/** Returns an error that names the damage if a damaged page may have caused `error`, and `error` otherwise. */
function damageBehind(error: unknown, db: Pick<SqliteDatabase, 'connection'>): unknown {
  const isExpected = error instanceof DataFolderError || (error instanceof Refusal && !tellsDamage(error));
  if (isExpected || !db.connection.open) return error;
  const { name: path } = db.connection;
  const wrap = (what: string): DataFolderError =>
    new DataFolderError(`the database ${path} is damaged (${what}): ${RESTORE_ADVICE}`, { cause: error });
  if (tellsDamage(error)) return wrap((error as Error).message.split(':', 1)[0] ?? '');
  try {
    const [damage] = damages(db);
    return damage === undefined ? error : wrap(damage);
  } catch (met) {
    return tellsDamage(met) ? wrap((met as Error).message) : error;
  }
}

function missingLogText(config: Config, path: string): string {
  return (
    `${settingPrefix(config, 'dataDir')}the database ${path} was not closed, and its log ${path}-wal is missing, ` +
    'with the last writes: put the log back, or restore a backup with sallyport restore <backup> --force; to ' +
    `continue without those writes, remove ${path}-shm`
  );
}

type DatabaseOpening = Required<Pick<Opening, 'exclusive' | 'clock' | 'history'>> & {
  readonly log: Opening['log'];
  readonly writerThread: ThreadEvents | undefined;
};

async function openDatabase(
  config: Config,
  { exclusive, clock, log, history, writerThread }: DatabaseOpening,
): Promise<SqliteDatabase> {
  if (!exclusive) requireDatabase(config);
  const path = databasePath(config);
  if (lacksLog(path)) throw new DataFolderError(missingLogText(config, path));
  const db = openFile(config, () => {
    makePrivateFile(path);
    return openSqlite(path, writerThread === undefined ? {} : { writerThread });
  });
  try {
    const verdict = explaining(`the database ${path} cannot be read`, [], () => examine(db, { exclusive, history }));
    if (verdict.state === 'empty') {
      if (!exclusive) throw notStarted(config);
      createSchema(db, readAsset('schema.sql'));
    } else if (verdict.state === 'older') {
      if (!exclusive)
        throw new DataFolderError(
          `the database ${path} has an older schema: start sallyport serve first, which migrates it`,
        );
      const copy = await explainingLater(
        `the database ${path} cannot be migrated`,
        migrateSchema(db, verdict, clock()),
      );
      const { version: from } = verdict;
      log?.info({ database: path, from, to: history.version, copy }, MIGRATED);
    }
    return db;
  } catch (error) {
    await db.close();
    throw error;
  }
}

function openFile(config: Config, open: () => SqliteDatabase): SqliteDatabase {
  const what = `${settingPrefix(config, 'dataDir')}the database ${databasePath(config)} cannot be opened`;
  return explaining(what, databaseFiles(config), open);
}

/** Opens the database for a command that copies it, also beside a server. Throws `DataFolderError`. */
export function openBesideServer(config: Config): SqliteDatabase {
  requireDatabase(config);
  return openFile(config, () => openSqlite(databasePath(config)));
}

/**
 * The master key, if it belongs to the database: with another key, nobody could use a copy. `advice`: the end of the message for a key of
 * another database. Throws `DataFolderError`.
 */
export async function requireOwnKey(config: Config, db: SqliteDatabase, advice = ''): Promise<Uint8Array> {
  const path = masterKeyPath(config);
  const verdict = readMasterKey(path);
  const setting = masterKeyPrefix(config);
  if (!verdict.ok) throw new DataFolderError(`${setting}${verdict.description}`);
  if (await settingStore(db, createVault(verdict.key, randomBytes)).knowsMasterKey()) return verdict.key;
  throw new DataFolderError(`${setting}${path} is not the master key that the database was made with${advice}`);
}

/** Throws `DataFolderError` for a newer schema, a database of another program, and, before a server starts, for a damaged database. */
function examine(db: SqliteDatabase, { exclusive, history }: Pick<DatabaseOpening, 'exclusive' | 'history'>) {
  const { name: path } = db.connection;
  const verdict = examineSchema(db, history);
  if (!verdict.ok) throw new DataFolderError(`the database ${path} cannot be used: ${verdict.description}`);
  if (verdict.state !== 'empty' && !isOurs(db)) {
    throw new DataFolderError(
      `the database ${path} cannot be used: it is not a database of Sallyport; ${RESTORE_ADVICE}`,
    );
  }
  const damage = exclusive ? damagesAtStart(db) : [];
  if (damage.length > 0) {
    throw new DataFolderError(`the database ${path} is damaged (${damage.join('; ')}): ${RESTORE_ADVICE}`);
  }
  return verdict;
}

/** Throws `DataFolderError` if there is no database, for commands that do not open the folder beside a server. */
export function requireDatabase(config: Config): void {
  if (!hasDatabase(config)) throw lostDatabase(config) ?? notStarted(config);
}

/** An empty file does not count: an interrupted first start may leave one. */
export function hasDatabase(config: Config): boolean {
  const { dataDir } = config;
  return explaining(`${settingPrefix(config, 'dataDir')}the data folder ${dataDir} cannot be used`, [dataDir], () => {
    return sizeOf(databasePath(config)) > 0;
  });
}

/** The files that SQLite must be able to write, and their folder. */
export function databaseFiles(config: Pick<Config, 'dataDir'>): readonly string[] {
  const path = databasePath(config);
  return [path, `${path}-wal`, `${path}-shm`, config.dataDir];
}

async function checkMasterKey(config: Config, store: Store): Promise<void> {
  try {
    await store.settings.checkMasterKey();
  } catch (cause) {
    const where = `${masterKeyPrefix(config)}${masterKeyPath(config)}`;
    throw new DataFolderError(`${where}: ${(cause as Error).message}`, { cause });
  }
}

function notStarted(config: Config): DataFolderError {
  return new DataFolderError(
    `${settingPrefix(config, 'dataDir')}there is no data in ${config.dataDir} yet, or its first start was ` +
      'interrupted: run sallyport init or sallyport serve',
  );
}

/** Wraps an error of the system or of SQLite in a `DataFolderError`, which also names those paths that belong to another user. */
function explaining<T>(what: string, paths: readonly string[], work: () => T): T {
  try {
    return work();
  } catch (cause) {
    if (cause instanceof DataFolderError) throw cause;
    const advice = tellsDamage(cause) ? `: ${RESTORE_ADVICE}` : '';
    throw new DataFolderError(`${what}: ${(cause as Error).message}${strangerText(paths)}${advice}`, { cause });
  }
}

async function explainingLater<T>(what: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (cause) {
    return explaining(what, [], () => {
      throw cause;
    });
  }
}

/**
 * Opens a PostgreSQL database that any number of instances use. The data folder then holds only the master key. If the database cannot be
 * used, the error says why and what to do.
 */

import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { installBuiltInProducts } from '../access/products.ts';
import { type Config, databaseName, settingPrefix } from '../config/config.ts';
import { installBuiltInEventTypes } from '../events/built-in.ts';
import { makePrivateFolder } from '../kernel/folder.ts';
import { type Clock, createIds, randomBytes } from '../kernel/ids.ts';
import type { Secret } from '../kernel/secret.ts';
import { createVault } from '../kernel/vault.ts';
import { DatabaseUnavailable } from '../store/port/errors.ts';
import type { Store } from '../store/port/store.ts';
import { openDatabaseClock } from '../store/postgres/clock.ts';
import { POSTGRES_ANSWER_MS } from '../store/postgres/driver/limits.ts';
import { PG_RELEASE } from '../store/postgres/driver/pg-internals.ts';
import type { PostgresDatabase } from '../store/postgres/driver/postgres.ts';
import { ensurePartitions, PARTITIONS_AHEAD_MS } from '../store/postgres/partitions.ts';
import { createSchema, examineSchema, SCHEMA_HISTORY, type SchemaHistory } from '../store/postgres/schema.ts';
import { serverFacts, serverProblem } from '../store/postgres/server.ts';
import { createPostgresStore } from '../store/postgres/store.ts';
import { largestRowKey } from '../store/shared/row-keys.ts';
import { firstCredentialStore } from '../store/shared/settings.ts';
import {
  type Data,
  DataFolderError,
  masterKeyPath,
  masterKeyPrefix,
  type Signals,
  type Storage,
  withFirstStart,
} from './data.ts';
import { makeMasterKey, readMasterKey } from './master-key.ts';
import { MOVE_SETTING } from './move.ts';
import { settleRotation } from './rotation.ts';
import { migrateInstances } from './running-instances.ts';

type PostgresOpening = {
  /** Creates missing data: for a process that serves. */
  readonly exclusive: boolean;
  /** The default is the clock of the database. */
  readonly clock?: Clock | undefined;
  readonly history?: SchemaHistory;
};

/**
 * Opens the database of `config`, whose URL is set. With `exclusive` it creates the missing parts: schema, partitions, master key, built-in
 * products and event types. Of several instances that start at the same time, one creates each. Throws `DataFolderError`.
 */
export async function openDatabase(
  config: Config,
  { exclusive, clock: given, history = SCHEMA_HISTORY }: PostgresOpening,
): Promise<Data> {
  const db = await connect(config, exclusive ? POSTGRES_ANSWER_MS : undefined);
  let stopClock = (): void => {};
  try {
    return await explained(config, async () => {
      const { clock, stop } = given === undefined ? await openDatabaseClock(db) : { clock: given, stop: () => {} };
      stopClock = stop;
      if (exclusive) await makeSchema(config, db, { history, now: clock() });
      else await requireSchema(config, db, history);
      await refuseUnfinishedMove(config, db);
      const data = await openStore(config, db, exclusive, clock);
      return {
        ...data,
        close: async () => {
          stop();
          await data.close();
        },
      };
    });
  } catch (error) {
    stopClock();
    await db.close();
    throw error;
  }
}

/**
 * Connects to the database of `config`, whose URL is set, and checks that Sallyport can use the server. `answerMs`: the time limit of a
 * statement; those of commands have none. Throws `DataFolderError`.
 */
export async function connect(config: Config, answerMs = Number.POSITIVE_INFINITY): Promise<PostgresDatabase> {
  const url = config.databaseUrl as Secret;
  const db = await explained(config, async () => {
    const { openPostgres } = await import('../store/postgres/driver/postgres.ts');
    return openPostgres({
      connection: { connectionString: url.reveal() },
      listenUrl: config.databaseListenUrl?.reveal(),
      answerMs,
    });
  });
  try {
    const problem = await explained(config, async () => serverProblem(await serverFacts(db)));
    if (problem !== null) throw unusable(config, problem);
    return db;
  } catch (error) {
    await db.close();
    throw error;
  }
}

/**
 * Creates the schema of the database, or brings an older one up to date. Returns the versions before (null: empty) and after. Throws
 * `DataFolderError`, also if others hold locks on the tables for `waitMs`, or instances run that need the older schema.
 */
export async function migrateDatabase(
  config: Config,
  now: number,
  { history = SCHEMA_HISTORY, waitMs }: { readonly history?: SchemaHistory; readonly waitMs?: number } = {},
): Promise<{ readonly from: number | null; readonly to: number }> {
  const db = await connect(config);
  try {
    return await explained(config, async () => {
      const verdict = await examineSchema(db, history);
      if (verdict.ok && verdict.state === 'older') await migrateInstances(config, db, verdict, waitMs);
      await makeSchema(config, db, { history, now });
      if (!verdict.ok || verdict.state === 'empty') return { from: null, to: history.version };
      return { from: verdict.version, to: Math.max(verdict.version, history.version) };
    });
  } finally {
    await db.close();
  }
}

/** Throws `DataFolderError` unless the database has a schema that this program works with. */
export async function requireSchema(
  config: Config,
  db: PostgresDatabase,
  history: SchemaHistory = SCHEMA_HISTORY,
): Promise<void> {
  const verdict = await examineSchema(db, history);
  if (!verdict.ok) throw unusable(config, verdict.description);
  if (verdict.state === 'empty') {
    const { schema, role } = await serverFacts(db);
    if (schema !== null) throw notStarted(config);
    throw unusable(
      config,
      `no schema of its search_path is there that ${role} may use: GRANT USAGE ON SCHEMA … TO ${role}, or correct search_path`,
    );
  }
  if (verdict.state === 'older') {
    throw unusable(
      config,
      `its schema is version ${verdict.version}, and this Sallyport needs version ${history.version}: run sallyport migrate`,
    );
  }
}

/** Makes the schema in an empty database, and the partitions for the rows of the next weeks. */
async function makeSchema(
  config: Config,
  db: PostgresDatabase,
  { history, now }: { readonly history: SchemaHistory; readonly now: number },
): Promise<void> {
  const verdict = await examineSchema(db, history);
  if (verdict.ok && verdict.state === 'empty') {
    const { mayCreate, role, schema } = await serverFacts(db);
    if (!mayCreate) {
      const place = schema ?? 'public';
      throw unusable(
        config,
        `the role ${role} may not create tables in it: GRANT USAGE, CREATE ON SCHEMA ${place} TO ${role}`,
      );
    }
    await createSchema(db);
  }
  await requireSchema(config, db, history);
  await ensurePartitions(db, { now, aheadMs: PARTITIONS_AHEAD_MS });
}

/** Throws `DataFolderError` while `sallyport move` has begun and not finished. */
export async function refuseUnfinishedMove(config: Config, db: PostgresDatabase): Promise<void> {
  const row = await db.get('SELECT 1 AS found FROM setting WHERE name = @name', { name: MOVE_SETTING });
  if (row === undefined) return;
  throw unusable(
    config,
    'it holds an unfinished move: run the same sallyport move again, which goes on, or drop the database and create it again',
  );
}

/** Makes schema and partitions in an empty database, so that data can be moved into it. An unfinished move may already be in it. */
export async function prepareTarget(config: Config, db: PostgresDatabase, now: number): Promise<void> {
  await explained(config, async () => {
    await makeSchema(config, db, { history: SCHEMA_HISTORY, now });
    // Instances that ran before may have dropped the partition for rows from before their start.
    await ensurePartitions(db, { now, aheadMs: 0, hasPast: true });
  });
}

async function openStore(config: Config, db: PostgresDatabase, exclusive: boolean, clock: Clock): Promise<Data> {
  const random = randomBytes;
  const { key, isNew } = await findMasterKey(config, db, exclusive);
  const ids = createIds(clock, random, await largestRowKey(db));
  const vault = createVault(key, random);
  const store = createPostgresStore(db, vault, ids);
  const firstCredentials = firstCredentialStore(db, vault);
  if (!exclusive && (await store.users.isEmpty())) throw notStarted(config);
  await checkMasterKey(config, store, isNew ? key : null);
  if (exclusive) {
    await installBuiltInProducts(store, clock());
    await installBuiltInEventTypes(store, clock());
  }
  const close = async (): Promise<void> => db.close();
  const { dataDir } = config;
  const storage = storageOf(config, db);
  return withFirstStart({ dataDir, db, storage, store, vault, clock, ids, random, firstCredentials, close });
}

function storageOf(config: Config, db: PostgresDatabase): Storage {
  const url = config.databaseUrl as Secret;
  return {
    source: { url: url.reveal() },
    facts: async () => {
      const { version, bytes } = await serverFacts(db);
      const schema = await examineSchema(db);
      return {
        product: 'PostgreSQL',
        version,
        schemaVersion: schema.ok && schema.state !== 'empty' ? schema.version : SCHEMA_HISTORY.version,
        location: databaseName(url),
        bytes,
        logBytes: null,
      };
    },
    downloads: null,
    files: null,
    signals: signalsOf(db),
    hasOneServer: false,
    explained: (error) => error,
  };
}

const WORK_CHANNEL = 'sallyport_work';

/** One notification in this time is enough: it makes an instance look for all work. */
const NOTIFY_EVERY_MS = 10;

function signalsOf(db: PostgresDatabase): Signals {
  let isPending = false;
  return {
    work: () => {
      if (isPending) return;
      isPending = true;
      setTimeout(() => {
        isPending = false;
        db.notify(WORK_CHANNEL, '');
      }, NOTIFY_EVERY_MS);
    },
    onWork: (listener) => void db.listen(WORK_CHANNEL, listener),
  };
}

/** A new key only for a database that was never sealed with another one. */
async function findMasterKey(
  config: Config,
  db: PostgresDatabase,
  mayMake: boolean,
): Promise<{ readonly key: Uint8Array; readonly isNew: boolean }> {
  const path = masterKeyPath(config);
  const verdict = readMasterKey(path);
  if (verdict.ok) {
    const current = verdict.key;
    const key = await settleRotation(db, { path, current, random: randomBytes, isAlone: false });
    return { key, isNew: false };
  }
  const description = `${masterKeyPrefix(config)}${verdict.description}`;
  if (verdict.code !== 'missing') throw new DataFolderError(description);
  if (await isSealed(db)) {
    throw new DataFolderError(
      `${description}, but the database ${nameOf(config)} has secrets that only its key can read: copy the ` +
        'master key of the other instances there, or name its file with --master-key-file',
    );
  }
  if (!mayMake) throw notStarted(config);
  try {
    makePrivateFolder(dirname(path));
    return makeMasterKey(path, randomBytes, dirname(path));
  } catch (cause) {
    const what = `${masterKeyPrefix(config)}the master key ${path} cannot be created`;
    throw new DataFolderError(`${what}: ${(cause as Error).message}`, { cause });
  }
}

async function isSealed(db: PostgresDatabase): Promise<boolean> {
  const row = await db.get("SELECT EXISTS (SELECT 1 FROM setting WHERE name = 'master_key_check') AS sealed", {});
  return row?.sealed === 1;
}

/** Removes the key `made`, made just now, if it does not fit the database: the next start then asks for the right one. */
async function checkMasterKey(config: Config, store: Store, made: Uint8Array | null): Promise<void> {
  try {
    await store.settings.checkMasterKey();
  } catch (cause) {
    if (cause instanceof DatabaseUnavailable) throw cause;
    const path = masterKeyPath(config);
    const verdict = readMasterKey(path);
    if (made !== null && verdict.ok && Buffer.from(made).equals(verdict.key)) rmSync(path, { force: true });
    throw new DataFolderError(
      `${masterKeyPrefix(config)}${path}: ${(cause as Error).message}, ${nameOf(config)}: copy the master key of the other instances there`,
      { cause },
    );
  }
}

/** Wraps errors of the connection and of the server in a `DataFolderError` that says what to do. */
async function explained<T>(config: Config, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const text = advice(error);
    if (text === null) throw error;
    throw unusable(config, text, error);
  }
}

/** Null for a fault of the program, and for an error that says what to do. */
function advice(error: unknown): string | null {
  if (!(error instanceof Error) || error instanceof DataFolderError) return null;
  if (['DatabaseUrlError', 'NotWritableError'].includes(causeOf(error).name)) return causeOf(error).message;
  const { code, message, routine } = causeOf(error) as NodeJS.ErrnoException & { readonly routine?: string };
  if (code === 'ERR_MODULE_NOT_FOUND' || code === 'MODULE_NOT_FOUND')
    return `the package pg is not installed: npm install pg@${PG_RELEASE}`;
  const known =
    code === '42501' && routine === CONNECTING ? ADVICE_CONNECTING : (OF_CLIENT[message] ?? ADVICE[code ?? '']);
  if (known !== undefined) return `${oneLine(message)}: ${known}`;
  if (!(error instanceof DatabaseUnavailable)) return null;
  if (error.reason === 'locked')
    return `another transaction holds a lock on its tables (${oneLine(message)}): ${LOCKED}`;
  if (error.reason !== 'unreachable') return `${error.message} (${oneLine(message)})`;
  return `it cannot be reached (${oneLine(message)}): check that PostgreSQL runs there and accepts connections from this machine`;
}

function causeOf(error: Error): Error {
  return error instanceof DatabaseUnavailable && error.cause instanceof Error ? error.cause : error;
}

/** The server's function that lets a role into a database. It refuses with the code that PostgreSQL also uses for tables. */
const CONNECTING = 'CheckMyDatabase';
const ADVICE_CONNECTING = 'GRANT CONNECT ON DATABASE to the role, or correct the role in the URL';

/** Errors of the client have no code. */
const OF_CLIENT: Readonly<Record<string, string>> = {
  'The server does not support SSL connections': 'set ssl = on there, or sslmode=prefer in the URL',
};

const LOCKED = 'find it in pg_stat_activity, for example a dump or an idle transaction, let it end, and try again';

const AUTHORITY = 'name the certificate authority of the server with sslrootcert in the URL';

/** By PostgreSQL's codes (Appendix A, "PostgreSQL Error Codes"), and by OpenSSL's. */
const ADVICE: Readonly<Record<string, string>> = {
  '28P01': 'correct the password in the URL, or in the file that PGPASSFILE names',
  '28000': 'correct the role in the URL, or pg_hba.conf of the server',
  '3D000': 'create it with createdb, or correct its name in the URL',
  '42501': 'the role must own the tables, or have all privileges on them',
  DEPTH_ZERO_SELF_SIGNED_CERT: AUTHORITY,
  SELF_SIGNED_CERT_IN_CHAIN: AUTHORITY,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: AUTHORITY,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: AUTHORITY,
  CERT_SIGNATURE_FAILURE: AUTHORITY,
  CERT_HAS_EXPIRED: 'renew the certificate of the server',
  ERR_TLS_CERT_ALTNAME_INVALID: 'use a host in the URL that the certificate of the server names, or sslmode=verify-ca',
  '53300': 'raise max_connections of the server, or run fewer instances',
};

function oneLine(message: string): string {
  return message.replaceAll(/\s+/g, ' ').trim();
}

function unusable(config: Config, problem: string, cause?: unknown): DataFolderError {
  const what = `${settingPrefix(config, 'databaseUrl')}the database ${nameOf(config)} cannot be used`;
  return new DataFolderError(`${what}: ${problem}`, cause === undefined ? {} : { cause });
}

function notStarted(config: Config): DataFolderError {
  return new DataFolderError(
    `${settingPrefix(config, 'databaseUrl')}there is no data in the database ${nameOf(config)} yet, or its first ` +
      'start was interrupted: run sallyport init or sallyport serve',
  );
}

function nameOf({ databaseUrl }: Config): string {
  return databaseName(databaseUrl as Secret);
}

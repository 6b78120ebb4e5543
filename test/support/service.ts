/**
 * Starts the whole service for a test: in this process, with a clock that the test can advance, or in a separate process. It uses an SQLite
 * database in its data folder, or a new database of PostgreSQL if the environment says `TEST_DATABASE=postgres`.
 */

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { readConfig } from '../../src/config/config.ts';
import type { FirstCredentials } from '../../src/data/data.ts';
import { DATABASE_FILE } from '../../src/data/data-folder.ts';
import type { LogLevel } from '../../src/kernel/log.ts';
import { createLog } from '../../src/observe/log.ts';
import { openSallyport, type Sallyport } from '../../src/open.ts';
import type { Database, SqlParameters } from '../../src/store/port/database.ts';
import { openPostgres } from '../../src/store/postgres/driver/postgres.ts';
import { openSqlite } from '../../src/store/sqlite/driver/sqlite.ts';
import { cleanUp } from './cleanup.ts';
import { type ApiClient, createClient, isWholeService, tokenFor } from './client.ts';
import { emptiedDatabase } from './emptied-databases.ts';
import { baseEnvironment } from './environment.ts';
import { createLogReader, type LogReader } from './log-reader.ts';
import { createDatabase, newDatabase, throughPooler } from './postgres.ts';
import { readingServices, type UntypedServices } from './reading-services.ts';
import { onPostgres } from './store.ts';
import './password-cost.ts';

export type ServiceOptions = {
  /** The data folder and credentials of a service that has stopped. Without it the service gets a new folder. */
  readonly after?: Pick<Service, 'dataDir' | 'credentials'>;
  /** Authorities to trust, in PEM. */
  readonly ca?: string;
  /** The default is `debug`, at which every attempt is logged. */
  readonly logLevel?: LogLevel;
  /** Commits in a thread, as `serve` does. Only for `startService`, which otherwise saves the start of one. */
  readonly writerThread?: boolean;
  /** A program that runs the command appended to its arguments. Only for `spawnService`. */
  readonly through?: readonly [string, ...string[]];
  /** The time at which its clock stands until the test advances it, from the first start on. Without it the clock runs. */
  readonly now?: number;
  /** Additional settings. */
  readonly env?: Readonly<Record<string, string>>;
};

export type Service = {
  readonly url: string;
  readonly dataDir: string;
  readonly credentials: FirstCredentials;
  /** A client with every administration scope. */
  readonly admin: ApiClient;
  readonly log: LogReader;
};

type TestService = Service & {
  /** Stops it as SIGTERM would. It stops by itself when the test ends. */
  stop(): Promise<void>;
};

export type ServiceInProcess = TestService & {
  readonly clock: () => number;
  /** Advances the service's clock, which also runs by itself. */
  advance(ms: number): void;
  /** Returns a new client like `admin`. Its token expires after an hour of the service's clock. */
  signIn(): Promise<ApiClient>;
  /** The service's use cases, for state that the API and the pages do not show. */
  readonly services: UntypedServices;
  /** The same service as an embedding program has it. */
  readonly sallyport: Sallyport;
};

/** How a process ended. */
type Exit = { readonly code: number | null; readonly signal: NodeJS.Signals | null };

export type ServiceProcess = TestService & {
  readonly exited: Promise<Exit>;
  /** Sends the signal. `exited` resolves once the process has ended. */
  kill(signal: NodeJS.Signals): void;
};

/** Starts the service in this process on a free port. It may send to this machine. */
export async function startService(t: TestContext, options: ServiceOptions = {}): Promise<ServiceInProcess> {
  const { now } = options;
  let ahead = 0;
  const clock = (): number => (now ?? Date.now()) + ahead;
  const { dataDir, credentials } = options.after ?? (await freshFolder(t, now === undefined ? undefined : clock));
  const log = createLogReader();
  const config = readConfig(environment(t, dataDir, options));
  const opened = await openSallyport(config, {
    log: createLog(config.logLevel, { write: log.take }),
    clock,
    ...(options.writerThread === true ? {} : { databaseThread: null }),
  });
  const { sallyport } = opened;
  const stop = once(() => sallyport.stop());
  cleanUp(t, stop);
  const { url } = await sallyport.start();
  isWholeService(t, url);
  const signIn = async (): Promise<ApiClient> => createClient(url, await tokenFor(url, credentials));
  const advance = (ms: number): void => {
    ahead += ms;
  };
  const services = readingServices(opened.services);
  const admin = await signIn();
  return { url, dataDir, credentials, admin, log, clock, advance, signIn, services, sallyport, stop };
}

let firstStarted: Promise<Pick<Service, 'dataDir' | 'credentials'>> | null = null;

/** The URLs of the PostgreSQL databases, by the data folders that hold their master keys. */
const databaseUrls = new Map<string, string>();

/** The URL of the database whose master key is in this folder; null on SQLite. */
export function databaseUrlOf(dataDir: string): string | null {
  return databaseUrls.get(dataDir) ?? null;
}

/** The database of a service, as another process opens it. */
export async function openBeside(t: TestContext, { dataDir }: Pick<Service, 'dataDir'>): Promise<Database> {
  const url = databaseUrlOf(dataDir);
  const database =
    url === null
      ? openSqlite(join(dataDir, DATABASE_FILE))
      : await openPostgres({ connection: { connectionString: url } });
  cleanUp(t, () => database.close());
  return database;
}

/** Changes the database of a service by one statement, as another process may. */
export async function changeBeside(
  t: TestContext,
  service: Pick<Service, 'dataDir'>,
  sql: string,
  params: SqlParameters = {},
): Promise<void> {
  await (await openBeside(t, service)).commit([{ sql, params }]);
}

/** The folder of a service that started once and stopped, for `after`: a first start in another process hashes a password at full cost. */
export function startedFolder(t: TestContext): Promise<Pick<Service, 'dataDir' | 'credentials'>> {
  return freshFolder(t);
}

/** Copies a data folder after its first start, which takes a third of a second and happens once per process, or once for each `clock`. */
async function freshFolder(t: TestContext, clock?: () => number): Promise<Pick<Service, 'dataDir' | 'credentials'>> {
  const started = clock === undefined ? (firstStarted ?? makeFirstStart()) : makeFirstStart(clock);
  if (clock === undefined) firstStarted = started;
  const { dataDir: original, credentials } = await started;
  const dataDir = join(temporaryFolder(t), 'data');
  cpSync(original, dataDir, { recursive: true });
  const template = databaseUrlOf(original);
  if (template !== null) {
    const name = template.split('/').at(-1) ?? '';
    // No other test starts from the template with a clock.
    databaseUrls.set(dataDir, clock === undefined ? await emptiedDatabase(t, name) : await newDatabase(t, name));
  }
  return { dataDir, credentials: { ...credentials, dataDir } };
}

/** An empty folder and, on PostgreSQL, an empty database. */
async function emptyFolder(t: TestContext): Promise<string> {
  const dataDir = temporaryFolder(t);
  if (onPostgres) databaseUrls.set(dataDir, await newDatabase(t));
  return dataDir;
}

async function makeFirstStart(clock?: () => number): Promise<Pick<Service, 'dataDir' | 'credentials'>> {
  const dataDir = mkdtempSync(join(tmpdir(), 'sallyport-test-'));
  process.once('exit', () => rmSync(dataDir, { recursive: true, force: true }));
  if (onPostgres) databaseUrls.set(dataDir, await createDatabase());
  // Not through a pooler, whose connections stay open: only a database that nobody uses can be copied.
  const url = databaseUrlOf(dataDir);
  const config = readConfig({ SALLYPORT_DATA: dataDir, ...(url === null ? {} : { SALLYPORT_DATABASE_URL: url }) });
  const { sallyport } = await openSallyport(config, {
    log: createLog('silent'),
    databaseThread: null,
    ...(clock && { clock }),
  });
  const credentials = sallyport.firstCredentials;
  assert.ok(credentials);
  await sallyport.credentialsShown();
  await sallyport.stop();
  return { dataDir, credentials };
}

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

/** Starts `sallyport serve` in a separate process, which is killed when the test ends. */
export async function spawnService(t: TestContext, options: ServiceOptions = {}): Promise<ServiceProcess> {
  const dataDir = options.after?.dataDir ?? (await emptyFolder(t));
  const command = [process.execPath, '--disable-warning=ExperimentalWarning', MAIN, 'serve', '--json'];
  const [program = '', ...args] = [...(options.through ?? []), ...command];
  const child = spawn(program, args, {
    env: { ...baseEnvironment(), ...environment(t, dataDir, options) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const log = createLogReader();
  child.stderr.setEncoding('utf8').on('data', log.take);
  const exited = new Promise<Exit>((resolve) => child.once('close', (code, signal) => resolve({ code, signal })));
  cleanUp(t, async () => {
    child.kill('SIGKILL');
    await exited;
  });
  const announced = await firstLine(child, exited, log);
  const { url, clientId } = JSON.parse(announced) as { url: string; clientId?: string };
  const credentials = clientId === undefined ? options.after?.credentials : (JSON.parse(announced) as FirstCredentials);
  assert.ok(credentials, 'a data folder that is not new needs its credentials');
  isWholeService(t, url);
  const admin = createClient(url, await tokenFor(url, credentials));
  const kill = (signal: NodeJS.Signals): void => void child.kill(signal);
  const stop = once(async () => {
    kill('SIGTERM');
    assert.deepEqual(await exited, { code: 0, signal: null }, log.text());
  });
  return { url, dataDir, credentials, admin, log, exited, kill, stop };
}

function environment(t: TestContext, dataDir: string, options: ServiceOptions): Record<string, string> {
  const { ca, logLevel = 'debug', env = {} } = options;
  return {
    SALLYPORT_DATA: dataDir,
    ...databaseEnvironment(dataDir),
    SALLYPORT_PORT: '0',
    SALLYPORT_EGRESS_ALLOW: '127.0.0.0/8,::1',
    SALLYPORT_CUSTOMER_EGRESS_ALLOW: '127.0.0.0/8,::1',
    SALLYPORT_LOG_LEVEL: logLevel,
    ...(ca === undefined ? {} : { SALLYPORT_CA_FILE: writeCaFile(t, ca) }),
    ...env,
  };
}

/** The settings of the database of a data folder. */
function databaseEnvironment(dataDir: string): Readonly<Record<string, string>> {
  const url = databaseUrlOf(dataDir);
  if (url === null) return {};
  const pooled = throughPooler(url);
  // Notifications come from the server itself, as the documentation has it.
  return { SALLYPORT_DATABASE_URL: pooled, ...(pooled === url ? {} : { SALLYPORT_DATABASE_LISTEN_URL: url }) };
}

export function writeCaFile(t: TestContext, ca: string): string {
  const path = join(temporaryFolder(t), 'ca.pem');
  writeFileSync(path, ca);
  return path;
}

/** Makes a folder that is removed when the test ends. */
export function temporaryFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'sallyport-test-'));
  cleanUp(t, () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function once(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | null = null;
  return () => {
    done ??= work();
    return done;
  };
}

/** Returns the first line on standard output. Rejects with the log if the process ends before. */
function firstLine(child: ChildProcess, exited: Promise<Exit>, log: LogReader): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = '';
    child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      const end = text.indexOf('\n');
      if (end >= 0) resolve(text.slice(0, end));
    });
    void exited.then(({ code, signal }) => reject(new Error(`serve ended (${signal ?? code}): ${log.text()}`)));
  });
}

/** A PostgreSQL server for tests, and one database for each test. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chownSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import pg from 'pg';
import { firstRowKeyAt } from '../../src/kernel/ids.ts';
import { openPostgres, type PostgresDatabase } from '../../src/store/postgres/driver/postgres.ts';
import { ensurePartitions, PARTITIONS_AHEAD_MS } from '../../src/store/postgres/partitions.ts';
import { cleanUp } from './cleanup.ts';
import { freePort } from './free-port.ts';

/** Debian keeps the programs of each version apart. */
const PROGRAMS = ['/usr/lib/postgresql/15/bin', '/usr/lib/postgresql/16/bin', '/usr/lib/postgresql/17/bin'];
const ROLE = 'sallyport';
const DAY_MS = 86_400_000;
/** A program of PostgreSQL, the start of a server, and a connection to it. One that stands still answers nothing. */
const PROGRAM_WITHIN_MS = 120_000;
const READY_WITHIN_MS = 120_000;
const CONNECTED_WITHIN_MS = 5000;

export type Cluster = {
  readonly host: string;
  readonly port: number;
  /** The URL of a database with the role that owns everything. */
  url(database: string): string;
  stop(): void;
  /** Ends the server without a checkpoint, as a crash does, and starts it again. */
  crash(): Promise<void>;
  /** Ends the server without a checkpoint. `start` starts it again. */
  kill(): Promise<void>;
  start(): Promise<void>;
  /** Starts a server that follows this one, through another port if one is given. */
  addStandby(throughPort?: number): Promise<Cluster>;
  /** Stops its processes (SIGSTOP) without closing a connection. */
  freeze(): void;
  thaw(): void;
  /** Makes a standby the primary. */
  promote(): Promise<void>;
};

/** The folder of PostgreSQL's programs, or null. `TEST_POSTGRES_PROGRAMS` names those of another version. */
export function postgresPrograms(): string | null {
  const { TEST_POSTGRES_PROGRAMS: named } = process.env;
  const folders = named === undefined ? PROGRAMS : [named];
  return folders.find((folder) => existsSync(join(folder, 'initdb'))) ?? null;
}

/** Starts a server with an empty database cluster in a temporary folder, as another user if this one is root. */
export async function startCluster(
  settings: Readonly<Record<string, string>> = {},
  within: string = tmpdir(),
  programs: string | null = postgresPrograms(),
): Promise<Cluster> {
  if (programs === null) throw new Error('PostgreSQL is not installed: apt-get install postgresql-15');
  const { TEST_POSTGRES_INITIALIZED: initialized, TEST_POSTGRES_PROGRAMS: named } = process.env;
  const isSame = named === undefined && programs === postgresPrograms();
  const place =
    initialized !== undefined && isSame ? copied(initialized, within, programs) : initialize(within, programs);
  return runServer(place, { ...FAST, ...settings });
}

/**
 * Makes a folder with an empty cluster in `data`, which no server runs on. With its path in `TEST_POSTGRES_INITIALIZED` each new cluster is
 * a copy: that takes a tenth of the time of `initdb`.
 */
export function initialize(within: string, programs: string): Place {
  const place = newPlace(within, programs);
  const { user, folder } = place;
  const made = spawnSync(
    join(programs, 'initdb'),
    ['-D', join(folder, 'data'), '-U', ROLE, '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8', '--no-sync'],
    { ...user, cwd: folder, encoding: 'utf8' },
  );
  if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr}`);
  return place;
}

function copied(initialized: string, within: string, programs: string): Place {
  const place = newPlace(within, programs);
  const { user, folder } = place;
  const done = spawnSync('cp', ['-Rp', join(initialized, 'data'), folder], { ...user, cwd: folder, encoding: 'utf8' });
  if (done.status !== 0) throw new Error(`the cluster could not be copied: ${done.stderr}`);
  return place;
}

function newPlace(within: string, programs: string): Place {
  const folder = mkdtempSync(join(within, 'sallyport-postgres-'));
  const user = serverUser();
  if (user !== null) chownSync(folder, user.uid, user.gid);
  return { programs, user, folder };
}

/** For tests: nothing outlasts a crash of the machine. */
const FAST: Readonly<Record<string, string>> = {
  listen_addresses: '127.0.0.1',
  fsync: 'off',
  max_prepared_transactions: '4',
  synchronous_commit: 'off',
  full_page_writes: 'off',
  max_connections: '300',
  // A standby that lost its primary tries again after 5 s by default, half of what a writer waits.
  wal_retrieve_retry_interval: '100ms',
};

type Place = {
  readonly programs: string;
  /** Null: the user of this process. */
  readonly user: { readonly uid: number; readonly gid: number } | null;
  /** Holds the cluster in `data`. */
  readonly folder: string;
};

/** Runs the server of an existing cluster. */
async function runServer(place: Place, settings: Readonly<Record<string, string>>): Promise<Cluster> {
  const { programs, user, folder } = place;
  const data = join(folder, 'data');
  const port = await freePort();
  const all = { ...settings, port: String(port), unix_socket_directories: folder };
  const options = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const url = (database: string): string => `postgres://${ROLE}@127.0.0.1:${port}/${database}`;
  const start = async (): Promise<void> => {
    const server = spawn(join(programs, 'postgres'), ['-D', data, ...options], {
      ...user,
      cwd: folder,
      stdio: 'ignore',
    });
    // The process may end while the server runs.
    server.unref();
    server.once('error', () => undefined);
    await untilReady(url('postgres'), server);
  };
  const stop = (): void => {
    const args = ['stop', '-D', data, '-m', 'immediate', '-w'];
    spawnSync(join(programs, 'pg_ctl'), args, {
      ...user,
      cwd: folder,
      timeout: PROGRAM_WITHIN_MS,
      killSignal: 'SIGKILL',
    });
    rmSync(folder, { recursive: true, force: true });
  };
  const run = (program: string, ...args: string[]): Promise<void> =>
    new Promise((resolve, reject) => {
      const child = spawn(join(programs, program), args, {
        ...user,
        cwd: folder,
        stdio: 'ignore',
        timeout: PROGRAM_WITHIN_MS,
        killSignal: 'SIGKILL',
      });
      child.once('error', reject);
      child.once('exit', (code, signal) =>
        code === 0 ? resolve() : reject(new Error(`${program} ${args.join(' ')} ended with ${code ?? signal}`)),
      );
    });
  const control = (...args: string[]): Promise<void> => run('pg_ctl', '-D', data, '-w', '-s', ...args);
  const addStandby = async (throughPort = port): Promise<Cluster> => {
    // Beside it: the path of a socket has at most 107 bytes.
    const other = mkdtempSync(join(dirname(folder), 'sallyport-postgres-'));
    if (user !== null) chownSync(other, user.uid, user.gid);
    await run(
      'pg_basebackup',
      '-D',
      join(other, 'data'),
      '-d',
      url('postgres').replace(`:${port}/`, `:${throughPort}/`),
      '-R',
      '-X',
      'stream',
      '-c',
      'fast',
      '-N',
    );
    return runServer({ ...place, folder: other }, settings);
  };
  const signal = (name: NodeJS.Signals): void => {
    const [postmaster = ''] = readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n');
    const children = readFileSync(`/proc/${postmaster}/task/${postmaster}/children`, 'utf8').split(' ');
    for (const pid of [postmaster, ...children]) if (pid !== '') process.kill(Number(pid), name);
  };
  await start();
  return {
    host: '127.0.0.1',
    port,
    url,
    stop,
    start,
    addStandby,
    freeze: () => signal('SIGSTOP'),
    thaw: () => signal('SIGCONT'),
    crash: () => control('restart', '-m', 'immediate', '-l', join(folder, 'log')),
    kill: () => control('stop', '-m', 'immediate'),
    promote: () => control('promote'),
  };
}

/** The user who runs the server: it refuses to run as root. Null: the user of this process. */
export function serverUser(): Place['user'] {
  return process.getuid?.() === 0 ? userNamed('postgres') : null;
}

function userNamed(name: string): { uid: number; gid: number } {
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((one) => one.startsWith(`${name}:`));
  const [, , uid, gid] = (line ?? '').split(':');
  if (uid === undefined) throw new Error(`${userInfo().username} cannot run PostgreSQL, and there is no user ${name}`);
  return { uid: Number(uid), gid: Number(gid) };
}

async function untilReady(url: string, server: ChildProcess): Promise<void> {
  const giveUpAt = performance.now() + READY_WITHIN_MS;
  for (;;) {
    if (server.pid === undefined) throw new Error('the server could not be started');
    const how = server.exitCode ?? server.signalCode;
    if (how !== null) throw new Error(`the server ended with ${how}`);
    if (performance.now() > giveUpAt)
      throw new Error(`the server takes no connection within ${READY_WITHIN_MS / 1000} s`);
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: CONNECTED_WITHIN_MS });
    // The server may end right after it took the connection.
    client.on('error', () => undefined);
    try {
      await client.connect();
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 20));
    } finally {
      await client.end().catch(() => undefined);
    }
  }
}

/** The same database through the PgBouncer of this run (`TEST_POOLER`), if it has one. */
export function throughPooler(url: string): string {
  const pooler = process.env.TEST_POOLER;
  return pooler === undefined ? url : `${pooler}/${url.split('/').at(-1)}`;
}

/** The URL of the run's server (`TEST_POSTGRES`), or a server for this process. */
let shared: Promise<(database: string) => string> | null = null;

function server(): Promise<(database: string) => string> {
  shared ??= findServer();
  return shared;
}

async function findServer(): Promise<(database: string) => string> {
  const given = process.env.TEST_POSTGRES;
  if (given !== undefined) return (database) => `${given}/${database}`;
  const cluster = await startCluster();
  process.once('exit', cluster.stop);
  return cluster.url;
}

async function administer(sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: (await server())('postgres') });
  await client.connect();
  await client.query(sql).finally(() => client.end());
}

/** The URL of a new database, which is dropped when the test ends. It is empty, or a copy of another one that nobody uses now. */
export async function newDatabase(t: TestContext, template?: string): Promise<string> {
  const url = await createDatabase(template);
  cleanUp(t, () => dropDatabase(url));
  return url;
}

export function dropDatabase(url: string): Promise<void> {
  return administer(`DROP DATABASE IF EXISTS ${url.split('/').at(-1)} WITH (FORCE)`);
}

/** Opens a database until the test ends. */
export async function openAt(t: TestContext, url: string): Promise<PostgresDatabase> {
  const database = await openPostgres({ connection: { connectionString: url } });
  cleanUp(t, () => database.close());
  return database;
}

/** A connection of its own until the test ends, for a transaction that stays open. */
export async function openClient(t: TestContext, url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  cleanUp(t, () => client.end());
  return client;
}

/** The URL of a new database that lasts as long as the server. */
export async function createDatabase(template = 'template0'): Promise<string> {
  const name = `test_${randomUUID().replaceAll('-', '')}`;
  // Copying files takes a sixth less time than logging each page.
  await administer(`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY FILE_COPY`);
  return (await server())(name);
}

const POSTGRES_SCHEMA: string = readFileSync(new URL('../../src/store/postgres/schema.sql', import.meta.url), 'utf8');

/** The content of a template besides the schema. */
export type Fill = (database: PostgresDatabase, now: number) => Promise<void>;

/** The schema alone. */
export const withNothing: Fill = async () => {};

/** A database with the schema and partitions from `now` on, of which each test gets a copy. By its content and the time. */
const templates = new Map<Fill, Map<number, Promise<string>>>();

export function templateOf(now: number, fill: Fill): Promise<string> {
  const byTime = templates.get(fill) ?? new Map<number, Promise<string>>();
  templates.set(fill, byTime);
  const template = byTime.get(now) ?? makeTemplate(now, fill);
  byTime.set(now, template);
  return template;
}

const PARTITIONED = ['access_token', 'event', 'outbox', 'attempt'];

async function makeTemplate(now: number, fill: Fill): Promise<string> {
  const name = `template_${randomUUID().replaceAll('-', '')}`;
  await administer(`CREATE DATABASE ${name} TEMPLATE template0`);
  const database = await openPostgres({ connection: { connectionString: (await server())(name) } });
  await database.run(POSTGRES_SCHEMA);
  await ensurePartitions(database, { now, aheadMs: PARTITIONS_AHEAD_MS });
  // For the tests that let more time pass.
  for (const table of PARTITIONED) {
    const spanMs = (table === 'access_token' ? 1 : 7) * DAY_MS;
    const from = firstRowKeyAt((Math.floor((now + PARTITIONS_AHEAD_MS) / spanMs) + 1) * spanMs);
    await database.run(`CREATE TABLE ${table}_p99999999 PARTITION OF ${table} FOR VALUES FROM (${from}) TO (MAXVALUE)`);
  }
  await fill(database, now);
  await database.close();
  return name;
}

/** For a test that makes partitions of its own, after letting time pass. */
export async function dropLastPartitions({ run }: Pick<PostgresDatabase, 'run'>): Promise<void> {
  for (const table of PARTITIONED) await run(`DROP TABLE ${table}_p99999999`);
}

/** Opens a new database that holds the schema and what `fill` wrote, with partitions as a new installation has them at `now`. */
export async function openTestPostgres(
  t: TestContext,
  now: number,
  fill: Fill = withNothing,
): Promise<{ readonly url: string; readonly database: PostgresDatabase }> {
  const url = await newDatabase(t, await templateOf(now, fill));
  return { url, database: await openAt(t, throughPooler(url)) };
}

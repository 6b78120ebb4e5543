/** Databases that cannot be used. Every command says in one sentence what to do, exits with 1, and changes nothing. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import pg from 'pg';
import { MOVE_SETTING } from '../../src/data/move.ts';
import { sallyport, sallyportJson, unusedFolder } from '../support/command.ts';
import { freePort } from '../support/free-port.ts';
import { type Cluster, serverUser, startCluster } from '../support/postgres.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';

/** The owner comes in without a password, and `secured` with one. */
const ACCESS = `host all secured 127.0.0.1/32 scram-sha-256
host all all 127.0.0.1/32 trust
host replication all 127.0.0.1/32 trust
`;
const COMMANDS: readonly (readonly string[])[] = [
  ['serve', '--port', '0'],
  ['init'],
  ['migrate'],
  ['user', 'create', '--user-name', 'jane'],
  ['instances'],
];

/** A database that cannot be used, as the settings name it. `dataDir` has the master key, or does not exist. */
type Unusable = {
  readonly url: string;
  readonly dataDir: string;
  /** The database whose contents must stay, or null without one. */
  readonly database: string | null;
  /** The commands that refuse it; by default all. */
  readonly refusing?: readonly string[];
};

describe('a database that cannot be used', () => {
  let cluster: Cluster;
  let standby: Cluster;
  let folder: string;
  /** A database in which `sallyport init` has run, and the folder with its master key. */
  let original: { readonly database: string; readonly dataDir: string };
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'postgres-refusals-'));
    const access = join(folder, 'pg_hba.conf');
    writeFileSync(access, ACCESS);
    const user = serverUser();
    chmodSync(folder, 0o755);
    if (user !== null) chownSync(access, user.uid, user.gid);
    cluster = await startCluster({ hba_file: access });
    await query('postgres', "CREATE ROLE secured LOGIN PASSWORD 'badgers'; CREATE ROLE stranger LOGIN");
    original = { database: await newDatabase(), dataDir: join(folder, 'original') };
    await sallyportJson(['init'], {
      env: { SALLYPORT_DATA: original.dataDir, SALLYPORT_DATABASE_URL: urlOf(original.database) },
    });
    standby = await cluster.addStandby();
  });
  after(() => {
    standby.stop();
    cluster.stop();
    rmSync(folder, { recursive: true });
  });

  type Query = (sql: string) => Promise<Record<string, unknown>[]>;
  const connected = async <T>(database: string, work: (query: Query) => Promise<T>): Promise<T> => {
    const client = new pg.Client({ connectionString: cluster.url(database) });
    await client.connect();
    try {
      return await work(async (sql) => (await client.query(sql)).rows ?? []);
    } finally {
      await client.end();
    }
  };
  const query = (database: string, sql: string): Promise<Record<string, unknown>[]> =>
    connected(database, (run) => run(sql));
  const newDatabase = async (template = 'template0'): Promise<string> => {
    const name = `d${randomUUID().replaceAll('-', '')}`;
    await query('postgres', `CREATE DATABASE ${name} TEMPLATE ${template}`);
    return name;
  };
  const urlOf = (database: string, { role = 'sallyport', port = cluster.port, rest = '' } = {}): string =>
    `postgres://${role}@127.0.0.1:${port}/${database}${rest}`;
  /** A copy of the original, which `sql` changes. */
  const changed = async (t: TestContext, sql: string): Promise<Unusable & { readonly database: string }> => {
    const [database, dataDir] = [await newDatabase(original.database), unusedFolder(t)];
    cpSync(original.dataDir, dataDir, { recursive: true });
    await query(database, sql);
    return { database, dataDir, url: urlOf(database) };
  };
  const empty = async (t: TestContext, how: Parameters<typeof urlOf>[1] = {}): Promise<Unusable> => {
    const database = await newDatabase();
    return { database, url: urlOf(database, how), dataDir: unusedFolder(t) };
  };
  /** Says that the server is of an older version. */
  const older = async (t: TestContext): Promise<number> => {
    const [row] = await query('postgres', "SELECT current_setting('server_version_num') AS number");
    const number = String(row?.number);
    const change = (chunk: Buffer): Buffer =>
      Buffer.from(chunk.toString('latin1').replace(number, `14${number.slice(2)}`), 'latin1');
    return (await startTcpProxy(t, cluster, change)).port;
  };

  const CASES: readonly (readonly [what: string, make: (t: TestContext) => Promise<Unusable>, message: RegExp])[] = [
    [
      'an unreachable one',
      async (t) => ({ ...(await empty(t, { port: await freePort() })), database: null }),
      /cannot be reached \(connect ECONNREFUSED [^)]*\): check that PostgreSQL runs there and accepts connections/,
    ],
    [
      'one that does not exist',
      async (t) => ({ url: urlOf('nowhere'), dataDir: unusedFolder(t), database: null }),
      /database "nowhere" does not exist: create it with createdb, or correct its name in the URL$/,
    ],
    [
      'one of a server that is too old',
      async (t) => empty(t, { port: await older(t) }),
      /it is PostgreSQL [^:]*, and Sallyport needs 15 or newer: upgrade the server$/,
    ],
    [
      'one that is read-only',
      async (t) => {
        const one = await empty(t);
        await query('postgres', `ALTER DATABASE ${one.database} SET default_transaction_read_only = on`);
        return one;
      },
      /it is read-only: check default_transaction_read_only of the database and of the role/,
    ],
    [
      'one with tables of another program',
      async (t) => {
        const one = await empty(t);
        await query(String(one.database), "CREATE TABLE setting (name text); INSERT INTO setting VALUES ('theirs')");
        return one;
      },
      /it has tables of another program: create an empty database for Sallyport, or a schema of its own/,
    ],
    [
      'one with an unfinished move',
      async (t) => {
        const one = await changed(t, `INSERT INTO setting (name, value) VALUES ('${MOVE_SETTING}', '{}')`);
        return { ...one, refusing: ['serve', 'init', 'user', 'instances'] };
      },
      /it holds an unfinished move: run the same sallyport move again, which goes on, or drop the database/,
    ],
    [
      'one that a newer version migrated and that this one no longer fits',
      (t) => changed(t, 'INSERT INTO schema_change VALUES (9, 9, 1)'),
      /its schema is version 9, which Sallyport [\d.]+ is too old for: run the newer Sallyport that migrated it$/,
    ],
    [
      'one that lacks a table, for example after a restore that was broken off',
      (t) => changed(t, 'DROP TABLE attempt CASCADE; DROP TABLE kept_reply'),
      /it lacks 2 of its tables \(attempt, kept_reply\): restore the whole backup into an empty database$/,
    ],
    [
      'one with a wrong password',
      async (t) => empty(t, { role: 'secured:hunter2' }),
      /password authentication failed for user "secured": correct the password in the URL, or in the file that PGPASSFILE/,
    ],
    [
      'one with another master key',
      async (t) => {
        const one = await changed(t, 'SELECT 1');
        writeFileSync(join(one.dataDir, 'master.key'), `${Buffer.alloc(32, 9).toString('base64')}\n`);
        return { ...one, refusing: ['serve', 'init', 'user', 'instances'] };
      },
      /the master key is not the one that this database was made with, .*: copy the master key of the other instances/,
    ],
    [
      'one in which the role may make nothing',
      async (t) => ({ ...(await empty(t, { role: 'stranger' })), refusing: ['init', 'migrate'] }),
      /the role stranger may not create tables in it: GRANT USAGE, CREATE ON SCHEMA public TO stranger$/,
    ],
    [
      'one whose tables the role may not read',
      async (t) => {
        const one = await changed(t, 'SELECT 1');
        return { ...one, url: urlOf(one.database, { role: 'stranger' }) };
      },
      /permission denied for table \w+: the role must own the tables, or have all privileges on them$/,
    ],
    [
      'one to which the role may not connect',
      async (t) => {
        const one = await empty(t, { role: 'stranger' });
        await query('postgres', `REVOKE CONNECT ON DATABASE ${one.database} FROM PUBLIC`);
        return one;
      },
      /permission denied for database "\w+": GRANT CONNECT ON DATABASE/,
    ],
    [
      'the address of a replica',
      async (t) => ({
        ...(await empty(t)),
        url: urlOf('postgres', { port: standby.port }),
        database: null,
      }),
      /it is a standby, which cannot be written: name the primary, or all hosts, in the URL$/,
    ],
    [
      'the address of a replica that any server will do for',
      async (t) => ({
        ...(await empty(t)),
        url: urlOf('postgres', { port: standby.port, rest: '?target_session_attrs=any' }),
        database: null,
      }),
      /it is a standby, which cannot be written: name the primary, or all hosts, in the URL$/,
    ],
  ];

  for (const [what, make, message] of CASES) {
    it(`is refused with one sentence that says what to do, and nothing is changed: ${what}`, async (t) => {
      const { url, dataDir, database, refusing } = await make(t);
      const contents = (): Promise<unknown> => (database === null ? Promise.resolve(null) : contentsOf(database));
      const before = await contents();
      const key = readIfExists(join(dataDir, 'master.key'));
      for (const command of COMMANDS.filter(([name = '']) => refusing?.includes(name) ?? true)) {
        const env = { SALLYPORT_DATA: dataDir, SALLYPORT_DATABASE_URL: url, SALLYPORT_LOG_LEVEL: 'silent' };
        const { status, stdout, stderr } = await sallyport(command, { env });
        assert.deepEqual([status, stdout], [1, ''], `${command.join(' ')}: ${stderr}`);
        assert.match(stderr.trimEnd(), message, command.join(' '));
        assert.match(stderr, /^sallyport: [^\n]+\n$/);
        assert.doesNotMatch(stderr, /hunter2|badgers|internal error|errorId/);
      }
      assert.deepEqual(await contents(), before);
      assert.equal(readIfExists(join(dataDir, 'master.key')), key);
      if (key === null) assert.equal(existsSync(dataDir), false);
      else assert.deepEqual(readdirSync(dataDir), ['master.key']);
    });
  }

  /** Every relation, and every row of every table. */
  function contentsOf(database: string): Promise<unknown> {
    return connected(database, async (run) => {
      const relations = await run(
        "SELECT oid::regclass::text AS name, relkind FROM pg_class WHERE relnamespace = 'public'::regnamespace ORDER BY 1",
      );
      const rows: unknown[] = [];
      for (const { name, relkind } of relations) {
        if (relkind === 'r') rows.push([name, await run(`SELECT * FROM ${String(name)} ORDER BY 1`)]);
      }
      return [relations, rows];
    });
  }
});

function readIfExists(path: string): string | null {
  return existsSync(path) ? readFileSync(path, 'utf8') : null;
}

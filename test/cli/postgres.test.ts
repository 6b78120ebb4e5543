import assert from 'node:assert/strict';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { FirstCredentials } from '../../src/data/data.ts';
import { openPostgres } from '../../src/store/postgres/driver/postgres.ts';
import { SCHEMA_VERSION } from '../../src/store/postgres/schema.ts';
import { cleanUp } from '../support/cleanup.ts';
import {
  CHEAP_PASSWORD,
  type CommandResult,
  sallyport,
  sallyportJson,
  sallyportProcess,
  serve,
  unusedFolder,
} from '../support/command.ts';
import { createDatabase, newDatabase } from '../support/postgres.ts';
import { startService } from '../support/service.ts';

type Database = { readonly dataDir: string; readonly env: Readonly<Record<string, string>>; readonly url: string };

/** A new, empty database and an unused folder for its master key. */
async function emptyDatabase(t: TestContext): Promise<Database> {
  const [dataDir, url] = [unusedFolder(t), await newDatabase(t)];
  return { dataDir, url, env: { SALLYPORT_DATA: dataDir, SALLYPORT_DATABASE_URL: url } };
}

type Original = { readonly url: string; readonly credentials: FirstCredentials };

let original: Promise<Original> | null = null;

async function makeOriginal(): Promise<Original> {
  const parent = mkdtempSync(join(tmpdir(), 'command-'));
  process.once('exit', () => rmSync(parent, { recursive: true, force: true }));
  const url = await createDatabase();
  const env = { SALLYPORT_DATA: join(parent, 'data'), SALLYPORT_DATABASE_URL: url };
  return { url, credentials: await sallyportJson<FirstCredentials>(['init'], { env }) };
}

/** Copies a database and its folder in which `sallyport init` ran once: that makes a schema, which takes the server half a second. */
async function initialised(t: TestContext): Promise<Database & { readonly credentials: FirstCredentials }> {
  original ??= makeOriginal();
  const { url: template, credentials } = await original;
  const [dataDir, url] = [unusedFolder(t), await newDatabase(t, template.split('/').at(-1))];
  mkdirSync(dataDir, { mode: 0o700 });
  copyFileSync(join(credentials.dataDir, 'master.key'), join(dataDir, 'master.key'));
  return { dataDir, url, credentials, env: { SALLYPORT_DATA: dataDir, SALLYPORT_DATABASE_URL: url } };
}

/** The settings of another instance, with a copy of the master key. */
function otherInstance(t: TestContext, { dataDir, url, env }: Database): Database {
  const other = unusedFolder(t);
  mkdirSync(other, { mode: 0o700 });
  copyFileSync(join(dataDir, 'master.key'), join(other, 'master.key'));
  return { dataDir: other, url, env: { ...env, SALLYPORT_DATA: other } };
}

function failed({ status, stdout, stderr }: CommandResult, expected: RegExp): void {
  assert.equal(status, 1, stderr);
  assert.equal(stdout, '');
  assert.match(stderr, expected);
  assert.equal(stderr.trim().split('\n').length, 1, stderr);
  assert.doesNotMatch(stderr, /hunter2|internal error/);
}

describe('commands on PostgreSQL', () => {
  it('init shows the credentials once, and says where the data and the master key are', async (t) => {
    const { dataDir, env, url } = await emptyDatabase(t);
    const { status, stdout } = await sallyport(['init'], { env });
    assert.equal(status, 0);
    const place = url.replace(/^.*@/, '');
    assert.match(
      stdout,
      new RegExp(`The data is in the database ${place}\\. Every further instance needs a copy of the master`),
    );
    assert.deepEqual(readdirSync(dataDir), ['master.key']);
    failed(await sallyport(['init'], { env }), /is already initialised, and its credentials were shown then/);
  });

  it('change what another instance serves, with the same master key', async (t) => {
    const one = await initialised(t);
    const other = otherInstance(t, one);
    await sallyportJson(['user', 'create', '--user-name', 'jane'], one);
    assert.match((await sallyport(['user', 'list'], other)).stdout, /jane/);
    const { stdout } = await sallyport(['audit', 'verify'], { env: { SALLYPORT_DATABASE_URL: one.url } });
    assert.match(stdout, /The chain is intact/);
    // A wrong key.
    writeFileSync(join(other.dataDir, 'master.key'), `${Buffer.alloc(32, 9).toString('base64')}\n`);
    failed(
      await sallyport(['user', 'list'], other),
      /the master key is not the one .*: copy the master key of the other/,
    );
  });

  it('instances lists who serves, and forgets who stopped', async (t) => {
    const one = await initialised(t);
    const other = otherInstance(t, one);
    const services = await Promise.all(
      [one, other].map(({ dataDir, env }) =>
        startService(t, { after: { dataDir, credentials: one.credentials }, env }),
      ),
    );
    const { items } = await sallyportJson<{ items: Record<string, unknown>[] }>(['instances'], one);
    assert.deepEqual(
      items.map(({ alive }) => alive),
      [true, true],
    );
    assert.deepEqual(items.map(({ address }) => address).sort(), services.map(({ url }) => url).sort());
    assert.deepEqual(Object.keys(items[0] ?? {}).sort(), [
      'address',
      'alive',
      'duties',
      'expiresAt',
      'name',
      'number',
      'seenAt',
      'startedAt',
      'version',
      'webhooks',
    ]);
    assert.match(
      (await sallyport(['instances'], one)).stdout,
      /^name +number +address +version +alive +seen +webhooks +duties\n/,
    );
    failed(
      await sallyport(['rotate-master-key'], one),
      /stop all instances of .* first; still running: \d+ \(.+\), \d+ \(/,
    );
    await Promise.all(services.map(({ stop }) => stop()));
    assert.equal((await sallyport(['instances'], one)).stdout, 'None.\n');
    // Nothing was left beside the key: commands find the database by their settings.
    assert.deepEqual(readdirSync(other.dataDir), ['master.key']);
  });

  it('instances that start together on an empty database show the same credentials', async (t) => {
    const one = await emptyDatabase(t);
    mkdirSync(one.dataDir, { mode: 0o700 });
    writeFileSync(join(one.dataDir, 'master.key'), `${Buffer.alloc(32, 5).toString('base64')}\n`, { mode: 0o600 });
    const all = [one, otherInstance(t, one), otherInstance(t, one)];
    const services = await Promise.all(
      all.map(({ dataDir, env }) => serve(t, dataDir, { env: { ...env, ...CHEAP_PASSWORD } })),
    );
    const shown = services.flatMap(({ announcement }) =>
      announcement.clientId === undefined ? [] : [announcement as FirstCredentials],
    );
    assert(shown.length > 0);
    assert.equal(new Set(shown.map(({ clientSecret }) => clientSecret)).size, 1);
    const { items } = await sallyportJson<{ items: unknown[] }>(['user', 'list'], one);
    assert.equal(items.length, 1);
    for (const { end } of services) assert.deepEqual(await end('SIGTERM'), { status: 0, signal: null });
  });

  it('rotate-master-key encrypts everything again, and the other instances need the new key', async (t) => {
    const one = await initialised(t);
    const other = otherInstance(t, one);
    const { stdout } = await sallyport(['rotate-master-key'], one);
    assert.match(stdout, /Copy the new one to every other instance before you start it/);
    assert.match((await sallyport(['user', 'list'], one)).stdout, /admin/);
    failed(await sallyport(['user', 'list'], other), /the master key is not the one that this database was made with/);
  });

  it('migrate creates the schema of an empty database, and has nothing to do later', async (t) => {
    const { env, dataDir } = await emptyDatabase(t);
    assert.deepEqual(await sallyportJson(['migrate'], { env }), { from: null, to: SCHEMA_VERSION });
    assert.match(
      (await sallyport(['migrate'], { env })).stdout,
      new RegExp(`^The schema of .* is up to date: version ${SCHEMA_VERSION}\\.\n$`),
    );
    assert.equal(existsSync(dataDir), false);
    failed(
      await sallyport(['migrate']),
      /SALLYPORT_DATABASE_URL is not set: sallyport serve migrates an SQLite database/,
    );
  });

  it('leave backups to the database server', async (t) => {
    const { env, dataDir } = await initialised(t);
    const file = join(dataDir, 'backup.db');
    for (const command of ['backup', 'restore']) {
      failed(
        await sallyport([command, file], { env }),
        /works on an SQLite data folder.*pg_dump.*point-in-time.*docs\/how-to\//,
      );
    }
    assert.deepEqual(readdirSync(dataDir), ['master.key']);
  });

  it('say in one sentence why a database cannot be used, without the password', async (t) => {
    const dataDir = unusedFolder(t);
    const url = 'postgres://user:hunter2@127.0.0.1:1/edge';
    for (const command of [['init'], ['serve'], ['user', 'list'], ['audit', 'verify'], ['migrate'], ['instances']]) {
      const env = { SALLYPORT_DATA: dataDir, SALLYPORT_DATABASE_URL: url };
      failed(
        await sallyport(command, { env }),
        /^sallyport: SALLYPORT_DATABASE_URL: the database 127\.0\.0\.1:1\/edge cannot be used: it cannot be reached/,
      );
    }
    assert.equal(existsSync(dataDir), false);
  });
});

type Finding = { readonly check: string; readonly status: string; readonly detail: string };

async function findings(env: Readonly<Record<string, string>>): Promise<Readonly<Record<string, Finding>>> {
  const { checks } = JSON.parse((await sallyport(['doctor', '--json'], { env })).stdout) as { checks: Finding[] };
  return Object.fromEntries(checks.map((finding) => [finding.check, finding]));
}

describe('doctor on PostgreSQL', () => {
  it('checks the server, the schema and the contents', async (t) => {
    const { env, url } = await initialised(t);
    const db = await openPostgres({ connection: { connectionString: url } });
    cleanUp(t, () => db.close());
    const found = await findings(env);
    const fine = [
      'master key',
      'database',
      'schema',
      'privileges',
      'partitions',
      'connections',
      'pooler',
      'audit log',
      'clock',
      'secrets',
    ];
    for (const check of fine) assert.equal(found[check]?.status, 'ok', JSON.stringify(found[check]));
    assert.equal(found['data folder'], undefined);
    assert.match(
      found.replication?.detail ?? '',
      /no standby confirms commits .* the last acknowledged events, tokens and revocations are lost/,
    );
    // The server of the tests runs without fsync, and that of a whole run also without autovacuum.
    assert.match(found.commits?.detail ?? '', /fsync is off/);
    const [setting] = await db.all("SELECT current_setting('autovacuum') AS autovacuum", {});
    assert.equal(found.vacuum?.status, setting?.autovacuum === 'on' ? 'ok' : 'problem');
  });

  it('reports missing partitions', async (t) => {
    const { env, url } = await initialised(t);
    const db = await openPostgres({ connection: { connectionString: url } });
    cleanUp(t, () => db.close());
    const partitions = await db.all("SELECT relname FROM pg_class WHERE relname ~ '^event_p\\d' AND relkind = 'r'", {});
    for (const { relname } of partitions) await db.run(`DROP TABLE ${relname}`);
    const found = await findings(env);
    assert.deepEqual(
      [found.partitions?.status, found.partitions?.detail],
      ['problem', 'event cannot take new rows: start an instance, which makes partitions'],
    );
  });

  it('says why it cannot look, in one sentence', async (t) => {
    const empty = await emptyDatabase(t);
    assert.match(
      (await findings(empty.env)).schema?.detail ?? '',
      /there is no data in the database .* run sallyport init/,
    );
    const env = { ...empty.env, SALLYPORT_DATABASE_URL: 'postgres://a:hunter2@127.0.0.1:1/b' };
    const { status, stdout } = await sallyport(['doctor'], { env });
    assert.equal(status, 1);
    assert.match(stdout, /^problem {2}database: .*cannot be reached \(connect ECONNREFUSED/m);
    assert.doesNotMatch(stdout, /hunter2/);
  });
});

/** Lists the packages of PostgreSQL's client that the program has loaded when it exits. */
const LOADED = `
  process.once('exit', () => {
    const files = Object.keys(require.cache).filter((file) => /node_modules.(pg|pg-\\w+).lib/.test(file));
    require('node:fs').writeFileSync(process.env.LOADED_FILE, JSON.stringify(files));
  });`;

describe('the client of PostgreSQL', () => {
  it('is loaded only if a URL is given', async (t) => {
    const folder = unusedFolder(t);
    mkdirSync(folder, { recursive: true });
    const [preload, loaded] = [join(folder, 'preload.cjs'), join(folder, 'loaded.json')];
    writeFileSync(preload, LOADED);
    const hook = { NODE_OPTIONS: `--require ${preload} ${CHEAP_PASSWORD.NODE_OPTIONS}`, LOADED_FILE: loaded };
    const files = async (command: string, env: Readonly<Record<string, string>>): Promise<number> => {
      const { status, stderr } = await sallyportProcess([command, '--json'], { env: { ...env, ...hook } });
      assert.equal(status, 0, stderr);
      return (JSON.parse(readFileSync(loaded, 'utf8')) as unknown[]).length;
    };
    assert.equal(await files('init', { SALLYPORT_DATA: join(folder, 'data') }), 0);
    const { env } = await emptyDatabase(t);
    assert((await files('init', env)) > 0);
  });
});

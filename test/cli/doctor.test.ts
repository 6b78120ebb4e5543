import assert from 'node:assert/strict';
import { chmodSync, openSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import BetterSqlite3 from 'better-sqlite3';
import { fileShortage } from '../../src/cli/doctor/files.ts';
import { FIRST_START_FILE } from '../../src/data/data-folder.ts';
import { RESTORE_ADVICE } from '../../src/store/sqlite/damage.ts';
import { sallyport, unusedFolder } from '../support/command.ts';
import { type Folder, initialised } from '../support/command-folder.ts';
import { startService } from '../support/service.ts';
import { makeCertificates } from '../support/tls.ts';
import { pgpVector } from '../support/vectors.ts';

type Report = {
  readonly ok: boolean;
  readonly checks: readonly { readonly check: string; readonly status: string; readonly detail: string }[];
};

async function examine({ run }: Folder, args: readonly string[] = []): Promise<Report> {
  const { status, stdout, stderr } = await run(['doctor', '--json', ...args]);
  const report = JSON.parse(stdout) as Report;
  assert.equal(status, report.ok ? 0 : 1, stderr);
  assert.equal(report.ok, !report.checks.some((check) => check.status === 'problem'));
  return report;
}

/** All warnings and problems of the doctor. */
async function complaints(folder: Folder, args: readonly string[] = []): Promise<string[]> {
  const { checks } = await examine(folder, args);
  return checks
    .filter(({ status }) => status !== 'ok')
    .map(({ check, status, detail }) => `${status} ${check}: ${detail}`);
}

/** Changes the database directly. */
function tamper({ dataDir }: Folder, sql: string): void {
  const connection = new BetterSqlite3(join(dataDir, 'sallyport.db'));
  connection.exec(sql);
  connection.close();
}

test('a healthy folder passes every check, also next to a running server, and stays unchanged', async (t: TestContext) => {
  const folder = await initialised(t);
  const before = readFileSync(join(folder.dataDir, 'sallyport.db'));
  const { ok, checks } = await examine(folder);
  assert.equal(ok, true);
  assert.deepEqual(
    checks.map(({ check }) => check),
    [
      'data folder',
      'file owners',
      'file permissions',
      'master key',
      'disk space',
      'schema',
      'integrity',
      'foreign keys',
      'objects',
      'positions',
      'audit log',
      'clock',
      'secrets',
      'PGP keys',
      'client certificates',
    ],
  );
  assert.deepEqual(readFileSync(join(folder.dataDir, 'sallyport.db')), before);
  await startService(t, { after: folder });
  assert.deepEqual(await complaints(folder), []);
  const { status, stdout } = await folder.run(['doctor']);
  assert.equal(status, 0);
  assert.match(stdout, /^ok {7}data folder: /);
  const quiet = await folder.run(['doctor', '--quiet']);
  assert.deepEqual([quiet.status, quiet.stdout, quiet.stderr], [0, '', '']);
});

test('changed and removed audit entries are found', async (t) => {
  const folder = await initialised(t);
  tamper(folder, "UPDATE audit SET actor = 'user:nobody' WHERE number = 1");
  assert.deepEqual(await complaints(folder), [
    'problem audit log: entry 1, or the one before it, was changed or removed',
  ]);
  tamper(folder, 'DELETE FROM audit WHERE number = 1');
  assert.deepEqual(await complaints(folder), [
    'problem audit log: entry 2, or the one before it, was changed or removed',
  ]);
});

test('too open permissions are found, with the command that fixes them', async (t) => {
  const folder = await initialised(t);
  const { dataDir } = folder;
  const database = join(dataDir, 'sallyport.db');
  chmodSync(database, 0o640);
  assert.deepEqual(await complaints(folder), [
    `problem file permissions: other users can access ${database}; run: chmod 600 ${database}`,
  ]);
  chmodSync(database, 0o600);
  chmodSync(dataDir, 0o755);
  const reach = `other users can access the folder ${dataDir}`;
  assert.deepEqual(await complaints(folder), [
    `warning file permissions: ${reach} (mode 0755); run: chmod 700 ${dataDir}`,
  ]);
  chmodSync(dataDir, 0o730);
  assert.deepEqual(await complaints(folder), [
    `problem file permissions: ${reach} (mode 0730); run: chmod 700 ${dataDir}`,
  ]);
  const quiet = await folder.run(['doctor', '--quiet']);
  const line = `problem  file permissions: ${reach} (mode 0730); run: chmod 700 ${dataDir}\n`;
  assert.deepEqual([quiet.status, quiet.stdout], [1, line]);
  const { ok, checks } = await examine(folder, ['--quiet']);
  assert.deepEqual([ok, checks.map(({ check }) => check)], [false, ['file permissions']]);
});

test('an exposed, wrong or missing master key is found, and the other checks still run', async (t) => {
  const folder = await initialised(t);
  const path = join(folder.dataDir, 'master.key');
  const key = readFileSync(path);
  chmodSync(path, 0o644);
  const unread = 'problem secrets: they cannot be read without the master key';
  assert.deepEqual(await complaints(folder), [
    `problem master key: the master key ${path} is accessible to others (mode 0644); run: chmod 600 ${path}`,
    unread,
  ]);
  rmSync(path);
  assert.deepEqual(await complaints(folder), [`problem master key: there is no master key at ${path}`, unread]);
  writeFileSync(path, `${Buffer.alloc(32, 1).toString('base64')}\n`, { mode: 0o600 });
  assert.deepEqual(await complaints(folder), [
    'problem secrets: the master key is not the one that this database was made with',
  ]);
  writeFileSync(path, key);
  assert.deepEqual(await complaints(folder), []);
});

test('a secret that was moved to another row is found', async (t) => {
  const folder = await initialised(t);
  const { id } = await folder.json(['endpoint', 'create', '--name', 'x', '--url', 'https://a.example/']);
  tamper(folder, 'UPDATE endpoint SET api_key = secret');
  assert.deepEqual(await complaints(folder), [
    `problem secrets: endpoint.api_key:${id} was altered, or sealed with another master key`,
  ]);
});

test('a broken reference is found', async (t) => {
  const folder = await initialised(t);
  tamper(folder, 'PRAGMA foreign_keys = OFF; DELETE FROM user_account');
  assert(
    (await complaints(folder)).includes(
      'problem foreign keys: rows refer to missing rows: application to user_account',
    ),
  );
});

test('a missing index, trigger and column are found', async (t) => {
  const folder = await initialised(t);
  tamper(folder, 'DROP INDEX batch_due; DROP TRIGGER application_update; ALTER TABLE figure DROP COLUMN calls_refused');
  const [found = '', ...rest] = await complaints(folder);
  assert.match(found, /^problem objects: the schema lacks .*: restore a backup/);
  for (const name of ['index batch_due', 'trigger application_update', 'column figure.calls_refused'])
    assert.ok(found.includes(name), found);
  assert.deepEqual(rest, []);
});

test('a position that does not fit the records is found', async (t) => {
  const folder = await initialised(t);
  await folder.json(['webhook', 'create', '--name', 'Orders', '--mode', 'pull', '--event', 'webhook.*']);
  assert.deepEqual(await complaints(folder), []);
  tamper(folder, 'UPDATE webhook_position SET covered_offset = covered_offset + 1');
  assert.deepEqual(await complaints(folder), [
    'problem positions: the positions of Orders do not fit their records, which are lost or come from another ' +
      'backup: restore the whole backup',
  ]);
});

test('an empty database beside its master key is not taken for a first start', async (t) => {
  const folder = await initialised(t);
  const path = join(folder.dataDir, 'sallyport.db');
  truncateSync(path);
  for (const ending of ['-wal', '-shm']) rmSync(path + ending, { force: true });
  const found = await complaints(folder);
  assert.deepEqual(found, [
    `problem schema: the database ${path} is empty, but ${join(folder.dataDir, 'master.key')} shows that there ` +
      'was one: restore a backup with sallyport restore <backup> --force',
  ]);
  writeFileSync(join(folder.dataDir, FIRST_START_FILE), '', { mode: 0o600 });
  assert.match((await complaints(folder)).join(), /the first start was interrupted: run sallyport init/);
});

test('a file system that takes hardly any file is found', () => {
  const judged = (ffree: number, files = 1_000_000) => fileShortage({ files, ffree })?.status;
  assert.deepEqual(
    [judged(99), judged(9999), judged(10_000), judged(0, 0)],
    ['problem', 'warning', undefined, undefined],
  );
});

test('a damaged database file is found', async (t) => {
  const folder = await initialised(t);
  const path = join(folder.dataDir, 'sallyport.db');
  const { size } = statSync(path);
  writeSync(openSync(path, 'r+'), Buffer.alloc(8192, 0xff), 0, 8192, size - 8192);
  assert.match((await complaints(folder)).join('\n'), /^problem integrity: /);
  truncateSync(path, 100);
  assert.match((await complaints(folder)).join('\n'), /problem (database|schema|integrity): /);
  writeFileSync(path, 'no database at all'.repeat(100));
  assert.deepEqual(await complaints(folder), [
    `problem database: ${path} cannot be opened: file is not a database: ${RESTORE_ADVICE}`,
  ]);
});

test('a schema of another version is found, and the database is not checked further', async (t) => {
  const folder = await initialised(t);
  tamper(folder, 'PRAGMA user_version = 9');
  const [schema, ...rest] = await complaints(folder);
  assert.match(schema ?? '', /^problem schema: its schema is version 9/);
  assert.deepEqual(rest, []);
});

test('a clock behind the records is found', async (t) => {
  const folder = await initialised(t);
  tamper(
    folder,
    `INSERT INTO event (key, id, type, data, correlation_id, created_at)
    VALUES (${(Date.now() + 3_600_000) * 2048}, 'x', 'a.b', '{}', 'x', 0)`,
  );
  const [clock, ...rest] = await complaints(folder);
  assert.match(clock ?? '', /^problem clock: it is 3[56]\d\d s behind the newest record: correct it$/);
  assert.deepEqual(rest, []);
});

test('expired and expiring keys and certificates are found; those in use are a problem', async (t) => {
  const folder = await initialised(t);
  const { json } = folder;
  await json(['key', 'import', '-', '--name', 'payroll'], pgpVector('rsa4096'));
  const { client } = makeCertificates({ days: 10 });
  const fields = JSON.stringify({ clientCertificate: client });
  const endpoint = await json(['endpoint', 'create', '--name', 'x', '--url', 'https://a.example/', '--fields', fields]);
  const expire = (at: number): void => tamper(folder, `UPDATE pgp_key SET expires_at = ${at}`);
  const certificate = /^warning client certificates: the client certificate of endpoint x expires on \d{4}-\d\d-\d\d$/;

  expire(Date.now() + 40 * 86_400_000);
  const [only, ...none] = await complaints(folder);
  assert.match(only ?? '', certificate);
  assert.deepEqual(none, []);

  expire(Date.parse('2020-01-01T00:00:00Z'));
  const [unused] = await complaints(folder);
  assert.equal(unused, 'warning PGP keys: the key payroll expired on 2020-01-01; no webhook uses it');

  expire(Date.now() + 20 * 86_400_000);
  await json([
    'webhook',
    'create',
    '--name',
    'x',
    '--endpoint',
    endpoint.id,
    '--event',
    'employee.*',
    '--key',
    'payroll',
  ]);
  assert.match((await complaints(folder))[0] ?? '', /^warning PGP keys: the key payroll expires on /);
  expire(Date.parse('2020-01-01T00:00:00Z'));
  tamper(folder, 'UPDATE endpoint SET client_certificate_expires_at = 0');
  assert.deepEqual(await complaints(folder), [
    'problem PGP keys: the key payroll expired on 2020-01-01',
    'problem client certificates: the client certificate of endpoint x expired on 1970-01-01',
  ]);
});

test('the files of settings are read', async (t) => {
  const folder = await initialised(t);
  const { ca, server, client, expired } = makeCertificates();
  const write = (name: string, text: string): string => {
    const path = join(folder.dataDir, name);
    writeFileSync(path, text, { mode: 0o600 });
    return path;
  };
  const authorities = write('ca.pem', ca);
  const certificate = write('cert.pem', server.certificate);
  const tls = (cert: string, key: string): string[] => ['--tls-cert-file', cert, '--tls-key-file', key];
  const key = write('key.pem', server.privateKey);
  const good = await examine(folder, ['--ca-file', authorities, ...tls(certificate, key)]);
  assert.equal(good.checks.find(({ check }) => check === 'CA file')?.detail, `1 authority in ${authorities}`);

  const other = write('other.pem', client.privateKey);
  const ended = write('expired.pem', expired.certificate);
  const wrong: readonly [args: readonly string[], complaint: RegExp][] = [
    [['--ca-file', '/nowhere'], /^problem CA file: SALLYPORT_CA_FILE: \/nowhere cannot be read \(ENOENT\)$/],
    [['--ca-file', key], /^problem CA file: the CA file has no certificate/],
    [['--ca-file', ended], /^warning CA file: expired: CN=localhost$/],
    [tls(certificate, other), new RegExp(`^problem TLS certificate: ${other} is not the key of ${certificate}$`)],
    [tls(certificate, '/nowhere'), /^problem TLS certificate: SALLYPORT_TLS_KEY_FILE: \/nowhere cannot be read/],
    [
      tls(ended, write('expired.key', expired.privateKey)),
      new RegExp(`^problem TLS certificate: ${ended} expired on `),
    ],
  ];
  for (const [args, complaint] of wrong) {
    const [first, ...rest] = await complaints(folder, args);
    assert.match(first ?? '', complaint);
    assert.deepEqual(rest, []);
  }
});

test('an empty folder is a problem, and stays unchanged', async (t) => {
  const dataDir = unusedFolder(t);
  const { status, stdout } = await sallyport(['doctor', '--data', dataDir]);
  assert.equal(status, 1);
  assert.match(stdout, /^problem {2}data folder: \S+ does not exist: run sallyport init or sallyport serve$/m);
  assert.match(stdout, /^problem {2}master key: there is no master key/m);
  assert.match(stdout, /^problem {2}database: \S+ does not exist/m);
  assert.throws(() => statSync(dataDir), { code: 'ENOENT' });
});

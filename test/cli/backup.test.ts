import assert from 'node:assert/strict';
import {
  copyFileSync,
  existsSync,
  linkSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import BetterSqlite3 from 'better-sqlite3';
import { appendManifest, checkManifest } from '../../src/data/manifest.ts';
import { assertHealthy, beside, withKeyOf } from '../support/backup-folders.ts';
import { cleanUp } from '../support/cleanup.ts';
import { createClient, succeeded, tokenFor } from '../support/client.ts';
import { sallyport, sallyportProcess, serve } from '../support/command.ts';
import { creationOf, initialised, type Json, reachableReceiver } from '../support/command-folder.ts';
import { modeOf } from '../support/data-folder.ts';
import { startService } from '../support/service.ts';

type Backup = Json & { readonly file: string; readonly withMasterKey: boolean; readonly replaced: string | null };

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));

async function refused(args: readonly string[], says: RegExp): Promise<void> {
  const { status, stdout, stderr } = await sallyport(args);
  assert.equal(status, 1, stderr);
  assert.equal(stdout, '');
  assert.match(stderr, says);
  assert.doesNotMatch(stderr, /fault of the program/);
}

test('a backup during constant publishing is intact and contains everything acknowledged before', async (t) => {
  const folder = await initialised(t);
  const { json, dataDir } = folder;
  await json(['event-type', 'create', '--name', 'order.placed']);
  const endpoint = await json(['endpoint', 'create', '--name', 'x', '--url', 'https://a.example/']);
  await json(['webhook', 'create', '--name', 'x', '--endpoint', endpoint.id, '--event', 'order.*']);
  const { announcement } = await serve(t, dataDir);
  const admin = createClient(announcement.url, await tokenFor(announcement.url, folder.credentials));
  const acknowledged: string[] = [];
  let publishing = true;
  const publish = async (): Promise<void> => {
    while (publishing) {
      const body = { type: 'order.placed', data: { at: acknowledged.length } };
      const { events } = await succeeded<{ events: { id: string }[] }>(admin.post('events', body));
      acknowledged.push(...events.map(({ id }) => id));
      await pause(5);
    }
  };
  const publishers = [publish(), publish(), publish()];
  while (acknowledged.length < 50) await pause(5);

  const before = acknowledged.length;
  const file = beside(folder, 'backup.db');
  const { stdout } = await sallyportProcess(['backup', file, '--data', dataDir, '--json']);
  const backup = JSON.parse(stdout) as Backup;
  const after = acknowledged.length;
  publishing = false;
  await Promise.all(publishers);
  assert.ok(after > before, 'it went on publishing all the while');
  assert.equal(modeOf(file), '600');
  assert.equal(backup.withMasterKey, false);

  const restored = withKeyOf(folder, 'restored');
  const { replaced } = await json<Backup>(['restore', file, '--data', restored]);
  assert.equal(replaced, null);
  await assertHealthy(restored);
  const db = new BetterSqlite3(join(restored, 'sallyport.db'), { readonly: true });
  cleanUp(t, () => db.close());
  const events = new Set(db.prepare("SELECT id FROM event WHERE type = 'order.placed'").pluck().all());
  assert.equal(events.size, Number(backup.events));
  for (const id of acknowledged.slice(0, before)) assert.ok(events.has(id), id);
  const records = db.prepare('SELECT record_offset FROM outbox ORDER BY record_offset').pluck().all();
  const first = Number(records[0]);
  assert.deepEqual(
    records,
    [...events].map((_, at) => first + at),
    'each event with its one record, numbered without gaps',
  );
});

test('a delivery in progress during the backup is sent again after the restore', async (t) => {
  const { receiver, env } = await reachableReceiver(t);
  const folder = await initialised(t, env);
  const { json, dataDir } = folder;
  const served = await serve(t, dataDir, { env });
  const hook = receiver.endpoint('/hook');
  let answerAll = (): void => {};
  const answered = new Promise<void>((resolve) => {
    answerAll = resolve;
  });
  hook.answer(async () => {
    await answered;
    return { status: 204 };
  });
  const endpoint = await json(creationOf(hook));
  await json(['event-type', 'create', '--name', 'order.placed']);
  const webhook = await json(['webhook', 'create', '--name', 'x', '--endpoint', endpoint.id, '--event', 'order.*']);
  await json(['webhook', 'start', webhook.id]);
  await json(['event', 'publish', 'order.placed', '{}']);
  const [underWay] = (await hook.next()).records;

  const file = beside(folder, 'backup.db');
  await json(['backup', file]);
  await served.end('SIGKILL');
  answerAll();
  const restored = withKeyOf(folder, 'restored');
  await json(['restore', file, '--data', restored]);
  await serve(t, restored, { env });
  const [again] = (await hook.next()).records;
  assert.equal(again?.messageId, underWay?.messageId);
});

test('a backup contains the key only on request, says so, and never replaces a file without --force', async (t) => {
  const folder = await initialised(t);
  const { run, json, dataDir } = folder;
  const file = beside(folder, 'backup.db');
  const { status, stdout } = await run(['backup', file]);
  assert.equal(status, 0);
  assert.match(stdout, /\nwith master key +no\n/);
  assert.ok(
    stdout.includes(
      `The backup does not contain the master key. Keep a copy of ${join(dataDir, 'master.key')} elsewhere`,
    ),
  );
  const bytes = readFileSync(file);
  const key = Buffer.from(readFileSync(join(dataDir, 'master.key'), 'utf8'), 'base64');
  assert.equal(bytes.includes(key), false);

  await refused(['backup', file, '--data', dataDir], /backup\.db already exists: .* --force/);
  assert.deepEqual(readFileSync(file), bytes);
  const whole = await json<Backup>(['backup', file, '--force', '--with-master-key']);
  assert.equal(whole.withMasterKey, true);
  assert.equal(readFileSync(file).includes(key), true);

  const restored = beside(folder, 'elsewhere');
  await json(['restore', file, '--data', restored]);
  assert.equal(modeOf(join(restored, 'master.key')), '600');
  assert.deepEqual(readFileSync(join(restored, 'master.key')), readFileSync(join(dataDir, 'master.key')));
  await assertHealthy(restored);
  const [newest] = new BetterSqlite3(join(restored, 'sallyport.db'), { readonly: true })
    .prepare('SELECT action, actor FROM audit ORDER BY number DESC')
    .all();
  assert.deepEqual(newest, { action: 'database.restore', actor: 'command-line' });

  await refused(['backup', join(folder.dataDir, 'no', 'such.db'), '--data', dataDir], /was not written: .*ENOENT/);
  await refused(['backup', beside(folder, 'x.db'), '--data', beside(folder, 'nowhere')], /there is no data in .* yet/);
  const other = (await initialised(t)).dataDir;
  copyFileSync(join(other, 'master.key'), join(dataDir, 'master.key'));
  const wrongKey = ['backup', beside(folder, 'x.db'), '--with-master-key', '--data', dataDir];
  await refused(wrongKey, /is not the master key that the database was made with/);
  assert.equal(existsSync(beside(folder, 'x.db')), false);
});

test('a restore that would lose or mix data is refused, and changes nothing', async (t) => {
  const folder = await initialised(t);
  const { json, dataDir } = folder;
  const file = beside(folder, 'backup.db');
  await json(['backup', file]);
  const service = await startService(t, { after: folder });
  await refused(['restore', file, '--force', '--data', dataDir], /is in use: stop the server first/);
  await service.stop();
  const before = readFileSync(join(dataDir, 'sallyport.db'));
  await refused(['restore', file, '--data', dataDir], /already contains data: replace it with --force/);

  const empty = beside(folder, 'empty');
  await refused(
    ['restore', file, '--data', empty],
    /there is no master key at .*: put the master key .* --master-key-file/,
  );
  await refused(['restore', `${file}.not`, '--data', empty], /there is no file/);
  await refused(['restore', MAIN, '--data', empty], /main\.ts is not a valid backup: it has no manifest/);
  await refused(
    ['restore', MAIN, '--data', empty, '--without-manifest'],
    /main\.ts cannot be read: file is not a database/,
  );
  const key = ['--master-key-file', join((await initialised(t)).dataDir, 'master.key')];
  await refused(
    ['restore', file, '--data', empty, ...key],
    /the master key .* does not open .*backup\.db: put the master key/,
  );
  assert.equal(existsSync(empty), false);

  const tampered = beside(folder, 'tampered.db');
  copyFileSync(file, tampered);
  const db = new BetterSqlite3(tampered);
  db.exec("UPDATE audit SET actor = 'nobody' WHERE number = 1");
  db.close();
  const restoring = ['restore', tampered, '--force', '--data', dataDir];
  await refused(restoring, /is not a valid backup: its database is not the one that its manifest was written for/);
  await refused([...restoring, '--without-manifest'], /is not a valid backup: its database is not the one/);
  const checked = checkManifest(file);
  assert.ok(checked.ok);
  truncateSync(tampered, checked.manifest.databaseBytes);
  await refused(restoring, /is not a valid backup: it has no manifest.* --without-manifest/);
  await refused([...restoring, '--without-manifest'], /was not restored: its audit log is broken at entry 1/);
  assert.deepEqual(readdirSync(dataDir).sort(), ['master.key', 'sallyport.db', 'serve.lock']);
  assert.deepEqual(readFileSync(join(dataDir, 'sallyport.db')), before);
});

test('a backup never replaces the database or the master key, whatever name is given for it', async (t) => {
  const folder = await initialised(t);
  const { dataDir } = folder;
  const names = (): string[] => readdirSync(dataDir).filter((name) => !/-(?:wal|shm)$/.test(name));
  const contents = () => names().map((name) => [name, readFileSync(join(dataDir, name))]);
  const [database, key] = [join(dataDir, 'sallyport.db'), join(dataDir, 'master.key')];
  const [linked, hard, other] = ['linked.db', 'hard.db', 'other'].map((name) => beside(folder, name)) as [
    string,
    string,
    string,
  ];
  symlinkSync(database, linked);
  linkSync(database, hard);
  symlinkSync(dataDir, other);
  const before = contents();
  const files = [database, `${database}-wal`, `${database}-shm`, `${database}-journal`, key];
  for (const file of [...files, linked, hard, join(other, 'sallyport.db'), join(other, 'sallyport.db-wal')]) {
    for (const options of [['--force'], []]) {
      const { status, stderr } = await folder.run(['backup', file, ...options]);
      assert.equal(status, 2, stderr);
      assert.match(stderr, /The backup would replace .*(?:sallyport\.db|master\.key)\S*, which the data folder needs/);
    }
  }
  assert.deepEqual(contents(), before);
});

test('a rotation deletes the old key, and says that older backups need it', async (t) => {
  const folder = await initialised(t);
  const file = beside(folder, 'before.db');
  const key = readFileSync(join(folder.dataDir, 'master.key'), 'utf8');
  assert.equal((await folder.run(['backup', file])).status, 0);
  const { status, stdout } = await folder.run(['rotate-master-key']);
  assert.equal(status, 0);
  assert.match(
    stdout,
    /^The old key was deleted\. Older backups cannot be restored without it\. .* sallyport backup <file>$/m,
  );
  for (const name of readdirSync(folder.dataDir)) {
    assert.ok(!readFileSync(join(folder.dataDir, name)).includes(key.trim()), name);
  }
  await refused(['restore', file, '--force', '--data', folder.dataDir], /master\.key does not open .*before\.db/);
});

test('a restore keeps the old database next to the new one', async (t) => {
  const folder = await initialised(t);
  const { json, dataDir } = folder;
  const file = beside(folder, 'backup.db');
  await json(['backup', file]);
  await json(['event-type', 'create', '--name', 'later.thing']);
  const { replaced } = await json<Backup>(['restore', file, '--force']);
  assert.match(String(replaced), /sallyport\.db\.replaced\.\d{8}T\d{6}Z$/);
  assert.equal(modeOf(String(replaced)), '600');
  await assertHealthy(dataDir);
  const typesIn = (path: string): unknown[] => {
    const db = new BetterSqlite3(path, { readonly: true });
    const names = db.prepare("SELECT name FROM event_type WHERE name LIKE 'later.%'").pluck().all();
    db.close();
    return names;
  };
  assert.deepEqual(typesIn(join(dataDir, 'sallyport.db')), []);
  assert.deepEqual(typesIn(String(replaced)), ['later.thing']);
});

test('a database that cannot be opened can be replaced, and is kept unchanged', async (t) => {
  const folder = await initialised(t);
  const { json, dataDir } = folder;
  const file = beside(folder, 'backup.db');
  await json(['backup', file]);
  const damaged = 'no database any more'.repeat(500);
  writeFileSync(join(dataDir, 'sallyport.db'), damaged);
  writeFileSync(join(dataDir, 'sallyport.db-wal'), 'its log', { mode: 0o600 });
  const { replaced } = await json<Backup>(['restore', file, '--force']);
  await assertHealthy(dataDir);
  assert.equal(readFileSync(String(replaced), 'utf8'), damaged);
  assert.equal(readFileSync(`${replaced}-wal`, 'utf8'), 'its log');
});

test('a backup is verified without restoring it, with the key if it is available', async (t) => {
  const folder = await initialised(t);
  const { json, dataDir } = folder;
  const [file, whole, elsewhere] = ['backup.db', 'whole.db', 'nowhere'].map((name) => beside(folder, name));
  assert.ok(file && whole && elsewhere);
  await json(['backup', file]);
  await json(['backup', whole, '--with-master-key']);
  const bytes = readFileSync(file);

  type Verified = { readonly authenticated: boolean; readonly takenAt: string; readonly users: number };
  const { authenticated, takenAt, users } = await json<Verified>(['backup', 'verify', file]);
  assert.deepEqual([authenticated, users], [true, 1]);
  assert.ok(Date.parse(takenAt) <= Date.now());
  assert.equal((await json<Verified>(['backup', 'verify', file, '--data', elsewhere])).authenticated, false);
  assert.equal((await json<Verified>(['backup', 'verify', whole, '--data', elsewhere])).authenticated, true);
  assert.deepEqual(readFileSync(file), bytes);
  assert.equal(existsSync(elsewhere), false);

  // An attacker without the key forges a manifest for another database.
  const forged = beside(folder, 'forged.db');
  copyFileSync(join(dataDir, 'sallyport.db'), forged);
  new BetterSqlite3(forged).exec("PRAGMA journal_mode = DELETE; UPDATE user_account SET role = 'viewer'").close();
  appendManifest(forged, { takenAt: Date.now(), schemaVersion: 1, key: { authenticate: () => 'a'.repeat(64) } });
  assert.equal((await json<Verified>(['backup', 'verify', forged, '--data', elsewhere])).authenticated, false);
  const notOurs = /is not a valid backup: its manifest was not written with its master key/;
  await refused(['backup', 'verify', forged, '--data', dataDir], notOurs);
  await refused(['restore', forged, '--force', '--data', dataDir], notOurs);

  for (const args of [
    ['backup', 'verify'],
    ['backup', 'verify', file, 'another'],
  ]) {
    assert.equal((await sallyport(args)).status, 2);
  }
  await refused(['backup', 'verify', join(dataDir, 'sallyport.db')], /is not a valid backup: it has no manifest/);
  await refused(['backup', 'verify', `${file}.not`], /is not a valid backup: ENOENT/);
});

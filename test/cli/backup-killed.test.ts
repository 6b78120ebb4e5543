/** The files after a backup or restore was killed. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import BetterSqlite3 from 'better-sqlite3';
import { assertHealthy, beside, withKeyOf } from '../support/backup-folders.ts';
import { cleanUp } from '../support/cleanup.ts';
import { type Folder, initialised } from '../support/command-folder.ts';

const MAIN = fileURLToPath(new URL('../../src/main.ts', import.meta.url));
const FILLED_MAX_MEGABYTES = 1024;

/**
 * Runs a command and kills it as soon as a file is in this folder whose name says that it is not finished. Where the command was faster
 * than that, or had done its work when it was killed, it is run again with more to do, which `prepare` sees to.
 */
async function killInTheMiddle(
  t: TestContext,
  folder: string,
  args: readonly string[],
  prepare: (megabytes: number) => void | Promise<void>,
  isUntouched: () => boolean,
): Promise<void> {
  for (let megabytes = 32; megabytes <= FILLED_MAX_MEGABYTES; megabytes *= 2) {
    await prepare(megabytes);
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', MAIN, ...args], {
      stdio: 'ignore',
    });
    cleanUp(t, () => child.kill('SIGKILL'));
    // Not fs.watch: other programs may use up the inotify instances of the machine.
    const looking = setInterval(() => {
      if (readdirSync(folder).some((name) => /\.part(-|$)/.test(name))) child.kill('SIGKILL');
    }, 1);
    const [code, signal] = await once(child, 'exit').finally(() => clearInterval(looking));
    if (signal === 'SIGKILL' && isUntouched()) return;
    if (signal === null) assert.equal(code, 0);
  }
  assert.fail('it was never killed before it had finished');
}

/** Makes the database large, so that a copy takes a while. */
function fill({ dataDir }: Folder, megabytes: number): void {
  const db = new BetterSqlite3(join(dataDir, 'sallyport.db'));
  db.exec(`
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${megabytes})
    INSERT OR IGNORE INTO setting SELECT 'filler ' || i, zeroblob(1000000) FROM n`);
  db.close();
}

test('kill -9 in the middle of a backup leaves no backup, and the next one cleans up', async (t) => {
  const folder = await initialised(t);
  const backups = beside(folder, 'backups');
  mkdirSync(backups);
  const file = join(backups, 'backup.db');
  const prepare = (megabytes: number): void => {
    rmSync(file, { force: true });
    fill(folder, megabytes);
  };
  await killInTheMiddle(t, backups, ['backup', file, '--data', folder.dataDir], prepare, () => !existsSync(file));
  assert.equal(existsSync(file), false);
  assert.notDeepEqual(readdirSync(backups), []);
  await assertHealthy(folder.dataDir);
  await folder.json(['backup', file]);
  assert.deepEqual(readdirSync(backups), ['backup.db']);
});

test('kill -9 in the middle of a restore leaves the old database, and the next one cleans up', async (t) => {
  const folder = await initialised(t);
  const { dataDir, json } = folder;
  const file = beside(folder, 'backup.db');
  let before = Buffer.alloc(0);
  const larger = async (megabytes: number): Promise<void> => {
    rmSync(file, { force: true });
    fill(folder, megabytes);
    await json(['backup', file]);
    // Not in the backup, so a completed restore would remove it.
    await json(['event-type', 'create', '--name', `later.thing${megabytes}`]);
    before = readFileSync(join(dataDir, 'sallyport.db'));
  };
  const isAsBefore = (): boolean => readFileSync(join(dataDir, 'sallyport.db')).equals(before);
  await killInTheMiddle(t, dataDir, ['restore', file, '--force', '--data', dataDir], larger, isAsBefore);
  assert.ok(isAsBefore());
  await assertHealthy(dataDir);
  await json(['restore', file, '--force']);
  assert.deepEqual(
    readdirSync(dataDir)
      .filter((name) => !name.includes('.replaced.'))
      .sort(),
    ['master.key', 'sallyport.db', 'serve.lock'],
  );
  await assertHealthy(dataDir);

  // An empty folder is still empty.
  const empty = withKeyOf(folder, 'empty');
  const prepare = async (megabytes: number): Promise<void> => {
    rmSync(join(empty, 'sallyport.db'), { force: true });
    rmSync(file);
    fill(folder, megabytes);
    await json(['backup', file]);
  };
  const isEmpty = (): boolean => !existsSync(join(empty, 'sallyport.db'));
  await killInTheMiddle(t, empty, ['restore', file, '--data', empty], prepare, isEmpty);
  assert.ok(isEmpty());
  await json(['restore', file, '--data', empty]);
  await assertHealthy(empty);
});

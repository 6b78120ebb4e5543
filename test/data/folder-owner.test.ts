/**
 * A data folder belongs to the user of the service, but root may run commands on it. If root runs these tests, they act as both users.
 * Any other user can only act as the service's user, and checks that all files are its own.
 */
import assert from 'node:assert/strict';
import { chmodSync, chownSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it, type TestContext, test } from 'node:test';
import { makeMasterKey, readMasterKey } from '../../src/data/master-key.ts';
import { sallyport, unusedFolder } from '../support/command.ts';
import { type Folder, initialised } from '../support/command-folder.ts';
import { configOf, open, refusal, startedFolder } from '../support/data-folder.ts';

const SELF = process.geteuid?.() ?? 0;
const IS_ROOT = SELF === 0;
const SERVICE = IS_ROOT ? 1234 : SELF;
/** Options of tests that only root can set up. They are reported as skipped for other users. */
const AS_ROOT = IS_ROOT ? {} : { skip: 'only root can give a file to another user' };

/** Makes an empty data folder that belongs to the service's user. `beside` is a folder of the current user. */
function serviceFolder(t: TestContext): { readonly dataDir: string; readonly beside: string } {
  const dataDir = unusedFolder(t);
  mkdirSync(dataDir, { mode: 0o700 });
  giveToService(dataDir);
  chmodSync(dirname(dataDir), 0o755);
  return { dataDir, beside: dirname(dataDir) };
}

function giveToService(path: string): void {
  chownSync(path, SERVICE, statSync(path).gid);
}

/** The files of a folder that do not belong to the service's user. */
function foreignFiles(folder: string): string[] {
  return readdirSync(folder).filter((name) => statSync(join(folder, name)).uid !== SERVICE);
}

async function asService<T>(work: () => Promise<T>): Promise<T> {
  if (IS_ROOT) process.seteuid?.(SERVICE);
  try {
    return await work();
  } finally {
    if (IS_ROOT) process.seteuid?.(SELF);
  }
}

describe('files that root creates in the data folder get the owner of the folder', () => {
  it('at a first start, in commands beside a running server, and at a rotation of the master key', async (t) => {
    const { dataDir, beside } = serviceFolder(t);
    const key = join(beside, 'master.key');
    const env = { SALLYPORT_DATA: dataDir, SALLYPORT_MASTER_KEY_FILE: key };
    for (const command of ['init', 'rotate-master-key']) {
      const { status, stderr } = await sallyport([command], { env });
      assert.equal(status, 0, stderr);
      assert.equal(statSync(key).uid, SERVICE, 'the key that lies elsewhere too');
    }
    const data = await open(t, configOf(dataDir, { masterKeyFile: key }));
    await data.store.settings.checkMasterKey();
    assert.deepEqual(readdirSync(dataDir).toSorted(), [
      'sallyport.db',
      'sallyport.db-shm',
      'sallyport.db-wal',
      'serve.lock',
    ]);
    assert.deepEqual(foreignFiles(dataDir), []);
  });

  it('at a restore, with the key that was in the backup; the backup itself keeps its owner', async (t) => {
    const from = await initialised(t);
    const { dataDir, beside } = serviceFolder(t);
    const backup = join(beside, 'all.db');
    assert.equal((await from.run(['backup', backup, '--with-master-key'])).status, 0);
    for (const more of [[], ['--force']]) {
      const { status, stderr } = await sallyport(['restore', backup, '--data', dataDir, ...more]);
      assert.equal(status, 0, stderr);
    }
    assert.equal(readdirSync(dataDir).length, 4, 'database, the one before, key, lock');
    assert.deepEqual(foreignFiles(dataDir), []);
    await asService(() => open(t, configOf(dataDir)));
    const inFolder = join(dataDir, 'more.db');
    assert.equal((await sallyport(['backup', inFolder, '--data', dataDir])).status, 0);
    assert.equal(statSync(inFolder).uid, SELF);
  });
});

/** Runs doctor. Removes a problem that only Deno reports: its `access` checks only the mode, so root seems to have no access. */
async function doctorOutput(folder: Folder): Promise<string> {
  const { stdout } = await folder.run(['doctor', '--quiet']);
  return stdout.replace(/^problem {2}data folder: EACCES.*\n/m, '');
}

describe('a file or folder of another user', () => {
  const refused: readonly [what: string, path: string, message: RegExp][] = [
    ['the lock', 'serve.lock', /^the data folder .* cannot be used: unable to open database file \(\S*serve\.lock /],
    ['the database', 'sallyport.db', /^the database .* cannot be opened: .* \(\S*sallyport\.db /],
    ['the master key', 'master.key', /^the master key .* cannot be read: EACCES \(\S*master\.key /],
    ['the folder', '.', /^the data folder .* cannot be used: /],
  ];
  for (const [what, name, message] of refused) {
    it(`is named in the error, with its owner and the current user: ${what}`, AS_ROOT, async (t) => {
      const config = await startedFolder(t);
      for (const path of [dirname(config.dataDir), config.dataDir]) giveToService(path);
      for (const file of readdirSync(config.dataDir)) giveToService(join(config.dataDir, file));
      chownSync(join(config.dataDir, name), 0, 0);
      const told = await asService(() => refusal(config));
      assert.match(told, message);
      assert.ok(told.endsWith(` belongs to root, and this is uid ${SERVICE})`), told);
    });
  }

  it('is named for a folder that only root may write, unless root runs the command', async (t) => {
    const told = await asService(() => refusal(configOf('/')));
    assert.match(
      told,
      new RegExp(`^the data folder / cannot be used: .* \\(/ belongs to root, and this is uid ${SERVICE}\\)$`),
    );
    const config = await startedFolder(t);
    const lock = join(config.dataDir, 'serve.lock');
    rmSync(lock);
    mkdirSync(lock);
    if (IS_ROOT) giveToService(lock);
    assert.match(await refusal(config), /cannot be used: unable to open database file$/);
  });

  it('is not reported by sallyport doctor if all files have the right owner', async (t) => {
    assert.equal(await doctorOutput(await initialised(t)), '');
  });

  it('is reported by sallyport doctor, with the command that fixes it', AS_ROOT, async (t) => {
    const folder = await initialised(t);
    const { dataDir } = folder;
    const { gid } = statSync(dataDir);
    const told = (): Promise<string> => doctorOutput(folder);
    giveToService(dataDir);
    const files = ['master.key', 'sallyport.db', 'serve.lock'].map((name) => join(dataDir, name));
    const owners = files.map((path) => `${path} belongs to root`).join(', ');
    assert.equal(
      await told(),
      `problem  file owners: ${owners}, the folder to uid ${SERVICE}; run as root: chown ${SERVICE}:${gid} ${files.join(' ')}\n`,
    );
    for (const path of files) giveToService(path);
    assert.equal(await told(), '');
    // A backup that root wrote into the folder belongs to root.
    const backup = join(dataDir, 'backup.db');
    writeFileSync(backup, '');
    assert.equal(
      await told(),
      `warning  file owners: ${backup} belongs to root, the folder to uid ${SERVICE}; run as root: chown ${SERVICE}:${gid} ${backup}\n`,
    );
    rmSync(backup);
    // The owner of the folder decides, even if every file in it belongs to another user.
    chownSync(dataDir, 0, gid);
    const theirs = files.map((path) => `${path} belongs to uid ${SERVICE}`).join(', ');
    assert.equal(
      await told(),
      `problem  file owners: ${theirs}, the folder to root; run as root: chown 0:${gid} ${files.join(' ')}, or, ` +
        `if the service runs as uid ${SERVICE}: chown ${SERVICE} ${dataDir}\n`,
    );
  });
});

test('a key of root may be read by the group of the service, and by nobody else', AS_ROOT, async (t) => {
  const { beside } = serviceFolder(t);
  const key = join(beside, 'master.key');
  makeMasterKey(key, (length) => new Uint8Array(length), null);
  const group = statSync(beside).gid;
  const verdict = async (mode: number): Promise<string> => {
    chownSync(key, SELF, group);
    chmodSync(key, mode);
    return asService(async () => {
      const read = readMasterKey(key);
      return read.ok ? 'read' : read.code;
    });
  };
  assert.equal(await verdict(0o644), 'exposed');
  assert.equal(await verdict(0o460), 'exposed');
  assert.equal(await verdict(0o440), 'read');
  giveToService(key);
  assert.equal((await asService(async () => readMasterKey(key))).ok, false, 'its own key is for itself alone');
});

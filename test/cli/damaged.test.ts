import assert from 'node:assert/strict';
import {
  copyFileSync,
  existsSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import BetterSqlite3 from 'better-sqlite3';
import { beside } from '../support/backup-folders.ts';
import { sallyport, sallyportProcess, serve } from '../support/command.ts';
import { initialised } from '../support/command-folder.ts';

const PAGE_BYTES = 4096;

function overwrite(path: string, from: number, to: number): void {
  const descriptor = openSync(path, 'r+');
  const noise = Buffer.from(Array.from({ length: to - from }, (_, at) => (at * 167 + 13) % 251));
  writeSync(descriptor, noise, 0, noise.length, from);
}

/** Kinds of damage, and the message before the advice. */
const DAMAGES: readonly (readonly [what: string, spoil: (path: string) => void, says: RegExp])[] = [
  [
    'has random bytes in its pages',
    (path) => overwrite(path, 4 * PAGE_BYTES, statSync(path).size),
    /damaged|malformed/,
  ],
  ['has random bytes in its header', (path) => overwrite(path, 0, 100), /not a database/],
  ['was cut off', (path) => truncateSync(path, 20 * PAGE_BYTES + 100), /damaged|malformed/],
  ['was cut off within its first page', (path) => truncateSync(path, 50), /not a database|malformed/],
  ['is a text', (path) => writeFileSync(path, 'a letter to my grandmother, '.repeat(1000)), /not a database/],
  ['is empty', (path) => truncateSync(path, 0), /the database in .* is missing, but .* shows that there was one/],
  [
    'is the database of another program',
    (path) => {
      rmSync(path);
      new BetterSqlite3(path)
        .exec('PRAGMA journal_mode = WAL; PRAGMA user_version = 1; CREATE TABLE other (a)')
        .close();
    },
    /it is not a database of Sallyport/,
  ],
];

describe('a database file that', () => {
  for (const [what, spoil, says] of DAMAGES) {
    it(`${what} is refused by the server and by every command with advice, and stays unchanged`, async (t) => {
      const folder = await initialised(t);
      const backup = beside(folder, 'backup.db');
      await folder.json(['backup', backup]);
      const path = join(folder.dataDir, 'sallyport.db');
      spoil(path);
      const before = readFileSync(path);
      const commands = [
        ['serve', '--port', '0'],
        ['user', 'list'],
        ['backup', beside(folder, 'x.db')],
        ['rotate-master-key'],
      ];
      for (const command of commands) {
        const { status, stdout, stderr } = await sallyport([...command, '--data', folder.dataDir]);
        const shown = `${command.join(' ')}: ${stderr}`;
        assert.deepEqual([status, stdout], [1, ''], shown);
        assert.match(stderr, /sallyport restore <backup>/, shown);
        assert.match(stderr, says, shown);
        assert.doesNotMatch(stderr, /fault of the program|^ {4}at /m, shown);
        assert.deepEqual(readFileSync(path), before, shown);
      }
      const doctor = await folder.run(['doctor']);
      assert.equal(doctor.status, 1, doctor.stderr);
      assert.doesNotMatch(doctor.stdout + doctor.stderr, /fault of the program/);

      assert.equal((await folder.run(['restore', backup, '--force'])).status, 0);
      assert.equal((await folder.run(['user', 'list'])).status, 0);
    });
  }

  it('lost its log after a crash is refused, and opens when the log is back', async (t) => {
    const folder = await initialised(t);
    const served = await serve(t, folder.dataDir);
    await served.end('SIGKILL');
    const log = join(folder.dataDir, 'sallyport.db-wal');
    assert.ok(existsSync(log));
    copyFileSync(log, `${folder.dataDir}.wal`);
    rmSync(log);
    for (const [refuse, ...command] of [
      [sallyportProcess, 'serve', '--port', '0'],
      [sallyport, 'user', 'list'],
    ] as const) {
      const { status, stderr } = await refuse([...command, '--data', folder.dataDir]);
      assert.equal(status, 1);
      assert.match(
        stderr,
        /its log .*-wal is missing.*: put the log back, or restore a backup with sallyport restore <backup>/,
      );
    }
    copyFileSync(`${folder.dataDir}.wal`, log);
    assert.equal((await folder.run(['user', 'list'])).status, 0);
  });
});

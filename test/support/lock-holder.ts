/** A separate process that holds a database's write lock until `release` is called. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';

export type LockHolder = {
  /** Commits what the other process wrote, and waits until it has ended. */
  release(): Promise<void>;
};

const PROGRAM = `
  const Database = require('better-sqlite3');
  const { LOCKED_FILE, LOCKED_SQL } = process.env;
  const db = new Database(LOCKED_FILE);
  db.exec('BEGIN IMMEDIATE');
  if (LOCKED_SQL !== undefined) db.exec(LOCKED_SQL);
  process.stdout.write('held');
  process.stdin.once('data', () => {
    db.exec('COMMIT');
    db.close();
    process.exit(0);
  });`;

/** Resolves once the lock is held and `sql` has run. */
export async function holdLock(t: TestContext, path: string, sql?: string): Promise<LockHolder> {
  const child: ChildProcess = spawn(process.execPath, ['-e', PROGRAM], {
    env: { ...process.env, LOCKED_FILE: path, ...(sql === undefined ? {} : { LOCKED_SQL: sql }) },
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  t.after(() => child.kill('SIGKILL'));
  const ended = once(child, 'exit');
  if (child.stdout === null || child.stdin === null) throw new Error('no pipes');
  await once(child.stdout, 'data');
  const { stdin } = child;
  return {
    release: async () => {
      stdin.write('go');
      await ended;
    },
  };
}

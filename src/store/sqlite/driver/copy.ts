/**
 * Copies a database while others write to it. A copy is consistent, one file, readable only by its owner, and gets its name when complete.
 */
import { closeSync, fsyncSync, openSync, readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import BetterSqlite3 from 'better-sqlite3';
import { makePrivateFile, moveFile, type OwnerLike } from '../../../kernel/private-file.ts';
import type { SqliteDatabase } from './sqlite.ts';

/** 8 MiB of pages of 4 KiB. This process does nothing else during a step; it can be aborted between two. */
const PAGES_PER_STEP = 2048;

/** Copies the database to `path` and replaces an existing file. The copy is durable when this resolves. */
export function copyDatabase(from: SqliteDatabase, path: string): Promise<void> {
  return writeWhole(path, (unfinished) => copyPages(from, unfinished));
}

/**
 * Lets `work` write a temporary file, which exists and is empty, and moves it to `path` with `place` once it is durable. First removes
 * the temporary files of processes that died while writing. Under root, the file gets the owner of `owner`: of the folder by default.
 */
export async function writeWhole<T>(
  path: string,
  work: (unfinished: string) => Promise<T>,
  { place = moveFile, owner = dirname(path) }: { readonly place?: typeof moveFile; readonly owner?: OwnerLike } = {},
): Promise<T> {
  removeUnfinished(path);
  const unfinished = `${path}.${process.pid}.part`;
  try {
    makePrivateFile(unfinished, owner);
    const result = await work(unfinished);
    syncFile(unfinished);
    place(unfinished, path);
    return result;
  } finally {
    for (const ending of ENDINGS) rmSync(unfinished + ending, { force: true });
  }
}

/** No other code may use the connection during the copy. Ends before the next step if `signal` is aborted, and rejects with its reason. */
export async function copyPages(
  { connection }: SqliteDatabase,
  to: string,
  { pagesPerStep = PAGES_PER_STEP, signal }: { readonly pagesPerStep?: number; readonly signal?: AbortSignal } = {},
): Promise<void> {
  const progress = (): number => {
    signal?.throwIfAborted();
    return pagesPerStep;
  };
  // In one read transaction: otherwise SQLite starts again from the first page whenever another process writes between two steps.
  connection.exec('BEGIN');
  try {
    connection.prepare('SELECT count(*) FROM sqlite_master').get();
    await connection.backup(to, { progress });
  } finally {
    connection.exec('COMMIT');
  }
  intoOneFile(to);
}

/** Ends write-ahead logging, so that the database is a single file until it is opened again. */
export function intoOneFile(path: string): void {
  const connection = new BetterSqlite3(path);
  try {
    connection.pragma('journal_mode = DELETE');
  } finally {
    connection.close();
  }
}

/** The endings of a database's file and of the files that SQLite creates beside it. */
const ENDINGS = ['', '-journal', '-wal', '-shm'] as const;

function removeUnfinished(path: string): void {
  const name = basename(path);
  for (const entry of readdirSync(dirname(path))) {
    if (!entry.startsWith(`${name}.`)) continue;
    const [, pid] = /^\.(\d+)\.part(?:-journal|-wal|-shm)?$/.exec(entry.slice(name.length)) ?? [];
    if (pid !== undefined && !isRunning(Number(pid))) rmSync(join(dirname(path), entry), { force: true });
  }
}

/** A file with this process's own id is from an earlier process with the same id. */
function isRunning(pid: number): boolean {
  if (pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}

function syncFile(path: string): void {
  const descriptor = openSync(path, 'r+');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

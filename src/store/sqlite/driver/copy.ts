/**
 * Copies of a database: consistent while others write, in one file for its owner alone, there whole under its name or not at all.
 */
import { closeSync, fsyncSync, openSync, readdirSync, rmSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import BetterSqlite3 from 'better-sqlite3';
import { makePrivateFile, moveFile, type OwnerLike } from '../../../kernel/private-file.ts';
import type { SqliteDatabase } from './sqlite.ts';

/** 8 MiB of the usual pages: this process does nothing else meanwhile, but its progress can be cut short between two. */
const PAGES_PER_STEP = 2048;

/** Copies the database to `path`, in place of what is there, durable before it resolves. */
export function copyDatabase(from: SqliteDatabase, path: string): Promise<void> {
  return writeWhole(path, (unfinished) => copyPages(from, unfinished));
}

/**
 * Has `work` write the file of this name, which exists and is empty, and gives it its own name once it is durable. What is
 * left of a process that died at this is removed first. `place` puts the file where it belongs.
 */
export async function writeWhole<T>(
  path: string,
  work: (unfinished: string) => Promise<T>,
  {
    place = moveFile,
    heir = dirname(path),
  }: { readonly place?: (unfinished: string, path: string) => void; readonly heir?: OwnerLike } = {},
): Promise<T> {
  removeLeftOver(path);
  const unfinished = `${path}.${process.pid}.part`;
  try {
    makePrivateFile(unfinished, heir);
    const result = await work(unfinished);
    syncFile(unfinished);
    place(unfinished, path);
    return result;
  } finally {
    for (const ending of ENDINGS) rmSync(unfinished + ending, { force: true });
  }
}

/** Nothing else may use the connection meanwhile. Where `signal` is aborted it ends before the next step and rejects with its reason. */
export async function copyPages(
  { connection }: SqliteDatabase,
  to: string,
  { pagesPerStep = PAGES_PER_STEP, signal }: { readonly pagesPerStep?: number; readonly signal?: AbortSignal } = {},
): Promise<void> {
  const progress = (): number => {
    signal?.throwIfAborted();
    return pagesPerStep;
  };
  // Under one snapshot: SQLite begins again from the first page whenever another process has written between two steps.
  connection.exec('BEGIN');
  try {
    connection.prepare('SELECT count(*) FROM sqlite_master').get();
    await connection.backup(to, { progress });
  } finally {
    connection.exec('COMMIT');
  }
  intoOneFile(to);
}

/** Ends write-ahead logging, whose header the copy has too: until it is opened again there is no other file to it. */
export function intoOneFile(path: string): void {
  const connection = new BetterSqlite3(path);
  try {
    connection.pragma('journal_mode = DELETE');
  } finally {
    connection.close();
  }
}

/** Of a database's file and those that SQLite has beside it. */
const ENDINGS = ['', '-journal', '-wal', '-shm'] as const;

function removeLeftOver(path: string): void {
  const name = basename(path);
  for (const entry of readdirSync(dirname(path))) {
    if (!entry.startsWith(`${name}.`)) continue;
    const [, pid] = /^\.(\d+)\.part(?:-journal|-wal|-shm)?$/.exec(entry.slice(name.length)) ?? [];
    if (pid !== undefined && !isRunning(Number(pid))) rmSync(join(dirname(path), entry), { force: true });
  }
}

/** This process itself has only just begun: what bears its number is an earlier one's. */
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

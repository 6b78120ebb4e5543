/**
 * Lets one server use a data folder. The lock is an exclusive transaction on a separate SQLite file, that is, a lock of the operating
 * system: it ends with the process, however that dies, and leaves nothing to clean up.
 */
import { join } from 'node:path';
import BetterSqlite3 from 'better-sqlite3';
import { makePrivateFile } from '../kernel/private-file.ts';

export const LOCK_FILE = 'serve.lock';
/** A killed process may take a moment to end. */
const WAIT_MS = 250;

export type FolderLock = { release(): void };

/** Takes the lock, or returns null if another process, or this one, has it. */
export function lockFolder(folder: string): FolderLock | null {
  const path = join(folder, LOCK_FILE);
  makePrivateFile(path);
  const connection = new BetterSqlite3(path, { timeout: WAIT_MS });
  try {
    // Nothing is ever written, so no journal file is needed.
    connection.pragma('journal_mode = MEMORY');
    connection.exec('BEGIN EXCLUSIVE');
    return { release: () => void connection.close() };
  } catch (error) {
    connection.close();
    if (error instanceof BetterSqlite3.SqliteError && error.code.startsWith('SQLITE_BUSY')) return null;
    throw error;
  }
}

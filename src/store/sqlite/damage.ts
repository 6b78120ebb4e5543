/** Whether a database's file is damaged, and what to do then. */
import { existsSync, statSync } from 'node:fs';
import BetterSqlite3 from 'better-sqlite3';
import { CHECKED_AT_START_BYTES } from '../../kernel/limits/database.ts';
import { DatabaseUnavailable, unavailableReason } from '../errors.ts';
import type { SqliteDatabase } from './driver/sqlite.ts';

/** For the end of a sentence. */
export const RESTORE_ADVICE =
  'restore a backup with sallyport restore <backup> --force, which keeps the damaged file beside it';

/** Whether an error, or one that it came from, says that a database's file is damaged, or is no database. */
export function tellsDamage(error: unknown): boolean {
  if (error instanceof DatabaseUnavailable) return error.reason === 'damaged';
  if (error instanceof BetterSqlite3.SqliteError) return unavailableReason(error.code) === 'damaged';
  return error instanceof Error && error.cause !== undefined && tellsDamage(error.cause);
}

/** What is wrong with the database's pages: at most the first three sentences. Reads all of it, some seconds a gigabyte. */
export function damages({ connection }: Pick<SqliteDatabase, 'connection'>): readonly string[] {
  return found(connection.pragma('integrity_check') as object[]);
}

/**
 * The same without comparing indexes with their tables, 2 ms a megabyte, of a database that is small enough not to hold up a start. Of a
 * larger one nothing: what is damaged in it is noticed when it is read, or by the doctor.
 */
export function damagesAtStart({ connection }: Pick<SqliteDatabase, 'connection'>): readonly string[] {
  if (statSync(connection.name).size > CHECKED_AT_START_BYTES) return [];
  return found(connection.pragma('quick_check(3)') as object[]);
}

/**
 * Whether the log of a database was deleted that was not closed. SQLite makes the log before its index and deletes it after; without the
 * log it would open the file as it was at some moment before.
 */
export function lacksLog(path: string): boolean {
  return existsSync(`${path}-shm`) && !existsSync(`${path}-wal`);
}

function found(rows: readonly object[]): readonly string[] {
  return rows
    .map((row) => String(Object.values(row)[0]))
    .filter((text) => text !== 'ok')
    .slice(0, 3);
}

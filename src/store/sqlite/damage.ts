/** Detects damaged database files. */

import { existsSync, statSync } from 'node:fs';
import BetterSqlite3 from 'better-sqlite3';
import { DatabaseUnavailable } from '../port/errors.ts';
import { unavailableReason } from './driver/errors.ts';
import type { SqliteDatabase } from './driver/sqlite.ts';

/** A start checks every page of a database up to this size, which takes 0.15 s. */
const CHECKED_AT_START_BYTES: number = 64 * 1024 * 1024;
const PROBLEMS_SHOWN = 3;

/** The end of an error message. */
export const RESTORE_ADVICE =
  'restore a backup with sallyport restore <backup> --force, which keeps the damaged file beside it';

/** Whether an error or one of its causes reports a file that is damaged or not a database. */
export function tellsDamage(error: unknown): boolean {
  if (error instanceof DatabaseUnavailable) return error.reason === 'damaged';
  if (error instanceof BetterSqlite3.SqliteError) return unavailableReason(error.code) === 'damaged';
  return error instanceof Error && error.cause !== undefined && tellsDamage(error.cause);
}

/** The first problems of the database's pages. Reads the whole file, which takes some seconds per gigabyte. */
export function damages({ connection }: Pick<SqliteDatabase, 'connection'>): readonly string[] {
  return found(connection.pragma('integrity_check') as object[]);
}

/**
 * The same without comparing indexes with tables: 2 ms per megabyte. Skips a database that is too large to check at a start; reads and
 * `sallyport doctor` detect its damage later.
 */
export function damagesAtStart({ connection }: Pick<SqliteDatabase, 'connection'>): readonly string[] {
  if (statSync(connection.name).size > CHECKED_AT_START_BYTES) return [];
  return found(connection.pragma(`quick_check(${PROBLEMS_SHOWN})`) as object[]);
}

/**
 * Whether the write-ahead log of an unclosed database was deleted. SQLite creates the log before its index and deletes it after. Without
 * the log it would open an older state of the database.
 */
export function lacksLog(path: string): boolean {
  return existsSync(`${path}-shm`) && !existsSync(`${path}-wal`);
}

function found(rows: readonly object[]): readonly string[] {
  return rows
    .map((row) => String(Object.values(row)[0]))
    .filter((text) => text !== 'ok')
    .slice(0, PROBLEMS_SHOWN);
}

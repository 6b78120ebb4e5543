/** The meaning of SQLite's errors (sqlite.org/rescode.html). */
import BetterSqlite3 from 'better-sqlite3';
import {
  ConstraintViolation,
  DatabaseUnavailable,
  type UnavailableReason,
  type UnavailableTexts,
} from '../../port/errors.ts';

const CONSTRAINT_KINDS: Readonly<Record<string, 'unique' | 'foreign_key' | 'check'>> = {
  SQLITE_CONSTRAINT_UNIQUE: 'unique',
  SQLITE_CONSTRAINT_PRIMARYKEY: 'unique',
  SQLITE_CONSTRAINT_FOREIGNKEY: 'foreign_key',
  SQLITE_CONSTRAINT_CHECK: 'check',
};

const TEXTS: UnavailableTexts = {
  read_only: 'the database cannot be written: its file or its disk is read-only',
  locked: 'the database cannot be written: another process has locked it',
  missing: 'the database cannot be written: its files were moved or deleted: put them back, or restart Sallyport',
  replaced: 'the database cannot be written: other files are in their place: restart Sallyport',
  damaged: 'the database is damaged: restore a backup with sallyport restore <backup> --force',
  stopped: 'the database cannot be written: the thread that writes it ended: restart Sallyport',
  failed: 'the database cannot be used: the disk reports an error',
};

export function unavailable(reason: UnavailableReason, cause?: Error): DatabaseUnavailable {
  return new DatabaseUnavailable(reason, { texts: TEXTS, ...(cause !== undefined && { cause }) });
}

/** Translates an error of SQLite into one of the port, and returns any other unchanged. A constraint's message ends in its columns. */
export function portError(error: unknown): unknown {
  if (!(error instanceof BetterSqlite3.SqliteError)) return unavailableError(error);
  const kind = CONSTRAINT_KINDS[error.code];
  if (kind === undefined) return unavailableError(error);
  const columns = error.message.split(': ')[1]?.split(', ') ?? [];
  return new ConstraintViolation(kind, columns, { cause: error });
}

/** Returns `DatabaseUnavailable` for an error that means that the database cannot be used now, and any other error unchanged. */
export function unavailableError(error: unknown): unknown {
  if (!(error instanceof BetterSqlite3.SqliteError)) return error;
  const reason = unavailableReason(error.code);
  return reason === null ? error : unavailable(reason, error);
}

/** Whether another process holds the file. */
export function isBusy(error: unknown): boolean {
  return error instanceof BetterSqlite3.SqliteError && error.code.startsWith('SQLITE_BUSY');
}

/** By prefix of SQLite's result codes (sqlite.org/rescode.html), longer prefixes first. */
const REASONS: readonly (readonly [code: string, reason: UnavailableReason])[] = [
  ['SQLITE_READONLY_DBMOVED', 'missing'],
  ['SQLITE_BUSY', 'locked'],
  ['SQLITE_LOCKED', 'locked'],
  ['SQLITE_PROTOCOL', 'locked'],
  ['SQLITE_FULL', 'full'],
  ['SQLITE_READONLY', 'read_only'],
  ['SQLITE_PERM', 'read_only'],
  ['SQLITE_CORRUPT', 'damaged'],
  ['SQLITE_NOTADB', 'damaged'],
  ['SQLITE_IOERR', 'failed'],
  ['SQLITE_CANTOPEN', 'failed'],
  ['SQLITE_NOMEM', 'failed'],
];

/** Null for constraint violations and for faults of the program. */
export function unavailableReason(sqliteCode: string): UnavailableReason | null {
  return REASONS.find(([code]) => sqliteCode.startsWith(code))?.[1] ?? null;
}

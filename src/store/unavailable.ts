/** The one error of a database that cannot be read or written for now (contract §6). */
import { DATABASE_RETRY_SECONDS } from '../kernel/limits/database.ts';
import { Refusal } from '../kernel/refusal.ts';

/**
 * `locked`: by another process, for as long as a request may wait. `missing` and `replaced`: the data folder, the database's file or
 * one of the two beside it is not at its path any more, or is another file. `overloaded`: too much waits to be written. `failed`: any
 * other error of the disk.
 */
export type UnavailableReason =
  | 'full'
  | 'read_only'
  | 'locked'
  | 'missing'
  | 'replaced'
  | 'damaged'
  | 'overloaded'
  | 'failed';

const DESCRIPTIONS: Readonly<Record<UnavailableReason, string>> = {
  full: 'the database cannot be written: the disk is full',
  read_only: 'the database cannot be written: its file or its disk is read-only',
  locked: 'the database cannot be written: another process has locked it',
  missing: 'the database cannot be written: its files were moved or deleted: put them back, or restart Sallyport',
  replaced: 'the database cannot be written: other files are in their place: restart Sallyport',
  damaged: 'the database is damaged: restore a backup with sallyport restore <backup> --force',
  overloaded: 'the database cannot be written: too many requests are waiting for it',
  failed: 'the database cannot be used: the disk reports an error',
};

/**
 * Nothing of what was asked has been acknowledged. Of a write, nothing was kept either, unless the files disappeared while it was
 * committed: then it is in them, should they come back.
 */
export class DatabaseUnavailable extends Refusal {
  readonly reason: UnavailableReason;

  constructor(reason: UnavailableReason, options: ErrorOptions = {}) {
    super('unavailable', DESCRIPTIONS[reason], { headers: { 'Retry-After': String(DATABASE_RETRY_SECONDS) } });
    this.name = 'DatabaseUnavailable';
    this.reason = reason;
    // Where it was noticed says nothing of why.
    this.stack = `${this.name}: ${this.message}`;
    if (options.cause !== undefined) this.cause = options.cause;
  }
}

/** By the beginning of SQLite's result codes (sqlite.org/rescode.html), the longer ones first. */
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

/** Null for a code that is a fault of the program or a constraint. */
export function unavailableReason(sqliteCode: string): UnavailableReason | null {
  return REASONS.find(([code]) => sqliteCode.startsWith(code))?.[1] ?? null;
}

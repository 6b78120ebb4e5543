/** The errors that a verb of the store throws, and how a stale write is repeated. */
import { DATABASE_RETRY_SECONDS } from '../kernel/limits/database.ts';
import { Refusal } from '../kernel/refusal.ts';

/** A constraint of the schema refused a write, which was rolled back. `columns` has `table.column` names if the database reports them. */
export class ConstraintViolation extends Error {
  readonly kind: 'unique' | 'foreign_key' | 'check';
  readonly columns: readonly string[];
  constructor(kind: 'unique' | 'foreign_key' | 'check', columns: readonly string[], options: ErrorOptions = {}) {
    super(`${kind} constraint: ${columns.join(', ')}`, options);
    this.name = 'ConstraintViolation';
    this.kind = kind;
    this.columns = columns;
  }
}

/** A write was rolled back because a row had changed since the caller read it. Read and decide again. */
export class StaleWrite extends Error {
  readonly sql: string;
  readonly expected: number;
  readonly changed: number;
  constructor(sql: string, expected: number, changed: number) {
    super(`expected ${expected} changed rows, got ${changed}: ${sql.trim().split('\n', 1)[0]}`);
    this.name = 'StaleWrite';
    this.sql = sql;
    this.expected = expected;
    this.changed = changed;
  }
}

const STALE_ROUNDS = 100;

/**
 * Repeats `decide` while its write is stale: a row or a row that it refers to changed, or another process took the row key. In each
 * round one of the concurrent writers wins, so up to `STALE_ROUNDS` writers can change the same row at once. Then the last error is
 * thrown.
 */
export async function retryStale<T>(decide: () => Promise<T>): Promise<T> {
  for (let round = 1; ; round += 1) {
    try {
      return await decide();
    } catch (error) {
      if (!isStale(error) || round === STALE_ROUNDS) throw error;
    }
  }
}

function isStale(error: unknown): boolean {
  if (error instanceof StaleWrite) return true;
  if (!(error instanceof ConstraintViolation)) return false;
  return error.kind === 'foreign_key' || error.columns.some((column) => ROW_KEYS.includes(column));
}

/**
 * Row keys that two processes may draw in the same millisecond; the next round draws another. A test delivery by a command is the one
 * case without a further round: if its attempt draws a key that the server took, it is sent but not recorded.
 */
const ROW_KEYS: readonly string[] = ['event.key', 'access_token.key', 'attempt.key'];

/** The idempotency keys of the events at these indexes already belong to events with other content. */
export class KeyConflict extends Error {
  readonly at: readonly number[];
  constructor(at: readonly number[]) {
    super('an idempotency key belongs to an event with other content');
    this.name = 'KeyConflict';
    this.at = at;
  }
}

/**
 * `locked`: another process held the lock for longer than a request may wait. `missing`: the data folder or one of the database's
 * files is no longer at its path. `replaced`: another file is. `unreachable`: the database does not answer. `unknown`: it did not
 * say whether it committed the write. `overloaded`: too many writes are queued. `stopped`: a
 * database thread ended, and this process can write nothing more. `failed`: any other disk error.
 */
export type UnavailableReason =
  | 'full'
  | 'read_only'
  | 'locked'
  | 'missing'
  | 'replaced'
  | 'damaged'
  | 'unreachable'
  | 'unknown'
  | 'overloaded'
  | 'stopped'
  | 'failed';

const DESCRIPTIONS: Readonly<Record<UnavailableReason, string>> = {
  full: 'the database cannot be written: the disk is full',
  read_only: 'the database cannot be written: its file or its disk is read-only',
  locked: 'the database cannot be written: another process has locked it',
  missing: 'the database cannot be written: its files were moved or deleted: put them back, or restart Sallyport',
  replaced: 'the database cannot be written: other files are in their place: restart Sallyport',
  damaged: 'the database is damaged: restore a backup with sallyport restore <backup> --force',
  unreachable: 'the database cannot be reached',
  unknown: 'the database did not say whether it kept the write: read it before you repeat it',
  overloaded: 'the database cannot be written: too many requests are waiting for it',
  stopped: 'the database cannot be written: the thread that writes it ended: restart Sallyport',
  failed: 'the database cannot be used: the disk reports an error',
};

/**
 * The database cannot be used for now. A write was not applied, with these exceptions: if the files disappeared during its commit, it is in
 * those files; if the writing thread ended (`stopped`), or PostgreSQL was lost between COMMIT and its answer (`unknown`), nobody knows
 * whether the write was committed.
 */
export class DatabaseUnavailable extends Refusal {
  readonly reason: UnavailableReason;

  /** `description` replaces the text for an SQLite file. */
  constructor(reason: UnavailableReason, options: ErrorOptions & { readonly description?: string | undefined } = {}) {
    super('unavailable', options.description ?? DESCRIPTIONS[reason], {
      headers: { 'Retry-After': String(DATABASE_RETRY_SECONDS) },
    });
    this.name = 'DatabaseUnavailable';
    this.reason = reason;
    // The stack would show where the error was noticed, not its cause.
    this.stack = `${this.name}: ${this.message}`;
    if (options.cause !== undefined) this.cause = options.cause;
  }
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

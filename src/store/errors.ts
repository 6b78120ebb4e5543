/** The errors that a verb of the store throws, and how a stale write is repeated. */
import { DATABASE_RETRY_SECONDS } from '../kernel/limits/database.ts';
import { Refusal, type Repeat } from '../kernel/refusal.ts';

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
 * files is no longer at its path. `replaced`: another file is. `denied`: the role lacks a privilege. `incomplete`: a table, a column or a
 * function is missing or has another form. `no_partition`: no partition takes a new row. `unreachable`: the database does not answer.
 * `unknown`: it did not say whether it committed the write. `waiting`: other writes wait for their commit. `overloaded`: too many writes
 * are queued. `stopped`: a database thread ended, and this process can write nothing more. `failed`: the disk reports an error, or the
 * server lacks a resource.
 */
export type UnavailableReason = keyof typeof UNAVAILABLE;

type Unavailable = {
  /** What is wrong with an SQLite file, or the same for both. */
  readonly text: string;
  /** What is wrong with a PostgreSQL server, if that differs. */
  readonly ofServer?: string;
  readonly repeat: Repeat;
};

/** What every reason means to the caller, in the API, the portal and commands. */
const UNAVAILABLE = {
  full: {
    text: 'the database cannot be written: the disk is full',
    ofServer: 'the database cannot be written: the disk of its server is full',
    repeat: 'once fixed',
  },
  read_only: {
    text: 'the database cannot be written: its file or its disk is read-only',
    ofServer: 'the database cannot be written: its server is read-only or a standby',
    repeat: 'once fixed',
  },
  locked: {
    text: 'the database cannot be written: another process has locked it',
    ofServer: 'the database did not answer in time: another transaction holds a lock',
    repeat: 'soon',
  },
  // The commit may be in the files that were moved.
  missing: {
    text: 'the database cannot be written: its files were moved or deleted: put them back, or restart Sallyport',
    repeat: 'after a look',
  },
  replaced: {
    text: 'the database cannot be written: other files are in their place: restart Sallyport',
    repeat: 'after a look',
  },
  damaged: {
    text: 'the database is damaged: restore a backup with sallyport restore <backup> --force',
    ofServer: 'the database server reports an internal error: see its log',
    repeat: 'once fixed',
  },
  denied: {
    text: 'the database refuses access: its role lacks a privilege; see sallyport doctor',
    repeat: 'once fixed',
  },
  incomplete: {
    text: 'the database lacks a table, a column or a function that Sallyport needs; see sallyport doctor',
    repeat: 'once fixed',
  },
  no_partition: {
    text: 'the database cannot be written: it has no partition for new rows; see sallyport doctor',
    repeat: 'once fixed',
  },
  unreachable: { text: 'the database cannot be reached', repeat: 'soon' },
  unknown: { text: 'the database did not answer the commit', repeat: 'after a look' },
  waiting: {
    text: 'the database did not answer in time: other writes wait for it, perhaps for a synchronous standby',
    repeat: 'soon',
  },
  overloaded: { text: 'the database cannot be written: too many requests are waiting for it', repeat: 'soon' },
  stopped: {
    text: 'the database cannot be written: the thread that writes it ended: restart Sallyport',
    repeat: 'after a look',
  },
  failed: {
    text: 'the database cannot be used: the disk reports an error',
    ofServer: 'the database server lacks a resource, or its system reports an error: see its log',
    repeat: 'once fixed',
  },
} as const satisfies Readonly<Record<string, Unavailable>>;

export const UNAVAILABLE_REASONS = Object.keys(UNAVAILABLE) as readonly UnavailableReason[];

function textOf({ text, ofServer, repeat }: Unavailable, isServer: boolean): string {
  const problem = (isServer ? ofServer : undefined) ?? text;
  return repeat === 'after a look'
    ? `${problem}; the write may or may not have been kept: read it before you repeat it`
    : problem;
}

/**
 * The database cannot be used for now. A write was not applied, unless `repeat` is `after a look`: then nobody knows whether it was
 * committed.
 */
export class DatabaseUnavailable extends Refusal {
  readonly reason: UnavailableReason;

  /** `isServer`: the database is a PostgreSQL server and not an SQLite file. */
  constructor(reason: UnavailableReason, options: ErrorOptions & { readonly isServer?: boolean } = {}) {
    const unavailable: Unavailable = UNAVAILABLE[reason];
    super('unavailable', textOf(unavailable, options.isServer === true), {
      headers: { 'Retry-After': String(DATABASE_RETRY_SECONDS) },
      repeat: unavailable.repeat,
    });
    this.name = 'DatabaseUnavailable';
    this.reason = reason;
    // The stack would show where the error was noticed, not its cause.
    this.stack = `${this.name}: ${this.message}`;
    if (options.cause !== undefined) this.cause = options.cause;
  }
}

/** Whether nobody knows if the write that failed was committed. */
export function mayBeCommitted(error: unknown): boolean {
  return error instanceof DatabaseUnavailable && error.repeat === 'after a look';
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

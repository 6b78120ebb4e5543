/** The errors that a verb of the store throws, and how a stale write is repeated. */
import type { Hold } from '../../domain/batch.ts';
import { Refusal, type Repeat } from '../../kernel/refusal.ts';

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

/** Another process may have sent for the webhook since its log was read, or the database has another log: nothing that was read holds. */
export class HoldOver extends StaleWrite {
  readonly hold: Hold;
  constructor(hold: Hold, { sql, expected, changed }: StaleWrite) {
    super(sql, expected, changed);
    this.name = 'HoldOver';
    this.hold = hold;
  }
}

const STALE_ROUNDS = 100;

/**
 * Repeats `decide` while its write is stale: a row or a row that it refers to changed, or another process took the row key. In each
 * round one of the concurrent writers wins, so up to `STALE_ROUNDS` writers can change the same row concurrently. Then the last error is
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
 * `locked`: another writer held the lock for longer than a request may wait. `missing`: the database is no longer in its place. `replaced`:
 * another database is. `denied`: the role lacks a privilege. `incomplete`: a table, a column or a function is missing or has another form.
 * `no_partition`: no partition takes a new row. `unreachable`: the database does not answer. `unknown`: it did not say whether it committed
 * the write. `waiting`: other writes wait for their commit. `overloaded`: too many writes are queued. `stopped`: this process can write
 * nothing more. `failed`: the system below the database reports an error.
 */
export type UnavailableReason = keyof typeof UNAVAILABLE;

type Unavailable = { readonly text: string; readonly repeat: Repeat };

/** The meaning of every reason for the caller, in the API, the portal and commands. A driver may add the cause and the remedy. */
const UNAVAILABLE = {
  full: { text: 'the database cannot be written: the disk is full', repeat: 'once fixed' },
  read_only: { text: 'the database cannot be written: it is read-only', repeat: 'once fixed' },
  locked: { text: 'the database is locked', repeat: 'soon' },
  // The commit may be in the database that was moved.
  missing: { text: 'the database cannot be written: it is no longer in its place', repeat: 'after a look' },
  replaced: { text: 'the database cannot be written: another database is in its place', repeat: 'after a look' },
  damaged: { text: 'the database is damaged', repeat: 'once fixed' },
  denied: { text: 'the database refuses access', repeat: 'once fixed' },
  incomplete: { text: 'the database lacks something that Sallyport needs', repeat: 'once fixed' },
  no_partition: { text: 'the database cannot be written: it has no place for new rows', repeat: 'once fixed' },
  unreachable: { text: 'the database cannot be reached', repeat: 'soon' },
  unknown: { text: 'the database did not answer the commit', repeat: 'after a look' },
  waiting: { text: 'the database did not answer in time: other writes wait for it', repeat: 'soon' },
  overloaded: { text: 'the database cannot be written: too many requests are waiting for it', repeat: 'soon' },
  stopped: { text: 'the database cannot be written: restart Sallyport', repeat: 'after a look' },
  failed: { text: 'the database cannot be used', repeat: 'once fixed' },
} as const satisfies Readonly<Record<string, Unavailable>>;

export const UNAVAILABLE_REASONS = Object.keys(UNAVAILABLE) as readonly UnavailableReason[];

/** The texts of a driver in place of those for every database. */
export type UnavailableTexts = Readonly<Partial<Record<UnavailableReason, string>>>;

/**
 * The database cannot be used for now. A write was not applied, unless `repeat` is `after a look`: then nobody knows whether it was
 * committed.
 */
export class DatabaseUnavailable extends Refusal {
  readonly reason: UnavailableReason;

  constructor(reason: UnavailableReason, options: ErrorOptions & { readonly texts?: UnavailableTexts } = {}) {
    const { text, repeat }: Unavailable = UNAVAILABLE[reason];
    const problem = options.texts?.[reason] ?? text;
    const look =
      repeat === 'after a look' ? '; the write may or may not have been kept: read it before you repeat it' : '';
    super('unavailable', `${problem}${look}`, { repeat });
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

/** Reasons that concern some rows and not the database. */
const OF_ROWS: ReadonlySet<UnavailableReason> = new Set(['damaged', 'locked']);

/** Whether no webhook can be claimed: this one need not wait longer than the others. */
export function isOutage(error: unknown): boolean {
  return error instanceof DatabaseUnavailable && !OF_ROWS.has(error.reason);
}

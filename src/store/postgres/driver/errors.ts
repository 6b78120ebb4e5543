/** The meaning of PostgreSQL's errors (Appendix A, "PostgreSQL Error Codes"). */
import {
  ConstraintViolation,
  DatabaseUnavailable,
  StaleWrite,
  type UnavailableReason,
  type UnavailableTexts,
} from '../../port/errors.ts';

/** The fields of an error that the server reports. */
export type ServerError = Error & {
  readonly code?: string;
  readonly detail?: string;
  readonly table?: string;
  readonly column?: string;
  readonly constraint?: string;
  /** The server's function that reports it. */
  readonly routine?: string;
};

/** Null: a fault of the program, which is answered with 500. */
type Meaning = UnavailableReason | ConstraintViolation['kind'] | null;

/** The meaning of each class, unless the code itself has one. */
const CLASSES: Readonly<Record<string, Meaning>> = {
  // Success, warnings, and what a program does wrong.
  '00': null,
  '01': null,
  '02': null,
  '03': null,
  '09': null,
  '0A': null,
  '0B': null,
  '0F': null,
  '0L': null,
  '0Z': null,
  '10': null,
  '20': null,
  '21': null,
  '22': null,
  '23': null,
  '24': null,
  '25': null,
  '27': null,
  '2B': null,
  '2D': null,
  '2F': null,
  '34': null,
  '38': null,
  '39': null,
  '3B': null,
  '42': null,
  '44': null,
  '54': null,
  HV: null,
  P0: null,
  '08': 'unreachable',
  '0P': 'denied',
  // The session no longer has its statements: something between ends sessions.
  '26': 'unreachable',
  // The server refuses the role, or no longer has the database.
  '28': 'unreachable',
  '3D': 'unreachable',
  '3F': 'incomplete',
  // Other transactions kept it from finishing, several times in a row.
  '40': 'locked',
  '53': 'failed',
  // For example: the database accepts no connections.
  '55': 'unreachable',
  '57': 'unreachable',
  '58': 'failed',
  '72': 'failed',
  F0: 'failed',
  XX: 'damaged',
};

const CODES: Readonly<Record<string, Meaning>> = {
  '23001': 'foreign_key',
  '23502': 'check',
  '23503': 'foreign_key',
  '23505': 'unique',
  '23514': 'check',
  '25006': 'read_only',
  // The session no longer has its transaction.
  '25P01': 'unreachable',
  '25P02': 'unreachable',
  '25P03': 'unreachable',
  '25P04': 'unreachable',
  '40003': 'unknown',
  // Also a policy of row security.
  '42501': 'denied',
  // No such column, object, function or table; ON CONFLICT without its index; a column or a function of another type.
  '42703': 'incomplete',
  '42704': 'incomplete',
  '42883': 'incomplete',
  '42P01': 'incomplete',
  '42P10': 'incomplete',
  '42804': 'incomplete',
  '42846': 'incomplete',
  '42P13': 'incomplete',
  '53100': 'full',
  '55006': 'locked',
  '55P03': 'locked',
  '57014': 'locked',
};

/** The meaning of a code; undefined if PostgreSQL has no such class. */
export function meaningOf(code: string): Meaning | undefined {
  return code in CODES ? CODES[code] : CLASSES[code.slice(0, 2)];
}

/** Translates an error of the client into one of the port; returns errors of the statement itself unchanged. */
export function portError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { code, detail, table, column, constraint } = error as ServerError;
  if (!isServerCode(code)) return isOwnError(error) ? error : unavailable('unreachable', error);
  // A row that no partition takes is no fault of the row.
  if (code === '23514' && constraint === undefined) return unavailable('no_partition', error);
  const meaning = meaningOf(code) ?? null;
  switch (meaning) {
    case null:
      return error;
    case 'unique':
    case 'foreign_key':
    case 'check':
      return new ConstraintViolation(meaning, columnsOf(table, detail, column), { cause: error });
    default:
      return unavailable(meaning, error);
  }
}

const TEXTS: UnavailableTexts = {
  full: 'the database cannot be written: the disk of its server is full',
  read_only: 'the database cannot be written: its server is read-only or a standby',
  locked: 'the database did not answer in time: another transaction holds a lock',
  damaged: 'the database server reports an internal error: see its log',
  denied: 'the database refuses access: its role lacks a privilege; see sallyport doctor',
  incomplete: 'the database lacks a table, a column or a function that Sallyport needs; see sallyport doctor',
  no_partition: 'the database cannot be written: it has no partition for new rows; see sallyport doctor',
  waiting: 'the database did not answer in time: other writes wait for it, perhaps for a synchronous standby',
  failed: 'the database server lacks a resource, or its system reports an error: see its log',
};

export function unavailable(reason: UnavailableReason, cause?: Error): DatabaseUnavailable {
  return new DatabaseUnavailable(reason, { texts: TEXTS, ...(cause !== undefined && { cause }) });
}

/** Errors of the system, such as EPIPE, are no codes of PostgreSQL: none of its classes begins with E. */
export function isServerCode(code: string | undefined): code is string {
  return code !== undefined && /^[0-9A-DF-Z][0-9A-Z]{4}$/.test(code);
}

/** Errors of this program, such as a missing parameter. Everything else without a code comes from the connection. */
function isOwnError(error: Error): boolean {
  return [RangeError, TypeError, StaleWrite, DatabaseUnavailable].some((kind) => error instanceof kind);
}

/** The connection is lost, the server is about to close it, or it leads to a server that can no longer be written. */
export function isLost(error: unknown): boolean {
  if (!(error instanceof Error) || isOwnError(error)) return false;
  const { code } = error as ServerError;
  return !isServerCode(code) || startsWithOne(code, ['57P', '08', '25006', '25P03', '25P04']);
}

/** An answer to COMMIT that does not say whether the transaction was committed. */
export function leavesOutcomeOpen(error: unknown): boolean {
  const { code = '' } = error as ServerError;
  return isLost(error) || startsWithOne(code, ['53', '58', 'XX']);
}

function startsWithOne(code: string, prefixes: readonly string[]): boolean {
  return prefixes.some((prefix) => code.startsWith(prefix));
}

/** Statements that the server prepared earlier no longer fit the tables, or are gone. A new connection helps. */
export function isStaleSession(error: unknown): boolean {
  const { code, routine } = error as ServerError;
  // The message depends on `lc_messages`; the name of the server's function does not.
  return code === '26000' || (code === '0A000' && routine === 'RevalidateCachedQuery');
}

/** Whether an error of `portError` says that no partition takes a row. */
export function lacksPartition(error: unknown): boolean {
  return error instanceof DatabaseUnavailable && error.reason === 'no_partition';
}

/** A transaction that another one kept from finishing; run again, it may finish. */
export function isWorthAnother(error: unknown): boolean {
  const { code } = error as ServerError;
  return code === '40001' || code === '40P01';
}

/** `table.column` of `Key (a, b)=(…) already exists.`; partitions count as their table. */
function columnsOf(table = '', detail = '', column?: string): readonly string[] {
  const name = table.replace(/_p\d+$/, '');
  const [, columns] = /\(([^)]*)\)=/.exec(detail) ?? [];
  const found = column ?? columns;
  return found === undefined ? [name] : found.split(', ').map((one) => `${name}.${one}`);
}

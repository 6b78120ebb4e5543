/** The meaning of PostgreSQL's errors (Appendix A, "PostgreSQL Error Codes"). */
import { ConstraintViolation, DatabaseUnavailable, StaleWrite, type UnavailableReason } from '../../errors.ts';

/** The fields of an error that the server reports. */
export type ServerError = Error & {
  readonly code?: string;
  readonly detail?: string;
  readonly table?: string;
  readonly column?: string;
  readonly constraint?: string;
};

const KINDS: Readonly<Record<string, ConstraintViolation['kind']>> = {
  '23505': 'unique',
  '23503': 'foreign_key',
  '23514': 'check',
  '23502': 'check',
};

/** By prefix of the code. */
const REASONS: readonly (readonly [code: string, reason: UnavailableReason])[] = [
  ['53100', 'full'],
  ['53', 'failed'],
  ['25006', 'read_only'],
  ['55P03', 'locked'],
  ['57014', 'locked'],
  // Other transactions kept it from finishing, several times in a row.
  ['40', 'locked'],
  ['57P', 'unreachable'],
  ['08', 'unreachable'],
  // The server does not let the role in, or has no such database any more.
  ['28', 'unreachable'],
  ['3D', 'unreachable'],
  // The session no longer has its statements or its transaction: something between ends sessions.
  ['26', 'unreachable'],
  ['25P', 'unreachable'],
  ['58', 'failed'],
  ['XX', 'damaged'],
];

/** Translates an error of the client into one of the port; returns errors of the statement itself unchanged. */
export function portError(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const { code, detail, table, column, constraint } = error as ServerError;
  if (!isServerCode(code)) {
    return isOwnError(error) ? error : new DatabaseUnavailable('unreachable', { cause: error });
  }
  if (code === '23514' && constraint === undefined) {
    return new DatabaseUnavailable('failed', { cause: error, description: NO_PARTITION });
  }
  const kind = KINDS[code];
  if (kind !== undefined) return new ConstraintViolation(kind, columnsOf(table, detail, column), { cause: error });
  const reason = REASONS.find(([prefix]) => code.startsWith(prefix))?.[1];
  if (reason === undefined) return error;
  return new DatabaseUnavailable(reason, { cause: error, description: DESCRIPTIONS[reason] });
}

/** A row that no partition takes is no fault of the row. */
const NO_PARTITION = 'the database cannot be written: it has no partition for new rows; see sallyport doctor';

/** Errors of the system, such as EPIPE, are no codes of PostgreSQL: none of its classes begins with E. */
export function isServerCode(code: string | undefined): code is string {
  return code !== undefined && /^[0-9A-DF-Z][0-9A-Z]{4}$/.test(code);
}

/** The files are the server's. */
const DESCRIPTIONS: Readonly<Partial<Record<UnavailableReason, string>>> = {
  full: 'the database cannot be written: the disk of its server is full',
  read_only: 'the database cannot be written: its server is read-only or a standby',
  locked: 'the database did not answer in time: another transaction holds a lock',
  damaged: 'the database server reports an internal error: see its log',
  failed: 'the database server lacks a resource: see its log',
};

/** Errors of this program, such as a missing parameter. Everything else without a code comes from the connection. */
function isOwnError(error: Error): boolean {
  return [RangeError, TypeError, StaleWrite, DatabaseUnavailable].some((kind) => error instanceof kind);
}

/** The connection is lost, the server is about to close it, or it leads to a server that can no longer be written. */
export function isLost(error: unknown): boolean {
  if (!(error instanceof Error) || isOwnError(error)) return false;
  const { code } = error as ServerError;
  return !isServerCode(code) || startsWithOne(code, ['57P', '08', '25006', '25P03']);
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
  const { code, message } = error as ServerError;
  return code === '26000' || (code === '0A000' && message.includes('cached plan'));
}

/** Whether an error of `portError` says that no partition takes a row. */
export function lacksPartition(error: unknown): boolean {
  return error instanceof DatabaseUnavailable && error.message === NO_PARTITION;
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

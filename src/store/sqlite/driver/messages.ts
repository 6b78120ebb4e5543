/** What goes between the event loop and the database's threads: lists of statements, what became of them, checkpoints. */
import BetterSqlite3 from 'better-sqlite3';
import { ConstraintViolation, DatabaseUnavailable, StaleWrite, type UnavailableReason } from '../../errors.ts';
import type { Row, StatementResult } from './database.ts';
import type { Aside, Packed, PackedValue, Packing } from './packing.ts';
import type { ListOutcome } from './transaction.ts';

/** A statement by its number among those that the thread was told, the changes it must make or -1 for any, then its values. */
export type SentStatement = readonly [statement: number, expectChanges: number, ...values: PackedValue[]];
export type SentList = readonly SentStatement[];

/** `PASSIVE` copies what it can without waiting for anybody; `TRUNCATE` waits for readers, a moment, and empties the log. */
export type CheckpointMode = 'PASSIVE' | 'TRUNCATE';

export type ThreadRequest =
  /** `texts` are the statements that get the next numbers; `lists` a `SentList[]`. */
  | { readonly kind: 'lists'; readonly texts: readonly string[]; readonly lists: Packed }
  | { readonly kind: 'checkpoint'; readonly mode: CheckpointMode }
  | { readonly kind: 'close' };

/** The pages in the log, and how many of them are in the file too. `busy`: somebody else kept it from going all the way. */
export type LogState = { readonly busy: boolean; readonly pages: number; readonly copied: number };

export type ThreadReply =
  /** It has its connection. */
  | { readonly kind: 'ready' }
  /** Outcomes in the order in which the lists were sent, as a `SentOutcome[]`; a message may answer many, or some of one. */
  | {
      readonly kind: 'committed';
      readonly outcomes: Packed;
      readonly commitMs: number;
      readonly log: LogState;
    }
  | { readonly kind: 'checkpointed'; readonly log: LogState }
  /** A checkpoint that could not be: no room, or the disk failed. What was committed stays in the log. */
  | { readonly kind: 'notCheckpointed'; readonly refusal: SentError };

/** Of each statement its changes, or its rows where it has any; then how long they took in milliseconds. */
export type SentOutcome =
  | readonly [results: readonly (number | readonly [rows: number])[], statementsMs: number]
  | { readonly refusal: SentError };

/** An error's class does not survive the way between threads. */
export type SentError =
  | { readonly type: 'stale'; readonly sql: string; readonly expected: number; readonly changed: number }
  | { readonly type: 'constraint'; readonly kind: ConstraintViolation['kind']; readonly columns: readonly string[] }
  | { readonly type: 'unavailable'; readonly reason: UnavailableReason; readonly cause: SentError | null }
  | { readonly type: 'sqlite'; readonly message: string; readonly code: string }
  | { readonly type: 'other'; readonly message: string };

export function sentOutcome(outcome: ListOutcome, packing: Pick<Packing, 'rows'>): SentOutcome {
  if (!outcome.ok) return { refusal: sentError(outcome.error) };
  const results = outcome.results.map(({ changes, rows }) => (rows.length === 0 ? changes : packing.rows(rows)));
  return [results, outcome.statementsMs];
}

export function receivedOutcomes({ json, asides }: Packed): ListOutcome[] {
  return (JSON.parse(json) as SentOutcome[]).map((sent): ListOutcome => {
    if ('refusal' in sent) return { ok: false, error: receivedError(sent.refusal) };
    const [results, statementsMs] = sent;
    return { ok: true, results: results.map((result) => receivedResult(result, asides)), statementsMs };
  });
}

function receivedResult(result: number | readonly [number], asides: readonly Aside[]): StatementResult {
  if (typeof result === 'number') return { changes: result, rows: NO_ROWS };
  const rows = asides[result[0]] as readonly Row[];
  return { changes: rows.length, rows };
}

const NO_ROWS: readonly Row[] = [];

export function sentError(error: unknown): SentError {
  if (error instanceof StaleWrite) {
    const { sql, expected, changed } = error;
    return { type: 'stale', sql, expected, changed };
  }
  if (error instanceof ConstraintViolation) return { type: 'constraint', kind: error.kind, columns: error.columns };
  if (error instanceof DatabaseUnavailable) {
    const { reason, cause } = error;
    return { type: 'unavailable', reason, cause: cause === undefined ? null : sentError(cause) };
  }
  if (error instanceof BetterSqlite3.SqliteError) return { type: 'sqlite', message: error.message, code: error.code };
  return { type: 'other', message: (error as Error).message };
}

export function receivedError(sent: SentError): Error {
  switch (sent.type) {
    case 'stale':
      return new StaleWrite(sent.sql, sent.expected, sent.changed);
    case 'constraint':
      return new ConstraintViolation(sent.kind, sent.columns);
    case 'unavailable':
      return new DatabaseUnavailable(sent.reason, sent.cause === null ? {} : { cause: receivedError(sent.cause) });
    case 'sqlite':
      return new BetterSqlite3.SqliteError(sent.message, sent.code);
    default:
      return new Error(sent.message);
  }
}

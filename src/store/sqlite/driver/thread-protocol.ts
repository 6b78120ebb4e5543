/**
 * The messages between the event loop and the threads of a database: lists of statements, their outcomes, and checkpoints.
 *
 * Lists and outcomes travel as JSON text, which costs a third of a structured clone of the same lists (benchmark "Issuing tokens"). Values
 * that JSON cannot hold, and large ones that it would only copy, travel as attachments beside the text.
 */
import BetterSqlite3 from 'better-sqlite3';
import { ConstraintViolation, DatabaseUnavailable, StaleWrite, type UnavailableReason } from '../../errors.ts';
import type { Row, SqlValue, StatementResult } from './database.ts';
import type { FileIdentities } from './database-files.ts';
import type { ListOutcome } from './transaction.ts';

/** What a thread starts with: the database's path, and the files that the event loop has open there. */
export type ThreadStart = { readonly path: string; readonly files: FileIdentities };

/** `PASSIVE` copies what it can without waiting. `TRUNCATE` waits for readers for a moment, then empties the log. */
export type CheckpointMode = 'PASSIVE' | 'TRUNCATE';

export type ThreadRequest =
  /** `lists` holds a `SentList[]`. `texts` are new statements: each gets the next number. */
  | { readonly kind: 'lists'; readonly texts: readonly string[]; readonly lists: Packed }
  | { readonly kind: 'checkpoint'; readonly mode: CheckpointMode }
  | { readonly kind: 'close' };

/** The pages in the log, and how many of them are in the database's file too. `busy`: another connection stopped the checkpoint. */
export type LogState = { readonly busy: boolean; readonly pages: number; readonly copied: number };

export type ThreadReply =
  /** The thread has its connection. */
  | { readonly kind: 'ready' }
  /** The outcomes of the next lists, in the order in which the lists were sent, as a `SentOutcome[]`. */
  | { readonly kind: 'committed'; readonly outcomes: Packed; readonly commitMs: number; readonly log: LogState }
  | { readonly kind: 'checkpointed'; readonly log: LogState }
  /** The checkpoint failed, for example on a full disk. What was committed stays in the log. */
  | { readonly kind: 'notCheckpointed'; readonly error: SentError };

/** A statement's number, the number of rows it must change (-1: any), and its values. */
export type SentStatement = readonly [statement: number, expectChanges: number, ...values: PackedValue[]];
export type SentList = readonly SentStatement[];

/** For each statement its changes, or its rows if it returned any; then the duration of the statements in milliseconds. */
export type SentOutcome =
  | readonly [results: readonly (number | AttachmentPlace)[], statementsMs: number]
  | { readonly error: SentError };

/** A structured clone loses the class of an error. */
export type SentError =
  | { readonly type: 'stale'; readonly sql: string; readonly expected: number; readonly changed: number }
  | { readonly type: 'constraint'; readonly kind: ConstraintViolation['kind']; readonly columns: readonly string[] }
  | { readonly type: 'unavailable'; readonly reason: UnavailableReason; readonly cause: SentError | null }
  | { readonly type: 'sqlite'; readonly message: string; readonly code: string }
  | { readonly type: 'other'; readonly message: string };

/** JSON text and its attachments. */
export type Packed = { readonly json: string; readonly attachments: readonly Attachment[] };
export type Attachment = SqlValue | readonly Row[];
type AttachmentPlace = readonly [place: number];

/** A value within the JSON: itself, `[Base64]` of a few bytes, or `[place]` of an attachment. */
export type PackedValue = string | number | null | readonly [string | number];

export type Packing = {
  value(value: SqlValue): PackedValue;
  rows(rows: readonly Row[]): AttachmentPlace;
  /** The finished message part: `content` as JSON, with the attachments gathered so far. */
  end(content: unknown): Packed;
};

/** Longer values are faster as attachments. Long text is mostly JSON, in which every quote would be escaped. */
const JSON_TEXT_MAX = 200;
const JSON_BYTES_MAX = 100;

export function createPacking(): Packing {
  const attachments: Attachment[] = [];
  const attach = (value: Attachment): AttachmentPlace => [attachments.push(value) - 1];
  return {
    value: (value) => {
      switch (typeof value) {
        case 'string':
          return value.length > JSON_TEXT_MAX ? attach(value) : value;
        case 'number':
          return Number.isFinite(value) && !Object.is(value, -0) ? value : attach(value);
        case 'object':
          if (value === null) return null;
          return value.byteLength > JSON_BYTES_MAX ? attach(withOwnBuffer(value)) : [base64(value)];
        default:
          return attach(value);
      }
    },
    rows: attach,
    end: (content) => ({ json: JSON.stringify(content), attachments }),
  };
}

export function unpackedValue(value: PackedValue, attachments: readonly Attachment[]): SqlValue {
  if (typeof value !== 'object' || value === null) return value;
  const [held] = value;
  return typeof held === 'number' ? (attachments[held] as SqlValue) : Buffer.from(held, 'base64');
}

/** Copies bytes that are part of a larger buffer, such as a pool: the whole buffer would be sent. */
function withOwnBuffer(bytes: Uint8Array): Uint8Array {
  return bytes.byteLength === bytes.buffer.byteLength ? bytes : Uint8Array.from(bytes);
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}

export function sentOutcomes(outcomes: readonly ListOutcome[]): Packed {
  const packing = createPacking();
  const sent = outcomes.map((outcome): SentOutcome => {
    if (!outcome.ok) return { error: sentError(outcome.error) };
    const results = outcome.results.map(({ changes, rows }) => (rows.length === 0 ? changes : packing.rows(rows)));
    return [results, outcome.statementsMs];
  });
  return packing.end(sent);
}

export function receivedOutcomes({ json, attachments }: Packed): ListOutcome[] {
  return (JSON.parse(json) as SentOutcome[]).map((sent): ListOutcome => {
    if ('error' in sent) return { ok: false, error: receivedError(sent.error) };
    const [results, statementsMs] = sent;
    return { ok: true, results: results.map((result) => receivedResult(result, attachments)), statementsMs };
  });
}

function receivedResult(result: number | AttachmentPlace, attachments: readonly Attachment[]): StatementResult {
  if (typeof result === 'number') return { changes: result, rows: NO_ROWS };
  const rows = attachments[result[0]] as readonly Row[];
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

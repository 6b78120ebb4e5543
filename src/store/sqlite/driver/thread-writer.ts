/**
 * Commits in threads, for the one server of a database, and the messages between the event loop and its threads. One thread writes, so
 * that neither statements nor fsyncs block the event loop. A second thread starts with the first checkpoint and copies the log into the
 * file, so that copying does not block the first.
 */

import { Worker } from 'node:worker_threads';
import BetterSqlite3 from 'better-sqlite3';
import { threadProgram } from '../../../kernel/assets.ts';
import type { Row, SqlValue, Statement, StatementResult } from '../../database.ts';
import { ConstraintViolation, DatabaseUnavailable, StaleWrite, type UnavailableReason } from '../../errors.ts';
import { type FileIdentities, parameterNames, valuesOf } from './connection.ts';
import {
  answerList,
  createCheckpoints,
  type ListOutcome,
  type LogState,
  type WaitingList,
  type Writer,
} from './writer.ts';

/** The first message to a thread: the database's path, and the files that the event loop has open there. */
export type ThreadStart = { readonly path: string; readonly files: FileIdentities };

/** `PASSIVE` copies what it can without waiting. `TRUNCATE` waits for readers for a moment, then empties the log. */
export type CheckpointMode = 'PASSIVE' | 'TRUNCATE';

export type ThreadRequest =
  /** `lists` holds a `SentList[]`. `texts` are new statements: each gets the next number. */
  | { readonly kind: 'lists'; readonly texts: readonly string[]; readonly lists: Packed }
  | { readonly kind: 'checkpoint'; readonly mode: CheckpointMode }
  | { readonly kind: 'close' };

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
type SentOutcome =
  | readonly [results: readonly (number | AttachmentPlace)[], statementsMs: number]
  | { readonly error: SentError };

/** A structured clone loses the class of an error. */
export type SentError =
  | { readonly type: 'stale'; readonly sql: string; readonly expected: number; readonly changed: number }
  | { readonly type: 'constraint'; readonly kind: ConstraintViolation['kind']; readonly columns: readonly string[] }
  | { readonly type: 'unavailable'; readonly reason: UnavailableReason; readonly cause: SentError | null }
  | { readonly type: 'sqlite'; readonly message: string; readonly code: string }
  | { readonly type: 'other'; readonly message: string };

/**
 * JSON text and its attachments. Lists and outcomes travel as JSON text, which costs a third of a structured clone of the same lists
 * (benchmark "Issuing tokens"). Values that JSON cannot hold, and large ones that it would only copy, are attachments.
 */
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
/** An empty array gets its memory when that is first asked for, which takes 10 µs. Most responses to deliveries have no body. */
const NO_BYTES: PackedValue = [''];

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
          if (value.byteLength === 0) return NO_BYTES;
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

function receivedOutcomes({ json, attachments }: Packed): ListOutcome[] {
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

function receivedError(sent: SentError): Error {
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

export type ThreadEvents = {
  /** A thread ended unexpectedly. Nothing more can be written: every list is refused from now on. */
  readonly onEnd: (error: Error) => void;
  /** The log could not be checkpointed. Called once until a checkpoint succeeds again; commits go on and the log grows. */
  readonly onCheckpointFailure: (error: Error) => void;
  /** The thread to write in, if it is already started (`startDatabaseThread`). */
  readonly thread?: Worker | undefined;
};

/** Throws if the system gives the process no further thread. */
export function createThreadWriter(
  start: ThreadStart,
  { onEnd, onCheckpointFailure, thread, onCommit }: ThreadEvents & { readonly onCommit: () => void },
): Writer {
  let isEnded = false;
  const end = (error: Error): void => {
    if (isEnded) return;
    isEnded = true;
    writer.refuseAll(error);
    onEnd(error);
  };
  const writer = openThread(thread ?? startDatabaseThread(), start, {
    onEnd: end,
    onCommit: (log) => {
      onCommit();
      checkpoints.committed(log);
    },
  });
  // A thread takes 15 MB, so the second one begins when there is first something to copy.
  let copier: Thread | null = null;
  const checkpoints = createCheckpoints({
    copy: () => {
      copier ??= openThread(startDatabaseThread(), start, { onEnd: end, onCommit: () => {} });
      // Until the second thread has its connection, the first one copies: otherwise the log would grow for its start.
      return (copier.isReady() ? copier : writer).checkpoint('PASSIVE');
    },
    finish: () => writer.checkpoint('PASSIVE'),
    onFailure: onCheckpointFailure,
  });
  return {
    commit: writer.commit,
    canBegin: writer.isIdle,
    truncateLog: async () => {
      await checkpoints.settled();
      try {
        return !(await writer.checkpoint('TRUNCATE')).busy;
      } catch (error) {
        // For example on a full disk.
        if (error instanceof BetterSqlite3.SqliteError) return false;
        throw error;
      }
    },
    close: async () => {
      // The last commits may be what begins the second thread.
      await writer.close();
      await copier?.close();
    },
  };
}

type Thread = {
  /** The thread has its connection. */
  isReady(): boolean;
  /** No list waits for its answer. */
  isIdle(): boolean;
  /** Commits lists after those before. Each is answered. */
  commit(lists: readonly WaitingList[]): void;
  /** Rejects if the checkpoint failed, for example on a full disk; the thread goes on. */
  checkpoint(mode: CheckpointMode): Promise<LogState>;
  /** Refuses what waits, and everything from now on. */
  refuseAll(cause: Error): void;
  /** Resolves when everything asked before is answered and the thread has ended. */
  close(): Promise<void>;
};

type WaitingCheckpoint = {
  readonly resolve: (log: LogState) => void;
  readonly reject: (error: Error) => void;
};

/**
 * Starts a thread, which waits for its first message. It takes 65 ms to load its program: a server starts it before it loads the service.
 * Throws if the system gives the process no further thread.
 */
export function startDatabaseThread(): Worker {
  // The threads of the single binary use the addon that the event loop has loaded.
  new BetterSqlite3(':memory:').close();
  const program = threadProgram('database');
  const worker = new Worker(program, {
    ...{ name: 'sallyport-database', eval: typeof program === 'string' },
    // Its data is short-lived: a larger young generation would only fill with garbage (benchmark "Memory").
    resourceLimits: { maxYoungGenerationSizeMb: 4 },
  });
  worker.unref();
  return worker;
}

function openThread(
  worker: Worker,
  start: ThreadStart,
  { onEnd, onCommit }: { readonly onEnd: (error: Error) => void; readonly onCommit: (log: LogState) => void },
): Thread {
  const numbering = createNumbering();
  let lists: WaitingList[] = [];
  let checkpoints: WaitingCheckpoint[] = [];
  let onClosed: (() => void) | null = null;
  let refusal: Error | null = null;
  let isReady = false;

  /** Keeps a program with nothing else to do alive until its requests are answered, and no longer. */
  const hold = (): void => {
    if (lists.length + checkpoints.length > 0 || onClosed !== null) worker.ref();
    else worker.unref();
  };
  const send = (request: ThreadRequest): void => {
    hold();
    worker.postMessage(request);
  };
  const refuseAll = (cause: Error): void => {
    refusal ??= new DatabaseUnavailable('stopped', { cause });
    for (const { reject } of [...lists, ...checkpoints]) reject(refusal);
    lists = [];
    checkpoints = [];
  };
  const end = (error: Error): void => {
    refuseAll(error);
    if (onClosed === null) onEnd(error);
    else onClosed();
  };

  worker.postMessage(start);
  hold();
  worker.on('message', (reply: ThreadReply) => {
    if (reply.kind === 'ready') isReady = true;
    else if (reply.kind === 'checkpointed') checkpoints.shift()?.resolve(reply.log);
    else if (reply.kind === 'notCheckpointed') checkpoints.shift()?.reject(receivedError(reply.error));
    else {
      onCommit(reply.log);
      const outcomes = receivedOutcomes(reply.outcomes);
      const answered = lists.splice(0, outcomes.length);
      for (const [at, outcome] of outcomes.entries()) answerList(answered[at], outcome, reply.commitMs);
    }
    hold();
  });
  worker.once('error', (error) => end(error instanceof Error ? error : new Error(String(error))));
  worker.once('exit', () => end(new Error('the thread ended')));

  return {
    isReady: () => isReady,
    isIdle: () => lists.length === 0,
    commit: (handed) => {
      const packing = createPacking();
      const sent: SentList[] = [];
      for (const list of handed) {
        try {
          if (refusal !== null) throw refusal;
          sent.push(list.statements.map((statement) => numbering.sent(statement, packing)));
          lists.push(list);
        } catch (error) {
          list.reject(error);
        }
      }
      if (sent.length > 0) send({ kind: 'lists', texts: numbering.newTexts(), lists: packing.end(sent) });
    },
    checkpoint: (mode) =>
      new Promise((resolve, reject) => {
        if (refusal !== null) return reject(refusal);
        checkpoints.push({ resolve, reject });
        send({ kind: 'checkpoint', mode });
      }),
    refuseAll,
    close: async () => {
      if (refusal !== null) return void (await worker.terminate());
      await new Promise<void>((resolve) => {
        onClosed = resolve;
        send({ kind: 'close' });
      });
    },
  };
}

/** Sends statements by number: their texts are long, and the same few come again and again. */
function createNumbering(): { sent(statement: Statement, packing: Packing): SentStatement; newTexts(): string[] } {
  const known = new Map<string, { readonly number: number; readonly names: readonly string[] }>();
  let unsent: string[] = [];
  return {
    sent: ({ sql, params, expectChanges }, packing) => {
      let entry = known.get(sql);
      if (entry === undefined) {
        entry = { number: known.size, names: parameterNames(sql) };
        known.set(sql, entry);
        unsent.push(sql);
      }
      return [entry.number, expectChanges ?? -1, ...valuesOf(entry.names, params).map(packing.value)];
    },
    newTexts: () => {
      const texts = unsent;
      unsent = [];
      return texts;
    },
  };
}

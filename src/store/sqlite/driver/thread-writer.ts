/**
 * Commits in threads, for the one server of a database, and the messages between the event loop and its threads. One thread writes, so
 * that neither statements nor fsyncs block the event loop. A second thread starts with the first checkpoint and copies the log into the
 * file, so that copying does not block the first.
 */

import { Worker } from 'node:worker_threads';
import BetterSqlite3 from 'better-sqlite3';
import { threadProgram } from '../../../kernel/assets.ts';
import type { Row, SqlValue, Statement, StatementResult } from '../../port/database.ts';
import { ConstraintViolation, DatabaseUnavailable, StaleWrite, type UnavailableReason } from '../../port/errors.ts';
import { type FileIdentities, parameterNames, valuesOf } from './connection.ts';
import { unavailable } from './errors.ts';
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
  /** `texts` are new statements: each gets the next number. */
  | { readonly kind: 'lists'; readonly texts: readonly string[]; readonly lists: SentLists }
  | { readonly kind: 'checkpoint'; readonly mode: CheckpointMode }
  | { readonly kind: 'close' };

export type ThreadReply =
  /** The thread has its connection. */
  | { readonly kind: 'ready' }
  /** The outcomes of the next lists, in the order in which the lists were sent. */
  | {
      readonly kind: 'committed';
      readonly outcomes: readonly SentOutcome[];
      readonly commitMs: number;
      readonly log: LogState;
    }
  | { readonly kind: 'checkpointed'; readonly log: LogState }
  /** The checkpoint failed, for example on a full disk. What was committed stays in the log. */
  | { readonly kind: 'notCheckpointed'; readonly error: SentError };

/**
 * Lists of statements as one flat array: for each list the number of its statements; for each statement its number, the number of rows it
 * must change (-1: any), the number of its values, and the values. A structured clone of nested arrays takes twice as long, and JSON three
 * times.
 */
type SentLists = readonly SqlValue[];
export type SentStatement = {
  readonly number: number;
  readonly expectChanges: number | undefined;
  readonly values: readonly SqlValue[];
};

/** The duration of the statements in milliseconds; then for each statement its changes, or its rows if it returned any. */
type SentOutcome =
  | readonly [statementsMs: number, ...results: (number | readonly Row[])[]]
  | { readonly error: SentError };

/** A structured clone loses the class of an error. */
type SentError =
  | { readonly type: 'stale'; readonly sql: string; readonly expected: number; readonly changed: number }
  | { readonly type: 'constraint'; readonly kind: ConstraintViolation['kind']; readonly columns: readonly string[] }
  | { readonly type: 'unavailable'; readonly reason: UnavailableReason; readonly cause: SentError | null }
  | { readonly type: 'sqlite'; readonly message: string; readonly code: string }
  | { readonly type: 'other'; readonly message: string };

/** Appends a list to lists that are sent. */
export function appendList(lists: SqlValue[], statements: readonly SentStatement[]): void {
  lists.push(statements.length);
  for (const { number, expectChanges, values } of statements) {
    lists.push(number, expectChanges ?? -1, values.length);
    for (const value of values) lists.push(value instanceof Uint8Array ? withOwnBuffer(value) : value);
  }
}

/** The statements of each list. */
export function receivedLists(lists: SentLists): SentStatement[][] {
  const received: SentStatement[][] = [];
  let at = 0;
  const next = (): number => Number(lists[at++]);
  while (at < lists.length) {
    received.push(
      Array.from({ length: next() }, () => {
        const [number, expected, count] = [next(), next(), next()];
        at += count;
        const expectChanges = expected === -1 ? undefined : expected;
        return { number, expectChanges, values: lists.slice(at - count, at) };
      }),
    );
  }
  return received;
}

/** Copies bytes that are part of a larger buffer, such as a pool: the whole buffer would be sent. */
function withOwnBuffer(bytes: Uint8Array): Uint8Array {
  return bytes.byteLength === bytes.buffer.byteLength ? bytes : Uint8Array.from(bytes);
}

export function sentOutcome(outcome: ListOutcome): SentOutcome {
  if (!outcome.ok) return { error: sentError(outcome.error) };
  return [outcome.statementsMs, ...outcome.results.map(({ changes, rows }) => (rows.length === 0 ? changes : rows))];
}

function receivedOutcome(sent: SentOutcome): ListOutcome {
  if ('error' in sent) return { ok: false, error: receivedError(sent.error) };
  const [statementsMs, ...results] = sent;
  return { ok: true, results: results.map(receivedResult), statementsMs };
}

function receivedResult(result: number | readonly Row[]): StatementResult {
  return typeof result === 'number' ? { changes: result, rows: NO_ROWS } : { changes: result.length, rows: result };
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
      return unavailable(sent.reason, sent.cause === null ? undefined : receivedError(sent.cause));
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
  /** Rejects if the checkpoint failed, for example on a full disk; the thread continues. */
  checkpoint(mode: CheckpointMode): Promise<LogState>;
  /** Refuses all waiting lists and checkpoints, and everything from now on. */
  refuseAll(cause: Error): void;
  /** Resolves when everything asked before is answered and the thread has ended. */
  close(): Promise<void>;
};

type WaitingCheckpoint = {
  readonly resolve: (log: LogState) => void;
  readonly reject: (error: Error) => void;
};

/**
 * Starts a thread, which waits for its first message. The thread loads its program in 65 ms: a server starts it before it loads the
 * service. Throws if the system gives the process no further thread.
 */
export function startDatabaseThread(): Worker {
  // The threads of the single binary use the addon that the event loop has loaded.
  new BetterSqlite3(':memory:').close();
  const program = threadProgram('database');
  const worker = new Worker(program, {
    name: 'sallyport-database',
    eval: typeof program === 'string',
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
    refusal ??= unavailable('stopped', cause);
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
    // `node --watch` reports the files that a thread loads here too.
    else if (reply.kind === 'committed') {
      onCommit(reply.log);
      const answered = lists.splice(0, reply.outcomes.length);
      for (const [at, sent] of reply.outcomes.entries())
        answerList(answered[at], receivedOutcome(sent), reply.commitMs);
    }
    hold();
  });
  worker.once('error', (error) => end(error instanceof Error ? error : new Error(String(error))));
  worker.once('exit', () => end(new Error('the thread ended')));

  return {
    isReady: () => isReady,
    isIdle: () => lists.length === 0,
    commit: (handed) => {
      const sent: SqlValue[] = [];
      for (const list of handed) {
        try {
          if (refusal !== null) throw refusal;
          appendList(sent, list.statements.map(numbering.sent));
          lists.push(list);
        } catch (error) {
          list.reject(error);
        }
      }
      if (sent.length > 0) send({ kind: 'lists', texts: numbering.newTexts(), lists: sent });
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

/**
 * Sends statements by number: their texts are long, and the same few come again and again. `number` is not the first property of its
 * objects, since other objects begin with a `number` of another type (see `Position` in domain/path.ts).
 */
function createNumbering(): { sent(statement: Statement): SentStatement; newTexts(): string[] } {
  const known = new Map<string, { readonly number: number; readonly names: readonly string[] }>();
  let unsent: string[] = [];
  return {
    sent: ({ sql, params, expectChanges }) => {
      let entry = known.get(sql);
      if (entry === undefined) {
        entry = { names: parameterNames(sql), number: known.size };
        known.set(sql, entry);
        unsent.push(sql);
      }
      return { values: valuesOf(entry.names, params), number: entry.number, expectChanges };
    },
    newTexts: () => {
      const texts = unsent;
      unsent = [];
      return texts;
    },
  };
}

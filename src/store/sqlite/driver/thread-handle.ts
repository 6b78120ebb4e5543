/** One thread of the database as the event loop has it: what it is asked, in order, and who waits for the answers. */
import { Worker } from 'node:worker_threads';
import { threadProgram } from '../../../kernel/assets.ts';
import { parameterNames, valuesOf } from './connection.ts';
import type { Statement, StatementResult, WriteTime } from './database.ts';
import type { FileIdentities } from './database-files.ts';
import {
  type CheckpointMode,
  type LogState,
  receivedError,
  receivedOutcomes,
  type SentList,
  type SentStatement,
  type ThreadReply,
  type ThreadRequest,
} from './messages.ts';
import { createPacking, type Packing } from './packing.ts';
import type { ListOutcome } from './transaction.ts';

/** A list of statements, since when it waits by the process's stopwatch, and whoever waits for it. */
export type WaitingList = {
  readonly statements: readonly Statement[];
  readonly since: number;
  readonly resolve: (results: readonly StatementResult[]) => void;
  readonly reject: (error: unknown) => void;
  readonly onWritten: ((took: WriteTime) => void) | undefined;
};

export type Thread = {
  /** Resolves once it has its connection, or has ended without. */
  readonly begun: Promise<void>;
  /** It has its connection, and has not ended. */
  isReady(): boolean;
  /** No list waits for its answer. */
  isIdle(): boolean;
  /** Commits lists, behind those before. Each is answered. */
  commit(lists: readonly WaitingList[]): void;
  /** Rejects where it could not be, for want of room for instance; the thread goes on. */
  checkpoint(mode: CheckpointMode): Promise<LogState>;
  /** Resolves when everything that was asked before is answered and the thread has ended. */
  close(): Promise<void>;
};

/** Told of a thread that ended unasked. What it had in hand is rejected: nobody knows whether it is written. */
export type OnThreadEnd = (error: Error) => void;

/** A database by its path, and which files were opened there. */
export type OpenedFiles = { readonly path: string; readonly files: FileIdentities };

/** `onCommit` is told of the log after every commit, before the answers. */
export function startThread(
  opened: OpenedFiles,
  onEnd: OnThreadEnd,
  onCommit: (log: LogState) => void = () => {},
): Thread {
  let worker: Worker;
  try {
    worker = startWorker(opened);
  } catch (error) {
    return neverBegun(error as Error, onEnd);
  }
  const statements = createNumbering();
  let lists: WaitingList[] = [];
  let checkpoints: Asked[] = [];
  let state: 'starting' | 'ready' | 'closing' | 'ended' = 'starting';
  let onClosed = (): void => {};
  let onBegun = (): void => {};
  const begun = new Promise<void>((resolve) => {
    onBegun = resolve;
  });

  /** A program with nothing else to do ends though it has threads, but not before what it asked of them is answered. */
  const hold = (): void => {
    if (lists.length + checkpoints.length > 0 || state === 'starting' || state === 'closing') worker.ref();
    else worker.unref();
  };
  const send = (request: ThreadRequest): void => {
    hold();
    worker.postMessage(request);
  };

  const end = (error: Error): void => {
    if (state === 'ended') return;
    const asked = state === 'closing';
    state = 'ended';
    for (const { reject } of [...lists, ...checkpoints]) reject(error);
    lists = [];
    checkpoints = [];
    onBegun();
    if (asked) onClosed();
    else onEnd(error);
  };

  hold();
  worker.on('message', (reply: ThreadReply) => {
    if (reply.kind === 'ready') {
      if (state === 'starting') state = 'ready';
      onBegun();
    } else if (reply.kind === 'checkpointed') {
      checkpoints.shift()?.resolve(reply.log);
    } else if (reply.kind === 'notCheckpointed') {
      checkpoints.shift()?.reject(receivedError(reply.refusal));
    } else {
      onCommit(reply.log);
      const outcomes = receivedOutcomes(reply.outcomes);
      const answered = lists.splice(0, outcomes.length);
      for (const [at, outcome] of outcomes.entries()) answer(answered[at], outcome, reply.commitMs);
    }
    hold();
  });
  worker.once('error', (error) => end(error instanceof Error ? error : new Error(String(error))));
  worker.once('exit', () => end(new Error('a thread of the database has ended')));

  return {
    begun,
    isReady: () => state === 'ready',
    isIdle: () => lists.length === 0,
    commit: (handed) => {
      const packing = createPacking();
      const sent: SentList[] = [];
      for (const list of handed) {
        try {
          sent.push(list.statements.map((statement) => statements.sent(statement, packing)));
          lists.push(list);
        } catch (error) {
          list.reject(error);
        }
      }
      send({ kind: 'lists', texts: statements.newTexts(), lists: packing.end(sent) });
    },
    checkpoint: (mode) =>
      new Promise((resolve, reject) => {
        if (state === 'ended' || state === 'closing') return reject(new Error('the database was closed'));
        checkpoints.push({ resolve, reject });
        send({ kind: 'checkpoint', mode });
      }),
    close: () =>
      new Promise((resolve) => {
        if (state === 'ended') return resolve();
        state = 'closing';
        onClosed = resolve;
        send({ kind: 'close' });
      }),
  };
}

/** The system gives the process no further thread. */
function neverBegun(error: Error, onEnd: OnThreadEnd): Thread {
  setImmediate(onEnd, error);
  return {
    begun: Promise.resolve(),
    isReady: () => false,
    isIdle: () => true,
    commit: (lists) => {
      for (const { reject } of lists) reject(error);
    },
    checkpoint: () => Promise.reject(error),
    close: () => Promise.resolve(),
  };
}

type Asked = { readonly resolve: (log: LogState) => void; readonly reject: (error: unknown) => void };

function startWorker(start: OpenedFiles): Worker {
  const program = threadProgram('database');
  return new Worker(program, {
    ...{ workerData: start, name: 'sallyport-database', eval: typeof program === 'string' },
    // What it handles is short-lived: more room would only be filled with garbage.
    resourceLimits: { maxYoungGenerationSizeMb: 4 },
  });
}

/** Statements go by number: their texts are long, and the same few come again and again. */
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

function answer(list: WaitingList | undefined, outcome: ListOutcome, commitMs: number): void {
  if (!outcome.ok) {
    list?.reject(outcome.error);
    return;
  }
  list?.resolve(outcome.results);
  list?.onWritten?.({ statementsMs: outcome.statementsMs, commitMs });
}

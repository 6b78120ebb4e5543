/**
 * Commits in threads, for the one server of a database. One thread writes, so that neither statements nor fsyncs hold the event loop.
 * A second thread, begun with the first checkpoint, copies the log into the file, which would hold the first.
 */
import { Worker } from 'node:worker_threads';
import BetterSqlite3 from 'better-sqlite3';
import { threadProgram } from '../../../kernel/assets.ts';
import { CHECKPOINT_FINISH_PAGES, CHECKPOINT_PAGES, CHECKPOINT_PAGES_MAX } from '../../../kernel/limits/database.ts';
import { DatabaseUnavailable } from '../../errors.ts';
import { parameterNames, valuesOf } from './connection.ts';
import type { Statement } from './database.ts';
import {
  type CheckpointMode,
  createPacking,
  type LogState,
  type Packing,
  receivedError,
  receivedOutcomes,
  type SentList,
  type SentStatement,
  type ThreadReply,
  type ThreadRequest,
  type ThreadStart,
} from './thread-protocol.ts';
import type { ListOutcome } from './transaction.ts';
import type { WaitingList, Writer } from './writer.ts';

export type ThreadEvents = {
  /** A thread ended unexpectedly. Nothing more can be written: every list is refused from now on. */
  readonly onEnd: (error: Error) => void;
  /** The log could not be checkpointed. Called once until a checkpoint succeeds again; commits go on and the log grows. */
  readonly onCheckpointFailure: (error: Error) => void;
};

/** Throws if the system gives the process no further thread. */
export function createThreadWriter(
  start: ThreadStart,
  { onEnd, onCheckpointFailure, onCommit }: ThreadEvents & { readonly onCommit: () => void },
): Writer {
  let isEnded = false;
  const end = (error: Error): void => {
    if (isEnded) return;
    isEnded = true;
    writer.refuseAll(error);
    onEnd(error);
  };
  const writer = startThread(start, {
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
      copier ??= startThread(start, { onEnd: end, onCommit: () => {} });
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

function startThread(
  start: ThreadStart,
  { onEnd, onCommit }: { readonly onEnd: (error: Error) => void; readonly onCommit: (log: LogState) => void },
): Thread {
  const program = threadProgram('database');
  const worker = new Worker(program, {
    ...{ workerData: start, name: 'sallyport-database', eval: typeof program === 'string' },
    // Its data is short-lived: a larger young generation would only fill with garbage (benchmark "Memory").
    resourceLimits: { maxYoungGenerationSizeMb: 4 },
  });
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

  hold();
  worker.on('message', (reply: ThreadReply) => {
    if (reply.kind === 'ready') isReady = true;
    else if (reply.kind === 'checkpointed') checkpoints.shift()?.resolve(reply.log);
    else if (reply.kind === 'notCheckpointed') checkpoints.shift()?.reject(receivedError(reply.error));
    else {
      onCommit(reply.log);
      const outcomes = receivedOutcomes(reply.outcomes);
      const answered = lists.splice(0, outcomes.length);
      for (const [at, outcome] of outcomes.entries()) answer(answered[at], outcome, reply.commitMs);
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

function answer(list: WaitingList | undefined, outcome: ListOutcome, commitMs: number): void {
  if (!outcome.ok) {
    list?.reject(outcome.error);
    return;
  }
  list?.resolve(outcome.results);
  list?.onWritten?.({ statementsMs: outcome.statementsMs, commitMs });
}

type Checkpoints = {
  /** Takes the state of the log after each commit. */
  committed(log: LogState): void;
  /** Resolves once no checkpoint is under way. */
  settled(): Promise<void>;
};

/** `copy` and `finish` copy what they can without waiting, and may reject. */
type CheckpointParts = {
  copy(): Promise<LogState>;
  finish(): Promise<LogState>;
  readonly onFailure: (error: Error) => void;
};

/**
 * Decides when the log is copied into the file. The second thread copies the bulk while others write. The writer copies the small rest
 * between two commits: only then nothing is left to copy and the log starts again from its beginning.
 *
 * A reader that stays in the log, such as a backup, keeps pages from being copied, and so does a full disk: the log then grows. The next
 * attempt comes after a further thousand pages, not after every commit. If more is written than the second thread copies, the writer
 * copies the rest itself, however long that takes, so the log stays bounded.
 */
function createCheckpoints({ copy, finish, onFailure }: CheckpointParts): Checkpoints {
  let log: LogState = { busy: false, pages: 0, copied: 0 };
  let nextAt = CHECKPOINT_PAGES;
  let underWay: Promise<void> | null = null;
  let isFailing = false;
  const pagesLeft = (): number => log.pages - log.copied;

  /** Copies until the rest is small, or too large. Returns false if no more can be copied now. */
  const copyBulk = async (): Promise<boolean> => {
    while (pagesLeft() > CHECKPOINT_FINISH_PAGES && pagesLeft() < CHECKPOINT_PAGES_MAX) {
      const before = log.copied;
      const { pages, copied } = await copy();
      // Commits during the copy have reported more pages.
      log = { busy: false, pages: Math.max(pages, log.pages), copied };
      if (copied <= before && pagesLeft() > 0) return false;
    }
    return true;
  };

  const run = async (): Promise<void> => {
    try {
      if (await copyBulk()) log = await finish();
      isFailing = false;
    } catch (cause) {
      // A thread that ended is reported by its own event.
      if (!isFailing && cause instanceof BetterSqlite3.SqliteError) {
        isFailing = true;
        onFailure(new Error('the log could not be copied into the database', { cause }));
      }
    }
    nextAt = pagesLeft() + CHECKPOINT_PAGES;
    underWay = null;
  };

  return {
    committed: (state) => {
      log = state;
      if (underWay === null && pagesLeft() >= nextAt) underWay = run();
    },
    settled: async () => {
      await underWay;
    },
  };
}

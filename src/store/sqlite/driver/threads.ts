/**
 * The threads that the one server of a file has besides its event loop. One writes, so that neither an fsync nor the statements before
 * it hold a request; the other copies the log into the file, which would hold the first one.
 */
import BetterSqlite3 from 'better-sqlite3';
import { THREAD_RESTART_MS } from '../../../kernel/limits/database.ts';
import { createCheckpoints } from './checkpoints.ts';
import { type OnThreadEnd, type OpenedFiles, startThread, type Thread, type WaitingList } from './thread-handle.ts';

export type Threads = {
  /** Resolves once the writing thread has begun, or could not. */
  readonly begun: Promise<void>;
  /** Whether lists may be handed over: not before the writing thread has begun, nor from its end until another one has. */
  areReady(): boolean;
  /** They are, and whatever was handed over is answered. */
  areIdle(): boolean;
  /** Hands lists over, behind those before. Each is answered. */
  commit(lists: readonly WaitingList[]): void;
  /** Empties the log; false: somebody reads it, or it cannot be copied. */
  truncateLog(): Promise<boolean>;
  /** Resolves when everything handed over is answered and the threads have ended. */
  close(): Promise<void>;
};

/** Told of a thread that ended unasked, and of a log that cannot be copied; of the latter once until it can be again. */
export type OnThreadFault = (error: Error) => void;

type Listeners = {
  readonly onFault: OnThreadFault;
  /** Called when lists have been committed, before whoever waits for them is told. */
  readonly beforeAnswers: () => void;
};

export function startThreads(opened: OpenedFiles, { onFault, beforeAnswers }: Listeners): Threads {
  let isClosed = false;
  /** What becomes of a thread that ended unasked: another one in its place, a while later. */
  const thenLater =
    (replace: () => void): OnThreadEnd =>
    (error) => {
      onFault(error);
      const timer = setTimeout(() => {
        if (!isClosed) replace();
      }, THREAD_RESTART_MS);
      timer.unref();
    };

  // A thread takes 15 MB: this one begins when there is first something to copy, which the writer does until it has.
  let copier: Thread | null = null;
  const copierEnded = thenLater(() => {
    copier = null;
  });
  const checkpoints = createCheckpoints({
    copy: () => {
      copier ??= startThread(opened, copierEnded);
      return (copier.isReady() ? copier : writer).checkpoint('PASSIVE');
    },
    finish: () => writer.checkpoint('PASSIVE'),
    tellFailure: (cause) => {
      // A thread that has ended says so itself.
      const isTold = cause instanceof BetterSqlite3.SqliteError;
      if (isTold) onFault(new Error('the log could not be copied', { cause }));
      return isTold;
    },
  });

  const startWriter = (): Thread =>
    startThread(opened, writerEnded, (log) => {
      beforeAnswers();
      checkpoints.committed(log);
    });
  const writerEnded = thenLater(() => {
    writer = startWriter();
  });
  let writer = startWriter();
  return {
    begun: writer.begun,
    areReady: () => writer.isReady(),
    areIdle: () => writer.isReady() && writer.isIdle(),
    commit: (lists) => writer.commit(lists),
    truncateLog: async () => {
      await checkpoints.settled();
      try {
        return !(await writer.checkpoint('TRUNCATE')).busy;
      } catch (error) {
        // The disk is full, say.
        if (error instanceof BetterSqlite3.SqliteError) return false;
        throw error;
      }
    },
    close: async () => {
      isClosed = true;
      // Its last commits may be what the other begins for.
      await writer.close();
      await copier?.close();
    },
  };
}

/**
 * The threads that the one server of a file has besides its event loop. One writes, so that neither an fsync nor the statements before
 * it hold a request; the other copies the log into the file, which would hold the first one.
 */
import { createCheckpoints } from './checkpoints.ts';
import { type OnThreadEnd, startThread, type Thread, type WaitingList } from './sqlite-thread-handle.ts';

export type Threads = {
  /** Resolves once the writing thread has begun, or could not. */
  readonly begun: Promise<void>;
  /** Whether lists may be handed over: not before the writing thread has begun, nor once it has ended. */
  areReady(): boolean;
  /** Hands lists over, behind those before. Each is answered. */
  commit(lists: readonly WaitingList[]): void;
  /** Empties the log; false: somebody reads it. */
  truncateLog(): Promise<boolean>;
  /** Resolves when everything handed over is answered and the threads have ended. */
  close(): Promise<void>;
};

type Listeners = {
  readonly onEnd: OnThreadEnd;
  /** Called when lists have been committed, before whoever waits for them is told. */
  readonly beforeAnswers: () => void;
};

export function startThreads(path: string, { onEnd, beforeAnswers }: Listeners): Threads {
  // A thread takes 15 MB: this one begins when there is first something to copy, which the writer does until it has.
  let copier: Thread | null = null;
  const checkpoints = createCheckpoints({
    copy: () => {
      copier ??= startThread(path, onEnd);
      return (copier.isReady() ? copier : writer).checkpoint('PASSIVE');
    },
    finish: () => writer.checkpoint('PASSIVE'),
  });
  const writer = startThread(path, onEnd, (log) => {
    beforeAnswers();
    checkpoints.committed(log);
  });
  return {
    begun: writer.begun,
    areReady: writer.isReady,
    commit: writer.commit,
    truncateLog: async () => {
      await checkpoints.settled();
      return !(await writer.checkpoint('TRUNCATE')).busy;
    },
    close: async () => {
      // Its last commits may be what the other begins for.
      await writer.close();
      await copier?.close();
    },
  };
}

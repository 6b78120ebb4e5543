/**
 * Makes large bodies where the event loop does not wait for it: a thread with a connection of its own reads the records, writes,
 * compresses, encrypts and hashes them, and hands the bytes over. It begins with the first such body and ends when there have been none
 * for a while.
 */
import { Worker } from 'node:worker_threads';
import { threadProgram } from '../kernel/assets.ts';
import { THREAD_RESTART_MS } from '../kernel/limits/database.ts';
import { LARGE_BODIES_IDLE_MS, LARGE_BODY_ANSWER_MS } from '../kernel/limits/delivery.ts';
import { createTurns } from '../kernel/turns.ts';
import type { Store } from '../store/store.ts';
import { type BatchBody, type BatchBodyRequest, encryptionLookup, makeBatchBody } from './body.ts';
import type { BodyAnswer, BodyQuestion, BodyThreadNotice, BodyThreadStart } from './large-bodies-messages.ts';

export type LargeBodies = {
  /** Rejects with what only a fault explains. */
  make(request: BatchBodyRequest): Promise<BatchBody>;
  /** Ends the thread; what it has in hand is rejected. */
  close(): Promise<void>;
};

export type LargeBodiesOptions = {
  /** The database's file. */
  readonly path: string;
  readonly store: Pick<Store, 'dispatch' | 'eventTypes'>;
  /** Told of a thread that ended unasked or answers no more, and of a body that it failed to make: then the event loop makes what the thread should have. */
  readonly onFault: (error: Error) => void;
  /** Told once, by the first thread that the system does not let give way to the event loop. */
  readonly onCannotGiveWay: (error: Error) => void;
  /** Another program, or its text, and another bound: for tests. */
  readonly program?: string | URL;
  readonly answerMs?: number;
};

type Waiting = {
  readonly request: BatchBodyRequest;
  readonly resolve: (body: BatchBody | Promise<BatchBody>) => void;
  readonly reject: (error: Error) => void;
};

export function createLargeBodies(options: LargeBodiesOptions): LargeBodies {
  const { path, store, onFault, onCannotGiveWay, program: ownProgram, answerMs = LARGE_BODY_ANSWER_MS } = options;
  let worker: Worker | null = null;
  let asked = 0;
  const waiting = new Map<number, Waiting>();
  let idle: NodeJS.Timeout | undefined;
  let overdue: NodeJS.Timeout | undefined;
  /** Set where the last thread ended unasked: for a while no other is begun. */
  let without: NodeJS.Timeout | undefined;
  let isClosed = false;
  let isToldOfPriority = false;

  const turns = createTurns();
  const makeHere = (request: BatchBodyRequest): Promise<BatchBody> =>
    turns(() =>
      makeBatchBody(request, { records: store.dispatch.records, mustBeEncrypted: encryptionLookup(store.eventTypes) }),
    );

  const take = (number: number): Waiting | undefined => {
    const found = waiting.get(number);
    waiting.delete(number);
    return found;
  };

  const goOnWithout = (error: Error): void => {
    onFault(error);
    without = setTimeout(() => {
      without = undefined;
    }, THREAD_RESTART_MS).unref();
  };

  const end = (ended: Worker, error: Error): void => {
    if (worker !== ended) return;
    worker = null;
    clearTimeout(overdue);
    goOnWithout(error);
    for (const number of [...waiting.keys()]) {
      const lost = take(number);
      lost?.resolve(makeHere(lost.request));
    }
  };

  /** Each answer begins the wait for the next anew: however many are asked for at once, only a thread that stands still is ended. */
  const expectAnswer = (asked: Worker): void => {
    clearTimeout(overdue);
    overdue = setTimeout(() => {
      end(asked, new Error(`the thread that makes large bodies has not answered for ${answerMs} ms`));
      void asked.terminate();
    }, answerMs).unref();
  };

  const endThread = async (): Promise<void> => {
    clearTimeout(idle);
    clearTimeout(overdue);
    const ending = worker;
    worker = null;
    await ending?.terminate();
  };

  const begin = (): Worker => {
    const program = ownProgram ?? threadProgram('largeBodies');
    const begun = new Worker(program, {
      ...{ name: 'sallyport-large-bodies', eval: typeof program === 'string' },
      workerData: { path } satisfies BodyThreadStart,
      // A body and its copies are garbage once they are handed over.
      resourceLimits: { maxYoungGenerationSizeMb: 4 },
    });
    begun.on('message', (answer: BodyAnswer | BodyThreadNotice) => {
      // It was given up, and what it had in hand is made here.
      if (worker !== begun) return;
      if ('cannotGiveWay' in answer) {
        if (!isToldOfPriority) onCannotGiveWay(answer.cannotGiveWay);
        isToldOfPriority = true;
        return;
      }
      const answered = take(answer.number);
      if ('body' in answer) answered?.resolve(answer.body);
      else {
        onFault(answer.error);
        answered?.resolve(makeHere(answered.request));
      }
      if (waiting.size > 0) return expectAnswer(begun);
      clearTimeout(overdue);
      // A program with nothing else to do ends though it has the thread.
      begun.unref();
      idle = setTimeout(endThread, LARGE_BODIES_IDLE_MS).unref();
    });
    begun.once('error', (error) => end(begun, error instanceof Error ? error : new Error(String(error))));
    begun.once('exit', () => end(begun, new Error('the thread that makes large bodies has ended')));
    return begun;
  };

  return {
    make: (request) => {
      if (isClosed) return Promise.reject(new Error('the service is stopping'));
      if (without !== undefined) return makeHere(request);
      return new Promise((resolve, reject) => {
        clearTimeout(idle);
        try {
          worker ??= begin();
        } catch (error) {
          // The system gives the process no further thread.
          goOnWithout(error as Error);
          return resolve(makeHere(request));
        }
        worker.ref();
        if (waiting.size === 0) expectAnswer(worker);
        asked += 1;
        waiting.set(asked, { request, resolve, reject });
        worker.postMessage({ number: asked, request } satisfies BodyQuestion);
      });
    },
    close: async () => {
      isClosed = true;
      clearTimeout(without);
      await endThread();
      for (const number of [...waiting.keys()]) take(number)?.reject(new Error('the service is stopping'));
    },
  };
}

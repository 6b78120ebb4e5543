/**
 * Makes large bodies outside the event loop: a thread with its own connection reads the records, then encodes, compresses, encrypts and
 * hashes them. The thread starts with the first large body and ends when it is idle for `LARGE_BODIES_IDLE_MS`.
 */

import { Worker } from 'node:worker_threads';
import { threadProgram } from '../kernel/assets.ts';
import { createFairQueue } from '../kernel/fair-queue.ts';
import type { DatabaseSource } from '../store/port/database.ts';
import type { BatchBody, BatchBodyRequest } from './body.ts';

/** A thread that has had no work for this long ends. */
const LARGE_BODIES_IDLE_MS = 60_000;

/** Large bodies that the thread makes at a time, while one is compressed or read. The others wait outside it, and customers take turns. */
const LARGE_BODIES_AT_ONCE = 4;

/** A thread that does not answer for this long is ended. The largest body, compressed and encrypted, takes 100 ms on a slow machine. */
const LARGE_BODY_ANSWER_MS = 30_000;

/** Threads that may end while they make one body; then the attempt fails. */
export const LARGE_BODY_TRIES = 2;

export type LargeBodies = {
  /**
   * Rejects on a fault: the thread could not start, failed to make this body, or ended `LARGE_BODY_TRIES` times while it was making it. The
   * attempt then fails and is retried by the webhook's policy, so a body that ends the thread every time is dead in the end.
   */
  make(request: BatchBodyRequest): Promise<BatchBody>;
  /** Ends the thread. Bodies in progress are rejected. */
  close(): Promise<void>;
};

type LargeBodiesOptions = {
  readonly source: DatabaseSource;
  /** Told of a thread that ended unexpectedly or stopped answering. */
  readonly onFault: (error: Error) => void;
  /** Told once if the system does not let the thread lower its priority. */
  readonly onCannotGiveWay: (error: Error) => void;
  /** Another program, or its text, and another time-out: for tests. */
  readonly program?: string | URL;
  readonly answerMs?: number;
};

/** Passed to the thread when it starts: the database to read. */
export type BodyThreadStart = { readonly source: DatabaseSource };
/** Answers come in any order, so a question has a number. */
export type BodyQuestion = { readonly number: number; readonly request: BatchBodyRequest };
/** Sent when the thread starts, if the system refuses it a lower priority. */
export type BodyThreadNotice = { readonly cannotGiveWay: Error };
/** `error` is a fault, which neither the records nor the key explain. */
export type BodyAnswer = { readonly number: number } & ({ readonly body: BatchBody } | { readonly error: Error });

type Question = {
  readonly request: BatchBodyRequest;
  /** How many threads ended while they had it in hand. */
  tries: number;
  readonly resolve: (body: BatchBody) => void;
  readonly reject: (error: Error) => void;
};

export function createLargeBodies(options: LargeBodiesOptions): LargeBodies {
  const { onFault, onCannotGiveWay } = options;
  const turns = createFairQueue({ what: 'large bodies', places: LARGE_BODIES_AT_ONCE });
  let thread: BodyThread | null = null;
  let isClosed = false;
  let isToldOfPriority = false;

  const ask = (question: Question): void => {
    try {
      thread ??= startBodyThread(options, { ended, cannotGiveWay });
    } catch (error) {
      // The system does not give the process another thread.
      onFault(error as Error);
      question.reject(error as Error);
      return;
    }
    thread.ask(question);
  };

  /** Asks the next thread for the bodies that the ended one was making. */
  const ended = (error: Error | null, unanswered: readonly Question[]): void => {
    thread = null;
    if (error === null) return;
    onFault(error);
    for (const question of unanswered) {
      question.tries += 1;
      if (question.tries >= LARGE_BODY_TRIES) question.reject(error);
      else ask(question);
    }
  };

  const cannotGiveWay = (error: Error): void => {
    if (!isToldOfPriority) onCannotGiveWay(error);
    isToldOfPriority = true;
  };

  return {
    make: (request) =>
      turns.run(
        request.owner,
        () =>
          new Promise((resolve, reject) => {
            if (isClosed) reject(new Error(STOPPING));
            else ask({ request, tries: 0, resolve, reject });
          }),
      ),
    close: async () => {
      isClosed = true;
      const unanswered = (await thread?.end()) ?? [];
      for (const question of unanswered) question.reject(new Error(STOPPING));
    },
  };
}

const STOPPING = 'the service is stopping';

type BodyThread = {
  ask(question: Question): void;
  /** Ends the thread, which then reports nothing more. Resolves with the questions that it has not answered. */
  end(): Promise<readonly Question[]>;
};

type BodyThreadReports = {
  /** Called once, when the thread ends or does not answer. `error` null: it was idle. */
  ended(error: Error | null, unanswered: readonly Question[]): void;
  cannotGiveWay(error: Error): void;
};

/** Throws if the system does not give the process another thread. */
function startBodyThread(
  { source, program = threadProgram('largeBodies'), answerMs = LARGE_BODY_ANSWER_MS }: LargeBodiesOptions,
  { ended, cannotGiveWay }: BodyThreadReports,
): BodyThread {
  const worker = new Worker(program, {
    name: 'sallyport-large-bodies',
    eval: typeof program === 'string',
    workerData: { source } satisfies BodyThreadStart,
    // A body and its copies are garbage once they are handed over.
    resourceLimits: { maxYoungGenerationSizeMb: 4 },
  });
  const waiting = new Map<number, Question>();
  let asked = 0;
  let hasEnded = false;
  let timer: NodeJS.Timeout | undefined;

  const end = (error: Error | null): void => {
    if (hasEnded) return;
    hasEnded = true;
    clearTimeout(timer);
    void worker.terminate();
    ended(error, [...waiting.values()]);
  };
  const endAfter = (ms: number, error: Error | null): void => {
    clearTimeout(timer);
    timer = setTimeout(() => end(error), ms).unref();
  };
  /** Every answer restarts the time-out, so only a thread that is stuck is ended, however many bodies it has to make. */
  const expectAnswer = (): void =>
    endAfter(answerMs, new Error(`the thread that makes large bodies has not answered for ${answerMs} ms`));

  const answered = (answer: BodyAnswer): void => {
    const question = waiting.get(answer.number);
    waiting.delete(answer.number);
    if ('body' in answer) question?.resolve(answer.body);
    else question?.reject(answer.error);
    if (waiting.size > 0) {
      expectAnswer();
      return;
    }
    // An idle thread does not keep the process alive.
    worker.unref();
    endAfter(LARGE_BODIES_IDLE_MS, null);
  };

  worker.on('message', (message: BodyAnswer | BodyThreadNotice) => {
    if (hasEnded) return;
    if ('number' in message) answered(message);
    // `node --watch` reports the files that a thread loads here too.
    else if ('cannotGiveWay' in message) cannotGiveWay(message.cannotGiveWay);
  });
  worker.once('error', (error) => end(error instanceof Error ? error : new Error(String(error))));
  worker.once('exit', () => end(new Error('the thread that makes large bodies has ended')));

  return {
    ask: (question) => {
      worker.ref();
      if (waiting.size === 0) expectAnswer();
      asked += 1;
      waiting.set(asked, question);
      worker.postMessage({ number: asked, request: question.request } satisfies BodyQuestion);
    },
    end: async () => {
      hasEnded = true;
      clearTimeout(timer);
      await worker.terminate();
      return [...waiting.values()];
    },
  };
}

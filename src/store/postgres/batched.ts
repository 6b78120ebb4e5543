/** Runs calls that come close together, in turns of the event loop that follow each other, as one query. */
import { setImmediate as atTurnsEnd } from 'node:timers';

export type BatchedOptions = {
  /** The maximum number of concurrent queries. Further calls wait for one of them to end and then share the next query. */
  readonly inProgressMax: number;
  /** Calls in one query. */
  readonly callsMax: number;
};

/**
 * For reads: two queries. A query takes less than a millisecond, and two queries with half of the calls each cost nearly twice as much,
 * so more would not be faster. With one, a call that just missed a query would wait for two, and all calls for a connection that hangs.
 */
export const READS: BatchedOptions = { inProgressMax: 2, callsMax: 1000 };

/**
 * A query waits while each turn of the event loop brings further calls, because callers that were answered together call again together. A
 * turn without new calls takes some microseconds, so nothing waits on a quiet service. Bounded, so that the first call does not wait for
 * long on a busy one. Measured with 64 callers: a guarded call takes 39 + 4 µs (Sallyport and PostgreSQL) instead of 45 + 7.
 */
const TURNS_MAX = 8;

type Waiting<Input, Output> = {
  readonly input: Input;
  readonly resolve: (output: Output) => void;
  readonly reject: (error: unknown) => void;
};

/** Shared by all functions, so that their queries go out together. */
let flushes: (() => void)[] = [];

function flushAll(): void {
  const due = flushes;
  flushes = [];
  for (const flush of due) flush();
}

/**
 * Returns a function that collects its calls until a turn brings none, for `TURNS_MAX` turns, and passes them to `run` together. `run` is
 * called after each of these calls has begun, so what it reads is current for all of them. It returns one output for each input, in order.
 * If it rejects, all of its calls do.
 */
export function batched<Input, Output>(
  run: (inputs: readonly Input[]) => Promise<readonly Output[]>,
  { inProgressMax, callsMax }: BatchedOptions,
): (input: Input) => Promise<Output> {
  const waiting: Waiting<Input, Output>[] = [];
  let inProgress = 0;
  let isScheduled = false;
  let turns = 0;
  let seen = 0;

  const runNow = async (calls: readonly Waiting<Input, Output>[]): Promise<void> => {
    try {
      const outputs = await run(calls.map(({ input }) => input));
      for (const [at, { resolve }] of calls.entries()) resolve(outputs[at] as Output);
    } catch (error) {
      for (const { reject } of calls) reject(error);
    }
  };
  const flush = (): void => {
    isScheduled = false;
    if (waiting.length > seen && waiting.length < callsMax && turns < TURNS_MAX) {
      turns += 1;
      seen = waiting.length;
      schedule();
      return;
    }
    turns = 0;
    seen = 0;
    while (waiting.length > 0 && inProgress < inProgressMax) {
      inProgress += 1;
      void runNow(waiting.splice(0, callsMax)).finally(() => {
        inProgress -= 1;
        schedule();
      });
    }
  };
  const schedule = (): void => {
    if (isScheduled || waiting.length === 0 || inProgress >= inProgressMax) return;
    isScheduled = true;
    if (flushes.push(flush) === 1) atTurnsEnd(flushAll);
  };
  return (input) =>
    new Promise((resolve, reject) => {
      waiting.push({ input, resolve, reject });
      schedule();
    });
}

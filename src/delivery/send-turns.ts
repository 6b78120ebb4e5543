/** Sends jobs in turns of the event loop, and says how much goes into each, so that this process answers requests in between. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Turns } from '../kernel/turns.ts';
import {
  CALLED_LATELY_MS,
  CALLED_PAUSE_MS,
  CALLS_QUEUED,
  DELIVERY_BYTES_PER_CALLED_TURN,
  DELIVERY_BYTES_PER_TURN,
} from './limits.ts';

/** Its approximate share of a turn, in bytes. */
type Sized = { readonly bytes: number };

/** A prepared job. One that is not to be sent has no bytes, and `send` returns why. */
type Ready<Result> = Sized & {
  /** Never rejects. */
  send(): Promise<Result>;
};

type SendTurnsOptions<Job extends Sized, Result> = {
  readonly budget: YieldBudget;
  readonly turns: Turns;
  /** Returns the function that reads the data of a job. Never rejects. Jobs that are prepared together share one, and their reads. */
  prepareTogether(): (job: Job) => Promise<Ready<Result>>;
};

/**
 * Sends jobs in turns of the event loop, a bounded number of bytes in each, so that requests and responses never wait long. A turn that
 * follows a full one waits in `turns` with other heavy work. Jobs are prepared for several turns together, because reads take PostgreSQL
 * about as long for many as for one. A job is never divided, so a turn may exceed its budget by one job. Returns the function that sends a
 * job after those before it, and returns its result.
 */
export function createSendTurns<Job extends Sized, Result>({
  budget,
  turns,
  prepareTogether,
}: SendTurnsOptions<Job, Result>): (job: Job) => Promise<Result> {
  type End = { readonly end: (result: Promise<Result>) => void };
  const waiting: (Sized & End & { readonly job: Job })[] = [];
  const ready: (Ready<Result> & End)[] = [];
  let isScheduled = false;

  const prepareNext = async (): Promise<void> => {
    const prepare = prepareTogether();
    const next = taken(waiting, DELIVERY_BYTES_PER_TURN);
    ready.push(...(await Promise.all(next.map(async ({ job, end }) => ({ ...(await prepare(job)), end })))));
  };

  const turn = async (): Promise<void> => {
    await yieldToCalls(budget);
    if (ready.length === 0) await prepareNext();
    // Not awaited: other jobs are sent while a thread makes a large body.
    for (const { send, end } of taken(ready, budget.bytesPerTurn())) end(send());
    budget.turnEnded();
    isScheduled = false;
    if (ready.length + waiting.length > 0) schedule((next) => turns(null, next));
  };

  const schedule = (when: (work: () => Promise<void>) => Promise<void>): void => {
    if (isScheduled) return;
    isScheduled = true;
    void when(turn);
  };

  return (job) =>
    new Promise((end) => {
      waiting.push({ job, bytes: job.bytes, end });
      schedule(atTurnsEnd);
    });
}

/** Removes and returns the first ones of the list, until they have `most` bytes; at least one. */
function taken<One extends Sized>(list: One[], most: number): One[] {
  let bytes = 0;
  let count = 0;
  for (; count < list.length && bytes < most; count += 1) bytes += list[count]?.bytes ?? 0;
  return list.splice(0, count);
}

/** Before heavy work: lets the requests that wait for this process come first. */
export async function yieldToCalls(budget: Pick<YieldBudget, 'pauseMs'>): Promise<void> {
  const ms = budget.pauseMs();
  if (ms > 0) await pause(ms);
}

/** After the responses that arrive in this turn. */
function atTurnsEnd<T>(work: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    setImmediate(() => work().then(resolve, reject));
  });
}

export type YieldBudget = {
  /** The bytes that may be sent in the turn that begins. */
  bytesPerTurn(): number;
  /** How long to delay the next turn, in milliseconds; asked once before each. */
  pauseMs(): number;
  turnEnded(): void;
};

/**
 * How much is sent in a turn of the event loop, and when: less while this process answers requests. At full load, turns without a request
 * alternate with turns that have many, so the smaller budget lasts for `CALLED_LATELY_MS`. If at least `CALLS_QUEUED` requests were
 * answered between two of its turns, a queue of them is waiting: the next turn begins at least `CALLED_PAUSE_MS` after the previous one
 * ended. Rarer turns are not delayed; an ordered webhook would otherwise wait before every batch. `now` is in milliseconds.
 */
export function createYieldBudget(answeredRequests: () => number, now: () => number): YieldBudget {
  let before = answeredRequests();
  let calledUntil = Number.NEGATIVE_INFINITY;
  let answeredBefore = before;
  let endedAt = Number.NEGATIVE_INFINITY;
  return {
    bytesPerTurn: () => {
      const answered = answeredRequests();
      if (answered !== before) calledUntil = now() + CALLED_LATELY_MS;
      before = answered;
      return now() < calledUntil ? DELIVERY_BYTES_PER_CALLED_TURN : DELIVERY_BYTES_PER_TURN;
    },
    pauseMs: () => {
      const answered = answeredRequests() - answeredBefore;
      answeredBefore += answered;
      return answered < CALLS_QUEUED ? 0 : Math.max(0, endedAt + CALLED_PAUSE_MS - now());
    },
    turnEnded: () => {
      endedAt = now();
    },
  };
}

/**
 * The requests under way, and whether there may be more. One that its receiver leaves unanswered costs nothing but memory, so after a
 * while it gives its place to others: receivers that hang, however many, keep nobody else waiting until their time is up.
 */
import type { Job } from './job.ts';

export type RequestLimits = {
  /** Requests under way that have not been for `lingersMs` yet. */
  readonly inFlight: number;
  /** All of them. */
  readonly inFlightInAll: number;
  readonly lingersMs: number;
};

export type Requests = {
  /** Whether one more may begin. Time alone can make it so. */
  hasRoom(): boolean;
  begin(job: Job): void;
  end(job: Job): void;
  count(): number;
};

/** `stopwatch`: milliseconds that only grow. */
export function createRequests(limits: RequestLimits, stopwatch: () => number): Requests {
  /** Those that do not linger, with when they began, in that order. */
  const fresh = new Map<Job, number>();
  let all = 0;
  const letLinger = (): void => {
    const before = stopwatch() - limits.lingersMs;
    for (const [job, begunAt] of fresh) {
      if (begunAt > before) return;
      fresh.delete(job);
    }
  };
  return {
    hasRoom: () => {
      if (all >= limits.inFlightInAll) return false;
      if (fresh.size >= limits.inFlight) letLinger();
      return fresh.size < limits.inFlight;
    },
    begin: (job) => {
      fresh.set(job, stopwatch());
      all += 1;
    },
    end: (job) => {
      fresh.delete(job);
      all -= 1;
    },
    count: () => all,
  };
}

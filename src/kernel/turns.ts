/** Limits concurrent work: CPU-bound pieces run one per turn of the event loop, others a few at a time. */

export type Turns = <T>(work: () => Promise<T>) => Promise<T>;

/** A queue that runs one piece per turn of the event loop, so that timers, requests and replies wait for at most one piece. */
export function createTurns(): Turns {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const result = last.then(nextTurn).then(work);
    last = result.catch(() => undefined);
    return result;
  };
}

/** Runs at most `places` pieces at a time, in order. For work in other threads. */
export function createPlaces(places: number): Turns {
  let free = places;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) free += 1;
      else next();
    }
  };
}

/** The shared queue of the process for CPU-bound work. */
export const heavyTurns: Turns = createTurns();

export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

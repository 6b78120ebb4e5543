/** Takes work that holds the thread one piece at a time, each in a turn of the event loop of its own. */

export type Turns = <T>(work: () => Promise<T>) => Promise<T>;

/**
 * A queue of its own. Between two pieces the event loop comes round once, so that timers, requests and answers wait for one
 * piece at most, however many were asked for at once.
 */
export function createTurns(): Turns {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const result = last.then(nextTurn).then(work);
    last = result.catch(() => undefined);
    return result;
  };
}

/** So many pieces at a time, in the order in which they were asked for: for work that other threads do. */
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

/** The one queue of the process: of everything that takes a turn here, whoever asks, the event loop waits for one piece at a time. */
export const heavyTurns: Turns = createTurns();

function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

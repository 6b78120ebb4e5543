/** CPU-bound work of the event loop: one piece per turn of it, and owners in turn. */
import { createFairQueue, type Owner } from './fair-queue.ts';

export type Turns = <T>(owner: Owner, work: () => Promise<T>) => Promise<T>;

/** A queue that runs one piece per turn of the event loop, so that timers, requests and replies wait for at most one piece. */
export function createTurns(): Turns {
  const queue = createFairQueue({ what: 'pieces of work', places: 1 });
  return (owner, work) =>
    queue.run(owner, async () => {
      await nextTurn();
      return work();
    });
}

/** The shared queue of the process for CPU-bound work. */
export const heavyTurns: Turns = createTurns();

export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** Spreads work that holds the thread over turns of the event loop, so that requests and answers never wait for much of it. */
import type { Turns } from '../wire/turns.ts';

export type Pace = {
  /**
   * Does pieces of work in the order in which they were asked for, so many bytes of them a turn. `bytesOf` says what a piece was
   * worth, what follows from it included; a piece is never divided, so a turn may have one more than it should.
   */
  paced<T>(work: () => Promise<T>, bytesOf: (result: T) => number): Promise<T>;
};

/** `turns` is where what is too much for this turn gets one of its own, beside other work of its weight. */
export function createPace(bytesPerTurn: number, turns: Turns): Pace {
  let spent = 0;
  let last: Promise<unknown> = Promise.resolve();

  const spend = (bytes: number): void => {
    if (spent === 0) {
      setImmediate(() => {
        spent = 0;
      });
    }
    spent += bytes;
  };

  return {
    paced: (work, bytesOf) => {
      const result = last.then(async () => {
        const done = spent < bytesPerTurn ? await work() : await turns(work);
        spend(bytesOf(done));
        return done;
      });
      last = result.catch(() => undefined);
      return result;
    },
  };
}

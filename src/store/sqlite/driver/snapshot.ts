/** One read transaction for whatever is read within a turn of the event loop: to begin and end one is a third of a short read's cost. */
import { setImmediate as atTurnsEnd } from 'node:timers';
import type { Connection } from './connection.ts';

export type Snapshot = {
  /** What is read from now on in this turn is of one state of the database, until `end`. */
  begin(): void;
  /**
   * What is read next sees what has been written by now. Ends by itself with the turn, or the next where that is ending, so that the log
   * is never held for long.
   */
  end(): void;
};

/** For a connection that nothing is written through meanwhile. */
export function createSnapshot(connection: Connection): Snapshot {
  const begin = connection.prepare('BEGIN');
  const commit = connection.prepare('COMMIT');
  let isOpen = false;
  const end = (): void => {
    if (!isOpen) return;
    isOpen = false;
    commit.run();
  };
  return {
    begin: () => {
      if (isOpen) return;
      begin.run();
      isOpen = true;
      atTurnsEnd(end);
    },
    end,
  };
}

/** One read transaction for all reads within a turn of the event loop. Beginning and ending one is a third of the cost of a short read. */
import { setImmediate as atTurnsEnd } from 'node:timers';
import type { Connection } from './connection.ts';

export type Snapshot = {
  /** All reads from now on in this turn see one state of the database, until `end`. */
  begin(): void;
  /** The next read sees all commits so far. The snapshot ends by itself with this turn or the next, so it never holds the log for long. */
  end(): void;
};

/** The connection must not be used for writing while a snapshot is open. */
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

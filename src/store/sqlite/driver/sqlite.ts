/**
 * The driver for one machine: one SQLite file in WAL mode.
 *
 * Lists that are committed within one turn of the event loop share a transaction, hence an fsync. A caller is answered after that fsync. A
 * server commits in a thread (thread-writer.ts), a command in its event loop (writer.ts).
 */

import { setImmediate as atTurnsEnd } from 'node:timers';
import { bytesOfValues } from '../../../kernel/lru.ts';
import type { Database, Row, SqlParameters, Statement, StatementResult, WriteTime } from '../../port/database.ts';
import { DatabaseUnavailable } from '../../port/errors.ts';
import { BYTES_WAITING_MAX, LISTS_WAITING_MAX } from '../../port/limits.ts';
import {
  type Connection,
  createFileCheck,
  createStatements,
  type FileCheck,
  filesProblem,
  isLogAloneMissing,
  openConnection,
  openToWrite,
  type PreparedStatement,
  valuesOf,
} from './connection.ts';
import { portError, unavailable } from './errors.ts';
import { createThreadWriter, type ThreadEvents } from './thread-writer.ts';
import { createCommitLists, createInlineWriter, type WaitingList, type Writer } from './writer.ts';

/**
 * At this number, lists are handed to an idle writing thread before the turn of the event loop ends, so that it writes while the
 * loop works.
 * With 64 concurrent token requests this raised the rate by 11 to 23 % (benchmark "Issuing tokens"); fewer cost the event loop more than
 * they gain.
 */
export const LISTS_HANDED_EARLY = 32;

export type SqliteDatabase = Omit<Database, 'get' | 'all'> & {
  get(sql: string, params: SqlParameters): Row | undefined;
  all(sql: string, params: SqlParameters): Row[];
  /** Makes the next read see all commits so far. Without it, the reads of one turn of the event loop may share a snapshot. */
  endSnapshot(): void;
  /** Removes old versions of rows from the write-ahead log. False if another process may still read them. */
  forgetOverwritten(): Promise<boolean>;
  /** The connection itself, for what only SQLite has: backup, integrity check, pragmas. */
  readonly connection: Connection;
  /** The problem if the files are no longer where they were opened, otherwise null. */
  filesProblem(): DatabaseUnavailable | null;
  /**
   * Copies the log into the database's file if only the log is gone from its place: acknowledged writes must not be lost with the
   * process. Resolves to false if that is not the case, or if the log cannot be copied.
   */
  saveLog(): Promise<boolean>;
};

type SqliteOptions = {
  readonly readOnly?: boolean;
  /** Commits in a thread. For the one server of a database. Without it the event loop commits. */
  readonly writerThread?: ThreadEvents;
};

/** Opens the file. Creates it if it is missing, unless `readOnly`. Throws SQLite's error, or the system's if it gives no thread. */
export function openSqlite(path: string, { readOnly = false, writerThread }: SqliteOptions = {}): SqliteDatabase {
  const { connection, files } = readOnly
    ? { connection: openConnection(path, { readOnly }), files: null }
    : openToWrite(path);
  const prepare = createStatements(connection);
  const snapshot = createSnapshot(connection);
  const listeners: (() => void)[] = [];
  let commits = 0;
  const onCommit = (): void => {
    snapshot.end();
    commits += 1;
    for (const listener of listeners) listener();
  };
  const truncateLog = (): boolean => {
    const [outcome] = connection.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[];
    return outcome?.busy === 0;
  };
  const createWriter = () => {
    if (writerThread !== undefined && files !== null) {
      return createThreadWriter({ path, files }, { ...writerThread, onCommit });
    }
    const commitLists = createCommitLists<WaitingList>(
      connection,
      files === null ? NO_CHECK : createFileCheck(path, files),
      ({ statements }) =>
        statements.map(({ sql, params, expectChanges }) => {
          const prepared = prepare(sql);
          return { prepared, values: valuesOf(prepared.names, params), expectChanges };
        }),
    );
    return createInlineWriter({ commitLists, beforeCommit: snapshot.end, onCommit, truncateLog });
  };
  const writer = closingOnError(connection, createWriter);

  const queue = createListQueue(writer);

  const prepareRead = (sql: string): PreparedStatement => {
    // Nothing is written through this connection then.
    if (writerThread !== undefined) snapshot.begin();
    return prepare(sql);
  };

  const all = (sql: string, params: SqlParameters): Row[] => {
    try {
      const { statement, names } = prepareRead(sql);
      return statement.all(valuesOf(names, params)) as Row[];
    } catch (error) {
      throw portError(error);
    }
  };

  const emptyLog = async (): Promise<boolean> => {
    snapshot.end();
    return writer.truncateLog();
  };

  return {
    connection,
    get: (sql: string, params: SqlParameters) => {
      try {
        const { statement, names } = prepareRead(sql);
        return statement.get(valuesOf(names, params)) as Row | undefined;
      } catch (error) {
        throw portError(error);
      }
    },
    all,
    endSnapshot: snapshot.end,
    commits: () => commits,
    onCommit: (listener) => void listeners.push(listener),
    commit: (statements: readonly Statement[], onWritten?: (took: WriteTime) => void) =>
      new Promise<readonly StatementResult[]>((resolve, reject) => {
        queue.add({ statements, resolve, reject, onWritten });
      }),
    // Nothing can be read before it is on the disk.
    confirm: () => {},
    forgetOverwritten: emptyLog,
    filesProblem: () => {
      const problem = files === null ? null : filesProblem(path, files);
      return problem === null ? null : unavailable(problem);
    },
    saveLog: async () => files !== null && isLogAloneMissing(path, files) && emptyLog(),
    close: () => {
      const close = (): void => {
        queue.close();
        snapshot.end();
        connection.close();
      };
      queue.flush();
      const closing = writer.close();
      if (closing === undefined) return close();
      return closing.then(close);
    },
  };
}

/** The lists that wait for their commit. */
type ListQueue = {
  /** Rejects the list if too many wait, or after `close`. */
  add(list: Omit<WaitingList, 'since'>): void;
  /** Hands the lists to the writer now. */
  flush(): void;
  close(): void;
};

/** Collects the lists of a turn of the event loop, so that they share a commit. */
function createListQueue(writer: Pick<Writer, 'commit' | 'canBegin'>): ListQueue {
  const waiting: WaitingList[] = [];
  let isScheduled = false;
  let isClosed = false;
  /** The lists that wait for their commit, here and in the writer. */
  let waitingLists = 0;
  let waitingBytes = 0;

  const flush = (): void => {
    isScheduled = false;
    if (waiting.length > 0) writer.commit(waiting.splice(0));
  };

  const add = (list: Omit<WaitingList, 'since'>): void => {
    if (isClosed) {
      list.reject(new Error('the database is not open'));
      return;
    }
    const bytes = list.statements.reduce((sum, { params }) => sum + bytesOfValues(params), 0);
    if (waitingLists >= LISTS_WAITING_MAX || (waitingLists > 0 && waitingBytes + bytes > BYTES_WAITING_MAX)) {
      list.reject(new DatabaseUnavailable('overloaded'));
      return;
    }
    waitingLists += 1;
    waitingBytes += bytes;
    const leave = (): void => {
      waitingLists -= 1;
      waitingBytes -= bytes;
    };
    waiting.push({
      statements: list.statements,
      onWritten: list.onWritten,
      since: performance.now(),
      resolve: (results) => {
        leave();
        list.resolve(results);
      },
      reject: (error) => {
        leave();
        list.reject(error);
      },
    });
    if (waiting.length >= LISTS_HANDED_EARLY && writer.canBegin()) flush();
    else if (!isScheduled) {
      isScheduled = true;
      setImmediate(flush);
    }
  };

  return {
    add,
    flush,
    close: () => {
      isClosed = true;
    },
  };
}

/** One read transaction for all reads within a turn of the event loop. Beginning and ending one is a third of the cost of a short read. */
type Snapshot = {
  /** All reads from now on in this turn see one state of the database, until `end`. */
  begin(): void;
  /** The next read sees all commits so far. The snapshot ends automatically in this turn or the next, so it holds the log only briefly. */
  end(): void;
};

/** The connection must not be used for writing while a snapshot is open. */
function createSnapshot(connection: Connection): Snapshot {
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

const NO_CHECK: FileCheck = { before: () => {}, after: () => {} };

function closingOnError<T>(connection: Connection, work: () => T): T {
  try {
    return work();
  } catch (error) {
    connection.close();
    throw error;
  }
}

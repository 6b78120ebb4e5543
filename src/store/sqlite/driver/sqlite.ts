/**
 * The driver for one machine: one SQLite file in WAL mode.
 *
 * Lists that are asked for within one turn of the event loop share a commit, hence an fsync; where they are many, the first of them have
 * one of their own while the turn goes on. Durability stays whole: no caller hears before its fsync. The one server of a file hands
 * them to a thread; a command commits by itself, and so does a server until its threads have begun, and from when one has ended until
 * another has begun.
 */
import {
  BUSY_GIVE_UP_MS,
  BUSY_PAUSE_MS,
  BYTES_WAITING_MAX,
  LISTS_HANDED_EARLY,
  LISTS_PER_COMMIT,
  LISTS_WAITING_MAX,
} from '../../../kernel/limits/database.ts';
import { DatabaseUnavailable } from '../../errors.ts';
import {
  type Connection,
  createReads,
  createWrites,
  isBusy,
  openConnection,
  openToWrite,
  portError,
  unavailableError,
  valuesOf,
} from './connection.ts';
import type { Database, Parameters, Row, Statement, StatementResult, WriteTime } from './database.ts';
import {
  createFileCheck,
  type FileCheck,
  type FilesProblem,
  filesProblem,
  isLogAloneMissing,
} from './database-files.ts';
import { createSnapshot } from './snapshot.ts';
import type { WaitingList } from './thread-handle.ts';
import { type OnThreadFault, startThreads, type Threads } from './threads.ts';
import { type Bound, createCommitLists } from './transaction.ts';

export type SqliteDatabase = Database & {
  /** The connection itself, for what only SQLite has: backup, integrity check, pragmas. */
  readonly connection: Connection;
  /** Has threads write, and copy the log into the file, from when it resolves. For the one server of a file. */
  startThreads(onFault: OnThreadFault): Promise<void>;
  /** Whether its files are where they were opened; null: they are. */
  filesProblem(): FilesProblem | null;
  /**
   * Copies the log into the database's file where that is still in its place and the log is not: what was acknowledged must not end with
   * the process. False: that is not so, or it cannot be copied.
   */
  saveLog(): Promise<boolean>;
};

/** Opens the file, making it if there is none and it may be written. Throws what SQLite says when it cannot. */
export function openSqlite(path: string, { readOnly = false }: { readonly readOnly?: boolean } = {}): SqliteDatabase {
  const { connection, files } = readOnly
    ? { connection: openConnection(path, { readOnly }), files: null }
    : openToWrite(path);
  const read = createReads(connection);
  const prepare = createWrites(connection);
  const bind = ({ sql, params, expectChanges }: Statement): Bound => {
    const prepared = prepare(sql);
    return { prepared, values: valuesOf(prepared.names, params), expectChanges };
  };
  const commitLists = createCommitLists<WaitingList>(
    connection,
    files === null ? NEVER_WRITTEN : createFileCheck(path, files),
    ({ statements }) => statements.map(bind),
  );

  const snapshot = createSnapshot(connection);
  let threads: Threads | null = null;
  let waiting: WaitingList[] = [];
  let scheduled = false;
  const onCommit: (() => void)[] = [];
  const committed = (): void => {
    snapshot.end();
    for (const listener of onCommit) listener();
  };
  /** What waits for its commit, here and in the writing thread. */
  let waitingLists = 0;
  let waitingBytes = 0;

  const flush = (): void => {
    scheduled = false;
    if (waiting.length === 0) return;
    if (threads?.areReady()) {
      threads.commit(waiting.splice(0));
    } else commitHere();
  };

  /** A statement to read with. */
  const reading = (sql: string): ReturnType<typeof read> => {
    if (threads?.areReady()) snapshot.begin();
    return read(sql);
  };

  const commitHere = (): void => {
    snapshot.end();
    let lists = waiting.slice(0, LISTS_PER_COMMIT);
    const settled: (() => void)[] = [];
    try {
      const { outcomes, commitMs } = commitLists(lists);
      for (const [at, outcome] of outcomes.entries()) {
        const list = lists[at];
        if (!outcome.ok) settled.push(() => list?.reject(outcome.error));
        else {
          settled.push(() => {
            list?.resolve(outcome.results);
            list?.onWritten?.({ statementsMs: outcome.statementsMs, commitMs });
          });
        }
      }
    } catch (error) {
      if (isBusy(error)) {
        // Another process holds the file: each keeps its place for another try, until it has waited too long.
        const now = performance.now();
        lists = waiting.filter(({ since }) => now - since > BUSY_GIVE_UP_MS);
        if (waiting.length > lists.length) schedule(BUSY_PAUSE_MS);
      }
      for (const { reject } of lists) settled.push(() => reject(unavailableError(error)));
    }
    waiting = waiting.slice(settled.length);
    if (waiting.length > 0) schedule();
    committed();
    for (const settle of settled) settle();
  };

  const schedule = (inMs: number | null = null): void => {
    if (scheduled) return;
    scheduled = true;
    if (inMs === null) setImmediate(flush);
    else setTimeout(flush, inMs);
  };

  /** Of what waits, the first came first. */
  const enqueue = (list: Omit<WaitingList, 'since'>): void => {
    const bytes = bytesOf(list.statements);
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
    if (waiting.length >= LISTS_HANDED_EARLY && threads?.areIdle() === true) flush();
    else schedule();
  };

  /** What cannot be written now is refused. */
  const closeHere = (): void => {
    for (let before = waiting.length + 1; waiting.length > 0 && waiting.length < before; flush())
      before = waiting.length;
    for (const { reject } of waiting) reject(new Error('the database was closed'));
    waiting = [];
    snapshot.end();
    connection.close();
  };

  return {
    connection,
    get: (sql: string, params: Parameters) => {
      try {
        return reading(sql).get(params) as Row | undefined;
      } catch (error) {
        throw portError(error);
      }
    },
    all: (sql: string, params: Parameters) => {
      try {
        return reading(sql).all(params) as Row[];
      } catch (error) {
        throw portError(error);
      }
    },
    readAnew: snapshot.end,
    onCommit: (listener) => void onCommit.push(listener),
    commit: (statements: readonly Statement[], onWritten?: (took: WriteTime) => void) =>
      new Promise<readonly StatementResult[]>((resolve, reject) => {
        enqueue({ statements, resolve, reject, onWritten });
      }),
    forgetOverwritten: () => {
      snapshot.end();
      if (threads?.areReady()) return threads.truncateLog();
      const [outcome] = connection.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[];
      return outcome?.busy === 0;
    },
    startThreads: async (onFault) => {
      // Whoever hears what became of a list reads what it wrote, or what made it stale.
      if (files === null) throw new Error('a database that is only read needs no threads');
      threads ??= startThreads({ path, files }, { onFault, beforeAnswers: committed });
      await threads.begun;
    },
    filesProblem: () => (files === null ? null : filesProblem(path, files)),
    saveLog: async () => {
      if (files === null || !isLogAloneMissing(path, files)) return false;
      snapshot.end();
      if (threads?.areReady()) return threads.truncateLog();
      const [outcome] = connection.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[];
      return outcome?.busy === 0;
    },
    close: () => {
      if (threads === null) return closeHere();
      flush();
      return threads.close().then(closeHere);
    },
  };
}

const NEVER_WRITTEN: FileCheck = { before: () => {}, after: () => {} };

/** What the values of a list take, nearly: text counts a byte a character. */
function bytesOf(statements: readonly Statement[]): number {
  let bytes = 0;
  for (const { params } of statements) {
    for (const name in params) {
      const value = params[name];
      if (typeof value === 'string') bytes += value.length;
      else if (typeof value === 'object' && value !== null) bytes += value.byteLength;
    }
  }
  return bytes;
}

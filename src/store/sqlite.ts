/**
 * The driver for one machine: one SQLite file in WAL mode.
 *
 * Lists that are asked for within one turn of the event loop share a commit, hence an fsync; where they are many, the first of them have
 * one of their own while the turn goes on. Durability stays whole: no caller hears before its fsync. The one server of a file hands
 * them to a thread; a command commits by itself, and so does a server until its threads have begun, and from when one has ended until
 * another has begun.
 */
import { BUSY_GIVE_UP_MS, BUSY_PAUSE_MS, LISTS_HANDED_EARLY, LISTS_PER_COMMIT } from '../database-limits.ts';
import type { Database, Parameters, Row, Statement, StatementResult, WriteTime } from './database.ts';
import { type Connection, createReads, createWrites, isBusy, openConnection, valuesOf } from './sqlite-connection.ts';
import { createSnapshot } from './sqlite-snapshot.ts';
import type { WaitingList } from './sqlite-thread-handle.ts';
import { type OnThreadFault, startThreads, type Threads } from './sqlite-threads.ts';
import { type Bound, createCommitLists } from './sqlite-transaction.ts';

export type SqliteDatabase = Database & {
  /** The connection itself, for what only SQLite has: backup, integrity check, pragmas. */
  readonly connection: Connection;
  /** Has threads write, and copy the log into the file, from when it resolves. For the one server of a file. */
  startThreads(onFault: OnThreadFault): Promise<void>;
};

/** Opens the file, making it if there is none and it may be written. Throws what SQLite says when it cannot. */
export function openSqlite(path: string, { readOnly = false }: { readonly readOnly?: boolean } = {}): SqliteDatabase {
  const connection = openConnection(path, { readOnly });
  const read = createReads(connection);
  const prepare = createWrites(connection);
  const bind = ({ sql, params, expectChanges }: Statement): Bound => {
    const prepared = prepare(sql);
    return { prepared, values: valuesOf(prepared.names, params), expectChanges };
  };
  const commitLists = createCommitLists<WaitingList>(connection, ({ statements }) => statements.map(bind));

  const snapshot = createSnapshot(connection);
  let threads: Threads | null = null;
  let waiting: WaitingList[] = [];
  let scheduled = false;
  /** By a clock that nobody sets back. */
  let busySince: number | null = null;

  const flush = (): void => {
    scheduled = false;
    if (waiting.length === 0) return;
    if (threads?.areReady()) {
      busySince = null;
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
    const lists = waiting.slice(0, LISTS_PER_COMMIT);
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
      if (isBusy(error) && waitsOn()) return;
      for (const { reject } of lists) settled.push(() => reject(error));
    }
    busySince = null;
    waiting = waiting.slice(settled.length);
    if (waiting.length > 0) schedule();
    for (const settle of settled) settle();
  };

  /** Another process holds the file: everything keeps its place for another try, unless that has lasted too long. */
  const waitsOn = (): boolean => {
    busySince ??= performance.now();
    if (performance.now() - busySince > BUSY_GIVE_UP_MS) return false;
    scheduled = true;
    setTimeout(flush, BUSY_PAUSE_MS);
    return true;
  };

  const schedule = (): void => {
    if (scheduled) return;
    scheduled = true;
    setImmediate(flush);
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
    get: (sql: string, params: Parameters) => reading(sql).get(params) as Row | undefined,
    all: (sql: string, params: Parameters) => reading(sql).all(params) as Row[],
    readAnew: snapshot.end,
    commit: (statements: readonly Statement[], onWritten?: (took: WriteTime) => void) =>
      new Promise<readonly StatementResult[]>((resolve, reject) => {
        waiting.push({ statements, resolve, reject, onWritten });
        if (waiting.length >= LISTS_HANDED_EARLY && threads?.areIdle() === true) flush();
        else schedule();
      }),
    forgetOverwritten: () => {
      snapshot.end();
      if (threads?.areReady()) return threads.truncateLog();
      const [outcome] = connection.pragma('wal_checkpoint(TRUNCATE)') as { busy: number }[];
      return outcome?.busy === 0;
    },
    startThreads: async (onFault) => {
      // Whoever hears what became of a list reads what it wrote, or what made it stale.
      threads ??= startThreads(path, { onFault, beforeAnswers: snapshot.end });
      await threads.begun;
    },
    close: () => {
      if (threads === null) return closeHere();
      flush();
      return threads.close().then(closeHere);
    },
  };
}

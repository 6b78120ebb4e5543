/**
 * The driver of PostgreSQL. Reads of one turn of the event loop go out together on one connection. Each list is a transaction of its own:
 * several in one would lock the rows of webhooks in the order in which they came, and so deadlock with a publisher, who locks them in the
 * order of their numbers. Each deadlock takes a second.
 */

import { nextTick } from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';
import { bytesOfValues } from '../../../kernel/lru.ts';
import type { Database, Row, SqlParameters, StatementResult, WriteTime } from '../../port/database.ts';
import { DatabaseUnavailable } from '../../port/errors.ts';
import { BYTES_WAITING_MAX, LISTS_WAITING_MAX } from '../../port/limits.ts';
import { ensurePartitions } from '../partitions.ts';
import { vacuumErased } from '../vacuum.ts';
import { createConfirm, createServers, type Servers } from './confirm.ts';
import { type Connection, createConnection } from './connection.ts';
import { isLost, isStaleSession, lacksPartition, portError, unavailable } from './errors.ts';
import {
  POSTGRES_ANSWER_MS,
  POSTGRES_CLOSE_MS,
  POSTGRES_COMMIT_MS,
  POSTGRES_LATE_EVERY_MS,
  POSTGRES_LOST_ROUNDS,
  POSTGRES_QUEUE_MS,
  POSTGRES_READER_BUSY_MS,
  POSTGRES_READERS,
  POSTGRES_WRITERS,
} from './limits.ts';
import { createChannelListener, type OnMessage } from './listen.ts';
import { createRoute, type ServerRoute } from './route.ts';
import { type DatabaseSession, type Prepared, runPlanned } from './session.ts';
import { type CommitProgress, type PostgresStatement, runTransaction } from './transaction.ts';
import { planConnections } from './url.ts';
import { watch } from './watch.ts';

type PostgresOptions = {
  /** `connectionString`: the URL. */
  readonly connection: { readonly connectionString: string };
  /** The URL for notifications, if the other one leads through a pooler that gives each transaction another connection. */
  readonly listenUrl?: string | undefined;
  /**
   * The time limit of a statement of a read or a write. The default is `POSTGRES_ANSWER_MS`. Infinite: a write waits for COMMIT forever.
   */
  readonly answerMs?: number;
  /** How long a caller waits for COMMIT. The default is `POSTGRES_COMMIT_MS`. */
  readonly commitMs?: number;
  /** Multiplies the time in which an outage is noticed, less than two seconds, for a thread that often has to wait for a processor. */
  readonly patience?: number;
};

export type PostgresDatabase = Omit<Database, 'commit'> & {
  /** `isPatient`: no request waits for it, so it waits for as long as a synchronous standby is away. */
  commit(
    statements: readonly PostgresStatement[],
    onWritten?: (took: WriteTime) => void,
    isPatient?: boolean,
  ): Promise<readonly StatementResult[]>;
  /** Removes old versions of rows by VACUUM. False if an older transaction can still read them. */
  forgetOverwritten(): Promise<boolean>;
  /**
   * Runs SQL as it is on a connection of its own and without a time limit, for the schema and administration. Several statements run in one
   * transaction.
   */
  run(sql: string): Promise<void>;
  /** Calls back with each notification of a channel. Returns a function that ends it. */
  listen(channel: string, onMessage: OnMessage): () => void;
  /** Notifies all instances soon; equal notifications of a turn of the event loop go out once. It can be lost. */
  notify(channel: string, payload: string): void;
};

type List = {
  readonly statements: readonly PostgresStatement[];
  readonly bytes: number;
  readonly onWritten: ((took: WriteTime) => void) | undefined;
  readonly resolve: (results: readonly StatementResult[]) => void;
  readonly reject: (error: unknown) => void;
  /** Its caller waits without a time limit. */
  readonly isPatient: boolean;
  /** By `performance.now()`; `committingAt` is null before COMMIT. */
  readonly askedAt: number;
  committingAt: number | null;
  /** Its caller was answered that the outcome is unknown. It still has its connection. */
  isGivenUp: boolean;
};

/** Opens connections to the database. Throws `DatabaseUnavailable` if it cannot be reached, with the reason as its cause. */
export async function openPostgres({
  connection,
  listenUrl,
  answerMs = POSTGRES_ANSWER_MS,
  commitMs = Math.min(answerMs, POSTGRES_COMMIT_MS),
  patience = 1,
}: PostgresOptions): Promise<PostgresDatabase> {
  const url = connection.connectionString;
  const route = createRoute({ plan: () => planConnections(url), prepares: listenUrl === undefined, patience });
  const readers = manyConnections(route, POSTGRES_READERS);
  const writers = manyConnections(route, POSTGRES_WRITERS);
  await route.open().catch((error: unknown) => {
    throw portError(error);
  });
  const watching = [watch([...readers, ...writers], route, { answerMs, patience })];
  const servers = createServers();
  const reads = createReads(readers, servers);
  const run = (sql: string): Promise<void> =>
    runAlone(route, ({ settings }) => (settings === '' ? sql : `${settings}; ${sql}`));
  const vacuum = (table: string): Promise<void> =>
    runAlone(route, ({ schema }) => `VACUUM ${schema === null ? table : `${schema}.${table}`}`);
  const repair = (error: unknown): Promise<boolean> => makePartitions({ all: reads, run }, error);
  const writes = createWrites(writers, repair, Number.isFinite(answerMs) ? commitMs : answerMs);

  const listenRoute =
    listenUrl === undefined
      ? route
      : createRoute({ plan: () => planConnections(listenUrl), prepares: false, patience });
  const listening = createConnection(listenRoute);
  const listener = createChannelListener(listening);
  watching.push(watch([listening], listenRoute, { answerMs, patience }));

  return {
    get: async (sql, params) => (await reads(sql, params))[0],
    all: reads,
    commits: writes.commits,
    onCommit: writes.onCommit,
    commit: writes.commit,
    confirm: createConfirm(writes.commit, servers),
    forgetOverwritten: () => vacuumErased({ get: async (sql, params) => (await reads(sql, params))[0], vacuum }),
    run,
    listen: listener.listen,
    notify: createNotify(reads),
    close: async () => {
      await writes.close();
      for (const one of watching) one.stop();
      await Promise.all([listener, ...readers, ...writers].map((one) => one.close()));
      await Promise.all([route, listenRoute].map((one) => one.close()));
    },
  };
}

function manyConnections(route: ServerRoute, count: number): Connection[] {
  return Array.from({ length: count }, () => createConnection(route));
}

async function runAlone(route: ServerRoute, sqlFor: (session: DatabaseSession) => string): Promise<void> {
  let session: DatabaseSession | null = null;
  try {
    session = await route.connect();
    await session.query(sqlFor(session));
  } catch (error) {
    throw portError(error);
  } finally {
    await session?.end();
  }
}

type Reads = (sql: string, params: SqlParameters) => Promise<Row[]>;

type Read = Prepared & { readonly resolve: (rows: Row[]) => void; readonly reject: (error: unknown) => void };

/** Reads that are sent together. All wait for the slowest of them. */
const READS_TOGETHER = 50;

/**
 * Reads on the first connection that answers quickly, all reads of a turn together. Reads whose connection is lost are repeated. While a
 * connection cannot be opened, the others are used, however busy they are.
 */
function createReads(readers: readonly Connection[], servers: Servers): Reads {
  const waiting: Read[] = [];
  const chosen = (): Connection => {
    const waits = readers.map((reader) => reader.current()?.silentMs() ?? 0);
    const free = waits.findIndex((silentMs) => silentMs < POSTGRES_READER_BUSY_MS);
    return readers[free === -1 ? waits.indexOf(Math.min(...waits)) : free] as Connection;
  };
  const opened = async (reader: Connection): Promise<DatabaseSession> => {
    try {
      return await reader.session();
    } catch (error) {
      const other = readers.find((one) => one.current() !== null)?.current() ?? null;
      if (other === null) throw error;
      return other;
    }
  };
  const answer = async (reads: readonly Read[]): Promise<void> => {
    for (let round = 1; ; round += 1) {
      let session: DatabaseSession | null = null;
      try {
        const reader = chosen();
        session = reader.current() ?? (await opened(reader));
        const { answers, serverStart } = await runPlanned(session, reads);
        servers.answered(serverStart);
        for (const [at, { resolve }] of reads.entries()) resolve(answers[at]?.rows ?? []);
        return;
      } catch (error) {
        const isUseless = isLost(error) || isStaleSession(error);
        if (isUseless) session?.destroy();
        if (isUseless && session !== null && round <= POSTGRES_LOST_ROUNDS) continue;
        // One of them is wrong. The others have nothing to do with it.
        if (!isUseless && reads.length > 1) for (const read of reads) void answer([read]);
        else for (const { reject } of reads) reject(portError(error));
        return;
      }
    }
  };
  const flush = (): void => {
    while (waiting.length > 0) void answer(waiting.splice(0, READS_TOGETHER));
  };
  return (sql, params) =>
    new Promise((resolve, reject) => {
      // After all promises that are settled by now have been handled.
      if (waiting.length === 0) queueMicrotask(() => nextTick(flush));
      waiting.push({ sql, params, resolve, reject });
    });
}

type Writes = Pick<PostgresDatabase, 'commit' | 'commits' | 'onCommit'> & { close(): Promise<void> };

/** Lists that were accepted and not answered, and the count of ended ones. */
type WriteQueue = {
  readonly waiting: List[];
  readonly inProgress: Set<List>;
  readonly listeners: (() => void)[];
  /** Of waiting lists and lists in progress, without the ones that were given up. */
  unanswered: number;
  unansweredBytes: number;
  commits: number;
  closedAt: number;
};

/**
 * Runs lists as transactions, at most one on each connection. `repair` returns whether the list that failed should be run again.
 * `commitMs`: how long a caller waits for COMMIT; if it is infinite, so is the wait for a connection.
 */
function createWrites(
  writers: readonly Connection[],
  repair: (error: unknown) => Promise<boolean>,
  commitMs: number,
): Writes {
  const queue: WriteQueue = {
    waiting: [],
    inProgress: new Set(),
    listeners: [],
    unanswered: 0,
    unansweredBytes: 0,
    commits: 0,
    closedAt: Number.POSITIVE_INFINITY,
  };
  const free = [...writers];
  let isScheduled = false;
  const lateTimer = (): NodeJS.Timeout => setInterval(() => refuseLate(queue, commitMs), POSTGRES_LATE_EVERY_MS);
  const timer = Number.isFinite(commitMs) ? lateTimer().unref() : null;

  const pump = (): void => {
    isScheduled = false;
    while (queue.waiting.length > 0) {
      const writer = free.pop();
      if (writer === undefined) return;
      void write(queue, writer, queue.waiting.shift() as List, repair).finally(() => {
        free.push(writer);
        pump();
      });
    }
  };

  return {
    commits: () => queue.commits,
    onCommit: (listener) => void queue.listeners.push(listener),
    commit: (statements, onWritten, isPatient = false) =>
      new Promise((resolve, reject) => {
        if (Number.isFinite(queue.closedAt)) return reject(new Error('the database is not open'));
        const bytes = statements.reduce((sum, { params }) => sum + bytesOfValues(params), 0);
        if (isFull(queue, bytes)) return reject(new DatabaseUnavailable('overloaded'));
        queue.unanswered += 1;
        queue.unansweredBytes += bytes;
        const list = { statements, bytes, onWritten, resolve, reject, isPatient };
        queue.waiting.push({ ...list, askedAt: performance.now(), committingAt: null, isGivenUp: false });
        if (isScheduled) return;
        isScheduled = true;
        setImmediate(pump);
      }),
    close: async () => {
      queue.closedAt = performance.now();
      while (queue.unanswered > 0) await pause(1);
      if (timer !== null) clearInterval(timer);
    },
  };
}

/** A single list is accepted whatever its size. */
function isFull({ unanswered, unansweredBytes }: WriteQueue, bytes: number): boolean {
  return unanswered >= LISTS_WAITING_MAX || (unanswered > 0 && unansweredBytes + bytes > BYTES_WAITING_MAX);
}

/** The list has ended: answers its caller, unless it was given up. */
function settle(queue: WriteQueue, list: List, answer: () => void): void {
  queue.commits += 1;
  for (const listener of queue.listeners) listener();
  if (list.isGivenUp) return;
  queue.unanswered -= 1;
  queue.unansweredBytes -= list.bytes;
  answer();
}

/** Answers callers that have waited too long. */
function refuseLate(queue: WriteQueue, commitMs: number): void {
  const { waiting, inProgress, closedAt } = queue;
  const now = performance.now();
  const isOver = now - closedAt > POSTGRES_CLOSE_MS;
  const isLate = ({ isPatient, askedAt }: List): boolean =>
    isOver || (!isPatient && now - askedAt > Math.min(commitMs, POSTGRES_QUEUE_MS));
  const late = waiting.filter(isLate);
  if (late.length > 0) waiting.splice(0, waiting.length, ...waiting.filter((list) => !isLate(list)));
  for (const list of late) settle(queue, list, () => list.reject(unavailable('waiting')));
  for (const list of inProgress) {
    if (list.isGivenUp || list.committingAt === null) continue;
    if (!isOver && (list.isPatient || now - list.committingAt <= commitMs)) continue;
    settle(queue, list, () => list.reject(new DatabaseUnavailable('unknown')));
    list.isGivenUp = true;
  }
}

/** Runs a list and answers its caller. Never rejects. */
async function write(
  queue: WriteQueue,
  writer: Connection,
  list: List,
  repair: (error: unknown) => Promise<boolean>,
): Promise<void> {
  const beganAt = performance.now();
  const progress: CommitProgress = {
    committing: () => {
      list.committingAt ??= performance.now();
    },
    isGivenUp: () => list.isGivenUp,
  };
  const run = (): Promise<readonly StatementResult[]> => runTransaction(writer, list.statements, progress);
  queue.inProgress.add(list);
  try {
    const results = await run().catch(async (error: unknown) => {
      if (!(await repair(error))) throw error;
      return run();
    });
    const took = { statementsMs: performance.now() - beganAt, commitMs: 0 };
    settle(queue, list, () => {
      list.onWritten?.(took);
      list.resolve(results);
    });
  } catch (error) {
    settle(queue, list, () => list.reject(error));
  } finally {
    queue.inProgress.delete(list);
  }
}

const NOW = 'SELECT floor(extract(epoch FROM clock_timestamp()) * 1000) AS now';

/**
 * Makes the partitions for new rows if a row found none. Housekeeping makes them ahead of time; this is for an instance whose housekeeping
 * failed for weeks. Returns whether to write again.
 */
async function makePartitions(db: Pick<PostgresDatabase, 'all' | 'run'>, error: unknown): Promise<boolean> {
  if (!lacksPartition(error)) return false;
  try {
    const [row] = await db.all(NOW, {});
    await ensurePartitions(db, { now: Number(row?.now), aheadMs: 0 });
    return true;
  } catch {
    return false;
  }
}

function createNotify(reads: Reads): PostgresDatabase['notify'] {
  const waiting = new Set<string>();
  const send = (): void => {
    const sent = [...waiting].join(',');
    waiting.clear();
    reads(NOTIFY, { list: `[${sent}]` }).catch(() => undefined);
  };
  return (channel, payload) => {
    if (waiting.size === 0) setImmediate(send);
    waiting.add(JSON.stringify([channel, payload]));
  };
}

const NOTIFY = 'SELECT pg_notify(m.value ->> 0, m.value ->> 1) FROM tuples(@list) AS m';

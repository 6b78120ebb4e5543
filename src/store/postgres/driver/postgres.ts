/**
 * The driver of PostgreSQL. Reads of one turn of the event loop go out together on one connection. Lists that come in one turn share a
 * transaction; if it is refused, each runs alone, so that a stale list refuses no other.
 */
import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';
import { BYTES_WAITING_MAX, LISTS_WAITING_MAX } from '../../../kernel/limits/database.ts';
import { POSTGRES_LISTS_TOGETHER, POSTGRES_ROUNDS, POSTGRES_WRITERS } from '../../../kernel/limits/postgres.ts';
import type { Database, Parameters, Row, Statement, StatementResult, WriteTime } from '../../database.ts';
import { DatabaseUnavailable, StaleWrite } from '../../errors.ts';
import { type Connection, type ConnectionOptions, createConnection } from './connection.ts';
import { isWorthAnother, portError } from './errors.ts';

export type PostgresDatabase = Database & {
  /** Runs SQL as it is, for the schema and administration. Several statements run in one transaction. */
  run(sql: string): Promise<void>;
};

type List = {
  readonly statements: readonly Statement[];
  readonly since: number;
  readonly bytes: number;
  readonly onWritten: ((took: WriteTime) => void) | undefined;
  readonly resolve: (results: readonly StatementResult[]) => void;
  readonly reject: (error: unknown) => void;
};

/** Opens connections to the database. Throws `DatabaseUnavailable` if it cannot be reached. */
export async function openPostgres(options: ConnectionOptions): Promise<PostgresDatabase> {
  const reader = createConnection(options);
  const writers = Array.from({ length: POSTGRES_WRITERS }, () => createConnection(options));
  await reader.client().catch((error: unknown) => {
    throw portError(error);
  });
  const free = [...writers];
  const waiting: List[] = [];
  const listeners: (() => void)[] = [];
  let waitingLists = 0;
  let waitingBytes = 0;
  let commits = 0;
  let isScheduled = false;
  let isClosed = false;

  const read = async (sql: string, params: Parameters): Promise<pg.QueryResult<Row>> => {
    try {
      return await reader.query(sql, params);
    } catch (error) {
      throw portError(error);
    }
  };

  const settled = (lists: readonly List[], answer: (list: List) => void): void => {
    commits += 1;
    for (const listener of listeners) listener();
    for (const list of lists) {
      waitingLists -= 1;
      waitingBytes -= list.bytes;
      answer(list);
    }
  };

  const write = async (writer: Connection, lists: readonly List[]): Promise<void> => {
    const beganAt = performance.now();
    try {
      const results = await transaction(writer, lists);
      const took = { statementsMs: performance.now() - beganAt, commitMs: 0 };
      settled(lists, (list) => {
        list.onWritten?.(took);
        list.resolve(results.get(list) ?? []);
      });
    } catch (error) {
      if (lists.length === 1 || error instanceof DatabaseUnavailable) {
        return settled(lists, (list) => list.reject(error));
      }
      for (const list of lists) await write(writer, [list]);
    }
  };

  const pump = (): void => {
    isScheduled = false;
    while (waiting.length > 0) {
      const writer = free.pop();
      if (writer === undefined) return;
      const lists = waiting.splice(0, POSTGRES_LISTS_TOGETHER);
      void write(writer, lists).finally(() => {
        free.push(writer);
        pump();
      });
    }
  };

  return {
    get: async (sql, params) => (await read(sql, params)).rows[0],
    all: async (sql, params) => (await read(sql, params)).rows,
    // Every read sees all commits.
    readAnew: () => {},
    commits: () => commits,
    onCommit: (listener) => void listeners.push(listener),
    commit: (statements, onWritten) =>
      new Promise((resolve, reject) => {
        if (isClosed) return reject(new Error('the database is not open'));
        const bytes = bytesOf(statements);
        if (waitingLists >= LISTS_WAITING_MAX || (waitingLists > 0 && waitingBytes + bytes > BYTES_WAITING_MAX)) {
          return reject(new DatabaseUnavailable('overloaded'));
        }
        waitingLists += 1;
        waitingBytes += bytes;
        waiting.push({ statements, since: performance.now(), bytes, onWritten, resolve, reject });
        if (isScheduled) return;
        isScheduled = true;
        setImmediate(pump);
      }),
    // Old versions of rows are removed by VACUUM, not by this transaction.
    overwriteCopies: async () => [],
    forgetOverwritten: async () => {
      for (const table of ['event', 'attempt']) await read(`VACUUM ${table}`, {});
      return true;
    },
    run: async (sql) => {
      await (await writers[0]?.client())?.query(sql);
    },
    close: async () => {
      isClosed = true;
      while (waitingLists > 0) await pause(1);
      await Promise.all([reader, ...writers].map((connection) => connection.close()));
    },
  };
}

/** Runs the lists as one transaction. Throws `StaleWrite`, `ConstraintViolation` or `DatabaseUnavailable`, with nothing kept. */
async function transaction(
  writer: Connection,
  lists: readonly List[],
): Promise<ReadonlyMap<List, readonly StatementResult[]>> {
  for (let round = 1; ; round += 1) {
    try {
      return await transactionOnce(writer, lists);
    } catch (error) {
      if (!isWorthAnother(error) || round === POSTGRES_ROUNDS) throw portError(error);
      await pause(Math.random() * 10 * round);
    }
  }
}

const LOCK_AUDIT: Statement = { sql: 'LOCK TABLE audit IN EXCLUSIVE MODE', params: {} };

async function transactionOnce(
  writer: Connection,
  lists: readonly List[],
): Promise<ReadonlyMap<List, readonly StatementResult[]>> {
  const statements = lists.flatMap((list) => list.statements);
  // Administrative changes come one after another: each entry of the audit log needs the one before.
  const locks = statements.some(({ sql }) => sql.includes('INSERT INTO audit ')) ? [LOCK_AUDIT] : [];
  const client = await writer.client();
  const begun = client.query('BEGIN');
  const answers = [...locks, ...statements].map(({ sql, params }) => writer.query(sql, params));
  const outcomes = await Promise.allSettled([begun, ...answers]);
  try {
    const failed = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
    const results = outcomes
      .slice(1 + locks.length)
      .map((outcome) => (outcome as PromiseFulfilledResult<pg.QueryResult<Row>>).value)
      .map(({ rowCount, rows }): StatementResult => ({ changes: rowCount ?? 0, rows }));
    for (const [at, { sql, expectChanges }] of statements.entries()) {
      const { changes = 0 } = results[at] ?? {};
      if (expectChanges !== undefined && changes !== expectChanges) throw new StaleWrite(sql, expectChanges, changes);
    }
    await client.query('COMMIT');
    const rest = [...results];
    return new Map(lists.map((list) => [list, rest.splice(0, list.statements.length)]));
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined);
    throw error;
  }
}

function bytesOf(statements: readonly Statement[]): number {
  let bytes = 0;
  for (const { params } of statements) {
    for (const name in params) {
      const value = params[name];
      if (typeof value === 'string') bytes += value.length;
      else if (value instanceof Uint8Array) bytes += value.byteLength;
    }
  }
  return bytes;
}

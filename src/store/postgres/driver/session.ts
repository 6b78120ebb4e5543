/** A session: one connection to a server. Statements are pipelined: each is sent without waiting for those before it. */
import { createHash } from 'node:crypto';
import type pg from 'pg';
import { POSTGRES_END_MS } from '../../../kernel/limits/postgres.ts';
import type { Parameters, Row } from '../../database.ts';
import { postgresText, postgresValue, typesOf } from './dialect.ts';

export type Session = {
  /** The server's process for it; null behind a pooler such as PgBouncer, which may give each transaction another one. */
  readonly process: number | null;
  /** Differs after each start and each crash of a server. Transaction numbers mean the same only within one run. */
  readonly serverRun: string;
  /** False once the connection is lost or closed. */
  isOpen(): boolean;
  /** Runs a shared statement. */
  run(sql: string, params: Parameters): Promise<pg.QueryResult<Row>>;
  /** Runs SQL as it is. */
  query(text: string): Promise<pg.QueryResult<Row>>;
  /** How long the server has not answered while statements wait for it; 0 if none waits. */
  silentMs(): number;
  onNotification(listener: (channel: string, payload: string) => void): void;
  /** Calls back when the connection is lost or closed. */
  onEnd(listener: () => void): void;
  /** Breaks the connection. Statements that wait reject. */
  destroy(): void;
  /** Ends the session in order if the server answers, and breaks it otherwise. */
  end(): Promise<void>;
};

/**
 * The settings of the planner, for a session or for one transaction. The shared statements are written for look-ups in indexes, which is all
 * that SQLite does. PostgreSQL keeps the plan of a prepared statement, and might choose to read whole tables while they are small or have no
 * statistics yet. To compile a plan (JIT) takes up to a second, and running it a few milliseconds.
 */
export function planning(set: 'SET' | 'SET LOCAL'): string {
  return ['enable_seqscan', 'enable_hashjoin', 'enable_mergejoin', 'jit']
    .map((name) => `${set} ${name} = off`)
    .join('; ');
}

/**
 * Runs a statement on its own. Behind a pooler it is a transaction with the settings of the planner: sent at once, so that the statements of
 * concurrent callers stay apart.
 */
export function runPlanned(session: Session, sql: string, params: Parameters): Promise<pg.QueryResult<Row>> {
  if (session.process !== null) return session.run(sql, params);
  const begun = session.query(`BEGIN; ${planning('SET LOCAL')}`);
  const answer = session.run(sql, params);
  const ended = session.query('COMMIT');
  // The answer tells what went wrong.
  for (const other of [begun, ended]) other.catch(() => undefined);
  return answer;
}

/** What the server says about itself and about the connection. */
export type Greeting = {
  readonly process: number;
  readonly isStandby: boolean;
  readonly isReadOnly: boolean;
  readonly serverRun: string;
};

// The processes of the server itself have no role and no database. All of them are new after a crash.
const GREETING = `
  SELECT pg_backend_pid() AS process, pg_is_in_recovery() AS standby, current_setting('transaction_read_only') = 'on' AS read_only,
    CAST(pg_postmaster_start_time() AS text) || ' ' ||
    coalesce((SELECT CAST(min(pid) AS text) FROM pg_stat_activity WHERE usesysid IS NULL AND datid IS NULL), '') AS server_run`;

export async function greet(client: pg.Client): Promise<Greeting> {
  const { rows } = await client.query<Row>(GREETING);
  const [row] = rows;
  return {
    process: Number(row?.process),
    isStandby: row?.standby === 1,
    isReadOnly: row?.read_only === 1,
    serverRun: String(row?.server_run),
  };
}

/** Rows as the store expects them: integers as numbers, booleans as 1 or 0, JSON as its text. */
const PARSERS: Readonly<Record<number, (text: string) => unknown>> = {
  16: (text) => (text === 't' ? 1 : 0),
  17: (text) => Buffer.from(text.slice(2), 'hex'),
  20: Number,
  21: Number,
  23: Number,
  700: Number,
  701: Number,
  1700: Number,
};
const asText = (text: string): unknown => text;
export const TYPES: pg.CustomTypesConfig = {
  getTypeParser: (oid: number) => PARSERS[oid] ?? asText,
} as unknown as pg.CustomTypesConfig;

/** Fields of the client that its types leave out. */
type ClientParts = { readonly processID: number; readonly connection: { readonly stream: { destroy(): void } } };

/** `prepares`: statements are named, so that the server parses each once a connection. Never behind a pooler. */
export function createSession(client: pg.Client, greeting: Greeting, prepares: boolean): Session {
  const parts = client as unknown as ClientParts;
  const process = parts.processID === greeting.process ? greeting.process : null;
  const isPrepared = prepares && process !== null;
  let waiting = 0;
  let progressAt = 0;
  let isOpen = true;
  const over = (): void => {
    isOpen = false;
  };
  client.on('error', over);
  client.on('end', over);

  const send = (config: pg.QueryConfig): Promise<pg.QueryResult<Row>> =>
    new Promise((resolve, reject) => {
      if (waiting === 0) progressAt = performance.now();
      waiting += 1;
      // With a callback it returns nothing.
      void client.query<Row>(config as pg.QueryConfig<unknown[]>, (error: Error | null, result) => {
        waiting -= 1;
        progressAt = performance.now();
        if (error === null) resolve(result);
        else reject(error);
      });
    });
  const destroy = (): void => {
    isOpen = false;
    parts.connection.stream.destroy();
  };

  return {
    process,
    serverRun: greeting.serverRun,
    isOpen: () => isOpen,
    run: async (sql, params) => {
      const { text, names, name } = prepared(sql, params);
      const values = names.map((one) => postgresValue(params[one], one));
      return send(isPrepared ? { name, text, values } : { text, values });
    },
    query: (text) => send({ text }),
    silentMs: () => (waiting === 0 ? 0 : performance.now() - progressAt),
    onNotification: (listener) =>
      void client.on('notification', ({ channel, payload = '' }) => listener(channel, payload)),
    onEnd: (listener) => void client.once('end', listener),
    destroy,
    end: async () => {
      isOpen = false;
      const timer = setTimeout(destroy, POSTGRES_END_MS);
      await client.end().catch(() => undefined);
      clearTimeout(timer);
    },
  };
}

type Prepared = { readonly text: string; readonly names: readonly string[]; readonly name: string };

const preparedTexts = new Map<string, Prepared>();

function prepared(sql: string, params: Parameters): Prepared {
  const key = `${typesOf(params)} ${sql}`;
  let cached = preparedTexts.get(key);
  if (cached === undefined) {
    const { text, names } = postgresText(sql, params);
    cached = { text, names, name: createHash('sha256').update(text).digest('base64url').slice(0, 22) };
    preparedTexts.set(key, cached);
  }
  return cached;
}

/** A session: one connection to a server. Statements are pipelined: each is sent without waiting for those before it. */
import { createHash } from 'node:crypto';
import { nextTick } from 'node:process';
import type pg from 'pg';
import type { Row, SqlParameters, Statement } from '../../port/database.ts';
import { postgresText, postgresValue, typesOf } from './dialect.ts';
import type { PgInternals } from './pg-internals.ts';
import { type Answered, pipelined, type Sent } from './pipeline.ts';
import { transactionSettings } from './settings.ts';

/** How long an orderly end of a connection may take. */
const POSTGRES_END_MS = 500;

/** A shared statement with its parameters. */
export type Prepared = Pick<Statement, 'sql' | 'params'>;

export type DatabaseSession = {
  /** The server's process for it; null behind a pooler such as PgBouncer, which may give each transaction another one. */
  readonly process: number | null;
  /** The schema of the tables as an identifier; null if the search path has none. */
  readonly schema: string | null;
  /** The statements that give a transaction its settings, for a session behind a pooler; '' if the session has them. */
  readonly settings: string;
  /** Differs for each start of a server. Behind a pooler, it is that of the first transaction. */
  readonly serverStart: string;
  /** Differs after each start and each crash of a server. Transaction numbers mean the same only within one run. */
  readonly serverRun: string;
  /** False once the connection is lost or closed. */
  isOpen(): boolean;
  /** Runs a shared statement. */
  run(sql: string, params: SqlParameters): Promise<pg.QueryResult<Row>>;
  /**
   * Runs shared statements, which have a result each. Unless a transaction has begun, they are one. Rejects with the first error; the
   * server skips the statements behind it.
   */
  runAll(statements: readonly Prepared[]): Promise<Answered>;
  /** Runs SQL as it is. */
  query(text: string): Promise<pg.QueryResult<Row>>;
  /**
   * Sends the end of a transaction, in which COMMIT may wait for a standby. `process`: the server's process, or null if it is not known.
   */
  commit<Result>(process: number | null, send: () => Promise<Result>): Promise<Result>;
  /** The server's process that has not answered such an end; null if none is in progress or it is not known. */
  committing(): number | null;
  /** Whether the server has sent a warning since the last call. */
  takeWarning(): boolean;
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

/** The start of a transaction, whatever the role's isolation is. */
export const BEGIN = 'BEGIN ISOLATION LEVEL READ COMMITTED';

/**
 * Runs reads, and returns the start of the server that answered. Behind a pooler they are a transaction with its settings: sent together,
 * so that the statements of concurrent callers stay apart.
 */
export async function runPlanned(
  session: DatabaseSession,
  reads: readonly Prepared[],
): Promise<{ readonly answers: Answered; readonly serverStart: string }> {
  if (session.process !== null) return { answers: await session.runAll(reads), serverStart: session.serverStart };
  const begun = session.query(`${BEGIN}; ${session.settings}; SELECT ${SERVER_START} AS started`);
  const answer = session.runAll(reads);
  const ended = session.query('COMMIT');
  // The answer says what went wrong.
  for (const other of [begun, ended]) other.catch(() => undefined);
  const answers = await answer;
  const started = (await begun) as unknown as readonly pg.QueryResult<Row>[];
  return { answers, serverStart: String(started.at(-1)?.rows[0]?.started) };
}

/** The facts that the server reports about itself and the connection. */
type Greeting = {
  readonly process: number;
  readonly version: number;
  readonly schema: string | null;
  readonly isStandby: boolean;
  readonly isReadOnly: boolean;
  readonly serverStart: string;
  readonly serverRun: string;
};

/** Tells servers apart: when it started. */
export const SERVER_START = 'CAST(extract(epoch FROM pg_postmaster_start_time()) AS text)';

// The processes of the server itself have no role and no database. All of them are new after a crash.
// The limit of the role may be too short for it. Behind a pooler, SET would outlast this message.
const GREETING = `
  SET LOCAL statement_timeout = 0;
  SELECT pg_backend_pid() AS process, pg_is_in_recovery() AS standby, current_setting('transaction_read_only') = 'on' AS read_only,
    current_setting('server_version_num') AS version, quote_ident(current_schema()) AS schema,
    ${SERVER_START} AS server_start,
    coalesce((SELECT CAST(min(pid) AS text) FROM pg_stat_activity WHERE usesysid IS NULL AND datid IS NULL), '') AS oldest`;

export async function greet(client: pg.Client): Promise<Greeting> {
  const [, answer] = (await client.query(GREETING)) as unknown as readonly pg.QueryResult<Row>[];
  const row = answer?.rows[0];
  return {
    process: Number(row?.process),
    version: Number(row?.version),
    schema: row?.schema == null ? null : String(row.schema),
    isStandby: row?.standby === 1,
    isReadOnly: row?.read_only === 1,
    serverStart: String(row?.server_start),
    serverRun: `${row?.server_start} ${row?.oldest}`,
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

/** The classes of warnings: a warning of no other class, and one of the end of the connection. */
const WARNINGS = ['01', '57P'];

/** `prepares`: statements are named, so that the server parses each once a connection. Never behind a pooler. */
export function createSession(
  {
    client,
    internals,
    Query,
  }: { readonly client: pg.Client; readonly internals: PgInternals; readonly Query: typeof pg.Query },
  greeting: Greeting,
  prepares: boolean,
): DatabaseSession {
  const process = internals.process() === greeting.process ? greeting.process : null;
  const isPrepared = prepares && process !== null;
  const { schema, version } = greeting;
  const messages = { Query, messages: internals.messages, kept: new Map<string, boolean>() };
  let waiting = 0;
  let progressAt = 0;
  let isOpen = true;
  let isGathering = false;
  const over = (): void => {
    isOpen = false;
  };
  client.on('error', over);
  client.on('end', over);
  let committing: number | null = null;
  let hasWarned = false;
  client.on('notice', ({ code }) => {
    hasWarned ||= WARNINGS.some((prefix) => code?.startsWith(prefix) === true);
  });

  // What is sent in one turn goes out as one packet.
  const gather = (): void => {
    if (isGathering) return;
    isGathering = true;
    internals.cork();
    nextTick(() => {
      isGathering = false;
      internals.uncork();
    });
  };
  const answered = <Result>(submit: (answer: (error: Error | null, result: Result) => void) => void): Promise<Result> =>
    new Promise((resolve, reject) => {
      if (waiting === 0) progressAt = performance.now();
      waiting += 1;
      gather();
      submit((error, result) => {
        waiting -= 1;
        progressAt = performance.now();
        if (error === null) resolve(result);
        else reject(error);
      });
    });
  const runAll = async (statements: readonly Prepared[]): Promise<Answered> => {
    const sent = statements.map(({ sql, params }): Sent => {
      const { text, names, name } = textOf(sql, params);
      return { name: isPrepared ? name : '', text, values: names.map((one) => postgresValue(params[one], one)) };
    });
    return answered((answer) => void client.query(pipelined(messages, sent, answer)));
  };
  const destroy = (): void => {
    isOpen = false;
    internals.destroy();
  };

  return {
    process,
    schema,
    settings: process === null ? transactionSettings({ schema, version }) : '',
    serverStart: greeting.serverStart,
    serverRun: greeting.serverRun,
    isOpen: () => isOpen,
    runAll,
    run: async (sql, params) => (await runAll([{ sql, params }]))[0] as pg.QueryResult<Row>,
    // With a callback it returns nothing.
    query: (text) => answered((answer) => void client.query<Row>(text, answer)),
    commit: async (transactionProcess, send) => {
      committing = transactionProcess;
      try {
        return await send();
      } finally {
        committing = null;
      }
    },
    committing: () => committing,
    takeWarning: () => {
      const had = hasWarned;
      hasWarned = false;
      return had;
    },
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

type Named = { readonly text: string; readonly names: readonly string[]; readonly name: string };

/** The texts of a shared statement by the types of its parameters (`typesOf`). */
type Texts = { readonly names: readonly string[]; readonly byTypes: Map<string, Named> };

const known = new Map<string, Texts>();

function textOf(sql: string, params: SqlParameters): Named {
  let texts = known.get(sql);
  if (texts === undefined) {
    texts = { names: postgresText(sql, params).names, byTypes: new Map() };
    known.set(sql, texts);
  }
  const types = typesOf(texts.names, params);
  let named = texts.byTypes.get(types);
  if (named === undefined) {
    const { text } = postgresText(sql, params);
    named = { text, names: texts.names, name: createHash('sha256').update(text).digest('base64url').slice(0, 22) };
    texts.byTypes.set(types, named);
  }
  return named;
}

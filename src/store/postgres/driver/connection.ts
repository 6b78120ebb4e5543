/** One connection to PostgreSQL, made again when it is lost. Queries are pipelined: each is sent without waiting for those before it. */
import { createHash } from 'node:crypto';
import type pg from 'pg';
import { POSTGRES_ANSWER_MS, POSTGRES_CONNECT_MS } from '../../../kernel/limits/postgres.ts';
import type { Parameters, Row } from '../../database.ts';
import { postgresText, postgresValue, typesOf } from './dialect.ts';
import { type Attempt, type ConnectionPlan, planConnections } from './url.ts';

export type ConnectionOptions = {
  /** A URL (`connectionString`), or what the client needs to connect: host, port, user, password, database, TLS. */
  readonly connection: pg.ClientConfig;
  /** Whether statements are prepared once a connection. Not behind a pool that gives each transaction another connection. */
  readonly prepares?: boolean;
};

export type Connection = {
  /** The connected client; connects if there is none. */
  client(): Promise<pg.Client>;
  /** Runs a shared statement. */
  query(sql: string, params: Parameters): Promise<pg.QueryResult<Row>>;
  close(): Promise<void>;
};

type Prepared = { readonly text: string; readonly names: readonly string[]; readonly name: string };

const preparedTexts = new Map<string, Prepared>();

function prepared(sql: string, params: Parameters): Prepared {
  const key = `${typesOf(params)} ${sql}`;
  let known = preparedTexts.get(key);
  if (known === undefined) {
    const { text, names } = postgresText(sql, params);
    known = { text, names, name: createHash('sha256').update(text).digest('base64url').slice(0, 22) };
    preparedTexts.set(key, known);
  }
  return known;
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
const TYPES = { getTypeParser: (oid: number) => PARSERS[oid] ?? asText } as unknown as pg.CustomTypesConfig;

export function createConnection({ connection, prepares = true }: ConnectionOptions): Connection {
  let current: Promise<pg.Client> | null = null;
  let established: pg.Client | null = null;
  let isClosed = false;

  const connect = async (): Promise<pg.Client> => {
    const connected = await connectFirst(planOf(connection));
    const forget = (): void => {
      if (established === connected) current = null;
    };
    established = connected;
    connected.on('error', forget);
    connected.on('end', forget);
    return connected;
  };

  const client = (): Promise<pg.Client> => {
    if (isClosed) return Promise.reject(new RangeError('the database is not open'));
    current ??= connect().catch((error: unknown) => {
      current = null;
      throw error;
    });
    return current;
  };

  return {
    client,
    query: async (sql, params) => {
      const { text, names, name } = prepared(sql, params);
      const values = names.map((one) => postgresValue(params[one], one));
      const connected = await client();
      return connected.query<Row>(prepares ? { name, text, values } : { text, values });
    },
    close: async () => {
      isClosed = true;
      const open = current;
      current = null;
      await open?.then((connected) => connected.end()).catch(() => undefined);
    },
  };
}

function planOf({ connectionString, ...config }: pg.ClientConfig): ConnectionPlan {
  if (connectionString === undefined) return { attempts: [{ config, isFallback: false }], needsPrimary: false };
  const plan = planConnections(connectionString);
  return {
    ...plan,
    attempts: plan.attempts.map((attempt) => ({ ...attempt, config: { ...attempt.config, ...config } })),
  };
}

/** Connects by the first way that works. Throws the error of the first server that could be asked, or else of the last one. */
async function connectFirst({ attempts, needsPrimary }: ConnectionPlan): Promise<pg.Client> {
  const failures: Error[] = [];
  for (const attempt of attempts) {
    if (attempt.isFallback && !lacksTls(failures.at(-1))) continue;
    try {
      const client = await connectOnce(attempt);
      if (!needsPrimary || (await isWritable(client))) return client;
      await client.end();
      failures.push(new StandbyError());
    } catch (error) {
      failures.push(error as Error);
    }
  }
  throw (
    failures.find((failure) => /^[0-9A-Z]{5}$/.test(String((failure as { code?: unknown }).code))) ??
    failures.at(-1) ??
    new Error('the URL has no host')
  );
}

/** The servers that answered cannot be written. The code is PostgreSQL's for a read-only transaction. */
class StandbyError extends Error {
  readonly code = '25006';
  constructor() {
    super('none of the servers that answered is the primary');
  }
}

async function connectOnce({ config }: Attempt): Promise<pg.Client> {
  const { Client } = (await import('pg')).default;
  const client = new Client({
    connectionTimeoutMillis: POSTGRES_CONNECT_MS,
    query_timeout: POSTGRES_ANSWER_MS,
    keepAlive: true,
    application_name: 'sallyport',
    ...config,
    types: TYPES,
    pipeline: true,
  } as pg.ClientConfig);
  // Without a listener, a connection that breaks while it is made would end the process.
  client.on('error', () => {});
  try {
    await client.connect();
    return client;
  } catch (error) {
    await client.end().catch(() => undefined);
    throw error;
  }
}

async function isWritable(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ off: number }>(
    "SELECT NOT pg_is_in_recovery() AND current_setting('default_transaction_read_only') = 'off' AS off",
  );
  return rows[0]?.off === 1;
}

/** As the client reports a server without TLS. */
function lacksTls(error: Error | undefined): boolean {
  return error?.message === 'The server does not support SSL connections';
}

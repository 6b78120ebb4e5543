/** One connection to PostgreSQL, made again when it is lost. Queries are pipelined: each is sent without waiting for those before it. */
import { createHash } from 'node:crypto';
import type pg from 'pg';
import { POSTGRES_ANSWER_MS, POSTGRES_CONNECT_MS } from '../../../kernel/limits/postgres.ts';
import type { Parameters, Row } from '../../database.ts';
import { postgresText, postgresValue, typesOf } from './dialect.ts';

export type ConnectionOptions = {
  /** What the client needs to connect: host, port, user, password, database, TLS. */
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
  let isClosed = false;

  const connect = async (): Promise<pg.Client> => {
    const { Client } = (await import('pg')).default;
    const client = new Client({
      connectionTimeoutMillis: POSTGRES_CONNECT_MS,
      query_timeout: POSTGRES_ANSWER_MS,
      keepAlive: true,
      application_name: 'sallyport',
      ...connection,
      types: TYPES,
      pipeline: true,
    } as pg.ClientConfig);
    const forget = (): void => {
      current = null;
    };
    client.on('error', forget);
    client.on('end', forget);
    await client.connect();
    return client;
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

/** Connects to the first server of a URL that can be written. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type pg from 'pg';
import { READ_ONLY, STANDBY } from '../server.ts';
import { isServerCode, type ServerError } from './errors.ts';
import { internalsOf } from './pg-internals.ts';
import { createSession, type DatabaseSession, greet, TYPES } from './session.ts';
import { sessionSettings } from './settings.ts';
import type { ConnectionPlan } from './url.ts';

type SessionOptions = {
  readonly prepares: boolean;
  /** The schema of the tables as an identifier; null: the first of the search path. */
  readonly schema: string | null;
};

/**
 * Tries all servers in parallel, so that a silent server delays nothing. If none can be used, throws the error of the first one that
 * answered, or else of the first one.
 */
export async function connectFirst(
  plan: ConnectionPlan,
  { prepares = true, schema = null }: Partial<SessionOptions> = {},
): Promise<DatabaseSession> {
  const attempts = plan.servers.map((server) => connectServer(server, plan, { prepares, schema }));
  try {
    const first = await Promise.any(attempts);
    for (const attempt of attempts)
      attempt.then((one) => (one === first ? undefined : one.end())).catch(() => undefined);
    return first;
  } catch (error) {
    const failures = (error as AggregateError).errors as readonly ServerError[];
    throw failures.find(({ code }) => isServerCode(code)) ?? failures[0] ?? new Error('the URL names no server');
  }
}

/** The server cannot be written. The code is PostgreSQL's for a read-only transaction; the message says what to do. */
class NotWritableError extends Error {
  override readonly name = 'NotWritableError';
  readonly code = '25006';
}

/** Tries the ways to connect to one server in turn: with and without TLS. */
async function connectServer(
  ways: readonly pg.ClientConfig[],
  { needsPrimary, connectMs }: ConnectionPlan,
  options: SessionOptions,
): Promise<DatabaseSession> {
  let failure: unknown = new Error('the URL names no server');
  for (const way of ways) {
    try {
      return await within(connectMs, (signal) => connectOnce(way, { ...options, needsPrimary, signal }));
    } catch (error) {
      // A name with several addresses; the error itself has no message.
      failure = error instanceof AggregateError ? error.errors[0] : error;
      if (!wantsAnotherWay(failure as Error)) break;
    }
  }
  throw failure;
}

/** The server has no TLS, or its pg_hba.conf wants or forbids it for this role. */
function wantsAnotherWay({ message, code }: Error & { readonly code?: string }): boolean {
  return message === 'The server does not support SSL connections' || code === '28000';
}

type Wanted = SessionOptions & { readonly needsPrimary: boolean; readonly signal: AbortSignal };

async function connectOnce(
  config: pg.ClientConfig,
  { needsPrimary, prepares, schema, signal }: Wanted,
): Promise<DatabaseSession> {
  const { Client, Query } = (await import('pg')).default;
  const client = new Client({ ...config, keepAlive: true, types: TYPES, pipeline: true });
  const internals = internalsOf(client);
  // Without a listener, a connection that breaks while it is made would end the process.
  client.on('error', () => {});
  signal.addEventListener('abort', () => internals.destroy(signal.reason as Error));
  try {
    await client.connect();
    const greeting = await greet(client);
    if (needsPrimary && greeting.isStandby) throw new NotWritableError(STANDBY);
    if (needsPrimary && greeting.isReadOnly) throw new NotWritableError(READ_ONLY);
    const settled = { ...greeting, schema: schema ?? greeting.schema };
    const session = createSession({ client, internals, Query }, settled, prepares);
    if (session.process !== null) await client.query(sessionSettings(settled));
    return session;
  } catch (error) {
    // An answer in order may never come.
    internals.destroy(error as Error);
    throw error;
  }
}

/** Ends `work` with an error after a time limit. What arrived before the limit counts, even if this process was busy. */
export async function within<T>(limitMs: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const ending = new AbortController();
  const timeout = new Error(`no answer within ${limitMs} ms`);
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      void nextTurn().then(() => {
        reject(timeout);
        ending.abort(timeout);
      });
    }, limitMs);
  });
  try {
    return await Promise.race([work(ending.signal), late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Statements that go out as one message and are answered as one. The client itself ends each statement with a Sync of its own, which the
 * server answers with a packet of its own (PostgreSQL, "Extended Query", "Pipelining").
 */

import type pg from 'pg';
import type { Row } from '../../port/database.ts';
import type { ProtocolMessages } from './pg-internals.ts';

/** `name` is empty if the server should not keep the statement. */
export type Sent = { readonly name: string; readonly text: string; readonly values: readonly unknown[] };
export type Answered = readonly pg.QueryResult<Row>[];

type Callback = (error: Error | null, results: Answered) => void;

/**
 * The named statements of a connection. True: the server keeps it, or will by the time that it reads the next message. False: nobody knows,
 * because a statement before it failed.
 */
type Kept = Map<string, boolean>;

/**
 * A query of the client `Query` for all statements, which has a result for each. After the first error the server skips the others. They
 * share a transaction, which fails with it.
 */
export function pipelined(
  {
    Query,
    messages,
    kept,
  }: { readonly Query: typeof pg.Query; readonly messages: ProtocolMessages; readonly kept: Kept },
  statements: readonly Sent[],
  callback: Callback,
): pg.Query {
  let parsed: readonly string[] = [];
  const query = new Query({ text: '' }, (error, answered) => {
    const results = answered as unknown as Answered | pg.QueryResult<Row>;
    if (error != null) for (const name of parsed) kept.set(name, false);
    callback(error ?? null, Array.isArray(results) ? results : [results as pg.QueryResult<Row>]);
  });
  query.submit = () => {
    parsed = statements.map((statement) => send(messages, kept, statement)).filter((name) => name !== '');
    messages.sync();
  };
  return query;
}

/** Returns the name if the server is to keep the statement from now on, or ''. */
function send(messages: ProtocolMessages, kept: Kept, { name, text, values }: Sent): string {
  const isKept = name !== '' && kept.get(name) === true;
  if (!isKept) {
    // Closing a statement that does not exist is no error.
    if (kept.get(name) === false) messages.close({ type: 'S', name });
    messages.parse({ name, text });
    if (name !== '') kept.set(name, true);
  }
  messages.bind({ statement: name, values: values.map(written) });
  messages.describe({ type: 'P', name: '' });
  messages.execute({ portal: '', rows: 0 });
  return isKept ? '' : name;
}

/** A value as the protocol has it: text, or bytes as they are. */
function written(value: unknown): unknown {
  return typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean' ? String(value) : value;
}

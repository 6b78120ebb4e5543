/**
 * Statements that go out as one message and are answered as one. The client itself ends each statement with a Sync of its own, which the
 * server answers with a packet of its own (PostgreSQL, "Extended Query", "Pipelining").
 */
import type pg from 'pg';
import type { Row } from '../../port/database.ts';

/** `name` is empty if the server should not keep the statement. */
export type Sent = { readonly name: string; readonly text: string; readonly values: readonly unknown[] };
export type Answered = readonly pg.QueryResult<Row>[];

/** The parts of the client's connection that its types leave out. */
type Wire = {
  /** The texts of the statements that the server keeps, by name. The client reads and writes them too. */
  readonly parsedStatements: Record<string, string>;
  readonly submittedNamedStatements: Record<string, string>;
  parse(statement: { readonly name: string; readonly text: string }): void;
  bind(values: { readonly statement: string; readonly values: readonly unknown[] }): void;
  describe(what: { readonly type: 'P' | 'S'; readonly name: string }): void;
  execute(portal: { readonly portal: string; readonly rows: number }): void;
  close(what: { readonly type: 'S'; readonly name: string }): void;
  sync(): void;
};

type Callback = (error: Error | null, results: Answered) => void;

/** Names that the server may have kept or not, because a statement before them failed. */
const doubtful = new WeakMap<Wire, Set<string>>();

/**
 * A query of the client `Query` for all statements, which has a result for each. After the first error the server skips the others. They
 * share a transaction, which fails with it.
 */
export function pipelined(Query: typeof pg.Query, statements: readonly Sent[], callback: Callback): pg.Query {
  let kept: readonly string[] = [];
  let wire: Wire | null = null;
  const query = new Query({ text: '' }, (error, answered) => {
    const results = answered as unknown as Answered | pg.QueryResult<Row>;
    if (wire !== null) remember(wire, kept, error == null);
    callback(error ?? null, Array.isArray(results) ? results : [results as pg.QueryResult<Row>]);
  });
  query.submit = (connection) => {
    const to = connection as unknown as Wire;
    wire = to;
    kept = statements.map((statement) => send(to, statement)).filter((name) => name !== '');
    to.sync();
  };
  return query;
}

/** Returns the name if the server is to keep the statement from now on, or ''. */
function send(wire: Wire, { name, text, values }: Sent): string {
  const isKept = name !== '' && (name in wire.parsedStatements || name in wire.submittedNamedStatements);
  if (!isKept) {
    // Closing a statement that does not exist is no error.
    if (doubtful.get(wire)?.has(name) === true) wire.close({ type: 'S', name });
    wire.parse({ name, text });
    if (name !== '') wire.submittedNamedStatements[name] = text;
  }
  wire.bind({ statement: name, values: values.map(written) });
  wire.describe({ type: 'P', name: '' });
  wire.execute({ portal: '', rows: 0 });
  return isKept ? '' : name;
}

/** A value as the protocol has it: text, or bytes as they are. */
function written(value: unknown): unknown {
  return typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean' ? String(value) : value;
}

function remember(wire: Wire, names: readonly string[], isKept: boolean): void {
  for (const name of names) {
    const text = wire.submittedNamedStatements[name];
    delete wire.submittedNamedStatements[name];
    if (isKept && text !== undefined) wire.parsedStatements[name] = text;
    if (isKept) doubtful.get(wire)?.delete(name);
    else doubtful.set(wire, (doubtful.get(wire) ?? new Set()).add(name));
  }
}

/**
 * The parts of `pg` that its documentation leaves out. No other file uses one of them. Its types have all but `processID`, so an update of
 * `pg` can still change them: package.json names one exact release, and a client that lacks one of them is refused.
 */
import type pg from 'pg';

/** The minor release that Sallyport is tested with. */
export const PG_RELEASE = '8.23';

/** The parts of a client that the driver uses beyond the documented API. */
export type PgInternals = {
  /** The process that the server named when the connection began. A pooler names none, or one that is not a server's. */
  process(): number | null;
  /** Holds back all output until `uncork`, so that it goes out as one packet. */
  cork(): void;
  uncork(): void;
  /** Breaks the connection. */
  destroy(error?: Error): void;
  readonly messages: ProtocolMessages;
};

/** Messages of the protocol (PostgreSQL, "Message Formats"). */
export type ProtocolMessages = {
  parse(statement: { readonly name: string; readonly text: string }): void;
  /** Null, text, or bytes as they are. */
  bind(values: { readonly statement: string; readonly values: readonly unknown[] }): void;
  describe(what: { readonly type: 'P' | 'S'; readonly name: string }): void;
  execute(portal: { readonly portal: string; readonly rows: number }): void;
  close(what: { readonly type: 'S'; readonly name: string }): void;
  sync(): void;
};

type Stream = { cork(): void; uncork(): void; destroy(error?: Error): void };
/** TLS replaces the stream. */
type Parts = { readonly processID: number | null; readonly connection: ProtocolMessages & { readonly stream: Stream } };

const MESSAGES = ['parse', 'bind', 'describe', 'execute', 'close', 'sync'] as const;
const STREAM = ['cork', 'uncork', 'destroy'] as const;

/** Throws `TypeError` if the release of `pg` lacks a part. */
export function internalsOf(client: pg.Client): PgInternals {
  const parts = client as unknown as Parts;
  const lacking = lacks(parts);
  if (lacking.length > 0)
    throw new TypeError(`this release of pg lacks ${lacking.join(', ')}: npm install pg@${PG_RELEASE}`);
  const { connection } = parts;
  return {
    process: () => parts.processID,
    cork: () => connection.stream.cork(),
    uncork: () => connection.stream.uncork(),
    destroy: (error) => connection.stream.destroy(error),
    messages: connection,
  };
}

function lacks({ processID, connection }: Partial<Parts>): string[] {
  const { stream } = connection ?? {};
  return [
    ...(processID === undefined ? ['processID'] : []),
    ...MESSAGES.filter((name) => typeof connection?.[name] !== 'function').map((name) => `connection.${name}`),
    ...STREAM.filter((name) => typeof stream?.[name] !== 'function').map((name) => `connection.stream.${name}`),
  ];
}

/**
 * The kept-alive connections of one origin, and the exchange of a request and its response on each. Each is an undici client of its own,
 * so that the steps of opening it are measured for the request that waited for them, and a request that fails closes no other connection.
 * `incoming.ts` bounds what a connection reads.
 */

import type { IncomingHttpHeaders } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { Client, type Dispatcher } from 'undici';
import { RESPONSE_READ_BYTES, type ReceiverAnswer } from '../domain/outcome.ts';
import type { Owner } from '../kernel/fair-queue.ts';
import { deliveryError } from './classify.ts';
import { type ConnectSteps, connectTo, type Destination, type Way } from './connect.ts';
import { boundIncoming, concatenated, type Incoming } from './incoming.ts';
import { CONNECTIONS_PER_ORIGIN_MAX, RESPONSE_HEADER_BYTES } from './limits.ts';
import { lacksCertificate } from './tls.ts';

/** Below the 5 s of Node's servers, so that a request is rarely sent on a closing connection. */
const IDLE_CONNECTION_MS = 4000;

/** Largest value from `Keep-Alive: timeout=` of a receiver. */
const IDLE_CONNECTION_MAX_MS = 60_000;

/** Bodies of about this size or more are made in a thread (`delivery/large-bodies.ts`). */
export const LARGE_BODY_BYTES: number = 64 * 1024;

export type OutboundConnection = {
  readonly client: Client;
  /** The steps since the last `acquire`; null if the connection was already open. */
  steps: ConnectSteps | null;
  /** The receiver asked for a client certificate when the connection was opened, and there was none. */
  lacksCertificate: boolean;
  /** What the connection reads; null until it is open. */
  incoming: Incoming | null;
  /** Bytes of requests that are not written to the socket yet. */
  unwrittenBytes(): number;
};

export type Connections = {
  /**
   * Passes a free connection, immediately or when one is released; the oldest waiter comes first. The returned function ends the wait.
   * `owner`: for whom a new one is opened.
   */
  acquire(take: (connection: OutboundConnection) => void, owner: Owner): () => void;
  /**
   * Gives back a connection whose exchange ended cleanly, for the next request. If the receiver answered before it read all of a large
   * request, the connection is destroyed instead.
   */
  release(connection: OutboundConnection): void;
  /** Gives back a connection in any other state: it is destroyed, connecting or not. */
  discard(connection: OutboundConnection): void;
  /** Destroys a connection and returns a new one in its place. */
  replace(connection: OutboundConnection, owner: Owner): OutboundConnection;
  /** Destroys idle connections now, and the others when they are given back. Waiters are still served. */
  close(): Promise<void>;
};

/** At most `CONNECTIONS_PER_ORIGIN_MAX` at a time, the most recently used first, so that surplus connections time out. */
export function createConnections(origin: string, destination: Destination, way: Way): Connections {
  const idle: OutboundConnection[] = [];
  const waiting = new Map<(connection: OutboundConnection) => void, Owner>();
  const ends = new Map<OutboundConnection, AbortController>();
  let closed = false;

  function open(owner: Owner): OutboundConnection {
    const end = new AbortController();
    let opened: TLSSocket | null = null;
    const client = new Client(origin, {
      allowH2: false,
      maxHeaderSize: RESPONSE_HEADER_BYTES,
      keepAliveTimeout: IDLE_CONNECTION_MS,
      keepAliveMaxTimeout: IDLE_CONNECTION_MAX_MS,
      // The transport's own total time-out covers these.
      headersTimeout: 0,
      bodyTimeout: 0,
      connect: (_options, callback) => {
        connection.steps = { dnsMs: null, connectMs: null, tlsMs: null };
        connectTo(destination, way, connection.steps, end.signal, owner).then(
          (socket) => {
            connection.lacksCertificate = lacksCertificate(socket);
            opened = socket;
            connection.incoming = boundIncoming(socket);
            callback(null, socket);
          },
          (error: Error) => callback(error, null),
        );
      },
    });
    const connection: OutboundConnection = {
      client,
      steps: null,
      lacksCertificate: false,
      incoming: null,
      unwrittenBytes: () => opened?.writableLength ?? 0,
    };
    client.on('disconnect', () => {
      if (idle.includes(connection)) void drop(connection);
    });
    ends.set(connection, end);
    return connection;
  }

  function drop(connection: OutboundConnection): Promise<void> {
    if (idle.includes(connection)) idle.splice(idle.indexOf(connection), 1);
    ends.get(connection)?.abort();
    ends.delete(connection);
    return connection.client.destroy();
  }

  function serveNext(connection: (owner: Owner) => OutboundConnection): boolean {
    const [first] = waiting;
    if (first === undefined) return false;
    const [next, owner] = first;
    waiting.delete(next);
    next(Object.assign(connection(owner), { steps: null }));
    return true;
  }

  function reuse(connection: OutboundConnection): void {
    if (serveNext(() => connection)) return;
    if (closed) void drop(connection);
    else idle.push(connection);
  }

  function discard(connection: OutboundConnection): void {
    void drop(connection);
    serveNext(open);
  }

  return {
    acquire(take, owner) {
      waiting.set(take, owner);
      if (idle.length > 0 || ends.size < CONNECTIONS_PER_ORIGIN_MAX) serveNext((next) => idle.pop() ?? open(next));
      return () => waiting.delete(take);
    },
    release(connection) {
      // The system has already taken a small rest.
      if (connection.unwrittenBytes() < LARGE_BODY_BYTES) return reuse(connection);
      // With a nearby receiver, the completed write may be reported only in the next turn.
      setImmediate(() => (connection.unwrittenBytes() === 0 ? reuse(connection) : discard(connection)));
    },
    discard,
    replace(connection, owner) {
      void drop(connection);
      return open(owner);
    },
    async close() {
      closed = true;
      await Promise.all([...idle].map(drop));
    },
  };
}

/** `reusable`: the response was read completely; `error`: why it was not. */
export type ExchangeEnd = { readonly reusable: boolean; readonly error?: unknown };

export type Exchange = {
  /** The response so far; null before its head. */
  answer(): ReceiverAnswer | null;
  /** After a failure: a response whose head was not complete, or not understood; null before its status line is complete. */
  unseenAnswer(): ReceiverAnswer | null;
  /** Whether a byte of the response has arrived. */
  hasBegun(): boolean;
  /** From writing the request to the head of the response, in milliseconds. */
  firstByteMs(): number | null;
  /** Whether an open connection has the request. */
  started(): boolean;
};

type Listener = {
  /** The final head of the response has arrived. */
  readonly onHead: () => void;
  /**
   * Called once, unless the connection is discarded first: after the last byte, on a failure, or when more than `RESPONSE_READ_BYTES`
   * have arrived. The rest is then not read, and the connection must be discarded.
   */
  readonly onEnd: (end: ExchangeEnd) => void;
};

/**
 * Sends a request over `connection`, which has no other request. `path`: with the query; `headers`: name, value, name, value, …, which the
 * caller must not change.
 */
export function startExchange(
  connection: OutboundConnection,
  request: {
    readonly method: 'POST' | 'OPTIONS';
    readonly path: string;
    readonly headers: string[];
    readonly body: Uint8Array;
  },
  { onHead, onEnd }: Listener,
): Exchange {
  const chunks: Uint8Array[] = [];
  let head: Pick<ReceiverAnswer, 'status' | 'headers'> | null = null;
  let bytes = 0;
  let complete = false;
  let startedAt: number | null = null;
  let headAt: number | null = null;
  const problems = (): readonly string[] => connection.incoming?.problems() ?? [];

  const handler: Dispatcher.DispatchHandler = {
    onRequestStart() {
      startedAt = performance.now();
      connection.incoming?.begin();
    },
    onResponseStart(_controller, status, headers) {
      // Interim responses do not come this far.
      if (status < 200) return onEnd({ reusable: false, error: NO_STATUS });
      headAt = performance.now();
      head = { status, headers: joined(headers) };
      onHead();
    },
    onResponseData(_controller, chunk) {
      const room = RESPONSE_READ_BYTES - bytes;
      if (room > 0) chunks.push(chunk.subarray(0, room));
      bytes += Math.min(chunk.length, room);
      if (chunk.length > room) onEnd({ reusable: false });
    },
    onResponseEnd() {
      complete = true;
      // Another client may see another end of a response that violates HTTP.
      onEnd({ reusable: problems().length === 0 });
    },
    onResponseError(_controller, error) {
      onEnd({ reusable: false, error });
    },
  };
  connection.client.dispatch(request, handler);
  return {
    answer: () =>
      head === null ? null : { ...head, body: concatenated(chunks, bytes), truncated: !complete, problems: problems() },
    unseenAnswer: () => {
      const unseen = startedAt === null || head !== null ? null : (connection.incoming?.unseenHead() ?? null);
      if (unseen === null) return null;
      const { status, headers, problems: ofHead } = unseen;
      return { status, headers, body: new Uint8Array(0), truncated: true, problems: ofHead };
    },
    hasBegun: () => startedAt !== null && connection.incoming?.hasBegun() === true,
    firstByteMs: () => (headAt === null || startedAt === null ? null : Math.round(headAt - startedAt)),
    started: () => startedAt !== null,
  };
}

const NO_STATUS = deliveryError('malformed_response', 'the answer has a status below 100');

/** undici passes repeated headers as a list. */
function joined(headers: IncomingHttpHeaders): Record<string, string> {
  const pairs = Object.entries(headers).map(([name, value = '']) => [
    name,
    typeof value === 'string' ? value : value.join(', '),
  ]);
  return Object.fromEntries(pairs);
}

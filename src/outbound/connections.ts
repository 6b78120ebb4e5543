/**
 * The kept-alive connections of one origin. Each is an undici client of its own, so that the steps of opening it are
 * measured for the request that waited for them, and a request that fails takes down one connection and no other.
 */

import type { TLSSocket } from 'node:tls';
import { Client } from 'undici';
import { LARGE_BODY_BYTES } from '../kernel/limits/delivery.ts';
import {
  CONNECTIONS_PER_ORIGIN_MAX,
  IDLE_CONNECTION_MAX_MS,
  IDLE_CONNECTION_MS,
  RESPONSE_HEADER_BYTES,
} from '../kernel/limits/limits.ts';
import { type ConnectSteps, type Destination, openConnection, type Way } from './connect.ts';
import { boundIncoming, type Incoming } from './incoming.ts';
import { lacksCertificate } from './tls.ts';

export type Connection = {
  readonly client: Client;
  /** The steps since the last `acquire`; null if the connection was already open. */
  steps: ConnectSteps | null;
  /** The receiver asked for a client certificate when the connection was opened, and there was none. */
  lacksCertificate: boolean;
  /** Called before each request is written: bytes read from then on are its response. */
  begin(): void;
  /** Bytes of requests that are not written to the socket yet. */
  unwrittenBytes(): number;
};

export type Connections = {
  /**
   * Passes a free connection, at once or when one is released; the oldest waiter comes first. The returned function ends the wait.
   */
  acquire(take: (connection: Connection) => void): () => void;
  /**
   * Gives back a connection whose exchange ended cleanly, for the next request. If the receiver answered before it read all of a large
   * request, the connection is destroyed instead.
   */
  release(connection: Connection): void;
  /** Gives back a connection in any other state: it is destroyed, connecting or not. */
  discard(connection: Connection): void;
  /** Destroys idle connections now, and the others when they are given back. Waiters are still served. */
  close(): Promise<void>;
};

/** At most `CONNECTIONS_PER_ORIGIN_MAX` at a time, the most recently used first, so that surplus connections time out. */
export function createConnections(origin: string, destination: Destination, way: Way): Connections {
  const idle: Connection[] = [];
  const waiting = new Set<(connection: Connection) => void>();
  const ends = new Map<Connection, AbortController>();
  let closed = false;

  function open(): Connection {
    const end = new AbortController();
    let opened: TLSSocket | null = null;
    let incoming: Incoming | null = null;
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
        openConnection(destination, way, connection.steps, end.signal).then(
          (socket) => {
            connection.lacksCertificate = lacksCertificate(socket);
            opened = socket;
            incoming = boundIncoming(socket);
            callback(null, socket);
          },
          (error: Error) => callback(error, null),
        );
      },
    });
    const connection: Connection = {
      ...{ client, steps: null, lacksCertificate: false },
      begin: () => incoming?.begin(),
      unwrittenBytes: () => opened?.writableLength ?? 0,
    };
    client.on('disconnect', () => {
      if (idle.includes(connection)) void drop(connection);
    });
    ends.set(connection, end);
    return connection;
  }

  function drop(connection: Connection): Promise<void> {
    if (idle.includes(connection)) idle.splice(idle.indexOf(connection), 1);
    ends.get(connection)?.abort();
    ends.delete(connection);
    return connection.client.destroy();
  }

  function serveNext(connection: () => Connection): boolean {
    const [next] = waiting;
    if (next === undefined) return false;
    waiting.delete(next);
    next(Object.assign(connection(), { steps: null }));
    return true;
  }

  function reuse(connection: Connection): void {
    if (serveNext(() => connection)) return;
    if (closed) void drop(connection);
    else idle.push(connection);
  }

  function discard(connection: Connection): void {
    void drop(connection);
    serveNext(open);
  }

  return {
    acquire(take) {
      waiting.add(take);
      if (idle.length > 0 || ends.size < CONNECTIONS_PER_ORIGIN_MAX) serveNext(() => idle.pop() ?? open());
      return () => waiting.delete(take);
    },
    release(connection) {
      // The system has already taken a small rest.
      if (connection.unwrittenBytes() < LARGE_BODY_BYTES) return reuse(connection);
      // With a nearby receiver, the completed write may be reported only in the next turn.
      setImmediate(() => (connection.unwrittenBytes() === 0 ? reuse(connection) : discard(connection)));
    },
    discard,
    async close() {
      closed = true;
      await Promise.all([...idle].map(drop));
    },
  };
}

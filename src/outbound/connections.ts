/**
 * The kept-alive connections of one origin. Each is an undici client of its own, so that the steps of opening it are
 * measured for the request that waited for them, and a request that fails takes down one connection and no other.
 */

import { Client } from 'undici';
import {
  CONNECTIONS_PER_ORIGIN_MAX,
  IDLE_CONNECTION_MAX_MS,
  IDLE_CONNECTION_MS,
  RESPONSE_HEADER_BYTES,
} from '../limits.ts';
import { type ConnectSteps, type Destination, openConnection, type Route } from './connect.ts';
import { lacksCertificate } from './tls.ts';

export type Connection = {
  readonly client: Client;
  /** The steps since the last `acquire`; null when the connection already stood. */
  steps: ConnectSteps | null;
  /** The receiver asked for a client certificate when it was opened, and there was none to show. */
  lacksCertificate: boolean;
};

export type Connections = {
  /**
   * Hands over a connection that nobody else uses, at once or when one is given back; the oldest wait is served first.
   * The function returned ends the wait.
   */
  acquire(take: (connection: Connection) => void): () => void;
  /** Gives back a connection whose exchange ended cleanly, for the next request. */
  release(connection: Connection): void;
  /** Gives back a connection in any other state: it is destroyed, connecting or not. */
  discard(connection: Connection): void;
  /** Destroys what is idle now, and what is in use when it is given back. Those that wait are still served. */
  close(): Promise<void>;
};

/** At most `CONNECTIONS_PER_ORIGIN_MAX` at a time, the one used last first, so that those not needed time out. */
export function createConnections(origin: string, destination: Destination, route: Route): Connections {
  const idle: Connection[] = [];
  const waiting = new Set<(connection: Connection) => void>();
  const ends = new Map<Connection, AbortController>();
  let closed = false;

  function open(): Connection {
    const end = new AbortController();
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
        openConnection(destination, route, connection.steps, end.signal).then(
          (socket) => {
            connection.lacksCertificate = lacksCertificate(socket);
            callback(null, socket);
          },
          (error: Error) => callback(error, null),
        );
      },
    });
    const connection: Connection = { client, steps: null, lacksCertificate: false };
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

  return {
    acquire(take) {
      waiting.add(take);
      if (idle.length > 0 || ends.size < CONNECTIONS_PER_ORIGIN_MAX) serveNext(() => idle.pop() ?? open());
      return () => waiting.delete(take);
    },
    release(connection) {
      if (serveNext(() => connection)) return;
      if (closed) void drop(connection);
      else idle.push(connection);
    },
    discard(connection) {
      void drop(connection);
      serveNext(open);
    },
    async close() {
      closed = true;
      await Promise.all([...idle].map(drop));
    },
  };
}

/** One kept-alive connection to a receiver, with one exchange at a time. */

import type { TLSSocket } from 'node:tls';
import type { ConnectSteps } from './connect.ts';
import { lacksCertificate } from './tls.ts';

/** Events of a connection during an exchange. */
type ConnectionListener = {
  /** The connection is open: the request can be written. Called once, before the others. */
  readonly onOpen: (socket: TLSSocket) => void;
  readonly onData: (bytes: Buffer<ArrayBuffer>) => void;
  /** The receiver sends nothing more. */
  readonly onEnd: () => void;
  /** The connection could not be opened, or broke. */
  readonly onError: (error: Error) => void;
};

export type OutboundConnection = {
  /** The steps since the last `acquire`; null if the connection was already open. */
  steps: ConnectSteps | null;
  /** The receiver asked for a client certificate when the connection was opened, and there was none. */
  lacksCertificate: boolean;
  /** Until when it may be used again while it is idle, on the clock of `performance.now`. */
  idleUntil: number;
  /** Tells the listener of everything from now on; null: nothing is in progress. */
  listen(listener: ConnectionListener | null): void;
  /** Bytes of requests that are not written to the socket yet. */
  unwrittenBytes(): number;
  destroy(): void;
};

/** Opens it in the background. `onLost`: it ended while nothing was in progress. */
export function openOutbound(
  connect: (steps: ConnectSteps, signal: AbortSignal) => Promise<TLSSocket>,
  onLost: (connection: OutboundConnection) => void,
): OutboundConnection {
  const ending = new AbortController();
  let socket: TLSSocket | null = null;
  let listener: ConnectionListener | null = null;
  let failure: Error | null = null;

  const fail = (error: Error): void => {
    failure ??= error;
    if (listener === null) onLost(connection);
    else listener.onError(failure);
  };
  const opened = (open: TLSSocket): void => {
    socket = open;
    if (ending.signal.aborted) return void open.destroy();
    connection.lacksCertificate = lacksCertificate(open);
    // The time-out of its request keeps the program alive, not the connection.
    open.unref();
    open.on('data', (bytes: Buffer<ArrayBuffer>) => {
      // Nobody asked for these bytes.
      if (listener === null) onLost(connection);
      else listener.onData(bytes);
    });
    open.on('error', fail);
    open.once('end', () => {
      if (listener === null) onLost(connection);
      else listener.onEnd();
    });
    open.once('close', () => fail(hungUp()));
    listener?.onOpen(open);
  };

  const steps: ConnectSteps = { dnsMs: null, connectMs: null, tlsMs: null };
  const connection: OutboundConnection = {
    steps,
    lacksCertificate: false,
    idleUntil: Number.POSITIVE_INFINITY,
    listen: (next) => {
      listener = next;
      if (next === null || socket === null) return;
      if (failure === null && !socket.destroyed) return next.onOpen(socket);
      const error = failure ?? hungUp();
      queueMicrotask(() => next.onError(error));
    },
    unwrittenBytes: () => socket?.writableLength ?? 0,
    destroy: () => {
      listener = IGNORING;
      ending.abort();
      socket?.destroy();
    },
  };
  connect(steps, ending.signal).then(opened, fail);
  return connection;
}

const IGNORING: ConnectionListener = { onOpen: () => {}, onData: () => {}, onEnd: () => {}, onError: () => {} };

/** As Node's own client names it. */
export function hungUp(): Error {
  return Object.assign(new Error('socket hang up'), { code: 'ECONNRESET' });
}

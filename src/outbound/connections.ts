/** The kept-alive connections of one origin. A request that fails closes no connection but its own. */

import type { Owner } from '../kernel/fair-queue.ts';
import { connectTo, type Destination, type Way } from './connect.ts';
import { type OutboundConnection, openOutbound } from './connection.ts';
import { CONNECTIONS_PER_ORIGIN_MAX } from './limits.ts';

/** Below the 5 s of Node's servers, so that a request is rarely sent on a closing connection. */
const IDLE_CONNECTION_MS = 4000;

/** Largest time of a receiver that says how long it keeps idle connections, and how much earlier than it says they are closed. */
const IDLE_CONNECTION_MAX_MS = 60_000;
const IDLE_CONNECTION_MARGIN_MS = 2000;

/** How often idle connections are looked at. */
const IDLE_CHECK_MS = 500;

/** Bodies of about this size or more are made in a thread (`delivery/large-bodies.ts`). */
export const LARGE_BODY_BYTES: number = 64 * 1024;

export type Connections = {
  /**
   * Passes a free connection, immediately or when one is released; the oldest waiter comes first. The returned function ends the wait.
   * `owner`: for whom a new one is opened.
   */
  acquire(take: (connection: OutboundConnection) => void, owner: Owner): () => void;
  /**
   * Gives back a connection whose exchange ended cleanly, for the next request. If the receiver answered before it read all of a large
   * request, the connection is destroyed instead. `keptMs`: for how long the receiver says that it keeps an idle connection.
   */
  release(connection: OutboundConnection, keptMs: number | null): void;
  /** Gives back a connection in any other state: it is destroyed, connecting or not. */
  discard(connection: OutboundConnection): void;
  /** Destroys a connection and returns a new one in its place. */
  replace(connection: OutboundConnection, owner: Owner): OutboundConnection;
  /** Destroys idle connections now, and the others when they are given back. Waiters are still served. */
  close(): void;
};

/** At most `CONNECTIONS_PER_ORIGIN_MAX` at a time, the most recently used first, so that surplus connections time out. */
export function createConnections(destination: Destination, way: Way): Connections {
  const idle: OutboundConnection[] = [];
  const waiting = new Map<(connection: OutboundConnection) => void, Owner>();
  const all = new Set<OutboundConnection>();
  let check: NodeJS.Timeout | null = null;
  let closed = false;

  function open(owner: Owner): OutboundConnection {
    const connection = openOutbound((steps, signal) => connectTo(destination, way, steps, signal, owner), drop);
    all.add(connection);
    return connection;
  }

  function drop(connection: OutboundConnection): void {
    if (idle.includes(connection)) idle.splice(idle.indexOf(connection), 1);
    all.delete(connection);
    connection.destroy();
  }

  function serveNext(connection: (owner: Owner) => OutboundConnection): boolean {
    const [first] = waiting;
    if (first === undefined) return false;
    const [next, owner] = first;
    waiting.delete(next);
    next(connection(owner));
    return true;
  }

  /** The most recently used one that its receiver keeps for certain. */
  function takeIdle(): OutboundConnection | undefined {
    const last = idle.pop();
    if (last === undefined || last.idleUntil > performance.now()) return last;
    drop(last);
    return takeIdle();
  }

  function dropOld(): void {
    const now = performance.now();
    for (const connection of idle.filter(({ idleUntil }) => idleUntil <= now)) drop(connection);
  }

  /** One timer for all of them. */
  function watchIdle(): void {
    check ??= setInterval(() => {
      dropOld();
      if (idle.length > 0) return;
      clearInterval(check ?? undefined);
      check = null;
    }, IDLE_CHECK_MS).unref();
  }

  function reuse(connection: OutboundConnection): void {
    connection.steps = null;
    if (serveNext(() => connection)) return;
    if (closed) drop(connection);
    else {
      idle.push(connection);
      watchIdle();
    }
  }

  function discard(connection: OutboundConnection): void {
    drop(connection);
    serveNext(open);
  }

  return {
    acquire(take, owner) {
      waiting.set(take, owner);
      if (idle.length > 0 || all.size < CONNECTIONS_PER_ORIGIN_MAX) serveNext((next) => takeIdle() ?? open(next));
      return () => waiting.delete(take);
    },
    release(connection, keptMs) {
      const idleMs =
        keptMs === null ? IDLE_CONNECTION_MS : Math.min(keptMs - IDLE_CONNECTION_MARGIN_MS, IDLE_CONNECTION_MAX_MS);
      if (idleMs <= 0) return discard(connection);
      connection.idleUntil = performance.now() + idleMs;
      // The system has already taken a small rest.
      if (connection.unwrittenBytes() < LARGE_BODY_BYTES) return reuse(connection);
      // With a nearby receiver, the completed write may be reported only in the next turn.
      setImmediate(() => {
        const isWritten = all.has(connection) && connection.unwrittenBytes() === 0;
        if (isWritten) reuse(connection);
        else discard(connection);
      });
    },
    discard,
    replace(connection, owner) {
      drop(connection);
      return open(owner);
    },
    close() {
      closed = true;
      for (const connection of [...idle]) drop(connection);
    },
  };
}

/**
 * Notifications (LISTEN, NOTIFY) on a connection of their own, which is made again when it is lost. A notification is a hint: it can be
 * lost, so a process that waits for one also looks at intervals.
 */

import { setTimeout as pause } from 'node:timers/promises';
import type { Connection } from './connection.ts';
import { POSTGRES_RECONNECT_MS } from './limits.ts';
import type { DatabaseSession } from './session.ts';

/** How often the listening connection is examined: nothing else is sent on it. */
const POSTGRES_LISTENING_EVERY_MS = 5000;

/** Receives the payload of a notification, or null after the connection was made: earlier notifications may be lost. */
export type OnMessage = (payload: string | null) => void;

type ChannelListener = {
  /** Returns a function that ends it. */
  listen(channel: string, onMessage: OnMessage): () => void;
  close(): Promise<void>;
};

export function createChannelListener(connection: Connection): ChannelListener {
  const channels = new Map<string, Set<OnMessage>>();
  const ending = new AbortController();
  let running: Promise<void> | null = null;
  let listening: DatabaseSession | null = null;

  const notify = (channel: string, payload: string | null): void => {
    for (const onMessage of channels.get(channel) ?? []) onMessage(payload);
  };
  const subscribe = async (session: DatabaseSession, names: Iterable<string>): Promise<void> => {
    for (const name of names) {
      await session.query(`LISTEN "${name.replaceAll('"', '""')}"`);
      notify(name, null);
    }
  };
  const listenOnce = async (): Promise<void> => {
    const session = await connection.session();
    const ended = new Promise<void>((resolve) => session.onEnd(resolve));
    session.onNotification(notify);
    await subscribe(session, channels.keys());
    listening = session;
    // A connection on which nothing is sent would not notice a cut network.
    const timer = setInterval(
      () => session.query('SELECT 1').catch(() => undefined),
      POSTGRES_LISTENING_EVERY_MS,
    ).unref();
    await ended;
    clearInterval(timer);
  };
  const run = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      await listenOnce().catch(() => undefined);
      listening = null;
      await pause(POSTGRES_RECONNECT_MS, undefined, { signal: ending.signal, ref: false }).catch(() => undefined);
    }
  };

  return {
    listen: (channel, onMessage) => {
      const known = channels.get(channel);
      channels.set(channel, (known ?? new Set()).add(onMessage));
      // Fails with the connection, which is then made again for all channels.
      if (known === undefined && listening !== null) void subscribe(listening, [channel]).catch(() => undefined);
      running ??= run();
      return () => void channels.get(channel)?.delete(onMessage);
    },
    close: async () => {
      ending.abort();
      await connection.close();
      await running;
    },
  };
}

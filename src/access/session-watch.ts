/** Tells long-lived connections, such as live pages, when their session ends. */

import { SESSION_IDLE_MS } from '../domain/user.ts';
import type { Clock } from '../kernel/ids.ts';
import type { SessionStore } from '../store/port/access.ts';
import type { Sessions } from './sessions.ts';

/** How often sessions with open streams are checked for expiry, or for an end by another process. */
const SESSION_WATCH_MS = 250;

export type SessionWatch = {
  /**
   * A signal that is aborted when the session of a cookie's token ends: immediately if the store reports its end, within SESSION_WATCH_MS
   * otherwise. Watches until `gone` is aborted.
   */
  ended(token: string, gone: AbortSignal): AbortSignal;
};

type Dependencies = {
  readonly sessions: Pick<Sessions, 'find'>;
  readonly store: Pick<SessionStore, 'version' | 'subscribe'>;
  readonly clock: Clock;
};

type Watched = { readonly token: string; readonly end: AbortController; endsAt: number };

/** Does nothing while no session is watched. Otherwise compares a version every SESSION_WATCH_MS and queries only after a change. */
export function createSessionWatch({ sessions, store, clock }: Dependencies): SessionWatch {
  const watched = new Set<Watched>();
  let stop: (() => void) | null = null;
  let version: number | null = null;
  let isDue = false;

  const check = async (one: Watched): Promise<void> => {
    try {
      const session = await sessions.find(one.token, true);
      if (session !== null) {
        one.endsAt = Math.min(session.expiresAt, session.seenAt + SESSION_IDLE_MS);
        return;
      }
    } catch {
      // The state is unknown, so the next look checks again.
      version = null;
      return;
    }
    forget(one);
    one.end.abort();
  };
  const look = async (): Promise<void> => {
    const now = clock();
    const current = await versionNow();
    const mayHaveEnded = current === null || current !== version;
    version = current;
    for (const one of watched) if (mayHaveEnded || one.endsAt <= now) void check(one);
  };
  /** Null if the database cannot be read. */
  const versionNow = async (): Promise<number | null> => {
    try {
      return await store.version();
    } catch {
      return null;
    }
  };
  /** One look serves all writes in one turn of the event loop. */
  const lookSoon = (): void => {
    if (isDue) return;
    isDue = true;
    setImmediate(() => {
      isDue = false;
      void look();
    });
  };
  const forget = (one: Watched): void => {
    watched.delete(one);
    if (watched.size > 0) return;
    stop?.();
    stop = null;
  };
  const begin = (): (() => void) => {
    const unsubscribe = store.subscribe(lookSoon);
    const timer = setInterval(() => void look(), SESSION_WATCH_MS).unref();
    return () => {
      unsubscribe();
      clearInterval(timer);
    };
  };

  return {
    ended: (token, gone) => {
      const one: Watched = { token, end: new AbortController(), endsAt: Number.NEGATIVE_INFINITY };
      if (gone.aborted) return one.end.signal;
      watched.add(one);
      stop ??= begin();
      gone.addEventListener('abort', () => forget(one), { once: true });
      // It may have ended since the request was authenticated.
      void check(one);
      return one.end.signal;
    },
  };
}

/**
 * Tells whether tokens, applications, users or sessions may have changed, so that values read from them may be cached. Triggers in
 * schema.sql count the relevant writes.
 */
import { setImmediate as atTurnsEnd } from 'node:timers';
import type { Database } from '../driver/database.ts';

export type AccessVersion = {
  /**
   * Returns a new number after any write to the data of a token's grant or the end of a session, by any process. A write of this process
   * is visible before its caller learns that it is durable. Writes of other processes are checked once per turn of the event loop, and
   * every millisecond in a long turn.
   */
  current(): number;
  /** Calls back after each such write of this process. Returns the function that ends the subscription. */
  subscribe(onChanged: () => void): () => void;
};

/** Costs 2 µs. */
const VERSION = 'SELECT value FROM access_version';
const ASKED_EVERY_MS = 1;

export function watchAccess(db: Database): AccessVersion {
  const subscribers = new Set<() => void>();
  let version = 0;
  let told = 0;
  let written: unknown;
  let askedAt = Number.NEGATIVE_INFINITY;
  let isTurnsEndAwaited = false;
  const askAgain = (): void => {
    askedAt = Number.NEGATIVE_INFINITY;
  };

  const current = (): number => {
    const now = performance.now();
    if (now - askedAt < ASKED_EVERY_MS) return version;
    askedAt = now;
    if (!isTurnsEndAwaited) {
      isTurnsEndAwaited = true;
      atTurnsEnd(() => {
        isTurnsEndAwaited = false;
        askAgain();
      });
    }
    // Costs another read transaction, about 2 µs per millisecond, if something was read earlier in this turn.
    db.readAnew();
    const row = db.get(VERSION, {}) as { readonly value: unknown };
    if (row.value !== written) version += 1;
    written = row.value;
    return version;
  };

  db.onCommit(() => {
    askAgain();
    if (subscribers.size === 0 || current() === told) return;
    told = version;
    for (const onChanged of subscribers) onChanged();
  });

  return {
    current,
    subscribe: (onChanged) => {
      subscribers.add(onChanged);
      return () => void subscribers.delete(onChanged);
    },
  };
}

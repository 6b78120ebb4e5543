/**
 * Tells whether tokens, applications, users or sessions may have changed. Until they have, what was read of them may be used again.
 * Triggers in schema.sql count the writes that matter, so no statement has to say that it is one.
 */
import { setImmediate as atTurnsEnd } from 'node:timers';
import type { Database } from '../driver/database.ts';

export type AccessVersion = {
  /**
   * Returns another number once anything that a token's grant is made of may have been written, or a session may have ended, by this
   * process or another. A write of this process is seen before its caller hears that it is durable. Writes of other processes are looked
   * for once a turn of the event loop, and every millisecond in a long turn: a request that is read from a socket in a turn began to
   * arrive before it.
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
    // Free unless something was read earlier in this turn; otherwise one more read transaction, about 2 µs a millisecond.
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

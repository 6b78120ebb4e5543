/** Failed authentications in memory, for one process. PostgreSQL has them in a table (`store/postgres/failures.ts`). */
import { clientDigest, type Failure, recentOf, waitMsOf } from '../domain/throttle.ts';
import { FAILURES_REMEMBERED_MAX } from '../kernel/limits/limits.ts';
import { createLru } from '../kernel/lru.ts';
import type { Attempt } from './failures.ts';

/** Answers at once. */
export type MemoryThrottle = {
  blockedForMs(attempt: Attempt, now: number): number | null;
  blockedHereForMs(attempt: Attempt, now: number): number | null;
  countFailure(attempt: Attempt, now: number): number | null;
};

/** `remembered` bounds the failures in memory, of all networks together. */
export function createThrottle(remembered: number = FAILURES_REMEMBERED_MAX): MemoryThrottle {
  const logs = createLru<string, readonly Failure[]>({
    max: Number.POSITIVE_INFINITY,
    maxWeight: remembered,
    weightOf: ({ length }) => length,
  });

  const blockedForMs = ({ network, clientId }: Attempt, now: number): number | null => {
    const log = logs.get(network);
    return log === undefined ? null : waitMsOf(log, clientDigest(clientId), now);
  };

  return {
    blockedForMs,
    blockedHereForMs: blockedForMs,
    countFailure: (attempt, now) => {
      const waitMs = blockedForMs(attempt, now);
      if (waitMs !== null) return waitMs;
      const { network, clientId } = attempt;
      logs.set(network, [...recentOf(logs.get(network) ?? [], now), { at: now, client: clientDigest(clientId) }]);
      return null;
    },
  };
}

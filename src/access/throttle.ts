/**
 * Brute force (contract §2): failed authentications of the last minute, by the network they came from. Ten of one client id, or a
 * hundred of any, close the door to that client id, or to everyone, from that network and from nowhere else.
 *
 * One log per network serves both bounds. A closed door records nothing, so a log never holds more than a hundred failures; nor
 * does a client id that keeps failing use up its neighbours' hundred once it has had its ten.
 */
import { hash } from 'node:crypto';
import {
  CLIENT_FAILURES_MAX,
  FAILURE_WINDOW_MS,
  FAILURES_REMEMBERED_MAX,
  NETWORK_FAILURES_MAX,
} from '../kernel/limits/limits.ts';
import { createLru } from '../kernel/lru.ts';
import { Refusal } from '../kernel/refusal.ts';

/** Whose authentication it is. `network` stands for one subscriber: an IPv4 address, or the /64 of an IPv6 one. */
export type Attempt = {
  readonly network: string;
  /** As it was sent, whether there is such a client or not. */
  readonly clientId: string;
};

/**
 * Ask `blockedForMs` before the credentials are looked at, and afterwards ask again or `countFailure`, in the same turn as the
 * outcome is used. The second question is what holds against attempts made side by side: however many were let through together,
 * only the outcomes of the first ten (or hundred) failures are ever told, and a success after them is not. Counting attempts
 * before their outcome is known would bound that too, but would refuse a client that makes eleven good requests at once.
 */
export type Throttle = {
  /** How long until such an attempt is let through again, or null when it is now. */
  blockedForMs(attempt: Attempt, now: number): number | null;
  /** Counts a failure and answers null, unless the door has closed meanwhile: then nothing is counted, and the answer is as above. */
  countFailure(attempt: Attempt, now: number): number | null;
};

/** `remembered`: failures kept in memory, of all networks together. */
export function createThrottle(remembered: number = FAILURES_REMEMBERED_MAX): Throttle {
  const logs = createLru<string, readonly Failure[]>({
    max: Number.POSITIVE_INFINITY,
    maxWeight: remembered,
    weightOf: ({ length }) => length,
  });

  const blockedForMs = ({ network, clientId }: Attempt, now: number): number | null => {
    const log = logs.get(network);
    if (log === undefined) return null;
    const recent = recentOf(log, now);
    const client = digest(clientId);
    const ofClient = recent.filter((failure) => failure.client === client);
    const waitMs = Math.max(
      untilBelow(CLIENT_FAILURES_MAX, ofClient, now),
      untilBelow(NETWORK_FAILURES_MAX, recent, now),
    );
    return waitMs === 0 ? null : waitMs;
  };

  return {
    blockedForMs,
    countFailure: (attempt, now) => {
      const waitMs = blockedForMs(attempt, now);
      if (waitMs !== null) return waitMs;
      const { network, clientId } = attempt;
      logs.set(network, [...recentOf(logs.get(network) ?? [], now), { at: now, client: digest(clientId) }]);
      return null;
    },
  };
}

/** Throws 429 with `Retry-After` where a throttle says how long to wait. `says` words it. */
export function refuseBlocked(waitMs: number | null, says: (seconds: number) => string): void {
  if (waitMs === null) return;
  const seconds = Math.ceil(waitMs / 1000);
  throw new Refusal('too_many_requests', says(seconds), { headers: { 'Retry-After': String(seconds) } });
}

/** `client` is a digest: what a caller sends as its id may be long. */
type Failure = { readonly at: number; readonly client: string };

function digest(clientId: string): string {
  return hash('sha256', clientId, 'base64');
}

/** A clock that was set back leaves failures in the future; those count for a minute at most too. */
function recentOf(log: readonly Failure[], now: number): readonly Failure[] {
  return log.filter(({ at }) => Math.abs(now - at) < FAILURE_WINDOW_MS);
}

/** How long until fewer than `max` failures of these are within the window; 0 when that is so now. */
function untilBelow(max: number, failures: readonly Failure[], now: number): number {
  const leaving = failures.at(-max);
  return leaving === undefined ? 0 : Math.min(leaving.at + FAILURE_WINDOW_MS - now, FAILURE_WINDOW_MS);
}

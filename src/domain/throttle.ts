/**
 * Protection against brute force (contract §2.6): counts failed authentications of the last minute by network. Ten failures of one client
 * id block that client id, and a hundred of any block everyone, from that network only. SQLite keeps the failures in memory, PostgreSQL in
 * a table (`store/postgres/failures.ts`).
 *
 * One log per network serves both bounds. Blocked attempts are not recorded, so a log holds at most a hundred failures, and a client id
 * that is blocked does not use up the hundred of others.
 */

import { hash } from 'node:crypto';
import { createLru } from '../kernel/lru.ts';
import { Refusal } from '../kernel/refusal.ts';

/** Failed authentications within the window before more attempts get 429: per client id and network, and per network. */
export const CLIENT_FAILURES_MAX = 10;
export const NETWORK_FAILURES_MAX = 100;
export const FAILURE_WINDOW_MS = 60_000;

/** Failures kept in memory, about 15 MB at most; the least recently used networks go first. */
const FAILURES_REMEMBERED_MAX = 100_000;

/** `client` is a digest, since the client id of a request may be long. */
export type FailedAuthentication = { readonly at: number; readonly client: string };

export function clientDigest(clientId: string): string {
  return hash('sha256', clientId, 'base64');
}

/** How long an attempt waits with this log of its network, oldest failure first. Null if it is admitted now. */
export function waitMsOf(log: readonly FailedAuthentication[], client: string, now: number): number | null {
  const recent = recentOf(log, now);
  const ofClient = recent.filter((failure) => failure.client === client);
  const waitMs = Math.max(
    untilBelow(CLIENT_FAILURES_MAX, ofClient, now),
    untilBelow(NETWORK_FAILURES_MAX, recent, now),
  );
  return waitMs === 0 ? null : waitMs;
}

/** A clock that was set back leaves failures in the future. They count for at most a minute too. */
function recentOf(log: readonly FailedAuthentication[], now: number): readonly FailedAuthentication[] {
  return log.filter(({ at }) => Math.abs(now - at) < FAILURE_WINDOW_MS);
}

/** Milliseconds until fewer than `max` of these failures are within the window; 0 if they already are. */
function untilBelow(max: number, failures: readonly FailedAuthentication[], now: number): number {
  const leaving = failures.at(-max);
  return leaving === undefined ? 0 : Math.min(leaving.at + FAILURE_WINDOW_MS - now, FAILURE_WINDOW_MS);
}

/** Answers synchronously, from memory. */
type MemoryThrottle = {
  blockedForMs(attempt: Attempt, now: number): number | null;
  blockedHereForMs(attempt: Attempt, now: number): number | null;
  countFailure(attempt: Attempt, now: number): number | null;
};

/** `remembered` bounds the failures in memory, of all networks together. */
export function createThrottle(remembered: number = FAILURES_REMEMBERED_MAX): MemoryThrottle {
  const logs = createLru<string, readonly FailedAuthentication[]>({
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

/** An attempt to authenticate. `network` identifies one subscriber: an IPv4 address, or the /64 of an IPv6 address. */
export type Attempt = {
  readonly network: string;
  /** As it was sent, even if no such client exists. */
  readonly clientId: string;
};

/** Throws 429 with `Retry-After` unless `waitMs` is null. `says` gives the message. */
export function refuseBlocked(waitMs: number | null, says: (seconds: number) => string): void {
  if (waitMs === null) return;
  const seconds = Math.ceil(waitMs / 1000);
  throw new Refusal('too_many_requests', says(seconds), { headers: { 'Retry-After': String(seconds) } });
}

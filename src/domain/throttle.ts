/** How many failed authentications a network and a client id may have in a minute (contract §2). */

import { hash } from 'node:crypto';
import { CLIENT_FAILURES_MAX, FAILURE_WINDOW_MS, NETWORK_FAILURES_MAX } from '../kernel/limits/limits.ts';

/** `client` is a digest, since the client id of a request may be long. */
export type Failure = { readonly at: number; readonly client: string };

export function clientDigest(clientId: string): string {
  return hash('sha256', clientId, 'base64');
}

/** How long an attempt waits with this log of its network, oldest failure first. Null if it is admitted now. */
export function waitMsOf(log: readonly Failure[], client: string, now: number): number | null {
  const recent = recentOf(log, now);
  const ofClient = recent.filter((failure) => failure.client === client);
  const waitMs = Math.max(
    untilBelow(CLIENT_FAILURES_MAX, ofClient, now),
    untilBelow(NETWORK_FAILURES_MAX, recent, now),
  );
  return waitMs === 0 ? null : waitMs;
}

/** A clock that was set back leaves failures in the future. They count for at most a minute too. */
export function recentOf(log: readonly Failure[], now: number): readonly Failure[] {
  return log.filter(({ at }) => Math.abs(now - at) < FAILURE_WINDOW_MS);
}

/** Milliseconds until fewer than `max` of these failures are within the window; 0 if they already are. */
function untilBelow(max: number, failures: readonly Failure[], now: number): number {
  const leaving = failures.at(-max);
  return leaving === undefined ? 0 : Math.min(leaving.at + FAILURE_WINDOW_MS - now, FAILURE_WINDOW_MS);
}

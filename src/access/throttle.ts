/**
 * Protection against brute force (contract §2): counts failed authentications of the last minute by network. Ten failures of one client
 * id block that client id, and a hundred of any block everyone, from that network only.
 *
 * On SQLite the failures are in memory (`store/memory-throttle.ts`), on PostgreSQL in a table (`store/postgres/failures.ts`).
 *
 * One log per network serves both bounds. Blocked attempts are not recorded, so a log holds at most a hundred failures, and a client id
 * that is blocked does not use up the hundred of others.
 */
import { Refusal } from '../kernel/refusal.ts';
import type { Attempt, Throttle } from '../store/failures.ts';

export type { Attempt, Throttle };

/** Throws 429 with `Retry-After` unless `waitMs` is null. `says` gives the message. */
export function refuseBlocked(waitMs: number | null, says: (seconds: number) => string): void {
  if (waitMs === null) return;
  const seconds = Math.ceil(waitMs / 1000);
  throw new Refusal('too_many_requests', says(seconds), { headers: { 'Retry-After': String(seconds) } });
}

/**
 * Replies that promise what they only read (contract §6.5). On PostgreSQL a change can be visible before a synchronous standby has
 * it, and be lost with the primary. A reply that rests on such a change waits.
 */
import { Refusal } from '../kernel/refusal.ts';
import type { Answer } from '../store/port/database.ts';
import type { Call, Reply, Route } from './route.ts';

/** A reply with one of these rests on a write of its own. */
const WRITTEN = [201, 202];
/** A request that is repeated because its first reply was lost may be refused with one of these: its change was made. */
const REPEATED = [404, 409, 412];

/** Answers requests. `confirm` resolves once everything that was read since a time is durable, and throws `Refusal`. */
export function confirming(
  confirm: (readSinceMs: number) => Answer<void>,
): (route: Route, call: Call) => Promise<Reply> {
  const confirmed = async (route: Route, call: Call): Promise<Reply> => {
    const readSinceMs = performance.now();
    try {
      const reply = await route.respond(call);
      if (!WRITTEN.includes(reply.status)) await confirm(readSinceMs);
      return reply;
    } catch (error) {
      if (error instanceof Refusal && REPEATED.includes(error.status)) await confirm(readSinceMs);
      throw error;
    }
  };
  return (route, call) =>
    route.method === 'GET' || route.promisesNothing === true ? route.respond(call) : confirmed(route, call);
}

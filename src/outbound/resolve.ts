/**
 * Host names, looked up by the system. A look-up holds one of the few threads that the process has for such work (and for gzip, and
 * files), for 10 s or more where a name server does not answer. So that some names do not keep the others waiting, a name is looked up
 * once for everybody who asks meanwhile, and so many at a time: those that were quick the last time, those that were slow, and those
 * of which nothing is known yet have places of their own.
 */

import type { LookupAddress } from 'node:dns';
import { promises as dns } from 'node:dns';
import { open } from 'node:fs/promises';
import { devNull } from 'node:os';
import {
  LOOKUPS_QUICK,
  LOOKUPS_SLOW,
  LOOKUPS_UNKNOWN,
  NAMES_REMEMBERED,
  SLOW_LOOKUP_MS,
} from '../kernel/limits/limits.ts';
import { createLru } from '../kernel/lru.ts';
import { isExhausted } from './exhausted.ts';

type Options = {
  /** Looks one name up, however long that takes. */
  readonly lookup: Resolve;
  /** Milliseconds that only grow. */
  readonly stopwatch?: () => number;
  /** What is missing, where the process has no descriptor left. */
  readonly exhaustion?: () => Promise<Error | null>;
};

type Kind = 'quick' | 'slow' | 'unknown';

/** The one of the process, as its threads are. */
export const systemResolve: Resolve = createResolve({ lookup: (hostname) => dns.lookup(hostname, { all: true }) });

/** Nothing is remembered of an answer, only how long it took: what is asked for later is looked up anew. */
export function createResolve({
  lookup,
  stopwatch = () => performance.now(),
  exhaustion = missingDescriptor,
}: Options): Resolve {
  const underWay = new Map<string, ReturnType<Resolve>>();
  const lastTime = createLru<string, Exclude<Kind, 'unknown'>>({ max: NAMES_REMEMBERED });
  const lanes: Readonly<Record<Kind, Lane>> = {
    quick: createLane(LOOKUPS_QUICK),
    slow: createLane(LOOKUPS_SLOW),
    unknown: createLane(LOOKUPS_UNKNOWN),
  };

  const remember = (hostname: string, tookMs: number): void => {
    lastTime.set(hostname, tookMs < SLOW_LOOKUP_MS ? 'quick' : 'slow');
  };

  const lookUp = async (hostname: string): ReturnType<Resolve> => {
    const lane = lanes[lastTime.get(hostname) ?? 'unknown'];
    await lane.enter();
    const startedAt = stopwatch();
    try {
      return await lookup(hostname);
    } catch (error) {
      throw (await exhaustion()) ?? error;
    } finally {
      remember(hostname, stopwatch() - startedAt);
      lane.leave();
    }
  };

  return (hostname) => {
    const known = underWay.get(hostname);
    if (known !== undefined) return known;
    const answer = lookUp(hostname).finally(() => underWay.delete(hostname));
    underWay.set(hostname, answer);
    return answer;
  };
}

/** The system's resolver says of a name that there is none (ENOTFOUND) where it has no descriptor left to ask with. */
async function missingDescriptor(): Promise<Error | null> {
  try {
    await (await open(devNull)).close();
    return null;
  } catch (error) {
    return isExhausted(error) ? (error as Error) : null;
  }
}

type Lane = {
  /** Waits for a place, first come first served. */
  enter(): Promise<void>;
  leave(): void;
};

function createLane(places: number): Lane {
  let free = places;
  const waiting: (() => void)[] = [];
  return {
    enter: async () => {
      if (free > 0) free -= 1;
      else await new Promise<void>((resolve) => waiting.push(resolve));
    },
    leave: () => {
      const next = waiting.shift();
      if (next === undefined) free += 1;
      else next();
    },
  };
}

/** Every address of a name, or a rejection with the DNS error's `code`. */
export type Resolve = (hostname: string) => Promise<readonly LookupAddress[]>;

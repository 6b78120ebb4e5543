/**
 * Resolves host names through the system. A look-up occupies one of the few threads of the process's pool (which also does gzip and
 * files), for 10 s or more if a name server does not answer. So that slow names do not delay the others, concurrent look-ups of a name
 * share one, and names that were quick the last time, names that were slow, and new names have separate limits.
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
import { isExhausted } from './classify.ts';

type Options = {
  /** Looks one name up, without a time-out. */
  readonly lookup: Resolve;
  /** Milliseconds by a clock that only grows. */
  readonly stopwatch?: () => number;
  /** The error if the process has no file descriptor left. */
  readonly exhaustion?: () => Promise<Error | null>;
};

type Kind = 'quick' | 'slow' | 'unknown';

/** One for the process, like its thread pool. */
export const systemResolve: Resolve = createResolve({ lookup: (hostname) => dns.lookup(hostname, { all: true }) });

/** Remembers only how long a look-up took, never its answer: every later request looks the name up again. */
export function createResolve({
  lookup,
  stopwatch = () => performance.now(),
  exhaustion = missingDescriptor,
}: Options): Resolve {
  const underWay = new Map<string, ReturnType<Resolve>>();
  const lastTime = createLru<string, Exclude<Kind, 'unknown'>>({ max: NAMES_REMEMBERED });
  const limits: Readonly<Record<Kind, ConcurrencyLimit>> = {
    quick: createConcurrencyLimit(LOOKUPS_QUICK),
    slow: createConcurrencyLimit(LOOKUPS_SLOW),
    unknown: createConcurrencyLimit(LOOKUPS_UNKNOWN),
  };

  const remember = (hostname: string, tookMs: number): void => {
    lastTime.set(hostname, tookMs < SLOW_LOOKUP_MS ? 'quick' : 'slow');
  };

  const lookUp = async (hostname: string): ReturnType<Resolve> => {
    const limit = limits[lastTime.get(hostname) ?? 'unknown'];
    await limit.enter();
    const startedAt = stopwatch();
    try {
      return await lookup(hostname);
    } catch (error) {
      throw (await exhaustion()) ?? error;
    } finally {
      remember(hostname, stopwatch() - startedAt);
      limit.leave();
    }
  };

  return (hostname) => {
    const shared = underWay.get(hostname);
    if (shared !== undefined) return shared;
    const answer = lookUp(hostname).finally(() => underWay.delete(hostname));
    underWay.set(hostname, answer);
    return answer;
  };
}

/** Without a file descriptor, the system's resolver reports that the name does not exist (ENOTFOUND). */
async function missingDescriptor(): Promise<Error | null> {
  try {
    await (await open(devNull)).close();
    return null;
  } catch (error) {
    return isExhausted(error) ? (error as Error) : null;
  }
}

type ConcurrencyLimit = {
  /** Waits for a slot, first come first served. */
  enter(): Promise<void>;
  leave(): void;
};

function createConcurrencyLimit(slots: number): ConcurrencyLimit {
  let free = slots;
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

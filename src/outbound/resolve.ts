/**
 * Resolves host names through the system. A look-up occupies one of the few threads of the process's pool (which also does gzip and
 * files), for 10 s or more if a name server does not answer. So that slow names do not delay the others, concurrent look-ups of a name
 * share one; names that were quick the last time, names that were slow, and new names have separate places; and customers take turns for
 * them, each with a bound of its own. An answer that takes too long is not waited for.
 */

import type { LookupAddress } from 'node:dns';
import { promises as dns } from 'node:dns';
import { open } from 'node:fs/promises';
import { devNull } from 'node:os';
import { createFairQueue, type FairQueue, type Owner } from '../kernel/fair-queue.ts';
import { createLru } from '../kernel/lru.ts';
import { Refusal } from '../kernel/refusal.ts';
import { isExhausted } from './classify.ts';

/** Concurrent DNS lookups, by the duration of the previous lookup of the name. Slow name servers often do not answer at all. */
const LOOKUPS_QUICK = 12;
export const LOOKUPS_UNKNOWN = 12;
export const LOOKUPS_SLOW = 8;

/** Of these, for one customer, and how many more names of it may wait. */
const LOOKUPS_QUICK_PER_CUSTOMER = 6;
export const LOOKUPS_UNKNOWN_PER_CUSTOMER = 4;
const LOOKUPS_SLOW_PER_CUSTOMER = 2;
export const LOOKUPS_WAITING_PER_CUSTOMER = 200;

/** How long the answer to a look-up is waited for, with the wait for its turn. The system itself may go on for longer. */
const LOOKUP_MS = 15_000;
export const SLOW_LOOKUP_MS = 1000;
export const NAMES_REMEMBERED = 10_000;

type Options = {
  /** Looks one name up, without a time-out. */
  readonly lookup: (hostname: string) => Promise<readonly LookupAddress[]>;
  /** Milliseconds by a clock that only grows. */
  readonly stopwatch?: () => number;
  /** The error if the process has no file descriptor left. */
  readonly exhaustion?: () => Promise<Error | null>;
  /** How long to wait for an answer, in milliseconds. */
  readonly limitMs?: number;
};

type Kind = 'quick' | 'slow' | 'unknown';

/** One for the process, like its thread pool. */
export const systemResolve: ResolveHost = createResolve({ lookup: (hostname) => dns.lookup(hostname, { all: true }) });

/** Remembers only how long a look-up took, never its answer: every later request looks the name up again. */
export function createResolve({
  lookup,
  stopwatch = () => performance.now(),
  exhaustion = missingDescriptor,
  limitMs = LOOKUP_MS,
}: Options): ResolveHost {
  /** Look-ups that have a thread, by name. */
  const running = new Map<string, ReturnType<ResolveHost>>();
  /** Look-ups that wait for their turn or for their answer, by owner and name: nobody waits in someone else's turn. */
  const asked = new Map<string, ReturnType<ResolveHost>>();
  const lastTime = createLru<string, Exclude<Kind, 'unknown'>>({ max: NAMES_REMEMBERED });
  const queues: Readonly<Record<Kind, FairQueue>> = {
    quick: createPlaces(LOOKUPS_QUICK, LOOKUPS_QUICK_PER_CUSTOMER),
    slow: createPlaces(LOOKUPS_SLOW, LOOKUPS_SLOW_PER_CUSTOMER),
    unknown: createPlaces(LOOKUPS_UNKNOWN, LOOKUPS_UNKNOWN_PER_CUSTOMER),
  };

  const start = async (hostname: string): ReturnType<ResolveHost> => {
    const startedAt = stopwatch();
    try {
      return await lookup(hostname);
    } catch (error) {
      throw (await exhaustion()) ?? error;
    } finally {
      lastTime.set(hostname, stopwatch() - startedAt < SLOW_LOOKUP_MS ? 'quick' : 'slow');
      running.delete(hostname);
    }
  };

  const shared = (hostname: string): ReturnType<ResolveHost> => {
    const answer = running.get(hostname) ?? start(hostname);
    running.set(hostname, answer);
    return answer;
  };

  const inTurn = async (hostname: string, owner: Owner): ReturnType<ResolveHost> => {
    const found = running.get(hostname);
    if (found !== undefined) return within(found, hostname, limitMs);
    let isWanted = true;
    const answer = queues[lastTime.get(hostname) ?? 'unknown'].run(owner, () =>
      isWanted ? shared(hostname) : Promise.reject(tooLate(hostname)),
    );
    try {
      return await within(answer, hostname, limitMs);
    } catch (error) {
      throw error instanceof Refusal ? withCode(error.message, 'EAI_AGAIN') : error;
    } finally {
      isWanted = false;
    }
  };

  return (hostname, owner = null) => {
    const key = `${owner ?? ''} ${hostname}`;
    const answer = asked.get(key) ?? inTurn(hostname, owner).finally(() => asked.delete(key));
    asked.set(key, answer);
    return answer;
  };
}

function createPlaces(places: number, placesPerOwner: number): FairQueue {
  const waitingPerOwner = LOOKUPS_WAITING_PER_CUSTOMER;
  return createFairQueue({ what: 'host names to look up', places, placesPerOwner, waitingPerOwner });
}

/** The answer, or a failure after `ms`. */
async function within<T>(answer: Promise<T>, hostname: string, ms: number): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(tooLate(hostname)), ms).unref();
  try {
    return await Promise.race([answer, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

function tooLate(hostname: string): Error {
  return withCode(`${hostname} was not resolved in time`, 'ETIMEOUT');
}

function withCode(text: string, code: string): Error {
  return Object.assign(new Error(text), { code });
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

/** Every address of a name, or a rejection with the DNS error's `code`. `owner`: the look-up counts towards its share. */
export type ResolveHost = (hostname: string, owner?: Owner) => Promise<readonly LookupAddress[]>;

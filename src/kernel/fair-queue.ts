/**
 * Shares one pool of the process between customers (contract §8.8): a bound for all together, a smaller one for each customer,
 * and turns. Every pool that customers can fill is one of these.
 */
import { Refusal } from './refusal.ts';

/**
 * Who uses the pool: a customer's id, or another name such as a network. Null is the operator, which is bound only by the places of all,
 * unless the pool has a bound for it.
 */
export type Owner = string | null;

export type FairQueue = {
  /**
   * Runs the work when a place is free and it is the owner's turn: owners take turns, and the pieces of one owner keep their order. Rejects
   * like `take`, without running the work, if too many pieces of the owner wait.
   */
  run<T>(owner: Owner, work: () => Promise<T>): Promise<T>;
  /**
   * Takes `places` places immediately, without waiting, and returns the function that gives them back. Throws 429 with `Retry-After` beyond
   * the owner's bound, and 503 with `Retry-After` if the places of all are used up.
   */
  take(owner: Owner, places?: number): () => void;
  /** The places in use, of all owners or of one. */
  held(owner?: Owner): number;
};

export type FairBounds = {
  /** The bounded work, in the plural, for refusals: `live pages`. */
  readonly what: string;
  /** How much may be in use at a time, by all owners and by one. */
  readonly places: number;
  readonly placesPerOwner?: number;
  readonly placesOfOperator?: number;
  /** Pieces of work that may wait, of all owners and of one. Default: any number, for callers that bound them. */
  readonly waiting?: number;
  readonly waitingPerOwner?: number;
  readonly retryAfterSeconds?: number;
};

export function createFairQueue({
  what,
  places,
  placesPerOwner = places,
  placesOfOperator = Number.POSITIVE_INFINITY,
  waiting: waitingMax = Number.POSITIVE_INFINITY,
  waitingPerOwner = waitingMax,
  retryAfterSeconds = 1,
}: FairBounds): FairQueue {
  const used = new Map<Owner, number>();
  /** Owners with work that waits. The owner that is served next comes first. */
  const queues = new Map<Owner, (() => void)[]>();
  let usedInAll = 0;
  let waitingInAll = 0;

  const usedBy = (owner: Owner): number => used.get(owner) ?? 0;
  const placesOf = (owner: Owner): number => (owner === null ? placesOfOperator : placesPerOwner);
  const exceedsOwn = (owner: Owner, count: number): boolean => usedBy(owner) + count > placesOf(owner);
  const fits = (owner: Owner, count: number): boolean => usedInAll + count <= places && !exceedsOwn(owner, count);

  const hold = (owner: Owner, count: number): (() => void) => {
    usedInAll += count;
    used.set(owner, usedBy(owner) + count);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      usedInAll -= count;
      const left = usedBy(owner) - count;
      if (left === 0) used.delete(owner);
      else used.set(owner, left);
      serve();
    };
  };

  /** Starts what fits. An owner that was served goes to the end, and the loop comes to it again if places are left. */
  const serve = (): void => {
    for (const [owner, pieces] of queues) {
      if (usedInAll >= places) return;
      if (!fits(owner, 1)) continue;
      queues.delete(owner);
      const start = pieces.shift();
      if (pieces.length > 0) queues.set(owner, pieces);
      waitingInAll -= 1;
      start?.();
    }
  };

  const refused = (isOwn: boolean, most: number): Refusal => {
    const headers = { 'Retry-After': String(retryAfterSeconds) };
    return isOwn
      ? new Refusal('too_many_requests', `you have too many ${what}: at most ${most} are allowed at a time`, {
          headers,
        })
      : new Refusal('unavailable', `there are too many ${what} now: at most ${most} in all`, { headers });
  };

  /** Waits for a place. Resolves with the function that gives it back. */
  const enter = (owner: Owner): Promise<() => void> => {
    if (fits(owner, 1)) return Promise.resolve(hold(owner, 1));
    const pieces = queues.get(owner) ?? [];
    if (owner !== null && pieces.length >= waitingPerOwner) return Promise.reject(refused(true, waitingPerOwner));
    if (waitingInAll >= waitingMax) return Promise.reject(refused(false, waitingMax));
    return new Promise((resolve) => {
      pieces.push(() => resolve(hold(owner, 1)));
      queues.set(owner, pieces);
      waitingInAll += 1;
    });
  };

  return {
    run: async (owner, work) => {
      const leave = await enter(owner);
      try {
        return await work();
      } finally {
        leave();
      }
    },
    take: (owner, count = 1) => {
      if (exceedsOwn(owner, count)) throw refused(true, placesOf(owner));
      if (!fits(owner, count)) throw refused(false, places);
      return hold(owner, count);
    },
    held: (owner) => (owner === undefined ? usedInAll : usedBy(owner)),
  };
}

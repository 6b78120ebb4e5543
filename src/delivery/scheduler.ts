/**
 * Everything that is known of room: which jobs are claimed, which requests are in flight, and what rates allow. In memory; holds nothing
 * that is not in the store too. Taking the next job costs the same however many webhooks have some.
 */

import { createLru } from '../kernel/lru.ts';
import { type Job, recordsOf } from './job.ts';

export type Lanes = {
  /** What is claimed for a webhook, and the room for more, once so much of what is claimed is settled. */
  load(webhookNumber: number, narrow: boolean, settling?: number): LaneLoad;
  /** Whether more may be claimed for a webhook, or could be when so much of what is claimed is settled. */
  hasRoom(webhookNumber: number, settling?: number): boolean;
  /** Queues jobs of a webhook that were claimed. */
  add(webhookNumber: number, jobs: readonly Job[], manner: Manner): void;
  setAlone(webhookNumber: number, alone: boolean): void;
  /** The next job that may start, or null; endpoints take turns, and the webhooks of each. It has a place from now on. */
  next(): Job | null;
  /** It is about to go out: its records count by their departure from now on. */
  departed(job: Job): void;
  /**
   * Its answer is there, or none will come: its place is free. Answers whether the webhook starts nothing before it is settled:
   * when it sends one request at a time, and after any failure.
   */
  finished(job: Job, ok: boolean): boolean;
  /** What came of it is written, or never will be. */
  settled(job: Job): void;
  /** Takes out whatever of a webhook, or of all, has not started; each of these must be `settled` too. */
  withdraw(webhookNumber?: number): Job[];
};

/** `alone`: one request at a time; `narrow`: no more is claimed than may be under way at once, since its rate allows no more. */
export type Manner = { readonly alone: boolean; readonly narrow: boolean };

export type LaneLoad = {
  readonly room: number;
  /** Batches and heartbeats that are claimed and not settled. */
  readonly claimed: number;
  /** Records that were claimed and have not departed: those of jobs that have begun are on their way to it. 0 unless `narrow`. */
  readonly reservedRecords: number;
  readonly has: (firstOffset: number) => boolean;
};

export type LaneLimits = {
  /** Requests under way to one endpoint. */
  readonly perEndpoint: number;
  /** Batches claimed for one webhook, and about how many for all together; each may always have one. */
  readonly claimed: number;
  readonly claimedInAll: number;
};

/** `waiting`: the lanes that have something to start here, the first one's turn being next. */
type Place = { readonly endpointId: string; taken: number; readonly waiting: Set<Lane> };

type Lane = {
  readonly queue: Job[];
  /** By first offset, of the batches that are claimed and not settled: how many of its records have not departed. */
  readonly batches: Map<number, number>;
  /** Claimed and not settled, heartbeats included; and of these, no longer in the queue. */
  claimed: number;
  begun: number;
  alone: boolean;
  narrow: boolean;
};

/** `requests` bounds how many are under way in all. */
export function createLanes(limits: LaneLimits, requests: Requests): Lanes {
  const lanes = new Map<number, Lane>();
  const places = new Map<string, Place>();
  /** The places that have room and somebody waiting. */
  const ready = new Set<Place>();

  const placeAt = (endpointId: string): Place => {
    const place = places.get(endpointId) ?? { endpointId, taken: 0, waiting: new Set() };
    places.set(endpointId, place);
    return place;
  };

  const isStartable = (lane: Lane): boolean => lane.queue.length > 0 && !(lane.alone && lane.begun > 0);

  /** Puts a lane where its next job waits, unless it waits for its own last request. */
  const enqueue = (lane: Lane): void => {
    const [job] = lane.queue;
    if (job === undefined || !isStartable(lane)) return;
    const place = placeAt(job.endpointId);
    place.waiting.add(lane);
    offer(place);
  };

  const offer = (place: Place): void => {
    if (place.waiting.size > 0 && place.taken < limits.perEndpoint) ready.add(place);
    else if (place.waiting.size === 0 && place.taken === 0) places.delete(place.endpointId);
  };

  const nextAt = (place: Place): Job | null => {
    for (const lane of place.waiting) {
      place.waiting.delete(lane);
      // Since it was put here its jobs may have been withdrawn, or others have come.
      if (!isStartable(lane)) continue;
      if (lane.queue[0]?.endpointId === place.endpointId) {
        lane.begun += 1;
        const job = lane.queue.shift() ?? null;
        enqueue(lane);
        return job;
      }
      enqueue(lane);
    }
    return null;
  };

  /** Half of it at a time: a claim for every single job that is done would cost more than the job. */
  const roomBeside = (claimed: number, narrow: boolean): number => {
    const share = Math.max(1, Math.floor(limits.claimedInAll / (lanes.size + 1)));
    const most = Math.min(narrow ? limits.perEndpoint : limits.claimed, share);
    return claimed > most / 2 ? 0 : most - claimed;
  };

  const withdraw = (lane: Lane): Job[] => {
    // They count as begun until they are settled, so that a lane that is alone does not overtake them.
    lane.begun += lane.queue.length;
    return lane.queue.splice(0);
  };

  return {
    load: (webhookNumber, narrow, settling = 0) => {
      const lane = lanes.get(webhookNumber);
      const claimed = (lane?.claimed ?? 0) - settling;
      return {
        room: roomBeside(claimed, narrow),
        claimed,
        reservedRecords: narrow && lane !== undefined ? sumOf(lane.batches.values()) : 0,
        has: (firstOffset) => lane?.batches.has(firstOffset) ?? false,
      };
    },
    hasRoom: (webhookNumber, settling = 0) => {
      const lane = lanes.get(webhookNumber);
      const claimed = (lane?.claimed ?? 0) - settling;
      if (lane === undefined || claimed === 0) return true;
      return !lane.alone && roomBeside(claimed, lane.narrow) > 0;
    },
    add: (webhookNumber, jobs, { alone, narrow }) => {
      const known = lanes.get(webhookNumber);
      if (known === undefined && jobs.length === 0) return;
      const lane: Lane = known ?? { queue: [], batches: new Map(), claimed: 0, begun: 0, alone, narrow };
      lanes.set(webhookNumber, lane);
      lane.alone = alone;
      lane.narrow = narrow;
      lane.queue.push(...jobs);
      lane.claimed += jobs.length;
      for (const job of jobs) if (job.batch !== null) lane.batches.set(job.batch.firstOffset, recordsOf(job));
      enqueue(lane);
    },
    setAlone: (webhookNumber, alone) => {
      const lane = lanes.get(webhookNumber);
      if (lane === undefined) return;
      lane.alone = alone;
      enqueue(lane);
    },
    next: () => {
      if (!requests.hasRoom()) return null;
      for (const place of ready) {
        ready.delete(place);
        if (place.taken >= limits.perEndpoint) continue;
        const job = nextAt(place);
        if (job !== null) {
          place.taken += 1;
          requests.begin(job);
        }
        offer(place);
        if (job !== null) return job;
      }
      return null;
    },
    departed: ({ webhookNumber, batch }) => {
      if (batch !== null) lanes.get(webhookNumber)?.batches.set(batch.firstOffset, 0);
    },
    finished: (job, ok) => {
      const { webhookNumber, endpointId } = job;
      const place = placeAt(endpointId);
      place.taken -= 1;
      requests.end(job);
      offer(place);
      const lane = lanes.get(webhookNumber);
      if (lane !== undefined && !ok) lane.alone = true;
      return lane?.alone ?? true;
    },
    settled: ({ webhookNumber, batch }) => {
      const lane = lanes.get(webhookNumber);
      if (lane === undefined) return;
      lane.begun -= 1;
      lane.claimed -= 1;
      if (batch !== null) lane.batches.delete(batch.firstOffset);
      if (lane.claimed === 0) lanes.delete(webhookNumber);
      else enqueue(lane);
    },
    withdraw: (webhookNumber) => {
      if (webhookNumber === undefined) return [...lanes.values()].flatMap(withdraw);
      const lane = lanes.get(webhookNumber);
      return lane === undefined ? [] : withdraw(lane);
    },
  };
}

function sumOf(numbers: Iterable<number>): number {
  let sum = 0;
  for (const number of numbers) sum += number;
  return sum;
}

export type RequestLimits = {
  /** Requests under way that have not been for `lingersMs` yet. */
  readonly inFlight: number;
  /** All of them. */
  readonly inFlightInAll: number;
  readonly lingersMs: number;
};

export type Requests = {
  /** Whether one more may begin. Time alone can make it so. */
  hasRoom(): boolean;
  begin(job: Job): void;
  end(job: Job): void;
  count(): number;
};

/** `stopwatch`: milliseconds that only grow. */
export function createRequests(limits: RequestLimits, stopwatch: () => number): Requests {
  /** Those that do not linger, with when they began, in that order. */
  const fresh = new Map<Job, number>();
  let all = 0;
  const letLinger = (): void => {
    const before = stopwatch() - limits.lingersMs;
    for (const [job, begunAt] of fresh) {
      if (begunAt > before) return;
      fresh.delete(job);
    }
  };
  return {
    hasRoom: () => {
      if (all >= limits.inFlightInAll) return false;
      if (fresh.size >= limits.inFlight) letLinger();
      return fresh.size < limits.inFlight;
    },
    begin: (job) => {
      fresh.set(job, stopwatch());
      all += 1;
    },
    end: (job) => {
      fresh.delete(job);
      all -= 1;
    },
    count: () => all,
  };
}

export type Allowance = {
  /** Whole records that may be sent now; infinite without a limit. */
  readonly records: number;
  /** When enough of them may that a batch is worth its request; `now` if they may already. */
  readonly nextAt: number;
};

export type RateLimiter = {
  /** What may be sent at `now` besides `reserved` records that are on their way already, of `wanted` that there are. */
  allowance(
    webhookNumber: number,
    perSecond: number | null,
    demand: { readonly now: number; readonly wanted: number; readonly reserved: number },
  ): Allowance;
  /** Counts records that go out. A batch that was cut under a higher limit may overdraw; what follows waits the longer. */
  spend(webhookNumber: number, perSecond: number | null, records: number, now: number): void;
};

/** Records may bunch by a fifth of a second's worth, so that any ten seconds hold the rate within two percent. */
const BURST_SECONDS = 0.2;
/** Webhooks remembered. One that is forgotten, because others were busy since, begins with a full bucket. */
const BUCKETS_MAX = 10_000;

/** `perSecond`: the limit under which it was last asked. */
type Bucket = { tokens: number; at: number; perSecond: number };

export function createRateLimiter(): RateLimiter {
  const buckets = createLru<number, Bucket>({ max: BUCKETS_MAX });
  const refilled = (webhookNumber: number, perSecond: number, now: number): Bucket => {
    const most = burst(perSecond);
    const bucket = buckets.get(webhookNumber) ?? { tokens: most, at: now, perSecond };
    // What was overdrawn is made up for at the rate under which it was, not at another one, which may be much lower.
    if (bucket.perSecond !== perSecond) bucket.tokens = Math.max(0, bucket.tokens);
    bucket.perSecond = perSecond;
    // The clock may be set back: nothing is gained then, and nothing lost.
    const gained = (Math.max(0, now - bucket.at) / 1000) * perSecond;
    bucket.tokens = Math.min(most, bucket.tokens + gained);
    bucket.at = now;
    buckets.set(webhookNumber, bucket);
    return bucket;
  };
  return {
    allowance: (webhookNumber, perSecond, { now, wanted, reserved }) => {
      if (perSecond === null) {
        buckets.delete(webhookNumber);
        return { records: Number.POSITIVE_INFINITY, nextAt: now };
      }
      const tokens = refilled(webhookNumber, perSecond, now).tokens - reserved;
      // Half a bucket at a time where so much waits: a request for every single token would cost more than it carries.
      const worthwhile = Math.max(1, Math.min(wanted, Math.floor(burst(perSecond) / 2)));
      const missing = Math.max(0, worthwhile - tokens);
      if (missing > 0) return { records: 0, nextAt: now + Math.max(1, Math.ceil((missing / perSecond) * 1000)) };
      return { records: Math.floor(tokens), nextAt: now };
    },
    spend: (webhookNumber, perSecond, records, now) => {
      if (perSecond !== null) refilled(webhookNumber, perSecond, now).tokens -= records;
    },
  };
}

/** One record at least may always go once its time has come. */
function burst(perSecond: number): number {
  return Math.max(1, perSecond * BURST_SECONDS);
}

/**
 * What is claimed and not settled yet, in memory: a queue of jobs for each webhook, places at each endpoint, and whose turn it
 * is. Taking the next job costs the same however many webhooks have some. Holds nothing that is not in the store too.
 */
import { type Job, recordsOf } from './job.ts';
import type { Requests } from './requests.ts';

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

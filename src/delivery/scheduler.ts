/**
 * Decides which jobs may be claimed and which are sent next: the claimed jobs of each webhook, the current requests to each endpoint and in
 * all, and the rate of each webhook. No I/O; all of it can be rebuilt from the store. The time of a choice does not grow with the webhooks.
 */
import type { Claimed, Job, NextLook, Room, SchedulerLimits } from '../domain/batch.ts';
import type { Webhook, WebhookConfiguration } from '../domain/webhook.ts';
import type { Owner } from '../kernel/fair-queue.ts';
import { createRateLimiter, type RecordAllowance } from './rate-limiter.ts';

export type Scheduler = {
  /** How much of a webhook may be claimed at `now`. `waiting`: records that are in no batch. */
  room(webhook: Webhook, now: number, waiting: number): Room;
  /** Whether a webhook may claim more. Otherwise it is at its limit until a job of it settles. */
  hasRoom(webhookNumber: number): boolean;
  /** Begins a claim, until `endClaim`. False while another claim of the webhook is in progress: both would take the same records. */
  beginClaim(webhookNumber: number): boolean;
  /** Returns whether `beginClaim` was refused during the claim, which may have read before news came. */
  endClaim(webhookNumber: number): boolean;
  isClaiming(webhookNumber: number): boolean;
  /** Queues claimed jobs. */
  admit(claimed: Claimed): void;
  /** The next job to send, or null. Customers, their endpoints and the webhooks of each take turns. The clock of `elapsedMs` only grows. */
  next(elapsedMs: number): Job | null;
  /** The job's request is about to be sent: its records count against the webhook's rate. */
  sending(job: Job, perSecond: number | null, now: number): void;
  /**
   * The request has ended: its slot is free. Returns whether the webhook sends nothing until the outcome is settled: after a failure, and
   * always if it sends one request at a time.
   */
  finished(job: Job, ok: boolean): boolean;
  /** Outcomes of the webhook cannot be written: nothing of it starts until they are. */
  hold(webhookNumber: number): void;
  /** Outcomes of one webhook are written, or given up. `sequential`: it sends one at a time from now on; null: unchanged. */
  settled(webhookNumber: number, jobs: readonly Job[], sequential: boolean | null): void;
  /** Removes the jobs that have not started, of one webhook or of all. Each of them must be `settled`. */
  withdraw(webhookNumber?: number): Job[];
  /** Whether a job of the webhook is claimed and not settled, or a claim is in progress. */
  isBusy(webhookNumber: number): boolean;
  /** Whether every job that was started or withdrawn is settled. */
  isIdle(): boolean;
};

export const LOOK_NOW: NextLook = { kind: 'now' };

/** The webhook is at its limit. */
export const WHEN_SETTLED: NextLook = { kind: 'when settled' };

/** Whether a webhook sends one request at a time: an ordered one, and any other until its last attempt succeeded. */
export function isSequential({
  ordered,
  progress: { state },
}: Pick<WebhookConfiguration, 'ordered'> & { readonly progress: Pick<Webhook['progress'], 'state'> }): boolean {
  return ordered === true || state !== 'running';
}

/** The jobs of one webhook, from their claim to their settlement. */
type Queue = {
  readonly owner: Owner;
  readonly waiting: Job[];
  /** By first offset, the claimed batches: how many of their records are not sent yet. */
  readonly batches: Map<number, number>;
  /** Jobs claimed and not settled, and how many of them have left `waiting`. */
  claimed: number;
  begun: number;
  /** Jobs that ended with success and are not settled: they leave room for others. */
  readonly done: Set<Job>;
  sequential: boolean;
  rateLimited: boolean;
};

export function createScheduler(limits: SchedulerLimits): Scheduler {
  const rates = createRateLimiter();
  const queues = new Map<number, Queue>();
  const claims = createClaims();
  const turns = createEndpointTurns(limits);
  const requests = createRequests(limits);
  /** Jobs that were started or withdrawn and are not settled. */
  let begun = 0;

  /** Claims refill at half: a claim for every finished job would cost more than the job. */
  const roomBeside = (claimed: number, rateLimited: boolean): number => {
    const share = Math.max(1, Math.floor(limits.claimedInAll / (queues.size + 1)));
    const most = Math.min(rateLimited ? limits.perEndpoint : limits.claimed, share);
    return claimed > most / 2 ? 0 : most - claimed;
  };

  const hasRoom = (webhookNumber: number): boolean => {
    const queue = queues.get(webhookNumber);
    if (queue === undefined || queue.claimed === 0) return true;
    return !queue.sequential && roomBeside(queue.claimed - queue.done.size, queue.rateLimited) > 0;
  };

  const withdrawn = (queue: Queue): Job[] => {
    // They count as begun until they are settled, so that a sequential webhook does not overtake them.
    queue.begun += queue.waiting.length;
    begun += queue.waiting.length;
    return queue.waiting.splice(0);
  };

  return {
    room: (webhook, now, waiting) => {
      const { maxRecordsPerSecond: perSecond, maxBatchRecords, progress } = webhook;
      const { webhookNumber } = progress;
      const queue = queues.get(webhookNumber);
      const claimed = queue?.claimed ?? 0;
      const ahead = claimed - (queue?.done.size ?? 0);
      const reserved =
        queue === undefined || perSecond === null
          ? 0
          : [...queue.batches.values()].reduce((sum, records) => sum + records, 0);
      const wanted = Math.min(maxBatchRecords, waiting);
      const allowance = rates.allowance(webhookNumber, perSecond, { now, wanted, reserved });
      return {
        now,
        claimed,
        records: allowance.records,
        ...capacity(webhook, { now, claimed, allowance, room: roomBeside(ahead, perSecond !== null) }),
      };
    },
    hasRoom,
    beginClaim: claims.begin,
    endClaim: claims.end,
    isClaiming: claims.isInProgress,
    admit: ({ webhookNumber, customerId: owner, jobs, isSequential: sequential, isRateLimited: rateLimited }) => {
      const added: Queue = {
        owner,
        waiting: [],
        batches: new Map(),
        claimed: 0,
        begun: 0,
        done: new Set(),
        sequential,
        rateLimited,
      };
      const queue: Queue = queues.get(webhookNumber) ?? added;
      if (queue.claimed + jobs.length === 0) return;
      queues.set(webhookNumber, Object.assign(queue, { sequential, rateLimited }));
      queue.waiting.push(...jobs);
      queue.claimed += jobs.length;
      for (const job of jobs) if (job.batch !== null) queue.batches.set(job.batch.firstOffset, recordsOf(job));
      turns.enqueue(queue);
    },
    next: (elapsedMs) => {
      const job = requests.hasRoom(elapsedMs) ? turns.next() : null;
      if (job === null) return null;
      begun += 1;
      requests.begin(job, elapsedMs);
      return job;
    },
    sending: (job, perSecond, now) => {
      const { webhookNumber, batch } = job;
      rates.spend(webhookNumber, perSecond, recordsOf(job), now);
      if (batch !== null) queues.get(webhookNumber)?.batches.set(batch.firstOffset, 0);
    },
    finished: (job, ok) => {
      turns.release(job.endpointId);
      requests.end(job);
      const queue = queues.get(job.webhookNumber);
      if (queue !== undefined && !ok) queue.sequential = true;
      if (queue?.sequential === false) queue.done.add(job);
      return queue?.sequential ?? true;
    },
    hold: (webhookNumber) => {
      const queue = queues.get(webhookNumber);
      if (queue !== undefined) queue.sequential = true;
    },
    settled: (webhookNumber, jobs, sequential) => {
      const queue = queues.get(webhookNumber);
      if (queue === undefined) return;
      if (sequential !== null) queue.sequential = sequential;
      begun -= jobs.length;
      queue.begun -= jobs.length;
      queue.claimed -= jobs.length;
      for (const job of jobs) {
        queue.done.delete(job);
        if (job.batch !== null) queue.batches.delete(job.batch.firstOffset);
      }
      if (queue.claimed === 0) queues.delete(webhookNumber);
      else turns.enqueue(queue);
    },
    withdraw: (webhookNumber) => {
      if (webhookNumber === undefined) return [...queues.values()].flatMap(withdrawn);
      const queue = queues.get(webhookNumber);
      return queue === undefined ? [] : withdrawn(queue);
    },
    isBusy: (webhookNumber) => queues.has(webhookNumber) || claims.isInProgress(webhookNumber),
    isIdle: () => begun === 0,
  };
}

/** Claims in progress, one of a webhook at a time. */
function createClaims() {
  /** By webhook: whether another was refused during it. */
  const claiming = new Map<number, boolean>();
  return {
    begin: (webhookNumber: number): boolean => {
      const isFirst = !claiming.has(webhookNumber);
      claiming.set(webhookNumber, !isFirst);
      return isFirst;
    },
    end: (webhookNumber: number): boolean => {
      const wasRefused = claiming.get(webhookNumber) === true;
      claiming.delete(webhookNumber);
      return wasRefused;
    },
    isInProgress: (webhookNumber: number): boolean => claiming.has(webhookNumber),
  };
}

/** `taken`: current requests; `queues`: the queues whose next job goes to this endpoint, in the order of their turns. */
type Endpoint = { readonly id: string; readonly owner: Owner; taken: number; readonly queues: Set<Queue> };

type EndpointTurns = {
  /** The webhook's next job waits for its turn, unless the webhook waits for its own last request. */
  enqueue(queue: Queue): void;
  /** Takes a slot of its endpoint. */
  next(): Job | null;
  /** Frees a slot of the endpoint. */
  release(endpointId: string): void;
};

/** Customers take turns, and so do the endpoints of each, and the webhooks of each endpoint. */
function createEndpointTurns({ perEndpoint, perCustomer }: SchedulerLimits): EndpointTurns {
  const endpoints = new Map<string, Endpoint>();
  /** Current requests by owner, and endpoints with a free slot and a waiting job. The owner and the endpoint that are next come first. */
  const taken = new Map<Owner, number>();
  const ready = new Map<Owner, Set<Endpoint>>();

  const offer = (endpoint: Endpoint): void => {
    const { id, owner, queues } = endpoint;
    if (queues.size > 0 && endpoint.taken < perEndpoint)
      ready.set(owner, (ready.get(owner) ?? new Set()).add(endpoint));
    else if (queues.size === 0 && endpoint.taken === 0) endpoints.delete(id);
  };

  const enqueue = (queue: Queue): void => {
    const [job] = queue.waiting;
    if (job === undefined || !mayStart(queue)) return;
    const { endpointId: id } = job;
    const endpoint = endpoints.get(id) ?? { id, owner: queue.owner, taken: 0, queues: new Set() };
    endpoints.set(id, endpoint);
    endpoint.queues.add(queue);
    offer(endpoint);
  };

  const nextAt = (endpoint: Endpoint): Job | null => {
    for (const queue of endpoint.queues) {
      endpoint.queues.delete(queue);
      // Its jobs may have been withdrawn or replaced since.
      if (!mayStart(queue)) continue;
      const isHere = queue.waiting[0]?.endpointId === endpoint.id;
      const job = isHere ? (queue.waiting.shift() ?? null) : null;
      if (job !== null) queue.begun += 1;
      enqueue(queue);
      if (job !== null) return job;
    }
    return null;
  };

  const nextOf = (waiting: Set<Endpoint>): Job | null => {
    for (const endpoint of waiting) {
      waiting.delete(endpoint);
      const job = endpoint.taken < perEndpoint ? nextAt(endpoint) : null;
      if (job !== null) endpoint.taken += 1;
      offer(endpoint);
      if (job !== null) return job;
    }
    return null;
  };

  return {
    enqueue,
    next: () => {
      for (const [owner, waiting] of ready) {
        const before = taken.get(owner) ?? 0;
        if (owner !== null && before >= perCustomer) continue;
        // To the end.
        ready.delete(owner);
        ready.set(owner, waiting);
        const job = nextOf(waiting);
        if (waiting.size === 0) ready.delete(owner);
        if (job === null) continue;
        taken.set(owner, before + 1);
        return job;
      }
      return null;
    },
    release: (endpointId) => {
      const endpoint = endpoints.get(endpointId);
      if (endpoint === undefined) return;
      endpoint.taken -= 1;
      const left = (taken.get(endpoint.owner) ?? 1) - 1;
      if (left === 0) taken.delete(endpoint.owner);
      else taken.set(endpoint.owner, left);
      offer(endpoint);
    },
  };
}

export function recordsOf({ batch }: Pick<Job, 'batch'>): number {
  return batch === null ? 0 : batch.lastOffset - batch.firstOffset + 1;
}

function mayStart(queue: Queue): boolean {
  return queue.waiting.length > 0 && !(queue.sequential && queue.begun > 0);
}

type Load = {
  readonly now: number;
  readonly room: number;
  readonly claimed: number;
  readonly allowance: RecordAllowance;
};

/** A sequential webhook claims one batch at a time; after failures of its endpoint it claims nothing before the next probe. */
function capacity(webhook: Webhook, { now, room, claimed, allowance }: Load): Pick<Room, 'batches' | 'next'> {
  const { probeAt } = webhook.progress;
  const sequential = isSequential(webhook);
  if (room <= 0 || (sequential && claimed > 0)) return { batches: 0, next: WHEN_SETTLED };
  if (probeAt !== null && probeAt > now) return { batches: 0, next: { kind: 'not before', at: probeAt } };
  if (allowance.records <= 0) return { batches: 0, next: { kind: 'not before', at: allowance.nextAt } };
  return { batches: sequential ? 1 : room, next: LOOK_NOW };
}

/** Limits the current requests. Receivers that hang, however many, delay nobody else until their time-outs. */
function createRequests({ inFlight, inFlightInAll, lingersMs }: SchedulerLimits) {
  /** Requests that began less than `lingersMs` ago, in the order in which they began. */
  const recent = new Map<Job, number>();
  let all = 0;
  return {
    hasRoom: (elapsedMs: number): boolean => {
      if (all >= inFlightInAll) return false;
      if (recent.size < inFlight) return true;
      for (const [job, begunAt] of recent) {
        if (begunAt > elapsedMs - lingersMs) break;
        recent.delete(job);
      }
      return recent.size < inFlight;
    },
    begin: (job: Job, elapsedMs: number): void => {
      recent.set(job, elapsedMs);
      all += 1;
    },
    end: (job: Job): void => {
      recent.delete(job);
      all -= 1;
    },
  };
}

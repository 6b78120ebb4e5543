/** Delivers jobs: reads the current settings and the records of each, makes its body, sends it, and reports the result. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Batch, DeliveryTarget, EndedAttempt, Job, JobResult, LogRecord } from '../domain/batch.ts';
import { failure } from '../domain/outcome.ts';
import { isRunnable } from '../domain/webhook-states.ts';
import type { Clock, Ids } from '../kernel/ids.ts';
import type { Log } from '../kernel/log.ts';
import { heavyTurns, type Turns } from '../kernel/turns.ts';
import { LARGE_BODY_BYTES } from '../outbound/connections.ts';
import { type Cancellation, cancel, createCancellation } from '../outbound/transport.ts';
import type { DispatchVerbs } from '../store/port/dispatch.ts';
import type { WebhookVerbs } from '../store/port/webhooks.ts';
import {
  type BatchBody,
  type BodyOrFailure,
  type BodyRequest,
  bodyRequest,
  makeBatchBody,
  makeBody,
  ownMemory,
} from './body.ts';
import { stopByService, stopReason } from './claim.ts';
import type { FormatOf } from './format.ts';
import type { LargeBodies } from './large-bodies.ts';
import {
  CALLED_LATELY_MS,
  CALLED_PAUSE_MS,
  CALLS_QUEUED,
  DELIVERY_BYTES_PER_CALLED_TURN,
  DELIVERY_BYTES_PER_TURN,
  MESSAGE_OVERHEAD_BYTES,
} from './limits.ts';
import type { Scheduler } from './scheduler.ts';
import type { Send } from './send.ts';

type Deliveries = {
  /** Never throws. */
  readonly deliver: (job: Job) => Promise<JobResult>;
  /** Ends every attempt that carries records about the subject, or is about to: its batch goes out again without them. */
  readonly recall: (subject: string) => void;
  /** Webhooks with attempts in progress. */
  readonly busyWebhooks: () => readonly number[];
  /** Ends every attempt of a stopped webhook. It is recorded, but does not count. */
  readonly endWebhook: (webhookNumber: number) => void;
  /** Ends every attempt, and starts no more. Ended attempts are recorded, but do not count. */
  readonly abandon: () => void;
};

type Dependencies = {
  readonly store: DispatchVerbs & WebhookVerbs;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly send: Send;
  readonly makeLargeBody: LargeBodies['make'];
  readonly log: Log;
  /** How many requests this process has answered. */
  readonly answeredRequests: () => number;
  readonly scheduler: Pick<Scheduler, 'sending'>;
  /** Whether this process still holds its webhooks, as far as it can tell without asking. */
  readonly maySend: () => boolean;
  readonly formatOf: FormatOf;
};

type Context = Dependencies & { readonly budget: YieldBudget };

/** A job on its way, until `end`. */
type Delivery = {
  readonly job: Job;
  /** Its approximate share of a turn, in bytes. */
  readonly bytes: number;
  readonly ending: Cancellation;
  /** Subjects that were recalled since it began. */
  readonly recalled: string[];
  /** The subjects of its body, once that is made. */
  subjects: readonly string[];
  readonly end: (result: JobResult) => void;
};

/** A delivery to send, with the data that was read for it. */
type Ready = {
  readonly delivery: Delivery;
  readonly bytes: number;
  readonly target: DeliveryTarget;
  readonly request: BodyRequest;
  /** Null without records, and for a batch whose body a thread makes. */
  readonly records: Promise<LogRecord[]> | null;
};

const RELEASED: JobResult = { kind: 'release' };

export function createDeliver(dependencies: Dependencies): Deliveries {
  const { store, answeredRequests } = dependencies;
  const budget = createYieldBudget(answeredRequests, () => performance.now());
  const context = { ...dependencies, budget };
  const underWay = new Set<Delivery>();
  let isAbandoned = false;

  const startInTurn = createSendTurns<Delivery, Ready>({
    ...{ budget, turns: heavyTurns },
    prepare: async (deliveries) => {
      const reading = createReading(store);
      const ready = await Promise.all(deliveries.map((delivery) => prepare(context, delivery, reading)));
      return ready.filter((one) => one !== null);
    },
    send: (ready) => {
      // Not awaited: other deliveries are sent while a thread makes a large body.
      void makeAndSend(context, ready).catch((error: unknown) =>
        breakOff(dependencies.log, ready.delivery, error, ready.request.now),
      );
    },
  });

  return {
    deliver: (job) =>
      new Promise((resolve) => {
        const delivery: Delivery = {
          ...{ job, bytes: bytesOf(job), ending: createCancellation(), recalled: [], subjects: [] },
          end: (result) => {
            underWay.delete(delivery);
            resolve(result);
          },
        };
        underWay.add(delivery);
        if (isAbandoned) cancel(delivery.ending);
        startInTurn(delivery);
      }),
    recall: (subject) => {
      for (const { recalled, subjects, ending } of underWay) {
        recalled.push(subject);
        if (subjects.includes(subject)) cancel(ending, 'what it carried was erased');
      }
    },
    busyWebhooks: () => [...new Set([...underWay].map(({ job }) => job.webhookNumber))],
    endWebhook: (webhookNumber) => {
      for (const { job, ending } of underWay)
        if (job.webhookNumber === webhookNumber) cancel(ending, 'the webhook was stopped');
    },
    abandon: () => {
      isAbandoned = true;
      for (const { ending } of underWay) cancel(ending);
    },
  };
}

/** Reads what a delivery needs, or ends it and returns null. Never throws. */
async function prepare(context: Context, delivery: Delivery, reading: Reading): Promise<Ready | null> {
  const { clock, ids, log, scheduler, maySend, formatOf } = context;
  const { job, ending, end } = delivery;
  const { batch, webhookNumber } = job;
  // Take the time before reading, so that an attempt dated after an erasure cannot carry erased data.
  const now = clock();
  try {
    if (ending.reason !== null || !maySend()) {
      end(RELEASED);
      return null;
    }
    // Together, so that both reads share a round trip to PostgreSQL.
    const records = batch === null || isLarge(batch) ? null : reading.records(batch);
    const target = await reading.target(webhookNumber);
    if (target === null || !mayBeSent(job, target, now)) {
      end(RELEASED);
      return null;
    }
    scheduler.sending(job, target.webhook.maxRecordsPerSecond, now);
    const sessionId = target.webhook.progress.sessionId ?? ids.uuid();
    const format = target.webhook.format === 'records' ? undefined : await formatOf(target.webhook);
    const request = { ...bodyRequest(target, { sessionId, attemptNumber: batch?.attemptNumber ?? 1, now }), format };
    await records?.catch(() => undefined);
    return { delivery, bytes: delivery.bytes, target, request, records };
  } catch (error) {
    breakOff(log, delivery, error, null);
    return null;
  }
}

/** Makes the body and sends it. */
async function makeAndSend(context: Context, { delivery, target, request, records }: Ready): Promise<void> {
  const { ids, log, send, maySend } = context;
  const { job, ending, recalled, end } = delivery;
  const { webhookNumber, batch } = job;
  const { now } = request;
  // It may have waited for some turns, and the process may have been paused.
  if (ending.reason !== null || !maySend()) return end(RELEASED);
  const body = await makeBodyOf(context, batch, request, records);
  if (body === 'erased') return end({ kind: 'discarded' });
  if (typeof body === 'object' && 'unreadable' in body) {
    if (body.isDamaged)
      log.error({ webhookNumber, batchId: batch?.id, problem: body.unreadable }, 'a record cannot be read');
    return end({ kind: 'unreadable', sent: unsent(body.unreadable, now) });
  }
  if (body === 'clear') {
    await stopByService(context, target, 'encryption_key_missing', now);
    return end(RELEASED);
  }
  // The records were read before the recall.
  if (recalled.some((subject) => body.subjects.includes(subject))) return end(RELEASED);
  delivery.subjects = body.subjects;
  const sent = await send({ ...target, batchId: batch?.id ?? ids.uuid(), body, now }, ending);
  if (batch !== null && isLarge(batch)) freeMemory(body);
  end(isCutOff(sent, ending) ? { kind: 'cut off', sent } : { kind: 'sent', sent, url: target.endpoint.url });
}

async function makeBodyOf(
  { makeLargeBody, budget }: Context,
  batch: Batch | null,
  request: BodyRequest,
  records: Promise<LogRecord[]> | null,
): Promise<BatchBody> {
  if (batch === null) return { ...(await makeBody(request, [])), subjects: [] };
  const { webhookNumber, firstOffset, lastOffset, attemptNumber, contentRefusals } = batch;
  const parsed = attemptNumber > 1 || contentRefusals > 0;
  const ofBatch = { ...request, webhookNumber, firstOffset, lastOffset, parsed };
  if (records !== null) return makeBatchBody(ofBatch, () => records);
  const body = await makeLargeBody(ofBatch);
  // Several may be ready at the same time, and writing one to its connection is heavy too.
  return heavyTurns(request.owner, async () => {
    await yieldToCalls(budget);
    return body;
  });
}

/** `startedAt` is null if the settings could not be read: the attempt did not begin, and the next claim reads them again. */
function breakOff(log: Log, { job, ending, end }: Delivery, error: unknown, startedAt: number | null): void {
  const { webhookNumber, batch } = job;
  if (ending.reason === null) log.error({ webhookNumber, batchId: batch?.id, err: error }, 'a delivery broke off');
  if (ending.reason !== null || startedAt === null) end(RELEASED);
  else end({ kind: 'broken off', sent: brokenOff(error, startedAt) });
}

/** A large body is made in a thread, and sent in a turn of its own. */
function bytesOf({ batch }: Job): number {
  return MESSAGE_OVERHEAD_BYTES + (batch === null || isLarge(batch) ? 0 : batch.bytes);
}

function isLarge({ bytes }: Batch): boolean {
  return bytes >= LARGE_BODY_BYTES;
}

/**
 * Memory from a thread counts towards the event loop's heap, and V8 collects all of that after every few dozen megabytes: 10 to 20 ms in
 * which no request is answered. Memory that is freed immediately does not count. The body cannot be read after this.
 */
function freeMemory(body: BodyOrFailure): void {
  if (body.ok) ownMemory(body.bytes)?.transfer(0);
}

/**
 * Whether a job may still be sent. Since the claim an administrator may have stopped the webhook or changed its order, its key may have
 * expired, or its format may have none of the heartbeats.
 */
function mayBeSent(job: Job, target: DeliveryTarget, now: number): boolean {
  const { progress, ordered, format } = target.webhook;
  if (job.batch === null && format !== 'records') return false;
  return (
    isRunnable(progress.state) && stopReason(target, now) === null && (ordered === false || job.ordered === ordered)
  );
}

/** A fault of the service is recorded as an attempt, so that an operator who looks for a missing delivery finds the reason. */
function brokenOff(error: unknown, startedAt: number): EndedAttempt {
  return unsent(`the delivery broke off: ${error instanceof Error ? error.message : 'unknown'}`, startedAt);
}

function unsent(problem: string, startedAt: number): EndedAttempt {
  return { startedAt, outcome: failure('internal', problem), requestHeaders: {}, bodyBytes: 0 };
}

/** The service is stopping, the webhook was stopped, or a record in the request was erased. */
function isCutOff({ outcome }: EndedAttempt, ending: Cancellation): boolean {
  return ending.reason !== null && !outcome.ok && outcome.errorClass === 'internal';
}

/** The reads of deliveries that are prepared together. */
type Reading = {
  records(batch: Batch): Promise<LogRecord[]>;
  /** Read once for each webhook. */
  target(webhookNumber: number): Promise<DeliveryTarget | null>;
};

function createReading({ dispatch }: DispatchVerbs): Reading {
  const targets = new Map<number, Promise<DeliveryTarget | null>>();
  return {
    records: ({ webhookNumber, firstOffset, lastOffset }) => {
      const records = dispatch.records(webhookNumber, firstOffset, lastOffset);
      // A delivery that is released does not look at them.
      records.catch(() => undefined);
      return records;
    },
    target: (webhookNumber) => {
      const target = targets.get(webhookNumber) ?? dispatch.target(webhookNumber);
      targets.set(webhookNumber, target);
      return target;
    },
  };
}

/** Its approximate share of a turn, in bytes. */
type Sized = { readonly bytes: number };

type SendTurnsOptions<Job extends Sized, Ready extends Sized> = {
  readonly budget: YieldBudget;
  readonly turns: Turns;
  /** Reads the data of all jobs together. Returns the ones to send, in order. Never rejects. */
  prepare(jobs: readonly Job[]): Promise<readonly Ready[]>;
  send(ready: Ready): void;
};

/**
 * Sends jobs in turns of the event loop, a bounded number of bytes in each, so that requests and responses never wait long. A turn that
 * follows a full one waits in `turns` with other heavy work. Jobs are prepared for several turns together, because reads take PostgreSQL
 * about as long for many as for one. A job is never divided, so a turn may exceed its budget by one job. Returns the function that adds a
 * job after those added before.
 */
export function createSendTurns<Job extends Sized, Ready extends Sized>({
  budget,
  turns,
  prepare,
  send,
}: SendTurnsOptions<Job, Ready>): (job: Job) => void {
  const waiting: Job[] = [];
  const ready: Ready[] = [];
  let isScheduled = false;

  const turn = async (): Promise<void> => {
    await yieldToCalls(budget);
    if (ready.length === 0) ready.push(...(await prepare(taken(waiting, DELIVERY_BYTES_PER_TURN))));
    for (const one of taken(ready, budget.bytesPerTurn())) send(one);
    budget.turnEnded();
    isScheduled = false;
    if (ready.length + waiting.length > 0) schedule((next) => turns(null, next));
  };

  const schedule = (when: (work: () => Promise<void>) => Promise<void>): void => {
    if (isScheduled) return;
    isScheduled = true;
    void when(turn);
  };

  return (job) => {
    waiting.push(job);
    schedule(atTurnsEnd);
  };
}

/** Removes and returns the first ones of the list, until they have so many bytes; at least one. */
function taken<One extends Sized>(list: One[], most: number): One[] {
  let bytes = 0;
  let count = 0;
  for (; count < list.length && bytes < most; count += 1) bytes += list[count]?.bytes ?? 0;
  return list.splice(0, count);
}

async function yieldToCalls(budget: Pick<YieldBudget, 'pauseMs'>): Promise<void> {
  const ms = budget.pauseMs();
  if (ms > 0) await pause(ms);
}

/** After the responses that arrive in this turn. */
function atTurnsEnd<T>(work: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    setImmediate(() => work().then(resolve, reject));
  });
}

type YieldBudget = {
  /** The bytes that may be sent in the turn that begins. */
  bytesPerTurn(): number;
  /** How long to delay the next turn, in milliseconds; asked once before each. */
  pauseMs(): number;
  turnEnded(): void;
};

/**
 * How much is sent in a turn of the event loop, and when: less while this process answers requests. At full load, turns without a request
 * alternate with turns that have many, so the smaller budget lasts for `CALLED_LATELY_MS`. If at least `CALLS_QUEUED` requests were
 * answered between two of its turns, a queue of them is waiting: the next turn begins at least `CALLED_PAUSE_MS` after the previous one
 * ended. Rarer turns are not delayed; an ordered webhook would otherwise wait before every batch. `now` is in milliseconds.
 */
export function createYieldBudget(answeredRequests: () => number, now: () => number): YieldBudget {
  let before = answeredRequests();
  let calledUntil = Number.NEGATIVE_INFINITY;
  let answeredBefore = before;
  let endedAt = Number.NEGATIVE_INFINITY;
  return {
    bytesPerTurn: () => {
      const answered = answeredRequests();
      if (answered !== before) calledUntil = now() + CALLED_LATELY_MS;
      before = answered;
      return now() < calledUntil ? DELIVERY_BYTES_PER_CALLED_TURN : DELIVERY_BYTES_PER_TURN;
    },
    pauseMs: () => {
      const answered = answeredRequests() - answeredBefore;
      answeredBefore += answered;
      return answered < CALLS_QUEUED ? 0 : Math.max(0, endedAt + CALLED_PAUSE_MS - now());
    },
    turnEnded: () => {
      endedAt = now();
    },
  };
}

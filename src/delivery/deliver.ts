/** Delivers jobs: reads the current settings and the records of each, makes its body, sends it, and reports the result. */
import type { Batch, DeliveryTarget, EndedAttempt, Job, JobResult, LogRecord } from '../domain/batch.ts';
import { failure } from '../domain/outcome.ts';
import { isRunnable } from '../domain/webhook-states.ts';
import type { Clock, Ids } from '../kernel/ids.ts';
import type { Log } from '../kernel/log.ts';
import { freeMemory } from '../kernel/own-memory.ts';
import { heavyTurns } from '../kernel/turns.ts';
import { LARGE_BODY_BYTES } from '../outbound/connections.ts';
import { type Cancellation, cancel, createCancellation } from '../outbound/transport.ts';
import type { DispatchStore, DispatchVerbs } from '../store/port/dispatch.ts';
import type { WebhookVerbs } from '../store/port/webhooks.ts';
import { type BatchBody, type BodyRequest, bodyRequest, makeBatchBody, makeBody } from './body.ts';
import { stopByService, stopReason } from './claim.ts';
import type { FormatOf } from './format.ts';
import type { LargeBodies } from './large-bodies.ts';
import { MESSAGE_OVERHEAD_BYTES } from './limits.ts';
import type { Scheduler } from './scheduler.ts';
import type { Send } from './send.ts';
import { createSendTurns, createYieldBudget, type YieldBudget, yieldToCalls } from './send-turns.ts';

export type AttemptsInProgress = {
  /** Never throws. */
  readonly deliver: (job: Job) => Promise<JobResult>;
  /** Ends every attempt that carries or will carry records about the subject. Its batch is sent again without them. */
  readonly recall: (subject: string) => void;
  readonly isIdle: () => boolean;
  /**
   * Ends the attempts of stopped webhooks. They are recorded, but do not count. Attempts that begin while `stoppedAmong` reads go on: their
   * webhooks may have started again.
   */
  readonly endStopped: (stoppedAmong: DispatchStore['stoppedAmong']) => Promise<void>;
  /** Ends every attempt, and starts no more. Ended attempts are recorded, but do not count. */
  readonly abandon: () => void;
};

export type DeliverDependencies = {
  readonly store: DispatchVerbs & WebhookVerbs;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly send: Send;
  readonly makeLargeBody: LargeBodies['make'];
  readonly log: Log;
  /** How many requests this process has answered. */
  readonly answeredRequests: () => number;
  readonly scheduler: Pick<Scheduler, 'sending'>;
  /** Whether this process still holds its webhooks. Does not ask the database. */
  readonly maySend: () => boolean;
  readonly formatOf: FormatOf;
};

type Context = DeliverDependencies & { readonly budget: YieldBudget };

/** A job on its way. */
type Delivery = {
  readonly job: Job;
  /** Its approximate share of a turn, in bytes. */
  readonly bytes: number;
  readonly ending: Cancellation;
  /** Subjects that were recalled since it began. */
  readonly recalled: string[];
  /** The subjects of its body, once that is made. */
  subjects: readonly string[];
};

/** A delivery to send, with the data that was read for it. */
type Ready = {
  readonly delivery: Delivery;
  readonly target: DeliveryTarget;
  readonly request: BodyRequest;
  /** Null without records, and for a batch whose body a thread makes. */
  readonly records: Promise<LogRecord[]> | null;
};

const RELEASED: JobResult = { kind: 'release' };

export function createDeliver(dependencies: DeliverDependencies): AttemptsInProgress {
  const { store, answeredRequests } = dependencies;
  const budget = createYieldBudget(answeredRequests, () => performance.now());
  const context = { ...dependencies, budget };
  const inProgress = new Set<Delivery>();
  let isAbandoned = false;

  const sendInTurn = createSendTurns<Delivery, JobResult>({
    budget,
    turns: heavyTurns,
    prepareTogether: () => {
      const reading = createReading(store);
      return async (delivery) => {
        const ready = await prepare(context, delivery, reading);
        if ('kind' in ready) return { bytes: 0, send: async () => ready };
        return { bytes: delivery.bytes, send: () => makeAndSend(context, ready) };
      };
    },
  });

  return {
    deliver: async (job) => {
      const ending = createCancellation();
      const delivery: Delivery = { job, bytes: bytesOf(job), ending, recalled: [], subjects: [] };
      if (isAbandoned) cancel(ending);
      inProgress.add(delivery);
      try {
        return await sendInTurn(delivery);
      } finally {
        inProgress.delete(delivery);
      }
    },
    recall: (subject) => {
      for (const { recalled, subjects, ending } of inProgress) {
        recalled.push(subject);
        if (subjects.includes(subject)) cancel(ending, 'what it carried was erased');
      }
    },
    isIdle: () => inProgress.size === 0,
    endStopped: async (stoppedAmong) => {
      const begun = [...inProgress];
      const stopped = new Set(await stoppedAmong([...new Set(begun.map(({ job }) => job.webhookNumber))]));
      for (const { job, ending } of begun)
        if (stopped.has(job.webhookNumber)) cancel(ending, 'the webhook was stopped');
    },
    abandon: () => {
      isAbandoned = true;
      for (const { ending } of inProgress) cancel(ending);
    },
  };
}

/** Reads what a delivery needs. Returns its result instead if it is not sent. Never throws. */
async function prepare(context: Context, delivery: Delivery, reading: Reading): Promise<Ready | JobResult> {
  const { clock, ids, log, scheduler, maySend, formatOf } = context;
  const { job, ending } = delivery;
  const { batch, webhookNumber } = job;
  // Take the time before reading, so that an attempt dated after an erasure cannot carry erased data.
  const now = clock();
  try {
    if (ending.reason !== null || !maySend()) return RELEASED;
    // Both at the same time, so that the reads share a round trip to PostgreSQL.
    const records = batch === null || isLarge(batch) ? null : reading.records(batch);
    const target = await reading.target(webhookNumber);
    if (target === null || !mayBeSent(job, target, now)) return RELEASED;
    scheduler.sending(job, target.webhook.maxRecordsPerSecond, now);
    const sessionId = target.webhook.progress.sessionId ?? ids.uuid();
    const format = target.webhook.format === 'records' ? undefined : await formatOf(target.webhook);
    const request = { ...bodyRequest(target, { sessionId, attemptNumber: batch?.attemptNumber ?? 1, now }), format };
    await records?.catch(() => undefined);
    return { delivery, target, request, records };
  } catch (error) {
    return breakOff(log, delivery, error, null);
  }
}

/** Makes the body and sends it. Never throws. */
async function makeAndSend(context: Context, ready: Ready): Promise<JobResult> {
  try {
    return await attempt(context, ready);
  } catch (error) {
    return breakOff(context.log, ready.delivery, error, ready.request.now);
  }
}

async function attempt(context: Context, { delivery, target, request, records }: Ready): Promise<JobResult> {
  const { ids, log, send, maySend } = context;
  const { job, ending, recalled } = delivery;
  const { webhookNumber, batch } = job;
  const { now } = request;
  // It may have waited for some turns, and the process may have been paused.
  if (ending.reason !== null || !maySend()) return RELEASED;
  const body = await makeBodyOf(context, batch, request, records);
  if (body === 'erased') return { kind: 'discarded' };
  if (typeof body === 'object' && 'unreadable' in body) {
    if (body.isDamaged)
      log.error({ webhookNumber, batchId: batch?.id, problem: body.unreadable }, 'a record cannot be read');
    return { kind: 'unreadable', sent: unsent(body.unreadable, now) };
  }
  if (body === 'clear') {
    await stopByService(context, target, 'encryption_key_missing', now);
    return RELEASED;
  }
  // The records were read before the recall.
  if (recalled.some((subject) => body.subjects.includes(subject))) return RELEASED;
  delivery.subjects = body.subjects;
  const sent = await send({ ...target, batchId: batch?.id ?? ids.uuid(), body, now }, ending);
  if (batch !== null && isLarge(batch) && body.ok) freeMemory(body.bytes);
  return isCutOff(sent, ending) ? { kind: 'cut off', sent } : { kind: 'sent', sent, url: target.endpoint.url };
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
  // Several may be ready at the same time, and writing one to its connection also takes long.
  return heavyTurns(request.owner, async () => {
    await yieldToCalls(budget);
    return body;
  });
}

/** `startedAt` is null if the settings could not be read: the attempt did not begin, and the next claim reads them again. */
function breakOff(log: Log, { job, ending }: Delivery, error: unknown, startedAt: number | null): JobResult {
  const { webhookNumber, batch } = job;
  if (ending.reason === null) log.error({ webhookNumber, batchId: batch?.id, err: error }, 'a delivery broke off');
  if (ending.reason !== null || startedAt === null) return RELEASED;
  return { kind: 'broken off', sent: brokenOff(error, startedAt) };
}

/** A large body is made in a thread, and sent in a turn of its own. */
function bytesOf({ batch }: Job): number {
  return MESSAGE_OVERHEAD_BYTES + (batch === null || isLarge(batch) ? 0 : batch.bytes);
}

function isLarge({ bytes }: Batch): boolean {
  return bytes >= LARGE_BODY_BYTES;
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

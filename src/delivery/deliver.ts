/** Carries jobs out: reads what each needs as it is now, sends it, and says what came of it. */

import type { Clock, Ids } from '../kernel/ids.ts';
import { LARGE_BODY_BYTES, MESSAGE_OVERHEAD_BYTES } from '../kernel/limits/delivery.ts';
import { heavyTurns } from '../kernel/turns.ts';
import type { Log } from '../observe/log.ts';
import { failure } from '../outbound/outcome.ts';
import type { Store } from '../store/store.ts';
import { isRunnable } from '../webhooks/lifecycle.ts';
import type { Batch } from './batch.ts';
import {
  type BatchBody,
  type BodyOrFailure,
  type BodyReads,
  type BodyRequest,
  bodyRequest,
  encryptionLookup,
  makeBatchBody,
  makeBody,
  ownMemory,
} from './body.ts';
import { createDepartures, giveWay } from './departures.ts';
import { attemptMs, type Job, type Result } from './job.ts';
import type { LargeBodies } from './large-bodies.ts';
import { stopReason } from './plan.ts';
import { createQuota } from './quota.ts';
import type { Send, Sent } from './send.ts';
import { stopByService } from './stop.ts';
import type { DeliveryTarget } from './target.ts';

export type Deliver = {
  /** Never throws. */
  readonly deliver: (job: Job) => Promise<Result>;
  /** Ends every attempt under way that carries records about the subject, or is about to: without them it goes out again. */
  readonly recall: (subject: string) => void;
  /** The webhooks that have attempts under way. */
  readonly busyWebhooks: () => readonly number[];
  /** Ends every attempt under way of a webhook that was stopped. It is kept as an attempt, but does not count. */
  readonly endWebhook: (webhookNumber: number) => void;
  /** Ends every attempt under way, and lets none begin. What is ended is kept as an attempt, but does not count. */
  readonly abandon: () => void;
};

type Dependencies = {
  readonly store: Store;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly send: Send;
  readonly makeLargeBody: LargeBodies['make'];
  readonly log: Log;
  /** How many requests were answered by now. */
  readonly answeredRequests: () => number;
  /** Told of what is about to go out. What proves to have been erased since counts too. */
  readonly onStart: (job: Job, target: DeliveryTarget, now: number) => void;
};

type Departure = {
  readonly job: Job;
  readonly ending: AbortController;
  /** Subjects that were recalled since it departed. */
  readonly recalled: string[];
  /** Of its body, once that is made. */
  subjects: readonly string[];
  readonly end: (result: Result) => void;
};

const RELEASED: Result = { kind: 'release' };

export function createDeliver({
  store,
  clock,
  ids,
  send,
  makeLargeBody,
  log,
  answeredRequests,
  onStart,
}: Dependencies): Deliver {
  const quota = createQuota(answeredRequests, () => performance.now());

  /** Has what may be sent made and sent; answers about how many bytes this turn takes of it, 0 where nothing is sent. */
  const depart = async (departure: Departure, reading: Reading): Promise<number> => {
    const { job, ending, end } = departure;
    const { batch, webhookNumber } = job;
    const now = clock();
    const target = ending.signal.aborted ? null : await reading.target(webhookNumber);
    if (target === null || !mayBeSent(job, target, now)) {
      end(RELEASED);
      return 0;
    }
    onStart(job, target, now);
    const sessionId = target.webhook.progress.sessionId ?? ids.uuid();
    const request = bodyRequest(target, { sessionId, attemptNumber: batch?.attemptNumber ?? 1, now });
    // Not waited for: others depart while a thread makes it, and what is encrypted takes a turn as this one does.
    makeBodyOf(batch, request, reading)
      .then((body) => carry(departure, target, now, body))
      .catch((error: unknown) => breakOff(departure, error, now));
    // A large body is made by a thread, and goes out in a turn of its own.
    return MESSAGE_OVERHEAD_BYTES + (batch === null || isLarge(batch) ? 0 : batch.bytes);
  };

  const makeBodyOf = async (batch: Batch | null, request: BodyRequest, reading: Reading): Promise<BatchBody> => {
    if (batch === null) return { ...(await makeBody(request, [])), subjects: [] };
    const { webhookNumber, firstOffset, lastOffset, attemptNumber, contentRefusals } = batch;
    const parsed = attemptNumber > 1 || contentRefusals > 0;
    const ofBatch = { ...request, webhookNumber, firstOffset, lastOffset, parsed };
    if (!isLarge(batch)) return makeBatchBody(ofBatch, reading);
    const body = await makeLargeBody(ofBatch);
    // Several may be ready at once, and to write one into its connection is heavy too.
    return heavyTurns(async () => {
      await giveWay(quota);
      return body;
    });
  };

  const carry = async (departure: Departure, target: DeliveryTarget, now: number, body: BatchBody): Promise<void> => {
    const { job, ending, recalled, end } = departure;
    if (body === 'erased') return end({ kind: 'discarded' });
    if (typeof body === 'object' && 'unreadable' in body) {
      const { webhookNumber, batch } = job;
      log.error({ webhookNumber, batchId: batch?.id, problem: body.unreadable }, 'a record cannot be read');
      const outcome = failure('internal', body.unreadable);
      return end({ kind: 'unreadable', sent: { startedAt: now, outcome, requestHeaders: {} } });
    }
    if (body === 'clear') {
      await stopByService({ store, ids, log }, target, 'encryption_key_missing', now);
      return end(RELEASED);
    }
    // What was read before a recall may hold what is not to be sent any more.
    if (recalled.some((subject) => body.subjects.includes(subject))) return end(RELEASED);
    departure.subjects = body.subjects;
    const { signal } = ending;
    const sent = await send({ ...target, batchId: job.batch?.id ?? ids.uuid(), body, now }, signal);
    if (job.batch !== null && isLarge(job.batch)) giveUpMemory(body);
    end(isCutOff(sent, signal) ? { kind: 'cut off', sent } : { kind: 'sent', sent, url: target.endpoint.url });
  };

  /** `startedAt`: null where its settings could not be read, so that it was not begun; nor are they read for a claim then. */
  const breakOff = ({ job, ending: { signal }, end }: Departure, error: unknown, startedAt: number | null): void => {
    const { webhookNumber, batch } = job;
    if (!signal.aborted) log.error({ webhookNumber, batchId: batch?.id, err: error }, 'a delivery broke off');
    if (signal.aborted || startedAt === null) end(RELEASED);
    else end({ kind: 'broken off', sent: brokenOff(error, startedAt) });
  };

  const { add } = createDepartures<Departure>(quota, heavyTurns, () => {
    const reading = createReading(store);
    return async (departure) => {
      try {
        return await depart(departure, reading);
      } catch (error) {
        breakOff(departure, error, null);
        return 0;
      }
    };
  });

  const underWay = new Set<Departure>();
  let isAbandoned = false;

  return {
    deliver: (job) =>
      new Promise((resolve) => {
        const departure: Departure = {
          ...{ job, ending: new AbortController(), recalled: [], subjects: [] },
          end: (result) => {
            underWay.delete(departure);
            resolve(result);
          },
        };
        underWay.add(departure);
        if (isAbandoned) departure.ending.abort();
        add(departure);
      }),
    recall: (subject) => {
      for (const { recalled, subjects, ending } of underWay) {
        recalled.push(subject);
        if (subjects.includes(subject)) ending.abort('what it carried was erased');
      }
    },
    busyWebhooks: () => [...new Set([...underWay].map(({ job }) => job.webhookNumber))],
    endWebhook: (webhookNumber) => {
      for (const { job, ending } of underWay)
        if (job.webhookNumber === webhookNumber) ending.abort('the webhook was stopped');
    },
    abandon: () => {
      isAbandoned = true;
      for (const { ending } of underWay) ending.abort();
    },
  };
}

function isLarge({ bytes }: Batch): boolean {
  return bytes >= LARGE_BODY_BYTES;
}

/**
 * What a thread hands over counts in the event loop's heap, all of which V8 sweeps for every few dozen megabytes: 10 to 20 ms in which
 * nobody is answered. Of what is given up at once it knows nothing any more. The body is of no use after this.
 */
function giveUpMemory(body: BodyOrFailure): void {
  if (body.ok) ownMemory(body.bytes)?.transfer(0);
}

/**
 * Much may have changed since the claim: an administrator stopped it, or wants in order what was claimed without, its key expired, the
 * wait outlasted its lease.
 */
function mayBeSent(job: Job, target: DeliveryTarget, now: number): boolean {
  const { progress, ordered } = target.webhook;
  if (!isRunnable(progress.state) || stopReason(target, now) !== null || (ordered && !job.ordered)) return false;
  return now + attemptMs(target) <= job.leaseExpiresAt;
}

/** A fault of this service is an attempt too: who looks for what did not arrive finds it there, and why. */
function brokenOff(error: unknown, startedAt: number): Sent {
  const reason = error instanceof Error ? error.message : 'unknown';
  return { startedAt, outcome: failure('internal', `the delivery broke off: ${reason}`), requestHeaders: {} };
}

/** The service is stopping and waits no longer, or the webhook was stopped, or what was sent has been erased. */
function isCutOff({ outcome }: Sent, signal: AbortSignal): boolean {
  return signal.aborted && !outcome.ok && outcome.errorClass === 'internal';
}

/** What all that departs in one turn shares: read anew in the next. */
type Reading = BodyReads & { target(webhookNumber: number): Promise<DeliveryTarget | null> };

function createReading({ dispatch, eventTypes }: Store): Reading {
  const targets = new Map<number, Promise<DeliveryTarget | null>>();
  return {
    records: dispatch.records,
    mustBeEncrypted: encryptionLookup(eventTypes),
    target: (webhookNumber) => {
      const target = targets.get(webhookNumber) ?? dispatch.target(webhookNumber);
      targets.set(webhookNumber, target);
      return target;
    },
  };
}

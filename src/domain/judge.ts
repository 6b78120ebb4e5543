/**
 * Judges outcomes: their effect on the batch and on the webhook's health and state (contract §5.8, §5.10). Pure, except for the ids it
 * draws.
 */
import type { Ids } from '../kernel/ids.ts';
import type { AuditEntry } from './audit.ts';
import type {
  AttemptRecord,
  Batch,
  BatchFate,
  EndedAttempt,
  Finished,
  Health,
  Job,
  JobResult,
  SettledBatch,
  Settlement,
} from './batch.ts';
import type { Outcome } from './outcome.ts';
import { nextDelayMs, parseRetryAfter, type RetrySettings } from './retry.ts';
import type { Progress, StateChange, Webhook } from './webhook.ts';
import {
  giveUpReason,
  HEALTHY,
  isRunnable,
  type LifecycleEvent,
  nextState,
  type StopReason,
  serviceStopEntry,
  stateChange,
  stoppedProgress,
} from './webhook-states.ts';

/** After this many failures in a row an endpoint is probed: first after `PROBE_FIRST_MS`, then doubling up to `PROBE_MAX_MS`. */
export const PROBES_UNPACED = 10;
export const PROBE_FIRST_MS = 1000;
export const PROBE_MAX_MS = 30_000;

/** The pause of a webhook after an attempt that the service could not make. Such an attempt does not count, so it has no backoff. */
export const FAULT_PAUSE_MS = 10_000;

export type Judgement = {
  /** Null for a heartbeat, which carries no records. */
  readonly fate: BatchFate | null;
  readonly health: Health;
  /** The event for the state machine; a stop has its reason. Null: none. */
  readonly event: LifecycleEvent | null;
  readonly stopReason: StopReason | null;
};

export type Case = {
  readonly outcome: Outcome;
  readonly batch: Batch | null;
  readonly webhook: RetrySettings;
  /** As the previous attempt left it. */
  readonly progress: Health;
  readonly startedAt: number;
  readonly now: number;
  readonly jitter: () => number;
  /** Draws the ids of the halves of a batch. */
  readonly halfIds: () => readonly [string, string];
};

export function judgeOutcome(question: Case): Judgement {
  const { outcome } = question;
  if (outcome.ok) return delivered(question);
  return outcome.errorClass === 'internal' ? notTried(question) : failed(question, outcome);
}

/**
 * A fault of the service before the request was sent is a failed attempt of the batch: it is recorded, retried, and dead after the last
 * attempt. It does not count against the endpoint.
 */
function judgeBrokenOff(question: Case): Judgement {
  const { batch } = question;
  const refused = { status: null, mayBeContent: false, retryAfterMs: null };
  return ofBatchAlone(question, batch === null ? null : failedFate(question, batch, refused));
}

/**
 * A batch with an unreadable record is halved without an attempt until only that record is left, and then it is dead. The other records go
 * out. It does not count against the endpoint.
 */
function judgeUnreadable({ batch, progress, now, halfIds }: Case): Judgement {
  const divisible = batch !== null && batch.lastOffset > batch.firstOffset;
  const fate: BatchFate = divisible ? { kind: 'halve', at: now, halfIds: halfIds() } : { kind: 'dead', at: now };
  return { fate: batch === null ? null : fate, health: healthOf(progress), event: null, stopReason: null };
}

/**
 * The endpoint's URL changed during the attempt, so the outcome says nothing about the new URL: a failure there neither
 * delays nor stops the webhook, and the batch is retried at the new URL immediately.
 */
function judgeElsewhere(question: Case): Judgement {
  const { batch } = question;
  return ofBatchAlone(question, batch === null ? null : fateElsewhere(question, batch));
}

/** Only `sentAt` of the webhook's health changes. */
function ofBatchAlone({ progress, startedAt }: Case, fate: BatchFate | null): Judgement {
  const health = { ...healthOf(progress), sentAt: latest(progress.sentAt, startedAt) };
  return { fate, health, event: null, stopReason: null };
}

function fateElsewhere({ outcome, webhook, now }: Case, { attemptNumber }: Batch): BatchFate {
  if (outcome.ok) return { kind: 'delivered', at: now };
  if (outcome.errorClass === 'internal') return { kind: 'release', at: now };
  return attemptNumber >= webhook.maxAttempts
    ? { kind: 'dead', at: now }
    : { kind: 'retry', at: now, contentRefusals: 0 };
}

type FailedOutcome = Extract<Outcome, { ok: false }>;

/** 4xx statuses about the caller, the address or the moment. Any other 4xx, for example 400 or 422, is about the content. */
const NOT_OF_CONTENT: ReadonlySet<number> = new Set([401, 403, 404, 407, 408, 410, 425, 429]);

/** The status of the endpoint's response. The response of a token endpoint does not count. */
function statusOf({ errorClass, answer }: FailedOutcome): number | null {
  return errorClass === 'http_status' ? (answer?.status ?? null) : null;
}

function delivered({ batch, progress, startedAt, now }: Case): Judgement {
  return {
    fate: batch === null ? null : { kind: 'delivered', at: now },
    health: { ...HEALTHY, sentAt: latest(progress.sentAt, startedAt) },
    event: 'succeeded',
    stopReason: null,
  };
}

/**
 * The service could not send, for example because the process had no file descriptor left. That says nothing about the endpoint and uses
 * up none of the batch's attempts. The webhook pauses for `FAULT_PAUSE_MS`; otherwise it would record an attempt for every waiting batch
 * until the fault is fixed.
 */
function notTried({ batch, progress, now }: Case): Judgement {
  const at = now + FAULT_PAUSE_MS;
  const fate = batch === null ? null : ({ kind: 'release', at } as const);
  const health = { ...healthOf(progress), probeAt: laterOf(progress.probeAt, at) };
  return { fate, health, event: null, stopReason: null };
}

function failed(question: Case, outcome: FailedOutcome): Judgement {
  const { batch, progress, startedAt, now } = question;
  const status = statusOf(outcome);
  const ofContent = status !== null && status >= 400 && status < 500 && !NOT_OF_CONTENT.has(status);
  const retryAfterMs = parseRetryAfter(outcome.answer?.headers['retry-after'], now);
  const mayBeContent = ofContent || isUnanswered(outcome);
  const fate = batch === null ? null : failedFate(question, batch, { status, mayBeContent, retryAfterMs });
  const failureStreak = ofContent ? progress.failureStreak : progress.failureStreak + 1;
  const health: Health = {
    stateReason: outcome.errorClass,
    stateDetail: outcome.message,
    sentAt: latest(progress.sentAt, startedAt),
    failingSinceAt: progress.failingSinceAt ?? now,
    failureStreak,
    probeAt: ofContent
      ? progress.probeAt
      : laterOf(probeAt(failureStreak, now), heldUntil(progress, status, retryAfterMs, now)),
    deadStreak: fate?.kind === 'dead' ? progress.deadStreak + 1 : progress.deadStreak,
  };
  const stopReason = status === 410 ? 'endpoint_gone' : giveUpReason(health, now);
  const event = status === 410 ? 'stop' : stopReason === null ? 'failed' : 'gave_up';
  return { fate, health, event, stopReason };
}

/**
 * A connection that ended before an answer. A receiver that answers 413 and closes immediately, with the rest of the body unread, resets
 * the connection, and its answer is lost on the way.
 */
function isUnanswered({ errorClass, answer }: FailedOutcome): boolean {
  return errorClass === 'reset' && answer === null;
}

type Refused = { readonly status: number | null; readonly mayBeContent: boolean; readonly retryAfterMs: number | null };

function failedFate(
  { webhook, now, jitter, halfIds }: Case,
  batch: Batch,
  { status, mayBeContent, retryAfterMs }: Refused,
): BatchFate {
  // 410 is about the endpoint, not the records: they stay pending, due when the webhook starts again.
  if (status === 410) return { kind: 'release', at: now };
  const contentRefusals = mayBeContent ? batch.contentRefusals + 1 : 0;
  const divisible = batch.lastOffset > batch.firstOffset;
  if (divisible && (status === 413 || contentRefusals >= 2)) {
    return { kind: 'halve', at: now + (retryAfterMs ?? 0), halfIds: halfIds() };
  }
  const { attemptNumber } = batch;
  if (attemptNumber >= webhook.maxAttempts) return { kind: 'dead', at: now };
  const { retryPolicy: policy, retryDelaysSeconds: delaysSeconds } = webhook;
  const delayMs = nextDelayMs({ policy, delaysSeconds, attemptNumber, random: jitter, retryAfterMs });
  return { kind: 'retry', at: now + delayMs, contentRefusals };
}

/**
 * When a failing endpoint is probed next, one attempt at a time: immediately after each of the first ten failures in a row, so that
 * one bad record hardly delays the others, then after 1 s, 2 s, 4 s, … up to 30 s.
 */
function probeAt(failureStreak: number, now: number): number | null {
  const paced = failureStreak - PROBES_UNPACED;
  return paced <= 0 ? null : now + Math.min(PROBE_FIRST_MS * 2 ** (paced - 1), PROBE_MAX_MS);
}

/** Statuses whose `Retry-After` applies to every request, not to one (RFC 9110 §10.2.3, RFC 6585 §4). */
const HOLDING: ReadonlySet<number | null> = new Set([429, 503]);

/**
 * Until when the receiver wants no requests: from this `Retry-After`, or from one that arrived during this attempt. A
 * success ends it, and so does an administrator's start or replay.
 */
function heldUntil(
  { probeAt }: Health,
  status: number | null,
  retryAfterMs: number | null,
  now: number,
): number | null {
  const resumeAt = HOLDING.has(status) && retryAfterMs !== null && retryAfterMs > 0 ? now + retryAfterMs : null;
  return laterOf(resumeAt, probeAt !== null && probeAt > now ? probeAt : null);
}

/** Whether something of the batch is still to be sent. */
export function isPending(
  fate: BatchFate | null,
): fate is Extract<BatchFate, { readonly kind: 'retry' | 'release' | 'halve' }> {
  return fate?.kind === 'retry' || fate?.kind === 'release' || fate?.kind === 'halve';
}

/** Null is the earliest. */
export function laterOf(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.max(one, other);
}

/** Attempts may end in a different order than they began. */
function latest(sentAt: number | null, startedAt: number): number {
  return Math.max(sentAt ?? 0, startedAt);
}

/** Only the health, without the rest of the progress. */
function healthOf({
  stateReason,
  stateDetail,
  sentAt,
  failingSinceAt,
  failureStreak,
  probeAt,
  deadStreak,
}: Health): Health {
  return { stateReason, stateDetail, sentAt, failingSinceAt, failureStreak, probeAt, deadStreak };
}

export type Conclusion = {
  readonly batches: readonly SettledBatch[];
  readonly health: Settlement['health'];
  readonly changes: readonly StateChange[];
  /** The audit entry of the last change if it stops the webhook. */
  readonly audit: AuditEntry | null;
  /** The webhook's progress afterwards. */
  readonly progress: Progress;
};

type Circumstances = {
  readonly now: number;
  readonly jitter: () => number;
  readonly ids: Ids;
  /** The current URL of the webhook's endpoint. */
  readonly url: string;
};

/**
 * Judges attempts of one webhook in order, each against the progress that the previous one left, so that streaks count and every state
 * change has its event, however many attempts settle together. If the webhook no longer runs, only the batches are judged.
 */
export function conclude(webhook: Webhook, finished: readonly Finished[], circumstances: Circumstances): Conclusion {
  const { now, jitter, ids, url } = circumstances;
  let { progress } = webhook;
  let judged = false;
  const halfIds = (): [string, string] => [ids.uuid(), ids.uuid()];
  const batches: SettledBatch[] = [];
  const changes: StateChange[] = [];
  let audit: AuditEntry | null = null;
  for (const { job, result } of finished) {
    const { batch } = job;
    if (result.kind === 'lost') {
      const attempt = result.sent === null ? null : attemptOf(job, result.sent, ids);
      batches.push({ batch: null, fate: null, attempt, bytes: result.sent?.bodyBytes ?? 0 });
      continue;
    }
    if (result.kind === 'cut off') {
      // The service cut the attempt off: it says nothing about the endpoint and uses up none of the batch's attempts.
      const fate = batch === null ? null : ({ kind: 'release', at: now } as const);
      batches.push({ batch, fate, attempt: attemptOf(job, result.sent, ids), bytes: result.sent.bodyBytes });
      continue;
    }
    if (!('sent' in result)) {
      batches.push({ batch, fate: batch === null ? null : { kind: result.kind, at: now }, attempt: null });
      continue;
    }
    const { outcome, startedAt, bodyBytes: bytes } = result.sent;
    const question = { outcome, batch, webhook, progress, startedAt, now, jitter, halfIds };
    const judgement = judgeOf(result, url)(question);
    const isRecorded = result.kind !== 'unreadable' || judgement.fate?.kind === 'dead';
    const attempt = isRecorded ? attemptOf(job, result.sent, ids) : null;
    batches.push({ batch, fate: judgement.fate, attempt, bytes });
    if (!isRunnable(progress.state)) continue;
    judged = true;
    const after = progressAfter(progress, judgement, now);
    if (after.state !== progress.state) {
      const before = { ...webhook, progress };
      changes.push(stateChange(before, after, ids));
      if (!isRunnable(after.state)) audit = serviceStopEntry(before, after, ids);
    }
    progress = after;
  }
  const health = judged && isRunnable(progress.state) ? { ...healthOf(progress), state: progress.state } : null;
  return { batches, changes, audit, progress, health };
}

function judgeOf(result: JobResult, url: string): typeof judgeOutcome {
  if (result.kind === 'sent') return result.url === url ? judgeOutcome : judgeElsewhere;
  return result.kind === 'unreadable' ? judgeUnreadable : judgeBrokenOff;
}

function progressAfter(progress: Progress, { event, health, stopReason }: Judgement, now: number): Progress {
  const state = event === null ? progress.state : nextState(progress.state, event);
  if (state === progress.state) return { ...progress, ...health };
  if (event === 'stop' || event === 'gave_up') {
    return stoppedProgress({ ...progress, ...health }, event, stopReason ?? 'stopped_by_administrator', now);
  }
  return { ...progress, ...health, state, stateAt: now };
}

function attemptOf({ webhookNumber, batch }: Job, sent: EndedAttempt, ids: Ids): SettledBatch['attempt'] {
  const identity = {
    id: ids.uuid(),
    webhookNumber,
    kind: batch === null ? 'heartbeat' : 'delivery',
    batchId: batch?.id ?? null,
    firstOffset: batch?.firstOffset ?? null,
    lastOffset: batch?.lastOffset ?? null,
    attemptNumber: batch?.attemptNumber ?? 1,
  } as const;
  return attemptRecord(identity, sent);
}

type AttemptIdentity = Pick<
  AttemptRecord,
  'id' | 'webhookNumber' | 'kind' | 'batchId' | 'firstOffset' | 'lastOffset' | 'attemptNumber'
>;

/** The attempt as it is stored. */
export function attemptRecord(
  identity: AttemptIdentity,
  { startedAt, outcome, requestHeaders }: EndedAttempt,
): AttemptRecord {
  const { answer, timings } = outcome;
  return {
    ...identity,
    startedAt,
    requestHeaders,
    responseStatus: answer?.status ?? null,
    responseHeaders: answer?.headers ?? null,
    responseBody: answer?.body ?? null,
    errorClass: outcome.ok ? null : outcome.errorClass,
    errorMessage: outcome.ok ? null : outcome.message,
    responseProblem: answer?.problems?.join('; ') || null,
    timings,
  };
}

/** Whether nothing of the health changed but the time of the last attempt, which is written with the position. */
export function isSameHealth(one: Health, other: Health): boolean {
  return (
    one.stateReason === other.stateReason &&
    one.stateDetail === other.stateDetail &&
    one.failingSinceAt === other.failingSinceAt &&
    one.failureStreak === other.failureStreak &&
    one.probeAt === other.probeAt &&
    one.deadStreak === other.deadStreak
  );
}

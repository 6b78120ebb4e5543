/** What an outcome means for the batch, the webhook's health and its state (contract §5). Pure. */
import { FAULT_PAUSE_MS, PROBE_FIRST_MS, PROBE_MAX_MS, PROBES_UNPACED } from '../kernel/limits/delivery.ts';
import type { Outcome } from '../outbound/outcome.ts';
import { giveUpReason, type LifecycleEvent, type StopReason } from '../webhooks/lifecycle.ts';
import type { WebhookConfiguration } from '../webhooks/webhook.ts';
import type { Batch } from './batch.ts';
import { nextDelayMs, parseRetryAfter } from './retry.ts';
import type { BatchFate, Health } from './settlement.ts';

export type Judgement = {
  /** Null for a heartbeat, which carries no records. */
  readonly fate: BatchFate | null;
  readonly health: Health;
  /** What the state machine is told; a stop has its reason. Null: nothing. */
  readonly event: LifecycleEvent | null;
  readonly stopReason: StopReason | null;
};

export type Case = {
  readonly outcome: Outcome;
  readonly batch: Batch | null;
  readonly webhook: Pick<WebhookConfiguration, 'retryPolicy' | 'maxAttempts'>;
  /** As the attempt before left it. */
  readonly progress: Health;
  readonly startedAt: number;
  readonly now: number;
  readonly jitter: () => number;
  /** Drawn where a batch is halved. */
  readonly halfIds: () => readonly [string, string];
};

export function judge(question: Case): Judgement {
  const { outcome } = question;
  if (outcome.ok) return delivered(question);
  return outcome.errorClass === 'internal' ? notTried(question) : failed(question, outcome);
}

/**
 * What broke off before it was sent is a failed attempt of the batch, so that it is seen, tried again, and in the end dead. Its endpoint
 * had no part in it.
 */
export function judgeBrokenOff(question: Case): Judgement {
  const { batch } = question;
  const refused = { status: null, ofContent: false, retryAfterMs: null };
  return ofBatchAlone(question, batch === null ? null : failedFate(question, batch, refused));
}

/**
 * A batch with a record that cannot be read is halved without an attempt until that record is alone, so that the others go out; it is
 * dead then. The endpoint had no part in it.
 */
export function judgeUnreadable({ batch, progress, now, halfIds }: Case): Judgement {
  const divisible = batch !== null && batch.lastOffset > batch.firstOffset;
  const fate: BatchFate = divisible ? { kind: 'halve', at: now, halfIds: halfIds() } : { kind: 'dead', at: now };
  return { fate: batch === null ? null : fate, health: healthOf(progress), event: null, stopReason: null };
}

/**
 * What was sent to an address from which the webhook has been moved meanwhile says nothing of the endpoint that it has now: that is not
 * held up for it, nor stopped, and what failed there is tried here at once.
 */
export function judgeElsewhere(question: Case): Judgement {
  const { batch } = question;
  return ofBatchAlone(question, batch === null ? null : fateElsewhere(question, batch));
}

/** Of the webhook it is known when something was sent, and nothing else. */
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

/** 4xx that speak of the caller, the address or the moment rather than of what was sent. */
const NOT_OF_CONTENT: ReadonlySet<number> = new Set([401, 403, 404, 407, 408, 410, 425, 429]);

/** The status of the endpoint's own answer; a token endpoint's answer is not the endpoint's. */
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
 * A fault of ours, such as a process that has no descriptor left, says nothing of the endpoint and takes none of the batch's attempts
 * away. The webhook is let be for a while, so that it does not go through all that waits, a row for each attempt, until that is mended.
 */
function notTried({ batch, progress, now }: Case): Judgement {
  const at = now + FAULT_PAUSE_MS;
  const fate = batch === null ? null : ({ kind: 'release', at } as const);
  const health = { ...healthOf(progress), probeAt: later(progress.probeAt, at) };
  return { fate, health, event: null, stopReason: null };
}

function failed(question: Case, outcome: FailedOutcome): Judgement {
  const { batch, progress, startedAt, now } = question;
  const status = statusOf(outcome);
  const ofContent = status !== null && status >= 400 && status < 500 && !NOT_OF_CONTENT.has(status);
  const retryAfterMs = parseRetryAfter(outcome.answer?.headers['retry-after'], now);
  const fate = batch === null ? null : failedFate(question, batch, { status, ofContent, retryAfterMs });
  const failureStreak = ofContent ? progress.failureStreak : progress.failureStreak + 1;
  const health: Health = {
    stateReason: outcome.errorClass,
    stateDetail: outcome.message,
    sentAt: latest(progress.sentAt, startedAt),
    failingSinceAt: progress.failingSinceAt ?? now,
    failureStreak,
    probeAt: ofContent
      ? progress.probeAt
      : later(probeAt(failureStreak, now), heldUntil(progress, status, retryAfterMs, now)),
    deadStreak: fate?.kind === 'dead' ? progress.deadStreak + 1 : progress.deadStreak,
  };
  const stopReason = status === 410 ? 'endpoint_gone' : giveUpReason(health, now);
  const event = status === 410 ? 'stop' : stopReason === null ? 'failed' : 'gave_up';
  return { fate, health, event, stopReason };
}

type Refused = { readonly status: number | null; readonly ofContent: boolean; readonly retryAfterMs: number | null };

function failedFate(
  { webhook, now, jitter, halfIds }: Case,
  batch: Batch,
  { status, ofContent, retryAfterMs }: Refused,
): BatchFate {
  // Gone is said of the endpoint, not of the records: they stay as they are, due when the webhook starts again.
  if (status === 410) return { kind: 'release', at: now };
  const contentRefusals = ofContent ? batch.contentRefusals + 1 : 0;
  const divisible = batch.lastOffset > batch.firstOffset;
  if (divisible && (status === 413 || contentRefusals >= 2)) {
    return { kind: 'halve', at: now + (retryAfterMs ?? 0), halfIds: halfIds() };
  }
  const { attemptNumber } = batch;
  if (attemptNumber >= webhook.maxAttempts) return { kind: 'dead', at: now };
  const delayMs = nextDelayMs({ policy: webhook.retryPolicy, attemptNumber, random: jitter, retryAfterMs });
  return { kind: 'retry', at: now + delayMs, contentRefusals };
}

/**
 * When a failing endpoint is tried next, one attempt at a time: at once after each of the first ten failures in a row, so that
 * one bad record hardly delays the others, then after 1 s, 2, 4 … up to 30 s, however much waits.
 */
function probeAt(failureStreak: number, now: number): number | null {
  const paced = failureStreak - PROBES_UNPACED;
  return paced <= 0 ? null : now + Math.min(PROBE_FIRST_MS * 2 ** (paced - 1), PROBE_MAX_MS);
}

/** Statuses whose `Retry-After` is said to whoever asks, not of one request (RFC 9110 §10.2.3, RFC 6585 §4). */
const HOLDING: ReadonlySet<number | null> = new Set([429, 503]);

/**
 * Until when the receiver wants nothing at all: what it asks for now, or asked for already while this attempt was under way. One
 * that succeeds, or an administrator's start or replay, ends it.
 */
function heldUntil(
  { probeAt }: Health,
  status: number | null,
  retryAfterMs: number | null,
  now: number,
): number | null {
  const asked = HOLDING.has(status) && retryAfterMs !== null && retryAfterMs > 0 ? now + retryAfterMs : null;
  return later(asked, probeAt !== null && probeAt > now ? probeAt : null);
}

function later(one: number | null, other: number | null): number | null {
  return one === null || other === null ? (one ?? other) : Math.max(one, other);
}

/** Attempts end in another order than they began in. */
function latest(sentAt: number | null, startedAt: number): number {
  return Math.max(sentAt ?? 0, startedAt);
}

const HEALTHY = {
  stateReason: null,
  stateDetail: null,
  failingSinceAt: null,
  failureStreak: 0,
  probeAt: null,
  deadStreak: 0,
} as const;

/** The part of a webhook's progress that outcomes change, by itself. */
export function healthOf({
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

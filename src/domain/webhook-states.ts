/**
 * The states of a webhook (contract §5.10): a pure state machine, the closed list of reasons, and the writes with a change of state: its
 * event, and an audit entry if the service made the change.
 */

import type { Ids } from '../kernel/ids.ts';
import { createLru } from '../kernel/lru.ts';
import { isoInstant } from '../kernel/schemas.ts';
import { SERVICE } from './acting.ts';
import { type AuditAction, type AuditEntry, auditEntry } from './audit.ts';
import { makeEvent, type NewEvent, OPERATOR_ONLY } from './event.ts';
import type { ErrorClass } from './outcome.ts';
import type { Progress, StateChange, Webhook, WebhookState } from './webhook.ts';

export type LifecycleEvent = 'start' | 'stop' | 'succeeded' | 'failed' | 'gave_up';

/** The next state by event. Events that are not listed change nothing. */
const TRANSITIONS: Readonly<Record<WebhookState, Partial<Readonly<Record<LifecycleEvent, WebhookState>>>>> = {
  stopped: { start: 'started' },
  // A failure may have begun before the stop and the start.
  started: { stop: 'stopped', succeeded: 'running', failed: 'failing', gave_up: 'failed' },
  running: { stop: 'stopped', failed: 'failing' },
  failing: { stop: 'stopped', succeeded: 'running', gave_up: 'failed' },
  failed: { start: 'started', stop: 'stopped' },
};

export function nextState(state: WebhookState, event: LifecycleEvent): WebhookState {
  return TRANSITIONS[state][event] ?? state;
}

/** Whether the dispatcher works for a webhook in this state. */
export function isRunnable(state: WebhookState): boolean {
  return state === 'started' || state === 'running' || state === 'failing';
}

/** Whether its deliveries fail, or failed until the service gave it up. */
export function isUnhealthy(state: WebhookState): boolean {
  return state === 'failing' || state === 'failed';
}

/** The limits at which the service gives a webhook up. The pages show the cause behind it. */
export const GIVEN_UP_FOR = {
  too_many_dead: 'Ten requests in a row used up their attempts',
  failing_too_long: 'Every attempt failed for 24 hours',
} as const;

/** Why a webhook stopped or failed, each with its description. A failing webhook has the class of its last error instead. */
export const STATE_REASONS = {
  stopped_by_administrator: 'An administrator stopped it.',
  endpoint_gone:
    'The endpoint answered 410 Gone. Its deliveries are kept; start the webhook again when the endpoint is back.',
  customer_inactive: 'Its customer is suspended. It starts again automatically when the customer is active.',
  endpoint_disabled: 'Its endpoint is disabled. It starts again automatically when the endpoint is enabled.',
  encryption_key_expired: 'Its PGP key has expired. Give it an unexpired key, then start the webhook again.',
  encryption_key_missing:
    'Its events must be encrypted and it has no PGP key. Give it one, then start the webhook again.',
  failing_too_long: `${GIVEN_UP_FOR.failing_too_long}. Fix the receiver, then start the webhook again; nothing is lost.`,
  too_many_dead: `${GIVEN_UP_FOR.too_many_dead}. Fix the receiver, start the webhook again, and send its dead deliveries again.`,
} as const;

export type StopReason = keyof typeof STATE_REASONS;

/** Whether the webhook is stopped for one of these reasons. */
export function isStoppedFor(
  { state, stateReason }: Pick<Progress, 'state' | 'stateReason'>,
  ...reasons: readonly StopReason[]
): boolean {
  return state === 'stopped' && reasons.some((reason) => reason === stateReason);
}

/** `too_many_dead`, after its dead deliveries were sent again. */
export const NO_DEAD_LEFT: string = `${GIVEN_UP_FOR.too_many_dead}. Fix the receiver, then start the webhook again.`;

export const FAILING_LIMIT_MS: number = 24 * 3_600_000;
export const DEAD_STREAK_LIMIT = 10;
export const WEBHOOK_SESSION_MS: number = 24 * 3_600_000;

/** Why the service gives a failing webhook up at `now`, or null. */
export function giveUpReason(
  progress: Pick<Progress, 'failingSinceAt' | 'deadStreak'>,
  now: number,
): StopReason | null {
  if (progress.deadStreak >= DEAD_STREAK_LIMIT) return 'too_many_dead';
  if (progress.failingSinceAt !== null && now - progress.failingSinceAt >= FAILING_LIMIT_MS) return 'failing_too_long';
  return null;
}

/** The health of a webhook that has not failed since it started, without the time of its last attempt. */
export const HEALTHY = {
  stateReason: null,
  stateDetail: null,
  failingSinceAt: null,
  failureStreak: 0,
  probeAt: null,
  deadStreak: 0,
} as const;

/**
 * The progress of a webhook that is started: a new session. A failure that a stop interrupted continues, unless it has lasted for
 * `FAILING_LIMIT_MS` or the service gave the webhook up for it: restarting a webhook again and again does not postpone its end.
 */
export function startedProgress(
  { progress }: Pick<Webhook, 'progress'>,
  { sessionId, now }: { sessionId: string; now: number },
): Progress {
  const { failingSinceAt } = progress;
  const goesOn = failingSinceAt !== null && now - failingSinceAt < FAILING_LIMIT_MS;
  return {
    ...progress,
    ...HEALTHY,
    failingSinceAt: goesOn ? failingSinceAt : null,
    state: nextState(progress.state, 'start'),
    stateAt: now,
    sessionId,
    sessionAt: now,
    sentAt: null,
  };
}

/** The progress of a webhook that stops or fails: it sends nothing, and its records wait. A stop does not end a failure. */
export function stoppedProgress(
  progress: Progress,
  event: 'stop' | 'gave_up',
  reason: StopReason,
  now: number,
): Progress {
  return {
    ...progress,
    ...HEALTHY,
    failingSinceAt: event === 'stop' ? progress.failingSinceAt : null,
    state: nextState(progress.state, event),
    stateReason: reason,
    stateAt: now,
    sessionId: null,
    sessionAt: null,
  };
}

/** The change to `after` for the transaction that causes it. Subscribers get no event if only the reason changes. */
export function stateChange(webhook: Webhook, after: Progress, ids: Ids): StateChange {
  const stateBefore = webhook.progress.state;
  const event = after.state === stateBefore ? null : statusEvent(webhook, after, ids);
  return { progress: after, stateBefore, event };
}

function statusEvent(webhook: Webhook, after: Progress, ids: Ids): NewEvent {
  const data = {
    webhookId: webhook.id,
    webhookName: webhook.name,
    endpointId: webhook.endpointId,
    state: after.state,
    previousState: webhook.progress.state,
    reason: toldReason(after),
    at: isoInstant(after.stateAt),
  };
  const audience = webhook.customerId ?? OPERATOR_ONLY;
  return makeEvent({ type: `webhook.${after.state}`, audience, data }, { ids, now: after.stateAt });
}

/** For the transaction of the change to `after`, which happens at its `stateAt`. */
export function serviceStopEntry(webhook: Webhook, after: Progress, ids: Ids): AuditEntry {
  return serviceEntry('webhook.stop', webhook, after, ids);
}

/** For the transaction that enables its endpoint again. */
export function serviceStartEntry(webhook: Webhook, after: Progress, ids: Ids): AuditEntry {
  return serviceEntry('webhook.start', webhook, after, ids);
}

function serviceEntry(
  action: AuditAction,
  { id, customerId, progress }: Webhook,
  after: Progress,
  ids: Ids,
): AuditEntry {
  const { state, stateReason, stateAt } = after;
  const changes = {
    state: { from: progress.state, to: state },
    stateReason: { from: progress.stateReason, to: stateReason },
  };
  return auditEntry(ids, SERVICE.actor, action, `webhook:${id}`, { at: stateAt, customerId, changes });
}

/** The code, followed by the answer of the other side if there is one: `oauth_token: the token endpoint answered 401 …`. */
export function stateReasonText({
  stateReason,
  stateDetail,
}: Pick<Progress, 'stateReason' | 'stateDetail'>): string | null {
  return stateReason === null || stateDetail === null ? stateReason : `${stateReason}: ${stateDetail}`;
}

/**
 * The reason for subscribers of `webhook.*`, who may be other customers: the code, and the status that the endpoint answered. Only callers
 * who may read the webhook see the rest of the answer.
 */
function toldReason(progress: Pick<Progress, 'stateReason' | 'stateDetail'>): string | null {
  // The only detail that the service writes itself. It contains only the status.
  return progress.stateReason === ('http_status' satisfies ErrorClass)
    ? stateReasonText(progress)
    : progress.stateReason;
}

/** `webhook.running` and `webhook.failing` events of one webhook in a minute, and webhooks whose events are counted. */
export const STATE_EVENTS_PER_MINUTE = 60;
export const STATE_EVENT_WEBHOOKS = 10_000;

export type StateEventLimit = {
  /** The changes, without the events beyond `STATE_EVENTS_PER_MINUTE` in the minute before `now`. A stop always keeps its event. */
  limited(changes: readonly StateChange[], now: number): readonly StateChange[];
  /** Counts the events of changes that are written. */
  written(changes: readonly StateChange[], now: number): void;
};

const MINUTE_MS = 60_000;

/**
 * Limits the `webhook.running` and `webhook.failing` events of one webhook. If the receiver of these events refuses some of them, every
 * response changes the state again and makes another event, endlessly.
 */
export function createStateEventLimit(): StateEventLimit {
  /** By webhook number, the times of its latest events. */
  const writtenAt = createLru<number, readonly number[]>({ max: STATE_EVENT_WEBHOOKS });
  const recent = (webhookNumber: number, now: number): readonly number[] =>
    (writtenAt.get(webhookNumber) ?? []).filter((at) => at > now - MINUTE_MS);
  return {
    limited: (changes, now) =>
      changes.map((change, before) => {
        const { state, webhookNumber } = change.progress;
        const isOver = recent(webhookNumber, now).length + before >= STATE_EVENTS_PER_MINUTE;
        return isOver && isRunnable(state) ? { ...change, event: null } : change;
      }),
    written: (changes, now) => {
      for (const { event, progress } of changes) {
        if (event === null) continue;
        writtenAt.set(progress.webhookNumber, [...recent(progress.webhookNumber, now), now]);
      }
    },
  };
}

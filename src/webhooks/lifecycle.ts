/** The states of a webhook (contract §5) as a pure state machine, and the closed list of reasons for them. */
import type { Progress, WebhookState } from './webhook.ts';

export type LifecycleEvent = 'start' | 'stop' | 'succeeded' | 'failed' | 'gave_up';

/** The next state by event. Events that are not listed change nothing. */
const TRANSITIONS: Readonly<Record<WebhookState, Partial<Readonly<Record<LifecycleEvent, WebhookState>>>>> = {
  stopped: { start: 'started' },
  started: { stop: 'stopped', succeeded: 'running', failed: 'failing' },
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

/** Why a webhook stopped or failed, each with its description. A failing webhook has the class of its last error instead. */
export const STATE_REASONS = {
  stopped_by_administrator: 'An administrator stopped it.',
  endpoint_gone: 'The endpoint answered 410 Gone. Its records are kept; start it again when the endpoint is back.',
  endpoint_disabled: 'Its endpoint is not enabled. It starts again by itself when the endpoint is enabled.',
  encryption_key_expired: 'Its PGP key has expired. Give it an unexpired key, then start it again.',
  encryption_key_missing: 'Its events must be encrypted and it has no PGP key. Give it one, then start it again.',
  failing_too_long: 'Every attempt of 24 hours failed. Mend the endpoint, then start it again; nothing is lost.',
  too_many_dead:
    'Ten batches in a row used up their attempts. Mend the endpoint, start it again, and replay what is dead.',
} as const;

export type StopReason = keyof typeof STATE_REASONS;

export const FAILING_LIMIT_MS: number = 24 * 3_600_000;
export const DEAD_STREAK_LIMIT = 10;
export const SESSION_MS: number = 24 * 3_600_000;

/** Why the service gives a failing webhook up at `now`, or null. */
export function giveUpReason(
  progress: Pick<Progress, 'failingSinceAt' | 'deadStreak'>,
  now: number,
): StopReason | null {
  if (progress.deadStreak >= DEAD_STREAK_LIMIT) return 'too_many_dead';
  if (progress.failingSinceAt !== null && now - progress.failingSinceAt >= FAILING_LIMIT_MS) return 'failing_too_long';
  return null;
}

/** The progress of a webhook that is started: a new session without failures. */
export function startedProgress(progress: Progress, { sessionId, now }: { sessionId: string; now: number }): Progress {
  return {
    ...progress,
    state: nextState(progress.state, 'start'),
    stateReason: null,
    stateDetail: null,
    stateAt: now,
    sessionId,
    sessionAt: now,
    wakeAt: now,
    sentAt: null,
    failingSinceAt: null,
    failureStreak: 0,
    probeAt: null,
    deadStreak: 0,
  };
}

/** The progress of a webhook that stops or fails: it sends nothing, and its records wait. */
export function stoppedProgress(
  progress: Progress,
  event: 'stop' | 'gave_up',
  reason: StopReason,
  now: number,
): Progress {
  return {
    ...progress,
    state: nextState(progress.state, event),
    stateReason: reason,
    stateDetail: null,
    stateAt: now,
    sessionId: null,
    sessionAt: null,
    wakeAt: null,
    failingSinceAt: null,
    failureStreak: 0,
    probeAt: null,
    deadStreak: 0,
  };
}

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Progress, WebhookState } from '../../src/domain/webhook.ts';
import {
  DEAD_STREAK_LIMIT,
  FAILING_LIMIT_MS,
  giveUpReason,
  isRunnable,
  type LifecycleEvent,
  nextState,
  STATE_REASONS,
  startedProgress,
  stoppedProgress,
} from '../../src/domain/webhook-states.ts';
import { NOW } from '../support/store.ts';

const EVENTS = ['start', 'stop', 'succeeded', 'failed', 'gave_up'] as const satisfies readonly LifecycleEvent[];
/** Every state, and where each of the events above leads from it. */
const TABLE: Readonly<Record<WebhookState, readonly WebhookState[]>> = {
  stopped: ['started', 'stopped', 'stopped', 'stopped', 'stopped'],
  started: ['started', 'stopped', 'running', 'failing', 'failed'],
  running: ['running', 'stopped', 'running', 'failing', 'running'],
  failing: ['failing', 'stopped', 'running', 'failing', 'failed'],
  failed: ['started', 'stopped', 'failed', 'failed', 'failed'],
};

const progress = (more: Partial<Progress> = {}): Progress => ({
  webhookNumber: 7,
  state: 'failing',
  stateReason: 'dns',
  stateDetail: 'no such host',
  stateAt: 1,
  sessionId: 'old',
  sessionAt: 1,
  nextOffset: 9,
  cursorOffset: 5,
  sentAt: 2,
  failingSinceAt: 1,
  failureStreak: 4,
  probeAt: 8,
  deadStreak: 3,
  ...more,
});

describe('the states of a webhook', () => {
  for (const [state, next] of Object.entries(TABLE) as [WebhookState, readonly WebhookState[]][]) {
    for (const [n, event] of EVENTS.entries()) {
      it(`lead from ${state} by ${event} to ${next[n]}`, () => assert.equal(nextState(state, event), next[n]));
    }
  }

  it('are delivered to while started, running or failing', () => {
    const states = Object.keys(TABLE) as WebhookState[];
    assert.deepEqual(states.filter(isRunnable), ['started', 'running', 'failing']);
  });

  it('only lead back to delivery by a start', () => {
    for (const state of ['stopped', 'failed'] as const) {
      for (const event of EVENTS) assert.equal(isRunnable(nextState(state, event)), event === 'start');
    }
  });
});

describe('giving up', () => {
  const table: readonly [what: string, failingForMs: number | null, deadStreak: number, reason: string | null][] = [
    ['while nothing fails', null, 0, null],
    ['a millisecond before 24 hours of failing', FAILING_LIMIT_MS - 1, 0, null],
    ['after 24 hours of failing', FAILING_LIMIT_MS, 0, 'failing_too_long'],
    ['after nine dead batches in a row', 1, DEAD_STREAK_LIMIT - 1, null],
    ['after ten dead batches in a row', 1, DEAD_STREAK_LIMIT, 'too_many_dead'],
    ['after both', FAILING_LIMIT_MS, DEAD_STREAK_LIMIT, 'too_many_dead'],
  ];
  for (const [what, failingForMs, deadStreak, reason] of table) {
    it(`is ${reason === null ? 'not due' : `due for ${reason}`} ${what}`, () => {
      const failingSinceAt = failingForMs === null ? null : NOW - failingForMs;
      assert.equal(giveUpReason({ failingSinceAt, deadStreak }, NOW), reason);
    });
  }

  it('has the bounds of contract §5.10', () =>
    assert.deepEqual([FAILING_LIMIT_MS, DEAD_STREAK_LIMIT], [86_400_000, 10]));
});

describe('the progress of a webhook', () => {
  const clean = {
    failingSinceAt: null,
    failureStreak: 0,
    probeAt: null,
    deadStreak: 0,
    stateDetail: null,
    stateAt: NOW,
  };

  it('that starts has a new session without failures, and keeps its place in the log', () => {
    for (const state of ['stopped', 'failed'] as const) {
      assert.deepEqual(startedProgress({ progress: progress({ state }) }, { sessionId: 'new', now: NOW }), {
        ...progress(),
        ...clean,
        state: 'started',
        stateReason: null,
        sessionId: 'new',
        sessionAt: NOW,
        sentAt: null,
      });
    }
  });

  it('that starts again goes on with a failure of less than 24 hours that a stop interrupted', () => {
    const start = (failingSinceAt: number | null): number | null =>
      startedProgress({ progress: progress({ state: 'stopped', failingSinceAt }) }, { sessionId: 'new', now: NOW })
        .failingSinceAt;
    const limit = NOW - FAILING_LIMIT_MS;
    for (const [since, after] of [
      [null, null],
      [NOW - 5, NOW - 5],
      [limit + 1, limit + 1],
      [limit, null],
    ] as const)
      assert.equal(start(since), after);
  });

  it('that stops or fails has no session, and keeps its place in the log', () => {
    const ended = { ...clean, sessionId: null, sessionAt: null };
    const stopped = stoppedProgress(progress(), 'stop', 'endpoint_gone', NOW);
    const { failingSinceAt } = progress();
    assert.deepEqual(stopped, {
      ...progress(),
      ...ended,
      failingSinceAt,
      state: 'stopped',
      stateReason: 'endpoint_gone',
    });
    const failed = stoppedProgress(progress(), 'gave_up', 'failing_too_long', NOW);
    assert.deepEqual(failed, { ...progress(), ...ended, state: 'failed', stateReason: 'failing_too_long' });
  });

  it('describes every reason', () => {
    for (const sentence of Object.values(STATE_REASONS)) assert.match(sentence, /^[A-Z].+\.$/);
  });
});

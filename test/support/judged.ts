/** Asks `judge` about one aspect of an attempt at a time. */
import { type Case, type Judgement, judgeOutcome } from '../../src/domain/judge.ts';
import { answered, batchOf, HEALTHY } from './attempts.ts';
import { NOW } from './store.ts';

export const HALF_IDS = ['left', 'right'] as const;
export const STARTED_AT: number = NOW - 40;
/** Replaces the random number. */
export const half = (): number => 0.5;

/** A first attempt that delivered ten records of a healthy webhook, with the test's changes. */
export function judged(more: Partial<Case>): Judgement {
  return judgeOutcome({
    outcome: answered(200),
    batch: batchOf(0, 9),
    webhook: { retryPolicy: 'exponential', maxAttempts: 20, retryDelaysSeconds: null },
    progress: HEALTHY,
    startedAt: STARTED_AT,
    now: NOW,
    jitter: half,
    halfIds: () => HALF_IDS,
    ...more,
  });
}

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Judgement } from '../../src/domain/judge.ts';
import { failure } from '../../src/domain/outcome.ts';
import { DEAD_STREAK_LIMIT, FAILING_LIMIT_MS } from '../../src/domain/webhook-states.ts';
import { answered, batchOf, ERROR_CLASSES, HEALTHY } from '../support/attempts.ts';
import { judged } from '../support/judged.ts';
import { NOW } from '../support/store.ts';

describe('the last attempt', () => {
  it('is dead at maxAttempts, not before, and counted', () => {
    const dead = (attemptNumber: number): Judgement =>
      judged({
        outcome: answered(500),
        batch: batchOf(3, 3, { attemptNumber }),
        webhook: { retryPolicy: 'linear', maxAttempts: 4, retryDelaysSeconds: null },
      });
    assert.deepEqual(dead(3).fate, { kind: 'retry', at: NOW + 90_000, contentRefusals: 0 });
    assert.equal(dead(3).health.deadStreak, 0);
    for (const attemptNumber of [4, 5]) {
      assert.deepEqual(dead(attemptNumber).fate, { kind: 'dead', at: NOW });
      assert.equal(dead(attemptNumber).health.deadStreak, 1);
    }
  });

  it('of a single record refused for its content makes it dead too', () => {
    const batch = batchOf(3, 3, { attemptNumber: 20, contentRefusals: 19 });
    assert.deepEqual(judged({ outcome: answered(422), batch }).fate, { kind: 'dead', at: NOW });
  });

  it('gives the webhook up at the tenth dead batch in a row', () => {
    const last = (deadStreak: number): Judgement =>
      judged({
        outcome: answered(500),
        batch: batchOf(0, 0, { attemptNumber: 20 }),
        progress: { ...HEALTHY, deadStreak },
      });
    assert.deepEqual([last(DEAD_STREAK_LIMIT - 2).event, last(DEAD_STREAK_LIMIT - 2).stopReason], ['failed', null]);
    assert.deepEqual(
      [last(DEAD_STREAK_LIMIT - 1).event, last(DEAD_STREAK_LIMIT - 1).stopReason],
      ['gave_up', 'too_many_dead'],
    );
  });

  it('gives the webhook up after 24 hours of failing, to the millisecond, by a heartbeat too', () => {
    for (const batch of [batchOf(0, 0), null]) {
      const since = (failingSinceAt: number): Judgement =>
        judged({ outcome: answered(500), batch, progress: { ...HEALTHY, failingSinceAt } });
      assert.equal(since(NOW - FAILING_LIMIT_MS + 1).event, 'failed');
      assert.deepEqual(
        [since(NOW - FAILING_LIMIT_MS).event, since(NOW - FAILING_LIMIT_MS).stopReason],
        ['gave_up', 'failing_too_long'],
      );
    }
  });
});

describe('410', () => {
  it('stops the webhook and releases the batch without counting the attempt', () => {
    const { fate, event, stopReason } = judged({ outcome: answered(410), batch: batchOf(0, 9, { attemptNumber: 20 }) });
    assert.deepEqual(fate, { kind: 'release', at: NOW });
    assert.deepEqual([event, stopReason], ['stop', 'endpoint_gone']);
  });

  it('to a heartbeat stops it too, and takes precedence over giving up', () => {
    const progress = { ...HEALTHY, failingSinceAt: 0, deadStreak: 99 };
    const { fate, event, stopReason } = judged({ outcome: answered(410), batch: null, progress });
    assert.deepEqual([fate, event, stopReason], [null, 'stop', 'endpoint_gone']);
  });
});

describe('any outcome', () => {
  const outcomes = fc.oneof(
    fc.integer({ min: 100, max: 599 }).map((status) => answered(status)),
    fc.constantFrom(...ERROR_CLASSES).map((errorClass) => failure(errorClass, 'why')),
  );
  const batches = fc
    .tuple(fc.nat(1000), fc.nat(50), fc.integer({ min: 1, max: 25 }), fc.nat(4))
    .map(([first, size, attemptNumber, contentRefusals]) =>
      batchOf(first, first + size, { attemptNumber, contentRefusals }),
    );

  it('leaves the batch in exactly one state, never due in the past, never halved when it is one record', () => {
    fc.assert(
      fc.property(
        outcomes,
        batches,
        fc.nat(20),
        fc.option(fc.nat(FAILING_LIMIT_MS)),
        (outcome, batch, deadStreak, ago) => {
          const failingSinceAt = ago === null ? null : NOW - ago;
          const { fate, health, event, stopReason } = judged({
            outcome,
            batch,
            progress: { ...HEALTHY, deadStreak, failingSinceAt },
          });
          assert.ok(fate !== null && fate.at >= NOW);
          assert.equal(fate.kind === 'delivered', outcome.ok);
          if (fate.kind === 'halve') assert.ok(batch.lastOffset > batch.firstOffset);
          if (fate.kind === 'retry') assert.ok(fate.at > NOW && batch.attemptNumber < 20);
          assert.equal(stopReason !== null, event === 'stop' || event === 'gave_up');
          const isOurs = !outcome.ok && outcome.errorClass === 'internal';
          if (isOurs) assert.deepEqual([fate.kind, health.deadStreak], ['release', deadStreak]);
          assert.equal(health.failingSinceAt, outcome.ok ? null : (failingSinceAt ?? (isOurs ? null : NOW)));
        },
      ),
    );
  });
});

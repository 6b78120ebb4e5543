import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Batch, Finished, Job } from '../../src/domain/batch.ts';
import { type Conclusion, conclude } from '../../src/domain/judge.ts';
import { failure, type Outcome } from '../../src/domain/outcome.ts';
import type { Progress, Webhook } from '../../src/domain/webhook.ts';
import { FAILING_LIMIT_MS } from '../../src/domain/webhook-states.ts';
import { createIds, randomBytes } from '../../src/kernel/ids.ts';
import { answered, batchOf, progressOf } from '../support/attempts.ts';
import { NOW } from '../support/store.ts';

const ids = createIds(() => NOW, randomBytes);
/** Where the webhook sends to. */
const URL = 'https://receiver.example/';

function concluded(progress: Partial<Progress>, finished: readonly Finished[]): Conclusion {
  const webhook = {
    id: 'w',
    name: 'webhook',
    endpointId: 'e',
    retryPolicy: 'exponential',
    maxAttempts: 20,
    progress: progressOf(progress),
  } as Webhook;
  return conclude(webhook, finished, { now: NOW, jitter: () => 0.5, ids, url: URL });
}

const jobOf = (batch: Batch | null): Job => ({
  webhookNumber: 1,
  endpointId: 'e',
  batch,
  ordered: false,
});
const sent = (outcome: Outcome, batch: Batch | null = batchOf(0, 0), url = URL): Finished => ({
  job: jobOf(batch),
  result: { kind: 'sent', sent: { startedAt: NOW - 5, outcome, requestHeaders: {}, bodyBytes: 0 }, url },
});
const statesOf = ({ changes }: Conclusion): string[] =>
  changes.map(({ stateBefore, progress, event }) => `${stateBefore} → ${progress.state} (${event?.type})`);
const auditOf = ({ audit }: Conclusion): unknown[] => [
  `${audit?.actor} ${audit?.action} ${audit?.target}`,
  audit?.changes.state,
  audit?.changes.stateReason,
];
const ok = (offset: number): Finished => sent(answered(200), batchOf(offset, offset));
const error = (offset: number): Finished => sent(answered(500), batchOf(offset, offset));

describe('attempts that are settled together', () => {
  it('are judged in order: streaks count, and every state change has its event', () => {
    const told = concluded({ state: 'started' }, [error(0), error(1), ok(2), error(3)]);
    assert.deepEqual(statesOf(told), [
      'started → failing (webhook.failing)',
      'failing → running (webhook.running)',
      'running → failing (webhook.failing)',
    ]);
    assert.equal(told.health?.failureStreak, 1);
    assert.equal(told.health?.state, 'failing');
    assert.equal(told.progress.state, 'failing');
    assert.equal(told.audit, null, 'no person stopped it');
    assert.deepEqual(
      told.batches.map(({ fate }) => fate?.kind),
      ['retry', 'retry', 'delivered', 'retry'],
    );
    assert.equal(concluded({}, [error(0), error(1), error(2)]).health?.failureStreak, 3);
  });

  it('of a webhook whose state stays the same have no event', () => {
    const told = concluded({}, [ok(0), ok(1)]);
    assert.deepEqual(told.changes, []);
    assert.equal(told.health?.state, 'running');
  });

  it('stop it at the first 410: the other outcomes settle their batches and change nothing else', () => {
    const told = concluded({}, [sent(answered(410), batchOf(0, 0)), ok(1), error(2)]);
    assert.deepEqual(statesOf(told), ['running → stopped (webhook.stopped)']);
    assert.deepEqual([told.progress.state, told.progress.stateReason], ['stopped', 'endpoint_gone']);
    assert.equal(told.health, null);
    assert.equal(told.progress.sessionId, null);
    assert.deepEqual(auditOf(told), [
      'service webhook.stop webhook:w',
      { from: 'running', to: 'stopped' },
      { from: null, to: 'endpoint_gone' },
    ]);
    assert.deepEqual(
      told.batches.map(({ fate }) => fate?.kind),
      ['release', 'delivered', 'retry'],
    );
    assert.equal(told.batches.filter(({ attempt }) => attempt !== null).length, 3);
  });

  it('give it up when ten of them in a row are dead', () => {
    const dead = Array.from({ length: 12 }, (_, n) => sent(answered(500), batchOf(n, n, { attemptNumber: 20 })));
    const told = concluded({ state: 'failing' }, dead);
    assert.deepEqual(statesOf(told), ['failing → failed (webhook.failed)']);
    assert.equal(told.progress.stateReason, 'too_many_dead');
    assert.deepEqual(auditOf(told), [
      'service webhook.stop webhook:w',
      { from: 'failing', to: 'failed' },
      { from: 'http_status', to: 'too_many_dead' },
    ]);
    assert.deepEqual(new Set(told.batches.map(({ fate }) => fate?.kind)), new Set(['dead']));
  });

  it('give it up 24 hours after its first failure, also at the first failure after it was started again', () => {
    const failingSinceAt = NOW - FAILING_LIMIT_MS;
    const told = concluded({ state: 'started', failingSinceAt }, [error(0), error(1)]);
    assert.deepEqual(statesOf(told), ['started → failed (webhook.failed)']);
    assert.equal(told.progress.stateReason, 'failing_too_long');
    const [, state] = auditOf(told);
    assert.deepEqual(state, { from: 'started', to: 'failed' });
  });

  it('of a webhook that was stopped in the meantime settle their batches and change nothing else', () => {
    for (const state of ['stopped', 'failed'] as const) {
      const told = concluded({ state, stateReason: 'stopped_by_administrator' }, [ok(0), error(1)]);
      assert.deepEqual([told.health, told.changes, told.audit], [null, [], null]);
      assert.equal(told.progress.stateReason, 'stopped_by_administrator');
      assert.deepEqual(
        told.batches.map(({ fate }) => fate?.kind),
        ['delivered', 'retry'],
      );
    }
  });
});

describe('an attempt that a fault of the service prevented', () => {
  const fault = (offset: number): Finished => sent(failure('internal', 'why'), batchOf(offset, offset));

  it('is recorded, changes no state, and does not affect other outcomes', () => {
    for (const state of ['started', 'running', 'failing'] as const) {
      const told = concluded({ state, failureStreak: 3, deadStreak: 9 }, [fault(0), fault(1)]);
      assert.deepEqual([told.changes, told.audit, told.progress.state], [[], null, state]);
      assert.deepEqual([told.health?.failureStreak, told.health?.deadStreak], [3, 9]);
      assert.deepEqual(
        told.batches.map(({ fate, attempt }) => [fate?.kind, attempt?.errorClass]),
        [
          ['release', 'internal'],
          ['release', 'internal'],
        ],
      );
    }
    assert.equal(concluded({}, [error(0), fault(1), error(2)]).health?.failureStreak, 2);
    assert.equal(concluded({}, [fault(0), ok(1)]).health?.probeAt, null, 'what arrives shows that it is over');
  });
});

describe('a settlement without an attempt', () => {
  it('releases or discards the batch, and changes nothing else', () => {
    const released: Finished = { job: jobOf(batchOf(0, 4)), result: { kind: 'release' } };
    const discarded: Finished = { job: jobOf(batchOf(5, 5)), result: { kind: 'discarded' } };
    const heartbeat: Finished = { job: jobOf(null), result: { kind: 'release' } };
    const told = concluded({}, [released, discarded, heartbeat]);
    assert.deepEqual(told.batches, [
      { batch: released.job.batch, fate: { kind: 'release', at: NOW }, attempt: null },
      { batch: discarded.job.batch, fate: { kind: 'discarded', at: NOW }, attempt: null },
      { batch: null, fate: null, attempt: null },
    ]);
    assert.deepEqual([told.health, told.changes], [null, []]);
  });
});

describe('the recorded attempt', () => {
  it('names the records of its batch, or none for a heartbeat', () => {
    const [delivery, heartbeat] = concluded({}, [
      sent(answered(200), batchOf(3, 7, { attemptNumber: 2 })),
      sent(answered(204), null),
    ]).batches.map(({ attempt }) => attempt ?? assert.fail());
    assert.ok(delivery && heartbeat);
    const { kind, batchId, firstOffset, lastOffset, attemptNumber } = delivery;
    assert.deepEqual([kind, batchId, firstOffset, lastOffset, attemptNumber], ['delivery', 'batch 3', 3, 7, 2]);
    assert.deepEqual(
      [heartbeat.kind, heartbeat.batchId, heartbeat.firstOffset, heartbeat.attemptNumber],
      ['heartbeat', null, null, 1],
    );
  });

  it('of a batch whose lease was lost is recorded, and nothing else is written', () => {
    const { job, result } = sent(answered(200), batchOf(3, 7));
    const lost = { job, result: { kind: 'lost', sent: 'sent' in result ? result.sent : assert.fail() } as const };
    const told = concluded({ state: 'failing' }, [lost]);
    assert.deepEqual([told.health, told.changes], [null, []]);
    const [{ batch, fate, attempt } = assert.fail()] = told.batches;
    assert.deepEqual([batch, fate, attempt?.firstOffset, attempt?.kind], [null, null, 3, 'delivery']);
  });
});

describe('an attempt at a former URL of the endpoint', () => {
  const elsewhere = (outcome: Outcome, batch: Batch | null = batchOf(0, 0)): Conclusion => {
    const before: Partial<Progress> = { state: 'failing', failureStreak: 12, probeAt: null, failingSinceAt: NOW - 1 };
    const told = concluded(before, [sent(outcome, batch, 'https://former.example/')]);
    assert.deepEqual([told.changes, told.audit], [[], null]);
    assert.deepEqual(told.progress, progressOf({ ...before, sentAt: NOW - 5 }));
    assert.equal(told.batches[0]?.attempt?.startedAt, NOW - 5, 'it is on record');
    return told;
  };
  const last = { ...batchOf(0, 3), attemptNumber: 20 };

  for (const [what, outcome, batch, fate] of [
    ['delivered is', answered(200), batchOf(0, 0), { kind: 'delivered', at: NOW }],
    ['failed is tried at once', answered(500), batchOf(0, 0), { kind: 'retry', at: NOW, contentRefusals: 0 }],
    ['whose receiver has gone is too', answered(410), batchOf(0, 0), { kind: 'retry', at: NOW, contentRefusals: 0 }],
    ['was too large is too, whole', answered(413), batchOf(0, 3), { kind: 'retry', at: NOW, contentRefusals: 0 }],
    ['has had all its attempts is dead', failure('timeout', 'late'), last, { kind: 'dead', at: NOW }],
    ['was not tried is given back', failure('internal', 'no descriptor'), last, { kind: 'release', at: NOW }],
    ['was a heartbeat is none', answered(500), null, null],
  ] as const)
    it(`does not count for or against the endpoint; what ${what}`, () => {
      assert.deepEqual(elsewhere(outcome, batch).batches[0]?.fate, fate);
    });
});

describe('an attempt that broke off in the service', () => {
  const brokenOff = (batch: Batch | null): Finished => ({
    job: jobOf(batch),
    result: {
      kind: 'broken off',
      sent: { startedAt: NOW - 5, outcome: failure('internal', 'a page'), requestHeaders: {}, bodyBytes: 0 },
    },
  });

  it('counts for its batch, not against the endpoint', () => {
    for (const state of ['started', 'running', 'failing'] as const) {
      const before: Partial<Progress> = {
        state,
        failureStreak: 12,
        probeAt: NOW - 1,
        failingSinceAt: NOW - 90_000_000,
      };
      const told = concluded(before, [brokenOff(batchOf(0, 0))]);
      assert.deepEqual([told.changes, told.audit], [[], null]);
      assert.deepEqual(told.progress, progressOf({ ...before, sentAt: NOW - 5 }));
      const [{ fate, attempt } = assert.fail()] = told.batches;
      assert.ok(fate?.kind === 'retry' && fate.at > NOW);
      assert.deepEqual([attempt?.errorClass, attempt?.errorMessage], ['internal', 'a page']);
    }
  });

  it('may be the last one: the batch is dead, and the webhook continues', () => {
    const told = concluded({ deadStreak: 9 }, [brokenOff(batchOf(0, 0, { attemptNumber: 20 }))]);
    assert.equal(told.batches[0]?.fate?.kind, 'dead');
    assert.deepEqual([told.progress.state, told.health?.deadStreak], ['running', 9]);
  });

  it('ends the silence if it was a heartbeat, so that the next one is not due immediately', () => {
    const told = concluded({ sentAt: NOW - 60_000 }, [brokenOff(null)]);
    assert.deepEqual([told.batches[0]?.fate, told.health?.sentAt], [null, NOW - 5]);
  });
});

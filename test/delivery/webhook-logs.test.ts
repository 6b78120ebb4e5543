import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { claimWork } from '../../src/delivery/claim.ts';
import { POSITION_EVERY_MS, SLOW_ATTEMPT_MS } from '../../src/delivery/limits.ts';
import { LOOK_NOW } from '../../src/delivery/scheduler.ts';
import {
  createWebhookLogs,
  hasWork,
  positionToWrite,
  slowOf,
  type WebhookLog,
  type WebhookLogs,
} from '../../src/delivery/webhook-logs.ts';
import type { Batch, DeliveryTarget, LogPosition, Stretch } from '../../src/domain/batch.ts';
import { type DispatchStore, NEVER } from '../../src/store/port/dispatch.ts';
import { beyond } from '../../src/store/shared/delivery/dispatch.ts';
import { batchOf } from '../support/attempts.ts';
import { deferred } from '../support/deferred.ts';
import { webhookOf } from '../support/scheduling.ts';
import { NOW } from '../support/store.ts';

const AT: LogPosition = {
  webhookNumber: 1,
  coveredOffset: 10,
  next: 20,
  end: 30,
  gaps: [{ first: 12, last: 14 }],
  dueAt: NEVER,
  sentAt: null,
};

/** A log that was opened at a position, all of whose records are sent. */
function opened(more: Partial<LogPosition> = {}): { readonly logs: WebhookLogs; readonly log: WebhookLog } {
  const logs = createWebhookLogs();
  const log = logs.open({ ...AT, coveredOffset: 20, gaps: [], end: 20, ...more }, NOW);
  logs.takeReady(NOW, 1);
  return { logs, log };
}

describe('what lies behind a position', () => {
  it('is gaps between batches, and the records after all of them', () => {
    const table: readonly (readonly [readonly Stretch[], ReturnType<typeof beyond>])[] = [
      [[], { next: 10, gaps: [] }],
      [[{ first: 10, last: 12 }], { next: 13, gaps: [] }],
      [[{ first: 12, last: 12 }], { next: 13, gaps: [{ first: 10, last: 11 }] }],
      [
        [
          { first: 10, last: 10 },
          { first: 13, last: 15 },
          { first: 16, last: 16 },
          { first: 18, last: 20 },
        ],
        {
          next: 21,
          gaps: [
            { first: 11, last: 12 },
            { first: 17, last: 17 },
          ],
        },
      ],
    ];
    for (const [batches, found] of table) assert.deepEqual(beyond(10, batches), found);
  });
});

describe('a webhook log', () => {
  it('has work if there is a gap, a record after the last batch, or a retry that is due', () => {
    assert.equal(hasWork(opened().log, NOW), false);
    assert.equal(hasWork(opened({ end: 21 }).log, NOW), true);
    assert.equal(hasWork(opened({ gaps: [{ first: 3, last: 3 }] }).log, NOW), true);
    const { log } = opened({ dueAt: NOW + 1 });
    assert.deepEqual([hasWork(log, NOW), hasWork(log, NOW + 1)], [false, true]);
  });

  it('that is read again keeps what it holds and how far it has come, and the earlier time of a retry', () => {
    const { logs, log } = opened({ dueAt: NOW + 5 });
    const batch = batchOf(20, 24);
    logs.hold(log, [batch], NOW);
    log.next = 25;
    log.sentAt = NOW;
    assert.equal(logs.open({ ...AT, coveredOffset: 20, gaps: [], dueAt: NOW + 9, sentAt: NOW - 1 }, NOW), log);
    assert.deepEqual([log.next, log.end, log.dueAt, log.sentAt], [25, 30, NOW + 5, NOW]);
    assert.deepEqual([...log.held.keys()], [20]);
    logs.open({ ...AT, gaps: [], dueAt: NOW + 3 }, NOW);
    assert.equal(log.dueAt, NOW + 3);
  });

  it('that closes is forgotten when nothing of it is held, and goes on if it opens before', () => {
    const { logs, log } = opened();
    const [one, other] = [batchOf(20, 20), batchOf(21, 21)];
    logs.hold(log, [one, other], NOW);
    logs.close(1);
    logs.ready(1);
    logs.grew(1, 40);
    assert.deepEqual(logs.takeReady(NOW, 9), [], 'it sends nothing');
    logs.settled(log, [one]);
    assert.equal(logs.get(1), log);
    logs.open(AT, NOW);
    logs.settled(log, [other]);
    assert.equal(logs.get(1), log);
    logs.close(1);
    assert.equal(logs.get(1), undefined);
  });

  it('that is dropped is forgotten with what it holds', () => {
    const { logs, log } = opened();
    const batch = batchOf(20, 20);
    logs.hold(log, [batch], NOW);
    logs.drop(1);
    const another = logs.open({ ...AT, coveredOffset: 20, gaps: [] }, NOW);
    assert.notEqual(another, log);
    logs.hold(another, [batchOf(20, 20)], NOW);
    logs.settled(another, [batch]);
    assert.deepEqual([...another.held.keys()], [20], 'another claim of the same records');
  });

  it('is looked at when it is ready, when it grows, and at the earliest time that was asked for', () => {
    const { logs, log } = opened();
    logs.grew(1, 20);
    assert.deepEqual([logs.takeReady(NOW, 9), logs.nextLookAt()], [[], null]);
    logs.grew(1, 21);
    assert.deepEqual([logs.nextLookAt(), logs.takeReady(NOW, 9)], [0, [1]]);
    for (const at of [NOW + 9, NOW + 5, NOW + 7, NEVER]) logs.lookBy(log, at);
    assert.deepEqual([logs.nextLookAt(), logs.takeReady(NOW + 4, 9), logs.takeReady(NOW + 5, 9)], [NOW + 5, [], [1]]);
    // The later ones were for the same look.
    assert.deepEqual(logs.takeReady(NOW + 99, 9), []);
  });

  it('waits its turn among the ready ones, and among the ones whose ends are asked for', () => {
    const logs = createWebhookLogs();
    for (let webhookNumber = 1; webhookNumber <= 5; webhookNumber += 1) logs.open({ ...AT, webhookNumber }, NOW);
    assert.deepEqual(logs.takeReady(NOW, 2), [1, 2]);
    logs.ready(1);
    assert.deepEqual(logs.takeReady(NOW, 9), [3, 4, 5, 1]);
    assert.deepEqual([logs.nextInTurn(3), logs.nextInTurn(3), logs.nextInTurn(9).length], [[1, 2, 3], [4, 5, 1], 5]);
    assert.deepEqual(createWebhookLogs().nextInTurn(3), []);
  });

  it('is looked at no later than any time that was asked for, of many', () => {
    const asked = fc.array(fc.tuple(fc.integer({ min: 1, max: 6 }), fc.nat(50)), { maxLength: 60 });
    fc.assert(
      fc.property(asked, (times) => {
        const logs = createWebhookLogs();
        for (let webhookNumber = 1; webhookNumber <= 6; webhookNumber += 1) logs.open({ ...AT, webhookNumber }, NOW);
        logs.takeReady(NOW, 9);
        const due = new Map<number, number>();
        for (const [step, [webhookNumber, inMs]] of times.entries()) {
          const now = NOW + step;
          const at = now + inMs;
          logs.lookBy(logs.get(webhookNumber) ?? assert.fail(), at);
          due.set(webhookNumber, Math.min(due.get(webhookNumber) ?? NEVER, at));
          assert.ok((logs.nextLookAt() ?? NEVER) <= Math.min(...due.values()));
          const expected = [...due].filter(([, dueAt]) => dueAt <= now).map(([number]) => number);
          assert.deepEqual([...logs.takeReady(now, 9)].sort(), expected.sort());
          for (const number of expected) due.delete(number);
        }
      }),
    );
  });
});

describe('the position of a webhook', () => {
  it('is before the first record that is neither in a batch nor settled by the same transaction', () => {
    const covered = (log: WebhookLog, settling: readonly number[] = []): number | undefined =>
      positionToWrite(log, NOW, { isLast: true, settling: new Set(settling) })?.coveredOffset;
    const { logs, log } = opened();
    log.next = 30;
    assert.equal(covered(log), 30);
    logs.hold(log, [batchOf(20, 21), batchOf(22, 25), batchOf(26, 29, { isStored: true })], NOW);
    assert.equal(covered(log), undefined, 'it has not moved');
    assert.deepEqual([covered(log, [20]), covered(log, [22]), covered(log, [20, 22])], [22, undefined, 30]);
    log.gaps = [{ first: 24, last: 25 }];
    assert.equal(covered(log, [20, 22]), 24);
  });

  it('is written when it has moved, every few seconds, and at the end', () => {
    const { logs, log } = opened({ sentAt: NOW });
    assert.deepEqual(logs.unwritten(NOW + POSITION_EVERY_MS), []);
    const batch = batchOf(20, 20);
    logs.hold(log, [batch], NOW);
    log.next = 21;
    assert.deepEqual(logs.unwritten(NOW + SLOW_ATTEMPT_MS - 1), []);
    logs.settled(log, [batch]);
    assert.deepEqual(logs.unwritten(NOW + POSITION_EVERY_MS - 1), []);
    assert.deepEqual(logs.unwritten(NOW + POSITION_EVERY_MS), [1]);
    assert.deepEqual(logs.unwritten(NOW - 1), [1], 'the clock was set back');
    const position = positionToWrite(log, NOW, { isLast: true });
    assert.deepEqual(position, { coveredOffset: 21, sentAt: NOW });
    Object.assign(log, { written: position, writtenAt: NOW });
    assert.deepEqual(logs.unwritten(NOW + POSITION_EVERY_MS), []);
    log.sentAt = NOW + 1;
    assert.deepEqual(positionToWrite(log, NOW + POSITION_EVERY_MS), { coveredOffset: 21, sentAt: NOW + 1 });
  });

  it('is written with the first attempt immediately', () => {
    const { log } = opened({ sentAt: null });
    assert.equal(positionToWrite(log, NOW), null);
    log.sentAt = NOW;
    const position = positionToWrite(log, NOW);
    assert.deepEqual(position, { coveredOffset: 20, sentAt: NOW });
    Object.assign(log, { written: position, writtenAt: NOW });
    log.sentAt = NOW + 1;
    assert.equal(positionToWrite(log, NOW + 1), null);
  });

  it('does not wait for slow attempts, whose rows are marked', () => {
    const { logs, log } = opened();
    const [slow, later, stored] = [batchOf(20, 20), batchOf(21, 21), batchOf(3, 3, { isStored: true })];
    logs.hold(log, [slow, stored], NOW);
    logs.hold(log, [later], NOW + 1);
    log.next = 22;
    assert.deepEqual(
      [slowOf(log, NOW + SLOW_ATTEMPT_MS - 1), slowOf(log, NOW + SLOW_ATTEMPT_MS)],
      [[], [slow, stored]],
    );
    assert.deepEqual(logs.unwritten(NOW + SLOW_ATTEMPT_MS), [1]);
    for (const offset of [20, 3])
      Object.assign(log.held.get(offset) ?? assert.fail(), { isStored: true, isMarked: true });
    assert.deepEqual(slowOf(log, NOW + SLOW_ATTEMPT_MS), []);
    assert.equal(positionToWrite(log, NOW, { isLast: true })?.coveredOffset, 21);
  });
});

type Row = Stretch & { state: 'pending' | 'delivered'; attemptCount: number; dueAt: number; isLeased: boolean };
type Job = { readonly batch: Batch; readonly log: WebhookLog };

/** A process and its store. Reads of the store are answered when `answer` is called. */
function createSimulation(ordered: boolean) {
  let now = NOW;
  let end = 0;
  let covered = 0;
  const rows = new Map<number, Row>();
  let logs = createWebhookLogs();
  let jobs: Job[] = [];
  let claiming: Promise<void> | null = null;
  let asked = deferred();

  const current = (): WebhookLog => logs.get(1) ?? assert.fail();

  /** A position that is read and not noted yet. */
  let found: LogPosition | null = null;

  /** What a dispatcher does at its start, and when the webhook was changed. */
  const read = (): void => {
    const behind = [...rows.values()].filter(({ first }) => first >= covered);
    const { next, gaps } = beyond(
      covered,
      behind.toSorted((one, other) => one.first - other.first),
    );
    const dueAt = Math.min(NEVER, ...pending().map((row) => row.dueAt));
    found = { webhookNumber: 1, coveredOffset: covered, next, end, gaps, dueAt, sentAt: null };
  };

  const note = (): void => {
    if (found !== null) logs.open(found, now);
    found = null;
  };

  const pending = (held: readonly number[] = []): Row[] => {
    return [...rows.values()].filter(({ state, first }) => state === 'pending' && !held.includes(first));
  };

  const storedBatch = ({ first, last, attemptCount }: Row): Batch => {
    return batchOf(first, last, { id: `batch ${first} to ${last}`, attemptNumber: attemptCount + 1, isStored: true });
  };

  const dispatch = (): Partial<DispatchStore> => {
    const webhook = {
      ...webhookOf(1, { ordered, maxBatchRecords: 3 }),
      heartbeatSeconds: 0,
      encryptionKeyName: null,
    };
    const target = { webhook, endpoint: { id: 'e', enabled: true }, key: null } as unknown as DeliveryTarget;
    return {
      target: async () => target,
      dueBatches: async (_number, now, limit, held) => {
        const due = pending(held).filter(({ dueAt }) => dueAt <= now);
        const later = pending().filter(({ dueAt }) => dueAt > now);
        const read = {
          batches: due.slice(0, limit).map(storedBatch),
          nextAt: Math.min(NEVER, ...later.map(({ dueAt }) => dueAt)),
        };
        await asked.promise;
        return read;
      },
      firstPending: async (_number, held) => {
        const [row] = pending(held).toSorted((one, other) => one.first - other.first);
        const found = row === undefined ? null : { batch: storedBatch(row), dueAt: row.dueAt };
        await asked.promise;
        return found;
      },
      waiting: async (_number, from, limit) => {
        const found = Array.from({ length: Math.min(limit, Math.max(0, end - from)) }, (_, n) => ({
          offset: from + n,
          bytes: 1,
          createdAt: NOW,
        }));
        await asked.promise;
        return found;
      },
    };
  };

  const beginClaim = (batches: number): void => {
    if (claiming !== null || (ordered && jobs.length > 0)) return;
    const claimedIn = logs;
    const log = current();
    asked = deferred();
    const room = { now, claimed: 0, records: 99, batches: ordered ? 1 : batches, next: LOOK_NOW };
    const dependencies = {
      store: { dispatch: dispatch() },
      clock: () => now,
      scheduler: { room: () => room },
      logs,
    } as unknown as Parameters<typeof claimWork>[0];
    claiming = claimWork(dependencies, log).then((claim) => {
      claiming = null;
      if (claimedIn !== logs) return;
      for (const { batch } of claim?.jobs ?? []) {
        assert.ok(batch !== null);
        assert.ok(!jobs.some((job) => job.batch.firstOffset === batch.firstOffset), 'claimed twice');
        if (ordered) assert.equal(deliveredBefore(batch.firstOffset), true, 'an earlier record waits');
        jobs.push({ batch, log });
      }
    });
  };

  const deliveredBefore = (offset: number): boolean => {
    const delivered = [...rows.values()].filter(({ state, first }) => state === 'delivered' && first < offset);
    return delivered.reduce((sum, { first, last }) => sum + last - first + 1, 0) === offset;
  };

  const answer = async (): Promise<void> => {
    asked.resolve();
    // A position may be written at any time.
    for (let turn = 0; turn < 20; turn += 1) {
      check(positionToWrite(current(), now, { isLast: true })?.coveredOffset ?? covered);
      await null;
    }
    await claiming;
  };

  const settle = async (
    pick: number,
    outcome: 'delivered' | 'retry' | 'release',
    isAnswered: boolean,
  ): Promise<void> => {
    const log = current();
    const ending = jobs.splice(pick % Math.max(1, jobs.length), 1 + (pick % 3));
    const firsts = new Set(ending.map(({ batch }) => batch.firstOffset));
    const slow = slowOf(log, now).filter(({ firstOffset }) => !firsts.has(firstOffset));
    const settling = new Set([...firsts, ...slow.map(({ firstOffset }) => firstOffset)]);
    const position = positionToWrite(log, now, { settling });
    // A claim ends while the transaction is on its way.
    if (isAnswered) await answer();
    const dueAt = outcome === 'retry' ? now + (pick % 20) : now;
    for (const { batch } of ending) {
      const { firstOffset: first, lastOffset: last, attemptNumber } = batch;
      const isStored = log.held.get(first)?.isStored ?? assert.fail();
      assert.equal(rows.has(first), isStored);
      const state = outcome === 'delivered' ? 'delivered' : 'pending';
      const attemptCount = outcome === 'release' ? attemptNumber - 1 : attemptNumber;
      rows.set(first, { first, last, state, attemptCount, dueAt, isLeased: false });
      if (state === 'pending') log.dueAt = Math.min(log.dueAt, dueAt);
    }
    for (const { firstOffset: first, lastOffset: last } of slow) {
      rows.set(first, { first, last, state: 'pending', attemptCount: 1, dueAt: now, isLeased: true });
      (log.held.get(first) ?? assert.fail()).isStored = true;
    }
    if (position !== null) {
      covered = position.coveredOffset;
      Object.assign(log, { written: position, writtenAt: now });
    }
    logs.settled(
      log,
      ending.map(({ batch }) => batch),
    );
  };

  const crash = (): void => {
    logs = createWebhookLogs();
    jobs = [];
    for (const row of rows.values()) row.isLeased = false;
    read();
    note();
  };

  /** `through`: a position that may be written. */
  const check = (through = covered): void => {
    let next = 0;
    for (const { first, last } of [...rows.values()].toSorted((one, other) => one.first - other.first)) {
      assert.ok(first >= next, 'batches overlap');
      if (next < through) assert.equal(first, next, `the position ${through} passes record ${next}, which has no row`);
      next = last + 1;
    }
    assert.ok(next >= through, `the position ${through} passes record ${next}, which has no row`);
  };

  /** Delivers all that is left. */
  const finish = async (): Promise<void> => {
    note();
    for (let round = 0; ; round += 1) {
      await answer();
      while (jobs.length > 0) await settle(0, 'delivered', true);
      if (deliveredBefore(end)) return;
      assert.ok(round < 200, 'a record is never sent');
      now += 5;
      assert.ok(hasWork(current(), now) || current().dueAt < NEVER, 'nothing says that a record waits');
      beginClaim(4);
    }
  };

  read();
  note();
  return {
    publish: (records: number): void => {
      end += records;
      logs.grew(1, end);
    },
    wait: (ms: number): void => {
      now += ms;
    },
    read,
    note,
    beginClaim,
    answer,
    settle,
    crash,
    check,
    finish,
  };
}

describe('in any order of claims, outcomes, crashes and news', () => {
  const commands = fc.array(
    fc.record({
      kind: fc.constantFrom(
        ...(['publish', 'claim', 'claim', 'answer', 'delivered', 'delivered', 'retry', 'release'] as const),
        ...(['wait', 'wait', 'crash', 'read', 'read'] as const),
      ),
      pick: fc.nat(100),
    }),
    { maxLength: 80, size: 'max' },
  );

  for (const ordered of [false, true])
    it(`the position passes no record without a row, and every record is delivered${ordered ? ' in order' : ''}`, async () => {
      await fc.assert(
        fc.asyncProperty(commands, async (sequence) => {
          const simulation = createSimulation(ordered);
          for (const { kind, pick } of sequence) {
            if (kind === 'publish') simulation.publish(1 + (pick % 8));
            else if (kind === 'claim') simulation.beginClaim(1 + (pick % 4));
            else if (kind === 'answer') await simulation.answer();
            else if (kind === 'wait') simulation.wait([1, SLOW_ATTEMPT_MS, POSITION_EVERY_MS][pick % 3] ?? 0);
            else if (kind === 'read') {
              if (pick % 2 === 0) simulation.read();
              else simulation.note();
            } else if (kind === 'crash') {
              await simulation.answer();
              simulation.crash();
            } else await simulation.settle(pick, kind, pick % 2 === 0);
            simulation.check();
            // A claim goes on to its next read.
            for (let turn = 0; turn < 5; turn += 1) await null;
          }
          await simulation.finish();
        }),
        { numRuns: 500 },
      );
    });
});

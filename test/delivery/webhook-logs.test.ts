import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { POSITION_EVERY_MS, SLOW_ATTEMPT_MS } from '../../src/delivery/limits.ts';
import type { WebhookLog } from '../../src/delivery/webhook-log.ts';
import {
  createWebhookLogs,
  hasWork,
  positionToWrite,
  slowOf,
  type WebhookLogs,
} from '../../src/delivery/webhook-logs.ts';
import type { LogPosition, OffsetRange } from '../../src/domain/batch.ts';
import { NEVER } from '../../src/store/port/dispatch.ts';
import { beyond } from '../../src/store/shared/delivery/dispatch.ts';
import { batchOf } from '../support/attempts.ts';
import { NOW } from '../support/store.ts';

const AT: LogPosition = {
  hold: null,
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
    const table: readonly (readonly [readonly OffsetRange[], ReturnType<typeof beyond>])[] = [
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

  it('that closed and was read again under another hold stays when the last batch of the old one is settled', () => {
    const { logs, log } = opened();
    const batch = batchOf(20, 20);
    logs.hold(log, [batch], NOW);
    logs.close(1);
    const hold = { webhookNumber: 1, instance: 2, epoch: 3, timeline: 'a' };
    const another = logs.open({ ...AT, hold }, NOW);
    assert.notEqual(another, log);
    logs.settled(log, [batch]);
    assert.equal(logs.get(1), another);
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

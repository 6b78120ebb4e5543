/** A model of a process that sends for a webhook, and of its store: claims, outcomes, positions, crashes and news in any order. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { claimWork } from '../../src/delivery/claim.ts';
import { POSITION_EVERY_MS, SLOW_ATTEMPT_MS } from '../../src/delivery/limits.ts';
import { LOOK_NOW } from '../../src/delivery/scheduler.ts';
import type { WebhookLog } from '../../src/delivery/webhook-log.ts';
import { createWebhookLogs, hasWork, positionToWrite, slowOf } from '../../src/delivery/webhook-logs.ts';
import type { Batch, DeliveryTarget, LogPosition, OffsetRange } from '../../src/domain/batch.ts';
import { type DispatchStore, NEVER } from '../../src/store/port/dispatch.ts';
import { beyond } from '../../src/store/shared/delivery/dispatch.ts';
import { batchOf } from '../support/attempts.ts';
import { deferred } from '../support/deferred.ts';
import { webhookOf } from '../support/scheduling.ts';
import { NOW } from '../support/store.ts';

type Row = OffsetRange & { state: 'pending' | 'delivered'; attemptCount: number; dueAt: number; isLeased: boolean };
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

  /** The step of a dispatcher at its start, and when the webhook was changed. */
  const read = (): void => {
    const behind = [...rows.values()].filter(({ first }) => first >= covered);
    const { next, gaps } = beyond(
      covered,
      behind.toSorted((one, other) => one.first - other.first),
    );
    const dueAt = Math.min(NEVER, ...pending().map((row) => row.dueAt));
    found = { webhookNumber: 1, hold: null, coveredOffset: covered, next, end, gaps, dueAt, sentAt: null };
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
        'publish',
        'claim',
        'claim',
        'answer',
        'delivered',
        'delivered',
        'retry',
        'release',
        'wait',
        'wait',
        'crash',
        'read',
        'read',
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
        { numRuns: 200 },
      );
    });
});

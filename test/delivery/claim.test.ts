import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { cutBatches, idleAt, stopReason, withinAllowance } from '../../src/delivery/claim.ts';
import type { DeliveryTarget } from '../../src/domain/batch.ts';
import { BATCH_BYTES } from '../../src/domain/limits.ts';
import { NEVER } from '../../src/store/port/dispatch.ts';
import { batchOf, progressOf } from '../support/attempts.ts';
import { NOW } from '../support/store.ts';

describe('batches that are due, under a rate', () => {
  const batches = [batchOf(0, 9), batchOf(10, 19), batchOf(20, 20)];

  it('are taken until the allowance is used up, the last going beyond it', () => {
    const table = [
      [0, 0],
      [1, 1],
      [10, 1],
      [11, 2],
      [20, 2],
      [21, 3],
      [Number.POSITIVE_INFINITY, 3],
    ] as const;
    for (const [records, taken] of table) assert.deepEqual(withinAllowance(batches, records), batches.slice(0, taken));
  });
});

describe('the reason why a webhook does not send', () => {
  const key = { expiresAt: NOW + 1 };
  const target = (more: {
    enabled?: boolean;
    keyName?: string | null;
    key?: { expiresAt: number | null } | null;
  }): DeliveryTarget => {
    const { enabled = true, keyName = null } = more;
    return {
      endpoint: { enabled },
      webhook: { encryptionKeyName: keyName },
      key: more.key ?? null,
    } as unknown as DeliveryTarget;
  };

  it('is a disabled endpoint, an expired key or a missing key', () => {
    const table = [
      [target({}), null],
      [target({ keyName: 'k', key }), null],
      [target({ keyName: 'k', key: { expiresAt: null } }), null],
      [target({ enabled: false, keyName: 'k' }), 'endpoint_disabled'],
      [target({ keyName: 'k', key: { expiresAt: NOW } }), 'encryption_key_expired'],
      [target({ keyName: 'k' }), 'encryption_key_missing'],
    ] as const;
    for (const [asked, reason] of table) assert.equal(stopReason(asked, NOW), reason);
  });
});

describe('an idle webhook', () => {
  it('is due when it was silent for heartbeatSeconds since it started or last sent', () => {
    const started = progressOf({ stateAt: NOW });
    assert.equal(idleAt({ heartbeatSeconds: 300 }, started).heartbeatAt, NOW + 300_000);
    assert.equal(idleAt({ heartbeatSeconds: 300 }, { ...started, sentAt: NOW + 5 }).heartbeatAt, NOW + 300_005);
    assert.equal(idleAt({ heartbeatSeconds: 0 }, started).heartbeatAt, NEVER);
  });

  it('renews its session 24 hours after it began', () => {
    const progress = progressOf({ sessionAt: NOW - 5, stateAt: NOW });
    assert.equal(idleAt({ heartbeatSeconds: 0 }, progress).renewAt, NOW - 5 + 86_400_000);
    assert.equal(idleAt({ heartbeatSeconds: 0 }, { ...progress, sessionAt: null }).renewAt, NOW + 86_400_000);
  });
});

describe('cutting the log into batches', () => {
  const log = fc
    .array(fc.oneof(fc.nat(3000), fc.integer({ min: 0, max: 300_000 }), fc.integer({ min: 0, max: 2 * BATCH_BYTES })), {
      maxLength: 80,
    })
    .chain((sizes) =>
      fc.nat(1000).map((start) => sizes.map((bytes, n) => ({ offset: start + n, bytes, createdAt: NOW + n }))),
    );
  const limits = fc.record({
    maxRecords: fc.integer({ min: 1, max: 40 }),
    maxBatches: fc.integer({ min: 1, max: 40 }),
    recordsAllowed: fc.oneof(fc.integer({ min: 1, max: 60 }), fc.constant(Number.POSITIVE_INFINITY)),
  });

  it('covers a stretch from its first record without gap or overlap, within every limit, and stops only at one', () => {
    fc.assert(
      fc.property(log, limits, (waiting, { maxRecords, maxBatches, recordsAllowed }) => {
        const batches = cutBatches(waiting, { maxRecords, maxBatches, recordsAllowed });
        for (const { firstOffset, createdAt } of batches)
          assert.equal(createdAt, waiting.find(({ offset }) => offset === firstOffset)?.createdAt);
        const taken = batches.flatMap(({ firstOffset, lastOffset }) => {
          const records = waiting.filter(({ offset }) => offset >= firstOffset && offset <= lastOffset);
          const bytes = records.reduce((sum, record) => sum + record.bytes, 0);
          assert.ok(records.length >= 1 && records.length <= maxRecords);
          assert.ok(bytes <= BATCH_BYTES || records.length === 1);
          return records;
        });
        assert.deepEqual(taken, waiting.slice(0, taken.length));
        assert.ok(batches.length <= maxBatches && taken.length <= recordsAllowed);
        const next = waiting[taken.length];
        if (next === undefined || taken.length === recordsAllowed) return;
        // The remaining records did not fit into the last batch, and no further batch was allowed.
        assert.equal(batches.length, maxBatches);
        const last = batches.at(-1) ?? assert.fail();
        const records = waiting.filter(({ offset }) => offset >= last.firstOffset && offset <= last.lastOffset);
        const full = records.reduce((sum, { bytes }) => sum + bytes, next.bytes) > BATCH_BYTES;
        assert.ok(full || records.length === maxRecords);
      }),
    );
  });

  it('fills each batch before it begins the next', () => {
    const waiting = Array.from({ length: 7 }, (_, offset) => ({ offset, bytes: 1, createdAt: NOW }));
    const cut = (maxRecords: number, recordsAllowed = 100): unknown =>
      cutBatches(waiting, { maxRecords, maxBatches: 9, recordsAllowed }).map((b) => [b.firstOffset, b.lastOffset]);
    assert.deepEqual(cut(3), [
      [0, 2],
      [3, 5],
      [6, 6],
    ]);
    assert.deepEqual(cut(100), [[0, 6]]);
    assert.deepEqual(cut(3, 4), [
      [0, 2],
      [3, 3],
    ]);
    assert.deepEqual(cutBatches([], { maxRecords: 1, maxBatches: 1, recordsAllowed: 1 }), []);
  });

  it('ends a batch at 1 MiB, and sends a larger record as a batch of its own', () => {
    const half = BATCH_BYTES / 2;
    const cut = (...sizes: number[]): unknown =>
      cutBatches(
        sizes.map((bytes, offset) => ({ offset, bytes, createdAt: NOW })),
        { maxRecords: 9, maxBatches: 9, recordsAllowed: 99 },
      ).map((b) => [b.firstOffset, b.lastOffset]);
    assert.deepEqual(cut(half, half, 1), [
      [0, 1],
      [2, 2],
    ]);
    assert.deepEqual(cut(half, half + 1, 1), [
      [0, 0],
      [1, 2],
    ]);
    assert.deepEqual(cut(1, 2 * BATCH_BYTES, 1), [
      [0, 0],
      [1, 1],
      [2, 2],
    ]);
  });
});

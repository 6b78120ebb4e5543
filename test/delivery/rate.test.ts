import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createRateLimiter } from '../../src/delivery/rate-limiter.ts';
import { NOW } from '../support/store.ts';

type Sent = { readonly at: number; readonly records: number };

/** Sends as much as the limiter allows whenever it is asked, until `seconds` have passed; `pauses` says how long each look takes. */
function sendAll(perSecond: number, seconds: number, pauses: readonly number[], maxBatch = 100): Sent[] {
  const limiter = createRateLimiter();
  const sent: Sent[] = [];
  let now = NOW;
  for (let look = 0; now < NOW + seconds * 1000; look += 1) {
    const { records, nextAt } = limiter.allowance(1, perSecond, { now, wanted: maxBatch, reserved: 0 });
    const taken = Math.min(records, maxBatch);
    if (taken > 0) {
      limiter.spend(1, perSecond, taken, now);
      sent.push({ at: now, records: taken });
    }
    const pause = pauses[look % pauses.length] ?? 0;
    now = Math.max(now + pause, taken > 0 ? now : nextAt);
  }
  return sent;
}

/** The most records that any window of that length holds. */
function most(sent: readonly Sent[], windowMs: number): number {
  return Math.max(
    0,
    ...sent.map(({ at }) =>
      sent.filter((one) => one.at >= at && one.at < at + windowMs).reduce((sum, { records }) => sum + records, 0),
    ),
  );
}

describe('a rate', () => {
  it('holds within 5 % over any ten seconds, from above and, with enough records, from below', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 10, max: 2000 }),
        fc.array(fc.integer({ min: 0, max: 90 }), { minLength: 1, maxLength: 20 }),
        fc.constantFrom(1, 10, 100, 1000),
        (perSecond, pauses, maxBatch) => {
          // Batches that cannot carry the rate however often the limiter is asked say nothing of the limiter.
          const pause = Math.max(1, pauses.reduce((sum, ms) => sum + ms, 0) / pauses.length);
          fc.pre((maxBatch * 1000) / pause > perSecond * 1.5);
          const sent = sendAll(perSecond, 20, pauses, maxBatch);
          assert.ok(most(sent, 10_000) <= perSecond * 10 * 1.05 + 1, `${most(sent, 10_000)} of ${perSecond}/s in 10 s`);
          const total = sent.reduce((sum, { records }) => sum + records, 0);
          assert.ok(total >= perSecond * 20 * 0.95 - 1, `${total} of ${perSecond}/s in 20 s`);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('below one a second sends one record at each interval', () => {
    const sent = sendAll(0.1, 60, [100]);
    assert.deepEqual(
      sent.map(({ records }) => records),
      [1, 1, 1, 1, 1, 1],
    );
    assert.deepEqual(
      sent.map(({ at }) => Math.round((at - NOW) / 1000)),
      [0, 10, 20, 30, 40, 50],
    );
  });

  it('is each webhook’s own', () => {
    const limiter = createRateLimiter();
    const ask = (webhook: number) => limiter.allowance(webhook, 10, { now: NOW, wanted: 100, reserved: 0 }).records;
    assert.deepEqual([ask(1), ask(2)], [2, 2]);
    limiter.spend(1, 10, 2, NOW);
    assert.deepEqual([ask(1), ask(2)], [0, 2]);
  });

  it('without a limit allows everything', () => {
    const limiter = createRateLimiter();
    limiter.spend(1, null, 1e9, NOW);
    assert.deepEqual(limiter.allowance(1, null, { now: NOW, wanted: 1, reserved: 1e9 }), {
      records: Number.POSITIVE_INFINITY,
      nextAt: NOW,
    });
  });

  it('counts claimed records that are not sent yet', () => {
    const limiter = createRateLimiter();
    assert.equal(limiter.allowance(1, 100, { now: NOW, wanted: 1, reserved: 15 }).records, 5);
    assert.equal(limiter.allowance(1, 100, { now: NOW, wanted: 1, reserved: 20 }).records, 0);
  });

  it('delays the records after a batch that was too large for it', () => {
    const limiter = createRateLimiter();
    limiter.spend(1, 10, 102, NOW);
    const ask = (now: number) => limiter.allowance(1, 10, { now, wanted: 1, reserved: 0 });
    assert.deepEqual(ask(NOW), { records: 0, nextAt: NOW + 10_100 });
    assert.equal(ask(NOW + 10_099).records, 0);
    assert.equal(ask(NOW + 10_100).records, 1);
  });

  it('that changes carries over no debt, and one that was removed starts again with a full bucket', () => {
    const limiter = createRateLimiter();
    const ask = (perSecond: number | null, now: number) =>
      limiter.allowance(1, perSecond, { now, wanted: 1, reserved: 0 });
    limiter.spend(1, 1000, 1000, NOW);
    assert.deepEqual(ask(1, NOW), { records: 0, nextAt: NOW + 1000 });
    assert.equal(ask(1, NOW + 1000).records, 1);
    limiter.spend(1, 1, 101, NOW + 1000);
    assert.deepEqual(ask(1, NOW + 1000), { records: 0, nextAt: NOW + 102_000 });
    assert.deepEqual(ask(100, NOW + 1000), { records: 0, nextAt: NOW + 1010 });
    limiter.spend(1, 100, 100, NOW + 1000);
    assert.equal(ask(null, NOW + 1000).records, Number.POSITIVE_INFINITY);
    assert.equal(ask(100, NOW + 1000).records, 20);
  });

  it('waits until a request is worthwhile if many records wait, and sends the last few immediately', () => {
    const limiter = createRateLimiter();
    limiter.spend(1, 1000, 200, NOW);
    assert.deepEqual(limiter.allowance(1, 1000, { now: NOW, wanted: 100, reserved: 0 }), {
      records: 0,
      nextAt: NOW + 100,
    });
    assert.deepEqual(limiter.allowance(1, 1000, { now: NOW + 3, wanted: 2, reserved: 0 }), {
      records: 3,
      nextAt: NOW + 3,
    });
  });

  it('gains and loses no tokens when the clock is set back', () => {
    const limiter = createRateLimiter();
    limiter.spend(1, 10, 2, NOW);
    const ask = (now: number) => limiter.allowance(1, 10, { now, wanted: 1, reserved: 0 }).records;
    assert.equal(ask(NOW - 3_600_000), 0);
    assert.equal(ask(NOW - 3_600_000 + 99), 0);
    assert.equal(ask(NOW - 3_600_000 + 100), 1);
  });
});

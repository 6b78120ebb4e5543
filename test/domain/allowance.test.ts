import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { type Allowance, giveBackTo, takeFrom } from '../../src/domain/allowance.ts';

const NOW = 1_000_000;

describe('an allowance of events a second', () => {
  it('is full at first, takes exactly its second, and then one event each 1000 / n milliseconds', () => {
    let bucket: Allowance | null = null;
    const take = (at: number, events = 1): boolean => {
      const result = takeFrom(bucket, { perSecond: 4, events }, at);
      if (result.ok) bucket = result.after;
      return result.ok;
    };
    assert.deepEqual(
      [1, 1, 1, 1, 1].map((events) => take(NOW, events)),
      [true, true, true, true, false],
    );
    assert.equal(take(NOW + 249), false);
    assert.equal(take(NOW + 250), true);
    assert.equal(take(NOW + 250), false);
    assert.equal(take(NOW + 60_000, 4), true, 'it never has more than one second');
    assert.equal(take(NOW + 60_000), false);
  });

  it('takes nothing for events of which too few are left', () => {
    const three = takeFrom(null, { perSecond: 4, events: 3 }, NOW);
    assert.ok(three.ok);
    const two = takeFrom(three.after, { perSecond: 4, events: 2 }, NOW);
    assert.deepEqual(two, { ok: false, waitMs: 250 });
    assert.ok(takeFrom(three.after, { perSecond: 4, events: 1 }, NOW).ok);
  });

  it('gets back at most what it can hold', () => {
    assert.equal(giveBackTo(null, { perSecond: 4, events: 3 }, NOW).thousandths, 4000);
    const two = takeFrom(null, { perSecond: 4, events: 2 }, NOW);
    assert.ok(two.ok);
    assert.equal(giveBackTo(two.after, { perSecond: 4, events: 1 }, NOW).thousandths, 3000);
  });

  it('goes on from the new time when a clock was set back by more than a minute', () => {
    const all = takeFrom(null, { perSecond: 10, events: 10 }, NOW);
    assert.ok(all.ok);
    assert.deepEqual(takeFrom(all.after, { perSecond: 10, events: 1 }, NOW - 60_001), { ok: false, waitMs: 100 });
  });

  it('adds nothing while a clock that was set back has not caught up, and counts a lowered limit immediately', () => {
    const all = takeFrom(null, { perSecond: 10, events: 10 }, NOW);
    assert.ok(all.ok);
    assert.deepEqual(takeFrom(all.after, { perSecond: 10, events: 1 }, NOW - 5000), { ok: false, waitMs: 5100 });
    const lowered = takeFrom(
      takeFrom(null, { perSecond: 10, events: 1 }, NOW).ok ? { thousandths: 9000, at: NOW } : null,
      {
        perSecond: 2,
        events: 3,
      },
      NOW,
    );
    assert.equal(lowered.ok, false);
  });

  const steps = fc.array(
    fc.record({ waitMs: fc.integer({ min: 0, max: 700 }), events: fc.integer({ min: 1, max: 12 }) }),
    {
      maxLength: 60,
    },
  );

  it('accepts in no period more than the events of that time and of one second, and refuses only events beyond that', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 50 }), steps, (perSecond, asked) => {
        let bucket: Allowance | null = null;
        let now = NOW;
        const passed: { readonly at: number; readonly events: number }[] = [];
        /** Whether these events would be too many in any period that ends now. */
        const wouldExceed = (events: number): boolean =>
          [...passed, { at: now, events: 0 }].some(({ at }) => {
            const since = passed.filter((one) => one.at >= at).reduce((sum, one) => sum + one.events, 0);
            return (since + events) * 1000 > perSecond * (1000 + now - at);
          });
        for (const { waitMs, events } of asked) {
          now += waitMs;
          const exceeds = wouldExceed(events);
          const result = takeFrom(bucket, { perSecond, events }, now);
          assert.equal(result.ok, !exceeds);
          if (result.ok) {
            bucket = result.after;
            passed.push({ at: now, events });
          } else if (events <= perSecond) {
            assert.equal(
              takeFrom(bucket, { perSecond, events }, now + result.waitMs).ok,
              true,
              'the wait is long enough',
            );
            assert.equal(
              takeFrom(bucket, { perSecond, events }, now + result.waitMs - 1).ok,
              false,
              'and not too long',
            );
          }
        }
      }),
    );
  });
});

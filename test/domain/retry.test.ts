import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ATTEMPTS_DEFAULT, ATTEMPTS_MAX } from '../../src/domain/limits.ts';
import { nextDelayMs, parseRetryAfter, RETRY_AFTER_MAX_MS } from '../../src/domain/retry.ts';

const SECOND = 1000;
const HOUR = 3_600_000;
const least = (): number => 0;
const most = (): number => 1 - Number.EPSILON;
const NOW = Date.parse('2026-11-21T05:00:00.000Z');

test('exponential doubles from 5 s to 12 h and jitters the upper half', () => {
  const longest = (attemptNumber: number): number =>
    nextDelayMs({ policy: 'exponential', attemptNumber, random: most });
  const shortest = (attemptNumber: number): number =>
    nextDelayMs({ policy: 'exponential', attemptNumber, random: least });
  for (const [attemptNumber, seconds] of [
    [1, 5],
    [2, 10],
    [3, 20],
    [10, 2560],
    [14, 40_960],
    [15, 43_200],
    [16, 43_200],
  ] as const) {
    assert.equal(longest(attemptNumber), seconds * SECOND);
    assert.equal(shortest(attemptNumber), (seconds * SECOND) / 2);
  }
  assert.equal(longest(2000), 12 * HOUR);
});

test('the schedule sums up to what its description says', () => {
  const span = (policy: 'exponential' | 'linear', attempts: number): number =>
    Array.from({ length: attempts - 1 }, (_, i) => nextDelayMs({ policy, attemptNumber: i + 1, random: most })).reduce(
      (sum, delay) => sum + delay,
    );
  assert.equal(span('exponential', ATTEMPTS_DEFAULT), 297_915 * SECOND);
  assert.equal(span('exponential', ATTEMPTS_MAX), 3_753_915 * SECOND);
  assert.equal(span('linear', ATTEMPTS_DEFAULT), 95 * 60 * SECOND);
  assert.equal(span('linear', ATTEMPTS_MAX), 41.25 * HOUR);
});

test('linear is 30 s, 60 s, 90 s and draws no random number', () => {
  const random = (): number => assert.fail('drawn');
  const delays = [1, 2, 3].map((attemptNumber) => nextDelayMs({ policy: 'linear', attemptNumber, random }));
  assert.deepEqual(delays, [30 * SECOND, 60 * SECOND, 90 * SECOND]);
});

test('Retry-After is the least that is waited and a day the most it can ask for', () => {
  const question = { policy: 'linear', attemptNumber: 2, random: least } as const;
  assert.equal(nextDelayMs({ ...question, retryAfterMs: 61 * SECOND }), 61 * SECOND);
  assert.equal(nextDelayMs({ ...question, retryAfterMs: 59 * SECOND }), 60 * SECOND);
  assert.equal(nextDelayMs({ ...question, retryAfterMs: null }), 60 * SECOND);
  assert.equal(nextDelayMs({ ...question, retryAfterMs: 9e15 }), RETRY_AFTER_MAX_MS);
});

test('every delay is a whole number of milliseconds between half the base and a day', () => {
  fc.assert(
    fc.property(
      fc.constantFrom('exponential', 'linear'),
      fc.integer({ min: 1, max: ATTEMPTS_MAX }),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      fc.option(fc.nat()),
      (policy, attemptNumber, drawn, retryAfterMs) => {
        const delay = nextDelayMs({ policy, attemptNumber, random: () => drawn, retryAfterMs });
        assert.ok(Number.isInteger(delay) && delay >= 2500 && delay <= RETRY_AFTER_MAX_MS, `${delay}`);
        assert.ok(delay >= Math.min(retryAfterMs ?? 0, RETRY_AFTER_MAX_MS));
      },
    ),
  );
});

test('Retry-After is read as seconds or as any of the three forms of HTTP date', () => {
  const table: readonly (readonly [string | undefined, number | null])[] = [
    ['120', 120 * SECOND],
    [' 0 ', 0],
    ['86400', RETRY_AFTER_MAX_MS],
    ['86401', RETRY_AFTER_MAX_MS],
    ['9'.repeat(400), RETRY_AFTER_MAX_MS],
    ['Sat, 21 Nov 2026 05:01:00 GMT', 60 * SECOND],
    ['Saturday, 21-Nov-26 05:01:00 GMT', 60 * SECOND],
    ['Sat Nov 21 05:01:00 2026', 60 * SECOND],
    ['Sun Nov  1 05:01:00 2026', 0],
    ['Sat, 21 Nov 2026 05:00:60 GMT', 60 * SECOND],
    ['Fri, 20 Nov 2026 05:01:00 GMT', 0],
    ['Sunday, 06-Nov-94 08:49:37 GMT', 0],
    ['Tuesday, 06-Nov-76 08:49:37 GMT', RETRY_AFTER_MAX_MS],
    ['Thu, 01 Jan 1970 00:00:00 GMT', 0],
    ['Sat, 01 Jan 0001 00:00:00 GMT', 0],
    ['Fri, 31 Dec 9999 23:59:59 GMT', RETRY_AFTER_MAX_MS],
    [undefined, null],
    ['', null],
    ['-1', null],
    ['1.5', null],
    ['1e3', null],
    ['0x10', null],
    ['120, 120', null],
    ['soon', null],
    ['2026-11-21T05:01:00Z', null],
    ['Sat, 21 Nov 2026 05:01:00 CET', null],
    ['Sat, 21 Nov 2026 24:00:00 GMT', null],
    ['Mon, 30 Feb 2026 05:01:00 GMT', null],
    ['Mon, 00 Feb 2026 05:01:00 GMT', null],
    ['sat, 21 nov 2026 05:01:00 gmt', null],
  ];
  for (const [header, expected] of table) assert.equal(parseRetryAfter(header, NOW), expected, `${header}`);
});

test('any HTTP date round-trips and any other text is refused without throwing', () => {
  const seconds = fc.date({ min: new Date(NOW), max: new Date(NOW + RETRY_AFTER_MAX_MS), noInvalidDate: true });
  fc.assert(
    fc.property(seconds, (date) => {
      assert.equal(
        parseRetryAfter(date.toUTCString(), NOW),
        Math.max(0, Math.floor(date.getTime() / 1000) * 1000 - NOW),
      );
    }),
  );
  fc.assert(
    fc.property(
      fc.oneof(fc.string(), fc.stringMatching(/^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/)),
      (text) => {
        const delay = parseRetryAfter(text, NOW);
        assert.ok(delay === null || (delay >= 0 && delay <= RETRY_AFTER_MAX_MS));
      },
    ),
  );
});

test('waits as a schedule lists, then as its last entry, and longer if Retry-After says so', () => {
  const waits = (attemptNumber: number, retryAfterMs: number | null = null): number =>
    nextDelayMs({ policy: 'schedule', delaysSeconds: [5, 300, 604_800], attemptNumber, random: least, retryAfterMs });
  assert.deepEqual(
    [1, 2, 3, 4].map((attemptNumber) => waits(attemptNumber)),
    [5000, 300_000, 604_800_000, 604_800_000],
  );
  assert.deepEqual([waits(1, 6000), waits(2, 6000)], [6000, 300_000]);
});

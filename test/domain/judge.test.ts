import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FAULT_PAUSE_MS } from '../../src/domain/judge.ts';
import { failure } from '../../src/domain/outcome.ts';
import { nextDelayMs } from '../../src/domain/retry.ts';
import { answered, batchOf, ERROR_CLASSES, HEALTHY } from '../support/attempts.ts';
import { HALF_IDS, half, judged, STARTED_AT } from '../support/judged.ts';
import { NOW } from '../support/store.ts';

const retryAt = (attemptNumber: number, retryAfterMs: number | null = null): number =>
  NOW + nextDelayMs({ policy: 'exponential', attemptNumber, random: half, retryAfterMs });

describe('a success', () => {
  it('delivers the batch and clears earlier failures', () => {
    const ill = {
      ...HEALTHY,
      stateReason: 'dns',
      failingSinceAt: 5,
      failureStreak: 7,
      probeAt: NOW + 9,
      deadStreak: 3,
    };
    for (const status of [200, 201, 202, 204, 299]) {
      assert.deepEqual(judged({ outcome: answered(status), progress: ill }), {
        fate: { kind: 'delivered', at: NOW },
        health: { ...HEALTHY, sentAt: STARTED_AT },
        event: 'succeeded',
        stopReason: null,
      });
    }
  });

  it('of a heartbeat clears them too, and has no batch', () => {
    assert.equal(judged({ batch: null }).fate, null);
    assert.equal(judged({ batch: null }).event, 'succeeded');
  });

  it('does not move the time of the last attempt back', () => {
    const later = { ...HEALTHY, sentAt: NOW - 1 };
    assert.equal(judged({ progress: later }).health.sentAt, NOW - 1);
    assert.equal(judged({ progress: later, outcome: answered(500) }).health.sentAt, NOW - 1);
  });
});

describe('a fault of the service', () => {
  const outcome = failure('internal', 'the request could not be made (EMFILE)');
  const at = NOW + FAULT_PAUSE_MS;

  it('uses up no attempt and leaves the health of the webhook unchanged', () => {
    const ill = {
      ...HEALTHY,
      stateReason: 'dns',
      stateDetail: 'why',
      sentAt: NOW - 5,
      failingSinceAt: 5,
      failureStreak: 7,
      deadStreak: 9,
    };
    for (const progress of [HEALTHY, ill]) {
      for (const attemptNumber of [1, 20]) {
        const batch = batchOf(0, 9, { attemptNumber, contentRefusals: 1 });
        assert.deepEqual(judged({ outcome, batch, progress }), {
          fate: { kind: 'release', at },
          health: { ...progress, probeAt: at },
          event: null,
          stopReason: null,
        });
      }
    }
  });

  it('of a heartbeat pauses the webhook for as long', () => {
    const { fate, health } = judged({ outcome, batch: null });
    assert.deepEqual([fate, health.probeAt], [null, at]);
  });

  it('does not shorten a longer wait that the endpoint asked for', () => {
    const progress = { ...HEALTHY, failureStreak: 1, probeAt: NOW + 60_000 };
    assert.equal(judged({ outcome, progress }).health.probeAt, NOW + 60_000);
  });
});

describe('a failure of the endpoint', () => {
  const statuses = [100, 101, 301, 302, 304, 401, 403, 404, 407, 408, 425, 429, 500, 502, 503, 504, 599];
  const failures = [
    ...statuses.map((status) => [`status ${status}`, answered(status)] as const),
    // A reset may be a lost 413, and has a test of its own.
    ...ERROR_CLASSES.filter((errorClass) => errorClass !== 'internal' && errorClass !== 'reset').map(
      (errorClass) => [errorClass, failure(errorClass, 'why')] as const,
    ),
    // The token endpoint is another server: its refusal says nothing about the records.
    ['oauth_token with a 400', failure('oauth_token', 'why', { answer: answered(400).answer })],
    ['oauth_token with a 410', failure('oauth_token', 'why', { answer: answered(410).answer })],
    ['oauth_token with a 413', failure('oauth_token', 'why', { answer: answered(413).answer })],
  ] as const;
  for (const [name, outcome] of failures) {
    it(`such as ${name} is retried whole, and counts against the endpoint`, () => {
      const before = { ...HEALTHY, failureStreak: 2, deadStreak: 4 };
      const batch = batchOf(0, 9, { attemptNumber: 3, contentRefusals: 1 });
      const { fate, health, event, stopReason } = judged({ outcome, batch, progress: before });
      assert.deepEqual(fate, { kind: 'retry', at: retryAt(3), contentRefusals: 0 });
      assert.deepEqual(health, {
        stateReason: outcome.ok ? '' : outcome.errorClass,
        stateDetail: outcome.ok ? '' : outcome.message,
        sentAt: STARTED_AT,
        failingSinceAt: NOW,
        failureStreak: 3,
        probeAt: null,
        deadStreak: 4,
      });
      assert.deepEqual([event, stopReason], ['failed', null]);
    });
  }

  it('is probed immediately after ten failures in a row, then after 1 s, 2 s, 4 s and so on up to 30 s', () => {
    const delays = [0, 9, 10, 11, 12, 14, 15, 50, 2000].map((failureStreak) => {
      const { probeAt } = judged({ outcome: answered(500), progress: { ...HEALTHY, failureStreak } }).health;
      return (probeAt ?? NOW) - NOW;
    });
    assert.deepEqual(delays, [0, 0, 1000, 2000, 4000, 16_000, 30_000, 30_000, 30_000]);
  });

  it('keeps the moment since which it fails', () => {
    const failing = { ...HEALTHY, failingSinceAt: NOW - 1000 };
    assert.equal(judged({ outcome: answered(500), progress: failing }).health.failingSinceAt, NOW - 1000);
  });

  it('is retried no sooner than Retry-After asks', () => {
    const table = [
      ['3600', retryAt(1, 3_600_000)],
      ['1', retryAt(1)],
      ['Sat, 21 Nov 2026 06:00:00 GMT', retryAt(1, 3_600_000)],
      ['nonsense', retryAt(1)],
      ['999999999', retryAt(1, 86_400_000)],
    ] as const;
    for (const [header, at] of table) {
      const { fate } = judged({ outcome: answered(503, { 'retry-after': header }) });
      assert.equal(fate?.at, at, header);
    }
  });

  describe('with a Retry-After', () => {
    const asking = (status: number, seconds: number, progress = HEALTHY): number | null =>
      judged({ outcome: answered(status, { 'retry-after': String(seconds) }), progress }).health.probeAt;

    it('gets no request until then if the status is 429 or 503', () => {
      for (const status of [429, 503]) {
        assert.equal(asking(status, 60), NOW + 60_000);
        assert.equal(asking(status, 999_999), NOW + 86_400_000);
        assert.equal(asking(status, 0), null);
      }
      for (const status of [301, 404, 408, 500, 502, 504]) assert.equal(asking(status, 60), null, String(status));
      const token = failure('oauth_token', 'why', { answer: answered(503, { 'retry-after': '60' }).answer });
      assert.equal(judged({ outcome: token }).health.probeAt, null, 'the token endpoint is another server');
    });

    it('gets no request before its next probe', () => {
      assert.equal(asking(503, 7, { ...HEALTHY, failureStreak: 50 }), NOW + 30_000);
    });

    it('gets no request for as long as it asked, even if other requests ended in between', () => {
      const held = { ...HEALTHY, failureStreak: 1, failingSinceAt: NOW - 5, probeAt: NOW + 60_000 };
      assert.equal(judged({ outcome: answered(500), progress: held }).health.probeAt, NOW + 60_000);
      assert.equal(judged({ outcome: answered(400), progress: held }).health.probeAt, NOW + 60_000);
      assert.equal(asking(429, 5, held), NOW + 60_000);
      assert.equal(asking(429, 90, held), NOW + 90_000);
      assert.equal(asking(429, 5, { ...held, probeAt: NOW }), NOW + 5000, 'an earlier pause');
      assert.equal(judged({ progress: held }).health.probeAt, null, 'a success ends it');
    });
  });
});

describe('an answer about the content', () => {
  const statuses = [400, 402, 405, 406, 409, 411, 412, 414, 415, 417, 418, 421, 422, 423, 424, 426, 428, 431, 451, 499];
  for (const status of statuses) {
    it(`such as ${status} is retried once and then halved, and does not count against the endpoint`, () => {
      const first = judged({ outcome: answered(status) });
      assert.deepEqual(first.fate, { kind: 'retry', at: retryAt(1), contentRefusals: 1 });
      assert.deepEqual([first.health.failureStreak, first.health.probeAt], [0, null]);
      assert.deepEqual([first.event, first.health.failingSinceAt], ['failed', NOW]);
      const second = judged({
        outcome: answered(status),
        batch: batchOf(0, 9, { attemptNumber: 2, contentRefusals: 1 }),
      });
      assert.deepEqual(second.fate, { kind: 'halve', at: NOW, halfIds: HALF_IDS });
    });
  }

  it('does not move the probe of a failing endpoint', () => {
    const failing = { ...HEALTHY, failingSinceAt: 1, failureStreak: 3, probeAt: NOW + 500 };
    const { health } = judged({ outcome: answered(422), progress: { ...failing, failingSinceAt: NOW } });
    assert.deepEqual([health.failureStreak, health.probeAt], [3, NOW + 500]);
  });

  it('is halved immediately when it is 413', () => {
    assert.deepEqual(judged({ outcome: answered(413) }).fate, { kind: 'halve', at: NOW, halfIds: HALF_IDS });
  });

  it('sends the halves after Retry-After, if there is one', () => {
    const outcome = answered(413, { 'retry-after': '30' });
    assert.deepEqual(judged({ outcome }).fate, { kind: 'halve', at: NOW + 30_000, halfIds: HALF_IDS });
  });

  it('to a single record is retried like any other, however often', () => {
    for (const status of [413, 422]) {
      const batch = batchOf(5, 5, { attemptNumber: 6, contentRefusals: 5 });
      const { fate } = judged({ outcome: answered(status), batch });
      assert.deepEqual(fate, { kind: 'retry', at: retryAt(6), contentRefusals: 6 });
    }
  });

  it('is halved after the second reset in a row without an answer: a 413 may have been lost with the connection', () => {
    const reset = failure('reset', 'closed');
    const first = judged({ outcome: reset });
    assert.deepEqual(first.fate, { kind: 'retry', at: retryAt(1), contentRefusals: 1 });
    assert.deepEqual([first.health.failureStreak, first.event], [1, 'failed']);
    const again = { ...batchOf(0, 9), attemptNumber: 2, contentRefusals: 1 };
    assert.deepEqual(judged({ outcome: reset, batch: again }).fate, { kind: 'halve', at: NOW, halfIds: HALF_IDS });
    for (const other of [failure('reset', 'closed', { answer: answered(200).answer }), failure('timeout', 'late')])
      assert.deepEqual(judged({ outcome: other, batch: again }).fate, {
        kind: 'retry',
        at: retryAt(2),
        contentRefusals: 0,
      });
  });

  it('halves at the last attempt too: each half has all its attempts', () => {
    const batch = batchOf(0, 1, { attemptNumber: 20, contentRefusals: 1 });
    assert.equal(judged({ outcome: answered(400), batch }).fate?.kind, 'halve');
  });
});

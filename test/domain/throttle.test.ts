import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import {
  type Attempt,
  CLIENT_FAILURES_MAX,
  createThrottle,
  FAILURE_WINDOW_MS,
  NETWORK_FAILURES_MAX,
} from '../../src/domain/throttle.ts';
import type { Throttle } from '../../src/store/port/failures.ts';

const NOW = 1_800_000_000_000;
const mine: Attempt = { network: '192.0.2.1', clientId: 'mine' };
const neighbour: Attempt = { network: mine.network, clientId: 'neighbour' };
const elsewhere: Attempt = { network: '192.0.2.2', clientId: mine.clientId };

function fail(throttle: Throttle, attempt: Attempt, times: number, now = NOW): void {
  for (let time = 0; time < times; time += 1) assert.equal(throttle.countFailure(attempt, now), null);
}

/** One failure of each of so many client ids of their own. */
function failAsMany(throttle: Throttle, network: string, many: number, now = NOW): void {
  for (let client = 0; client < many; client += 1) {
    assert.equal(throttle.countFailure({ network, clientId: `guess-${client}` }, now), null);
  }
}

describe('the throttle', () => {
  it('admits attempts that have not failed', () => {
    assert.equal(createThrottle().blockedForMs(mine, NOW), null);
  });

  it('blocks a client id after ten failures, only from that network', () => {
    const throttle = createThrottle();
    fail(throttle, mine, CLIENT_FAILURES_MAX - 1);
    assert.equal(throttle.blockedForMs(mine, NOW), null);
    fail(throttle, mine, 1);
    assert.equal(throttle.blockedForMs(mine, NOW), FAILURE_WINDOW_MS);
    assert.equal(throttle.blockedForMs(neighbour, NOW), null);
    assert.equal(throttle.blockedForMs(elsewhere, NOW), null);
  });

  it('blocks a network after a hundred failures of any client ids, and no other network', () => {
    const throttle = createThrottle();
    failAsMany(throttle, mine.network, NETWORK_FAILURES_MAX - 1);
    assert.equal(throttle.blockedForMs(neighbour, NOW), null);
    failAsMany(throttle, mine.network, 1);
    assert.equal(throttle.blockedForMs(neighbour, NOW), FAILURE_WINDOW_MS);
    assert.equal(throttle.blockedForMs(elsewhere, NOW), null);
  });

  it('takes no more than ten of the neighbours’ hundred for one client id, however long it goes on', () => {
    const throttle = createThrottle();
    fail(throttle, mine, CLIENT_FAILURES_MAX);
    for (let time = 0; time < 1000; time += 1) {
      assert.equal(throttle.countFailure(mine, NOW + 1), FAILURE_WINDOW_MS - 1);
    }
    failAsMany(throttle, mine.network, NETWORK_FAILURES_MAX - CLIENT_FAILURES_MAX - 1);
    assert.equal(throttle.blockedForMs(neighbour, NOW), null);
  });

  it('opens again a minute after the first of the ten, for as many as have left the minute', () => {
    const throttle = createThrottle();
    fail(throttle, mine, 1, NOW);
    fail(throttle, mine, CLIENT_FAILURES_MAX - 1, NOW + 30_000);
    assert.equal(throttle.blockedForMs(mine, NOW + 30_000), FAILURE_WINDOW_MS - 30_000);
    assert.equal(throttle.blockedForMs(mine, NOW + FAILURE_WINDOW_MS - 1), 1);
    assert.equal(throttle.blockedForMs(mine, NOW + FAILURE_WINDOW_MS), null);
    fail(throttle, mine, 1, NOW + FAILURE_WINDOW_MS);
    assert.equal(throttle.blockedForMs(mine, NOW + FAILURE_WINDOW_MS), 30_000);
  });

  it('tells no outcome after the tenth failure of attempts that were all let through together', () => {
    const throttle = createThrottle();
    const together = Array.from({ length: 50 }, () => throttle.blockedForMs(mine, NOW));
    assert.ok(together.every((wait) => wait === null));
    const told = together.map(() => throttle.countFailure(mine, NOW)).filter((wait) => wait === null);
    assert.equal(told.length, CLIENT_FAILURES_MAX);
    // The fifty-first had the right secret.
    assert.equal(throttle.blockedForMs(mine, NOW), FAILURE_WINDOW_MS);
  });

  it('never closes for longer than a minute, even when the clock was set back', () => {
    const throttle = createThrottle();
    fail(throttle, mine, CLIENT_FAILURES_MAX);
    assert.equal(throttle.blockedForMs(mine, NOW - 10_000), FAILURE_WINDOW_MS);
    assert.equal(throttle.blockedForMs(mine, NOW - 3_600_000), null);
  });

  it('tells client ids apart that share a long beginning', () => {
    const throttle = createThrottle();
    const clientId = 'x'.repeat(16_000);
    fail(throttle, { ...mine, clientId }, CLIENT_FAILURES_MAX);
    assert.notEqual(throttle.blockedForMs({ ...mine, clientId }, NOW), null);
    assert.equal(throttle.blockedForMs({ ...mine, clientId: `${clientId}y` }, NOW), null);
  });

  it('forgets the networks that were quiet longest once it remembers too much', () => {
    const throttle = createThrottle(1000);
    fail(throttle, mine, CLIENT_FAILURES_MAX);
    for (let network = 0; network < 9; network += 1) failAsMany(throttle, `net-${network}`, NETWORK_FAILURES_MAX);
    assert.notEqual(throttle.blockedForMs(mine, NOW), null);
    failAsMany(throttle, 'net-9', NETWORK_FAILURES_MAX);
    assert.notEqual(throttle.blockedForMs(mine, NOW), null);
    assert.equal(throttle.blockedForMs({ ...mine, network: 'net-0' }, NOW), null);
    assert.notEqual(throttle.blockedForMs({ ...mine, network: 'net-1' }, NOW), null);
  });

  it('remembers no more than that under guesses from very many networks', () => {
    const throttle = createThrottle(1000);
    const networks = Array.from({ length: 5000 }, (_, network) => `net-${network}`);
    for (const network of networks) fail(throttle, { ...mine, network }, CLIENT_FAILURES_MAX);
    const remembered = networks.filter((network) => throttle.blockedForMs({ ...mine, network }, NOW) !== null);
    assert.deepEqual(remembered, networks.slice(-1000 / CLIENT_FAILURES_MAX));
  });

  it('counts as a list of all failures would', () => {
    const attempt = fc.record({ network: fc.constantFrom('a', 'b'), clientId: fc.constantFrom('x', 'y', 'z') });
    const steps = fc.array(fc.tuple(attempt, fc.nat(4000)), { minLength: 50, maxLength: 400 });
    fc.assert(
      fc.property(steps, (taken) => {
        const throttle = createThrottle();
        const all: (Attempt & { at: number })[] = [];
        let now = NOW;
        for (const [{ network, clientId }, pauseMs] of taken) {
          now += pauseMs;
          const there = all.filter((other) => other.network === network && now - other.at < FAILURE_WINDOW_MS);
          const ofClient = there.filter((other) => other.clientId === clientId);
          const isOpen = ofClient.length < CLIENT_FAILURES_MAX && there.length < NETWORK_FAILURES_MAX;
          const waitMs = throttle.blockedForMs({ network, clientId }, now);
          assert.equal(waitMs === null, isOpen);
          if (waitMs !== null) assert.equal(throttle.blockedForMs({ network, clientId }, now + waitMs), null);
          assert.equal(throttle.countFailure({ network, clientId }, now), waitMs);
          if (isOpen) all.push({ network, clientId, at: now });
        }
      }),
      { numRuns: 50 },
    );
  });
});

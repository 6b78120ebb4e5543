/** The system's clock is set while the service runs, or while it does not. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FAILING_LIMIT_MS } from '../../src/domain/webhook-states.ts';
import { createClockWatch } from '../../src/observe/clock-watch.ts';
import { createLog } from '../../src/observe/log.ts';
import { CLOCK_STEP_MS } from '../../src/store/port/limits.ts';
import { type Connected, type Dispatching, openDispatching, until } from '../support/dispatching.ts';
import { housekeepingFor } from '../support/housekeeping.ts';
import { repeats } from '../support/repeats.ts';

repeats('postgres');

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const attempts = async ({ rows }: Dispatching, { number }: Connected): Promise<number> =>
  (await rows(`SELECT 1 FROM attempt WHERE webhook_number = ${number}`)).length;
const settledAttempts = (d: Dispatching, connected: Connected, count: number): Promise<void> =>
  until(
    `attempt ${count}`,
    async () =>
      (await attempts(d, connected)) === count &&
      (await d.rows('SELECT 1 FROM batch WHERE lease_owner IS NOT NULL')).length === 0,
  );
const dueInMs = async ({ rows, clock }: Dispatching): Promise<number> =>
  Number((await rows("SELECT next_attempt_at AS at FROM batch WHERE state = 'pending'"))[0]?.at) - clock();
const stateOf = async (d: Dispatching, { webhook }: Connected): Promise<string> =>
  (await d.webhooks.get(webhook.id)).progress.state;

/** A webhook whose receiver fails, with one record that has been tried once. */
async function failing(d: Dispatching, headers: Record<string, string> = {}): Promise<Connected> {
  const connected = await d.connect();
  connected.at.answer(() => ({ status: 503, headers }));
  await d.publishMany(1);
  return connected;
}

describe('a failing webhook', () => {
  it('is given up after 24 hours of failing, but not because the clock is set three days forward', async (t) => {
    const d = await openDispatching(t);
    const connected = await failing(d);
    await d.start();
    await settledAttempts(d, connected, 1);
    d.advance(10_000);
    await settledAttempts(d, connected, 2);
    d.setClock(3 * DAY_MS);
    await settledAttempts(d, connected, 3);
    assert.equal(await stateOf(d, connected), 'failing');
    const since = Number((await d.rows('SELECT failing_since_at AS at FROM webhook_progress'))[0]?.at);
    assert.equal(d.clock() - since, 10_000);
    // Housekeeping sees the same.
    await housekeepingFor(d).runOnce();
    assert.equal(await stateOf(d, connected), 'failing');
    d.advance(FAILING_LIMIT_MS - 10_000);
    await until('given up', async () => (await stateOf(d, connected)) === 'failed');
    assert.equal(await attempts(d, connected), 4);
  });

  it('is not given up because no process ran for days', async (t) => {
    const d = await openDispatching(t);
    const connected = await failing(d);
    const first = await d.start();
    await settledAttempts(d, connected, 1);
    d.advance(10_000);
    await settledAttempts(d, connected, 2);
    await first.stop();
    d.advance(3 * DAY_MS);
    await d.start();
    await settledAttempts(d, connected, 3);
    assert.equal(await stateOf(d, connected), 'failing');
  });

  it('is not given up by an outcome that is judged while the clock is being set', async (t) => {
    const d = await openDispatching(t);
    const connected = await failing(d);
    const { settlements } = d.store;
    const settle: typeof settlements.settle = async (settlement) => {
      const [settled] = settlement.batches;
      // After the look that notices it, with settings read before.
      if (settled?.attempt?.attemptNumber === 2) {
        d.setClock(3 * DAY_MS);
        await d.store.clockLead.moveWebhooks(3 * DAY_MS, d.clock());
      }
      return settlements.settle(settlement);
    };
    const store = { ...d.store, settlements: { ...settlements, settle } };
    await d.start({ store, checkClock: async () => undefined });
    await settledAttempts(d, connected, 1);
    d.advance(10_000);
    await settledAttempts(d, connected, 3);
    assert.equal(await stateOf(d, connected), 'failing');
  });
});

describe('when the clock is set back by hours', () => {
  it('a retry comes after the same pause', async (t) => {
    const d = await openDispatching(t);
    const connected = await failing(d);
    await d.start();
    await settledAttempts(d, connected, 1);
    const before = await dueInMs(d);
    d.setClock(-2 * HOUR_MS);
    await until('the retry has moved', async () => (await dueInMs(d)) === before);
    assert.equal(await attempts(d, connected), 1);
    d.advance(before);
    await settledAttempts(d, connected, 2);
  });

  it('a receiver that asked for a minute gets no request for a minute', async (t) => {
    const d = await openDispatching(t);
    const connected = await failing(d, { 'retry-after': '60' });
    await d.start();
    await settledAttempts(d, connected, 1);
    d.setClock(-2 * HOUR_MS);
    await until('the retry has moved', async () => (await dueInMs(d)) === 60_000);
    const probeAt = async (): Promise<number> =>
      Number((await d.rows('SELECT probe_at AS at FROM webhook_progress'))[0]?.at);
    assert.equal((await probeAt()) - d.clock(), 60_000);
    d.advance(60_000);
    await settledAttempts(d, connected, 2);
  });

  it('while the service is stopped, a retry waits as long after the start as it should have waited after its attempt', async (t) => {
    const d = await openDispatching(t);
    const connected = await failing(d);
    const first = await d.start();
    await settledAttempts(d, connected, 1);
    await first.stop();
    const before = await dueInMs(d);
    d.setClock(-2 * HOUR_MS);
    await d.start();
    assert.equal(await dueInMs(d), before);
    d.advance(before);
    await settledAttempts(d, connected, 2);
  });
});

describe('the watch over the clock', () => {
  const watching = () => {
    let [at, passed] = [1_000_000, 0];
    const moved: unknown[] = [];
    let broken = false;
    const check = createClockWatch({
      clock: () => at,
      stopwatch: () => passed,
      log: createLog('silent'),
      clockLead: {
        moveWebhooks: async (byMs) => {
          if (broken) throw new Error('disk full');
          moved.push(['webhooks', byMs]);
        },
        moveRetries: async (byMs) => void moved.push(['retries', byMs]),
      },
    });
    return {
      check,
      moved,
      pass: (ms: number) => {
        at += ms;
        passed += ms;
      },
      set: (ms: number) => {
        at += ms;
      },
      breaks: (is: boolean) => {
        broken = is;
      },
    };
  };

  it('moves nothing while time passes, even if the clock is adjusted in small steps', async () => {
    const w = watching();
    for (let n = 0; n < 100; n += 1) {
      w.pass(DAY_MS);
      w.set(CLOCK_STEP_MS - 1);
      await w.check();
    }
    assert.deepEqual(w.moved, []);
  });

  it('moves times once by the change of the clock, and retries only back', async () => {
    const w = watching();
    w.set(DAY_MS);
    await Promise.all([w.check(), w.check()]);
    w.set(-HOUR_MS);
    await w.check();
    await w.check();
    assert.deepEqual(w.moved, [
      ['webhooks', DAY_MS],
      ['webhooks', -HOUR_MS],
      ['retries', HOUR_MS],
    ]);
  });

  it('retries a write that failed', async () => {
    const w = watching();
    w.breaks(true);
    w.set(DAY_MS);
    await w.check();
    w.breaks(false);
    await w.check();
    assert.deepEqual(w.moved, [['webhooks', DAY_MS]]);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DELIVERIES_IN_FLIGHT_PER_ENDPOINT } from '../../src/delivery/limits.ts';
import { PROBE_FIRST_MS, PROBES_UNPACED } from '../../src/domain/judge.ts';
import { deferred } from '../support/deferred.ts';
import {
  type Connected,
  type Dispatching,
  isDrained,
  openDispatching,
  takeRecords,
  until,
} from '../support/dispatching.ts';
import { repeatsInSlowTier } from '../support/repeats.ts';
import { execute } from '../support/store.ts';

repeatsInSlowTier('postgres');

const SINGLE = { maxBatchRecords: 1 };
const progressOf = async (d: Dispatching, { webhook }: Connected) => (await d.webhooks.get(webhook.id)).progress;

/** Attempts that are settled, as the store has them. */
const settled = async ({ rows }: Dispatching, number: number): Promise<number> =>
  Number((await rows(`SELECT count(*) AS n FROM attempt WHERE webhook_number = ${number}`))[0]?.n);

describe('while an endpoint fails', () => {
  it('it is probed one request at a time, ten immediately, then after 1 s, 2 s, 4 s, …, and not in between', async (t) => {
    const d = await openDispatching(t);
    const ill = await d.connect({ webhook: SINGLE });
    let underWay = 0;
    ill.at.answer(async () => {
      underWay += 1;
      assert.equal(underWay, 1);
      await new Promise(setImmediate);
      underWay -= 1;
      return { status: 503 };
    });
    await d.publishMany(50);
    const dispatcher = await d.start();
    for (const [paced, waitMs] of [1000, 2000, 4000, 8000, 16_000].entries()) {
      const failures = PROBES_UNPACED + paced;
      await until('a failure', async () => (await settled(d, ill.number)) === failures + 1);
      assert.equal((await progressOf(d, ill)).probeAt, d.clock() + waitMs);
      d.advance(waitMs - 1);
      dispatcher.wake();
      // A retry and a new record are due now. Neither is sent before the probe.
      await d.looked();
      assert.equal(ill.at.deliveries.length, failures + 1);
      d.advance(1);
      dispatcher.wake();
    }
    await until('the last failure', async () => (await settled(d, ill.number)) === PROBES_UNPACED + 6);
  });

  it('it gets no record before the Retry-After of a 429 or 503, and all of them after it', async (t) => {
    const d = await openDispatching(t);
    const busy = await d.connect({ webhook: SINGLE });
    const other = await d.connect({ webhook: SINGLE });
    busy.at.answer(() => ({ status: 429, headers: { 'retry-after': '120' } }));
    await d.publishMany(20);
    const dispatcher = await d.start();
    await takeRecords(other.at, 20);
    await until('a failure', async () => (await settled(d, busy.number)) === 1);
    for (const waitMs of [6000, 113_999]) {
      d.advance(waitMs);
      dispatcher.wake();
      await d.looked();
      assert.equal(busy.at.deliveries.length, 1);
    }
    busy.at.answer(() => ({ status: 204 }));
    d.advance(1);
    dispatcher.wake();
    await until('the end', () => isDrained(d));
    assert.equal(busy.at.deliveries.length, 21);
  });

  it('every other webhook continues, even one at the same endpoint whose requests succeed', async (t) => {
    const d = await openDispatching(t);
    const ill = await d.connect({ webhook: SINGLE });
    const well = await d.connect({ webhook: SINGLE });
    const neighbour = await d.connect({ at: ill.at, webhook: { endpointId: ill.webhook.endpointId, ...SINGLE } });
    ill.at.answer(({ envelope }) => ({ status: envelope.subscriptionId === ill.webhook.id ? 503 : 200 }));
    await d.publishMany(100);
    await d.start();
    await takeRecords(well.at, 100);
    await until('the neighbour', async () => (await settled(d, neighbour.number)) === 100);
    assert.equal((await progressOf(d, ill)).state, 'failing');
    assert.equal((await progressOf(d, neighbour)).state, 'running');
    await until('the first paced probe', async () => (await settled(d, ill.number)) === PROBES_UNPACED + 1);
    assert.equal((await progressOf(d, ill)).probeAt, d.clock() + PROBE_FIRST_MS);
  });

  it('requests in progress when it began to fail end, and then it gets one at a time', async (t) => {
    const d = await openDispatching(t);
    const ill = await d.connect({ webhook: SINGLE });
    await execute(d, `UPDATE webhook_progress SET state = 'running'`);
    const open = deferred();
    ill.at.answer(async () => {
      await open.promise;
      return { status: 500 };
    });
    await d.publishMany(100);
    await d.start();
    await takeRecords(ill.at, DELIVERIES_IN_FLIGHT_PER_ENDPOINT);
    open.resolve();
    await until('all of them', async () => (await settled(d, ill.number)) === PROBES_UNPACED + 1);
    await until(
      'what was ahead is given back',
      async () => (await d.rows('SELECT 1 FROM batch WHERE lease_owner IS NOT NULL')).length === 0,
    );
    assert.equal(ill.at.deliveries.length, PROBES_UNPACED + 1);
    assert.equal((await progressOf(d, ill)).failureStreak, PROBES_UNPACED + 1);
  });
});

describe('as soon as an endpoint answers again', () => {
  it('it gets all eight slots immediately, and waiting records go out without delay', async (t) => {
    const d = await openDispatching(t);
    const { at } = await d.connect({ webhook: SINGLE });
    let underWay = 0;
    let most = 0;
    const full = deferred();
    at.answer(async () => {
      if (at.deliveries.length === 1) return { status: 503 };
      underWay += 1;
      most = Math.max(most, underWay);
      // The first of them is the probe, alone; after it all places are taken, or this waits for ever.
      if (underWay === DELIVERIES_IN_FLIGHT_PER_ENDPOINT) full.resolve();
      if (at.deliveries.length > 2) await full.promise;
      underWay -= 1;
      return { status: 200 };
    });
    await d.publishMany(100);
    const dispatcher = await d.start();
    await takeRecords(at, 100);
    assert.equal(most, DELIVERIES_IN_FLIGHT_PER_ENDPOINT);
    // Only the one that failed waits for its own retry.
    await until(
      'all but that one',
      async () => (await d.rows("SELECT 1 FROM batch WHERE state = 'delivered'")).length === 99,
    );
    d.advance(5000);
    dispatcher.wake();
    await at.next();
    await until('the end', () => isDrained(d));
  });
});

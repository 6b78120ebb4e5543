import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Job } from '../../src/delivery/job.ts';
import { createRequests } from '../../src/delivery/requests.ts';
import {
  DELIVERIES_IN_FLIGHT,
  DELIVERIES_IN_FLIGHT_PER_ENDPOINT,
  DELIVERY_LINGERS_MS,
} from '../../src/kernel/limits/delivery.ts';
import { deferred } from '../support/deferred.ts';
import { openDispatching, takeRecords, until } from '../support/dispatching.ts';
import { NOW } from '../support/store.ts';

const aJob = (): Job => ({ webhookNumber: 1, endpointId: 'e', batch: null, ordered: false, leaseExpiresAt: NOW });

function open(limits: { inFlight: number; inFlightInAll: number; lingersMs: number }) {
  let now = 0;
  const requests = createRequests(limits, () => now);
  /** Begins as many as there is room for. */
  const fill = (): Job[] => {
    const begun: Job[] = [];
    while (requests.hasRoom()) {
      const job = aJob();
      requests.begin(job);
      begun.push(job);
    }
    return begun;
  };
  return { requests, fill, pass: (ms: number) => (now += ms) };
}

describe('requests under way', () => {
  it('are so many, and have room again as they end', () => {
    const { requests, fill } = open({ inFlight: 4, inFlightInAll: 10, lingersMs: 1000 });
    const [first] = fill();
    assert.equal(requests.count(), 4);
    requests.end(first ?? assert.fail());
    assert.equal(fill().length, 1);
  });

  it('that linger give their places to others, up to a bound of all', () => {
    const { requests, fill, pass } = open({ inFlight: 4, inFlightInAll: 10, lingersMs: 1000 });
    const [first] = fill();
    pass(999);
    assert.equal(fill().length, 0);
    pass(1);
    assert.equal(fill().length, 4);
    pass(1000);
    assert.equal(fill().length, 2, 'ten in all');
    pass(1000);
    assert.equal(fill().length, 0);
    // One that lingered ends: its place is one of all, not of the four.
    requests.end(first ?? assert.fail());
    assert.equal(requests.count(), 9);
    assert.equal(fill().length, 1);
  });

  it('never are more than either bound, whatever happens', () => {
    const steps = fc.array(fc.record({ kind: fc.constantFrom('begin', 'end', 'pass'), pick: fc.nat(2000) }), {
      maxLength: 200,
    });
    fc.assert(
      fc.property(steps, fc.integer({ min: 1, max: 4 }), fc.integer({ min: 0, max: 6 }), (sequence, inFlight, more) => {
        const limits = { inFlight, inFlightInAll: inFlight + more, lingersMs: 1000 };
        const { requests, pass } = open(limits);
        const begun: { job: Job; at: number }[] = [];
        let now = 0;
        for (const { kind, pick } of sequence) {
          if (kind === 'pass') now += pick;
          if (kind === 'pass') pass(pick);
          const ended = kind === 'end' ? begun.splice(pick % Math.max(1, begun.length), 1)[0] : undefined;
          if (ended !== undefined) requests.end(ended.job);
          if (kind !== 'begin') continue;
          const fresh = begun.filter(({ at }) => now - at < 1000).length;
          const room = requests.hasRoom();
          assert.equal(room, fresh < inFlight && begun.length < limits.inFlightInAll);
          if (!room) continue;
          const job = aJob();
          requests.begin(job);
          begun.push({ job, at: now });
        }
        assert.equal(requests.count(), begun.length);
      }),
    );
  });
});

describe('endpoints that stop answering, more than there are places', () => {
  it('keep nobody waiting until their time is up', async (t) => {
    const d = await openDispatching(t);
    const count = DELIVERIES_IN_FLIGHT / DELIVERIES_IN_FLIGHT_PER_ENDPOINT + 1;
    const hanging = [];
    for (let n = 0; n < count; n += 1)
      hanging.push(await d.connect({ webhook: { maxBatchRecords: 1, timeoutSeconds: 60 } }));
    const well = await d.connect({ webhook: { eventTypes: ['webhook.*'] } });
    d.database.connection.exec(`UPDATE webhook_progress SET state = 'running'`);
    const open = deferred();
    for (const { at } of hanging) {
      at.answer(async () => {
        await open.promise;
        return { status: 204 };
      });
    }
    await d.publishMany(20);
    const dispatcher = await d.start();
    await until('no place is left', () => d.receiver.requests.length >= DELIVERIES_IN_FLIGHT);
    const underWaySince = performance.now();
    // A change of state is told to the one that is well.
    await d.connect();
    dispatcher.wake();
    await well.at.next();
    assert.ok(performance.now() - underWaySince < 15_000 - DELIVERY_LINGERS_MS, 'before any time was up');
    open.resolve();
    for (const { at } of hanging) await takeRecords(at, 20);
  });
});

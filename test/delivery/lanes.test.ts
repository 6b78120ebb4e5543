import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Job } from '../../src/delivery/job.ts';
import { createLanes, type LaneLimits, type Lanes } from '../../src/delivery/lanes.ts';
import { createRequests, type Requests } from '../../src/delivery/requests.ts';
import { batchOf } from '../support/attempts.ts';
import { jobs, startAll } from '../support/lanes.ts';

const FREE = { alone: false, narrow: false };
const ALONE = { alone: true, narrow: false };

/** Lanes in which no request lingers: the stopwatch stands still. */
function openLanes({
  inFlight = 64,
  ...limits
}: Partial<LaneLimits> & { inFlight?: number } = {}): Lanes & { readonly requests: Requests } {
  const requests = createRequests({ inFlight, inFlightInAll: 256, lingersMs: 1000 }, () => 0);
  return { ...createLanes({ perEndpoint: 8, claimed: 256, claimedInAll: 4096, ...limits }, requests), requests };
}

const webhooksOf = (started: readonly Job[]): number[] => started.map(({ webhookNumber }) => webhookNumber);
const offsetsOf = (started: readonly Job[]): unknown[] => started.map(({ batch }) => batch?.firstOffset);

describe('places', () => {
  it('are eight at one endpoint, whichever webhooks it has, and they take turns', () => {
    const lanes = openLanes();
    for (const webhook of [1, 2, 3]) lanes.add(webhook, jobs(webhook, 'e', 20), FREE);
    const started = startAll(lanes);
    assert.deepEqual(webhooksOf(started), [1, 2, 3, 1, 2, 3, 1, 2]);
    lanes.finished(started[0] ?? assert.fail(), true);
    assert.deepEqual(webhooksOf(startAll(lanes)), [3]);
    assert.equal(lanes.requests.count(), 8);
  });

  it('at one endpoint that are all taken keep nobody elsewhere waiting', () => {
    const lanes = openLanes();
    lanes.add(1, jobs(1, 'slow', 200), FREE);
    assert.equal(startAll(lanes).length, 8);
    lanes.add(2, jobs(2, 'fast', 3), FREE);
    assert.deepEqual(webhooksOf(startAll(lanes)), [2, 2, 2]);
  });

  it('are bounded in all, and endpoints take turns at them', () => {
    const lanes = openLanes({ inFlight: 5 });
    for (const webhook of [1, 2]) lanes.add(webhook, jobs(webhook, `e${webhook}`, 9), FREE);
    const started = startAll(lanes);
    assert.deepEqual(webhooksOf(started), [1, 2, 1, 2, 1]);
    lanes.finished(started[1] ?? assert.fail(), true);
    assert.deepEqual(webhooksOf(startAll(lanes)), [2]);
  });

  it('follow a webhook to another endpoint, job by job', () => {
    const lanes = openLanes();
    lanes.add(1, jobs(1, 'old', 9), FREE);
    lanes.add(1, jobs(1, 'new', 9, 9), FREE);
    assert.equal(startAll(lanes).length, 8);
    const [first] = lanes.withdraw(1).map((job) => job.endpointId);
    assert.equal(first, 'old');
    lanes.add(1, jobs(1, 'new', 2, 30), FREE);
    assert.deepEqual(offsetsOf(startAll(lanes)), [30, 31]);
  });
});

describe('a webhook that is alone', () => {
  it('has one request under way until it is settled, not only answered', () => {
    const lanes = openLanes();
    lanes.add(1, jobs(1, 'e', 3), ALONE);
    const [first, ...others] = startAll(lanes);
    assert.deepEqual([first?.batch?.firstOffset, others], [0, []]);
    assert.equal(lanes.finished(first ?? assert.fail(), true), true);
    assert.deepEqual(startAll(lanes), []);
    lanes.settled(first ?? assert.fail());
    assert.deepEqual(offsetsOf(startAll(lanes)), [1]);
  });

  it('becomes so with any failure, and has all its places again as soon as it is told', () => {
    const lanes = openLanes();
    lanes.add(1, jobs(1, 'e', 30), FREE);
    const started = startAll(lanes);
    const [failed, ...others] = started;
    assert.equal(lanes.finished(failed ?? assert.fail(), false), true);
    assert.deepEqual(startAll(lanes), []);
    for (const job of others) assert.equal(lanes.finished(job, true), true);
    for (const job of others) lanes.settled(job);
    assert.deepEqual(startAll(lanes), []);
    lanes.setAlone(1, false);
    lanes.settled(failed ?? assert.fail());
    assert.equal(startAll(lanes).length, 8);
  });

  it('is not overtaken by what it has while others are withdrawn', () => {
    const lanes = openLanes();
    lanes.add(1, jobs(1, 'e', 3), ALONE);
    const withdrawn = lanes.withdraw(1);
    assert.equal(withdrawn.length, 3);
    lanes.add(1, jobs(1, 'e', 1, 7), ALONE);
    assert.deepEqual(startAll(lanes), []);
    for (const job of withdrawn) lanes.settled(job);
    assert.deepEqual(offsetsOf(startAll(lanes)), [7]);
  });
});

describe('the room for more', () => {
  it('is claimed half at a time', () => {
    const lanes = openLanes({ claimed: 10 });
    assert.equal(lanes.load(1, false).room, 10);
    lanes.add(1, jobs(1, 'e', 10), FREE);
    const started = startAll(lanes);
    const rooms: number[] = [];
    for (const job of started) {
      lanes.finished(job, true);
      lanes.settled(job);
      rooms.push(lanes.load(1, false).room);
    }
    assert.deepEqual(rooms, [0, 0, 0, 0, 5, 6, 7, 8]);
    assert.equal(lanes.load(1, false).claimed, 2);
  });

  it('counts what is about to be settled as settled', () => {
    const lanes = openLanes({ claimed: 10 });
    lanes.add(1, jobs(1, 'e', 10), FREE);
    assert.deepEqual(
      [4, 5].map((settling) => lanes.hasRoom(1, settling)),
      [false, true],
    );
  });

  it('is there for one that is alone when nothing of it is under way', () => {
    const lanes = openLanes();
    lanes.add(1, jobs(1, 'e', 1), ALONE);
    assert.deepEqual(
      [0, 1].map((settling) => lanes.hasRoom(1, settling)),
      [false, true],
    );
    assert.equal(lanes.hasRoom(2), true);
  });

  it('is no more than can be under way for a webhook with a rate', () => {
    assert.equal(openLanes().load(1, true).room, 8);
  });

  it('shrinks the more webhooks have something, so that memory is bounded, but never to nothing', () => {
    const lanes = openLanes({ claimedInAll: 20 });
    for (let webhook = 1; webhook <= 3; webhook += 1) lanes.add(webhook, jobs(webhook, 'e', 1), FREE);
    assert.equal(lanes.load(4, false).room, 5);
    for (let webhook = 4; webhook <= 100; webhook += 1) lanes.add(webhook, jobs(webhook, 'e', 1), FREE);
    assert.equal(lanes.load(101, false).room, 1);
    assert.equal(lanes.load(1, false).room, 0);
  });

  it('knows which batches are under way, and how many records have not departed', () => {
    const lanes = openLanes({ perEndpoint: 1 });
    lanes.add(1, [{ ...jobs(1, 'e', 1)[0], batch: batchOf(0, 9) } as Job, ...jobs(1, 'e', 2, 10)], FREE);
    const [started] = startAll(lanes);
    const load = lanes.load(1, true);
    assert.deepEqual([load.reservedRecords, load.has(0), load.has(10), load.has(5)], [12, true, true, false]);
    lanes.departed(started ?? assert.fail());
    assert.deepEqual([lanes.load(1, true).reservedRecords, lanes.load(1, true).has(0)], [2, true]);
    lanes.finished(started ?? assert.fail(), true);
    lanes.settled(started ?? assert.fail());
    assert.equal(lanes.load(1, false).has(0), false);
    for (const job of [...startAll(lanes), ...lanes.withdraw(1)]) lanes.settled(job);
    assert.equal(lanes.load(1, true).reservedRecords, 0, 'given back without a departure');
    assert.equal(lanes.load(2, false).has(10), false);
  });
});

describe('withdrawing', () => {
  it('takes out all that has not started, of one webhook or of all, each once', () => {
    const lanes = openLanes({ perEndpoint: 1 });
    for (const webhook of [1, 2]) lanes.add(webhook, jobs(webhook, `e${webhook}`, 3), FREE);
    startAll(lanes);
    assert.deepEqual(offsetsOf(lanes.withdraw(1)), [1, 2]);
    assert.deepEqual(webhooksOf(lanes.withdraw()), [2, 2]);
    assert.deepEqual([lanes.withdraw(), lanes.withdraw(3)], [[], []]);
    assert.deepEqual(startAll(lanes), []);
  });
});

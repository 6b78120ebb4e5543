import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { Job } from '../../src/delivery/job.ts';
import { createLanes } from '../../src/delivery/lanes.ts';
import { createRequests } from '../../src/delivery/requests.ts';
import { jobs, startAll } from '../support/lanes.ts';

const FREE = { alone: false, narrow: false };
const ALONE = { alone: true, narrow: false };

describe('whatever happens', () => {
  type Action = {
    readonly kind: 'add' | 'start' | 'answer' | 'fail' | 'settle' | 'withdraw' | 'mend';
    readonly pick: number;
  };
  const actions: fc.Arbitrary<Action[]> = fc.array(
    fc.record({
      kind: fc.constantFrom('add', 'start', 'answer', 'fail', 'settle', 'withdraw', 'mend'),
      pick: fc.nat(1000),
    }),
    { maxLength: 300 },
  );

  it('no limit is passed, no job starts twice or is lost, and nothing waits for a place that is free', () => {
    fc.assert(
      fc.property(
        actions,
        fc.integer({ min: 1, max: 6 }),
        fc.integer({ min: 1, max: 3 }),
        (sequence, inFlight, perEndpoint) => {
          const requests = createRequests({ inFlight, inFlightInAll: inFlight, lingersMs: 1 }, () => 0);
          const lanes = createLanes({ perEndpoint, claimed: 8, claimedInAll: 64 }, requests);
          const endpointOf = (webhook: number): string => `e${webhook % 3}`;
          const alone = new Map<number, boolean>();
          const queued: Job[] = [];
          const sent: Job[] = [];
          const unsettled: Job[] = [];
          let offset = 0;
          const take = (from: Job[], pick: number): Job | undefined =>
            from.splice(pick % Math.max(1, from.length), 1)[0];
          for (const { kind, pick } of sequence) {
            const webhook = pick % 5;
            if (kind === 'add') {
              const added = jobs(webhook, endpointOf(webhook), 1 + (pick % 4), offset);
              offset += added.length;
              alone.set(webhook, pick % 2 === 0);
              lanes.add(webhook, added, pick % 2 === 0 ? ALONE : FREE);
              queued.push(...added);
            } else if (kind === 'answer' || kind === 'fail') {
              const job = take(sent, pick);
              if (job === undefined) continue;
              if (kind === 'fail') alone.set(job.webhookNumber, true);
              lanes.finished(job, kind === 'answer');
              unsettled.push(job);
            } else if (kind === 'settle') {
              const job = take(unsettled, pick);
              if (job !== undefined) lanes.settled(job);
            } else if (kind === 'withdraw') {
              for (const job of lanes.withdraw(webhook)) {
                assert.ok(queued.includes(job));
                queued.splice(queued.indexOf(job), 1);
                unsettled.push(job);
              }
            } else if (kind === 'mend') {
              if (lanes.load(webhook, false).claimed > 0) alone.set(webhook, false);
              lanes.setAlone(webhook, false);
            } else {
              for (const job of startAll(lanes)) {
                assert.ok(queued.includes(job), 'started twice, or never added');
                queued.splice(queued.indexOf(job), 1);
                sent.push(job);
              }
              assert.equal(requests.count(), sent.length);
              assert.ok(sent.length <= inFlight);
              const takenAt = (endpoint: string): number =>
                sent.filter(({ endpointId }) => endpointId === endpoint).length;
              for (const job of queued) {
                const { webhookNumber, endpointId } = job;
                assert.ok(takenAt(endpointId) <= perEndpoint);
                const own = [...sent, ...unsettled].some((other) => other.webhookNumber === webhookNumber);
                const held = alone.get(webhookNumber) === true && own;
                const full = sent.length >= inFlight || takenAt(endpointId) >= perEndpoint;
                assert.ok(held || full, `a job of webhook ${webhookNumber} waits for nothing`);
              }
            }
          }
        },
      ),
      { numRuns: 300 },
    );
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { isSequential, LOOK_NOW, WHEN_SETTLED } from '../../src/delivery/scheduler.ts';
import type { Job } from '../../src/domain/batch.ts';
import type { WebhookState } from '../../src/domain/webhook.ts';
import { batchOf } from '../support/attempts.ts';
import {
  admit,
  jobs,
  openScheduler,
  PARALLEL,
  roomOf,
  SEQUENTIAL,
  settle,
  startAll,
  WAITING,
  webhookOf,
} from '../support/scheduling.ts';
import { NOW } from '../support/store.ts';

const webhooksOf = (started: readonly Job[]): number[] => started.map(({ webhookNumber }) => webhookNumber);
const offsetsOf = (started: readonly Job[]): unknown[] => started.map(({ batch }) => batch?.firstOffset);

describe('slots', () => {
  it('are eight at one endpoint, whichever webhooks it has, and the webhooks take turns', () => {
    const scheduler = openScheduler();
    for (const webhook of [1, 2, 3]) admit(scheduler, jobs(webhook, 'e', 20));
    const started = startAll(scheduler);
    assert.deepEqual(webhooksOf(started), [1, 2, 3, 1, 2, 3, 1, 2]);
    scheduler.finished(started[0] ?? assert.fail(), true);
    assert.deepEqual(webhooksOf(startAll(scheduler)), [3]);
  });

  it('of a busy endpoint delay no other endpoint', () => {
    const scheduler = openScheduler();
    admit(scheduler, jobs(1, 'slow', 200));
    assert.equal(startAll(scheduler).length, 8);
    admit(scheduler, jobs(2, 'fast', 3));
    assert.deepEqual(webhooksOf(startAll(scheduler)), [2, 2, 2]);
  });

  it('are bounded in all, and endpoints take turns', () => {
    const scheduler = openScheduler({ inFlight: 5 });
    for (const webhook of [1, 2]) admit(scheduler, jobs(webhook, `e${webhook}`, 9));
    const started = startAll(scheduler);
    assert.deepEqual(webhooksOf(started), [1, 2, 1, 2, 1]);
    scheduler.finished(started[1] ?? assert.fail(), true);
    assert.deepEqual(webhooksOf(startAll(scheduler)), [2]);
  });

  it('follow a webhook to another endpoint, job by job', () => {
    const scheduler = openScheduler();
    admit(scheduler, jobs(1, 'old', 9));
    admit(scheduler, jobs(1, 'new', 9, 9));
    assert.equal(startAll(scheduler).length, 8);
    const [first] = scheduler.withdraw(1).map((job) => job.endpointId);
    assert.equal(first, 'old');
    admit(scheduler, jobs(1, 'new', 2, 30));
    assert.deepEqual(offsetsOf(startAll(scheduler)), [30, 31]);
  });

  it('of slow requests are given to others, up to a bound of all requests', () => {
    const scheduler = openScheduler({ perEndpoint: 100, inFlight: 4, inFlightInAll: 10 });
    admit(scheduler, jobs(1, 'e', 20));
    const started = startAll(scheduler, 0);
    assert.equal(started.length, 4);
    scheduler.finished(started[1] ?? assert.fail(), true);
    assert.equal(startAll(scheduler, 0).length, 1);
    assert.equal(startAll(scheduler, 999).length, 0);
    assert.equal(startAll(scheduler, 1000).length, 4);
    assert.equal(startAll(scheduler, 2000).length, 2, 'ten in all');
    assert.equal(startAll(scheduler, 3000).length, 0);
    // A slow request ends: it frees one of all slots.
    scheduler.finished(started[0] ?? assert.fail(), true);
    assert.equal(startAll(scheduler, 3000).length, 1);
  });
});

describe('a sequential webhook', () => {
  it('is an ordered one, and any other unless its last attempt succeeded', () => {
    const table: readonly (readonly [ordered: boolean, state: WebhookState, expected: boolean])[] = [
      [true, 'running', true],
      [true, 'failing', true],
      [false, 'started', true],
      [false, 'failing', true],
      [false, 'running', false],
    ];
    for (const [ordered, state, expected] of table)
      assert.equal(isSequential(webhookOf(1, { ordered, progress: { state } })), expected);
  });

  it('has one request in progress until it is settled, not only answered', () => {
    const scheduler = openScheduler();
    admit(scheduler, jobs(1, 'e', 3), SEQUENTIAL);
    const [first, ...others] = startAll(scheduler);
    assert.deepEqual([first?.batch?.firstOffset, others], [0, []]);
    assert.equal(scheduler.finished(first ?? assert.fail(), true), true);
    assert.deepEqual(startAll(scheduler), []);
    settle(scheduler, [first ?? assert.fail()]);
    assert.deepEqual(offsetsOf(startAll(scheduler)), [1]);
  });

  it('is also one after a failure, until a settlement says otherwise', () => {
    const scheduler = openScheduler();
    admit(scheduler, jobs(1, 'e', 30));
    const [failed = assert.fail(), ...others] = startAll(scheduler);
    assert.equal(scheduler.finished(failed, false), true);
    assert.deepEqual(startAll(scheduler), []);
    for (const job of others) assert.equal(scheduler.finished(job, true), true);
    settle(scheduler, others);
    assert.deepEqual(startAll(scheduler), []);
    settle(scheduler, [failed], false);
    assert.equal(startAll(scheduler).length, 8);
  });

  it('is also one whose outcomes cannot be written', () => {
    const scheduler = openScheduler();
    admit(scheduler, jobs(1, 'e', 30));
    const [first = assert.fail()] = startAll(scheduler);
    scheduler.finished(first, true);
    scheduler.hold(1);
    assert.deepEqual(startAll(scheduler), []);
    settle(scheduler, [first], false);
    assert.equal(startAll(scheduler).length, 1);
  });

  it('does not overtake its withdrawn jobs', () => {
    const scheduler = openScheduler();
    admit(scheduler, jobs(1, 'e', 3), SEQUENTIAL);
    const withdrawn = scheduler.withdraw(1);
    assert.equal(withdrawn.length, 3);
    admit(scheduler, jobs(1, 'e', 1, 7), SEQUENTIAL);
    assert.deepEqual(startAll(scheduler), []);
    settle(scheduler, withdrawn);
    assert.deepEqual(offsetsOf(startAll(scheduler)), [7]);
  });
});

describe('the room for a claim', () => {
  it('refills at half', () => {
    const scheduler = openScheduler({ claimed: 10 });
    assert.equal(roomOf(scheduler, 1).batches, 10);
    admit(scheduler, jobs(1, 'e', 10));
    const rooms = startAll(scheduler).map((job) => {
      scheduler.finished(job, true);
      settle(scheduler, [job]);
      return roomOf(scheduler, 1).batches;
    });
    assert.deepEqual(rooms, [0, 0, 0, 0, 5, 6, 7, 8]);
    assert.equal(roomOf(scheduler, 1).claimed, 2);
  });

  it('is none without room, until something settles', () => {
    const scheduler = openScheduler({ claimed: 2 });
    admit(scheduler, jobs(1, 'e', 2));
    const { batches, next } = roomOf(scheduler, 1);
    assert.deepEqual([batches, next], [0, WHEN_SETTLED]);
  });

  it('is asked for only if there is some: without jobs, or at half', () => {
    const scheduler = openScheduler({ claimed: 10 });
    assert.equal(scheduler.hasRoom(1), true);
    admit(scheduler, jobs(1, 'e', 10));
    const found = startAll(scheduler).map((job) => {
      scheduler.finished(job, true);
      settle(scheduler, [job]);
      return scheduler.hasRoom(1);
    });
    assert.deepEqual(found, [false, false, false, false, true, true, true, true]);
  });

  it('is one batch for a sequential webhook with nothing in progress, and none otherwise', () => {
    for (const [ordered, state] of [
      [true, 'running'],
      [true, 'started'],
      [false, 'failing'],
    ] as const) {
      const scheduler = openScheduler();
      const webhook = webhookOf(1, { ordered, progress: { state } });
      const found = () => {
        const { batches, next } = scheduler.room(webhook, NOW, WAITING);
        return [batches, next];
      };
      assert.deepEqual(found(), [1, LOOK_NOW]);
      admit(scheduler, jobs(1, 'e', 1), SEQUENTIAL);
      assert.equal(scheduler.hasRoom(1), false);
      assert.deepEqual(found(), [0, WHEN_SETTLED]);
      const [job = assert.fail()] = startAll(scheduler);
      scheduler.finished(job, true);
      settle(scheduler, [job]);
      assert.equal(scheduler.hasRoom(1), true);
      assert.equal(scheduler.hasRoom(2), true);
    }
  });

  it('is none before the probe is due, and then one batch', () => {
    const failing = webhookOf(1, { progress: { state: 'failing', probeAt: NOW + 1 } });
    const scheduler = openScheduler();
    const { batches, next } = scheduler.room(failing, NOW, WAITING);
    assert.deepEqual([batches, next], [0, { kind: 'not before', at: NOW + 1 }]);
    assert.equal(scheduler.room(failing, NOW + 1, WAITING).batches, 1);
  });

  it('is none before the rate allows a record, and at most as many as may be in progress together', () => {
    const scheduler = openScheduler();
    assert.equal(roomOf(scheduler, 1, 10).batches, 8);
    const [job = assert.fail()] = jobs(1, 'e', 1);
    scheduler.sending({ ...job, batch: batchOf(0, 1) }, 10, NOW);
    const { batches, records, next } = roomOf(scheduler, 1, 10);
    assert.deepEqual([batches, records, next], [0, 0, { kind: 'not before', at: NOW + 100 }]);
  });

  it('shrinks the more webhooks have jobs, so that memory is bounded, but never to nothing', () => {
    const scheduler = openScheduler({ claimedInAll: 20 });
    for (let webhook = 1; webhook <= 3; webhook += 1) admit(scheduler, jobs(webhook, 'e', 1));
    assert.equal(roomOf(scheduler, 4).batches, 5);
    for (let webhook = 4; webhook <= 100; webhook += 1) admit(scheduler, jobs(webhook, 'e', 1));
    assert.equal(roomOf(scheduler, 101).batches, 1);
    assert.equal(roomOf(scheduler, 1).batches, 0);
  });

  it('leaves out records that are claimed and not sent yet, under a rate', () => {
    const scheduler = openScheduler({ perEndpoint: 1 });
    const [job = assert.fail()] = jobs(1, 'e', 1);
    admit(scheduler, [{ ...job, batch: batchOf(0, 9) }, ...jobs(1, 'e', 2, 10)]);
    const [started = assert.fail()] = startAll(scheduler);
    // A rate of 100 a second has a bucket of 20 records.
    const records = (): number => roomOf(scheduler, 1, 100).records;
    assert.equal(records(), 8);
    scheduler.sending(started, null, NOW);
    assert.equal(records(), 18);
    scheduler.finished(started, true);
    settle(scheduler, [started]);
    settle(scheduler, [...startAll(scheduler), ...scheduler.withdraw(1)]);
    assert.equal(records(), 20, 'released without being sent');
  });
});

describe('a claim', () => {
  it('begins only when no other claim of the webhook is in progress', () => {
    const scheduler = openScheduler();
    assert.deepEqual([1, 1, 2].map(scheduler.beginClaim), [true, false, true]);
    scheduler.endClaim(1);
    assert.equal(scheduler.beginClaim(1), true);
  });

  it('says at its end whether another was refused during it', () => {
    const scheduler = openScheduler();
    for (const webhook of [1, 2, 1]) scheduler.beginClaim(webhook);
    assert.deepEqual([1, 2].map(scheduler.endClaim), [true, false]);
    scheduler.beginClaim(1);
    assert.equal(scheduler.endClaim(1), false);
  });
});

describe('withdrawing', () => {
  it('takes the jobs that have not started, of one webhook or of all, each once', () => {
    const scheduler = openScheduler({ perEndpoint: 1 });
    for (const webhook of [1, 2]) admit(scheduler, jobs(webhook, `e${webhook}`, 3));
    const started = startAll(scheduler);
    const [own, all] = [scheduler.withdraw(1), scheduler.withdraw()];
    assert.deepEqual(
      [offsetsOf(own), webhooksOf(all)],
      [
        [1, 2],
        [2, 2],
      ],
    );
    assert.deepEqual([scheduler.withdraw(), scheduler.withdraw(3)], [[], []]);
    assert.deepEqual(startAll(scheduler), []);
    assert.equal(scheduler.isIdle(), false);
    settle(scheduler, [...own, ...all, ...started]);
    assert.equal(scheduler.isIdle(), true);
  });
});

describe('in any order of calls', () => {
  type Action = {
    readonly kind: 'admit' | 'start' | 'answer' | 'fail' | 'settle' | 'withdraw' | 'recover' | 'wait';
    readonly pick: number;
  };
  const actions: fc.Arbitrary<Action[]> = fc.array(
    fc.record({
      kind: fc.constantFrom('admit', 'start', 'answer', 'fail', 'settle', 'withdraw', 'recover', 'wait'),
      pick: fc.nat(1000),
    }),
    { maxLength: 300 },
  );
  const LINGERS_MS = 1500;

  it('a customer whose endpoints all hang leaves slots to others, who start in turn with it', () => {
    const scheduler = openScheduler({ perEndpoint: 2, perCustomer: 10, inFlight: 8, inFlightInAll: 40 });
    const of = (customerId: string) => ({ ...PARALLEL, customerId });
    for (let n = 0; n < 20; n += 1) admit(scheduler, jobs(n, `slow ${n}`, 2), of('many'));
    admit(scheduler, jobs(100, 'other', 2), of('one'));
    const started = startAll(scheduler);
    assert.deepEqual(
      started.map(({ endpointId }) => endpointId.split(' ')[0]),
      ['slow', 'other', 'slow', 'other', 'slow', 'slow', 'slow', 'slow'],
    );
    // None is answered. They linger, and the customer has its ten.
    assert.equal(startAll(scheduler, 1000).length, 4);
    assert.equal(startAll(scheduler, 2000).length, 0);
    admit(scheduler, jobs(101, 'third', 2), of('third'));
    assert.deepEqual(
      startAll(scheduler, 2000).map(({ endpointId }) => endpointId),
      ['third', 'third'],
    );
    const [first] = started;
    assert.ok(first !== undefined);
    scheduler.finished(first, true);
    assert.equal(startAll(scheduler, 4000).length, 1);
  });

  it('no limit is exceeded, no job starts twice or is lost, and no job waits for a free slot', () => {
    fc.assert(
      fc.property(
        actions,
        fc.integer({ min: 1, max: 6 }),
        fc.integer({ min: 0, max: 4 }),
        fc.integer({ min: 1, max: 3 }),
        (sequence, inFlight, lingering, perEndpoint) => {
          const inFlightInAll = inFlight + lingering;
          const limits = { inFlight, inFlightInAll, lingersMs: LINGERS_MS, perEndpoint, claimed: 8, claimedInAll: 64 };
          const scheduler = openScheduler(limits);
          const sequential = new Map<number, boolean>();
          const queued: Job[] = [];
          const sent = new Map<Job, number>();
          const unsettled: Job[] = [];
          let offset = 0;
          let now = 0;
          const take = (from: Job[], pick: number): Job | undefined =>
            from.splice(pick % Math.max(1, from.length), 1)[0];
          for (const { kind, pick } of sequence) {
            const webhook = pick % 5;
            if (kind === 'wait') now += pick;
            else if (kind === 'admit') {
              const added = jobs(webhook, `e${webhook % 3}`, 1 + (pick % 4), offset);
              offset += added.length;
              sequential.set(webhook, pick % 2 === 0);
              admit(scheduler, added, pick % 2 === 0 ? SEQUENTIAL : PARALLEL);
              queued.push(...added);
            } else if (kind === 'answer' || kind === 'fail') {
              const job = take([...sent.keys()], pick);
              if (job === undefined) continue;
              sent.delete(job);
              if (kind === 'fail') sequential.set(job.webhookNumber, true);
              scheduler.finished(job, kind === 'answer');
              unsettled.push(job);
            } else if (kind === 'settle') {
              const job = take(unsettled, pick);
              if (job !== undefined) settle(scheduler, [job]);
            } else if (kind === 'withdraw') {
              for (const job of scheduler.withdraw(webhook)) {
                assert.ok(queued.includes(job));
                queued.splice(queued.indexOf(job), 1);
                unsettled.push(job);
              }
            } else if (kind === 'recover') {
              if (roomOf(scheduler, webhook).claimed > 0) sequential.set(webhook, false);
              scheduler.settled(webhook, [], false);
            } else {
              for (const job of startAll(scheduler, now)) {
                assert.ok(queued.includes(job), 'started twice, or never added');
                queued.splice(queued.indexOf(job), 1);
                sent.set(job, now);
              }
              const recent = [...sent.values()].filter((at) => at > now - LINGERS_MS).length;
              assert.ok(recent <= inFlight && sent.size <= inFlightInAll);
              const takenAt = (endpoint: string): number =>
                [...sent.keys()].filter(({ endpointId }) => endpointId === endpoint).length;
              for (const job of queued) {
                const { webhookNumber, endpointId } = job;
                assert.ok(takenAt(endpointId) <= perEndpoint);
                const own = [...sent.keys(), ...unsettled].some((other) => other.webhookNumber === webhookNumber);
                const held = sequential.get(webhookNumber) === true && own;
                const full = recent >= inFlight || sent.size >= inFlightInAll || takenAt(endpointId) >= perEndpoint;
                assert.ok(held || full, `a job of webhook ${webhookNumber} waits for nothing`);
              }
            }
            assert.equal(scheduler.isIdle(), sent.size + unsettled.length === 0);
          }
        },
      ),
      { numRuns: 300 },
    );
  });
});

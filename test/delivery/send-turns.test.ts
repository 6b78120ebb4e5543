import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  CALLED_LATELY_MS,
  CALLED_PAUSE_MS,
  CALLS_QUEUED,
  DELIVERY_BYTES_PER_CALLED_TURN,
  DELIVERY_BYTES_PER_TURN,
} from '../../src/delivery/limits.ts';
import { createSendTurns, createYieldBudget } from '../../src/delivery/send-turns.ts';
import { BATCH_BYTES } from '../../src/domain/limits.ts';
import { createTurns } from '../../src/kernel/turns.ts';
import { LARGE_BODY_BYTES } from '../../src/outbound/connections.ts';
import { RECORD_OVERHEAD_BYTES } from '../../src/store/shared/delivery/dispatch.ts';
import { isDrained, openDispatching, until } from '../support/dispatching.ts';
import { makeKey } from '../support/services.ts';
import { execute, onSqlite } from '../support/store.ts';
import { countTurns } from '../support/turns.ts';

describe('the turns in which jobs are sent', () => {
  type Sized = { readonly job: number; readonly bytes: number };
  type Sent = { readonly job: number; readonly turn: number; readonly prepared: number };

  /** Jobs of so many bytes, all added at once; answers in which turn each was sent, and with which others it was prepared. */
  async function sendAll(t: TestContext, sizes: readonly number[], bytesPerTurn = 100): Promise<Sent[]> {
    const turn = countTurns(t);
    const first = turn();
    let groups = 0;
    const all: Sent[] = [];
    const send = createSendTurns<Sized, void>({
      budget: { bytesPerTurn: () => bytesPerTurn, pauseMs: () => 0, turnEnded: () => undefined },
      turns: createTurns(),
      prepareTogether: () => {
        groups += 1;
        const prepared = groups;
        return async ({ job, bytes }) => ({
          bytes,
          send: async () => void all.push({ job, turn: turn() - first, prepared }),
        });
      },
    });
    await Promise.all([...sizes.entries()].map(([job, bytes]) => send({ job, bytes })));
    assert.deepEqual(
      all.map(({ job }) => job),
      [...sizes.keys()],
    );
    return all;
  }

  it('send small jobs together', async (t) => {
    const all = await sendAll(t, Array<number>(50).fill(1));
    assert.equal(new Set(all.map(({ turn }) => turn)).size, 1);
    assert.deepEqual(new Set(all.map(({ prepared }) => prepared)), new Set([1]));
  });

  it('send one large job each, prepared together', async (t) => {
    const all = await sendAll(t, Array<number>(8).fill(1000));
    assert.equal(new Set(all.map(({ turn }) => turn)).size, 8);
    assert.deepEqual(new Set(all.map(({ prepared }) => prepared)), new Set([1]));
  });

  it('prepare a bounded number of bytes', async (t) => {
    const all = await sendAll(t, Array<number>(4).fill(DELIVERY_BYTES_PER_TURN / 2));
    assert.deepEqual(
      all.map(({ prepared }) => prepared),
      [1, 1, 2, 2],
    );
  });

  /** Turns of 100 bytes, in which a job is sent as `result`. */
  const sendEach = (result: (job: number) => unknown, pauseMs = (): number => 0) =>
    createSendTurns<Sized, unknown>({
      budget: { bytesPerTurn: () => 100, pauseMs, turnEnded: () => undefined },
      turns: createTurns(),
      prepareTogether: () => async (one) => ({ bytes: one.bytes, send: async () => result(one.job) }),
    });

  it('return the result of each job', async () => {
    const send = sendEach((job) => `result ${job}`);
    const sent = [1, 2].map((job) => send({ job, bytes: DELIVERY_BYTES_PER_TURN }));
    assert.deepEqual(await Promise.all(sent), ['result 1', 'result 2']);
  });

  it('count nothing for jobs that are not to be sent', async (t) => {
    const turn = countTurns(t);
    const send = createSendTurns<Sized, number>({
      budget: { bytesPerTurn: () => 1, pauseMs: () => 0, turnEnded: () => undefined },
      turns: createTurns(),
      prepareTogether: () => async () => ({ bytes: 0, send: async () => turn() }),
    });
    const ended = await Promise.all([1, 2, 3].map((job) => send({ job, bytes: 1 })));
    assert.equal(new Set(ended).size, 1);
  });

  it('wait for the pause of the budget, and then send all jobs that were added during it', async () => {
    const pauses = [300, 0, 0];
    const startedAt = performance.now();
    const send = sendEach(
      () => performance.now() - startedAt,
      () => pauses.shift() ?? 0,
    );
    const first = send({ job: 1, bytes: 1 });
    // The pause has begun.
    while (pauses.length === 3) await nextTurn();
    const seen = await Promise.all([first, send({ job: 2, bytes: 1 })]);
    // A timer may be a millisecond early by this clock.
    for (const waitedMs of seen) assert.ok(Number(waitedMs) >= 299, `${waitedMs} ms`);
    assert.equal(pauses.length, 2, 'both were sent in one turn');
  });

  it('begin at the end of the turn in which the first job was added', async (t) => {
    const turn = countTurns(t);
    const added = turn();
    const jobs: number[] = [];
    const send = sendEach((job) => void jobs.push(job));
    const first = send({ job: 1, bytes: 1 });
    await Promise.resolve();
    const second = send({ job: 2, bytes: 1 });
    assert.deepEqual(jobs, []);
    await Promise.all([first, second]);
    assert.deepEqual(jobs, [1, 2]);
    assert.ok(turn() - added <= 1);
  });
});

describe('batches of 1 MiB', () => {
  for (const encrypted of [false, true]) {
    it(`${encrypted ? 'encrypted for RSA-4096 ' : ''}go out one a turn of the event loop, at full load`, async (t) => {
      const turn = countTurns(t);
      const ready: number[] = [];
      const d = await openDispatching(t, {
        onPost: ({ body }) => {
          if (body.length > BATCH_BYTES / 2) ready.push(turn());
        },
      });
      const { name } = await makeKey(d, 'rsa4096');
      const { at } = await d.connect({ webhook: { maxBatchRecords: 4, encryptionKeyName: encrypted ? name : null } });
      d.receiver.route(at.path, () => ({ status: 200 }));
      await execute(d, `UPDATE webhook_progress SET state = 'running'`);
      await d.publishMany(4 * 12, { text: 'x'.repeat(250_000) });
      await d.start();
      await until('the end', () => isDrained(d));
      assert.equal(ready.length, 12);
      assert.equal(new Set(ready).size, 12, `ready in turns ${ready.join(', ')}`);
    });
  }
});

describe('encrypted batches just too small for the thread', () => {
  it('all go out, although more are due than start in one turn', async (t) => {
    const d = await openDispatching(t);
    const { name } = await makeKey(d);
    const { at } = await d.connect({ webhook: { maxBatchRecords: 1, encryptionKeyName: name } });
    d.receiver.route(at.path, () => ({ status: 200 }));
    await execute(d, `UPDATE webhook_progress SET state = 'running'`);
    const bytes = LARGE_BODY_BYTES - RECORD_OVERHEAD_BYTES - 1000;
    const count = Math.ceil((3 * DELIVERY_BYTES_PER_TURN) / bytes);
    await d.publishMany(count, { text: 'x'.repeat(bytes) });
    await d.start({ inFlightPerEndpoint: count });
    await until('the end', () => isDrained(d));
    assert.equal(d.receiver.requests.length, count);
  });
});

// On SQLite: a read ends in the turn in which it begins. On PostgreSQL the reads of several turns may be answered together.
describe('messages of one record', () => {
  async function mostInATurn(t: TestContext, answeredRequests: () => number): Promise<number> {
    const turn = countTurns(t);
    const inTurns = new Map<number, number>();
    const onPost = (): void => void inTurns.set(turn(), (inTurns.get(turn()) ?? 0) + 1);
    const d = await openDispatching(t, { onPost });
    const { at } = await d.connect({ webhook: { maxBatchRecords: 1 } });
    d.receiver.route(at.path, () => ({ status: 200 }));
    await execute(d, `UPDATE webhook_progress SET state = 'running'`);
    await d.publishMany(40);
    await d.start({ answeredRequests, inFlightPerEndpoint: 64 });
    await until('the end', () => isDrained(d));
    return Math.max(...inTurns.values());
  }

  onSqlite('start together', async (t) => {
    assert.equal(await mostInATurn(t, () => 7), 40);
  });

  onSqlite('start four at a time while requests are answered', async (t) => {
    let answered = 0;
    assert.equal(await mostInATurn(t, () => ++answered), 4);
  });
});

describe('the yield budget', () => {
  /** `endedAt`: when the turn before ended. */
  const turns: readonly [
    what: string,
    answered: number,
    endedAt: number,
    now: number,
    bytes: number,
    pauseMs: number,
  ][] = [
    ['before any request', 7, -1000, 0, DELIVERY_BYTES_PER_TURN, 0],
    ['in which one was answered', 8, 100, 100, DELIVERY_BYTES_PER_CALLED_TURN, 0],
    ['soon after it', 8, 101, 100 + CALLED_LATELY_MS - 1, DELIVERY_BYTES_PER_CALLED_TURN, 0],
    ['once nobody has called for a while', 8, 101, 100 + CALLED_LATELY_MS, DELIVERY_BYTES_PER_TURN, 0],
    ['at the end of one, many having been answered', 4000, 300, 300, DELIVERY_BYTES_PER_CALLED_TURN, CALLED_PAUSE_MS],
    ['a while after one', 4500, 300, 301, DELIVERY_BYTES_PER_CALLED_TURN, CALLED_PAUSE_MS - 1],
    ['a whole pause after one', 5000, 300, 300 + CALLED_PAUSE_MS, DELIVERY_BYTES_PER_CALLED_TURN, 0],
    ['in which one more was', 5001, 305, 305, DELIVERY_BYTES_PER_CALLED_TURN, 0],
    ['soon after that one, not after those before', 5001, 314, 314, DELIVERY_BYTES_PER_CALLED_TURN, 0],
    ['in which just not a queue was', 5000 + CALLS_QUEUED, 320, 320, DELIVERY_BYTES_PER_CALLED_TURN, 0],
    ['in which just a queue was', 5000 + 2 * CALLS_QUEUED, 325, 325, DELIVERY_BYTES_PER_CALLED_TURN, CALLED_PAUSE_MS],
    ['much later', 5000 + 2 * CALLS_QUEUED, 325, 9000, DELIVERY_BYTES_PER_TURN, 0],
  ];

  it('is smaller while requests are answered, and delays the next turn if they queue up, unless the previous turn ended long ago', () => {
    let answered = 7;
    let now = 0;
    const budget = createYieldBudget(
      () => answered,
      () => now,
    );
    const given = turns.map(([what, count, endedAt, at]) => {
      now = endedAt;
      budget.turnEnded();
      answered = count;
      now = at;
      return [what, budget.bytesPerTurn(), budget.pauseMs()];
    });
    assert.deepEqual(
      given,
      turns.map(([what, , , , bytes, pauseMs]) => [what, bytes, pauseMs]),
    );
  });
});

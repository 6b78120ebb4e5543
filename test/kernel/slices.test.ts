import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import {
  createSlices,
  inOnePiece,
  SLICE_MS,
  SLICED_BYTES_MAX,
  SLICED_JOBS_MAX,
  type Work,
} from '../../src/kernel/slices.ts';
import { refused } from '../support/refusals.ts';
import { countTurns } from '../support/turns.ts';

/** Slices on a clock that only the work moves, so that nothing depends on speed. */
function onClock() {
  let now = 0;
  const slices = createSlices(() => now);
  const done: string[] = [];
  /** Work of some steps that take some milliseconds each. */
  function* work(name: string, steps: number, stepMs: number, each: () => void = () => {}): Work<string> {
    for (let step = 0; step < steps; step += 1) {
      now += stepMs;
      each();
      yield;
    }
    done.push(name);
    return name;
  }
  return { slices, work, done };
}

/** Long enough that it has to wait for a further slice. */
const LONG = [10, SLICE_MS / 2] as const;

describe('work in slices', () => {
  it('ends in the same turn of the event loop if it is short', async (t: TestContext) => {
    const turn = countTurns(t);
    const { slices, work } = onClock();
    const before = turn();
    assert.equal(await slices('a', work('short', 3, SLICE_MS / 10)), 'short');
    assert.equal(turn(), before);
  });

  it('takes no more than one slice of a turn, however many customers have work', async (t: TestContext) => {
    const turn = countTurns(t);
    const { slices, work } = onClock();
    const stepsOf = new Map<number, number>();
    const count = (): void => void stepsOf.set(turn(), (stepsOf.get(turn()) ?? 0) + 1);
    const jobs = ['a', 'b', null].flatMap((customer) =>
      [1, 2].map((n) => slices(customer, work(`${customer}${n}`, ...LONG, count))),
    );
    assert.equal((await Promise.all(jobs)).length, 6);
    // The first turn of a counter may be part of the turn before it.
    assert.ok(Math.max(...stepsOf.values()) <= 4, [...stepsOf.values()].join());
    assert.ok(stepsOf.size >= 15, String(stepsOf.size));
  });

  it('serves customers in turns: who comes later does not wait for all that came before', async () => {
    const { slices, work, done } = onClock();
    const hostile = Array.from({ length: 50 }, (_, n) => slices('hostile', work(`hostile ${n}`, ...LONG)));
    await Promise.all([slices('other', work('other', 3, SLICE_MS / 2)), slices(null, work('operator', 1, 0))]);
    assert.deepEqual(done.toSorted(), ['operator', 'other']);
    await Promise.all(hostile);
  });

  it('serves the jobs of one customer in turns too, so that a small one passes a large one', async () => {
    const { slices, work, done } = onClock();
    const large = slices('a', work('large', 1000, SLICE_MS / 2));
    await slices('a', work('small', 3, SLICE_MS / 2));
    assert.deepEqual(done, ['small']);
    await large;
  });

  it('refuses what a customer has waiting beyond its bound with 429, and nothing of others', async () => {
    const { slices, work } = onClock();
    const waiting = Array.from({ length: SLICED_JOBS_MAX }, () => slices('a', work('a', ...LONG)));
    const wanted = { code: 'too_many_requests' } as const;
    const refusal = await refused(() => slices('a', work('one too many', ...LONG)), wanted);
    assert.equal(refusal.headers['Retry-After'], '1');
    assert.equal(await slices('b', work('b', ...LONG)), 'b');
    assert.equal(await slices(null, work('operator', ...LONG)), 'operator');
    await Promise.all(waiting);
    assert.equal(await slices('a', work('again', ...LONG)), 'again');

    const first = slices('a', work('large', ...LONG), SLICED_BYTES_MAX * 2);
    await refused(() => slices('a', work('one byte too many', ...LONG), 1), wanted);
    await first;
  });

  it('ends with the error of the work, and goes on with the next', async () => {
    const { slices, work } = onClock();
    function* failing(): Work<never> {
      yield* work('before', ...LONG);
      throw new Error('of the work');
    }
    const failed = slices('a', failing());
    const next = slices('a', work('next', ...LONG));
    await assert.rejects(failed, /of the work/);
    assert.equal(await next, 'next');
    await assert.rejects(slices('a', immediately()), /at once/);
    assert.throws(() => inOnePiece(immediately()), /at once/);
  });
});

// biome-ignore lint/correctness/useYield: it fails before its first pause.
function* immediately(): Work<never> {
  throw new Error('at once');
}

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createFairQueue, type FairBounds, type Owner } from '../../src/kernel/fair-queue.ts';
import { Refusal } from '../../src/kernel/refusal.ts';

const OWNERS: readonly Owner[] = ['a', 'b', 'c', null];

/** An event of a queue: a piece of work comes for an owner, or the nth of the running ones ends. */
type Step = { readonly comes: Owner } | { readonly ends: number; readonly fails: boolean };
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ comes: fc.constantFrom(...OWNERS) }),
  fc.record({ ends: fc.nat(9), fails: fc.boolean() }),
);
const bounds: fc.Arbitrary<FairBounds> = fc.record({
  what: fc.constant('pieces'),
  places: fc.integer({ min: 1, max: 4 }),
  placesPerOwner: fc.integer({ min: 1, max: 4 }),
  waiting: fc.integer({ min: 0, max: 12 }),
  waitingPerOwner: fc.integer({ min: 0, max: 6 }),
});

type Piece = { readonly owner: Owner; readonly number: number; readonly end: (fails: boolean) => void };
/** A waiting piece, and the owners that were served since it was its owner's turn. */
type Waiting = { readonly owner: Owner; readonly number: number; passedBy: Owner[] };

/** Runs the steps and checks after each that every promise of the queue holds. Resolves when all pieces have ended. */
async function runModel(
  limits: Required<Omit<FairBounds, 'retryAfterSeconds'>>,
  steps: readonly Step[],
): Promise<void> {
  const queue = createFairQueue(limits);
  const running: Piece[] = [];
  const waiting: Waiting[] = [];
  const ended: Promise<unknown>[] = [];
  let count = 0;
  const of = (owner: Owner, list: readonly { readonly owner: Owner }[]): number =>
    list.filter((one) => one.owner === owner).length;
  const mayRun = (owner: Owner): boolean => owner === null || of(owner, running) < limits.placesPerOwner;
  const started = (owner: Owner, number: number): void => {
    const at = waiting.findIndex((one) => one.number === number);
    if (at === -1) return;
    assert.equal(
      waiting.findIndex((one) => one.owner === owner),
      at,
      'the pieces of one owner keep their order',
    );
    waiting.splice(at, 1);
    for (const [index, other] of waiting.entries()) {
      if (other.owner === owner || waiting.findIndex((one) => one.owner === other.owner) !== index) continue;
      if (!mayRun(other.owner)) continue;
      assert.ok(!other.passedBy.includes(owner), 'nobody is served twice while another owner waits for its turn');
      other.passedBy.push(owner);
    }
  };
  const comes = (owner: Owner): void => {
    const number = count;
    count += 1;
    const expected =
      running.length < limits.places && mayRun(owner)
        ? 'starts'
        : owner !== null && of(owner, waiting) >= limits.waitingPerOwner
          ? 'too_many_requests'
          : waiting.length >= limits.waiting
            ? 'unavailable'
            : 'waits';
    if (expected === 'waits') waiting.push({ owner, number, passedBy: [] });
    const result = queue.run(
      owner,
      () =>
        new Promise<number>((resolve, reject) => {
          started(owner, number);
          const end = (fails: boolean): void => (fails ? reject(new Error('failed')) : resolve(number));
          running.push({ owner, number, end });
        }),
    );
    ended.push(
      result.then(
        (value) => assert.equal(value, number),
        (error: Error) => {
          if (!(error instanceof Refusal)) return assert.equal(error.message, 'failed');
          assert.equal(error.code, expected);
          assert.equal(error.headers['Retry-After'], '1');
        },
      ),
    );
  };
  const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const endOne = (at: number, fails: boolean): void => {
    const [piece] = running.splice(at % Math.max(1, running.length), 1);
    piece?.end(fails);
  };
  const check = (): void => {
    assert.equal(queue.held(), running.length);
    assert.ok(running.length <= limits.places);
    for (const owner of OWNERS) {
      assert.equal(queue.held(owner), of(owner, running));
      if (owner !== null) assert.ok(of(owner, running) <= limits.placesPerOwner);
      if (owner !== null) assert.ok(of(owner, waiting) <= limits.waitingPerOwner);
    }
    assert.ok(waiting.length <= limits.waiting);
    const couldRun = waiting.some(({ owner }) => mayRun(owner));
    assert.ok(running.length === limits.places || !couldRun, 'no place is free while someone who may have it waits');
  };
  for (const one of steps) {
    if ('comes' in one) comes(one.comes);
    else endOne(one.ends, one.fails);
    await settled();
    check();
  }
  while (running.length > 0) {
    endOne(0, false);
    await settled();
    check();
  }
  assert.equal(waiting.length, 0);
  await Promise.all(ended);
}

describe('createFairQueue', () => {
  it('keeps every bound, leaves no place unused, and serves owners in turn', async () => {
    await fc.assert(
      fc.asyncProperty(bounds, fc.array(step, { maxLength: 60 }), (limits, steps) =>
        runModel(limits as Required<FairBounds>, steps),
      ),
    );
  });

  it('serves one piece of an owner that came late before the many of another', async () => {
    const queue = createFairQueue({ what: 'pieces', places: 1 });
    const served: string[] = [];
    const piece = (owner: string): Promise<void> => queue.run(owner, async () => void served.push(owner));
    await Promise.all([...Array.from({ length: 50 }, () => piece('many')), piece('one'), piece('other')]);
    assert.deepEqual(served.slice(0, 4), ['many', 'many', 'one', 'other']);
  });

  it('takes amounts immediately, refuses beyond either bound, and changes nothing then', () => {
    const bytes = createFairQueue({ what: 'bytes', places: 100, placesPerOwner: 60, retryAfterSeconds: 3 });
    const first = bytes.take('a', 50);
    assert.throws(() => bytes.take('a', 11), { code: 'too_many_requests', headers: { 'Retry-After': '3' } });
    const second = bytes.take('b', 45);
    assert.throws(() => bytes.take('b', 10), { code: 'unavailable', headers: { 'Retry-After': '3' } });
    // The operator is bound only by what all have together.
    assert.throws(() => bytes.take(null, 6), { code: 'unavailable' });
    assert.equal(bytes.held(), 95);
    first();
    first();
    assert.deepEqual([bytes.held(), bytes.held('a'), bytes.held('b')], [45, 0, 45]);
    const third = bytes.take(null, 55);
    second();
    third();
    assert.equal(bytes.held(), 0);
  });

  it('bounds the operator too, if the pool has a bound for it', () => {
    const pool = createFairQueue({
      what: 'previews',
      places: Number.POSITIVE_INFINITY,
      placesPerOwner: 1,
      placesOfOperator: 2,
    });
    const leave = pool.take(null);
    pool.take(null);
    assert.throws(() => pool.take(null), { code: 'too_many_requests', message: /at most 2 / });
    pool.take('a');
    assert.throws(() => pool.take('a'), { code: 'too_many_requests', message: /at most 1 / });
    leave();
    pool.take(null);
  });
});

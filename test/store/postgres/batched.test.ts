/** Calls that come close together share a query. Nothing here needs a database. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type BatchedOptions, batched } from '../../../src/store/postgres/batched.ts';

/** Doubles numbers, and keeps the inputs of each query and how many were under way when it began, with itself. */
function doubling(options: BatchedOptions) {
  const queries: (readonly number[])[] = [];
  const inProgress: number[] = [];
  let running = 0;
  const double = batched<number, number>(async (inputs) => {
    queries.push(inputs);
    running += 1;
    inProgress.push(running);
    await nextTurn();
    running -= 1;
    return inputs.map((input) => 2 * input);
  }, options);
  return { queries, inProgress, double };
}

describe('calls together', () => {
  it('are one query while each turn of the event loop brings another, and are answered in order', async () => {
    const { queries, double } = doubling({ inProgressMax: 1, callsMax: 100 });
    const answers: Promise<number>[] = [];
    for (let n = 0; n < 4; n += 1) {
      answers.push(double(n), double(10 * n));
      await nextTurn();
    }
    assert.deepEqual(await Promise.all(answers), [0, 0, 2, 20, 4, 40, 6, 60]);
    assert.deepEqual(queries, [[0, 0, 1, 10, 2, 20, 3, 30]]);
  });

  it('do not wait for a call that never comes, nor forever while calls come in every turn', async () => {
    const { queries, double } = doubling({ inProgressMax: 1, callsMax: 100 });
    assert.equal(await double(1), 2);
    let isOver = false;
    const first = double(2).then(() => {
      isOver = true;
    });
    let turns = 0;
    for (; !isOver && turns < 1000; turns += 1) {
      void double(3);
      await nextTurn();
    }
    await first;
    assert.ok(turns < 20, `the first call waited for ${turns} turns`);
    assert.deepEqual(queries[0], [1]);
  });

  it('are divided into queries of a bounded size, and wait while as many as allowed are in progress', async () => {
    const { queries, inProgress, double } = doubling({ inProgressMax: 2, callsMax: 2 });
    const numbers = [1, 2, 3, 4, 5];
    assert.deepEqual(await Promise.all(numbers.map(double)), [2, 4, 6, 8, 10]);
    assert.deepEqual(queries, [[1, 2], [3, 4], [5]]);
    assert.equal(Math.max(...inProgress), 2);
  });
});

/** Runs the demo and a test from token to delivery on the other runtimes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runNestedTests } from '../support/nested.ts';

test('the demo and the circle test pass on the oldest Node, the newest, and Deno with the permissions of its tasks', async (t) => {
  const output = await runNestedTests(t, ['scripts/runtimes.ts', '--quick']);
  const passed = [...output.matchAll(/^(\w+) [\d.]+.*: the (demo|tests) passed/gm)].map(
    ([, runtime, what]) => `${runtime} ${what}`,
  );
  assert.deepEqual(passed, ['node demo', 'node tests', 'node demo', 'node tests', 'deno demo', 'deno tests']);
  assert.equal([...output.matchAll(/^ℹ pass [1-9]/gm)].length, 2, output);
});

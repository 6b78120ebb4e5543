/** Runs the demo and a test from token to delivery on the oldest Node, the newest, and Deno with the permissions of its tasks. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runNestedTests } from '../support/nested.ts';

for (const [runtime, name] of [
  ['node22', 'node'],
  ['node26', 'node'],
  ['deno', 'deno'],
] as const) {
  test(`the demo and the circle test pass on ${runtime}`, async (t) => {
    const output = await runNestedTests(t, ['scripts/runtimes.ts', '--quick', runtime]);
    const passed = [...output.matchAll(/^(\w+) [\d.]+.*: the (demo|tests) passed/gm)].map(
      ([, ran, what]) => `${ran} ${what}`,
    );
    assert.deepEqual(passed, [`${name} demo`, `${name} tests`]);
    // Deno's own runner prints no such line.
    if (name === 'node') assert.match(output, /^ℹ pass [1-9]/m);
  });
}

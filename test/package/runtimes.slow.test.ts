/** Runs the demo and a test from token to delivery on the other runtimes. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { cleanUp } from '../support/cleanup.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

test('the demo and the circle test pass on the oldest Node, the newest, and Deno with the permissions of its tasks', async (t) => {
  const args = ['--disable-warning=ExperimentalWarning', `${root}/scripts/test-runtimes.ts`, '--quick'];
  // Without NODE_TEST_CONTEXT, with which a nested `node --test` runs nothing and passes.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'], env });
  const ended = once(child, 'close');
  cleanUp(t, () => void child.kill('SIGTERM'));
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const [code] = (await ended) as [number | null];
  assert.equal(code, 0, output);
  const passed = [...output.matchAll(/^(\w+) [\d.]+.*: the (demo|tests) passed/gm)].map(
    ([, runtime, what]) => `${runtime} ${what}`,
  );
  assert.deepEqual(passed, ['node demo', 'node tests', 'node demo', 'node tests', 'deno demo', 'deno tests']);
  assert.equal([...output.matchAll(/^ℹ pass [1-9]/gm)].length, 2, output);
});

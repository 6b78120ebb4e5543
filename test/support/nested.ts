/** A script of the project that runs tests of its own. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { cleanUp } from './cleanup.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Runs a script in the project's folder until it ends. Fails unless it exits with 0. Returns what it wrote. */
export async function runNestedTests(
  t: TestContext,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  // Without NODE_TEST_CONTEXT, with which a nested `node --test` runs nothing and passes, and without TEST_TIMES: the test that runs them
  // has their processor time. They have a PostgreSQL server of their own, which may be of another version.
  const { NODE_TEST_CONTEXT: _, TEST_TIMES: __, TEST_POSTGRES: ___, ...rest } = process.env;
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', ...args], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...rest, ...env },
  });
  cleanUp(t, () => void child.kill('SIGTERM'));
  const ended = once(child, 'close');
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const [code] = (await ended) as [number | null];
  assert.equal(code, 0, output);
  return output;
}

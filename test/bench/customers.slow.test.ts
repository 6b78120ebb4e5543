/** The benchmark of silent customers writes them straight into the file, so a change of the schema must not break it. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const PROGRAM = fileURLToPath(new URL('../../scripts/bench/customers.ts', import.meta.url));

test('the benchmark of silent customers compares a database with one customer and one with many', async () => {
  const args = ['--disable-warning=ExperimentalWarning', PROGRAM, '--customers', '20', '--rounds', '1'];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  const lines = stdout.trimEnd().split('\n');
  assert.equal(lines.length, 3, stdout);
  for (const line of lines) assert.match(line, / µs with one customer, [\d.]+ µs with 20; ratio [\d.]+ /);
});

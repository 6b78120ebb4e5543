/**
 * `npm run test:runtimes -- [node22 | node24 | node26 | deno …] [--quick] [test files or folders …]`: runs the tests and
 * the demo with all modes on every runtime, or on the named ones. `--quick` runs only the demo and one end-to-end test, by default
 * without node24, which is the project's own Node. Runs everything, and then exits with 1 if anything failed.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { testOnDeno } from './runtimes/deno/test-files.ts';
import { programOf, RUNTIMES, type Runtime } from './runtimes/programs.ts';

const QUICK_TESTS = ['test/e2e/circle.test.ts'];
const QUICK_RUNTIMES: readonly Runtime[] = ['node22', 'node26', 'deno'];

const root = resolve(import.meta.dirname, '..');
const { values, positionals } = parseArgs({ options: { quick: { type: 'boolean' } }, allowPositionals: true });
const named = RUNTIMES.filter((runtime) => positionals.includes(runtime));
const paths = positionals.filter((argument) => !named.some((runtime) => runtime === argument));
const tests = paths.length > 0 ? paths : values.quick === true ? QUICK_TESTS : ['test'];
const runtimes = named.length > 0 ? named : values.quick === true ? QUICK_RUNTIMES : RUNTIMES;

const failures: string[] = [];
for (const runtime of runtimes) {
  const { path, version } = programOf(runtime);
  for (const [what, run] of [
    ['the demo', () => runDemo(runtime, path)],
    ['the tests', () => runTests(runtime, path)],
  ] as const) {
    process.stdout.write(`\n${version}: ${what}\n`);
    const startedAt = performance.now();
    const isGood = await run();
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(0);
    process.stdout.write(`${version}: ${what} ${isGood ? 'passed' : 'failed'} in ${seconds} s\n`);
    if (!isGood) failures.push(`${what} on ${version}`);
  }
}
process.stdout.write(failures.length === 0 ? '\nAll passed.\n' : `\nFailed: ${failures.join(', ')}\n`);
process.exitCode = failures.length === 0 ? 0 : 1;

/** Runs the demo; on Deno with the permissions of `deno task`, as in the README. Prints its output only if it fails. */
async function runDemo(runtime: Runtime, program: string): Promise<boolean> {
  const file = join(root, 'scripts', 'demo.ts');
  const args = runtime === 'deno' ? ['task', '--quiet', 'demo'] : ['--disable-warning=ExperimentalWarning', file];
  const child = spawn(program, [...args, '--all-modes'], { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] });
  const story = (await child.stdout.setEncoding('utf8').toArray()).join('');
  const isGood = (await ending(child)) === 0;
  if (!isGood) process.stdout.write(story);
  return isGood;
}

async function runTests(runtime: Runtime, program: string): Promise<boolean> {
  if (runtime === 'deno') return testOnDeno(program, root, tests.flatMap(testFiles));
  const args = ['--disable-warning=ExperimentalWarning', join(root, 'scripts', 'suite.ts'), ...tests];
  return (await ending(spawn(program, args, { cwd: root, stdio: 'inherit' }))) === 0;
}

async function ending(child: ChildProcess): Promise<number | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  return child.exitCode;
}

function testFiles(path: string): string[] {
  const whole = resolve(path);
  if (statSync(whole).isFile()) return [whole];
  const names = readdirSync(whole, { recursive: true, encoding: 'utf8' });
  return names
    .filter((name) => name.endsWith('.test.ts'))
    .sort()
    .map((name) => join(whole, name));
}

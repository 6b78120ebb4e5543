/**
 * Types, style, then every test but the slow ones, with coverage. `--slow` runs the slow ones alone: files named `*.slow.test.ts`,
 * which need other languages' tools or take more than about ten seconds. With arguments (test files or folders) only those tests
 * run, without coverage, slow ones included. Files are named one by one: a pattern that matches nothing would pass.
 *
 * Of the whole suite, one or two files that fail beside the others run again by themselves: what is wrong fails again, what was only
 * starved of its processor does not. Either way they are named at the end.
 */

import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { availableParallelism, tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';

const LINES_PERCENT = 92;
const BRANCHES_PERCENT = 85;
const TEST_TIMEOUT_MS = 180_000;
/** For what neither a test's nor a file's own time limit ends, such as an endless loop. */
const SUITE_TIMEOUT_MS = 45 * 60_000;
/** Test files side by side: one more than processors, since some wait for a browser or for a process that they have started. */
const CONCURRENCY = availableParallelism() + 1;

/** More than these, and it is not the machine. */
const FILES_AGAIN_MAX = 2;

/** Temporary files of the fast tests in memory: an fsync there is free. Deno's permissions do not reach there. */
const MEMORY = '/dev/shm';
const MEMORY_FREE_BYTES = 4 * 1024 ** 3;

const root = resolve(import.meta.dirname, '..');
const isSlow = process.argv[2] === '--slow';
const named = process.argv.slice(isSlow ? 3 : 2).map((path) => resolve(path));
const isInMemory = !isSlow && !named.some(isSlowFile) && canHoldTests(MEMORY);
const temporary = mkdtempSync(join(isInMemory ? MEMORY : tmpdir(), 'test-suite-'));
// Some tests run programs as another user.
chmodSync(temporary, 0o755);
process.once('exit', () => rmSync(temporary, { recursive: true, force: true }));
/** What one process has compiled the others load: tests start hundreds, each of which would need half a second for it. */
const compiled = join(temporary, 'compiled');
const tests = [
  ...['--disable-warning=ExperimentalWarning', '--import', join(root, 'scripts', 'test-deadline.ts')],
  ...['--test', `--test-concurrency=${CONCURRENCY}`, `--test-timeout=${TEST_TIMEOUT_MS}`],
  ...['--test-reporter=spec', '--test-reporter-destination=stdout'],
];

if (named.length > 0) {
  await step('tests', [...tests, ...testFiles(named)]);
} else if (isSlow) {
  await step('slow tests', [...tests, ...testFiles([join(root, 'test')]).filter(isSlowFile)]);
} else {
  await step('types', ['node_modules/typescript/bin/tsc', '--noEmit', '-p', '.']);
  await step('style', ['node_modules/@biomejs/biome/bin/biome', 'check', '--error-on-warnings', '.']);
  const covered = join(temporary, 'coverage');
  const again = await everyTest({ NODE_V8_COVERAGE: covered });
  // Apart from the tests: where one failed, what it said is the end of the log, and not a table that hides it.
  await step('coverage', ['node_modules/c8/bin/c8.js', 'report', `--temp-directory=${covered}`, ...coverage()]);
  if (again.length > 0) process.stdout.write(`\nPassed at the second attempt only:\n${listed(again)}`);
}

/** Ends the run where one fails that does not pass by itself either. Answers the files that passed at the second attempt. */
async function everyTest(env: NodeJS.ProcessEnv): Promise<string[]> {
  const report = join(temporary, 'report.xml');
  const reporting = ['--test-reporter=junit', `--test-reporter-destination=${report}`];
  const problem = await run('tests', [...tests, ...reporting, ...fastFiles()], env);
  if (problem === null) return [];
  const failed = failedFiles(report);
  if (failed.length === 0 || failed.length > FILES_AGAIN_MAX) stop(`tests: ${problem}\n${listed(failed)}`);
  process.stdout.write(`\nFailed, and once more by themselves:\n${listed(failed)}`);
  for (const file of failed) await step(`tests of ${relative(root, file)} by themselves`, [...tests, file], env);
  return failed;
}

/** The files in which a test failed, of a report in JUnit's form. */
function failedFiles(report: string): string[] {
  const found = readFileSync(report, 'utf8').matchAll(/ file="([^"]+)" failure="/g);
  return [...new Set([...found].map(([, file = '']) => file))];
}

function listed(files: readonly string[]): string {
  return files.map((file) => `  ${relative(root, file)}\n`).join('');
}

function isSlowFile(file: string): boolean {
  return file.endsWith('.slow.test.ts');
}

function fastFiles(): string[] {
  return testFiles([join(root, 'test')]).filter((file) => !isSlowFile(file));
}

/** The files themselves and the test files below the folders; ends the run where one path brings none. */
function testFiles(paths: string[]): string[] {
  return paths.flatMap((path) => {
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat === undefined) return stop(`There is no ${path}.`);
    const found = stat.isFile() ? [path] : filesBelow(path, '.test.ts');
    return found.length > 0 ? found : stop(`No test file is in ${path}, and running none is not passing.`);
  });
}

function filesBelow(folder: string, ending: string): string[] {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return names
    .filter((name) => name.endsWith(ending))
    .sort()
    .map((name) => join(folder, name));
}

function coverage(): string[] {
  const excluded = filesBelow(join(root, 'src'), '.ts').filter(isTypesOnly);
  return [
    ...['--all', '--src=src', '--include=src/**/*.ts'],
    ...['--reporter=text', '--skip-full', '--reporter=text-summary'],
    ...['--check-coverage', `--lines=${LINES_PERCENT}`, `--branches=${BRANCHES_PERCENT}`],
    ...excluded.map((file) => `--exclude=${relative(root, file)}`),
  ];
}

/** A file of nothing but types is never loaded, which would count as not covered. */
function isTypesOnly(file: string): boolean {
  const code = stripTypeScriptTypes(readFileSync(file, 'utf8'));
  return code.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*|\bexport \{\s*\}|;/g, '').trim() === '';
}

/** Runs one step with this Node and ends the run when it fails. */
async function step(name: string, args: string[], extra: NodeJS.ProcessEnv = {}): Promise<void> {
  const problem = await run(name, args, extra);
  if (problem !== null) stop(`${name}: ${problem}`);
}

/** Runs one step with this Node. Answers how it failed. */
async function run(name: string, args: string[], extra: NodeJS.ProcessEnv): Promise<string | null> {
  process.stdout.write(`\n${name}\n`);
  const env = { NODE_COMPILE_CACHE: compiled, TMPDIR: temporary, ...process.env, ...extra };
  const child = spawn(process.execPath, args, { cwd: root, stdio: 'inherit', timeout: SUITE_TIMEOUT_MS, env });
  let ended: NodeJS.Signals | null = null;
  const end = (signal: NodeJS.Signals): void => {
    ended = signal;
    child.kill(signal);
  };
  process.once('SIGTERM', end).once('SIGINT', end).once('SIGHUP', end);
  const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((done, fail) => {
    child.once('error', fail).once('exit', (...how) => done(how));
  });
  process.off('SIGTERM', end).off('SIGINT', end).off('SIGHUP', end);
  const by = ended ?? signal;
  if (by !== null) stop(`${name}: ended by ${by}`);
  return code === 0 ? null : `failed (${code})`;
}

/** Whether there is room, and programs may be run from there: some systems forbid it. */
function canHoldTests(folder: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(folder);
    if (bavail * bsize < MEMORY_FREE_BYTES) return false;
    const tried = mkdtempSync(join(folder, 'test-suite-'));
    const program = join(tried, 'program');
    writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 });
    const { status } = spawnSync(program);
    rmSync(tried, { recursive: true });
    return status === 0;
  } catch {
    return false;
  }
}

function stop(reason: string): never {
  process.stderr.write(`${reason.trimEnd()}\n`);
  process.exit(1);
}

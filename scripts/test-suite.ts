/**
 * Types, style, then every test with coverage. With arguments (test files or folders) only those tests run, without
 * coverage. Files are named one by one: a pattern that matches nothing would pass.
 */

import { spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
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

const root = resolve(import.meta.dirname, '..');
/** What one process has compiled the others load: tests start hundreds, each of which would need half a second for it. */
const compiled = mkdtempSync(join(tmpdir(), 'test-suite-'));
process.once('exit', () => rmSync(compiled, { recursive: true, force: true }));
const named = process.argv.slice(2).map((path) => resolve(path));
const tests = [
  ...['--disable-warning=ExperimentalWarning', '--import', join(root, 'scripts', 'test-deadline.ts')],
  ...['--test', '--test-reporter=spec', `--test-concurrency=${CONCURRENCY}`, `--test-timeout=${TEST_TIMEOUT_MS}`],
  ...testFiles(named.length > 0 ? named : [join(root, 'test')]),
];

if (named.length > 0) {
  await run('tests', tests);
} else {
  await run('types', ['node_modules/typescript/bin/tsc', '--noEmit', '-p', '.']);
  await run('style', ['node_modules/@biomejs/biome/bin/biome', 'check', '--error-on-warnings', '.']);
  await run('tests', ['node_modules/c8/bin/c8.js', ...coverage(), process.execPath, ...tests]);
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
async function run(step: string, args: string[]): Promise<void> {
  process.stdout.write(`\n${step}\n`);
  const env = { NODE_COMPILE_CACHE: compiled, ...process.env };
  const child = spawn(process.execPath, args, { cwd: root, stdio: 'inherit', timeout: SUITE_TIMEOUT_MS, env });
  const end = (signal: NodeJS.Signals): boolean => child.kill(signal);
  process.once('SIGTERM', end).once('SIGINT', end).once('SIGHUP', end);
  const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((done, fail) => {
    child.once('error', fail).once('exit', (...how) => done(how));
  });
  process.off('SIGTERM', end).off('SIGINT', end).off('SIGHUP', end);
  if (code !== 0) stop(`${step}: failed (${signal ?? code})`);
}

function stop(reason: string): never {
  process.stderr.write(`${reason}\n`);
  process.exit(1);
}

/**
 * Runs the tests (see `--help`). Several test files share a process, because starting one and loading the modules takes longer than most
 * files' tests. As many processes run at a time as keep the processors busy, the longest first (scripts/suite/jobs.ts). Each file says in
 * which tier it repeats on PostgreSQL (test/support/repeats.ts).
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
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
import { dirname, join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { runPgBouncer } from '../test/support/pgbouncer.ts';
import { initialize, postgresPrograms, startCluster } from '../test/support/postgres.ts';
import { describeMissing, importedBy, missingFor, missingPrograms } from '../test/support/programs.ts';
import { type Repeat, repeatsOf } from '../test/support/repeats.ts';
import { COMPILER } from './build/compiler.ts';
import { grouped, isSlowFile, isWaiting, secondsOf } from './suite/jobs.ts';
import { readTimes, timesReport } from './suite/times-report.ts';
import { notOnPostgres, readStatements } from './suite/unproved-statements.ts';

const LINES_PERCENT = 92;
const BRANCHES_PERCENT = 85;
const TEST_TIMEOUT_MS = 180_000;
/** The time limit of a process, for cases that the limits of tests and files do not end, for example an endless loop. */
const PROCESS_TIMEOUT_MS = 25 * 60_000;
/** Two more than the number of processors, because many tests wait for timers, browsers and other processes. */
const CONCURRENCY = availableParallelism() + 2;
/** Files that each test process loads before the tests: the runner sorts files by their paths. */
const FIRST = ['scripts/suite/deadline.ts', 'scripts/suite/times.ts', 'scripts/suite/recorder.ts'];
/** The fast tests store temporary files in memory, where an fsync is free. */
const MEMORY = '/dev/shm';
const MEMORY_FREE_BYTES = 4 * 1024 ** 3;

/** Reads `TEST_DATABASE`. A test that does not import it, directly or not, does the same in both runs. */
const KNOWS_DATABASE = 'support/store.ts';

const HELP = `npm test [-- <files and folders>] [-- --slow | --all] [-- --coverage]

Checks types and style, and runs all tests except the slow ones, whose files are named *.slow.test.ts.
Given files or folders, it runs their tests and nothing else.

  --slow      runs only the slow tests, like npm run test:slow
  --all       runs the slow tests too, as .ci/run does
  --coverage  also measures what the fast tests and those of the portal cover,
              and fails below ${LINES_PERCENT} % of lines or ${BRANCHES_PERCENT} % of branches
  --help      shows this text

  TEST_DATABASE=postgres, TEST_DATABASE=pgbouncer  runs the given tests on PostgreSQL, or through PgBouncer
  CI=1                                             fails where a program is missing, instead of skipping its tests
`;

type Tier = 'fast' | 'slow';
type Job = {
  readonly name: string;
  readonly args: readonly string[];
  /** The test files that it runs. */
  readonly files?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
};
type Result = { readonly name: string; readonly problem: string | null; readonly output: string };

const root = resolve(import.meta.dirname, '..');
const { values: options, positionals } = parseArgs({
  options: {
    slow: { type: 'boolean' },
    all: { type: 'boolean' },
    coverage: { type: 'boolean' },
    help: { type: 'boolean' },
  },
  allowPositionals: true,
});
if (options.help === true) {
  process.stdout.write(HELP);
  process.exit();
}
const named = positionals.map((path) => resolve(path));
const isWhole = named.length === 0;
const isOfBothTiers = options.all === true || !isWhole;
const tiers: readonly Tier[] = isOfBothTiers ? ['fast', 'slow'] : [options.slow === true ? 'slow' : 'fast'];
const chosen = chosenFiles();
const missing = missingPrograms();
// With CI set the tests run all the same, and fail.
const files = process.env.CI === undefined ? chosen.filter((file) => missingFor(file).length === 0) : chosen;
if (files.length === 0) stop(`No test can run here: ${describeMissing(missing)}.`);
const temporary = makeTemporary(canHoldTests(MEMORY) ? MEMORY : tmpdir());
const temporaryOnDisk = files.some(isSlowFile) ? makeTemporary(tmpdir()) : temporary;
const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const folder of [temporary, temporaryOnDisk]) rmSync(folder, { recursive: true, force: true });
});
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
  process.once(signal, () => {
    for (const child of running) endAll(child);
    stop(`ended by ${signal}`);
  });
}

const startedAt = performance.now();
const checks: Job[] = [
  // Tests run beside it.
  { name: 'types', args: [...COMPILER.args, '--noEmit', '-p', '.'], env: COMPILER.env },
  { name: 'style', args: ['node_modules/@biomejs/biome/bin/biome', 'check', '--error-on-warnings', '.'] },
];
const covered = join(temporary, 'coverage');
const coverage: Readonly<Record<string, string>> = options.coverage === true ? { NODE_V8_COVERAGE: covered } : {};
const timesPath = join(temporary, 'times');
const statementsPath = join(temporary, 'statements');
const isPooled = process.env.TEST_DATABASE === 'pgbouncer';
const server = isWhole || process.env.TEST_DATABASE !== undefined ? await startServer() : null;
const comparesDatabases = isWhole && tiers.includes('fast') && server !== null;
const settingsOf: Readonly<Record<Tier, Readonly<Record<string, string>>>> = {
  fast: {
    TEST_TIMES: timesPath,
    ...(comparesDatabases ? { TEST_STATEMENTS: statementsPath } : {}),
    ...coverage,
  },
  slow: { TEST_TIMES: timesPath },
};
const jobs = [
  ...(isWhole && tiers.includes('fast') ? checks : []),
  ...tiers.flatMap(jobsOf).toSorted((one, other) => expectedSeconds(other) - expectedSeconds(one)),
];
const results = await runAll(jobs);
const failed = results.filter(({ problem }) => problem !== null);
const lacking = failed.length === 0 && comparesDatabases ? notOnPostgres(readStatements(statementsPath)) : [];
if (lacking.length > 0) {
  failed.push({ name: 'statements', problem: 'never ran on PostgreSQL', output: `${lacking.join('\n')}\n` });
}
if (failed.length === 0 && options.coverage === true) {
  const result = await run({ name: 'coverage', args: ['node_modules/c8/bin/c8.js', 'report', ...coverageArgs()] });
  process.stdout.write(result.output);
  if (result.problem !== null) failed.push(result);
}
for (const { name, problem, output } of failed) process.stdout.write(`\n${name}: ${problem}\n${output}`);
const count = results.reduce((sum, { output }) => sum + testsIn(output), 0);
if (isWhole) process.stdout.write(`\n${timesReport(readTimes(timesPath))}\n`);
const summary = `${count} tests of ${files.length} files in ${seconds(startedAt)}`;
if (failed.length > 0) stop(`\n${summary}. Failed:\n${failed.map(({ name }) => `  ${name}\n`).join('')}`);
process.stdout.write(`\n${summary}. All passed.\n${skippedNote()}`);

/** The tests of a tier, and its further runs on PostgreSQL. */
function jobsOf(tier: Tier): Job[] {
  const { [tier]: settings } = settingsOf;
  const selected = { ...settings, ...settingsOfSelected() };
  // Its slow tests reach what no fast test does.
  const isOfPortal = (file: string): boolean => file.startsWith(join(root, 'test', 'portal'));
  return [
    ...grouped(files.filter((file) => tierOf(file) === tier)).map((group) =>
      testJob(group, group.every(isOfPortal) ? { ...selected, ...coverage } : selected),
    ),
    ...(isWhole && server !== null ? repeatJobs(tier, { ...settings, ...server }) : []),
  ];
}

function tierOf(file: string): Tier {
  return isSlowFile(file) ? 'slow' : 'fast';
}

/** Settings of tests that run on one PostgreSQL server for all, through PgBouncer if it is installed; null without PostgreSQL. */
async function startServer(): Promise<Readonly<Record<string, string>> | null> {
  const lacks = missing.filter((program) => program === 'postgres' || program === 'pgbouncer');
  if (lacks.length > 0 && (process.env.CI !== undefined || isPooled)) stop(`${describeMissing(lacks)}.`);
  const programs = postgresPrograms();
  if (programs === null) return null;
  process.env.TEST_POSTGRES_INITIALIZED = initialize(temporary, programs).folder;
  // Its workers would connect to each of the many databases in turn.
  const cluster = await startCluster({ autovacuum: 'off' }, temporary);
  const pooler = lacks.length > 0 ? null : await runPgBouncer(cluster, temporary);
  // Before the folder is removed in which they work.
  process.prependOnceListener('exit', () => {
    pooler?.abandon();
    cluster.stop();
  });
  // Otherwise each connection asks for TLS first, and then begins again.
  const settings = { TEST_DATABASE: 'postgres', TEST_POSTGRES: withoutSlash(cluster.url('')), PGSSLMODE: 'disable' };
  return pooler === null ? settings : { ...settings, TEST_POOLER: withoutSlash(pooler.url('')) };
}

/** Tests that know only PostgreSQL use the same server. */
function settingsOfSelected(): Readonly<Record<string, string>> {
  if (server === null || isPooled) return server ?? {};
  return { TEST_POSTGRES: server.TEST_POSTGRES ?? '' };
}

function withoutSlash(url: string): string {
  return url.replace(/\/$/, '');
}

/** The further runs of a tier on PostgreSQL, and through PgBouncer if it is installed. */
function repeatJobs(tier: Tier, { TEST_POOLER, ...env }: Readonly<Record<string, string>>): Job[] {
  const run = (chosen: readonly string[], what: string, settings: Readonly<Record<string, string>>): Job[] =>
    grouped(chosen).map((group) => {
      const job = testJob(group, settings);
      return { ...job, name: `${job.name} ${what}` };
    });
  return [
    ...run(repeatedOn('postgres', tier), 'on PostgreSQL', env),
    ...(TEST_POOLER === undefined
      ? []
      : run(repeatedOn('pgbouncer', tier), 'through PgBouncer', { ...env, TEST_POOLER })),
  ];
}

/** The files that say so. Stops for one that ignores `TEST_DATABASE`. */
function repeatedOn(database: Repeat, tier: Tier): string[] {
  const chosen = testFiles([join(root, 'test')]).filter((file) =>
    repeatsOf(readFileSync(file, 'utf8'))[tier].includes(database),
  );
  const same = chosen.find((file) => !importedBy(file).has(join(root, 'test', KNOWS_DATABASE)));
  return same === undefined ? chosen : stop(`${same} does the same on every database, so it needs no repeat.`);
}

/** Runs the jobs concurrently and prints the result of each. Prints the complete output if tests were selected by name. */
async function runAll(jobs: readonly Job[]): Promise<Result[]> {
  const results: Result[] = [];
  const isBeside = ({ files = [] }: Job): boolean => files.length > 0 && isWaiting(files);
  const waiting = jobs.filter((job) => !isBeside(job));
  const work = async (queue: Job[]): Promise<void> => {
    for (let job = queue.shift(); job !== undefined; job = queue.shift()) {
      const began = performance.now();
      const result = await run(job);
      results.push(result);
      const count = testsIn(result.output);
      const tests = count === 0 ? '' : `${count} tests, `;
      process.stdout.write(`${result.problem === null ? '✔' : '✖'} ${job.name} (${tests}${seconds(began)})\n`);
      if (named.length > 0) process.stdout.write(result.output);
    }
  };
  await Promise.all([
    ...Array.from({ length: CONCURRENCY }, () => work(waiting)),
    ...jobs.filter(isBeside).map((job) => work([job])),
  ]);
  return results;
}

/** Runs one job with the current Node. */
async function run({ name, args, env = {} }: Job): Promise<Result> {
  const child = spawn(process.execPath, args, {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    // A process group of its own, so that the programs that its tests started end with it.
    detached: true,
    // All processes share compiled code, also those of a suite that a test runs.
    env: { TMPDIR: temporary, NODE_COMPILE_CACHE: join(temporary, 'compiled'), ...process.env, ...env },
  });
  running.add(child);
  const limit = setTimeout(() => endAll(child), PROCESS_TIMEOUT_MS);
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const [code, signal] = await new Promise<[number | null, NodeJS.Signals | null]>((done, fail) => {
    child.once('error', fail).once('close', (...how) => done(how));
    // What it left running may hold its output open.
    child.once('exit', () => endAll(child));
  });
  clearTimeout(limit);
  running.delete(child);
  const problem = signal === null ? (code === 0 ? null : `failed (${code})`) : `ended by ${signal}`;
  return { name, problem, output };
}

/** Ends a process and the programs that it started. */
function endAll({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}

/** On PostgreSQL tests need about twice what their size says. */
function expectedSeconds({ files = [], env }: Job): number {
  return secondsOf(files) * (env?.TEST_DATABASE === undefined ? 1 : 2);
}

function testJob(group: readonly string[], settings: Readonly<Record<string, string>>): Job {
  const [first = '', ...more] = group.map((file) => relative(join(root, 'test'), file));
  // Before Node 23.6 the option had another name.
  const isolation = process.versions.node.startsWith('22.') ? '--experimental-test-isolation' : '--test-isolation';
  return {
    name: more.length === 0 ? first : `${first} … ${relative(dirname(first), more.at(-1) ?? '')}`,
    args: [
      '--disable-warning=ExperimentalWarning',
      '--test',
      `${isolation}=none`,
      `--test-timeout=${TEST_TIMEOUT_MS}`,
      // In MiB. The young generation begins with 1, and its many collections would take an eighth of the processor time.
      '--min-semi-space-size=16',
      // Not with --import, because then every thread would load it too.
      '--test-reporter=spec',
      ...FIRST.map((name) => join(root, name)),
      ...group,
    ],
    files: group,
    env: group.some(isSlowFile) ? { TMPDIR: temporaryOnDisk, ...settings } : settings,
  };
}

/** Tells which tests did not run because the machine lacks programs, and the packages that have them; empty if nothing was skipped. */
function skippedNote(): string {
  const without = chosen.length - files.length;
  const tests = results.reduce((sum, { output }) => sum + Number(/^ℹ skipped (\d+)$/m.exec(output)?.[1] ?? 0), 0);
  const onSqliteOnly = isWhole && server === null ? ', and all runs on PostgreSQL' : '';
  if (missing.length === 0 || (without === 0 && tests === 0 && onSqliteOnly === '')) return '';
  return `Skipped: ${without} files and ${tests} tests${onSqliteOnly}. ${describeMissing(missing)}.\n`;
}

function testsIn(output: string): number {
  return Number(/^ℹ tests (\d+)$/m.exec(output)?.[1] ?? 0);
}

function chosenFiles(): string[] {
  if (named.length > 0) return testFiles(named);
  return testFiles([join(root, 'test')]).filter((file) => tiers.includes(tierOf(file)));
}

/** Returns the given files and the test files in the given folders. Fails for a path without tests, which Node reports as passed. */
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

function coverageArgs(): string[] {
  const excluded = filesBelow(join(root, 'src'), '.ts').filter(isTypesOnly);
  return [
    `--temp-directory=${covered}`,
    '--all',
    '--src=src',
    '--include=src/**/*.ts',
    '--reporter=text',
    '--skip-full',
    '--reporter=text-summary',
    '--check-coverage',
    `--lines=${LINES_PERCENT}`,
    `--branches=${BRANCHES_PERCENT}`,
    ...excluded.map((file) => `--exclude=${relative(root, file)}`),
  ];
}

/** A file with only types is never loaded, so it would count as not covered. */
function isTypesOnly(file: string): boolean {
  const code = stripTypeScriptTypes(readFileSync(file, 'utf8'));
  return code.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*|\bexport \{\s*\}|;/g, '').trim() === '';
}

/** Some tests run programs as another user, who must get in. */
function makeTemporary(within: string): string {
  const folder = mkdtempSync(join(within, 'test-suite-'));
  chmodSync(folder, 0o755);
  return folder;
}

/** Whether the folder has enough space and can run programs, which some systems forbid. */
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

function seconds(since: number): string {
  return `${((performance.now() - since) / 1000).toFixed(1)} s`;
}

function stop(reason: string): never {
  process.stderr.write(`${reason.trimEnd()}\n`);
  process.exit(1);
}

/**
 * The programs that tests run and npm does not install. `programs.txt` names each with its Debian package; `.ci/run` installs them.
 * Without one of them, its tests are skipped. With `CI` set nothing is skipped, so those tests fail.
 */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { onPath } from './on-path.ts';
import { postgresPrograms } from './postgres.ts';

/** The programs of PostgreSQL are not on the PATH. This name stands for all of them. */
const POSTGRES = 'postgres';

const PACKAGES: ReadonlyMap<string, string> = new Map([
  ...readFileSync(join(import.meta.dirname, 'programs.txt'), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.split(' ') as [string, string]),
  [POSTGRES, 'postgresql-15'],
]);

/** For the option `skip` of a test: false if the programs are installed, or the reason why it cannot run. */
export function lacking(...programs: readonly string[]): string | false {
  const missing = missingOf(programs);
  return missing.length > 0 && process.env.CI === undefined && describeMissing(missing);
}

/** Those of the programs that are not installed. */
export function missingOf(programs: readonly string[]): string[] {
  return programs.filter((program) => !isInstalled(program));
}

/** Like `zsh is not installed (apt-get install zsh)`. */
export function describeMissing(programs: readonly string[]): string {
  const packages = programs.map((program) => PACKAGES.get(program) ?? program);
  const [names, are] = [programs.join(', '), programs.length === 1 ? 'is' : 'are'];
  return `${names} ${are} not installed (apt-get install ${[...new Set(packages)].join(' ')})`;
}

/** Marks a program that a module runs by a variable name, so that `missingFor` finds it. */
export function needs(program: string): string {
  return program;
}

/** All that this machine lacks. */
export function missingPrograms(): string[] {
  return [...PACKAGES.keys()].filter((program) => !isInstalled(program));
}

/**
 * The missing programs that a test file cannot do without: it runs them, or a module of test/support does that it imports. For the programs
 * that it runs itself, a file may also call `lacking` for each test.
 */
export function missingFor(file: string): string[] {
  const [own = '', ...imported] = [...importedBy(file)].map((path) => readFileSync(path, 'utf8'));
  const skipsTests = /\blacking\(/.test(own);
  return missingPrograms().filter(
    (program) =>
      (!skipsTests && runs(own, program)) ||
      // Most tests can run on PostgreSQL, but only if `TEST_DATABASE` says so.
      (program === POSTGRES ? POSTGRES_ALWAYS.test(own) : imported.some((source) => runs(source, program))),
  );
}

function runs(source: string, program: string): boolean {
  return new RegExp(`\\b(?:spawn|spawnSync|execFile|execFileSync|run|startProxy|needs)\\(\\s*'${program}'`).test(
    source,
  );
}

/** The helpers that start a server or make a database even in a run on SQLite. */
const POSTGRES_ALWAYS =
  /\b(?:newDatabase|openTestPostgres|openEmptied|startCluster|createDatabase|openAt|openClient|runPgBouncer)\(/;

function isInstalled(program: string): boolean {
  if (program === POSTGRES) return postgresPrograms() !== null;
  // Either of the two will do.
  if (program === 'chromium-headless-shell' && onPath('chromium') !== null) return true;
  return onPath(program) !== null;
}

const LOCAL_IMPORT = /\b(?:from|import) '(\.[^']+)'/g;
const tests = resolve(import.meta.dirname, '..');

/** By path. The files do not change while this process runs. */
const imports = new Map<string, readonly string[]>();

/** The file first, and all files of test/ that it imports, directly or not. A test may hold a program whose imports are no files here. */
export function importedBy(file: string, found: Set<string> = new Set()): Set<string> {
  if (found.has(file) || !file.startsWith(join(tests, '/')) || !existsSync(file)) return found;
  found.add(file);
  const direct =
    imports.get(file) ??
    [...readFileSync(file, 'utf8').matchAll(LOCAL_IMPORT)].map(([, path = '']) => resolve(dirname(file), path));
  imports.set(file, direct);
  for (const path of direct) importedBy(path, found);
  return found;
}

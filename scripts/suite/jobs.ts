/** Which test files share a process, and the order in which the processes start: no long one is left for the end. */

import { readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { importedBy } from '../../test/support/programs.ts';

const tests = join(import.meta.dirname, '..', '..', 'test');

/**
 * Enough files to spread the cost of loading and warming the modules over, and few enough to keep all processors busy to the end. Slow
 * files wait for most of their time.
 */
const SECONDS_PER_PROCESS = { fast: 55, slow: 45 };
const FILES_PER_PROCESS = 90;
/** Folders that take less than this share processes with others, because loading the modules takes as long. */
const SMALL_SECONDS = 16;

const BROWSER = join(tests, 'support/browser-pages.ts');
const PROGRAMS = ['support/command.ts', 'support/service.ts'].map((file) => join(tests, file));

/** A test file that measures its process shares it with no other file. */
const MEASURES_ITS_PROCESS = /process\.(memoryUsage|resourceUsage|getActiveResourcesInfo)\b/;
const STARTS_PROGRAMS = /\b(spawnService|serve|sallyportProcess|spawn|spawnSync|execFile|execFileSync)\(/;

/** Seconds of processor time for each kilobyte of a file's text, measured over all files. */
const SECONDS_PER_KB = { browser: 0.5, programs: 0.55, others: 0.08 };

/** Seconds of files that take much longer than the others of their size: of slow ones on the clock, of others of the processor. */
const MEASURED: Readonly<Record<string, number>> = {
  'binary.slow.test.ts': 24,
  'bench/command.slow.test.ts': 25,
  'chaos/chaos.slow.test.ts': 45,
  'chaos/cluster.slow.test.ts': 56,
  'cli/move.slow.test.ts': 10,
  'cli/postgres.test.ts': 6,
  'cli/serve.test.ts': 7,
  'customers/page-isolation.test.ts': 7,
  'delivery/lease-model.slow.test.ts': 15,
  'delivery/rate-limit.slow.test.ts': 30,
  'docs/commands.slow.test.ts': 21,
  'docs/kubernetes.slow.test.ts': 32,
  'e2e/crash-load.slow.test.ts': 10,
  'e2e/crash.test.ts': 4,
  'e2e/demo-cluster.slow.test.ts': 15,
  'e2e/demo.slow.test.ts': 24,
  'e2e/standby.slow.test.ts': 34,
  'e2e/stop.slow.test.ts': 25,
  'events/erase.slow.test.ts': 16,
  'http/keep-alive.slow.test.ts': 132,
  'http/openapi-clients.slow.test.ts': 26,
  'http/recompiled.slow.test.ts': 12,
  'http/schemathesis.slow.test.ts': 41,
  'kernel/sallyport-lifetime.test.ts': 6,
  'package/check.slow.test.ts': 38,
  'package/deno.slow.test.ts': 45,
  'package/postgres-versions.slow.test.ts': 60,
  'package/runtimes.slow.test.ts': 23,
  'package/sallyport.slow.test.ts': 32,
  'portal/accessibility.slow.test.ts': 65,
  'portal/browsers.slow.test.ts': 26,
  'portal/customers/console.slow.test.ts': 10,
  'portal/deliveries.slow.test.ts': 12,
  'portal/markup.slow.test.ts': 31,
  'portal/passkeys.slow.test.ts': 12,
  'portal/stored-markup.slow.test.ts': 12,
  'receivers/csharp.slow.test.ts': 12,
  'receivers/java.slow.test.ts': 12,
  'receivers/shell.slow.test.ts': 21,
  'receivers/standard-webhooks.slow.test.ts': 40,
};

/** Files that wait for most of their time and take no processor. They run beside the others. */
const WAITING = ['http/keep-alive.slow.test.ts'];

export function isSlowFile(file: string): boolean {
  return file.endsWith('.slow.test.ts');
}

export function isWaiting(group: readonly string[]): boolean {
  return group.every((file) => WAITING.includes(relative(tests, file)));
}

/** About how many seconds the tests of the files take. */
export function secondsOf(group: readonly string[]): number {
  return group.reduce((sum, file) => sum + secondsOfFile(file), 0);
}

/** The files that have a measured time, as paths below test/. */
export function measuredFiles(): string[] {
  return [...Object.keys(MEASURED), ...WAITING];
}

function secondsOfFile(file: string): number {
  const measured = MEASURED[relative(tests, file)];
  if (measured !== undefined) return measured;
  const imported = importedBy(file);
  const isProgram = PROGRAMS.some((path) => imported.has(path)) && STARTS_PROGRAMS.test(readFileSync(file, 'utf8'));
  const kind = imported.has(BROWSER) ? 'browser' : isProgram ? 'programs' : 'others';
  return (statSync(file).size / 1000) * SECONDS_PER_KB[kind];
}

/** Groups files of one folder, because they load similar modules, and whole small folders. */
export function grouped(files: readonly string[]): string[][] {
  const isAlone = (file: string): boolean => isWaiting([file]) || MEASURES_ITS_PROCESS.test(readFileSync(file, 'utf8'));
  const together = files.filter((file) => !isAlone(file));
  const folders = [...Map.groupBy(together, (file) => dirname(file)).values()];
  const small = folders.filter((inFolder) => secondsOf(inFolder) < SMALL_SECONDS);
  const large = folders.filter((inFolder) => !small.includes(inFolder));
  const oneByOne = large.map((inFolder) => inFolder.map((file) => [file]));
  return [...[...oneByOne, small].flatMap(divided), ...files.filter(isAlone).map((file) => [file])];
}

/** As few processes as the limits allow, which take about the same time. The files of a part stay together. */
function divided(parts: readonly (readonly string[])[]): string[][] {
  const files = parts.flat();
  if (files.length === 0) return [];
  const limit = files.some(isSlowFile) ? SECONDS_PER_PROCESS.slow : SECONDS_PER_PROCESS.fast;
  const count = Math.max(Math.ceil(secondsOf(files) / limit), Math.ceil(files.length / FILES_PER_PROCESS));
  const groups = Array.from({ length: count }, () => ({ files: [] as string[], seconds: 0 }));
  const longestFirst = parts.map((part) => ({ part, seconds: secondsOf(part) }));
  longestFirst.sort((one, other) => other.seconds - one.seconds);
  for (const { part, seconds } of longestFirst) {
    const least = groups.reduce((one, other) => (other.seconds < one.seconds ? other : one));
    least.files.push(...part);
    least.seconds += seconds;
  }
  return groups.filter((group) => group.files.length > 0).map((group) => group.files.sort());
}

/** The report on processor time that a whole tier of tests ends with: by folder of test/, and the slowest files. */

import { existsSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';

/**
 * Of one test process (scripts/suite/times.ts). Times are in seconds. `loading` ends when the first test begins. `browsers` is the time of
 * the programs that run until the last test has ended; the files do not have it.
 */
export type Times = {
  readonly database: 'SQLite' | 'PostgreSQL' | 'PgBouncer';
  readonly loading: number;
  readonly browsers: number;
  readonly files: Readonly<Record<string, number>>;
};

const SLOWEST = 12;
const LOADING = '(loading)';
const BROWSERS = '(browsers)';
const tests = join(import.meta.dirname, '..', '..', 'test');

export function readTimes(path: string): Times[] {
  const lines = existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n') : [];
  return lines.map((line) => JSON.parse(line) as Times);
}

/** Without the time of servers that all processes share. */
export function timesReport(times: readonly Times[]): string {
  const entries = times.flatMap(({ database, loading, browsers, files }) => [
    { name: LOADING, database, seconds: loading },
    { name: BROWSERS, database, seconds: browsers },
    ...Object.entries(files)
      .filter(([file]) => file.startsWith(tests))
      .map(([file, seconds]) => ({ name: relative(tests, file), database, seconds })),
  ]);
  const sum = (some: typeof entries): string => some.reduce((total, { seconds }) => total + seconds, 0).toFixed(0);
  const folders = Map.groupBy(entries, ({ name, database }) => `${database} ${name.split('/')[0]}`);
  const slowest = entries
    .filter(({ name }) => !name.startsWith('('))
    .toSorted((one, other) => other.seconds - one.seconds)
    .slice(0, SLOWEST);
  const byDatabase = [...Map.groupBy(entries, ({ database }) => database)].map(([database, all]) => {
    const own = [...folders].filter(([key]) => key.startsWith(database));
    const sorted = own.toSorted(([, one], [, other]) => Number(sum(other)) - Number(sum(one)));
    const shown = sorted.map(([key, some]) => `${key.slice(database.length + 1)} ${sum(some)}`);
    return `${database}: ${sum(all)} s (${shown.join(', ')})`;
  });
  const files = slowest.map(({ name, database, seconds }) => `  ${seconds.toFixed(1)} s  ${name} (${database})`);
  return ['Processor time', ...byDatabase, 'The slowest files', ...files].join('\n');
}

/** The command line of the benchmarks. */
import { parseArgs } from 'node:util';

/** The benchmarks, in the order in which they run. */
export const NAMES = [
  'token',
  'guard',
  'delivery',
  'pace',
  'growth',
  'isolation',
  'shares',
  'memory',
  'start',
] as const;
export type BenchName = (typeof NAMES)[number];

export type Options = {
  readonly names: readonly BenchName[];
  readonly quick: boolean;
  readonly soakMinutes: number;
  readonly rounds: number;
  readonly folder: string;
  readonly resultsFolder: string;
  readonly writeReport: boolean;
  readonly skipMissing: boolean;
};

export const USAGE = `usage: npm run bench -- [${NAMES.join('|')} …] [options]
       npm run bench -- report

Without a name: all of them, in less than 20 minutes. \`report\` measures nothing and writes the report of the last measurements.

  --write-report     write docs/benchmarks.md afterwards, of the newest result of every benchmark
  --rounds <n>       how often everything is measured (5)
  --soak-minutes <n> how long the soak of \`memory\` takes (1)
  --folder <path>    where databases are put during the run, on a disk (/var/tmp)
  --results <path>   where results are kept (scripts/bench/results)
  --skip-missing     leave out peers whose database is not on this machine; the result says so
  --quick            as little as can be, to see that it runs; no result to keep
`;

/** Throws an `Error` that names the problem with the arguments. */
export function readOptions(args: readonly string[], defaultResults: string): Options {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      'write-report': { type: 'boolean', default: false },
      rounds: { type: 'string' },
      'soak-minutes': { type: 'string' },
      folder: { type: 'string', default: '/var/tmp' },
      results: { type: 'string', default: defaultResults },
      quick: { type: 'boolean', default: false },
      'skip-missing': { type: 'boolean', default: false },
    },
  });
  const reportOnly = positionals.length === 1 && positionals[0] === 'report';
  const unknown = reportOnly ? undefined : positionals.find((name) => !isName(name));
  if (unknown !== undefined) throw new Error(`there is no benchmark ${unknown}`);
  const asked = positionals.length === 0 ? NAMES : NAMES.filter((name) => positionals.includes(name));
  const { quick } = values;
  return {
    names: reportOnly ? [] : asked,
    quick,
    soakMinutes: positive(values['soak-minutes'], 'soak-minutes', quick ? 0.05 : 1),
    rounds: Math.ceil(positive(values.rounds, 'rounds', quick ? 1 : 5)),
    folder: values.folder,
    resultsFolder: values.results,
    writeReport: reportOnly || values['write-report'],
    skipMissing: values['skip-missing'],
  };
}

function isName(text: string): text is BenchName {
  return (NAMES as readonly string[]).includes(text);
}

function positive(text: string | undefined, name: string, otherwise: number): number {
  if (text === undefined) return otherwise;
  const value = Number(text);
  if (!(value > 0 && value <= 1000)) throw new Error(`--${name} is not a number above 0: ${text}`);
  return value;
}

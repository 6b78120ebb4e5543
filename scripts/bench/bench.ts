/**
 * The benchmarks: how Sallyport compares with what could be picked instead, and with the limit of the machine. Each prints a table
 * and keeps its result as JSON; `--write-report` makes docs/benchmarks.md of them.
 *
 *     npm run bench -- token guard
 */
import { fileURLToPath } from 'node:url';
import type { Bench } from './benches/bench.ts';
import { deliveryBench } from './benches/delivery.ts';
import { encryptedBench } from './benches/encrypted.ts';
import { growthBench } from './benches/growth.ts';
import { guardBench } from './benches/guard.ts';
import { isolationBench } from './benches/isolation.ts';
import { memoryBench } from './benches/memory.ts';
import { paceBench } from './benches/pace.ts';
import { sharesBench } from './benches/shares.ts';
import { startBench } from './benches/start.ts';
import { tokenBench } from './benches/token.ts';
import { describeMachine } from './harness/machine.ts';
import { killAll } from './harness/processes.ts';
import { ownWorkFolder, runProgram } from './harness/program.ts';
import { installationAdvice, installPeers, missingPrograms } from './harness/requirements.ts';
import { versionsOf } from './harness/versions.ts';
import { removeFolder, subfolder } from './harness/work-folder.ts';
import { type BenchName, type Options, readOptions, USAGE } from './options.ts';
import { readResults, storeResult } from './report/stored.ts';
import { printed } from './report/table.ts';
import { writeReport } from './report/write.ts';

const BENCHES: Readonly<Record<BenchName, readonly Bench[]>> = {
  token: [tokenBench],
  guard: [guardBench],
  delivery: [deliveryBench, encryptedBench],
  pace: [paceBench],
  growth: [growthBench],
  isolation: [isolationBench],
  shares: [sharesBench],
  memory: [memoryBench],
  start: [startBench],
};
/** Results in the order of the report. */
const RESULTS = [
  'token',
  'guard',
  'delivery',
  'batches',
  'encrypted',
  'pace',
  'growth',
  'isolation',
  'memory',
  'start',
];

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
/** One measurement under load. */
const SECONDS = 3;

async function main(options: Options): Promise<number> {
  const benches = options.names.flatMap((name) => BENCHES[name]);
  const missing = missingPrograms(['setpriv', ...benches.flatMap(({ programs }) => programs)]);
  const peerPrograms = benches.flatMap((bench) => bench.peerPrograms ?? []);
  const missingPeers = missingPrograms(peerPrograms);
  const refused = [...missing, ...(options.skipMissing ? [] : missingPeers)];
  if (refused.length > 0) return complain(`${installationAdvice(refused)}\n`, 1);
  const failures = benches.length === 0 ? 0 : await measure(benches, new Set(missingPeers), options);
  if (options.writeReport)
    writeReport(readResults(options.resultsFolder, RESULTS), here('notes.md'), here('../../docs'));
  return failures === 0 ? 0 : 1;
}

/** One that fails does not keep the others from being measured. Answers how many did. */
async function measure(benches: readonly Bench[], missing: ReadonlySet<string>, options: Options): Promise<number> {
  if (benches.some(({ peers }) => peers)) installPeers();
  const folder = ownWorkFolder(options.folder);
  let failures = 0;
  for (const bench of benches) {
    try {
      await runBench(bench, folder, missing, options);
    } catch (error) {
      failures += 1;
      complain(`${bench.name} failed: ${(error as Error).stack}\n`, 1);
      killAll();
    }
  }
  return failures;
}

async function runBench(bench: Bench, parent: string, missing: ReadonlySet<string>, options: Options): Promise<void> {
  const { rounds, quick, soakMinutes, resultsFolder } = options;
  const startedAt = performance.now();
  const say = (what: string): void => void process.stderr.write(`${bench.name}: ${what}\n`);
  say('preparing');
  const folder = subfolder(parent, bench.name);
  const found = await bench.run({ folder, rounds, seconds: quick ? 1 : SECONDS, quick, soakMinutes, missing, say });
  removeFolder(folder);
  const seconds = (performance.now() - startedAt) / 1000;
  const versions = versionsOf([...bench.programs, ...(bench.peerPrograms ?? [])], bench.peers);
  const circumstances = { measuredAt: new Date().toISOString(), machine: describeMachine(), versions };
  for (const one of found) {
    const result = { profile: null, ...one, seconds };
    storeResult(resultsFolder, { ...circumstances, isRehearsal: quick, result });
    process.stdout.write(`${printed(result)}\n`);
  }
}

function complain(text: string, status: number): number {
  process.stderr.write(text);
  return status;
}

await runProgram(USAGE, (args) => readOptions(args, here('results')), main);
